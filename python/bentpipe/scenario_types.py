"""A scenario as typed dictionaries, for ``bentpipe.simulate({...})`` in a typed program.

Generated from the engine's JSON Schema by scripts/generate: change the Config struct beside the model, then run
``make generate``. Ranges are checked by the engine, not by these types; quantities are texts with a unit.
"""

from __future__ import annotations

from typing import Literal, NotRequired, TypeAlias, TypedDict

__all__ = [
    "Accept",
    "Acm",
    "Action",
    "Adapt",
    "Allocator",
    "Angle",
    "Antenna",
    "App",
    "Arq",
    "Asks",
    "Assignment",
    "AtmCategory",
    "AtmConnection",
    "AtmContract",
    "AtmExcess",
    "AtmLeg",
    "AtmTdma",
    "Avbdc",
    "Back",
    "Balance",
    "BudgetLeg",
    "BundleConvergence",
    "BundleDiscard",
    "BundleRouting",
    "Campaign",
    "Carrier",
    "Change",
    "Channel",
    "ChannelRate",
    "Choice",
    "Class",
    "Clock",
    "Code",
    "ContactKind",
    "ContactOutage",
    "Contacts",
    "Counted",
    "Dama",
    "Distance",
    "Distribution",
    "Dscp",
    "Each",
    "Effect",
    "Encapsulation",
    "Endpoints",
    "Error",
    "Estimator",
    "Fade",
    "Fading",
    "Fate",
    "Fidelity",
    "Flow",
    "Forward",
    "Framing",
    "Freeze",
    "Frequency",
    "GroundSite",
    "Group",
    "Gsl",
    "Handover",
    "HandoverDirection",
    "Isl",
    "Jitter",
    "LinkBudget",
    "LinkHandover",
    "LinkPair",
    "LinkReturn",
    "Mechanism",
    "Meter",
    "Method",
    "Metric",
    "Modcods",
    "Modulation",
    "Multilink",
    "NetpipeMode",
    "NetworkKind",
    "OnHandover",
    "Orbit",
    "Outage",
    "Placed",
    "Planning",
    "Playout",
    "Policy",
    "Positions",
    "Precision",
    "Profile",
    "Propagation",
    "Protocol",
    "Proxy",
    "Quantity",
    "Queue",
    "Rate",
    "RateAdaptation",
    "RateOrZero",
    "Rbdc",
    "Record",
    "Recovery",
    "Requests",
    "Return",
    "Role",
    "Routing",
    "RtoEstimator",
    "Rule",
    "Sample",
    "SatelliteHandover",
    "Scenario",
    "ScheduledClass",
    "Scheme",
    "Service",
    "Shadowing",
    "Shell",
    "SignallingTransport",
    "Site",
    "Size",
    "Sizes",
    "SkyplexAccess",
    "SpaceFrame",
    "SpacePackets",
    "Spacing",
    "Span",
    "Speed",
    "Starts",
    "Talker",
    "Tcp",
    "Terminals",
    "Thresholds",
    "Trace",
    "Trailer",
    "TransferDirection",
    "Transport",
    "TransportProtocol",
    "Vbdc",
    "WifiBand",
    "WifiLength",
    "WifiStack",
    "WifiStandard",
    "WifiStationGroup",
    "WifiStations",
    "WifiWidth",
]

#: The clock of the runs of a campaign.
Clock: TypeAlias = 'Literal["virtual", "kernel"]'


class Precision(TypedDict):
    """The precision of a mean at which a variant has enough replications: half of the confidence interval is
    at most a given fraction of the mean."""

    at_most: NotRequired[int]
    """Maximum number of replications of a variant, at least `replications`. Default 100."""
    metric: str
    """Column of the flows that must be known with this precision, or TABLE.COLUMN of another report."""
    of: NotRequired[str]
    """Name of the flow, terminal or link; or of a group of flows, or a pattern such as `st*`, whose mean then
    counts. If unset, all of them must be known with this precision."""
    relative_half_width: float
    """Maximum half width of the confidence interval, as a fraction of the mean; greater than 0."""


#: The method of drawing the values of sampled keys from their ranges.
Method: TypeAlias = 'Literal["latin-hypercube", "random"]'


class Sample(TypedDict):
    """Values drawn at random from ranges, for several keys at once."""

    between: dict[str, object]
    """Ranges of the keys: minimum and maximum, as numbers or quantities of one unit: `["1 Mbit/s", "10
    Mbit/s"]`."""
    count: int
    """Number of combinations to draw, each of which is a variant of the campaign."""
    logarithmic: NotRequired[list[str]]
    """Names of the keys whose logarithm, instead of their value, is uniformly distributed."""
    method: NotRequired[Method]
    """Sampling method: `"latin-hypercube"` (the default) or `"random"`."""
    seed: NotRequired[int]
    """Seed of the draw. Default 1."""


class Campaign(TypedDict):
    """A campaign: values are varied, and each combination is replicated. The variants are the product of
    `vary`, each table of `zip`, `list` and `sample`; the last of them varies fastest. A single run of the
    scenario ignores it."""

    clock: NotRequired[Clock]
    """Clock of the runs: simulated (`"virtual"`, the default), or real kernels in virtual time
    (`"kernel"`)."""
    common_random_numbers: NotRequired[bool]
    """True if replications with the same number draw the same random numbers in every variant, so that
    differences between variants are not due to chance. False: every variant has its own seed. Default
    true."""
    confidence: NotRequired[float]
    """Confidence level: probability with which a confidence interval contains the mean, between 0 and 1.
    Default 0.95."""
    keep_runs: NotRequired[bool]
    """True if the folders of the runs are kept, with their traces. False: only reports are recorded. Default
    false."""
    list: NotRequired[list[dict[str, object]]]
    """Explicit combinations, each a table of keys and values. The key `label` names a combination in tables
    and figures."""
    precision: NotRequired[Precision]
    """Precision at which a variant has enough replications; `replications` is then the minimum. If unset,
    each variant has exactly `replications`."""
    replications: NotRequired[int]
    """Number of runs of each variant, each with its own random numbers. Default 1."""
    sample: NotRequired[Sample]
    """Randomly drawn combinations. If unset, none are drawn."""
    vary: NotRequired[dict[str, object]]
    """A grid: every combination of these values. The last key varies fastest."""
    zip: NotRequired[list[dict[str, object]]]
    """Lists of equal length whose values are combined in step: the first values of all keys together, then
    the second, and so on. A list under the key `label` names the combinations in tables and figures; only one
    part of a campaign may have labels."""


#: a span of time, 0 s to 36600 d
Span: TypeAlias = "str"


class Change(TypedDict):
    """New values for keys of links and networks from a given time on, applied before all other events at that
    time."""

    at: Span
    """Time of the change, at most the duration of the run."""
    set: dict[str, dict[str, dict[str, object]]]
    """Keys of `link` and `network` with their new values."""


#: A differentiated services code point, by number or name (RFC 2474, 2597, 3246, 5865, 8622).
Dscp: TypeAlias = 'int | Literal["be", "le", "cs1", "af11", "af12", "af13", "cs2", "af21", "af22", "af23", "cs3", "af31", "af32", "af33", "cs4", "af41", "af42", "af43", "cs5", "voice-admit", "ef", "cs6", "cs7", "cs0"]'

#: The packets that share one meter.
Each: TypeAlias = 'Literal["rule", "flow", "connection"]'

#: What to do with a packet: forward it unchanged (keep), drop it, or forward it with another code point.
Action: TypeAlias = 'Literal["keep", "drop"] | Dscp'

#: a size, 0 B to 1 EB, k = 1000 and Ki = 1024
Size: TypeAlias = "str"

#: a rate, 1 bit/s to 100 Tbit/s
Rate: TypeAlias = "str"


class TokenBucketMeter(TypedDict):
    """Meter of the kind `token-bucket`. A token bucket: packets are green while there are tokens for them,
    and red otherwise."""

    burst: Size
    """Size of the bucket; at least 1500 B."""
    kind: Literal["token-bucket"]
    rate: Rate
    """Rate at which the bucket is filled."""


class SrtcmMeter(TypedDict):
    """Meter of the kind `srtcm`. The single rate three colour marker (RFC 2697)."""

    burst: Size
    """Committed burst size (CBS), the size of the bucket for green packets; at least 1500 B."""
    colour_aware: NotRequired[bool]
    """True if the marker is colour-aware: a packet never gets a lower drop precedence than it had. Off by
    default."""
    committed: Rate
    """Committed information rate (CIR), at which both buckets are filled."""
    excess: Size
    """Excess burst size (EBS), the size of the bucket for yellow packets."""
    kind: Literal["srtcm"]


class TrtcmMeter(TypedDict):
    """Meter of the kind `trtcm`. The two rate three colour marker (RFC 2698)."""

    burst: Size
    """Committed burst size (CBS); at least 1500 B."""
    colour_aware: NotRequired[bool]
    """True if the marker is colour-aware: a packet never gets a lower drop precedence than it had. Off by
    default."""
    committed: Rate
    """Committed information rate (CIR), beyond which packets are yellow."""
    kind: Literal["trtcm"]
    peak: Rate
    """Peak information rate (PIR), beyond which packets are red; at least `committed`."""
    peak_burst: Size
    """Peak burst size (PBS); at least 1500 B."""


class Tsw2cmMeter(TypedDict):
    """Meter of the kind `tsw2cm`. The time sliding window two colour marker: RFC 2859 without its middle
    colour."""

    committed: Rate
    """Committed target rate (CTR), the rate of green packets."""
    kind: Literal["tsw2cm"]
    window: NotRequired[Span]
    """Averaging window of the rate estimator, 1 s by default; must be longer than 0 s."""


class Tsw3cmMeter(TypedDict):
    """Meter of the kind `tsw3cm`. The time sliding window three colour marker (RFC 2859)."""

    committed: Rate
    """Committed target rate (CTR), the rate of green packets."""
    kind: Literal["tsw3cm"]
    peak: Rate
    """Peak target rate (PTR), the rate of green and yellow packets together; at least `committed`."""
    window: NotRequired[Span]
    """Averaging window of the rate estimator, 1 s by default; must be longer than 0 s."""


#: The meter by which an edge gives packets a colour.
Meter: TypeAlias = 'TokenBucketMeter | SrtcmMeter | TrtcmMeter | Tsw2cmMeter | Tsw3cmMeter | Literal["token-bucket", "srtcm", "trtcm", "tsw2cm", "tsw3cm"]'

#: The transport protocol that a rule of an edge matches.
TransportProtocol: TypeAlias = 'Literal["tcp", "udp"]'

#: A rule of a DiffServ edge. It matches packets for which all given keys match; an unset key matches all
#: packets.
Rule = TypedDict(
    "Rule",
    {
        "dscp": "NotRequired[list[Dscp]]",
        "each": "NotRequired[Each]",
        "flow": "NotRequired[list[str]]",
        "from": "NotRequired[list[str]]",
        "green": "NotRequired[Action]",
        "meter": "NotRequired[Meter]",
        "protocol": "NotRequired[TransportProtocol]",
        "red": "NotRequired[Action]",
        "to": "NotRequired[list[str]]",
        "yellow": "NotRequired[Action]",
    },
)


class Fidelity(TypedDict):
    """Tolerances of an emulation. A run that exceeds one of them is degraded. A run that exceeds one tenfold,
    or loses more packets than allowed, is void. Simulations do not use them."""

    lateness_max: NotRequired[Span]
    """Maximum lateness of any packet at its host, longer than 0 s. Default 20 ms."""
    lateness_p99: NotRequired[Span]
    """Maximum lateness of 99 % of the packets at their host, longer than 0 s. Default 1 ms."""
    lost: NotRequired[int]
    """Maximum number of packets lost outside the models. Default 0."""
    rate: NotRequired[float]
    """Maximum relative deviation of a transmitting link's rate from the configured one. Default 0.01."""
    reading_p99: NotRequired[Span]
    """Maximum time for which 99 % of the packets wait in the kernel before the engine reads them from a host.
    A TCP sender that sends a window at once fills milliseconds. Default 20 ms."""
    starved: NotRequired[float]
    """Maximum fraction of the run for which the engine's thread waits for a processor. Default 0.01."""
    steal: NotRequired[float]
    """Maximum fraction of the processors' time that the hypervisor takes from the machine (steal time).
    Default 0.02."""


#: The distribution of the lengths of bursts and silences, or of the times between datagrams.
Distribution: TypeAlias = 'Literal["constant", "exponential"]'

#: The distribution of sizes about their mean.
Sizes: TypeAlias = 'Literal["constant", "exponential", "pareto"]'

#: The direction in which a file is sent.
TransferDirection: TypeAlias = 'Literal["upload", "download"]'

#: The exchange that NetPIPE repeats and measures.
NetpipeMode: TypeAlias = 'Literal["ping-pong", "one-way", "stream"]'

#: The treatment of packets that the channel has corrupted.
Effect: TypeAlias = 'Literal["drop", "stale-checksum", "valid-checksum"]'


class NoneCode(TypedDict):
    """Code of the kind `none`. No channel code: a single bit error loses the frame."""

    kind: Literal["none"]


class ReedSolomonCode(TypedDict):
    """Code of the kind `reed-solomon`. Reed-Solomon code over bytes with codewords of 255 bytes, interleaved
    (CCSDS 131.0-B)."""

    correctable: NotRequired[int]
    """Number of correctable bytes per codeword: 16 (the default), which is RS(255,223), or 8, RS(255,239)."""
    interleave: NotRequired[int]
    """Interleaving depth: the number of codewords in a frame, over which a burst of errors is spread. Default
    5; CCSDS allows 1, 2, 3, 4, 5 and 8."""
    kind: Literal["reed-solomon"]


class BchCode(TypedDict):
    """Code of the kind `bch`. BCH(63,56) code of telecommand (CCSDS 231.0-B), which corrects one bit error in
    each block of 56 bits."""

    kind: Literal["bch"]


class ConvolutionalCode(TypedDict):
    """Code of the kind `convolutional`. Convolutional code of rate 1/2 and constraint length 7 (CCSDS
    131.0-B) with a Viterbi decoder, evaluated by its union bound."""

    kind: Literal["convolutional"]


class ConcatenatedCode(TypedDict):
    """Code of the kind `concatenated`. A Reed-Solomon code around the convolutional code of rate 1/2 (CCSDS
    131.0-B), with ideal interleaving between them."""

    correctable: NotRequired[int]
    """Number of correctable bytes per Reed-Solomon codeword, 16 by default."""
    interleave: NotRequired[int]
    """Interleaving depth: the number of codewords in a frame, 5 by default."""
    kind: Literal["concatenated"]


class TurboCode(TypedDict):
    """Code of the kind `turbo`. A turbo code (CCSDS 131.0-B), modelled as the best code of its length and
    rate with a loss of `loss_db`."""

    information: NotRequired[int]
    """Information bits per codeword, 64 to 65536. Default 8920; CCSDS has 1784, 3568, 7136 and 8920."""
    kind: Literal["turbo"]
    loss_db: NotRequired[float]
    """Loss of the code and its decoder in dB, relative to the best code. Default 0.7, an assumption."""
    rate: NotRequired[float]
    """Code rate, 0 to 1. Default 0.5; CCSDS has 1/2, 1/3, 1/4 and 1/6."""


class LdpcCode(TypedDict):
    """Code of the kind `ldpc`. An LDPC code (CCSDS 131.0-B), modelled as the best code of its length and rate
    with a loss of `loss_db`."""

    information: NotRequired[int]
    """Information bits per codeword, 64 to 65536. Default 4096; CCSDS has 1024, 4096 and 16384, and 7136."""
    kind: Literal["ldpc"]
    loss_db: NotRequired[float]
    """Loss of the code and its decoder in dB, relative to the best code. Default 0.7, an assumption."""
    rate: NotRequired[float]
    """Code rate, 0 to 1. Default 0.5; CCSDS has 1/2, 2/3, 4/5, and 0.875 with 7136 bits."""


#: The channel code of a space link.
Code: TypeAlias = 'NoneCode | ReedSolomonCode | BchCode | ConvolutionalCode | ConcatenatedCode | TurboCode | LdpcCode | Literal["none", "reed-solomon", "bch", "convolutional", "concatenated", "turbo", "ldpc"]'


class NoneFading(TypedDict):
    """Fading of the kind `none`. No fast fading: the power is the mean power."""

    kind: Literal["none"]


class RayleighFading(TypedDict):
    """Fading of the kind `rayleigh`. Rayleigh fading: scattered waves without a direct wave, as indoors
    without line of sight."""

    kind: Literal["rayleigh"]


class RiceFading(TypedDict):
    """Fading of the kind `rice`. Rice fading: a direct wave and scattered ones, as indoors with line of
    sight."""

    k_factor: float
    """Rice factor K: power of the direct wave divided by that of the scattered waves, not in dB. 0 is
    Rayleigh fading."""
    kind: Literal["rice"]


#: Fast fading: the variation of a radio signal's power around its mean over distances of a wavelength.
Fading: TypeAlias = 'NoneFading | RayleighFading | RiceFading | Literal["none", "rayleigh", "rice"]'

#: A modulation of IEEE 802.11, named after its data rate.
Modulation: TypeAlias = 'Literal["dsss-1", "dsss-2", "cck-5.5", "cck-11", "ofdm-6", "ofdm-9", "ofdm-12", "ofdm-18", "ofdm-24", "ofdm-36", "ofdm-48", "ofdm-54"]'

#: a distance, -12000 km to 1e12 km (a depth is negative)
Distance: TypeAlias = "str"


class Shadowing(TypedDict):
    """Log-normal shadowing: the mean power varies with the position, normally distributed in dB."""

    deviation_db: float
    """Standard deviation of the mean power in dB, 0 to 40."""
    distance: Distance
    """Decorrelation distance: the distance moved after which the correlation has fallen to 1/e."""


#: a speed, 0 m/s to 12 km/s
Speed: TypeAlias = "str"


class NoneError(TypedDict):
    """Error of the kind `none`. No errors: every packet arrives intact."""

    kind: Literal["none"]


class PacketError(TypedDict):
    """Error of the kind `packet`. Independent packet errors: each packet, or unit of the framing, is
    corrupted with the same probability, regardless of its size."""

    effect: NotRequired[Effect]
    """Treatment of corrupted packets: `"drop"` (the default) loses them. `"stale-checksum"` delivers them
    with a bit error, which the receiver detects and drops. `"valid-checksum"` delivers them with a bit error
    in the payload that no checksum reveals."""
    kind: Literal["packet"]
    probability: float
    """Corruption probability of a packet, 0 to 1."""


class BitError(TypedDict):
    """Error of the kind `bit`. Independent bit errors: each bit is wrong with the same probability. A packet
    or unit with a bit error is corrupted."""

    effect: NotRequired[Effect]
    """Treatment of corrupted packets: `"drop"` (the default) loses them. `"stale-checksum"` delivers them
    with a bit error, which the receiver detects and drops. `"valid-checksum"` delivers them with a bit error
    in the payload that no checksum reveals."""
    kind: Literal["bit"]
    rate: float
    """Bit error rate (BER): the probability that a bit is wrong, 0 to 1."""


class CodedError(TypedDict):
    """Error of the kind `coded`. Frame errors of a space link after its decoder, given by the bit error rate
    before decoding or by Eb/N0."""

    ber: NotRequired[float]
    """Bit error rate before decoding, 0 to 1, with hard decisions. Give either this or `eb_n0_db`."""
    code: NotRequired[Code]
    """Channel code. Default none, or the code of the link's framing if it has one."""
    eb_n0_db: NotRequired[float]
    """Energy per information bit over noise density (Eb/N0) in dB, with coherent BPSK and soft decisions.
    Give either this or `ber`."""
    kind: Literal["coded"]


class GilbertError(TypedDict):
    """Error of the kind `gilbert`. Errors in bursts (Gilbert 1960): a two-state Markov chain that corrupts
    every packet in its bad state."""

    burst: float
    """Mean number of consecutive corrupted packets; at least 1 and at least `probability` / (1 -
    `probability`)."""
    effect: NotRequired[Effect]
    """Treatment of corrupted packets: `"drop"` (the default) loses them. `"stale-checksum"` delivers them
    with a bit error, which the receiver detects and drops. `"valid-checksum"` delivers them with a bit error
    in the payload that no checksum reveals."""
    kind: Literal["gilbert"]
    probability: float
    """Fraction of corrupted packets, from 0 to less than 1."""


class GilbertElliottError(TypedDict):
    """Error of the kind `gilbert-elliott`. Errors in bursts (Gilbert and Elliott 1963): a two-state Markov
    chain with a loss probability in each state."""

    bad_to_good: float
    """Transition probability per packet from the bad to the good state, 0 to 1; not 0 together with
    `good_to_bad`."""
    effect: NotRequired[Effect]
    """Treatment of corrupted packets: `"drop"` (the default) loses them. `"stale-checksum"` delivers them
    with a bit error, which the receiver detects and drops. `"valid-checksum"` delivers them with a bit error
    in the payload that no checksum reveals."""
    good_to_bad: float
    """Transition probability per packet from the good to the bad state, 0 to 1."""
    kind: Literal["gilbert-elliott"]
    loss_bad: float
    """Corruption probability of a packet in the bad state, 0 to 1."""
    loss_good: NotRequired[float]
    """Corruption probability of a packet in the good state, 0 to 1. Default 0."""


class MarkovError(TypedDict):
    """Error of the kind `markov`. Errors by a Markov chain: the chain takes a step with each packet, and each
    state corrupts packets with its own probability."""

    effect: NotRequired[Effect]
    """Treatment of corrupted packets: `"drop"` (the default) loses them. `"stale-checksum"` delivers them
    with a bit error, which the receiver detects and drops. `"valid-checksum"` delivers them with a bit error
    in the payload that no checksum reveals."""
    kind: Literal["markov"]
    loss: list[float]
    """Corruption probability of each state, 0 to 1. The number of elements, 1 to 64, is the number of
    states."""
    transitions: list[list[float]]
    """Transition probabilities: one row per state, with the probability of each next state. Each row adds to
    1; a difference of up to 0.001 from rounding is removed by scaling."""


class SnrStatesError(TypedDict):
    """Error of the kind `snr-states`. Errors by states of the received signal: a Markov chain in time with a
    loss probability per state and data rate."""

    effect: NotRequired[Effect]
    """Treatment of corrupted packets: `"drop"` (the default) loses them. `"stale-checksum"` delivers them
    with a bit error, which the receiver detects and drops. `"valid-checksum"` delivers them with a bit error
    in the payload that no checksum reveals."""
    kind: Literal["snr-states"]
    loss: list[list[float]]
    """Corruption probabilities, 0 to 1: one row per state (1 to 64), with one column for each of the
    `rates`."""
    rate: NotRequired[Rate]
    """Data rate of packets on a link without its own modulations. Default the highest of `rates`."""
    rates: NotRequired[list[Rate]]
    """Data rates of the columns of `loss`, in ascending order. A frame uses the column of the highest rate
    that does not exceed its own, or the first column. If unset, `loss` has one column for all rates."""
    step: Span
    """Time between two steps of the chain."""
    transitions: list[list[float]]
    """Transition probabilities: one row per state, with the probability of each next state. Each row adds to
    1; a difference of up to 0.001 from rounding is removed by scaling."""


class SnrError(TypedDict):
    """Error of the kind `snr`. Errors by signal-to-noise ratio: with fading and shadowing at a speed, and by
    the modulation of a frame."""

    effect: NotRequired[Effect]
    """Treatment of corrupted packets: `"drop"` (the default) loses them. `"stale-checksum"` delivers them
    with a bit error, which the receiver detects and drops. `"valid-checksum"` delivers them with a bit error
    in the payload that no checksum reveals."""
    fading: NotRequired[Fading]
    """Fast fading around the mean. Default none."""
    kind: Literal["snr"]
    mode: NotRequired[Modulation]
    """Modulation of packets on a link without its own modulations. Default `"cck-11"`. The number is the rate
    in Mbit/s of the modulation in IEEE 802.11; the link keeps its own rate."""
    shadowing: NotRequired[Shadowing]
    """Slow variation of the mean. Default none."""
    snr_db: float
    """Ratio of the mean signal to the noise in the receiver's channel (22 MHz for DSSS and CCK), in dB, from
    -100 to 200."""
    speed: NotRequired[Speed]
    """Speed of the station or of objects around it. Default 1 m/s, a walking person."""
    wavelength: NotRequired[Distance]
    """Wavelength of the carrier. Default 0.123 m, channel 6 of the 2.4 GHz band (2.437 GHz)."""


class TraceError(TypedDict):
    """Error of the kind `trace`. Errors by a trace: packets are corrupted where the frames of a recording
    were lost. The recording repeats."""

    effect: NotRequired[Effect]
    """Treatment of corrupted packets: `"drop"` (the default) loses them. `"stale-checksum"` delivers them
    with a bit error, which the receiver detects and drops. `"valid-checksum"` delivers them with a bit error
    in the payload that no checksum reveals."""
    interval: NotRequired[Span]
    """Time between the recorded frames. If set, the trace advances with time, and a packet takes the outcome
    that was recorded last. If unset, each packet takes the next outcome."""
    kind: Literal["trace"]
    outcomes: str | dict[str, object]
    """The outcomes: a comma-separated table with a column `lost`, 0 or 1, and a row per frame. With a further
    column `frames`, each row is a run of frames of the same outcome. At least one frame must be received and
    one lost. A file may have up to 4 MiB; `bentpipe trace` shortens a table to its runs."""
    start: NotRequired[int]
    """Number of the frame with which the run begins, from 1. Drawn at random if unset."""


class ListError(TypedDict):
    """Error of the kind `list`. Listed errors: corrupts exactly the listed packets, for example to compare
    two TCP stacks under the same losses."""

    effect: NotRequired[Effect]
    """Treatment of corrupted packets: `"drop"` (the default) loses them. `"stale-checksum"` delivers them
    with a bit error, which the receiver detects and drops. `"valid-checksum"` delivers them with a bit error
    in the payload that no checksum reveals."""
    kind: Literal["list"]
    packets: list[int]
    """Numbers of the corrupted packets (or units of the framing), in ascending order. The first packet of the
    direction has the number 1."""


#: The error process of a channel, which selects the packets, or units of the framing, to corrupt.
Error: TypeAlias = 'NoneError | PacketError | BitError | CodedError | GilbertError | GilbertElliottError | MarkovError | SnrStatesError | SnrError | TraceError | ListError | Literal["none", "packet", "bit", "coded", "gilbert", "gilbert-elliott", "markov", "snr-states", "snr", "trace", "list"]'

#: A placement of a query's operators.
Placed: TypeAlias = 'Literal["nodes", "sink"]'


class FixedPlayout(TypedDict):
    """Playout of the kind `fixed`. A de-jitter buffer of a fixed length."""

    delay: NotRequired[Span]
    """Time for which the first packet of a talk spurt is held. Default 60 ms."""
    kind: Literal["fixed"]


class Ramjee1Playout(TypedDict):
    """Playout of the kind `ramjee-1`. An adaptive de-jitter buffer: algorithm 1 of Ramjee et al. 1994, a
    linear filter."""

    initial: NotRequired[Span]
    """Playout delay of the first talk spurt. Default 20 ms."""
    kind: Literal["ramjee-1"]
    weight: NotRequired[float]
    """Weight a of the past in the filters, 0 to 1. Default 0.998002 (the paper's)."""


class Ramjee2Playout(TypedDict):
    """Playout of the kind `ramjee-2`. An adaptive de-jitter buffer: algorithm 2 of Ramjee et al. 1994, a
    filter that follows a growing delay faster."""

    growing: NotRequired[float]
    """Weight b of the past while the delay grows, 0 to 1. Default 0.75 (the paper's)."""
    initial: NotRequired[Span]
    """Playout delay of the first talk spurt. Default 20 ms."""
    kind: Literal["ramjee-2"]
    weight: NotRequired[float]
    """Weight a of the past while the delay decreases, and for the variation; 0 to 1. Default 0.998002 (the
    paper's)."""


class Ramjee3Playout(TypedDict):
    """Playout of the kind `ramjee-3`. An adaptive de-jitter buffer: algorithm 3 of Ramjee et al. 1994, by the
    shortest delay of the previous talk spurt."""

    initial: NotRequired[Span]
    """Playout delay of the first talk spurt. Default 20 ms."""
    kind: Literal["ramjee-3"]
    weight: NotRequired[float]
    """Weight a of the past for the variation, 0 to 1. Default 0.998002 (the paper's)."""


class Ramjee4Playout(TypedDict):
    """Playout of the kind `ramjee-4`. An adaptive de-jitter buffer: algorithm 4 of Ramjee et al. 1994, with
    detection of delay spikes."""

    initial: NotRequired[Span]
    """Playout delay of the first talk spurt. Default 20 ms."""
    kind: Literal["ramjee-4"]


class MoonPlayout(TypedDict):
    """Playout of the kind `moon`. An adaptive de-jitter buffer: the algorithm of Moon et al. 1998, a
    percentile of the last delays, with detection of delay spikes."""

    head: NotRequired[float]
    """Factor on the playout delay above which a packet's delay begins a spike. Default 4."""
    kind: Literal["moon"]
    percentile: NotRequired[float]
    """Percentile of the recent delays that is used as the playout delay, above 0 and at most 100. Default 99:
    1 % of the packets may be late."""
    tail: NotRequired[float]
    """Factor on the playout delay below which a packet's delay ends a spike. Default 2."""
    window: NotRequired[int]
    """Number of packets in the window of recent delays. Default 10000."""


class NonePlayout(TypedDict):
    """Playout of the kind `none`. No de-jitter buffer: every packet is played on arrival."""

    kind: Literal["none"]


#: The de-jitter buffer of a receiver of speech.
Playout: TypeAlias = 'FixedPlayout | Ramjee1Playout | Ramjee2Playout | Ramjee3Playout | Ramjee4Playout | MoonPlayout | NonePlayout | Literal["fixed", "ramjee-1", "ramjee-2", "ramjee-3", "ramjee-4", "moon", "none"]'


class P59Talker(TypedDict):
    """Talker of the kind `p59`. Artificial conversational speech of ITU-T P.59: the two sides of a call take
    turns, interrupt each other and fall silent."""

    interruption: NotRequired[float]
    """Probability that one side's speech ends by an interruption, in which both speak, and not in silence; 0
    to 1. Default 0.4 (P.59)."""
    kind: Literal["p59"]


class ExponentialTalker(TypedDict):
    """Talker of the kind `exponential`. Talk spurts and pauses with exponentially distributed lengths; the
    two sides of a call are independent of each other."""

    kind: Literal["exponential"]
    pause: NotRequired[Span]
    """Mean length of a pause. Default 0.65 s (Sriram and Whitt 1986)."""
    speech: NotRequired[Span]
    """Mean length of a talk spurt. Default 0.352 s (Sriram and Whitt 1986)."""


class RecordedTalker(TypedDict):
    """Talker of the kind `recorded`. Talk spurts of recorded speech, as found by a voice activity
    detector."""

    callee: NotRequired[list[list[Span]]]
    """Start and end of each talk spurt of the callee (the flow's destination). If unset, the callee is
    silent."""
    caller: list[list[Span]]
    """Start and end of each talk spurt of the caller (the flow's source), in order, from the beginning of the
    call."""
    kind: Literal["recorded"]
    length: NotRequired[Span]
    """Length of the recording, after which it repeats. If unset, it is played once, and silence follows."""


class AlwaysTalker(TypedDict):
    """Talker of the kind `always`. A talker who never pauses, as without silence suppression."""

    kind: Literal["always"]


#: The talker at each side of a call, which alternates between speech and silence.
Talker: TypeAlias = 'P59Talker | ExponentialTalker | RecordedTalker | AlwaysTalker | Literal["p59", "exponential", "recorded", "always"]'


class BulkApp(TypedDict):
    """App of the kind `bulk`. A bulk transfer: the source sends as fast as the transport allows, without end
    or up to a size or a duration, and then closes."""

    duration: NotRequired[Span]
    """Time for which the application writes, from the start of the flow; longer than 0 s. Data then in the
    send buffer (`send_memory`, `send_buffer`) is still sent; without a limited buffer, unsent data is
    discarded. Unlimited if unset."""
    kind: Literal["bulk"]
    size: NotRequired[Size]
    """Number of bytes to send, at least 1 B. Unlimited if unset."""


class BundlesApp(TypedDict):
    """App of the kind `bundles`. Bundles at a rate, within a window or at given times, each reported by the
    destination, as in DTNperf."""

    bundles: NotRequired[int]
    """Number of bundles to send. If unset, bundles are sent until the end of the run."""
    kind: Literal["bundles"]
    payload: NotRequired[Size]
    """Payload of a bundle, at least 20 B. Default 50 kB, as in DTNperf."""
    rate: NotRequired[Rate]
    """Rate of the payload, at which bundles are sent independent of reports. Give exactly one of `window`,
    `rate` and `series`."""
    report: NotRequired[Size]
    """Size of a report. Default 40 B, the length of a status report of the bundle protocol (RFC 9171, section
    6.1.1) with one status. With 0 B no reports are sent, which needs a `rate` or a `series`."""
    series: NotRequired[str | dict[str, object]]
    """The bundles to send: a table, comma-separated text or a Parquet file, with `time` in seconds from the
    start of the flow and `payload` in bytes, which replaces the key `payload`. Give exactly one of `window`,
    `rate` and `series`."""
    timeout: NotRequired[Span]
    """Time after which an unreported bundle counts as overdue and leaves the window. Default 1 d."""
    window: NotRequired[int]
    """Maximum number of unreported bundles in flight. Give exactly one of `window`, `rate` and `series`."""


class CbrApp(TypedDict):
    """App of the kind `cbr`. A constant bit rate source: datagrams of one size at one rate, continuously or
    in bursts."""

    datagram: NotRequired[Size]
    """Payload of one datagram, 1 kB by default; at least 1 B."""
    distribution: NotRequired[Distribution]
    """Distribution of the lengths of bursts and silences: `"constant"` (the default) or `"exponential"`."""
    kind: Literal["cbr"]
    off: NotRequired[Span]
    """Length of the silence after each burst, or its mean; must be given together with `on`."""
    on: NotRequired[Span]
    """Length of a burst, or its mean; must be longer than 0 s and be given together with `off`. If unset, the
    source sends continuously."""
    rate: Rate
    """Rate of the payload while the source is sending."""
    spacing: NotRequired[Distribution]
    """Distribution of the times between datagrams while the source is sending: `"constant"` (the default) or
    `"exponential"`."""


class CommandApp(TypedDict):
    """App of the kind `command`. A program of this machine, such as iperf3, curl or ping, that runs at the
    flow's ends in an emulation. It cannot be simulated."""

    kind: Literal["command"]
    run: str
    """Program and arguments to run at the flow's source from the flow's start. In a word, {to} and {from} are
    replaced by the addresses of the flow's ends, {port} by a port of the flow."""
    serve: NotRequired[str]
    """Program and arguments to run at the flow's destination, started before the run, with the same
    placeholders. If unset, nothing is started there."""


class EmailApp(TypedDict):
    """App of the kind `email`. Mails that the flow's source sends, each over its own connection, after the
    set-up dialogue of SMTP (RFC 5321)."""

    distribution: NotRequired[Sizes]
    """Distribution of the sizes of mails around their mean: `"constant"` (the default), `"exponential"` or
    `"pareto"`."""
    every: NotRequired[Span]
    """Mean time between the starts of mails, which form a Poisson process. If unset, a single mail is
    sent."""
    kind: Literal["email"]
    mails: NotRequired[int]
    """Maximum number of mails; needs `every`. If unset, mails are sent until the run ends."""
    message: NotRequired[Size]
    """Size of each set-up message. Default 60 B."""
    messages: NotRequired[int]
    """Number of set-up messages before the mail, of both ends together. Default 8, as in SMTP."""
    shape: NotRequired[float]
    """Shape of the Pareto distribution of sizes, greater than 1. Above 2 the variance is finite. Default
    1.5."""
    size: Size
    """Mean size of a mail, at least 1 B."""


class FtpApp(TypedDict):
    """App of the kind `ftp`. File transfers, each over its own connection, after the set-up dialogue of FTP
    (RFC 959)."""

    direction: NotRequired[TransferDirection]
    """Direction of the files: from the flow's source (`"upload"`, the default) or to it (`"download"`)."""
    distribution: NotRequired[Sizes]
    """Distribution of the sizes of files around their mean: `"constant"` (the default), `"exponential"` or
    `"pareto"`."""
    every: NotRequired[Span]
    """Mean time between the starts of sessions, which form a Poisson process. If unset, there is a single
    session."""
    kind: Literal["ftp"]
    message: NotRequired[Size]
    """Size of each set-up message. Default 60 B."""
    messages: NotRequired[int]
    """Number of set-up messages before the file, of both ends together. Default 8, as in FTP."""
    sessions: NotRequired[int]
    """Maximum number of sessions; needs `every`. If unset, sessions start until the run ends."""
    shape: NotRequired[float]
    """Shape of the Pareto distribution of sizes, greater than 1. Above 2 the variance is finite. Default
    1.5."""
    size: Size
    """Mean size of a file, at least 1 B."""


class HttpApp(TypedDict):
    """App of the kind `http`. Web pages over HTTP/1.1, fetched over two persistent connections (RFC 9112,
    section 9.3)."""

    kind: Literal["http"]
    object: Size
    """Mean size of an object, the page itself included, from `object_min` to `object_max`."""
    object_max: NotRequired[Size]
    """Maximum size of an object. Default 200 kB."""
    object_min: NotRequired[Size]
    """Minimum size of an object, at least 1 B. Default 1 kB."""
    objects: NotRequired[float]
    """Mean number of objects of a page, the page itself included, from `objects_min` to `objects_max`.
    Default 8."""
    objects_max: NotRequired[int]
    """Maximum number of objects of a page. Default 30."""
    objects_min: NotRequired[int]
    """Minimum number of objects of a page. Default 1."""
    pages: NotRequired[int]
    """Number of pages that the user views. Default 1."""
    request: NotRequired[Size]
    """Size of a request, at least 1 B. Default 400 B."""
    response_time: NotRequired[Span]
    """Response time of the server, from the arrival of a request to the first byte of its answer. Default 0
    s."""
    think: NotRequired[Span]
    """Mean time for which the user views a page before requesting the next, exponentially distributed.
    Default 0 s."""


class NetpipeApp(TypedDict):
    """App of the kind `netpipe`. NetPIPE: measures transfer times of blocks of growing size, with the
    schedule of the real program."""

    first: NotRequired[Size]
    """First block size, at least 1 B. Default 1 B; option -l of NPtcp."""
    kind: Literal["netpipe"]
    last: NotRequired[Size]
    """Maximum unperturbed block size; option -u of NPtcp. If unset, sizes grow until a block takes `stop`."""
    mode: NotRequired[NetpipeMode]
    """Measured exchange: `"ping-pong"` (the default, half of a round trip), `"one-way"` (a block and one byte
    back) or `"stream"` (blocks in one direction)."""
    perturbation: NotRequired[int]
    """Perturbation: number of bytes by which additional blocks are smaller and larger than the sizes; 0 for
    none, at most 1000. Default 3; option -p of NPtcp."""
    repeats: NotRequired[int]
    """Number of repeats in each trial; option -n of NPtcp. If unset, as many as take a tenth of a second, at
    least 3."""
    stop: NotRequired[Span]
    """Block time at which the sizes stop growing. Default 1 s, as in the real program."""


class SensorsApp(TypedDict):
    """App of the kind `sensors`. A sensor network: motes on an IEEE 802.15.4 channel, and a sink, the flow's
    destination, that sends the results of a query to the flow's source."""

    acknowledged: NotRequired[bool]
    """True if motes acknowledge frames, and retransmit unacknowledged ones. Default true."""
    backoffs: NotRequired[int]
    """Number of further attempts at a busy channel before a frame is given up (macMaxCSMABackoffs). Default
    4."""
    error: NotRequired[Error]
    """Errors of frames on the air, independent for each direction between two motes. Default none."""
    hears: NotRequired[dict[str, list[str]]]
    """Motes that each mote hears, by names (the sink is `"sink"`). A mote that is not listed hears all. Motes
    that do not hear each other are hidden from each other: their transmissions collide at others."""
    kind: Literal["sensors"]
    max_be: NotRequired[int]
    """Maximum exponent of backoffs (macMaxBE). Default 5."""
    measure: NotRequired[Size]
    """Size of a row of results on the path to the client. Default 25 B, as for a measure in the platform
    study."""
    min_be: NotRequired[int]
    """Exponent of the first backoff (macMinBE): up to 2^3 - 1 periods of 320 us for the default, 3."""
    motes: list[str]
    """Names of the motes, 1 to 100. They are not nodes of the scenario."""
    parents: NotRequired[dict[str, str]]
    """Parent of each mote in the tree towards the sink, by names. A mote that is not listed sends to the sink
    itself."""
    period: NotRequired[Span]
    """Time between two samples of a mote, at least 10 ms. Default 1 s; the platform study has 100 ms to 2
    s."""
    placement: NotRequired[Placed]
    """Placement of the query's operators: `"nodes"` (the default) places each where the fewest bytes are
    sent, `"sink"` ships every measure to the sink."""
    query: str
    """The query, a subset of SQL over the streams `motes` (all motes) and that of each mote by its name, with
    the columns `node`, `time`, `light`, `temperature`, `acceleration`, `magnetism` and `audio`."""
    queue: NotRequired[int]
    """Maximum number of frames in a mote's queue. Default 64."""
    retries: NotRequired[int]
    """Maximum number of retransmissions of a frame (macMaxFrameRetries). Default 3."""
    wait: NotRequired[Span]
    """Time for which a window waits for partial aggregates after its end, per hop below its node. Default 1
    s."""


class VoiceApp(TypedDict):
    """App of the kind `voice`. A telephone call with speech in both directions over RTP, rated by the
    E-model."""

    advantage: NotRequired[int]
    """Advantage factor A of the E-model, 0 to 20: the tolerance of users for the convenience of the access
    (G.107; up to 20 for places that are hard to reach, over several satellite hops). Ratings are given with
    and without it. Default 0."""
    codec: NotRequired[str]
    """Speech codec: "G.711u" (the default), "G.711a", "G.711u+PLC", "G.711a+PLC", "iLBC-20", "iLBC-30",
    "GSM-FR", "GSM-EFR", "AMR-12.2", "Opus-10", "Opus-8", "G.729A" or "G.723.1"."""
    comfort_noise: NotRequired[bool]
    """True if suppressed silence begins with comfort noise, repeated at the codec's interval. Default
    true."""
    frames: NotRequired[int]
    """Number of codec frames in a packet, 1 to 24. If unset, the smallest number that contains 20 ms of
    speech."""
    kind: Literal["voice"]
    length: NotRequired[Span]
    """Length of the call. If unset, it lasts until the end of the run."""
    playout: NotRequired[Playout]
    """De-jitter buffer at both ends. Default: a fixed buffer of 60 ms."""
    rtcp: NotRequired[Span]
    """Time between RTCP reports. Default 5 s (RFC 3550, section 6.2). With 0 s there is only the report at
    the beginning of a call."""
    silence_suppression: NotRequired[bool]
    """True if packets without speech are not sent (silence suppression). If false, the talker has no effect.
    Default true."""
    skew: NotRequired[float]
    """Skew: rate difference of the clock at the flow's destination from that at its source, in parts per
    million; positive if it is faster. Default 0."""
    talker: NotRequired[Talker]
    """Talk spurts of both sides. Default: a conversation by ITU-T P.59."""
    window: NotRequired[Span]
    """Length of the windows for which the table `call_window` rates the call. Default 10 s."""


class CallsApp(TypedDict):
    """App of the kind `calls`. Telephone calls between the exchanges at both ends of the flow. Its transport
    is `sip` or `iax2`."""

    advantage: NotRequired[float]
    """Advantage factor A of the E-model (G.107), which `r_advantage` adds to the rating; 0 to 20, the maximum
    of G.107 for access by satellite hops. Default 0."""
    answer: NotRequired[Span]
    """Time for which the called telephone rings before it is answered. Default 3 s."""
    calls: NotRequired[int]
    """Number of calls that are placed when the flow starts and last until the run ends. Default 0."""
    codec: NotRequired[str]
    """Name of the codec. Default "G.711u". `bentpipe emodel` lists the names."""
    comfort_noise: NotRequired[bool]
    """True if a suppressed pause begins with comfort noise. Default true."""
    frames: NotRequired[int]
    """Number of codec frames in a packet, 1 to 24. If unset, the smallest number that contains 20 ms of
    speech."""
    holding: NotRequired[Span]
    """Mean holding time of these calls, exponentially distributed, from the answer to the end. Default 3
    min."""
    kind: Literal["calls"]
    lines: NotRequired[int]
    """Number of lines of the exchange at each end. A call takes one from its beginning to its end. Default
    100."""
    load: NotRequired[float]
    """Offered load of further calls in erlangs: the rate of their Poisson process times `holding`. Default
    0."""
    local: NotRequired[float]
    """Fraction of these calls that stay at the source's site: they take a line and send nothing. Default
    0."""
    patience: NotRequired[Span]
    """Time after which an unanswered caller gives up. Default 60 s."""
    playout: NotRequired[Playout]
    """De-jitter buffer at both ends of each call. Default: a fixed buffer."""
    suppression: NotRequired[bool]
    """True if packets without speech are not sent (silence suppression). Default true."""
    talker: NotRequired[Talker]
    """Talk spurts of both sides. Default: a conversation by ITU-T P.59."""


#: The application of a flow, which determines its traffic. Both ends run it: the flow's source opens the
#: connection, its destination answers.
App: TypeAlias = 'BulkApp | BundlesApp | CbrApp | CommandApp | EmailApp | FtpApp | HttpApp | NetpipeApp | SensorsApp | VoiceApp | CallsApp | Literal["bulk", "bundles", "cbr", "command", "email", "ftp", "http", "netpipe", "sensors", "voice", "calls"]'

#: The ends of a flow in an emulation. In a simulation both ends are models.
Endpoints: TypeAlias = 'Literal["kernel", "model"]'


class EvenStarts(TypedDict):
    """Starts of the kind `even`. Starts at equal distances: the first flow at once, and each further one
    after a fraction of `over`."""

    kind: Literal["even"]
    over: Span
    """Time over which the starts are spread; longer than 0 s."""


class UniformStarts(TypedDict):
    """Starts of the kind `uniform`. Starts at independent random times, uniformly distributed."""

    kind: Literal["uniform"]
    over: Span
    """Time within which all flows start; longer than 0 s."""


class PoissonStarts(TypedDict):
    """Starts of the kind `poisson`. Starts of a Poisson process: exponentially distributed times between
    consecutive starts."""

    kind: Literal["poisson"]
    mean: Span
    """Mean time between two starts; longer than 0 s."""


#: A process of start times of the flows of a group, counted from `start`.
Starts: TypeAlias = 'EvenStarts | UniformStarts | PoissonStarts | Literal["even", "uniform", "poisson"]'

#: The transport protocol of SIP's messages (RFC 3261, section 18).
SignallingTransport: TypeAlias = 'Literal["udp", "tcp"]'


class Adapt(TypedDict):
    """A change of the path for which senders set window and time-out at once (fast adaptation)."""

    at: Span
    """Time from the start of the run at which the path changes."""
    rate: Rate
    """Rate of the bottleneck of the new path."""
    round_trip: Span
    """Round-trip time of the new path; longer than 0 s."""


class Freeze(TypedDict):
    """A disconnection during which receivers keep their window closed (Freeze-TCP)."""

    at: Span
    """Time at which the window closes: ideally one round-trip time before the link goes down."""
    until: Span
    """Time at which the link is up again and the window opens; later than `at`."""


#: The reaction of the ends of a connection to handovers.
OnHandover: TypeAlias = 'Literal["freeze", "adapt"]'

#: A named set of values for all keys of TCP.
Profile: TypeAlias = (
    'Literal["linux", "linux-6.12", "linux-6.1", "linux-2.6.32", "classic", "freebsd", "scps", "nineties"]'
)

#: Loss detection and recovery of TCP.
Recovery: TypeAlias = 'Literal["tahoe", "reno", "newreno", "sack", "snack", "rack"]'

#: The estimator of the round-trip time's variation.
RtoEstimator: TypeAlias = 'Literal["rfc6298", "linux"]'


class Tcp(TypedDict):
    """TCP with the values of a profile, and values that differ from it."""

    ack_compression: NotRequired[Span]
    """Maximum time for which acknowledgments of a hole are compressed into one, after the first three, if
    SACK is in use; also limited to a twentieth of the round-trip time. Default: 1 ms in the profiles of Linux
    except linux-2.6.32, 0 s (no compression) in the others."""
    ack_every: NotRequired[int]
    """Number of full segments per delayed acknowledgment. Default: 2 (RFC 1122), 4 in profile scps, whose
    standard reduces the frequency of acknowledgments and leaves the number open."""
    ack_pushed: NotRequired[bool]
    """True if a segment with PSH is acknowledged at once, as in Linux since 6.7. Linux sets PSH at the end of
    the data that an application has written and of each burst of several segments, so its acknowledgments
    follow the sender's bursts. A segment shorter than the full ones counts as one with PSH. Default: true in
    the profiles linux and linux-6.12, false in the others."""
    adapt: NotRequired[list[Adapt]]
    """Fast adaptation: times at which senders set window and time-out for a new link at once; a list of `{
    at, rate, round_trip }`."""
    bursts: NotRequired[bool]
    """True if segments leave in bursts, as Linux prepares packets for segmentation offload (TSO, GSO): the
    data that the pacing rate carries in 1/1024 s, at least two segments and at most 64 KB. An incomplete
    burst usually waits for the next acknowledgment. Default: true in the profiles of Linux except
    linux-2.6.32, false in the others."""
    byte_counting: NotRequired[bool]
    """True if the window grows by the segments that an acknowledgment covers (appropriate byte counting, RFC
    3465, without its limit), instead of once per acknowledgment (RFC 5681, section 3.1), which slows it down
    with delayed acknowledgments. Default: false in profile linux-2.6.32 (tcp_abc is 0), true in the
    others."""
    congestion: NotRequired[
        Literal[
            "bbr",
            "bbr3",
            "bic",
            "compound",
            "cubic",
            "fixed_rate",
            "highspeed",
            "htcp",
            "hybla",
            "illinois",
            "ledbat",
            "lp",
            "reno",
            "scalable",
            "vegas",
            "vegas95",
            "veno",
            "westwood",
            "yeah",
            "linux-bbr",
            "linux-bic",
            "linux-cdg",
            "linux-cubic",
            "linux-dctcp",
            "linux-highspeed",
            "linux-htcp",
            "linux-hybla",
            "linux-illinois",
            "linux-lp",
            "linux-nv",
            "linux-reno",
            "linux-scalable",
            "linux-vegas",
            "linux-veno",
            "linux-westwood",
            "linux-yeah",
        ]
        | dict[str, object]
    ]
    """Name of the congestion control: one of bentpipe's C files, or, for real endpoints, `linux-NAME` for the
    kernel's own; or `{ file = "./mine.c" }`, C source that is compiled if `bentpipe --allow-code` permits it
    (docs/congestion-recipe.md). Default: reno; vegas in profile scps."""
    delayed_ack: NotRequired[bool]
    """True for delayed acknowledgments: every second segment is acknowledged, or the first after
    `delayed_ack_timeout` (RFC 1122, section 4.2.3.2). False: every segment is acknowledged at once. Default:
    true in all profiles."""
    delayed_ack_min: NotRequired[Span]
    """Minimum delay of an acknowledgment, from which the delay adapts to the time between segments. Default:
    40 ms in the profiles of Linux. If it equals `delayed_ack_timeout`, as in the other profiles, the delay is
    constant."""
    delayed_ack_timeout: NotRequired[Span]
    """Maximum delay of an acknowledgment, less than 500 ms (RFC 1122). Default 200 ms."""
    dsack: NotRequired[bool]
    """True for duplicate selective acknowledgments (RFC 2883). Default: true in the profiles of Linux, false
    in the others."""
    ecn: NotRequired[bool]
    """True for explicit congestion notification (RFC 3168), if both ends request it. Default: false in all
    profiles, as in Linux, which only uses it on request."""
    freeze: NotRequired[list[Freeze]]
    """Freeze-TCP: disconnections before which receivers close their window, and after which they open it; a
    list of `{ at, until }`."""
    freeze_warning: NotRequired[Span]
    """Time before such a handover at which the ends are warned. If unset, the round-trip time of a full
    segment over the path without queues."""
    frto: NotRequired[bool]
    """True if spurious time-outs are detected before everything is retransmitted (F-RTO, RFC 5682); needs
    SACK. Default: true in the profiles of Linux, false in the others."""
    initial_sequence: NotRequired[int]
    """Initial sequence number of both ends. If unset, it is random."""
    initial_ssthresh: NotRequired[int]
    """Slow-start threshold at the start, in segments (RFC 5681, section 3.1). If unset, it is infinite."""
    initial_window: NotRequired[int]
    """Congestion window at the start, in segments. Default: 10 (RFC 6928) in the profiles of Linux except
    linux-2.6.32, 3 (2 to 4 by RFC 3390) in linux-2.6.32, classic and scps, 1 (RFC 2001) in freebsd and
    nineties."""
    jiffy: NotRequired[Span]
    """Length of a jiffy, the period of Linux' clock (1 / CONFIG_HZ), at most 10 ms. Time-outs, probes and
    delayed acknowledgments are counted in jiffies and expire on steps of the timer wheel: up to one jiffy
    late below 63 jiffies, up to eight below 504. They are counted from 10 s before the run, as in guests of
    the clock `kernel`. For time-outs, `timer_tick` takes precedence. Default: 4 ms, as in Debian's kernels,
    in profiles linux, linux-6.12 and linux-6.1; 0 s, an exact clock, in the others."""
    minshall: NotRequired[bool]
    """True if `nagle` holds back a small segment only while another small segment is unacknowledged
    (draft-minshall-nagle-01), as in Linux, instead of while any data is. No effect without `nagle`. Default:
    true in the profiles of Linux, false in the others."""
    nagle: NotRequired[bool]
    """True if small segments are held back while data is unacknowledged (Nagle's algorithm, RFC 9293, section
    3.7.4). Default: true in profile nineties, false in the others."""
    on_handover: NotRequired[list[OnHandover]]
    """Reactions of the ends to the scenario's `[[handover]]`s on their path: `freeze` (Freeze-TCP) at those
    that interrupt or lose packets, `adapt` (fast adaptation) at those to another link. Default none."""
    pacing: NotRequired[bool]
    """True if segments are always paced, as with Linux' fq queue discipline. False: they are paced only if
    the congestion control requests it, as bbr does. Default false."""
    pacing_ca_ratio: NotRequired[int]
    """Pacing rate otherwise, in percent of cwnd / SRTT. Default 120 (Linux' tcp_pacing_ca_ratio)."""
    pacing_ss_ratio: NotRequired[int]
    """Pacing rate while cwnd < ssthresh / 2, in percent of cwnd / SRTT. Default 200 (Linux'
    tcp_pacing_ss_ratio)."""
    parameters: NotRequired[dict[str, int]]
    """Parameters of the congestion control, by their names in its source."""
    profile: NotRequired[Profile]
    """Profile: the named set of values that applies to all unset keys. Default `linux`."""
    proportional_reduction: NotRequired[bool]
    """True if the window is reduced in proportion to the delivered data (PRR, RFC 9937) instead of at once.
    Default: true in the profiles of Linux except linux-2.6.32, false in the others."""
    quick_acks: NotRequired[int]
    """Quick acknowledgments: number of segments that a receiver acknowledges one by one at the start, after
    idle time and when it sees retransmissions. Default: 16 in the profiles of Linux, 0 in the others."""
    quick_start: NotRequired[Rate]
    """Rate that is requested from the path for the start (Quick-Start, RFC 4782), 80 kbit/s to 1.31072
    Gbit/s. Links and networks grant it if they have the key `quick_start`. If unset, no request."""
    quick_window: NotRequired[Size]
    """Growth of the receive window at the start, plus 64 KiB. The window starts below its full size by this
    value minus 64 KiB, but with at least 64 KiB. It grows to its full size by two segments for each arriving
    segment, which is then acknowledged at once. Default: 4416 KiB in profile linux and 880 KiB in linux-6.12,
    whose window grows by 4352 and 816 KiB from half the memory of emulated hosts to the fraction that holds
    payload; 16 MiB in linux-6.1 and linux-2.6.32, so the whole window grows; 0 B in the others, which means
    the full window from the start."""
    rate_halving: NotRequired[bool]
    """True if the window is reduced by one segment for every second acknowledgment, down to one segment above
    the data in flight, as in Linux before 3.2 (rate halving), instead of at once. After heavy losses it ends
    far below the slow-start threshold. A time-out that `frto` finds spurious also halves it. Not with
    `proportional_reduction`. Default: true in profile linux-2.6.32, false in the others."""
    receive_window: NotRequired[Size]
    """Receive buffer in bytes of payload, advertised as the window. Default: Linux' own maximum in the
    profiles of Linux, the payload part of tcp_rmem's memory: 16 MiB in linux, 3.98 MB in linux-6.12, 3 MiB in
    linux-6.1 and linux-2.6.32; 8192 B in nineties; in the others it never limits (1 GiB). A larger value
    raises the limit."""
    receive_window_start: NotRequired[Size]
    """Receive window at the start, which grows with the arriving data up to `receive_window` (dynamic
    right-sizing). In the profiles of Linux it grows like Linux' auto-tuning, which starts with 64 KiB on
    hosts with Linux' own tcp_rmem, and segments by which it grows are acknowledged at once. If unset, the
    window is `receive_window` from the start, and `quick_window` determines the segments that are
    acknowledged at once."""
    recovery: NotRequired[Recovery]
    """Loss detection and recovery. Default: rack in the profiles of Linux except linux-2.6.32, snack in scps,
    reno in nineties, sack in the others."""
    restart_after_idle: NotRequired[bool]
    """True if sending restarts with the initial window after idle time (RFC 5681, section 4.1), reached as in
    Linux by halving the window for each time-out that has passed. Default: true in the profiles of Linux,
    false in the others."""
    retries: NotRequired[int]
    """Number of retransmissions of the same data, or of unanswered window probes, after which the connection
    fails. Default: 12 in profile nineties, 15 in the others."""
    retries_as_time: NotRequired[bool]
    """True if `retries` represents a time: data is given up at the first retransmission after the time that
    this many retries would take if the time-out had started at `rto_min`, 924.6 s by default (Linux'
    tcp_retries2). Default: true in the profiles of Linux, false in the others."""
    rto_estimator: NotRequired[RtoEstimator]
    """Estimator of the round-trip time's variation. Default: linux in the profiles of Linux, rfc6298 in the
    others."""
    rto_initial: NotRequired[Span]
    """Retransmission time-out before the first round-trip time sample. Default: 3 s (RFC 1122, 4.2.3.1) in
    profiles nineties and linux-2.6.32, 1 s (RFC 6298, 2.1) in the others."""
    rto_max: NotRequired[Span]
    """Maximum retransmission time-out, also with back-off. Default: 64 s in profile nineties, 120 s, as in
    Linux, in the others; RFC 6298 (2.5) requires at least 60 s."""
    rto_min: NotRequired[Span]
    """Minimum retransmission time-out. Default: 200 ms in the profiles of Linux; 1 s (RFC 6298, 2.4) in the
    others."""
    rto_variance_min: NotRequired[Span]
    """Minimum of the term 4 RTTVAR in the retransmission time-out, that is the clock granularity G of RFC
    6298 (2.3). Default 200 ms, as in Linux."""
    sack: NotRequired[bool]
    """True for selective acknowledgments (RFC 2018). If unset, they are used if `recovery` needs them."""
    segment_size: NotRequired[int]
    """Payload of a full segment in bytes. Packets are 40 bytes longer (IPv4 and TCP headers), or 52 with
    timestamps. Default 1460."""
    segmentation_offload: NotRequired[bool]
    """True if a burst travels as one packet, as with TSO and GSO where no interface splits it. Such a packet
    is queued, lost and acknowledged as one. Implies `bursts`. Packets of real hosts are split before the
    models see them. Default: false in all profiles."""
    send_buffer: NotRequired[Size]
    """Send buffer: maximum number of unacknowledged bytes. Default: 8192 B in nineties; in the others it
    never limits. In the profiles of Linux it replaces `send_memory`."""
    send_memory: NotRequired[Size]
    """Memory of the send buffer as Linux counts it: payload plus 960 bytes per packet, which is one burst
    once it has been sent. A program that has filled the buffer writes again when a third of it is free.
    Minimum: two segments, each in its own packet. Default: 4 MiB in the profiles of Linux (the maximum of
    tcp_wmem), unless `send_buffer` is given; in the others it never limits. A larger value raises the
    limit."""
    syn_linear_timeouts: NotRequired[int]
    """Number of retransmissions of a SYN before those, without doubling. Default: 4 in profiles linux and
    linux-6.12, as in Linux since 6.5; 0 in the others."""
    syn_retries: NotRequired[int]
    """Number of retransmissions of a SYN or SYN-ACK, with a time-out that doubles, after which the connection
    fails. Default: 5 in profile linux-2.6.32, 6 in the others."""
    tail_loss_probe: NotRequired[bool]
    """True if a probe is sent for a loss at the tail of a flight before the time-out (RFC 8985, section 7);
    needs `recovery = "rack"`. Default: on in the profiles of Linux except linux-2.6.32, off in the others."""
    timer_tick: NotRequired[Span]
    """Period of the clock that times segments and on whose ticks time-outs occur, at most 1 s. Default: 500
    ms in profile nineties, as in BSD's stacks (RFC 6298, section 4); 0 s, an exact clock, in the others."""
    timestamps: NotRequired[bool]
    """True for timestamps (RFC 7323, section 3), which take 12 bytes of every segment. Default: true in the
    profiles of Linux and in scps, false in the others."""
    undo: NotRequired[bool]
    """True if reductions are undone when timestamps (RFC 3522) or duplicate SACKs (RFC 3708) show that they
    were spurious. Default: true in the profiles of Linux, false in the others."""
    window_scaling: NotRequired[bool]
    """True for window scaling (RFC 7323, section 2); without it the window is at most 65535 bytes. Default:
    false in profile nineties, true in the others."""
    window_validation: NotRequired[bool]
    """True if a window that the application does not use decays (RFC 7661 as implemented in Linux). Default:
    true in the profiles of Linux, false in the others."""


class Iax2Transport(TypedDict):
    """Transport of the kind `iax2`. Telephone calls by IAX2 (RFC 5456): signalling and speech over one UDP
    port, alone or in trunks."""

    kind: Literal["iax2"]
    mtu: NotRequired[Size]
    """Maximum size of a packet with a trunk frame, IP and UDP included, 68 B to 65535 B. Speech that does not
    fit leaves in further trunk frames at the same time. Default 1500 B."""
    timestamps: NotRequired[bool]
    """True if a call's entry in a trunk frame has its own time stamp, which takes 2 bytes. Default false."""
    trunk: NotRequired[Span]
    """Period of trunk frames, which carry the speech of all calls together (RFC 5456, section 7.1). If unset,
    every packet of speech is a separate mini frame."""


class SipTransport(TypedDict):
    """Transport of the kind `sip`. Telephone calls by SIP (RFC 3261) over UDP or TCP, with speech in RTP (RFC
    3550)."""

    kind: Literal["sip"]
    over: NotRequired[SignallingTransport]
    """Transport protocol of the signalling: `"udp"` (the default) or `"tcp"`, one connection for all calls
    with the default settings of the transport `tcp`. Speech is always sent over UDP."""
    t1: NotRequired[Span]
    """Timer T1, the estimate of the round-trip time from which all timers of SIP follow (RFC 3261, section
    17.1.1.1): the first retransmission comes after T1, and a request fails after 64 T1. The RFC recommends
    more for longer round-trip times. Default 500 ms."""


class TcpTransport(Tcp):
    """Transport of the kind `tcp`. TCP with the values of a profile, and values that differ from it."""

    kind: Literal["tcp"]


class TfrcTransport(TypedDict):
    """Transport of the kind `tfrc`. TCP-Friendly Rate Control (RFC 5348) over UDP: datagrams at the rate that
    a TCP would have on average."""

    damped: NotRequired[bool]
    """True if the sending rate is modulated by the square root of the round-trip time to prevent oscillation
    (RFC 5348, section 4.5). Default true."""
    kind: Literal["tfrc"]
    quick_start: NotRequired[Rate]
    """Rate that is requested from the path for the start (Quick-Start, RFC 4782), 80 kbit/s to 1.31072
    Gbit/s. If unset, no request."""
    segment_size: NotRequired[int]
    """Payload of a datagram in bytes (s of the throughput equation): the size of the application's datagrams,
    or of those into which its data is cut. With `small_packets` it is their nominal size. Default 1460."""
    small_packets: NotRequired[bool]
    """True for TFRC-SP (RFC 4828), by which small packets get the same share as large ones: the rate is
    reduced by the share of the headers, and packets are at least 10 ms apart. Default false."""


class UdpTransport(TypedDict):
    """Transport of the kind `udp`. Datagrams (UDP, RFC 768) without connections, acknowledgments or rate
    control. Lost datagrams are not repaired."""

    kind: Literal["udp"]


#: The transport protocol that carries a flow.
Transport: TypeAlias = 'Iax2Transport | SipTransport | TcpTransport | TfrcTransport | UdpTransport | Literal["iax2", "sip", "tcp", "tfrc", "udp"]'

#: Traffic between two nodes: an application at both ends, over a transport. A flow with a `count`, or with a
#: pattern as `from` or `to`, represents a group of flows.
Flow = TypedDict(
    "Flow",
    {
        "app": "App",
        "count": "NotRequired[int]",
        "dscp": "NotRequired[Dscp]",
        "endpoints": "NotRequired[Endpoints]",
        "from": "str",
        "group": "NotRequired[str]",
        "name": "str",
        "start": "NotRequired[Span]",
        "starts": "NotRequired[Starts]",
        "to": "str",
        "transport": "Transport",
    },
)

#: The directions that a handover affects.
HandoverDirection: TypeAlias = 'Literal["both", "forward", "return"]'

#: The fate of the packets of a link that goes down or is cut.
Fate: TypeAlias = 'Literal["forward", "lose"]'


class Handover(TypedDict):
    """A handover: from a given time on, packets use another link of a `[[multilink]]`, or, with an
    interruption, the same link after it."""

    at: Span
    """Time at which the handover starts. It precedes all other events of the multilink at that time, except
    arrivals."""
    direction: NotRequired[HandoverDirection]
    """Directions of the handover: `"both"` (the default), or one of them."""
    interruption: NotRequired[Span]
    """Interruption: time without a link to send over. If unset, as configured for the multilink."""
    multilink: NotRequired[str]
    """Name of the multilink. Optional if there is only one."""
    overlap: NotRequired[Span]
    """Overlap: time for which the old link continues to send its waiting packets. If unset, as configured for
    the multilink."""
    packets: NotRequired[Fate]
    """Treatment of the affected packets. If unset, as configured for the multilink."""
    to: str
    """Name of the link to use from then on."""


#: a frequency or symbol rate, 1 Hz to 10 THz
Frequency: TypeAlias = "str"

#: an angle, -360 deg to 360 deg
Angle: TypeAlias = "str"


class Antenna(TypedDict):
    """An antenna, by its gain or by its diameter."""

    diameter: NotRequired[Distance]
    """Diameter of a parabolic reflector, which gives the gain. Give either this or `gain_dbi`."""
    efficiency: NotRequired[float]
    """Aperture efficiency: the collected fraction of the power that reaches the dish, 0 to 1. Default 0.65,
    typical of parabolic antennas."""
    gain_dbi: NotRequired[float]
    """Gain in dBi. Give either this or `diameter`."""
    pointing_error: NotRequired[Angle]
    """Angle between the antenna's axis and the direction of the other end. Default 0 deg; needs
    `diameter`."""


class BudgetLeg(TypedDict):
    """One leg of a link budget: a transmitter, free space and a receiver."""

    distance: Distance
    """Slant range: the distance between transmitter and receiver, from which the free-space loss follows."""
    eirp_dbw: NotRequired[float]
    """Equivalent isotropically radiated power of the carrier in dBW, output back-off included. Give either
    this or `power_dbw` and `transmit`."""
    frequency: Frequency
    """Frequency of the carrier, for example "19.7 GHz"."""
    gt_db_k: NotRequired[float]
    """Figure of merit of the receiver (G/T) in dB/K. Give either this or `noise_k` and `receive`."""
    losses_db: NotRequired[dict[str, float]]
    """Further losses in dB by name: atmosphere, rain, feeder, polarisation, pointing, antenna pattern towards
    the receiver. Default none."""
    noise_k: NotRequired[float]
    """System noise temperature of the receiver in kelvin. Needs `receive`."""
    power_dbw: NotRequired[float]
    """Power of the carrier at the transmitting antenna, in dBW. Needs `transmit`."""
    receive: NotRequired[Antenna]
    """Antenna of the receiver, which gives G/T together with `noise_k`."""
    transmit: NotRequired[Antenna]
    """Antenna of the transmitter, which gives the EIRP together with `power_dbw`."""


class LinkBudget(TypedDict):
    """A link budget: powers, gains and losses from which the Es/N0 follows."""

    down: NotRequired[BudgetLeg]
    """The leg from the satellite. Its noise is neglected if unset."""
    implementation_db: NotRequired[float]
    """Implementation loss of modulator and demodulator in dB, relative to theory. Default 0 dB."""
    interference_db: NotRequired[dict[str, float]]
    """Carrier to interference ratios in dB by name, for example of adjacent satellites, intermodulation and
    the other polarisation. Default none."""
    required_esn0_db: NotRequired[float]
    """Required Es/N0 in dB. The margin is the excess of the budget over it; a negative margin gives a
    warning. If unset, the threshold of the most robust MODCOD plus the margin of `acm`."""
    symbol_rate: Frequency
    """Symbol rate of the carrier, such as "30 MBd"."""
    up: NotRequired[BudgetLeg]
    """The leg to the satellite. Its noise is neglected if unset."""


#: Meaning of the values of a fade.
Quantity: TypeAlias = 'Literal["attenuation", "esn0"]'


class Fade(TypedDict):
    """A fade: attenuation or Es/N0 of receivers as a time series."""

    quantity: NotRequired[Quantity]
    """Meaning of the values: `"attenuation"` in dB (the default) or `"esn0"`, the Es/N0 itself in dB. A
    column of the feeder link may contain Es/N0 only if `feeder_esn0_db` is given."""
    repeat: NotRequired[Span]
    """Period after which the series restarts, longer than the time of the last sample. If unset, the last
    sample lasts until the end of the run."""
    samples: str | dict[str, object]
    """The samples: a table, comma-separated text or a Parquet file. Column `time` contains seconds from 0,
    ascending. There is one column per terminal, named after its node (or the `name` of a group of terminals).
    The gateway's column is the feeder link. On a link between two nodes, the receiver's column is its own
    link and the sender's the feeder link. Values are in dB. Each sample lasts until the next; before the
    first sample the sky is clear. In a series of regular steps, a longer step is refused as a gap."""


#: The MODCODs that a forward link can use.
Modcods: TypeAlias = 'Literal["dvb-s2", "dvb-s2x"]'


class Acm(TypedDict):
    """Adaptive coding and modulation (ACM): the MODCOD for each receiver follows its signal, with a margin, a
    hysteresis and a delay."""

    budget: NotRequired[LinkBudget | str | dict[str, object]]
    """Link budget that gives the Es/N0 in clear sky, for terminals without their own value."""
    burst: NotRequired[int]
    """Number of symbols in a burst of the return link, 536 or 1616, which selects the linear modulation
    bursts of DVB-RCS2 (EN 301 545-2, annex A). Required for return links; links and forward links have no
    bursts."""
    delay: NotRequired[Span]
    """Time from a change of the signal until the sender uses another MODCOD: measurement, report and
    propagation. Default 500 ms."""
    esn0_db: NotRequired[float]
    """Es/N0 in clear sky in dB, for terminals without their own value. It applies to the whole path, or to
    the terminal's link alone if `feeder_esn0_db` is given. If unset, the result of `budget`."""
    fade: NotRequired[Fade]
    """Fades of terminals and of the feeder link as time series. If unset, the sky stays clear."""
    feeder_esn0_db: NotRequired[float]
    """Es/N0 of the feeder link in clear sky in dB, whose noise then adds to the noise of the terminal's link.
    If unset, an attenuation of the feeder link reduces the Es/N0 of the whole path by the same amount."""
    hysteresis_db: NotRequired[float]
    """Hysteresis in dB: the additional excess of the Es/N0 over a threshold before a more efficient MODCOD is
    used, or any MODCOD after an outage. Default 0.5 dB, 0 to 60 dB."""
    margin_db: NotRequired[float]
    """Margin in dB by which a terminal's Es/N0 must exceed a MODCOD's threshold. It covers the decrease of
    the signal within `delay`; beyond it packets are lost. Default 1 dB, 0 to 60 dB."""
    modcods: NotRequired[Modcods]
    """MODCODs of links and forward links: `"dvb-s2"` (EN 302 307-1, the default) or `"dvb-s2x"` (adds those
    of EN 302 307-2)."""


class Arq(TypedDict):
    """Retransmission of lost frames: go-back-n by COP-1 (CCSDS 232.1-B) in frames of Proximity-1, in both
    directions. Packets arrive complete and in order. Each packet takes 12 bytes more, and the link also
    carries reports."""

    timer: NotRequired[Span]
    """Timer: time from the end of an unacknowledged frame to its retransmission (T1_Initial). If unset, the
    delays of both directions plus the time of the longest frame so far and of a report in the other
    direction, evaluated when the frame is sent."""
    window: NotRequired[int]
    """Window: maximum number of unacknowledged frames (FOP_Sliding_Window_Width), 1 to 127. Default 127."""


class Outage(TypedDict):
    """An interval in which a link fails, even during a contact."""

    announced: NotRequired[bool]
    """True if routing knows of the outage in advance. Default false."""
    end: Span
    """End of the interval, counted from the start of the run."""
    start: Span
    """Start of the interval, counted from the start of the run."""


class PlanContactKind(TypedDict):
    """ContactKind of the kind `plan`. Contacts by a contact plan: the contacts between the link's nodes, in
    both directions. Rates and light times of the plan replace those of the link."""

    kind: Literal["plan"]
    plan: str | dict[str, object]
    """The contact plan: JSON, HDTN's JSON, commands of ION, comma-separated values, or TOML."""
    skip_impossible: NotRequired[bool]
    """True to skip contacts that do not end after their start, as HDTN does. Default false: a plan with such
    a contact is refused."""


class WindowsContactKind(TypedDict):
    """ContactKind of the kind `windows`. Contacts in given windows, in both directions, with the rate and the
    delay of the link."""

    kind: Literal["windows"]
    repeat: NotRequired[Span]
    """Period after which the windows repeat, not shorter than the end of the last one. If unset, they do not
    repeat."""
    windows: list[list[Span]]
    """Start and end of each window, counted from the start of the run, in order."""


class RandomContactKind(TypedDict):
    """ContactKind of the kind `random`. Random contacts: the link is closed first, then open and closed for
    exponentially distributed times. Both directions are open at the same times."""

    closed: Span
    """Mean length of the time between two contacts."""
    kind: Literal["random"]
    open: Span
    """Mean length of a contact, the time for which the link is open."""


#: The source of a link's contacts.
ContactKind: TypeAlias = (
    'PlanContactKind | WindowsContactKind | RandomContactKind | Literal["plan", "windows", "random"]'
)


class Contacts(TypedDict):
    """The contacts of a link: the intervals in which it is open. Packets wait outside of them."""

    outages: NotRequired[list[Outage]]
    """Intervals that are removed from the contacts. Default none."""
    when: ContactKind
    """Source of the contacts: a contact plan, periodic windows, or random times."""


#: The encapsulation of a packet in its AAL5 frame, from which the receiver recognises the protocol.
Encapsulation: TypeAlias = 'Literal["llc-snap", "vc", "bridged", "lane", "ppp"]'

#: The encoding of a packet's protocol type.
Protocol: TypeAlias = 'Literal["suppressed", "compressed", "full"]'

#: The trailer after the last fragment of a packet.
Trailer: TypeAlias = 'Literal["sequence", "crc"]'

#: The transfer frames of a space link, by their CCSDS standard.
SpaceFrame: TypeAlias = 'Literal["tm", "aos", "uslp", "proximity-1"]'

#: The header of each packet in the frames.
SpacePackets: TypeAlias = 'Literal["encapsulation", "space-packet"]'


class NoneFraming(TypedDict):
    """Framing of the kind `none`. No framing: packets are sent unchanged, and errors affect packets."""

    kind: Literal["none"]


class AtmFraming(TypedDict):
    """Framing of the kind `atm`. ATM with AAL5 (ITU-T I.363.5, RFC 2684): each packet, with padding and a
    trailer of 8 bytes, fills whole cells of 53 bytes, 48 of them payload."""

    encapsulation: NotRequired[Encapsulation]
    """Encapsulation of the packet in its AAL5 frame, by the bytes before it: `"llc-snap"` (8 bytes, the
    default), `"vc"` (none), `"bridged"` (24 bytes, an Ethernet frame without checksum), `"lane"` (16 bytes,
    LAN emulation) or `"ppp"` (6 bytes)."""
    kind: Literal["atm"]


class MpeFraming(TypedDict):
    """Framing of the kind `mpe`. Multi-protocol encapsulation (EN 301 192, section 7): packets in datagram
    sections, sections in MPEG transport stream packets of 188 bytes."""

    kind: Literal["mpe"]
    llc_snap: NotRequired[bool]
    """True if an LLC/SNAP header of 8 bytes identifies the protocol of each packet. Default false."""
    packing: NotRequired[bool]
    """True if a section may start in the transport stream packet in which the previous one ends; otherwise
    the rest of that packet is stuffed. Default true."""


class UleFraming(TypedDict):
    """Framing of the kind `ule`. Unidirectional lightweight encapsulation (RFC 4326): packets in SNDUs, SNDUs
    in MPEG transport stream packets of 188 bytes."""

    address: NotRequired[bool]
    """True if each SNDU has a destination address of 6 bytes (D = 0). Default false."""
    kind: Literal["ule"]
    packing: NotRequired[bool]
    """True if an SNDU may start in the transport stream packet in which the previous one ends (RFC 4326,
    section 6.2); otherwise the rest of that packet is padded. Default true."""


class GseFraming(TypedDict):
    """Framing of the kind `gse`. Generic stream encapsulation (ETSI TS 102 606-1): packets, whole or in
    fragments, in the baseband frames of DVB-S2."""

    frame: NotRequired[int]
    """Size of a baseband frame's data field in bytes, on links; 8 to 8192. The default, 4016, is that of QPSK
    1/2 with long frames: 32 208 bits minus 80. With adaptive coding and modulation, the size of the MODCOD's
    long frame applies instead; on a return link, that of the burst."""
    kind: Literal["gse"]
    label: NotRequired[int]
    """Size of the label in bytes, 0 to 6: 0 (the default), 3 or 6."""


class RleFraming(TypedDict):
    """Framing of the kind `rle`. Return link encapsulation (EN 301 545-2, TS 103 179): packets, whole or in
    fragments, in the bursts of DVB-RCS2."""

    kind: Literal["rle"]
    protocol: NotRequired[Protocol]
    """Encoding of each packet's protocol type: `"suppressed"` (the default, 0 bytes), `"compressed"` (1 byte)
    or `"full"` (2 bytes)."""
    trailer: NotRequired[Trailer]
    """Trailer of a fragmented packet, with which the receiver checks it: `"sequence"` (the default, 1 byte)
    or `"crc"` (4 bytes)."""


class SpaceFraming(TypedDict):
    """Framing of the kind `space`. Transfer frames of space links (TM, AOS, USLP, Proximity-1; CCSDS) with a
    channel code. The link's rate counts all sent bits."""

    code: NotRequired[Code]
    """Channel code of the frames. Default none. The link's `error` of kind `coded` uses the same code."""
    control_field: NotRequired[bool]
    """True if frames end with an operational control field of 4 bytes. Default false."""
    frame: NotRequired[SpaceFrame]
    """Kind of frame: `"tm"` (the default), `"aos"`, `"uslp"` or `"proximity-1"`."""
    idle_frames: NotRequired[bool]
    """True if idle frames are sent when there is nothing to send, as on real links with TM, AOS and USLP
    frames. A packet then waits for the end of the frame in transmission. Default false."""
    kind: Literal["space"]
    length: NotRequired[int]
    """Length of a frame in bytes, without sync marker and code, 16 to 65536. Default 1115, which is five
    codewords of RS(255,223). With `arq`, the maximum length."""
    packets: NotRequired[SpacePackets]
    """Header of each packet: `"encapsulation"` (the default), 4 bytes, or `"space-packet"`, 6 bytes."""


#: The framing: the placement of packets into the units that a link transmits. It determines the overhead, and
#: the packets lost by an error.
Framing: TypeAlias = 'NoneFraming | AtmFraming | MpeFraming | UleFraming | GseFraming | RleFraming | SpaceFraming | Literal["none", "atm", "mpe", "ule", "gse", "rle", "space"]'


class NoneJitter(TypedDict):
    """Jitter of the kind `none`. No jitter: each packet takes exactly the link's delay."""

    kind: Literal["none"]


class UniformJitter(TypedDict):
    """Jitter of the kind `uniform`. Uniformly distributed extra delay, from 0 s to a maximum."""

    kind: Literal["uniform"]
    most: Span
    """Maximum extra delay of a packet. The minimum is 0 s."""


class NormalJitter(TypedDict):
    """Jitter of the kind `normal`. Normally distributed extra delay; draws below 0 s are repeated."""

    deviation: Span
    """Standard deviation of the normal distribution, before truncation at 0 s."""
    kind: Literal["normal"]
    mean: Span
    """Mean of the normal distribution, before truncation at 0 s."""


class ExponentialJitter(TypedDict):
    """Jitter of the kind `exponential`. Extra delay that is exponentially distributed."""

    kind: Literal["exponential"]
    mean: Span
    """Mean extra delay of a packet."""


class QuantilesJitter(TypedDict):
    """Jitter of the kind `quantiles`. Extra delay by the quantiles of a measured distribution."""

    kind: Literal["quantiles"]
    values: list[Span]
    """Quantiles in equal steps of probability, ascending: the first is the minimum extra delay, the last the
    maximum. Between two quantiles the distribution is uniform."""


class LateJitter(TypedDict):
    """Jitter of the kind `late`. A fixed extra delay for randomly chosen packets. With `reorder`, other
    packets overtake them."""

    extra: Span
    """Extra delay of a late packet."""
    kind: Literal["late"]
    probability: float
    """Probability that a packet is late, 0 to 1, independent of other packets."""


class LevelsJitter(TypedDict):
    """Jitter of the kind `levels`. Extra delay that is constant during periods of fixed length. A new value
    is drawn for each period."""

    every: NotRequired[Span]
    """Duration of a level. Default 15 s, as measured on Starlink."""
    kind: Literal["levels"]
    of: Jitter
    """The distribution from which each level of extra delay is drawn."""
    offset: NotRequired[Span]
    """Time of the first change. Default 0 s."""


class SeriesJitter(TypedDict):
    """Jitter of the kind `series`. Extra delay as a time series."""

    kind: Literal["series"]
    repeat: NotRequired[Span]
    """Period after which the series restarts, longer than the time of the last sample. If unset, the last
    sample lasts until the end of the run."""
    samples: str | dict[str, object]
    """The samples: a table, comma-separated text or a Parquet file, with `time` and `extra`, both in seconds
    from 0. Each sample lasts until the next; there is no extra delay before the first. In a series of regular
    steps, a longer step is refused as a gap."""


class SumJitter(TypedDict):
    """Jitter of the kind `sum`. The sum of several extra delays."""

    kind: Literal["sum"]
    parts: list[Jitter]
    """Jitters of the sum, whose extra delays are added."""


#: The jitter of a link: delay of each packet beyond the link's propagation delay.
Jitter: TypeAlias = 'NoneJitter | UniformJitter | NormalJitter | ExponentialJitter | QuantilesJitter | LateJitter | LevelsJitter | SeriesJitter | SumJitter | Literal["none", "uniform", "normal", "exponential", "quantiles", "late", "levels", "series", "sum"]'

#: The packets that the average queue of a drop precedence counts.
Counted: TypeAlias = 'Literal["all", "coupled", "own"]'


class Thresholds(TypedDict):
    """Thresholds and drop probability for the packets of one drop precedence."""

    max: int
    """Average queue in packets above which all packets are dropped (max_th), greater than `min`."""
    min: int
    """Average queue in packets above which packets are dropped or marked at random (min_th)."""
    probability: NotRequired[float]
    """Drop probability just below `max` (max_p), 0 to 1. Default 0.1."""


#: The drawing of drops from the probability p_b of an average (Floyd and Jacobson 1993, section 7).
Spacing: TypeAlias = 'Literal["uniform", "geometric"]'


class ScheduledClass(TypedDict):
    """A class of a scheduling queue: it has a name, selects packets by DSCP and has its own queue."""

    dscp: NotRequired[list[Dscp]]
    """Code points (DSCP) of the class's packets. The last class also takes all code points that no class
    lists."""
    name: str
    """Name of the class, used in messages."""
    queue: NotRequired[Queue]
    """Queue discipline of the class, which may contain further classes."""
    weight: NotRequired[int]
    """Weight relative to the other classes, 1 to 10000. Default 1. Not allowed in a `priority` queue, where
    the order of the classes decides."""


class DropTailQueue(TypedDict):
    """Queue of the kind `drop-tail`. A drop-tail queue, limited in packets, in bytes or in both."""

    bytes: NotRequired[Size]
    """Maximum number of waiting bytes, at least 1500 B. If unset, only `packets` limits the queue."""
    kind: Literal["drop-tail"]
    packets: NotRequired[int]
    """Maximum number of waiting packets. If neither this nor `bytes` is given, 1000 packets, as in a Linux
    device."""


class DropFrontQueue(TypedDict):
    """Queue of the kind `drop-front`. A queue that drops from its front when it is full, limited in packets,
    in bytes or in both."""

    bytes: NotRequired[Size]
    """Maximum number of waiting bytes, at least 1500 B. If unset, only `packets` limits the queue."""
    kind: Literal["drop-front"]
    packets: NotRequired[int]
    """Maximum number of waiting packets. If neither this nor `bytes` is given, 1000 packets, as in a Linux
    device."""


class RedQueue(TypedDict):
    """Queue of the kind `red`. Random early detection (Floyd and Jacobson 1993): drops or marks packets with
    a probability that grows with the average queue, before the queue is full."""

    ecn: NotRequired[bool]
    """True if packets of ECN-capable transports are marked instead of dropped (RFC 3168). Default true."""
    kind: Literal["red"]
    max: NotRequired[int]
    """Average queue in packets at which the linear slope of the drop probability ends (max_th), greater than
    `min`. Default 15."""
    min: NotRequired[int]
    """Average queue in packets above which packets are dropped or marked at random (min_th). Default 5."""
    packets: NotRequired[int]
    """Maximum number of waiting packets. Default 100. Packets that arrive at a full queue are dropped."""
    probability: NotRequired[float]
    """Drop probability just below `max` (max_p), 0 to 1. Default 0.1."""
    typical: NotRequired[Size]
    """Size of a typical packet, 1 B to 65535 B. During idle time the average decays as if such packets were
    sent. Default 500 B."""
    weight: NotRequired[float]
    """Weight of an arrival in the moving average of the queue (w_q), 0 to 1. Default 0.002."""


class RedBytesQueue(TypedDict):
    """Queue of the kind `red-bytes`. Random early detection (Floyd and Jacobson 1993) with limits in bytes
    and the parameters of Linux' `tc-red`: drops or marks packets with a probability that grows with the
    average queue."""

    bandwidth: NotRequired[Rate]
    """Rate at which the average decays during idle time. If unset, the link's rate."""
    burst: NotRequired[int]
    """Number of packets that may arrive at once at an empty queue without raising the average above `min`, at
    least `min` / `typical`. If unset, (2 `min` + `max`) / (3 `typical`), as `tc-red` recommends."""
    ecn: NotRequired[bool]
    """True if packets of ECN-capable transports are marked instead of dropped (RFC 3168). Default false, as
    in `tc-red`."""
    kind: Literal["red-bytes"]
    limit: NotRequired[Size]
    """Maximum number of waiting bytes. Default 75 kB. Packets that would exceed it are dropped."""
    max: NotRequired[Size]
    """Average queue at which the linear slope of the drop probability ends (max_th), greater than `min`.
    Above it all packets are dropped. If unset, a quarter of `limit`, as in `tc-red`."""
    min: NotRequired[Size]
    """Average queue above which packets are dropped or marked at random (min_th). If unset, a third of `max`,
    as in `tc-red`."""
    probability: NotRequired[float]
    """Drop probability just below `max` (max_p), 0 to 1. Default 0.02, as in `tc-red`."""
    typical: NotRequired[Size]
    """Average packet size (`avpkt` of `tc-red`), 1 B to 65535 B. With `burst` it determines the weight of an
    arrival. During idle time the average decays as if such packets were sent. Default 1500 B."""


class GentleRedQueue(TypedDict):
    """Queue of the kind `gentle-red`. RED whose drop probability rises linearly from max_p at `max` to 1 at
    twice `max`, instead of jumping to 1 (Floyd 2000)."""

    ecn: NotRequired[bool]
    """True if packets of ECN-capable transports are marked instead of dropped (RFC 3168). Default true."""
    kind: Literal["gentle-red"]
    max: NotRequired[int]
    """Average queue in packets at which the linear slope of the drop probability ends (max_th), greater than
    `min`. Default 15."""
    min: NotRequired[int]
    """Average queue in packets above which packets are dropped or marked at random (min_th). Default 5."""
    packets: NotRequired[int]
    """Maximum number of waiting packets. Default 100. Packets that arrive at a full queue are dropped."""
    probability: NotRequired[float]
    """Drop probability just below `max` (max_p), 0 to 1. Default 0.1."""
    typical: NotRequired[Size]
    """Size of a typical packet, 1 B to 65535 B. During idle time the average decays as if such packets were
    sent. Default 500 B."""
    weight: NotRequired[float]
    """Weight of an arrival in the moving average of the queue (w_q), 0 to 1. Default 0.002."""


class AredQueue(TypedDict):
    """Queue of the kind `ared`. Adaptive RED (Floyd, Gummadi and Shenker 2001): derives its thresholds and
    its weight from the link's rate and a target delay, and adapts the drop probability so that the average
    queue stays midway between the thresholds."""

    ecn: NotRequired[bool]
    """True if packets of ECN-capable transports are marked instead of dropped (RFC 3168); on by default."""
    kind: Literal["ared"]
    packets: NotRequired[int]
    """Maximum number of waiting packets. Default 1000. Packets that arrive at a full queue are dropped."""
    target: NotRequired[Span]
    """Target average queueing delay, longer than 0 s. Default 5 ms, as in section 5 of the paper."""
    typical: NotRequired[Size]
    """Size of a typical packet, 1 B to 65535 B, which converts the link's rate and `target` into packets.
    Default 500 B."""


class WredQueue(TypedDict):
    """Queue of the kind `wred`. Weighted RED (Clark and Fang 1998): RED with thresholds for each of the three
    drop precedences of assured forwarding (RFC 2597, section 2)."""

    average: NotRequired[Counted]
    """The packets that each average queue counts: `"all"` (the default, WRED), `"coupled"` or `"own"`."""
    ecn: NotRequired[bool]
    """True if packets of ECN-capable transports are marked instead of dropped (RFC 3168). Default true."""
    gentle: NotRequired[bool]
    """True if the drop probability rises linearly above `max`, to 1 at twice `max`, instead of jumping to 1.
    Default false."""
    green: NotRequired[Thresholds]
    """Thresholds for green packets: low drop precedence (AFx1) and all code points other than assured
    forwarding."""
    kind: Literal["wred"]
    packets: NotRequired[int]
    """Maximum number of waiting packets. Default 100. Packets that arrive at a full queue are dropped."""
    red: NotRequired[Thresholds]
    """Thresholds for red packets: high drop precedence (AFx3)."""
    spacing: NotRequired[Spacing]
    """Spacing of the drops: `"uniform"` (the default, as in RED) or `"geometric"`."""
    typical: NotRequired[Size]
    """Size of a typical packet, 1 B to 65535 B. During idle time the averages decay as if such packets were
    sent. Default 500 B."""
    weight: NotRequired[float]
    """Weight of an arrival in a moving average (w_q), 0 to 1. Default 0.002."""
    yellow: NotRequired[Thresholds]
    """Thresholds for yellow packets: medium drop precedence (AFx2)."""


class CodelQueue(TypedDict):
    """Queue of the kind `codel`. CoDel (RFC 8289): drops packets at departure while the queueing delay has
    stayed above a target for a whole interval."""

    ecn: NotRequired[bool]
    """True if packets of ECN-capable transports are marked instead of dropped (RFC 3168). Default true."""
    interval: NotRequired[Span]
    """Interval: time for which the delay must stay above the target before packets are dropped (INTERVAL in
    RFC 8289). It should be a worst-case round-trip time, such as 600 ms over a geostationary satellite.
    Default 100 ms."""
    kind: Literal["codel"]
    largest: NotRequired[Size]
    """Size of the largest packet. Nothing is dropped while no more than this is waiting. Default 1500 B."""
    packets: NotRequired[int]
    """Maximum number of waiting packets. Default 1000. Packets that arrive at a full queue are dropped."""
    target: NotRequired[Span]
    """Target: minimum standing queue delay (TARGET in RFC 8289), longer than 0 s and shorter than `interval`.
    Default 5 ms, as the RFC recommends."""


class FqCodelQueue(TypedDict):
    """Queue of the kind `fq-codel`. FQ-CoDel (RFC 8290): hashes flows to lines, each with its own CoDel, and
    serves the lines by deficit round robin with precedence for new ones."""

    ecn: NotRequired[bool]
    """True if packets of ECN-capable transports are marked instead of dropped (RFC 3168). Default true."""
    flows: NotRequired[int]
    """Number of lines to which flows are hashed, 1 to 65536. Default 1024, as in RFC 8290."""
    interval: NotRequired[Span]
    """Interval: time for which a line's delay must stay above the target before its packets are dropped
    (INTERVAL in RFC 8289). Default 100 ms."""
    kind: Literal["fq-codel"]
    packets: NotRequired[int]
    """Maximum number of waiting packets in all lines together. Default 10240, as in RFC 8290. Above it, up to
    64 packets are dropped from the head of the longest line."""
    quantum: NotRequired[Size]
    """Quantum: the bytes that a line may send per turn, 64 B to 1 MB. Default 1514 B, as in RFC 8290."""
    target: NotRequired[Span]
    """Target: minimum standing queue delay of each line's CoDel (TARGET in RFC 8289). Default 5 ms."""


class PieQueue(TypedDict):
    """Queue of the kind `pie`. PIE (RFC 8033): drops packets at arrival with a probability that a controller
    adjusts to hold the queueing delay at a target."""

    burst: NotRequired[Span]
    """Burst allowance: time without drops when a delay builds up after an idle period (MAX_BURST in RFC
    8033). Default 150 ms."""
    ecn: NotRequired[bool]
    """True if packets of ECN-capable transports are marked instead of dropped while the drop probability is
    at most 10 % (section 5.1). Default true."""
    kind: Literal["pie"]
    packets: NotRequired[int]
    """Maximum number of waiting packets. Default 1000. Packets that arrive at a full queue are dropped."""
    target: NotRequired[Span]
    """Target queueing delay of the controller (QDELAY_REF in RFC 8033), longer than 0 s. Default 15 ms."""
    update: NotRequired[Span]
    """Period of the updates of the drop probability (T_UPDATE in RFC 8033), longer than 0 s. Default 15
    ms."""


class PriorityQueue(TypedDict):
    """Queue of the kind `priority`. Strict priority: whenever the link is free, it serves the first class in
    the list that has a packet to send."""

    classes: list[ScheduledClass]
    """The classes, highest priority first; 1 to 64."""
    kind: Literal["priority"]


class WrrQueue(TypedDict):
    """Queue of the kind `wrr`. Weighted round robin: classes take turns, and each sends as many packets per
    turn as its weight. Shares are in packets, so classes with larger packets get more bytes."""

    classes: list[ScheduledClass]
    """The classes, in the order of their turns; 1 to 64."""
    kind: Literal["wrr"]


class DrrQueue(TypedDict):
    """Queue of the kind `drr`. Deficit round robin (Shreedhar and Varghese 1995): classes take turns, and
    each may send `quantum` times its weight in bytes per turn."""

    classes: list[ScheduledClass]
    """The classes, in the order of their turns; 1 to 64."""
    kind: Literal["drr"]
    quantum: NotRequired[Size]
    """Quantum: the bytes that a class of weight 1 may send per turn, 64 B to 1 MB. Default 1500 B."""


class WfqQueue(TypedDict):
    """Queue of the kind `wfq`. Weighted fair queueing in its self-clocked form (Golestani 1994): classes
    share the rate in bytes in proportion to their weights."""

    classes: list[ScheduledClass]
    """The classes, in any order; 1 to 64."""
    kind: Literal["wfq"]


class ShaperQueue(TypedDict):
    """Queue of the kind `shaper`. A token bucket shaper: limits a queue to a rate and a burst. Packets that
    exceed them wait; a packet longer than `burst` is dropped."""

    burst: NotRequired[Size]
    """Size of the token bucket: the bytes that may leave at once after a pause, at least 1500 B. Default 3000
    B."""
    kind: Literal["shaper"]
    queue: NotRequired[Queue]
    """Queue discipline for the packets that wait for tokens."""
    rate: Rate
    """Rate at which the bucket is refilled: the maximum long-term rate of the queue."""


class DiffservQueue(TypedDict):
    """Queue of the kind `diffserv`. The common DiffServ per-hop behaviours in one queue: expedited forwarding
    (RFC 3246), four assured forwarding classes (RFC 2597), control traffic (CS6, CS7) and best effort."""

    ef: NotRequired[float]
    """Maximum share of the link's rate for expedited forwarding, greater than 0 and at most 1. Default
    0.3."""
    kind: Literal["diffserv"]
    packets: NotRequired[int]
    """Maximum number of waiting packets in each assured forwarding class and in best effort. Default 100."""


class UnlimitedQueue(TypedDict):
    """Queue of the kind `unlimited`. A first-in, first-out queue that admits every packet."""

    kind: Literal["unlimited"]


#: The queue discipline, which admits, drops and marks packets and selects the next departure.
Queue: TypeAlias = 'DropTailQueue | DropFrontQueue | RedQueue | RedBytesQueue | GentleRedQueue | AredQueue | WredQueue | CodelQueue | FqCodelQueue | PieQueue | PriorityQueue | WrrQueue | DrrQueue | WfqQueue | ShaperQueue | DiffservQueue | UnlimitedQueue | Literal["drop-tail", "drop-front", "red", "red-bytes", "gentle-red", "ared", "wred", "codel", "fq-codel", "pie", "priority", "wrr", "drr", "wfq", "shaper", "diffserv", "unlimited"]'

#: a rate, or a symbol rate with ACM, 1 bit/s to 100 Tbit/s
ChannelRate: TypeAlias = "str"


class Trace(TypedDict):
    """Rate, delay and loss of a link as a time series, which replaces the link's own values from the first
    sample on."""

    repeat: NotRequired[Span]
    """Period after which the series restarts, longer than the time of the last sample. If unset, the last
    sample lasts until the end of the run."""
    samples: str | dict[str, object]
    """The samples: a table, comma-separated text or a Parquet file, with `time` in seconds from 0 and at
    least one of `rate` in bit/s, `delay` in seconds one way, and `loss` as a probability from 0 to 1. Each
    sample lasts until the next."""


class LinkReturn(TypedDict):
    """One direction of a link, with its own rate and delay."""

    acm: NotRequired[Acm]
    """Adaptive coding and modulation: packets are sent with the MODCOD that the signal allows. `rate` is then
    the symbol rate, expressed as the bit rate at one bit per symbol. In an outage packets wait in the queue.
    If unset, all packets are sent at `rate`."""
    delay: Span
    """Propagation delay in this direction, one way."""
    error: NotRequired[Error]
    """Errors on the link, which corrupt packets, or units of the framing. Default none."""
    framing: NotRequired[Framing]
    """Framing: the placement of packets into the link's transmission units. Default none. With a framing,
    `rate` is the rate of its units."""
    holds: NotRequired[int]
    """Maximum number of packets in the link, with those in flight, as in an emulator that stores packets
    during the delay (`limit` of netem). A packet that arrives at the limit is dropped. Default unlimited."""
    jitter: NotRequired[Jitter]
    """Jitter: extra delay of each packet beyond `delay`, by a distribution or a series. Default none."""
    queue: NotRequired[Queue]
    """Queue discipline in front of the link."""
    quick_start: NotRequired[float]
    """Fraction of the rate that may be granted to Quick-Start requests (RFC 4782), 0 to 1. If unset, the link
    does not support Quick-Start."""
    rate: ChannelRate
    """Rate at the network layer. With a framing, the rate of the framing's units."""
    reorder: NotRequired[bool]
    """True if packets may be reordered: a packet with less extra delay overtakes others. Default false: a
    packet waits for those before it."""
    trace: NotRequired[Trace]
    """A time series of rate, delay and loss during the run. If unset, they are constant."""


#: A link between two nodes, in both directions.
LinkPair = TypedDict(
    "LinkPair",
    {
        "acm": "NotRequired[Acm]",
        "arq": "NotRequired[Arq]",
        "contacts": "NotRequired[Contacts]",
        "count": "NotRequired[int]",
        "delay": "Span",
        "error": "NotRequired[Error]",
        "framing": "NotRequired[Framing]",
        "from": "str",
        "holds": "NotRequired[int]",
        "jitter": "NotRequired[Jitter]",
        "name": "str",
        "queue": "NotRequired[Queue]",
        "quick_start": "NotRequired[float]",
        "rate": "ChannelRate",
        "reorder": "NotRequired[bool]",
        "return": "NotRequired[LinkReturn]",
        "to": "str",
        "trace": "NotRequired[Trace]",
    },
)


class LinkHandover(TypedDict):
    """Handover from one link to another."""

    interruption: NotRequired[Span]
    """Time for which there is no link to send over (break before make); 0 s by default."""
    overlap: NotRequired[Span]
    """Time for which the old link continues to send what waits in it (make before break); 0 s by default."""
    packets: NotRequired[Fate]
    """Fate of packets that wait for a link that is cut, that are in flight on it, or that arrive while there
    is no link; forwarded by default."""


class SchedulePolicy(TypedDict):
    """Policy of the kind `schedule`. Handovers at the times given by the scenario's `[[handover]]`s, and at
    no others."""

    kind: Literal["schedule"]


class RandomPolicy(TypedDict):
    """Policy of the kind `random`. Random handovers: exponentially distributed stays, after which any other
    link is equally likely to take over."""

    kind: Literal["random"]
    stay: list[Span]
    """Mean stay on each of the links, in their order; each longer than 0 s."""


class SignalPolicy(TypedDict):
    """Policy of the kind `signal`. Handovers by signal strength: to the link whose signal has been stronger
    by a margin for some time (event A3 of 3GPP TS 36.331, section 5.5.4.4)."""

    hysteresis: NotRequired[float]
    """Margin in dB by which another link's signal must be stronger, 3 dB by default; at least 0 dB."""
    kind: Literal["signal"]
    samples: str | dict[str, object]
    """The signal of each link: a comma-separated table with `time` in seconds from 0 and one column per link,
    with the link's name, in dB or dBm. Each sample holds until the next."""
    time_to_trigger: NotRequired[Span]
    """Time for which the other signal must stay stronger by the margin before the handover starts, 0 s by
    default."""


class LoadPolicy(TypedDict):
    """Policy of the kind `load`. Handovers by load: to the next link when the serving one is overloaded, and
    back when the link before it could carry the load."""

    high: NotRequired[float]
    """Load, as a fraction of the link's rate, above which the next link takes over; 0.9 by default."""
    kind: Literal["load"]
    low: NotRequired[float]
    """Load that the previous link would have, below which it takes over again; 0.5 by default, must be less
    than `high`."""
    period: NotRequired[Span]
    """Period over which load is measured, 1 s by default; must be longer than 0 s."""


#: The policy of a multilink, which decides when it hands over, and to which link.
Policy: TypeAlias = 'SchedulePolicy | RandomPolicy | SignalPolicy | LoadPolicy | Literal["schedule", "random", "signal", "load"]'

#: Several links between the same two nodes, one of which at a time carries the packets of each direction.
Multilink = TypedDict(
    "Multilink",
    {
        "handover": "NotRequired[LinkHandover]",
        "links": "list[str]",
        "name": "str",
        "policy": "NotRequired[Policy]",
        "return": "NotRequired[str]",
    },
)


class Forward(TypedDict):
    """The forward link, from the gateway to all terminals."""

    acm: NotRequired[Acm]
    """Adaptive coding and modulation: a packet is sent with the MODCOD that its terminal's signal allows.
    `rate` is then the symbol rate, that is the rate at one bit per symbol, and a packet takes its bits
    divided by `rate` times the bits per symbol of its MODCOD; with the framing `gse`, packets of one MODCOD
    share baseband frames. Burst time plans use the most robust MODCOD. If unset, all packets are sent at
    `rate`."""
    error: NotRequired[Error]
    """Errors on the forward link, which also hit burst time plans. Each terminal has errors of its own."""
    framing: NotRequired[Framing]
    """Framing: the placement of packets into transmission units of the link; none by default. With a framing,
    `rate` is the rate of these units."""
    queue: NotRequired[Queue]
    """Queue discipline in front of the forward link."""
    rate: ChannelRate
    """Rate at the network layer, or of the framing's units if there is a framing. It also carries the burst
    time plans."""


class Site(TypedDict):
    """A place on the ground, in geodetic coordinates on the WGS84 ellipsoid."""

    altitude: NotRequired[Distance]
    """Height above the ellipsoid, from -12 km to 100 km. Default 0 m."""
    latitude: Angle
    """Geodetic latitude, north positive, from -90 deg to 90 deg."""
    longitude: Angle
    """Longitude of the site, east positive."""


class HighestElevationChoice(TypedDict):
    """Choice of the kind `highest-elevation`. The satellites at the highest elevation at every moment."""

    kind: Literal["highest-elevation"]
    margin: NotRequired[Angle]
    """Angle by which another satellite must be higher than a serving one to take over, 0.1 deg by default;
    0.01 deg to 45 deg."""


class LongestVisibilityChoice(TypedDict):
    """Choice of the kind `longest-visibility`. The satellites that will stay in view longest, at every
    moment."""

    kind: Literal["longest-visibility"]


class LeastHandoversChoice(TypedDict):
    """Choice of the kind `least-handovers`. Each satellite for as long as it is in view, then the one that
    will stay in view longest: the fewest handovers."""

    kind: Literal["least-handovers"]


class ScheduleChoice(TypedDict):
    """Choice of the kind `schedule`. A choice per time slot, for all sites at once, as observed for Starlink
    (Tanveer et al. 2023, Mohan et al. 2024)."""

    kind: Literal["schedule"]
    offset: NotRequired[Span]
    """Start of the first slot in each minute of UTC, 12 s by default; must be shorter than `slot`."""
    slot: NotRequired[Span]
    """Length of a slot, 15 s by default; a whole number of slots must make a minute."""


#: The policy that chooses the satellites that serve a site.
Choice: TypeAlias = 'HighestElevationChoice | LongestVisibilityChoice | LeastHandoversChoice | ScheduleChoice | Literal["highest-elevation", "longest-visibility", "least-handovers", "schedule"]'


class WalkerDeltaShell(TypedDict):
    """Shell of the kind `walker-delta`. A Walker delta pattern: circular orbits whose ascending nodes are
    spread around the whole equator."""

    altitude: Distance
    """Altitude above the equatorial radius of 6378.137 km, from 160 km to 400000 km. All satellites have the
    same altitude."""
    inclination: Angle
    """Inclination of all planes to the equator."""
    kind: Literal["walker-delta"]
    phasing: NotRequired[int]
    """Phasing F: the lead of each plane over the previous one, in units of 360 deg divided by the total
    number of satellites. Default 0; less than `planes`."""
    planes: int
    """Number P of orbital planes. Their ascending nodes are `raan_spread` / P apart."""
    raan_spread: NotRequired[Angle]
    """Angle over which the ascending nodes are spread. Default 360 deg."""
    satellites: int
    """Number S of satellites in each plane, evenly spaced. The total T of the Walker notation T/P/F is S
    times P."""


class WalkerStarShell(TypedDict):
    """Shell of the kind `walker-star`. A Walker star pattern: near-polar circular orbits whose ascending
    nodes are spread over half of the equator, with a seam."""

    altitude: Distance
    """Altitude above the equatorial radius of 6378.137 km, from 160 km to 400000 km. All satellites have the
    same altitude."""
    inclination: Angle
    """Inclination of all planes to the equator."""
    kind: Literal["walker-star"]
    phasing: NotRequired[float]
    """Phasing F: the lead of each plane over the previous one, in units of 360 deg divided by the total
    number of satellites. Default 0; less than `planes`. Half the number of planes places satellites midway
    between those of the previous plane."""
    planes: int
    """Number P of orbital planes. Their ascending nodes are `raan_spread` / P apart."""
    raan_spread: NotRequired[Angle]
    """Angle between the ascending nodes of adjacent planes, times the number of planes. Default 180 deg."""
    satellites: int
    """Number S of satellites in each plane, evenly spaced. The total T of the Walker notation T/P/F is S
    times P."""


class GeoShell(TypedDict):
    """Shell of the kind `geo`. Geostationary satellites at given longitudes."""

    kind: Literal["geo"]
    longitudes: list[Angle]
    """Longitudes of the satellites, east positive; at least one, all different."""


class ElementsShell(TypedDict):
    """Shell of the kind `elements`. Real satellites, described by their element sets (TLE or OMM) and
    propagated by SGP4."""

    elements: str | dict[str, object]
    """The element sets, or the file that contains them, with a path relative to the folder of the
    scenario."""
    kind: Literal["elements"]


#: A set of satellites, such as one shell of a constellation.
Shell: TypeAlias = 'WalkerDeltaShell | WalkerStarShell | GeoShell | ElementsShell | Literal["walker-delta", "walker-star", "geo", "elements"]'


class Orbit(TypedDict):
    """Moving satellites that serve a star network, one at a time."""

    choice: NotRequired[Choice]
    """Policy that chooses one of the satellites that all stations see, by its elevation and its window at the
    gateway; the highest one by default."""
    epoch: NotRequired[str]
    """Start of the run in UTC, 2000-01-01T12:00:00Z by default. UT1 is taken to equal UTC."""
    interruption: NotRequired[Span]
    """Time after a handover for which nothing is sent over the new satellite; 0 s by default. Superframes
    that overlap with this time are not used."""
    mask: NotRequired[Angle]
    """Minimum elevation at which the gateway and the terminals use a satellite, 10 deg by default; -5 deg to
    below 90 deg."""
    shell: list[Shell]
    """The satellites, as one or more shells: sets of circular orbits or element sets."""


class Positions(TypedDict):
    """Positions of the satellites and the stations, from which propagation delays are computed. Either
    `satellite` or `orbit` is required."""

    gateway: Site
    """Position of the gateway on the ground."""
    orbit: NotRequired[Orbit]
    """Moving satellites that serve the network one after the other."""
    satellite: NotRequired[Angle]
    """Longitude of a satellite in geostationary orbit, east positive."""
    terminals: NotRequired[Site]
    """Position of the terminals that have no `site` of their own."""


#: Propagation between the gateway and the terminals.
Propagation: TypeAlias = "Span | Positions"


class Carrier(TypedDict):
    """One or more carriers of the same rate."""

    count: NotRequired[int]
    """Number of such carriers, 1 by default."""
    rate: Rate
    """Rate of each carrier, which must be a whole number of slots. The return link's `rate` is that of
    `slots_per_frame` slots."""


#: Requests for slots for the data of a class.
Asks: TypeAlias = 'Literal["nothing", "rate", "volume"]'


class Class(TypedDict):
    """A traffic class of the terminals."""

    asks: NotRequired[Asks]
    """Requests for slots for the data of this class: by volume (the default), by rate, or none."""
    dscp: NotRequired[list[Dscp]]
    """Code points (DSCP) of its packets (RFC 2474). The last class also takes all code points that no class
    lists."""
    name: str
    """Name of the class, by which messages refer to it."""
    queue: NotRequired[Queue]
    """Queue discipline of the class. If unset, that of the return link."""


class ProportionalAllocator(TypedDict):
    """Allocator of the kind `proportional`. Slots in proportion to the demands, as in the study (Luglio,
    Roseti, Zampognaro 2009)."""

    kind: Literal["proportional"]


class RoundRobinAllocator(TypedDict):
    """Allocator of the kind `round-robin`. Slots one by one in turn, to the terminals that still want one."""

    kind: Literal["round-robin"]


class MaxMinAllocator(TypedDict):
    """Allocator of the kind `max-min`. Weighted max-min fairness: the `weight` of each terminal determines
    its share when demands exceed the slots."""

    kind: Literal["max-min"]


class PriorityAllocator(TypedDict):
    """Allocator of the kind `priority`. Rate requests before volume requests, and within each kind in
    proportion to the demands."""

    kind: Literal["priority"]


#: The allocator by which the network control centre divides the slots among the demands.
Allocator: TypeAlias = 'ProportionalAllocator | RoundRobinAllocator | MaxMinAllocator | PriorityAllocator | Literal["proportional", "round-robin", "max-min", "priority"]'

#: a rate or zero, 0 bit/s to 100 Tbit/s
RateOrZero: TypeAlias = "str"

#: Times of requests and plans within a superframe.
Planning: TypeAlias = 'Literal["boundary", "just-in-time"]'


class DedicatedRequests(TypedDict):
    """Requests of the kind `dedicated`. A request slot for each terminal, as in the synchronisation bursts of
    EN 301 790."""

    every: NotRequired[int]
    """Number of superframes from one request slot of a terminal to its next, 1 by default."""
    kind: Literal["dedicated"]


class PiggybackRequests(TypedDict):
    """Requests of the kind `piggyback`. Requests travel in the terminal's traffic bursts (EN 301 790, section
    6.6.1.1), so a terminal without slots cannot send any."""

    kind: Literal["piggyback"]


class AlohaRequests(TypedDict):
    """Requests of the kind `aloha`. Shared mini-slots with slotted ALOHA (Abramson 1970, Roberts 1975): one
    try per request, and requests that collide are lost."""

    backoff: NotRequired[int]
    """Maximum exponent of the binary exponential back-off, 6 by default."""
    kind: Literal["aloha"]
    slots: NotRequired[int]
    """Number of shared mini-slots in a superframe, 8 by default."""


class CrdsaRequests(TypedDict):
    """Requests of the kind `crdsa`. Shared mini-slots with contention resolution diversity slotted ALOHA
    (Casini, De Gaudenzi, Herrero 2007): each request is sent as several replicas, which lets the receiver
    resolve collisions."""

    backoff: NotRequired[int]
    """Maximum exponent of the binary exponential back-off, 6 by default."""
    data: NotRequired[int]
    """Maximum number of data bytes that a burst carries without a request; 0, the default, for requests
    only."""
    kind: Literal["crdsa"]
    replicas: NotRequired[int]
    """Number of replicas of each request, 2 by default."""
    slots: NotRequired[int]
    """Number of shared mini-slots in a superframe, 16 by default; at least `replicas`."""


#: The path on which requests reach the control centre.
Requests: TypeAlias = 'DedicatedRequests | PiggybackRequests | AlohaRequests | CrdsaRequests | Literal["dedicated", "piggyback", "aloha", "crdsa"]'


class QueueEstimator(TypedDict):
    """Estimator of the kind `queue`. The smoothed queue, as in the study: r[n] = (1 - gamma) r[n-1] + gamma Q
    (eq. 13 of Luglio, Roseti, Zampognaro 2009)."""

    kind: Literal["queue"]


class ArrivalEstimator(TypedDict):
    """Estimator of the kind `arrival`. The smoothed arrival rate plus a share of the queue, so that the queue
    empties within one response time."""

    kind: Literal["arrival"]


class PredictiveEstimator(TypedDict):
    """Estimator of the kind `predictive`. The arrival rate extrapolated to the time of the assignment by
    linear trend (Holt 1957), plus a share of the queue."""

    kind: Literal["predictive"]
    trend: NotRequired[float]
    """Weight of the newest difference in the trend, 0.2 by default."""


#: The estimator by which a terminal determines the rate that it needs.
Estimator: TypeAlias = (
    'QueueEstimator | ArrivalEstimator | PredictiveEstimator | Literal["queue", "arrival", "predictive"]'
)


class Rbdc(TypedDict):
    """Rate requests (RBDC): each states the rate that the terminal needs and replaces the previous one."""

    estimator: NotRequired[Estimator]
    """Estimator of the rate that the terminal needs; from its queue by default."""
    gamma: NotRequired[float]
    """Weight of the newest measurement in the request (gamma of eq. 13 of Luglio, Roseti, Zampognaro 2009),
    0.4 by default; must be greater than 0. With the default estimator it is the weight of the present
    queue."""
    max: NotRequired[RateOrZero]
    """Maximum rate that a terminal requests (RBDC_max); must be a whole number of slots. If unset, the whole
    return link."""
    timeout: NotRequired[int]
    """Number of superframes for which an assignment holds without a new request (RBDC_timeout), 2 by
    default."""


class Vbdc(TypedDict):
    """Volume requests (VBDC): each states the data that have not been requested yet and adds to the pending
    volume."""

    max: NotRequired[RateOrZero]
    """Maximum rate that a superframe serves (VBDC_max); must be a whole number of slots. If unset, the whole
    return link."""
    timeout: NotRequired[int]
    """Number of superframes after the last request after which the controller forgets the unserved volume. If
    unset, it never does."""


class Avbdc(TypedDict):
    """Absolute volume requests (AVBDC): each states all the data that wait and replaces the pending
    volume."""

    max: NotRequired[RateOrZero]
    """Maximum rate that a superframe serves; must be a whole number of slots. If unset, the whole return
    link."""


class CraScheme(TypedDict):
    """Scheme of the kind `cra`. Constant slots only (CRA): terminals request nothing."""

    kind: Literal["cra"]


class RbdcScheme(Rbdc):
    """Scheme of the kind `rbdc`. Rate requests (RBDC): each states the rate that the terminal needs and
    replaces the previous one."""

    kind: Literal["rbdc"]


class VbdcScheme(Vbdc):
    """Scheme of the kind `vbdc`. Volume requests (VBDC): each states the data that have not been requested
    yet and adds to the pending volume."""

    kind: Literal["vbdc"]


class AvbdcScheme(Avbdc):
    """Scheme of the kind `avbdc`. Absolute volume requests (AVBDC): each states all the data that wait and
    replaces the pending volume."""

    kind: Literal["avbdc"]


class FcaScheme(TypedDict):
    """Scheme of the kind `fca`. Spare slots only (FCA): terminals request nothing and share the slots that
    are left over."""

    kind: Literal["fca"]


class MixScheme(TypedDict):
    """Scheme of the kind `mix`. Several schemes at once, each with its own maximum."""

    avbdc: NotRequired[Avbdc]
    """Absolute volume requests (AVBDC). Their `max` must be given."""
    fca: NotRequired[bool]
    """True to assign spare slots (FCA) to terminals, too; false by default."""
    kind: Literal["mix"]
    rbdc: NotRequired[Rbdc]
    """Rate requests (RBDC). Their `max` must be given."""
    vbdc: NotRequired[Vbdc]
    """Volume requests (VBDC). Their `max` must be given. Cannot be combined with `avbdc`."""


#: The scheme by which terminals get capacity beyond their constant slots: a capacity category of EN 301 790,
#: section 6.6.1.2, or a mix of several.
Scheme: TypeAlias = 'CraScheme | RbdcScheme | VbdcScheme | AvbdcScheme | FcaScheme | MixScheme | Literal["cra", "rbdc", "vbdc", "avbdc", "fca", "mix"]'


class Dama(TypedDict):
    """Demand-assigned multiple access (DAMA): how terminals get slots."""

    allocator: NotRequired[Allocator]
    """Division of the free slots if more are requested; in proportion to the requests by default."""
    cra: NotRequired[RateOrZero]
    """Constant rate of each terminal (CRA), which must be a whole number of slots. If unset, it is one slot;
    with the scheme `cra`, where there is nothing else, it is an equal share of the slots not taken by
    terminals with a rate of their own."""
    plan_error: NotRequired[Error]
    """Errors that hit burst time plans in addition to those of the forward link; none by default. Each
    terminal has errors of its own."""
    planning: NotRequired[Planning]
    """Times of requests and plans within a superframe; at superframe boundaries by default."""
    processing: NotRequired[Span]
    """Time from the arrival of a request until the allocator can use it; 0 s by default."""
    request_error: NotRequired[Error]
    """Errors that hit requests in addition to those of the return link; none by default."""
    requests: NotRequired[Requests]
    """Transmission of requests to the control centre; in dedicated request slots by default."""
    response: NotRequired[int]
    """Number of superframes from a request to its assignment (L). If set, a request made at the start of
    superframe n takes effect in superframe n + L. If unset, L follows from propagation, processing and the
    waits for superframe boundaries."""
    scheme: NotRequired[Scheme]
    """Scheme by which terminals request more than their constant slots, a capacity category of EN 301 790,
    section 6.6.1.2, or a mix of several; `cra`, that is none, by default."""


class Return(TypedDict):
    """The return link, from the terminals to the gateway."""

    acm: NotRequired[Acm]
    """Adaptive coding and modulation: the capacity of a slot follows from each terminal's signal, from
    superframe to superframe. `rate` is then that of a carrier whose slots have the size given by `slot_bytes`
    or `frame`, and rates of terminals count such slots. If unset, all slots carry the same."""
    carriers: NotRequired[list[Carrier]]
    """The carriers, if there are several. All have slots of the same size, as many as fit their rate. A
    terminal sends on one carrier at a time and may change carriers with every slot (MF-TDMA)."""
    classes: NotRequired[list[Class]]
    """Traffic classes, highest priority first. If unset, all packets belong to a single class."""
    dama: NotRequired[Dama]
    """Demand assignment: how terminals request slots and get them."""
    error: NotRequired[Error]
    """Errors on the return link, which also hit requests."""
    frame: NotRequired[Span]
    """Length of a frame, up to 60 s. If neither this nor `slot_bytes` is set, it is 23.5 ms."""
    frames_per_superframe: NotRequired[int]
    """Number of frames in a superframe, 4 by default. An assignment holds for one superframe and is the same
    in each of its frames."""
    framing: NotRequired[Framing]
    """Framing: the placement of packets into slots; none by default. A slot must hold whole cells or MPEG
    packets."""
    queue: NotRequired[Queue]
    """Queue discipline in each terminal, for every class that has none of its own."""
    rate: Rate
    """Rate of a carrier, that is of all its slots together. Rate x frame / (8 x slots) must be a whole number
    of bytes."""
    slot_bytes: NotRequired[int]
    """Size of a slot in bytes, as an alternative to `frame`: the frame then lasts as long as its slots,
    rounded to the nanosecond."""
    slots_per_frame: NotRequired[int]
    """Number of slots in a carrier's frame, 32 by default."""


class Group(TypedDict):
    """One terminal, or several identical ones. Values that are unset are the network's."""

    count: NotRequired[int]
    """Number of identical terminals. If unset, there is one, and `name` is its name as it stands."""
    cra: NotRequired[RateOrZero]
    """Constant rate of each terminal (CRA), instead of the network's."""
    esn0_db: NotRequired[float]
    """Es/N0 of each terminal on the return link in clear sky in dB, for adaptive coding and modulation; that
    of the return link's `acm` if unset."""
    forward_esn0_db: NotRequired[float]
    """Es/N0 of each terminal on the forward link in clear sky in dB, for adaptive coding and modulation; that
    of the forward link's `acm` if unset."""
    logoff: NotRequired[Span]
    """Time at which each terminal logs off, which drops its waiting packets. If unset, it never logs off."""
    logon: NotRequired[Span]
    """Time at which each terminal starts to log on. If unset, it is logged on from the start."""
    max: NotRequired[RateOrZero]
    """Maximum rate that each terminal gets by request; must be a whole number of slots. If unset, only the
    links limit it."""
    min: NotRequired[RateOrZero]
    """Rate that each terminal gets ahead of others when it requests it; must be a whole number of slots."""
    name: NotRequired[str]
    """Node name of the terminal, or of `count` terminals: the numbers from 1 stand at `{}` in it, or follow
    it."""
    period: NotRequired[Span]
    """Period after which logon and logoff repeat, for terminals that come and go. If unset, they happen
    once."""
    site: NotRequired[Site]
    """Position of the terminals, if propagation is computed from positions."""
    weight: NotRequired[int]
    """Weight of each terminal relative to the others, for the allocator `max-min`; 1 if unset."""


#: An entry in the list of terminals.
Terminals: TypeAlias = "str | Group"

#: Access to a carrier: by one terminal or shared by several.
SkyplexAccess: TypeAlias = 'Literal["tdma", "scpc"]'

#: Assignment of the slots of a super-frame to terminals.
Assignment: TypeAlias = 'Literal["bod", "cir", "mixed"]'

#: Rate of a carrier of the return link.
Channel: TypeAlias = 'Literal["low-rate", "high-rate"]'


class Back(TypedDict):
    """Queue and errors of the link from the terminals, whose structure is given by the network's other
    keys."""

    error: NotRequired[Error]
    """Errors on the link from the terminals, which also hit requests."""
    queue: NotRequired[Queue]
    """Queue discipline in each terminal; drop-tail with 1000 packets by default."""


class Gsl(TypedDict):
    """Links between satellites and sites. In both directions each site has its own queue and rate to the
    satellite that serves it."""

    antennas: NotRequired[int]
    """Number of satellites that serve a site at once, each over its own antenna; 1 by default. Without
    inter-satellite links a gateway needs several to share satellites with the other sites."""
    choice: NotRequired[Choice]
    """Policy that chooses the satellites that serve a site; those at the highest elevation by default."""
    down: Rate
    """Rate from a satellite to a site."""
    error: NotRequired[Error]
    """Error process of each link and direction; no errors by default."""
    mask: NotRequired[Angle]
    """Minimum elevation at which a site sees a satellite, 10 deg by default; -5 deg to below 90 deg."""
    queue: NotRequired[Queue]
    """Queue discipline in front of each of these links."""
    up: Rate
    """Rate from a site to its satellite."""


class SatelliteHandover(TypedDict):
    """Handovers of a site from one satellite to another, or to none."""

    interruption: NotRequired[Span]
    """Time for which nothing is sent between the site and the new satellite; 0 s by default."""
    overlap: NotRequired[Span]
    """Time for which the old satellite continues to send what waits there for the site (make before break); 0
    s by default."""
    packets: NotRequired[Fate]
    """Fate of packets in flight over the old satellite; forwarded by default. Packets that wait at the site
    itself always move to the new satellite."""


class NoneIsl(TypedDict):
    """Isl of the kind `none`. No inter-satellite links: each satellite is a bent pipe between the sites that
    it sees."""

    kind: Literal["none"]


class GridIsl(TypedDict):
    """Isl of the kind `grid`. A grid of inter-satellite links: each satellite is linked to its neighbours in
    its plane and in the adjacent planes."""

    clearance: NotRequired[Distance]
    """Minimum height above the surface of the line between the ends, 80 km by default; a link is off below
    it, as the air would bend and absorb the beam."""
    cross_seam: NotRequired[bool]
    """True to link the planes on both sides of a seam, too; false by default."""
    error: NotRequired[Error]
    """Error process of each link and direction; no errors by default."""
    kind: Literal["grid"]
    max_latitude: NotRequired[Angle]
    """Geocentric latitude, north or south, beyond which an end's links to other planes are off; 0 deg to 90
    deg. If unset, there is no such limit."""
    max_range: NotRequired[Distance]
    """Distance between the ends beyond which a link is off. If unset, there is no such limit."""
    queue: NotRequired[Queue]
    """Queue discipline in front of each link."""
    rate: Rate
    """Rate of each link in each direction."""


#: The inter-satellite links of a constellation.
Isl: TypeAlias = 'NoneIsl | GridIsl | Literal["none", "grid"]'


class Balance(TypedDict):
    """Spreads connections over several paths that share no satellite."""

    max_delay: NotRequired[Span]
    """Maximum delay of a path that admits new connections: its propagation delay plus the wait at its ground
    link. If unset, delay does not matter."""
    max_load: NotRequired[float]
    """Maximum load of a path that admits new connections, as the fraction of its ground link's rate that was
    offered in the last second; 1 by default."""
    paths: int
    """Number of paths at once from a site to a destination, which share no satellite; sites need as many
    antennas."""


#: The cost that paths minimise.
Metric: TypeAlias = 'Literal["delay", "hops"]'


class Routing(TypedDict):
    """Computation of the paths of packets through the constellation."""

    balance: NotRequired[Balance]
    """Several paths at once, over which connections are spread. If unset, there is a single path."""
    forwarding: NotRequired[str | dict[str, object]]
    """Forwarding state to use instead of computed paths, or the file that holds it. If unset, paths are
    computed."""
    metric: NotRequired[Metric]
    """The cost that paths minimise; propagation delay by default."""
    refresh: NotRequired[Span]
    """Period after which paths are recomputed for the distances that have changed, 1 s by default; 0 s for
    never. They are always recomputed when links come up or go down."""
    vanished: NotRequired[Fate]
    """Fate of packets on an inter-satellite link that goes down; forwarded by default."""


class GroundSite(TypedDict):
    """A site of a constellation, in geodetic coordinates on the WGS84 ellipsoid."""

    altitude: NotRequired[Distance]
    """Height above the ellipsoid; 0 m by default."""
    antennas: NotRequired[int]
    """Number of antennas of this site; that of `gsl` if unset."""
    count: NotRequired[int]
    """Number of sites like this one. If unset, there is one, and its name is the key as it stands; otherwise
    the numbers from 1 stand at `{}` in the key, or follow it."""
    latitude: Angle
    """Geodetic latitude, north positive; -90 deg to 90 deg."""
    longitude: Angle
    """Longitude of the site, positive to the east and negative to the west."""
    mask: NotRequired[Angle]
    """Minimum elevation at which this site sees a satellite; that of `gsl` if unset."""
    spread: NotRequired[Distance]
    """Radius of the circle around the position over which `count` sites are spread evenly, up to 5000 km. If
    unset, all are at the position."""


class AtmTdma(TypedDict):
    """Time-division access: the cells of a frame's duration are sent in one burst per frame."""

    carrier: Rate
    """Rate within a burst in bit/s of cells; at least the leg's `rate`."""
    frame: Span
    """Length of a frame, such as 20 ms. Frames begin at multiples of it."""


class AtmLeg(TypedDict):
    """A leg of the connection: the buffer and the line from one adapter or switch to the next."""

    buffer: NotRequired[int]
    """Number of cells that the buffer in front of the line holds, 4096 by default."""
    delay: NotRequired[Span]
    """Propagation delay, one way; 0 s by default."""
    early: NotRequired[int]
    """Number of waiting cells from which on whole frames are dropped (early packet discard). If unset, there
    is no such limit."""
    error: NotRequired[Error]
    """Errors on the line, which hit cells; none by default. Bit errors corrupt a cell's payload or header,
    other errors lose the cell."""
    low_priority: NotRequired[int]
    """Number of waiting cells from which on cells of low priority (CLP = 1) are dropped. If unset, the same
    as `buffer`."""
    partial: NotRequired[bool]
    """True if the rest of a frame, except for its last cell, is dropped once one of its cells has been
    dropped (partial packet discard); off by default."""
    rate: Rate
    """Rate at which cells of 53 bytes are sent: that of the line less the overhead of its physical layer. An
    OC-3 of 155.52 Mbit/s carries 149.76 Mbit/s of cells."""
    tdma: NotRequired[AtmTdma]
    """Time-division access to the line. If unset, cells are sent at any time."""


#: Service category of an ATM connection, by which its cells are policed. The cells of all categories wait in
#: one buffer, in order of arrival: no category has a guarantee against connections that fill it.
AtmCategory: TypeAlias = 'Literal["ubr", "cbr", "vbr"]'

#: The treatment of a cell that exceeds the contract.
AtmExcess: TypeAlias = 'Literal["discard", "tag"]'


class AtmContract(TypedDict):
    """The traffic contract of the connection in each direction: service category, cell rates, and the
    treatment of cells that exceed them."""

    burst: NotRequired[int]
    """Maximum burst size (MBS): number of cells that may arrive at the peak rate, 2 or more."""
    category: NotRequired[AtmCategory]
    """Service category: `"ubr"` (unspecified bit rate, the default), `"cbr"` (constant bit rate, needs
    `peak`) or `"vbr"` (variable bit rate, needs `peak`, `sustainable` and `burst`)."""
    excess: NotRequired[AtmExcess]
    """Treatment of a cell that exceeds the contract: `"discard"` (the default) or `"tag"`, which gives it low
    priority. A cell of `vbr` above the peak rate is always discarded."""
    peak: NotRequired[Rate]
    """Peak cell rate (PCR), in bit/s of whole cells of 53 bytes. Optional with `ubr`."""
    shaping: NotRequired[bool]
    """True if the sender's adapter spaces its cells so that all of them conform; off by default."""
    sustainable: NotRequired[Rate]
    """Sustainable cell rate (SCR), in bit/s of whole cells; less than `peak`."""
    tolerance: NotRequired[Span]
    """Cell delay variation tolerance (CDVT), the time by which a cell may be early; 0 s by default."""


class AtmConnection(TypedDict):
    """A further connection over the legs of an ATM network."""

    contract: NotRequired[AtmContract]
    """Traffic contract, which applies to each direction; UBR without a peak rate by default."""
    ends: list[str]
    """The two nodes that the connection joins; the first is on the side of the first leg."""


class FixedRateAdaptation(TypedDict):
    """RateAdaptation of the kind `fixed`. No adaptation: all data frames are sent at one rate, the fastest of
    the network if none is given."""

    kind: Literal["fixed"]
    mcs: NotRequired[int]
    """Number of the rate in the standard, from 0: with 802.11n the MCS, such as 7. If neither this nor `rate`
    is set, the fastest rate of the network is used."""
    rate: NotRequired[Rate]
    """Rate of data frames, one of those of the network's standard, such as `"5.5 Mbit/s"`. If unset, that of
    `mcs`."""


class ArfRateAdaptation(TypedDict):
    """RateAdaptation of the kind `arf`. Automatic rate fallback (ARF, Kamerman and Monteban 1997): up after a
    row of successes, down after two failures in a row."""

    failures: NotRequired[int]
    """Number of transmissions in a row that must fail before a step down; 2 by default (Kamerman and Monteban
    1997)."""
    kind: Literal["arf"]
    successes: NotRequired[int]
    """Number of frames in a row that must be acknowledged before a step up; 10 by default (Kamerman and
    Monteban 1997)."""
    timer: NotRequired[int]
    """Number of transmissions after which a step up comes even without `successes` in a row, unless a step
    down comes first; 15 by default. It stands for the timer of the paper (Kamerman and Monteban 1997)."""


class AarfRateAdaptation(TypedDict):
    """RateAdaptation of the kind `aarf`. Adaptive ARF (AARF, Lacage 2004): ARF that probes more and more
    rarely while its probes are lost."""

    factor: NotRequired[int]
    """The factor by which that number and `timer` grow when a probe is lost; 2 by default (Lacage 2004)."""
    failures: NotRequired[int]
    """Number of transmissions in a row that must fail before a step down; 2 by default."""
    kind: Literal["aarf"]
    most_successes: NotRequired[int]
    """The largest value of that number; 60 by default (ns-3; the paper has 50)."""
    successes: NotRequired[int]
    """Number of frames in a row that must be acknowledged before a step up, at first and after a step down;
    10 by default (Lacage 2004)."""
    timer: NotRequired[int]
    """Number of transmissions after which a step up comes even without `successes` in a row, unless a step
    down comes first; 15 by default (ns-3). `factor` lengthens it when a probe is lost, and a step down sets
    it back."""


class LdArfRateAdaptation(TypedDict):
    """RateAdaptation of the kind `ld-arf`. Loss-differentiating ARF (LD-ARF, Pang, Leung and Liew 2005):
    collisions are not counted as failures."""

    failures: NotRequired[int]
    """Number of transmissions in a row that the channel must corrupt before a step down; 2 by default, as in
    ARF."""
    kind: Literal["ld-arf"]
    successes: NotRequired[int]
    """Number of frames in a row that must be acknowledged before a step up; 10 by default, as in ARF."""
    timer: NotRequired[int]
    """Number of transmissions after which a step up comes even without `successes` in a row, unless a step
    down comes first; 15 by default, as in ARF."""


class OnoeRateAdaptation(TypedDict):
    """RateAdaptation of the kind `onoe`. ONOE (MadWifi): a slow rate adaptation by credits, which judges a
    rate once a second."""

    credits: NotRequired[int]
    """Number of credits, each of a good period, that a step up needs; 10 by default."""
    kind: Literal["onoe"]
    period: NotRequired[Span]
    """Length of a period, after which the rate is judged; 1 s by default."""
    retries: NotRequired[float]
    """Fraction of the frames that may need a retransmission in a good period; 0.1 by default."""


class CaraRateAdaptation(TypedDict):
    """RateAdaptation of the kind `cara`. Collision-aware rate adaptation (CARA, Kim 2006): probes with RTS
    whether a failure was a collision."""

    failures: NotRequired[int]
    """Number of transmissions of data in a row that must fail before a step down; 2 by default (Kim 2006)."""
    kind: Literal["cara"]
    probe: NotRequired[int]
    """Number of transmissions in a row that must fail before an RTS goes first; 1 by default (Kim 2006)."""
    successes: NotRequired[int]
    """Number of frames in a row that must be acknowledged before a step up; 10 by default (Kim 2006)."""
    timer: NotRequired[int]
    """Number of transmissions after which a step up comes even without `successes` in a row, unless a step
    down comes first; 15 by default (ns-3)."""


class MinstrelRateAdaptation(TypedDict):
    """RateAdaptation of the kind `minstrel`. Minstrel: chooses rates by the observed throughput, and tries
    another rate with one frame in ten."""

    ewma: NotRequired[float]
    """Weight of earlier periods in the average of a rate's probability; 0.75 by default (Linux)."""
    interval: NotRequired[Span]
    """Length of the periods after which rates are judged; 100 ms by default (Linux)."""
    kind: Literal["minstrel"]
    look_around: NotRequired[float]
    """Fraction of the frames that try another rate; 0.1 by default (Linux)."""


class MinstrelHtRateAdaptation(TypedDict):
    """RateAdaptation of the kind `minstrel-ht`. Minstrel-HT: the present rate control of Linux, which chooses
    rates by the observed throughput and tests few others."""

    interval: NotRequired[Span]
    """Length of the periods after which rates are judged; 50 ms by default (Linux)."""
    kind: Literal["minstrel-ht"]
    sampling: NotRequired[Span]
    """Time between two frames that test another rate; 20 ms by default (Linux)."""


#: The rate adaptation, which chooses the rate at which a sender transmits its next frame to a receiver.
RateAdaptation: TypeAlias = 'FixedRateAdaptation | ArfRateAdaptation | AarfRateAdaptation | LdArfRateAdaptation | OnoeRateAdaptation | CaraRateAdaptation | MinstrelRateAdaptation | MinstrelHtRateAdaptation | Literal["fixed", "arf", "aarf", "ld-arf", "onoe", "cara", "minstrel", "minstrel-ht"]'

#: The frequency band in which a network transmits.
WifiBand: TypeAlias = 'Literal["5 GHz", "2.4 GHz"]'

#: A length of preambles or guard intervals.
WifiLength: TypeAlias = 'Literal["long", "short"]'

#: The implementation of Wi-Fi that the stations run.
WifiStack: TypeAlias = 'Literal["model", "linux"]'

#: An amendment of IEEE 802.11, which determines the rates and the timing.
WifiStandard: TypeAlias = 'Literal["802.11b", "802.11a", "802.11g", "802.11n"]'


class WifiStationGroup(TypedDict):
    """One or more stations with values of their own."""

    adaptation: NotRequired[RateAdaptation]
    """Rate adaptation of these stations. If unset, that of the network."""
    count: NotRequired[int]
    """Number of stations with this prefix."""
    error: NotRequired[Error]
    """Errors of frames from and to these stations, in each direction separately. If unset, those of the
    network."""
    name: NotRequired[str]
    """Node name of a single station."""
    prefix: NotRequired[str]
    """Prefix of the node names of several stations, which are numbered from 1."""


#: One station, or a group of stations with the same values.
WifiStations: TypeAlias = "str | WifiStationGroup"

#: Width of the channel of 802.11n.
WifiWidth: TypeAlias = 'Literal["20 MHz", "40 MHz"]'

#: The protocol by which bundles are sent over a contact.
BundleConvergence: TypeAlias = 'Literal["udp", "ltp"]'

#: Bundles that a node without room drops.
BundleDiscard: TypeAlias = 'Literal["newest", "oldest", "lowest-priority"]'

#: An interval in which nobody transmits from one node to another.
ContactOutage = TypedDict(
    "ContactOutage",
    {
        "announced": "NotRequired[bool]",
        "end": "Span",
        "from": "str",
        "start": "Span",
        "to": "str",
    },
)

#: The rule by which a node chooses the nodes to which it gives a bundle.
BundleRouting: TypeAlias = 'Literal["contact-graph", "epidemic", "spray-and-wait", "prophet"]'

#: NetworkKind of the kind `dvb-rcs`. A DVB-RCS star network (EN 301 790): terminals, a transparent satellite,
#: and a gateway with the network control centre.
DvbRcsNetworkKind = TypedDict(
    "DvbRcsNetworkKind",
    {
        "forward": "Forward",
        "gateway": "str",
        "kind": 'Literal["dvb-rcs"]',
        "propagation": "NotRequired[Propagation]",
        "quick_start": "NotRequired[float]",
        "return": "Return",
        "terminals": "list[Terminals]",
    },
)

#: NetworkKind of the kind `skyplex`. A Skyplex DATA network: DVB-RCS-like access to an on-board multiplexer,
#: with long frames of MPEG packets (SatNEx 2009).
SkyplexNetworkKind = TypedDict(
    "SkyplexNetworkKind",
    {
        "access": "NotRequired[SkyplexAccess]",
        "assignment": "NotRequired[Assignment]",
        "carriers": "NotRequired[int]",
        "cells": "NotRequired[int]",
        "channel": "NotRequired[Channel]",
        "cir": "NotRequired[RateOrZero]",
        "forward": "Forward",
        "frames": "NotRequired[int]",
        "framing": "NotRequired[Framing]",
        "gateway": "str",
        "kind": 'Literal["skyplex"]',
        "planning": "NotRequired[Planning]",
        "processing": "NotRequired[Span]",
        "propagation": "NotRequired[Propagation]",
        "quick_start": "NotRequired[float]",
        "return": "NotRequired[Back]",
        "slots": "NotRequired[int]",
        "terminals": "list[Terminals]",
    },
)


class ConstellationNetworkKind(TypedDict):
    """NetworkKind of the kind `constellation`. A constellation of moving satellites that serve sites on the
    ground, with or without inter-satellite links."""

    epoch: NotRequired[str]
    """Start of the run in UTC, 2000-01-01T12:00:00Z by default. UT1 is taken to equal UTC: the Earth's
    rotation is off by less than 0.9 s, which is 420 m at the equator."""
    gsl: Gsl
    """Links between satellites and sites: their rates, queues, errors and lowest elevation."""
    handover: NotRequired[SatelliteHandover]
    """Handovers of a site from one satellite to another."""
    isl: NotRequired[Isl]
    """Links between satellites. There are none by default, so that packets go from site to satellite to
    site."""
    kind: Literal["constellation"]
    routing: NotRequired[Routing]
    """Choice of paths, and the period of its updates; by default the paths of the shortest delay, computed
    every second."""
    shell: list[Shell]
    """The satellites, as one or more shells: sets of circular orbits or element sets."""
    sites: dict[str, GroundSite]
    """Sites on the ground, by the names of their nodes; at least two."""


class AtmNetworkKind(TypedDict):
    """NetworkKind of the kind `atm`. An ATM connection between two nodes, over one or several legs between
    adapters and switches, optionally with a LAN at each end; `others` are further connections that share the
    legs."""

    access: NotRequired[AtmLeg]
    """The line between each node and its switch, before the first leg and after the last. Each connection has
    its own. If unset, the adapters are at the ends of the legs; required with `others`."""
    contract: NotRequired[AtmContract]
    """Traffic contract of the connection between `ends`, which applies to each direction; UBR without a peak
    rate by default. A contract that changes during a run starts with its next cell, whatever the policer had
    counted."""
    encapsulation: NotRequired[Encapsulation]
    """Header of a packet in its AAL5 frame: `"llc-snap"` (8 bytes, the default), `"vc"` (none), `"bridged"`
    (24 bytes), `"lane"` (16 bytes, LAN emulation) or `"ppp"` (6 bytes)."""
    ends: list[str]
    """The two nodes that the connection joins."""
    kind: Literal["atm"]
    lan: NotRequired[Rate]
    """Rate of the Ethernet segments between the nodes and their adapters. If unset, there are none: the nodes
    have their own adapters."""
    legs: list[AtmLeg]
    """The legs from the first node to the second, in reverse order on the return path; at least one. A change
    during a run sets the keys of a leg by its position from 0, such as `legs.1.delay`. It applies to cells
    that reach the first leg afterwards, and no cell overtakes earlier ones."""
    others: NotRequired[list[AtmConnection]]
    """Further connections between nodes, each with its own contract, which share the legs with the first.
    Only their `contract` can change during a run, such as `others.0.contract.peak`."""


class WifiNetworkKind(TypedDict):
    """NetworkKind of the kind `wifi`. A Wi-Fi network (IEEE 802.11b, a, g or n): stations that share a radio
    channel, with an access point or ad hoc."""

    access_point: NotRequired[str]
    """Node name of the access point, through which all packets pass. If unset, the network is ad hoc: each
    station sends to any other."""
    adaptation: NotRequired[RateAdaptation]
    """Rate adaptation, by which senders choose the rates of data frames; `"minstrel"` by default."""
    aggregate: NotRequired[Size]
    """Size of the longest aggregate (A-MPDU) of 802.11n, 65535 B by default; 0 B sends each frame on its
    own."""
    aggregate_frames: NotRequired[int]
    """Maximum number of frames in an aggregate, 64 by default, which is the size of the block
    acknowledgment's window."""
    band: NotRequired[WifiBand]
    """The band of 802.11n: `"5 GHz"` (the default) or `"2.4 GHz"`, where SIFS is 10 us and frames end with an
    extension of 6 us."""
    control_errors: NotRequired[bool]
    """True if errors also hit acknowledgments, RTS and CTS; false by default, since a process that describes
    data frames does not apply to frames that are shorter and slower. Set it with processes that depend on
    size and rate, such as bit errors."""
    delay: NotRequired[Span]
    """Propagation delay between any two stations, 0 s by default: a distance of 300 m is 1 us."""
    edca: NotRequired[bool]
    """True if stations use EDCA: four categories by DSCP (RFC 8325) - voice, video, best effort, background -
    with their own queues and contention parameters. By default true with 802.11n, which requires it, and
    false otherwise: DCF with one queue."""
    eifs: NotRequired[bool]
    """True if stations wait for EIFS instead of DIFS after a frame that they could not read; true by default,
    as in the standard."""
    error: NotRequired[Error]
    """Errors of frames on the air, in each direction between two stations separately; none by default. Frames
    that are corrupted are retransmitted."""
    guard: NotRequired[WifiLength]
    """Length of the guard interval of 802.11n: `"long"` (800 ns, the default) or `"short"` (400 ns)."""
    hears: NotRequired[dict[str, list[str]]]
    """Stations that each station hears, by node name; a station that is not listed hears all. Stations that
    do not hear each other are hidden from each other: they cannot exchange frames, and their transmissions
    collide at others."""
    kind: Literal["wifi"]
    long_retry_limit: NotRequired[int]
    """Number of failed transmissions after which a frame longer than `rts_threshold` is given up
    (dot11LongRetryLimit), 4 by default."""
    preamble: NotRequired[WifiLength]
    """Length of the preambles of 802.11b: `"long"` (192 us with the header, the default) or `"short"` (96 us;
    1 Mbit/s keeps the long one)."""
    protection: NotRequired[bool]
    """True if 802.11b stations are near a network of 802.11g, so that slots are long (20 us) and every data
    frame is preceded by a CTS to its sender at 11 Mbit/s; false by default."""
    queue: NotRequired[Queue]
    """Queue discipline of each station and category; drop-tail with 1000 packets by default. Only disciplines
    that decide at arrival are allowed."""
    rts_threshold: NotRequired[Size]
    """Size of the longest frame (with its MAC header) that is sent without RTS and CTS. If unset, they are
    not used unless the rate adaptation asks for them."""
    short_retry_limit: NotRequired[int]
    """Number of failed transmissions after which a frame up to `rts_threshold` is given up
    (dot11ShortRetryLimit), 7 by default."""
    stack: NotRequired[WifiStack]
    """Implementation of Wi-Fi that the stations run in an emulation: `"model"` (the default) is bentpipe's,
    as in a simulation; `"linux"` is the kernel's own, with its access point, association, rate control and
    numbers of attempts, over bentpipe's medium. It knows 802.11a, b and g, and on the clock `kernel` 802.11n
    at 5 GHz with an access point, 20 MHz, the long guard interval and one or two streams, and the adaptations
    `minstrel-ht` and `fixed`. Packets wait in `queue`, those of 802.11n also in the kernel's own queues. On
    the clock `kernel` it is the guest's; on the real clock this machine's kernel needs mac80211_hwsim. A
    simulation runs the model in either case."""
    standard: WifiStandard
    """The standard of all stations: `"802.11b"`, `"802.11a"`, `"802.11g"` or `"802.11n"`."""
    stations: list[WifiStations]
    """The stations: node names, or tables with values that differ from the network's."""
    streams: NotRequired[int]
    """Number of spatial streams of 802.11n, 1 to 4; 1 by default."""
    width: NotRequired[WifiWidth]
    """Width of the channel of 802.11n: `"20 MHz"` (the default) or `"40 MHz"`."""


class BundlesNetworkKind(TypedDict):
    """NetworkKind of the kind `bundles`. A delay-tolerant network: bundle agents at the nodes of a contact
    plan. Every packet that enters the network at one of its nodes is carried as a bundle to the node behind
    which its destination lies."""

    convergence: NotRequired[BundleConvergence]
    """Convergence layer of a contact: `"udp"`, a datagram per bundle that is lost or not, or `"ltp"` (RFC
    5326), which retransmits until the neighbour has the bundle. UDP by default."""
    copies: NotRequired[int]
    """Number of copies of a bundle under spray-and-wait, 8 by default."""
    discard: NotRequired[BundleDiscard]
    """Bundles that a node without room drops: `"newest"`, the one that arrives, by default; `"oldest"`, those
    stored longest; `"lowest-priority"`, those of a lower priority than the one that arrives, if any."""
    error: NotRequired[Error]
    """Errors that corrupt datagrams on every contact; none by default."""
    kind: Literal["bundles"]
    lifetime: NotRequired[Span]
    """Time after which a bundle is worthless and dropped. One day by default."""
    margin: NotRequired[Span]
    """Time that an LTP answer may take beyond light times and closed contacts, for transmission, queues and
    processing. 1 s by default."""
    outages: NotRequired[list[ContactOutage]]
    """Contacts or parts of them that do not take place."""
    plan: str | dict[str, object]
    """The contact plan, whose nodes are nodes of the scenario: JSON, HDTN's JSON, commands of ION,
    comma-separated values, or TOML."""
    routing: NotRequired[BundleRouting]
    """Routing of bundles: by the contact plan (`"contact-graph"`, CCSDS 734.3) by default; `"epidemic"`,
    `"spray-and-wait"` and `"prophet"` (RFC 6693) copy bundles at meetings and use no plan."""
    segment: NotRequired[Size]
    """Largest LTP segment in bytes, headers of LTP included; 1400 B by default."""
    skip_impossible: NotRequired[bool]
    """True if contacts of the plan that do not end after their start are skipped, as HDTN does. Off by
    default: a plan with such a contact is refused."""
    storage: NotRequired[Size]
    """Maximum number of bytes of bundles that a node stores. Unlimited by default."""


#: An access network, which joins several nodes.
NetworkKind: TypeAlias = 'DvbRcsNetworkKind | SkyplexNetworkKind | ConstellationNetworkKind | AtmNetworkKind | WifiNetworkKind | BundlesNetworkKind | Literal["dvb-rcs", "skyplex", "constellation", "atm", "wifi", "bundles"]'

#: Time at which the handshake with a connection's source is completed.
Accept: TypeAlias = 'Literal["late", "early"]'


class AckDecimationMechanism(TypedDict):
    """Mechanism of the kind `ack-decimation`. ACK decimation (RFC 3449, section 5.2.2): keeps only the newest
    acknowledgments of each connection before a slow link."""

    keep: NotRequired[int]
    """Maximum number of waiting acknowledgments per connection, 1 by default."""
    kind: Literal["ack-decimation"]
    over: str
    """Name of the slow link or network, in the direction away from the node."""
    queue: NotRequired[int]
    """Maximum number of waiting packets in total, 100 by default."""
    rate: Rate
    """Rate of the slow link at the network layer, or slightly less."""


class AckFilterMechanism(TypedDict):
    """Mechanism of the kind `ack-filter`. ACK filtering (RFC 3449, section 5.2.1): a new acknowledgment
    replaces older ones of its connection that wait before a slow link."""

    kind: Literal["ack-filter"]
    over: str
    """Name of the slow link or network, in the direction away from the node."""
    queue: NotRequired[int]
    """Maximum number of waiting packets, 100 by default."""
    rate: Rate
    """Rate of the slow link at the network layer, or slightly less."""


class AckReconstructionMechanism(TypedDict):
    """Mechanism of the kind `ack-reconstruction`. ACK reconstruction (RFC 3449, section 5.3.1): recreates
    acknowledgments behind a slow link and spaces them evenly."""

    every: NotRequired[Size]
    """Number of bytes per acknowledgment, 2920 B (two full segments) by default; at least 1 B."""
    kind: Literal["ack-reconstruction"]
    longest: NotRequired[Span]
    """Maximum time for which an acknowledgment is held, 200 ms by default."""
    over: str
    """Name of the slow link or network from which the acknowledgments come."""


class SnoopMechanism(TypedDict):
    """Mechanism of the kind `snoop`. Snoop (Balakrishnan, Seshan, Amir and Katz, MobiCom 1995): keeps
    unacknowledged packets before a link that loses packets and retransmits losses itself, so that the sender
    does not take them for congestion."""

    cache: NotRequired[int]
    """Maximum number of packets that are kept per connection, 1000 by default. Beyond it, packets pass
    without being kept."""
    kind: Literal["snoop"]
    over: str
    """Name of the link or network that loses packets."""
    shortest: NotRequired[Span]
    """Minimum time without an acknowledgment after which a packet is retransmitted, 20 ms by default."""


class SplitMechanism(TypedDict):
    """Mechanism of the kind `split`. Splits TCP connections in two (RFC 3135, section 2.4), each with its own
    congestion control, retransmissions and window."""

    accept: NotRequired[Accept]
    """Time at which the handshake with the source is completed: after the destination has accepted (`"late"`,
    the default) or at once (`"early"`)."""
    buffer: NotRequired[Size]
    """Maximum number of bytes in the proxy for each direction of a connection: received from one side and not
    yet acknowledged by the other. 4 MiB by default; at least one segment."""
    kind: Literal["split"]
    sides: NotRequired[dict[str, Tcp]]
    """TCP on each side, by the name of the link or network there. A side without `congestion` uses the
    congestion control of each flow, with its parameters; with `profile = "scps"` it uses Vegas."""
    transport: NotRequired[Tcp]
    """TCP on the sides that `sides` does not name, by the same rule."""


#: The mechanism by which a proxy enhances performance.
Mechanism: TypeAlias = 'AckDecimationMechanism | AckFilterMechanism | AckReconstructionMechanism | SnoopMechanism | SplitMechanism | Literal["ack-decimation", "ack-filter", "ack-reconstruction", "snoop", "split"]'


class Proxy(TypedDict):
    """A performance-enhancing proxy at a node (RFC 3135)."""

    enabled: NotRequired[bool]
    """Switch of the proxy, true by default. If false, the scenario runs as without this proxy, so a campaign
    can compare both: `vary.proxy.pep.enabled = [false, true]`."""
    flows: NotRequired[list[str]]
    """Names of the flows that it serves, which must use TCP and pass the node in both directions. If unset,
    all such flows; an empty list means no flow."""
    mechanism: Mechanism
    """The mechanism by which it enhances performance."""
    name: str
    """Name of the proxy in results and messages."""
    node: str
    """Name of the node at which it runs."""


class Record(TypedDict):
    """The data that a run records in addition to its summary."""

    capture: NotRequired[list[str]]
    """Names of the nodes at which packets are captured into `packets.pcapng`. Default none."""
    capture_bytes: NotRequired[int]
    """Number of bytes to keep of each captured packet. Default 128."""
    details: NotRequired[bool]
    """True if destinations also measure delay variation and reordering, and report delays by class, in the
    tables `flow_details` and `class`. Default false."""
    traces: NotRequired[
        list[
            Literal[
                "call",
                "exchange",
                "call_speech",
                "tcp",
                "delivery",
                "datagram",
                "tfrc",
                "speech",
                "transaction",
                "link",
                "acm",
                "dama",
                "waits",
                "ncc",
                "handover",
                "path",
                "wifi",
                "selection",
            ]
        ]
    ]
    """Names of the traces to write. Default all; none if the list is empty."""


class BridgeRole(TypedDict):
    """Role of the kind `bridge`. A conference bridge: answers the calls of its flows, mixes their speech, and
    sends one stream back to each party."""

    kind: Literal["bridge"]


class RelayRole(TypedDict):
    """Role of the kind `relay`. A conference relay: forwards every datagram that arrives on one of its flows
    to the sources of all its other flows."""

    kind: Literal["relay"]


#: Treatment of the packets of a service's flows.
Role: TypeAlias = 'BridgeRole | RelayRole | Literal["bridge", "relay"]'


class Service(TypedDict):
    """A service that runs at a node."""

    flows: NotRequired[list[str]]
    """Names of the flows that the service serves. If unset, it serves every flow that its role allows. An
    empty list means no flow."""
    name: str
    """Name of the service in results and messages."""
    node: str
    """Name of the node at which the service runs."""
    role: Role
    """Role of the service, with its parameters."""


class Scenario(TypedDict):
    """A scenario: a network, the traffic through it, the recorded data, and the duration."""

    campaign: NotRequired[Campaign]
    """Values to vary over many runs. The resolved scenario of a single run does not have this key."""
    change: NotRequired[list[Change]]
    """Changes of links and networks during the run."""
    description: NotRequired[str]
    """Description of the scenario for its readers."""
    duration: Span
    """Duration of the run, in the time of its clock; longer than 0 s."""
    edge: NotRequired[dict[str, list[Rule]]]
    """DiffServ edges, by the names of their nodes: ordered rules for the packets that leave the node for
    other nodes."""
    fidelity: NotRequired[Fidelity]
    """Tolerances of an emulation, beyond which its results are marked as degraded or void."""
    flow: NotRequired[list[Flow]]
    """Flows: the traffic between nodes, each an application over a transport."""
    handover: NotRequired[list[Handover]]
    """Handovers between the links of multilinks, at given times."""
    link: NotRequired[list[LinkPair]]
    """Links, each between two nodes and in both directions."""
    multilink: NotRequired[list[Multilink]]
    """Multilinks: several links between the same two nodes, of which one at a time carries the packets of
    each direction."""
    name: str
    """Name of the scenario, used in results and as the name of the run's folder."""
    network: NotRequired[dict[str, NetworkKind]]
    """Access networks, which connect several nodes, by name."""
    preset: NotRequired[str | list[str]]
    """Names of the presets that the scenario builds on; later ones override earlier ones. `bentpipe new
    --list` shows all."""
    proxy: NotRequired[list[Proxy]]
    """Performance-enhancing proxies, each at a node on the path of flows."""
    record: NotRequired[Record]
    """Data that the run records in addition to its summary."""
    seed: NotRequired[int]
    """Seed of all random streams. Runs with the same scenario, seed and version are identical. Default 1."""
    service: NotRequired[list[Service]]
    """Services at nodes: programs that take packets of flows and send their own packets."""
