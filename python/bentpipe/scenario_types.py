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
    """When a variant has enough replications: when half of the confidence interval of a mean is at most a
    given fraction of the mean."""

    at_most: NotRequired[int]
    """Maximum number of replications of a variant, 100 by default; at least `replications`."""
    metric: str
    """The column of the flows that must be known with this precision, or TABLE.COLUMN of another report."""
    of: NotRequired[str]
    """Name of the flow, terminal or link; or of a group of flows, or a pattern such as `st*`, whose mean then
    counts. If unset, all of them must be known precisely enough."""
    relative_half_width: float
    """Maximum half width of the confidence interval, as a fraction of the mean; greater than 0."""


#: How the values of sampled keys are drawn from their ranges.
Method: TypeAlias = 'Literal["latin-hypercube", "random"]'


class Sample(TypedDict):
    """Values drawn at random from ranges, for several keys at once."""

    between: dict[str, object]
    """Keys with their minimum and maximum, as numbers or quantities of one unit: `["1 Mbit/s", "10
    Mbit/s"]`."""
    count: int
    """Number of combinations to draw, each of which is one variant of the campaign."""
    logarithmic: NotRequired[list[str]]
    """Names of the keys whose logarithm is uniformly distributed instead of their value."""
    method: NotRequired[Method]
    """How the values are drawn; as a Latin hypercube by default."""
    seed: NotRequired[int]
    """Seed of the draw, 1 by default."""


class Campaign(TypedDict):
    """Many runs: values are varied, and each combination is replicated. The variants are the product of
    `vary`, each table of `zip`, `list` and `sample`; the last of them varies fastest. A single run of the
    scenario ignores it."""

    clock: NotRequired[Clock]
    """The clock of the runs: simulated (`"virtual"`, the default), or real kernels in virtual time
    (`"kernel"`)."""
    common_random_numbers: NotRequired[bool]
    """Whether replications with the same number draw the same random numbers in every variant, so that
    differences between variants are not due to chance; on by default. Otherwise every variant has its own
    seed."""
    confidence: NotRequired[float]
    """Probability with which a confidence interval contains the mean, 0.95 by default; greater than 0 and
    less than 1."""
    keep_runs: NotRequired[bool]
    """Whether the folders of the runs are kept, with their traces. Otherwise, the default, only reports are
    recorded."""
    list: NotRequired[list[dict[str, object]]]
    """Combinations given one by one, each a table of keys and values. The key `label` names a combination in
    tables and figures."""
    precision: NotRequired[Precision]
    """When a variant has enough replications; `replications` is then the minimum. If unset, each has exactly
    `replications`."""
    replications: NotRequired[int]
    """Number of runs of each variant, each with its own random numbers; 1 by default."""
    sample: NotRequired[Sample]
    """Combinations drawn at random. If unset, none are."""
    vary: NotRequired[dict[str, object]]
    """A grid: every combination of these values. The last key varies fastest."""
    zip: NotRequired[list[dict[str, object]]]
    """Lists of the same length whose values are combined in step: the first values of all keys together, then
    the second, and so on. A list under the key `label` names the combinations in tables and figures; one part
    of a campaign may have labels."""


#: a span of time, 0 s to 36600 d
Span: TypeAlias = "str"


class Change(TypedDict):
    """New values for keys of links and networks from a given time on, applied before anything else that
    happens at that time."""

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
    """Whether the marker is colour-aware: a packet never gets a lower drop precedence than it had. Off by
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
    """Whether the marker is colour-aware: a packet never gets a lower drop precedence than it had. Off by
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
    or loses more packets than allowed, is void. A simulation needs none."""

    lateness_max: NotRequired[Span]
    """Maximum delay with which any packet may reach its host too late, 20 ms by default; longer than 0 s."""
    lateness_p99: NotRequired[Span]
    """Maximum delay with which 99 % of the packets may reach their host too late, 1 ms by default; longer
    than 0 s."""
    lost: NotRequired[int]
    """Number of packets that may be lost where no model drops them, 0 by default."""
    rate: NotRequired[float]
    """Maximum deviation of the rate of a transmitting link from the configured one, as a fraction; 0.01 by
    default."""
    reading_p99: NotRequired[Span]
    """Maximum time for which 99 % of the packets may wait in the kernel before the engine reads them from a
    host, 20 ms by default. A TCP sender that sends a window at once fills milliseconds."""
    starved: NotRequired[float]
    """Maximum fraction of the run for which the engine's thread may wait for a processor, 0.01 by default."""
    steal: NotRequired[float]
    """Maximum fraction of the processors' time that the hypervisor may take from the machine (steal time),
    0.02 by default."""


#: How the lengths of bursts and silences, or the times between datagrams, are distributed.
Distribution: TypeAlias = 'Literal["constant", "exponential"]'

#: The distribution of sizes about their mean.
Sizes: TypeAlias = 'Literal["constant", "exponential", "pareto"]'

#: The direction in which a file is sent.
TransferDirection: TypeAlias = 'Literal["upload", "download"]'

#: The exchange that NetPIPE repeats and measures.
NetpipeMode: TypeAlias = 'Literal["ping-pong", "one-way", "stream"]'

#: What happens to a packet that the channel has corrupted.
Effect: TypeAlias = 'Literal["drop", "stale-checksum", "valid-checksum"]'


class NoneCode(TypedDict):
    """Code of the kind `none`. No code: one wrong bit loses the frame."""

    kind: Literal["none"]


class ReedSolomonCode(TypedDict):
    """Code of the kind `reed-solomon`. Reed-Solomon code over bytes with codewords of 255 bytes, interleaved
    (CCSDS 131.0-B)."""

    correctable: NotRequired[int]
    """Bytes of a codeword that can be corrected: 16 (the default), which is RS(255,223), or 8,
    RS(255,239)."""
    interleave: NotRequired[int]
    """Codewords in a frame, 5 by default; CCSDS has 1, 2, 3, 4, 5 and 8. A burst of errors is spread over all
    of them."""
    kind: Literal["reed-solomon"]


class BchCode(TypedDict):
    """Code of the kind `bch`. BCH(63,56) code of telecommand (CCSDS 231.0-B), which corrects one wrong bit in
    each block of 56 bits."""

    kind: Literal["bch"]


class ConvolutionalCode(TypedDict):
    """Code of the kind `convolutional`. Convolutional code of rate 1/2 and constraint length 7 (CCSDS
    131.0-B) with a Viterbi decoder, by its union bound."""

    kind: Literal["convolutional"]


class ConcatenatedCode(TypedDict):
    """Code of the kind `concatenated`. A Reed-Solomon code around the convolutional code of rate 1/2 (CCSDS
    131.0-B), with ideal interleaving between them."""

    correctable: NotRequired[int]
    """Bytes of a Reed-Solomon codeword that can be corrected, 16 by default."""
    interleave: NotRequired[int]
    """Codewords in a frame, 5 by default."""
    kind: Literal["concatenated"]


class TurboCode(TypedDict):
    """Code of the kind `turbo`. A turbo code (CCSDS 131.0-B), as the best code of its length and rate that
    loses `loss_db`."""

    information: NotRequired[int]
    """Bits of information in a codeword, 8920 by default; CCSDS has 1784, 3568, 7136 and 8920."""
    kind: Literal["turbo"]
    loss_db: NotRequired[float]
    """Loss of the code and its decoder against the best code in dB, 0.7 by default, which is an
    assumption."""
    rate: NotRequired[float]
    """Rate of the code, 0.5 by default; CCSDS has 1/2, 1/3, 1/4 and 1/6."""


class LdpcCode(TypedDict):
    """Code of the kind `ldpc`. An LDPC code (CCSDS 131.0-B), as the best code of its length and rate that
    loses `loss_db`."""

    information: NotRequired[int]
    """Bits of information in a codeword, 4096 by default; CCSDS has 1024, 4096 and 16384, and 7136."""
    kind: Literal["ldpc"]
    loss_db: NotRequired[float]
    """Loss of the code and its decoder against the best code in dB, 0.7 by default, which is an
    assumption."""
    rate: NotRequired[float]
    """Rate of the code, 0.5 by default; CCSDS has 1/2, 2/3, 4/5, and 0.875 with 7136 bits."""


#: The channel code of a space link.
Code: TypeAlias = 'NoneCode | ReedSolomonCode | BchCode | ConvolutionalCode | ConcatenatedCode | TurboCode | LdpcCode | Literal["none", "reed-solomon", "bch", "convolutional", "concatenated", "turbo", "ldpc"]'


class NoneFading(TypedDict):
    """Fading of the kind `none`. No fast fading: the power is the mean power."""

    kind: Literal["none"]


class RayleighFading(TypedDict):
    """Fading of the kind `rayleigh`. Rayleigh fading: scattered waves without a direct one, as indoors
    without line of sight."""

    kind: Literal["rayleigh"]


class RiceFading(TypedDict):
    """Fading of the kind `rice`. Rice fading: a direct wave and scattered ones, as indoors with line of
    sight."""

    k_factor: float
    """Power of the direct wave divided by that of the scattered ones (K), not in dB; 0 is Rayleigh fading."""
    kind: Literal["rice"]


#: Fast fading: how the power of a radio signal varies around its mean over distances of a wavelength.
Fading: TypeAlias = 'NoneFading | RayleighFading | RiceFading | Literal["none", "rayleigh", "rice"]'

#: A modulation of IEEE 802.11 by its name and data rate.
Modulation: TypeAlias = 'Literal["dsss-1", "dsss-2", "cck-5.5", "cck-11", "ofdm-6", "ofdm-9", "ofdm-12", "ofdm-18", "ofdm-24", "ofdm-36", "ofdm-48", "ofdm-54"]'

#: a distance, -12000 km to 1e12 km (a depth is negative)
Distance: TypeAlias = "str"


class Shadowing(TypedDict):
    """Log-normal shadowing: the mean power varies with the place, normally distributed in dB."""

    deviation_db: float
    """Standard deviation of the mean power in dB."""
    distance: Distance
    """Distance moved after which the correlation has fallen to 1/e."""


#: a speed, 0 m/s to 12 km/s
Speed: TypeAlias = "str"


class NoneError(TypedDict):
    """Error of the kind `none`. No errors: every packet arrives intact."""

    kind: Literal["none"]


class PacketError(TypedDict):
    """Error of the kind `packet`. Independent packet errors: each packet, or unit of the framing, is
    corrupted with the same probability, whatever its size."""

    effect: NotRequired[Effect]
    """What happens to a corrupted packet: `"drop"` (the default) loses it, `"stale-checksum"` delivers it
    with a wrong bit, for which the receiver drops it, and `"valid-checksum"` delivers it with a wrong bit in
    its payload that no checksum reveals."""
    kind: Literal["packet"]
    probability: float
    """Probability that a packet is corrupted, 0 to 1."""


class BitError(TypedDict):
    """Error of the kind `bit`. Independent bit errors: each bit is wrong with the same probability, and a
    packet or unit with a wrong bit is corrupted."""

    effect: NotRequired[Effect]
    """What happens to a corrupted packet: `"drop"` (the default) loses it, `"stale-checksum"` delivers it
    with a wrong bit, for which the receiver drops it, and `"valid-checksum"` delivers it with a wrong bit in
    its payload that no checksum reveals."""
    kind: Literal["bit"]
    rate: float
    """Probability that a bit is wrong (bit error rate, BER), 0 to 1."""


class CodedError(TypedDict):
    """Error of the kind `coded`. Frame errors of a space link behind its decoder, by the bit error rate
    before decoding or by Eb/N0."""

    ber: NotRequired[float]
    """Probability that a bit is wrong before decoding, 0 to 1: decisions are hard then. Must be given if
    `eb_n0_db` is not."""
    code: NotRequired[Code]
    """The channel code, that of the framing if there is a framing with one; none by default."""
    eb_n0_db: NotRequired[float]
    """Energy of a bit of information over the noise density in dB, with coherent BPSK and soft decisions.
    Must be given if `ber` is not."""
    kind: Literal["coded"]


class GilbertError(TypedDict):
    """Error of the kind `gilbert`. Errors in bursts (Gilbert 1960): a two-state Markov chain that corrupts
    every packet in its bad state."""

    burst: float
    """Mean number of consecutive corrupted packets; at least 1 and at least `probability` / (1 -
    `probability`)."""
    effect: NotRequired[Effect]
    """What happens to a corrupted packet: `"drop"` (the default) loses it, `"stale-checksum"` delivers it
    with a wrong bit, for which the receiver drops it, and `"valid-checksum"` delivers it with a wrong bit in
    its payload that no checksum reveals."""
    kind: Literal["gilbert"]
    probability: float
    """Fraction of all packets that is corrupted, 0 to 1 but less than 1."""


class GilbertElliottError(TypedDict):
    """Error of the kind `gilbert-elliott`. Errors in bursts (Gilbert and Elliott 1963): a two-state Markov
    chain with a loss probability in each state."""

    bad_to_good: float
    """Probability per packet of going from the bad to the good state, 0 to 1; not 0 together with
    `good_to_bad`."""
    effect: NotRequired[Effect]
    """What happens to a corrupted packet: `"drop"` (the default) loses it, `"stale-checksum"` delivers it
    with a wrong bit, for which the receiver drops it, and `"valid-checksum"` delivers it with a wrong bit in
    its payload that no checksum reveals."""
    good_to_bad: float
    """Probability per packet of going from the good to the bad state, 0 to 1."""
    kind: Literal["gilbert-elliott"]
    loss_bad: float
    """Probability that a packet in the bad state is corrupted, 0 to 1."""
    loss_good: NotRequired[float]
    """Probability that a packet in the good state is corrupted, 0 to 1; 0 by default."""


class MarkovError(TypedDict):
    """Error of the kind `markov`. Errors by a Markov chain: it takes a step with each packet, and each of its
    states corrupts packets with its own probability."""

    effect: NotRequired[Effect]
    """What happens to a corrupted packet: `"drop"` (the default) loses it, `"stale-checksum"` delivers it
    with a wrong bit, for which the receiver drops it, and `"valid-checksum"` delivers it with a wrong bit in
    its payload that no checksum reveals."""
    kind: Literal["markov"]
    loss: list[float]
    """Probability per state that a packet is corrupted, 0 to 1; the number of elements, 1 to 64, is that of
    the states."""
    transitions: list[list[float]]
    """One row per state, with the probability of each next state. Each row adds to 1; a difference of up to
    0.001, as rounded numbers have, is divided out."""


class SnrStatesError(TypedDict):
    """Error of the kind `snr-states`. Errors by states of the received signal: a Markov chain in time with a
    loss probability per state and data rate."""

    effect: NotRequired[Effect]
    """What happens to a corrupted packet: `"drop"` (the default) loses it, `"stale-checksum"` delivers it
    with a wrong bit, for which the receiver drops it, and `"valid-checksum"` delivers it with a wrong bit in
    its payload that no checksum reveals."""
    kind: Literal["snr-states"]
    loss: list[list[float]]
    """One row per state, 1 to 64, with the probability that a frame is corrupted at each of the `rates`."""
    rate: NotRequired[Rate]
    """Data rate of packets on a link that has no modulations of its own. By default the highest of
    `rates`."""
    rates: NotRequired[list[Rate]]
    """Data rates of the columns of `loss`, in ascending order. A frame takes the column of the highest rate
    that is not above its own, or the first one. If unset, `loss` has one column, for all rates."""
    step: Span
    """Time between two steps of the chain."""
    transitions: list[list[float]]
    """One row per state, with the probability of each next state. Each row adds to 1; a difference of up to
    0.001, as rounded numbers have, is divided out."""


class SnrError(TypedDict):
    """Error of the kind `snr`. Errors by the ratio of signal to noise, with fading and shadowing by speed,
    and by the modulation of a frame."""

    effect: NotRequired[Effect]
    """What happens to a corrupted packet: `"drop"` (the default) loses it, `"stale-checksum"` delivers it
    with a wrong bit, for which the receiver drops it, and `"valid-checksum"` delivers it with a wrong bit in
    its payload that no checksum reveals."""
    fading: NotRequired[Fading]
    """Fast fading around the mean; none by default."""
    kind: Literal["snr"]
    mode: NotRequired[Modulation]
    """Modulation of packets on a link that has no modulations of its own; `"cck-11"` by default. The number
    is the rate in Mbit/s that the modulation has in IEEE 802.11; the link keeps its own."""
    shadowing: NotRequired[Shadowing]
    """Slow variation of the mean; none by default."""
    snr_db: float
    """Ratio of the mean signal to the noise in the receiver's channel (22 MHz for DSSS and CCK), in dB."""
    speed: NotRequired[Speed]
    """Speed of the station, or of what moves around it; 1 m/s by default, a walking person."""
    wavelength: NotRequired[Distance]
    """Wavelength of the carrier; 0.123 m by default, channel 6 of the 2.4 GHz band (2.437 GHz)."""


class TraceError(TypedDict):
    """Error of the kind `trace`. Errors by a trace: packets are corrupted as the frames of a recording were
    lost; after its end it begins again."""

    effect: NotRequired[Effect]
    """What happens to a corrupted packet: `"drop"` (the default) loses it, `"stale-checksum"` delivers it
    with a wrong bit, for which the receiver drops it, and `"valid-checksum"` delivers it with a wrong bit in
    its payload that no checksum reveals."""
    interval: NotRequired[Span]
    """Time between the frames of the trace when it was recorded. If set, the trace passes with the time, and
    a packet meets the outcome that was recorded last; if unset, each packet takes the next outcome."""
    kind: Literal["trace"]
    outcomes: str | dict[str, object]
    """The outcomes: a comma-separated table with a column `lost`, 0 or 1, and a row per frame, or with a
    column `frames` besides and a row per run of frames of the same outcome. At least one frame is received
    and one is lost. As a file at most 4 MiB: `bentpipe trace` shortens a table to its runs."""
    start: NotRequired[int]
    """Number of the frame with which the run begins; the first one is 1. Drawn at random if unset."""


class ListError(TypedDict):
    """Error of the kind `list`. Chosen errors: corrupts exactly the listed packets, for example to compare
    two TCP stacks under the same losses."""

    effect: NotRequired[Effect]
    """What happens to a corrupted packet: `"drop"` (the default) loses it, `"stale-checksum"` delivers it
    with a wrong bit, for which the receiver drops it, and `"valid-checksum"` delivers it with a wrong bit in
    its payload that no checksum reveals."""
    kind: Literal["list"]
    packets: list[int]
    """Numbers of the corrupted packets (or units of the framing), in ascending order. The first packet of the
    direction has the number 1."""


#: The error process of a channel: which packets, or units of the framing, it corrupts.
Error: TypeAlias = 'NoneError | PacketError | BitError | CodedError | GilbertError | GilbertElliottError | MarkovError | SnrStatesError | SnrError | TraceError | ListError | Literal["none", "packet", "bit", "coded", "gilbert", "gilbert-elliott", "markov", "snr-states", "snr", "trace", "list"]'

#: A placement of a query's operators.
Placed: TypeAlias = 'Literal["nodes", "sink"]'


class FixedPlayout(TypedDict):
    """Playout of the kind `fixed`. A de-jitter buffer of a fixed length."""

    delay: NotRequired[Span]
    """Time for which the first packet of a talk spurt is held, 60 ms by default."""
    kind: Literal["fixed"]


class Ramjee1Playout(TypedDict):
    """Playout of the kind `ramjee-1`. An adaptive de-jitter buffer: algorithm 1 of Ramjee et al. 1994, a
    linear filter."""

    initial: NotRequired[Span]
    """Time for which the first talk spurt is held, 20 ms by default."""
    kind: Literal["ramjee-1"]
    weight: NotRequired[float]
    """Weight a of the past, 0.998002 by default (the paper's)."""


class Ramjee2Playout(TypedDict):
    """Playout of the kind `ramjee-2`. An adaptive de-jitter buffer: algorithm 2 of Ramjee et al. 1994, a
    filter that follows a growing delay faster."""

    growing: NotRequired[float]
    """Weight b of the past while the delay grows, 0.75 by default (the paper's)."""
    initial: NotRequired[Span]
    """Time for which the first talk spurt is held, 20 ms by default."""
    kind: Literal["ramjee-2"]
    weight: NotRequired[float]
    """Weight a of the past while the delay shrinks, and for the variation; 0.998002 by default (the
    paper's)."""


class Ramjee3Playout(TypedDict):
    """Playout of the kind `ramjee-3`. An adaptive de-jitter buffer: algorithm 3 of Ramjee et al. 1994, by the
    shortest delay of the talk spurt before."""

    initial: NotRequired[Span]
    """Time for which the first talk spurt is held, 20 ms by default."""
    kind: Literal["ramjee-3"]
    weight: NotRequired[float]
    """Weight a of the past for the variation, 0.998002 by default (the paper's)."""


class Ramjee4Playout(TypedDict):
    """Playout of the kind `ramjee-4`. An adaptive de-jitter buffer: algorithm 4 of Ramjee et al. 1994, with
    detection of delay spikes."""

    initial: NotRequired[Span]
    """Time for which the first talk spurt is held, 20 ms by default."""
    kind: Literal["ramjee-4"]


class MoonPlayout(TypedDict):
    """Playout of the kind `moon`. An adaptive de-jitter buffer: the algorithm of Moon et al. 1998, a
    percentile of the last delays, with detection of delay spikes."""

    head: NotRequired[float]
    """Factor on the playout delay by which a packet's delay exceeds it when a spike begins, 4 by default."""
    kind: Literal["moon"]
    percentile: NotRequired[float]
    """Percentile of the delays that is the playout delay, 99 by default: 1 % of the packets may be late."""
    tail: NotRequired[float]
    """Factor on the playout delay below which a packet's delay ends a spike, 2 by default."""
    window: NotRequired[int]
    """Number of packets whose delays are kept, 10000 by default."""


class NonePlayout(TypedDict):
    """Playout of the kind `none`. No de-jitter buffer: every packet is played when it arrives."""

    kind: Literal["none"]


#: The de-jitter buffer of a receiver of speech.
Playout: TypeAlias = 'FixedPlayout | Ramjee1Playout | Ramjee2Playout | Ramjee3Playout | Ramjee4Playout | MoonPlayout | NonePlayout | Literal["fixed", "ramjee-1", "ramjee-2", "ramjee-3", "ramjee-4", "moon", "none"]'


class P59Talker(TypedDict):
    """Talker of the kind `p59`. Artificial conversational speech of ITU-T P.59: the two sides of a call take
    turns, interrupt each other and fall silent."""

    interruption: NotRequired[float]
    """Probability that one side's speech ends by an interruption, in which both speak, and not in silence:
    0.4 by default (P.59)."""
    kind: Literal["p59"]


class ExponentialTalker(TypedDict):
    """Talker of the kind `exponential`. Talk spurts and pauses with exponentially distributed lengths; the
    two sides of a call are independent of each other."""

    kind: Literal["exponential"]
    pause: NotRequired[Span]
    """Mean length of a pause, 0.65 s by default (Sriram and Whitt 1986)."""
    speech: NotRequired[Span]
    """Mean length of a talk spurt, 0.352 s by default (Sriram and Whitt 1986)."""


class RecordedTalker(TypedDict):
    """Talker of the kind `recorded`. Talk spurts of real speech, as a voice activity detector found them in a
    recording."""

    callee: NotRequired[list[list[Span]]]
    """Begin and end of each talk spurt of the callee (the flow's destination). If not given, the callee is
    silent."""
    caller: list[list[Span]]
    """Begin and end of each talk spurt of the caller (the flow's source), in order, from the beginning of the
    call."""
    kind: Literal["recorded"]
    length: NotRequired[Span]
    """Length of the recording, after which it is repeated. If unset, it is played once, and silence
    follows."""


class AlwaysTalker(TypedDict):
    """Talker of the kind `always`. A talker who never pauses."""

    kind: Literal["always"]


#: The talker at each side of a call, who decides when there is speech to send and when there is silence.
Talker: TypeAlias = 'P59Talker | ExponentialTalker | RecordedTalker | AlwaysTalker | Literal["p59", "exponential", "recorded", "always"]'


class BulkApp(TypedDict):
    """App of the kind `bulk`. A bulk transfer: the source sends as fast as the transport allows, without end
    or up to a size or a duration, and then closes."""

    duration: NotRequired[Span]
    """Time for which the application writes, from the start of the flow. Data in the send buffer by then
    (`send_memory`, `send_buffer`) is still sent; without a limited buffer, unsent data is discarded. Must be
    longer than 0 s; unlimited if unset."""
    kind: Literal["bulk"]
    size: NotRequired[Size]
    """Number of bytes to send, at least 1 B; endless if unset."""


class BundlesApp(TypedDict):
    """App of the kind `bundles`. Bundles at a rate, within a window or at given times, each of which the
    destination reports, as DTNperf sends them."""

    bundles: NotRequired[int]
    """Number of bundles to send. If unset, bundles are sent until the end of the run."""
    kind: Literal["bundles"]
    payload: NotRequired[Size]
    """Payload of a bundle, 50 kB by default, as of DTNperf; at least 20 B."""
    rate: NotRequired[Rate]
    """Rate of the payload, at which bundles are sent whatever has been reported. One of `window`, `rate` and
    `series` must be given."""
    report: NotRequired[Size]
    """Size of a report, 40 B by default: the length of a status report of the bundle protocol (RFC 9171,
    section 6.1.1) with one status. 0 B sends none, which needs a `rate` or a `series`."""
    series: NotRequired[str | dict[str, object]]
    """The bundles to send: a table, comma-separated or a Parquet file, with `time` in seconds from the start
    of the flow and `payload` in bytes, which holds instead of the key `payload`. One of `window`, `rate` and
    `series` must be given."""
    timeout: NotRequired[Span]
    """Time after which a bundle without a report counts as overdue, and gives up its place in the window; one
    day by default."""
    window: NotRequired[int]
    """Bundles that may be on their way without a report. One of `window`, `rate` and `series` must be
    given."""


class CbrApp(TypedDict):
    """App of the kind `cbr`. A constant bit rate source: datagrams of one size at one rate, continuously or
    in bursts."""

    datagram: NotRequired[Size]
    """Payload of one datagram, 1 kB by default; at least 1 B."""
    distribution: NotRequired[Distribution]
    """How the lengths of bursts and silences are distributed; constant by default."""
    kind: Literal["cbr"]
    off: NotRequired[Span]
    """Length of the silence after each burst, or its mean; must be given together with `on`."""
    on: NotRequired[Span]
    """Length of a burst, or its mean; must be longer than 0 s and be given together with `off`. If unset, the
    source sends continuously."""
    rate: Rate
    """Rate of the payload while the source is sending."""
    spacing: NotRequired[Distribution]
    """How the times between datagrams are distributed while the source is sending; constant by default."""


class CommandApp(TypedDict):
    """App of the kind `command`. A program of this machine, such as iperf3, curl or ping, that runs at the
    flow's ends in an emulation. It cannot be simulated."""

    kind: Literal["command"]
    run: str
    """Program and arguments to run at the flow's source from the flow's start. In a word, {to} and {from}
    stand for the addresses of the flow's ends, {port} for a port of its own."""
    serve: NotRequired[str]
    """Program and arguments to run at the flow's destination, started before the run, with the same
    placeholders. If unset, nothing is started there."""


class EmailApp(TypedDict):
    """App of the kind `email`. Mails that the flow's source sends, each over a connection of its own, after
    the set-up dialogue of SMTP (RFC 5321)."""

    distribution: NotRequired[Sizes]
    """How the sizes of mails are distributed about their mean; constant by default."""
    every: NotRequired[Span]
    """Mean time between the starts of mails, which are a Poisson process. If unset, a single mail is sent."""
    kind: Literal["email"]
    mails: NotRequired[int]
    """Maximum number of mails; needs `every`. If unset, mails are sent until the run ends."""
    message: NotRequired[Size]
    """Size of each set-up message, 60 B by default."""
    messages: NotRequired[int]
    """Number of set-up messages before the mail, counting both ends; 8 by default, as in SMTP."""
    shape: NotRequired[float]
    """Shape of the Pareto distribution of sizes, 1.5 by default; must be greater than 1. Above 2 the variance
    is finite."""
    size: Size
    """Mean size of a mail, at least 1 B."""


class FtpApp(TypedDict):
    """App of the kind `ftp`. File transfers, each over a connection of its own, after the set-up dialogue of
    FTP (RFC 959)."""

    direction: NotRequired[TransferDirection]
    """Direction in which files are sent: from the flow's source (`"upload"`, the default) or to it
    (`"download"`)."""
    distribution: NotRequired[Sizes]
    """How the sizes of files are distributed about their mean; constant by default."""
    every: NotRequired[Span]
    """Mean time between the starts of sessions, which are a Poisson process. If unset, there is a single
    session."""
    kind: Literal["ftp"]
    message: NotRequired[Size]
    """Size of each set-up message, 60 B by default."""
    messages: NotRequired[int]
    """Number of set-up messages before the file, counting both ends; 8 by default, as in FTP."""
    sessions: NotRequired[int]
    """Maximum number of sessions; needs `every`. If unset, sessions start until the run ends."""
    shape: NotRequired[float]
    """Shape of the Pareto distribution of sizes, 1.5 by default; must be greater than 1. Above 2 the variance
    is finite."""
    size: Size
    """Mean size of a file, at least 1 B."""


class HttpApp(TypedDict):
    """App of the kind `http`. Web pages over HTTP/1.1, fetched over two persistent connections (RFC 9112,
    section 9.3)."""

    kind: Literal["http"]
    object: Size
    """Mean size of an object, the page itself included; between `object_min` and `object_max`."""
    object_max: NotRequired[Size]
    """Maximum size of an object, 200 kB by default."""
    object_min: NotRequired[Size]
    """Minimum size of an object, 1 kB by default; at least 1 B."""
    objects: NotRequired[float]
    """Mean number of objects of a page, the page itself included; 8 by default, between `objects_min` and
    `objects_max`."""
    objects_max: NotRequired[int]
    """Maximum number of objects of a page, 30 by default."""
    objects_min: NotRequired[int]
    """Minimum number of objects of a page, 1 by default."""
    pages: NotRequired[int]
    """Number of pages that the user views, 1 by default."""
    request: NotRequired[Size]
    """Size of a request, 400 B by default; at least 1 B."""
    response_time: NotRequired[Span]
    """Time that the server takes from the arrival of a request to the first byte of its answer; 0 s by
    default."""
    think: NotRequired[Span]
    """Mean time for which the user views a page before requesting the next, exponentially distributed; 0 s by
    default."""


class NetpipeApp(TypedDict):
    """App of the kind `netpipe`. NetPIPE: measures how long blocks of growing size take, with the schedule of
    the real program."""

    first: NotRequired[Size]
    """First block size, at least 1 B (the default); the option -l of NPtcp."""
    kind: Literal["netpipe"]
    last: NotRequired[Size]
    """Greatest unperturbed block size; the option -u. If unset, sizes grow until a block takes `stop`."""
    mode: NotRequired[NetpipeMode]
    """What is measured: `"ping-pong"` (the default, half of a round trip), `"one-way"` (a block and one byte
    back) or `"stream"` (blocks in one direction)."""
    perturbation: NotRequired[int]
    """Number of bytes by which blocks are also smaller and larger than the sizes, 3 by default; 0 for none.
    The option -p."""
    repeats: NotRequired[int]
    """Number of repeats in each trial; the option -n. If unset, as many as take a tenth of a second, at least
    3."""
    stop: NotRequired[Span]
    """Time of a block after which no greater size is measured, 1 s by default, as in the real program."""


class SensorsApp(TypedDict):
    """App of the kind `sensors`. A sensor network: motes on an IEEE 802.15.4 channel, and a sink, the flow's
    destination, that sends the results of a query to the flow's source."""

    acknowledged: NotRequired[bool]
    """Whether motes acknowledge frames and retransmit them without; true by default."""
    backoffs: NotRequired[int]
    """Further attempts at a busy channel before a frame is given up (macMaxCSMABackoffs), 4 by default."""
    error: NotRequired[Error]
    """Errors of frames on the air, in each direction between two motes separately; none by default."""
    hears: NotRequired[dict[str, list[str]]]
    """Which motes each mote hears, by names (the sink is `"sink"`); a mote that is not listed hears all.
    Motes that do not hear each other are hidden from each other: their transmissions collide at others."""
    kind: Literal["sensors"]
    max_be: NotRequired[int]
    """Largest exponent of backoffs (macMaxBE), 5 by default."""
    measure: NotRequired[Size]
    """Bytes of a row of results on their way to the client, 25 B by default, as of a measure in the platform
    study."""
    min_be: NotRequired[int]
    """Exponent of the first backoff (macMinBE), 3 by default: up to 2^3 - 1 periods of 320 us."""
    motes: list[str]
    """Names of the motes, 1 to 100. They are no nodes of the scenario."""
    parents: NotRequired[dict[str, str]]
    """The mote to which a mote sends what is for the sink, by names; a mote that is not listed sends to the
    sink itself."""
    period: NotRequired[Span]
    """Time between two samples of a mote, 1 s by default; 10 ms at least. The platform study has 100 ms to 2
    s."""
    placement: NotRequired[Placed]
    """Where the query's operators run: `"nodes"` (the default) places each where the fewest bytes travel,
    `"sink"` ships every measure to the sink."""
    query: str
    """The query, a subset of SQL over the streams `motes` (all of them) and that of each mote by its name,
    with the columns `node`, `time`, `light`, `temperature`, `acceleration`, `magnetism` and `audio`."""
    queue: NotRequired[int]
    """Frames that a mote holds at most, 64 by default."""
    retries: NotRequired[int]
    """Retransmissions of a frame at most (macMaxFrameRetries), 3 by default."""
    wait: NotRequired[Span]
    """Time for which a window waits after its end for partial aggregates, for each hop below its node; 1 s by
    default."""


class VoiceApp(TypedDict):
    """App of the kind `voice`. A telephone call with speech in both directions over RTP, rated by the
    E-model."""

    advantage: NotRequired[int]
    """Advantage factor A of the E-model, 0 by default: what users forgive a call for being possible at all
    (G.107; up to 20 for places that are hard to reach, over several satellite hops). Ratings are given with
    and without it."""
    codec: NotRequired[str]
    """Speech codec: "G.711u" (the default), "G.711a", "G.711u+PLC", "G.711a+PLC", "iLBC-20", "iLBC-30",
    "GSM-FR", "GSM-EFR", "AMR-12.2", "Opus-10", "Opus-8", "G.729A" or "G.723.1"."""
    comfort_noise: NotRequired[bool]
    """Whether suppressed silence begins with comfort noise, repeated as the codec has it; true by default."""
    frames: NotRequired[int]
    """Number of the codec's frames in a packet. If unset, the least that hold 20 ms of speech."""
    kind: Literal["voice"]
    length: NotRequired[Span]
    """Length of the call. If unset, it lasts until the end of the run."""
    playout: NotRequired[Playout]
    """De-jitter buffer at both ears; fixed with 60 ms by default."""
    rtcp: NotRequired[Span]
    """Time between RTCP reports, 5 s by default (RFC 3550, section 6.2); with 0 s there is only the one with
    which a call begins."""
    silence_suppression: NotRequired[bool]
    """Whether packets without speech are not sent; true by default. If false, the talker does not matter."""
    skew: NotRequired[float]
    """How much faster the clock of the flow's destination runs than that of its source, in parts per million;
    0 by default."""
    talker: NotRequired[Talker]
    """The talker at each side, who decides when there is speech; the conversation of ITU-T P.59 by
    default."""
    window: NotRequired[Span]
    """Length of the windows for which the table `call_window` rates the call, 10 s by default."""


class CallsApp(TypedDict):
    """App of the kind `calls`. Telephone calls between the exchanges at both ends of the flow. Its transport
    is `sip` or `iax2`."""

    advantage: NotRequired[float]
    """Advantage factor A of the E-model (G.107), which `r_advantage` adds to the rating; 0 by default, 20 at
    most, which G.107 permits for access by satellite hops."""
    answer: NotRequired[Span]
    """Time for which the called telephone rings before it is answered, 3 s by default."""
    calls: NotRequired[int]
    """Number of calls that are placed when the flow starts and last until the run ends; 0 by default."""
    codec: NotRequired[str]
    """Name of the codec, "G.711u" by default. `bentpipe emodel` lists the names."""
    comfort_noise: NotRequired[bool]
    """Whether a pause begins with comfort noise, if silence is suppressed. On by default."""
    frames: NotRequired[int]
    """Number of codec frames in a packet. If unset, the fewest that hold 20 ms of speech."""
    holding: NotRequired[Span]
    """Mean holding time of these calls, exponentially distributed, from the answer to the end; 3 min by
    default."""
    kind: Literal["calls"]
    lines: NotRequired[int]
    """Number of lines of the exchange at each end, 100 by default. A call takes one from its beginning to its
    end."""
    load: NotRequired[float]
    """Offered load in erlangs of further calls, which come as a Poisson process: their rate times `holding`.
    0 by default."""
    local: NotRequired[float]
    """Fraction of these calls that stay at the source's site: they take a line and send nothing. 0 by
    default."""
    patience: NotRequired[Span]
    """Time after which a caller gives up who is not answered, 60 s by default."""
    playout: NotRequired[Playout]
    """De-jitter buffer at both ends of each call, a fixed one by default."""
    suppression: NotRequired[bool]
    """Whether packets without speech are not sent. On by default."""
    talker: NotRequired[Talker]
    """Who speaks when; a conversation after ITU-T P.59 by default."""


#: The application of a flow, which decides what is sent and when. Both ends run it: the flow's source opens
#: the connection, its destination answers.
App: TypeAlias = 'BulkApp | BundlesApp | CbrApp | CommandApp | EmailApp | FtpApp | HttpApp | NetpipeApp | SensorsApp | VoiceApp | CallsApp | Literal["bulk", "bundles", "cbr", "command", "email", "ftp", "http", "netpipe", "sensors", "voice", "calls"]'

#: What runs at the ends of a flow in an emulation. In a simulation both ends are models.
Endpoints: TypeAlias = 'Literal["kernel", "model"]'


class EvenStarts(TypedDict):
    """Starts of the kind `even`. Starts at equal distances: the first flow at once, and each after a fraction
    of `over`."""

    kind: Literal["even"]
    over: Span
    """Time over which the starts are spread; longer than 0 s."""


class UniformStarts(TypedDict):
    """Starts of the kind `uniform`. Starts at independent random times, all equally likely."""

    kind: Literal["uniform"]
    over: Span
    """Time within which all flows start; longer than 0 s."""


class PoissonStarts(TypedDict):
    """Starts of the kind `poisson`. Starts of a Poisson process: exponentially distributed times between one
    start and the next."""

    kind: Literal["poisson"]
    mean: Span
    """Mean time between two starts; longer than 0 s."""


#: A process by which the flows of a group start, each after the time that `start` gives.
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
    """When the window closes: ideally one round-trip time before the link goes down."""
    until: Span
    """When the link is up again and the window opens; later than `at`."""


#: What the ends of a connection do at handovers.
OnHandover: TypeAlias = 'Literal["freeze", "adapt"]'

#: A named set of values for all keys of TCP.
Profile: TypeAlias = (
    'Literal["linux", "linux-6.12", "linux-6.1", "linux-2.6.32", "classic", "freebsd", "scps", "nineties"]'
)

#: How losses are detected and repaired.
Recovery: TypeAlias = 'Literal["tahoe", "reno", "newreno", "sack", "snack", "rack"]'

#: How the variation of the round-trip time is smoothed.
RtoEstimator: TypeAlias = 'Literal["rfc6298", "linux"]'


class Tcp(TypedDict):
    """TCP with the values of a profile and what differs from it."""

    ack_compression: NotRequired[Span]
    """Maximum time for which acknowledgments of a hole are compressed into one, after the first three, if
    SACK is in use; also limited to a twentieth of the round-trip time. Default: 1 ms in the profiles of Linux
    except linux-2.6.32, 0 s (never) in the others."""
    ack_every: NotRequired[int]
    """Number of full segments per delayed acknowledgment. Default: 2 (RFC 1122), 4 in profile scps, whose
    standard reduces the frequency of acknowledgments and leaves the number open."""
    ack_pushed: NotRequired[bool]
    """Whether a segment with PSH is acknowledged at once, as by Linux since 6.7. Linux marks with PSH the end
    of what an application has written and of each burst of several segments, so its acknowledgments follow
    the sender's bursts. A segment that is shorter than the full ones counts as one with PSH. Default: on in
    the profiles linux and linux-6.12, off in the others."""
    adapt: NotRequired[list[Adapt]]
    """Times at which senders set window and time-out for a new link at once (fast adaptation): a list of `{
    at, rate, round_trip }`."""
    bursts: NotRequired[bool]
    """Whether segments leave in bursts, as Linux prepares packets for segmentation offload (TSO, GSO): what
    the pacing rate carries in 1/1024 s, at least two segments and at most 64 KB; less than that mostly waits
    for the next acknowledgment. Default: on in the profiles of Linux except linux-2.6.32, off in the
    others."""
    byte_counting: NotRequired[bool]
    """Whether the window grows by the segments that an acknowledgment covers (appropriate byte counting, RFC
    3465, without its limit), instead of once per acknowledgment (RFC 5681, section 3.1), which makes delayed
    acknowledgments slow it down. Default: off in profile linux-2.6.32 (tcp_abc is 0), on in the others."""
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
    """Name of the congestion control, one of bentpipe's C files, or, for real endpoints, `linux-NAME` for the
    kernel's own; or `{ file = "./mine.c" }`, C source that is compiled if `bentpipe --allow-code` says so
    (docs/congestion-recipe.md). Default: reno, vegas in profile scps."""
    delayed_ack: NotRequired[bool]
    """Whether every second segment is acknowledged, or the first after `delayed_ack_timeout` (RFC 1122,
    section 4.2.3.2), instead of every segment at once. On in all profiles."""
    delayed_ack_min: NotRequired[Span]
    """Minimum delay of an acknowledgment, from which the delay adapts to the time between segments. Default:
    40 ms in the profiles of Linux. If it equals `delayed_ack_timeout`, as in the other profiles, the delay is
    constant."""
    delayed_ack_timeout: NotRequired[Span]
    """Maximum delay of an acknowledgment, 200 ms by default; less than 500 ms (RFC 1122)."""
    dsack: NotRequired[bool]
    """Duplicate selective acknowledgments (RFC 2883). Default: on in the profiles of Linux, off in the
    others."""
    ecn: NotRequired[bool]
    """Explicit congestion notification (RFC 3168), if both ends request it. Off in all profiles, as Linux
    only uses it when asked to."""
    freeze: NotRequired[list[Freeze]]
    """Disconnections before which receivers close their window, to open it afterwards (Freeze-TCP): a list of
    `{ at, until }`."""
    freeze_warning: NotRequired[Span]
    """Time before such a handover at which the ends are warned of it. If unset, the round-trip time of a full
    segment over the path without queues."""
    frto: NotRequired[bool]
    """Whether spurious time-outs are detected before everything is retransmitted (F-RTO, RFC 5682); needs
    SACK. Default: on in the profiles of Linux, off in the others."""
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
    the clock `kernel`. A `timer_tick` replaces them for time-outs. Default: 4 ms, as in Debian's kernels, in
    profiles linux, linux-6.12 and linux-6.1; 0 s in the others: an exact clock."""
    minshall: NotRequired[bool]
    """Whether `nagle` holds back a small segment only while another small one is unacknowledged
    (draft-minshall-nagle-01), as Linux does, instead of while anything is. Without `nagle` it does nothing.
    Default: on in the profiles of Linux, off in the others."""
    nagle: NotRequired[bool]
    """Whether small segments are held back while data is unacknowledged (Nagle's algorithm, RFC 9293, section
    3.7.4). Default: on in profile nineties, off in the others."""
    on_handover: NotRequired[list[OnHandover]]
    """What the ends do at the scenario's `[[handover]]`s on their path: `freeze` (Freeze-TCP) at those that
    interrupt or lose, `adapt` (fast adaptation) at those to another link. If unset, nothing."""
    pacing: NotRequired[bool]
    """Whether segments are always paced, as with Linux' fq queue discipline. Otherwise, the default, they are
    paced only if the congestion control asks for it, as bbr does."""
    pacing_ca_ratio: NotRequired[int]
    """Pacing rate otherwise, in percent of cwnd / SRTT; 120 by default (Linux' tcp_pacing_ca_ratio)."""
    pacing_ss_ratio: NotRequired[int]
    """Pacing rate while cwnd < ssthresh / 2, in percent of cwnd / SRTT; 200 by default (Linux'
    tcp_pacing_ss_ratio)."""
    parameters: NotRequired[dict[str, int]]
    """Parameters of the congestion control, by the names that it declares."""
    profile: NotRequired[Profile]
    """The named set of values that applies to all keys that are not set; `linux` by default."""
    proportional_reduction: NotRequired[bool]
    """Whether the window is reduced in proportion to what arrives (PRR, RFC 9937) instead of at once.
    Default: on in the profiles of Linux except linux-2.6.32, off in the others."""
    quick_acks: NotRequired[int]
    """Number of segments that a receiver acknowledges one by one at the start, after idle time and when it
    sees retransmissions. Default: 16 in the profiles of Linux, 0 in the others."""
    quick_start: NotRequired[Rate]
    """Rate that is requested from the path for the start (Quick-Start, RFC 4782), 80 kbit/s to 1.31072
    Gbit/s; no request if unset. Links and networks that support it have the key `quick_start` too."""
    quick_window: NotRequired[Size]
    """Part of the receive window by which it grows, and 64 KiB: the window starts at 64 KiB and what it
    exceeds this part by, and grows to the whole by two segments for each segment that arrives, which is then
    acknowledged at once. Default: 4416 KiB in profile linux and 880 KiB in linux-6.12, whose window grows by
    4352 and 816 KiB from half the memory of emulated hosts to the part of it that holds payload; 16 MiB in
    linux-6.1 and linux-2.6.32, so that the whole window grows; 0 B in the others, which means the whole
    window from the start."""
    rate_halving: NotRequired[bool]
    """Whether the window is reduced by one segment for every second acknowledgment, and to one segment above
    what is in flight, as in Linux before 3.2 (rate halving), instead of at once. After heavy losses it ends
    far below the slow-start threshold. A time-out that `frto` finds spurious halves it too. Not with
    `proportional_reduction`. Default: on in profile linux-2.6.32, off in the others."""
    receive_window: NotRequired[Size]
    """Receive buffer in bytes of payload, which is advertised as the window. Default: Linux' own maximum in
    the profiles of Linux, a part of tcp_rmem's memory: 16 MiB in linux, 3.98 MB in linux-6.12, 3 MiB in
    linux-6.1 and linux-2.6.32; in nineties 8192 B; in the others it never limits (1 GiB). A larger value
    raises it."""
    receive_window_start: NotRequired[Size]
    """Receive window at the start, which grows with what arrives up to `receive_window` (dynamic
    right-sizing). In the profiles of Linux it grows as by Linux' auto-tuning, which starts with 64 KiB on
    hosts with Linux' own tcp_rmem, and segments by which it grows are acknowledged at once. If unset, the
    window is `receive_window` from the start, and `quick_window` says how many segments are acknowledged
    so."""
    recovery: NotRequired[Recovery]
    """How losses are detected and repaired. Default: rack in the profiles of Linux except linux-2.6.32, snack
    in scps, reno in nineties, sack in the others."""
    restart_after_idle: NotRequired[bool]
    """Whether sending restarts with the initial window after idle time (RFC 5681, section 4.1), reached as in
    Linux by halving the window for each time-out that has passed. Default: on in the profiles of Linux, off
    in the others."""
    retries: NotRequired[int]
    """Number of retransmissions of the same data, or of unanswered window probes, after which the connection
    fails. Default: 12 in profile nineties, 15 in the others."""
    retries_as_time: NotRequired[bool]
    """Whether `retries` stands for a time: data is given up at the first retransmission after the time that
    so many would take if the time-out had started at `rto_min`, 924.6 s by default (Linux' tcp_retries2).
    Default: on in the profiles of Linux, off in the others."""
    rto_estimator: NotRequired[RtoEstimator]
    """How the variation of the round-trip time is smoothed. Default: linux in the profiles of Linux, rfc6298
    in the others."""
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
    6298 (2.3). 200 ms by default, as in Linux."""
    sack: NotRequired[bool]
    """Selective acknowledgments (RFC 2018). If unset, they are used if `recovery` needs them."""
    segment_size: NotRequired[int]
    """Payload bytes of a full segment, 1460 by default. Packets are 40 bytes longer (IPv4 and TCP headers),
    or 52 with timestamps."""
    segmentation_offload: NotRequired[bool]
    """Whether a burst travels as one packet, as with TSO and GSO where no interface splits it. Such a packet
    is queued, lost and acknowledged as one. Implies `bursts`. Off in all profiles; packets of real hosts are
    split before the models see them."""
    send_buffer: NotRequired[Size]
    """Send buffer: maximum number of unacknowledged bytes. Default: 8192 B in nineties; in the others it
    never limits. In the profiles of Linux it replaces `send_memory`."""
    send_memory: NotRequired[Size]
    """Memory of the send buffer as Linux counts it: payload plus 960 bytes per packet, which is one burst
    once it has been sent. A program that has filled the buffer writes again when a third of it is free.
    Default: 4 MiB in the profiles of Linux (the maximum of tcp_wmem), unless `send_buffer` is given; in the
    others it never limits. A larger value raises it. Minimum: two segments, each in a packet of its own."""
    syn_linear_timeouts: NotRequired[int]
    """Number of retransmissions of a SYN before those, without doubling. Default: 4 in profiles linux and
    linux-6.12, as in Linux since 6.5; 0 in the others."""
    syn_retries: NotRequired[int]
    """Number of retransmissions of a SYN or SYN-ACK, with a time-out that doubles, after which the connection
    fails. Default: 5 in profile linux-2.6.32, 6 in the others."""
    tail_loss_probe: NotRequired[bool]
    """Whether a probe is sent for a loss at the tail of a flight before the time-out (RFC 8985, section 7);
    needs `recovery = "rack"`. Default: on in the profiles of Linux except linux-2.6.32, off in the others."""
    timer_tick: NotRequired[Span]
    """Period of the clock that times segments and on whose ticks time-outs occur, at most 1 s. Default: 500
    ms in profile nineties, as in BSD's stacks (RFC 6298, section 4), 0 s in the others: an exact clock."""
    timestamps: NotRequired[bool]
    """Timestamps (RFC 7323, section 3), which take 12 bytes of every segment. Default: on in the profiles of
    Linux and in scps, off in the others."""
    undo: NotRequired[bool]
    """Whether reductions are undone that timestamps (RFC 3522) or duplicate SACKs (RFC 3708) show to have
    been spurious. Default: on in the profiles of Linux, off in the others."""
    window_scaling: NotRequired[bool]
    """Window scaling (RFC 7323, section 2). Default: off in profile nineties, on in the others; without it
    the window is at most 65535 bytes."""
    window_validation: NotRequired[bool]
    """Whether a window that the application does not use decays (RFC 7661 as implemented in Linux). Default:
    on in the profiles of Linux, off in the others."""


class Iax2Transport(TypedDict):
    """Transport of the kind `iax2`. Telephone calls by IAX2 (RFC 5456): signalling and speech over one UDP
    port, alone or in trunks."""

    kind: Literal["iax2"]
    mtu: NotRequired[Size]
    """Size of the largest packet that carries a trunk frame, IP and UDP included; 1500 B if unset. Speech
    that does not fit leaves in further trunk frames at the same time."""
    timestamps: NotRequired[bool]
    """Whether a call's entry in a trunk frame has a time stamp of its own, which takes 2 bytes. Off by
    default."""
    trunk: NotRequired[Span]
    """Period of trunk frames, which carry the speech of all calls together (RFC 5456, section 7.1). If unset,
    every packet of speech is a mini frame of its own."""


class SipTransport(TypedDict):
    """Transport of the kind `sip`. Telephone calls by SIP (RFC 3261) over UDP or TCP, with speech in RTP (RFC
    3550)."""

    kind: Literal["sip"]
    over: NotRequired[SignallingTransport]
    """Transport protocol of the signalling: `"udp"` (the default) or `"tcp"`, one connection for all calls
    with the default settings of the transport `tcp`. Speech is sent over UDP with either."""
    t1: NotRequired[Span]
    """Timer T1, the estimate of the round-trip time from which all timers of SIP follow (RFC 3261, section
    17.1.1.1): the first retransmission comes after T1, and a request fails after 64 T1. 500 ms by default;
    the RFC recommends more where round-trip times are longer."""


class TcpTransport(Tcp):
    """Transport of the kind `tcp`. TCP with the values of a profile and what differs from it."""

    kind: Literal["tcp"]


class TfrcTransport(TypedDict):
    """Transport of the kind `tfrc`. TCP-Friendly Rate Control (RFC 5348) over UDP: datagrams at the rate that
    a TCP would have on average."""

    damped: NotRequired[bool]
    """Whether the sending rate is modulated by the square root of the round-trip time to prevent oscillation
    (RFC 5348, section 4.5). On by default."""
    kind: Literal["tfrc"]
    quick_start: NotRequired[Rate]
    """Rate that is requested from the path for the start (Quick-Start, RFC 4782), 80 kbit/s to 1.31072
    Gbit/s; no request if unset."""
    segment_size: NotRequired[int]
    """Payload bytes of a datagram (s of the throughput equation), 1460 by default: the size of the
    application's datagrams, or of those into which its data is cut. With `small_packets` it is their nominal
    size."""
    small_packets: NotRequired[bool]
    """TFRC-SP (RFC 4828), by which small packets get the same share as large ones: the rate is reduced by the
    share of the headers, and packets are at least 10 ms apart. Off by default."""


class UdpTransport(TypedDict):
    """Transport of the kind `udp`. Datagrams (UDP, RFC 768) without connections, acknowledgments or rate
    control: what is lost stays lost."""

    kind: Literal["udp"]


#: The transport protocol that carries a flow.
Transport: TypeAlias = 'Iax2Transport | SipTransport | TcpTransport | TfrcTransport | UdpTransport | Literal["iax2", "sip", "tcp", "tfrc", "udp"]'

#: Traffic between two nodes: an application at both ends, over a transport. A flow with a `count`, or with a
#: pattern as `from` or `to`, stands for a group of flows.
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

#: What happens to the packets of a link that goes down or is cut.
Fate: TypeAlias = 'Literal["forward", "lose"]'


class Handover(TypedDict):
    """A handover: from a given time on, packets take another link of a `[[multilink]]`, or, with an
    interruption, the same link after it."""

    at: Span
    """Time at which the handover starts. It precedes everything else that happens to the multilink at that
    time, except arrivals."""
    direction: NotRequired[HandoverDirection]
    """The directions that the handover affects; both by default."""
    interruption: NotRequired[Span]
    """Time for which there is no link to send over. If unset, as configured for the multilink."""
    multilink: NotRequired[str]
    """Name of the multilink. May be left out if there is only one."""
    overlap: NotRequired[Span]
    """Time for which the old link continues to send what waits in it. If unset, as configured for the
    multilink."""
    packets: NotRequired[Fate]
    """What happens to the affected packets. If unset, as configured for the multilink."""
    to: str
    """Name of the link that takes over."""


#: a frequency or symbol rate, 1 Hz to 10 THz
Frequency: TypeAlias = "str"

#: an angle, -360 deg to 360 deg
Angle: TypeAlias = "str"


class Antenna(TypedDict):
    """An antenna, by its gain or by its diameter."""

    diameter: NotRequired[Distance]
    """Width of a parabolic reflector, from which the gain follows. Give either this or `gain_dbi`."""
    efficiency: NotRequired[float]
    """Aperture efficiency: the fraction of the power that meets the dish and is collected; 0.65 by default,
    typical of parabolic antennas."""
    gain_dbi: NotRequired[float]
    """Gain in dBi. Give either this or `diameter`."""
    pointing_error: NotRequired[Angle]
    """Angle between the antenna's axis and the other end, 0 deg by default; needs the diameter."""


class BudgetLeg(TypedDict):
    """One leg of a link budget: a transmitter, free space and a receiver."""

    distance: Distance
    """Slant range, the distance between transmitter and receiver, which gives the free-space loss."""
    eirp_dbw: NotRequired[float]
    """Equivalent isotropically radiated power of the carrier in dBW, output back-off included. Give either
    this or `power_dbw` and `transmit`."""
    frequency: Frequency
    """Frequency of the carrier, for example "19.7 GHz"."""
    gt_db_k: NotRequired[float]
    """Figure of merit of the receiver (G/T) in dB/K. Give either this or `noise_k` and `receive`."""
    losses_db: NotRequired[dict[str, float]]
    """Losses in dB by name, beyond free space: atmosphere, rain, feeder, polarisation, pointing, the antenna
    pattern towards the receiver."""
    noise_k: NotRequired[float]
    """System noise temperature of the receiver in kelvin."""
    power_dbw: NotRequired[float]
    """Power of the carrier at the transmitting antenna in dBW."""
    receive: NotRequired[Antenna]
    """Antenna of the receiver, from which G/T follows with `noise_k`."""
    transmit: NotRequired[Antenna]
    """Antenna of the transmitter, from which the EIRP follows with `power_dbw`."""


class LinkBudget(TypedDict):
    """A link budget: powers, gains and losses from which the Es/N0 follows."""

    down: NotRequired[BudgetLeg]
    """The leg from the satellite. If unset, its noise is negligible."""
    implementation_db: NotRequired[float]
    """Loss of modulator and demodulator in dB against theory, 0 dB by default."""
    interference_db: NotRequired[dict[str, float]]
    """Carrier to interference ratios in dB by name, such as those of adjacent satellites, of intermodulation
    and of the other polarisation."""
    required_esn0_db: NotRequired[float]
    """Es/N0 in dB that the link needs. The margin is what the budget has beyond it; a budget below it is
    warned of. If unset, it is the threshold of the most robust MODCOD and the margin of `acm`."""
    symbol_rate: Frequency
    """Symbol rate of the carrier, such as "30 MBd"."""
    up: NotRequired[BudgetLeg]
    """The leg to the satellite. If unset, its noise is negligible."""


#: What the values of a fade are.
Quantity: TypeAlias = 'Literal["attenuation", "esn0"]'


class Fade(TypedDict):
    """A fade: attenuation or Es/N0 of receivers as a time series."""

    quantity: NotRequired[Quantity]
    """What the values are: `"attenuation"` in dB (the default) or `"esn0"`, the Es/N0 itself in dB. A column
    of the feeder link can be its Es/N0 only if `feeder_esn0_db` is given."""
    repeat: NotRequired[Span]
    """Period after which the series restarts; must be longer than the time of the last sample. If unset, the
    last sample holds until the end of the run."""
    samples: str | dict[str, object]
    """The samples: a table, comma-separated or a Parquet file, with `time` in seconds from 0, ascending, and
    one column per terminal with its node name (or the `name` of a group of terminals). The gateway's column
    is the feeder link; of a link between two nodes, the receiver's column is its own link and the sender's
    the feeder link. Values are in dB. Each sample holds until the next; before the first sample the sky is
    clear. In a series of regular steps a longer step is refused as a gap."""


#: The MODCODs that a forward link can use.
Modcods: TypeAlias = 'Literal["dvb-s2", "dvb-s2x"]'


class Acm(TypedDict):
    """Adaptive coding and modulation (ACM): the MODCOD for each receiver follows its signal, with a margin, a
    hysteresis and a delay."""

    budget: NotRequired[LinkBudget | str | dict[str, object]]
    """Link budget from which the Es/N0 in clear sky follows, for terminals that have none of their own."""
    burst: NotRequired[int]
    """Number of symbols in a burst of the return link, which must be 536 or 1616: the waveforms are then the
    linear modulation bursts of DVB-RCS2 (EN 301 545-2, annex A). Links and forward links have no bursts."""
    delay: NotRequired[Span]
    """Time from a change of the signal until the sender uses another MODCOD: measurement, report and
    propagation; 500 ms by default."""
    esn0_db: NotRequired[float]
    """Es/N0 in clear sky in dB, of terminals that have none of their own: of the whole path, or of the
    terminal's link alone if `feeder_esn0_db` is given. If unset, that of `budget`."""
    fade: NotRequired[Fade]
    """Fades of terminals and of the feeder link as time series. If unset, the sky stays clear."""
    feeder_esn0_db: NotRequired[float]
    """Es/N0 of the feeder link in clear sky in dB, whose noise then adds to that of the terminal's link. If
    unset, an attenuation of the feeder link reduces the whole path's Es/N0 by as much."""
    hysteresis_db: NotRequired[float]
    """In dB, by how much more the Es/N0 must exceed the threshold of a more efficient MODCOD before it is
    taken, or of any after an outage; 0.5 dB by default."""
    margin_db: NotRequired[float]
    """Margin in dB by which a terminal's Es/N0 must exceed a MODCOD's threshold, 1 dB by default. It is what
    the signal may lose in the time of `delay` before packets are lost."""
    modcods: NotRequired[Modcods]
    """MODCODs of links and forward links: `"dvb-s2"` (EN 302 307-1, the default) or `"dvb-s2x"` (with those
    of EN 302 307-2)."""


class Arq(TypedDict):
    """Retransmission of lost frames: go-back-n by COP-1 (CCSDS 232.1-B) in frames of Proximity-1, in both
    directions. Packets arrive whole and in order; each takes 12 bytes more, and the link carries reports."""

    timer: NotRequired[Span]
    """Time from the end of a frame without an acknowledgment to its retransmission (T1_Initial). If unset,
    the delays of both directions and the time of the longest frame so far and of a report in the other
    direction, as they are when the frame is sent."""
    window: NotRequired[int]
    """Frames that may be on their way without an acknowledgment (FOP_Sliding_Window_Width), 1 to 127; 127 by
    default."""


class Outage(TypedDict):
    """An interval in which a link fails during its contacts."""

    announced: NotRequired[bool]
    """Whether routing knows of it in advance; off by default."""
    end: Span
    """End of the interval, counted from the start of the run."""
    start: Span
    """Start of the interval, counted from the start of the run."""


class PlanContactKind(TypedDict):
    """ContactKind of the kind `plan`. Contacts by a contact plan: those between the link's nodes, in both
    directions. Rates and light times of the plan replace those of the link."""

    kind: Literal["plan"]
    plan: str | dict[str, object]
    """The contact plan: JSON, HDTN's JSON, commands of ION, comma-separated values, or TOML."""
    skip_impossible: NotRequired[bool]
    """Skips contacts of the plan that do not end after their start, as HDTN does. Off by default: a plan with
    such a contact is refused."""


class WindowsContactKind(TypedDict):
    """ContactKind of the kind `windows`. Contacts in given windows, in both directions, with the rate and the
    delay of the link."""

    kind: Literal["windows"]
    repeat: NotRequired[Span]
    """Period after which the windows repeat, not shorter than the end of the last one. If unset, they do
    not."""
    windows: list[list[Span]]
    """Start and end of each window, counted from the start of the run, in order."""


class RandomContactKind(TypedDict):
    """ContactKind of the kind `random`. Contacts at random: the link is closed first, then open and closed
    for exponentially distributed times. Both directions are open at the same times."""

    closed: Span
    """Mean length of the time between two contacts."""
    kind: Literal["random"]
    open: Span
    """Mean length of a contact, the time for which the link is open."""


#: How the contacts of a link are determined.
ContactKind: TypeAlias = (
    'PlanContactKind | WindowsContactKind | RandomContactKind | Literal["plan", "windows", "random"]'
)


class Contacts(TypedDict):
    """The intervals in which a link is open. Outside of them its packets wait."""

    outages: NotRequired[list[Outage]]
    """Intervals that are taken away from the contacts. None by default."""
    when: ContactKind
    """When the link is open: by a contact plan, in periodic windows, or for random times."""


#: What precedes a packet in its AAL5 frame, by which the receiver recognises the protocol.
Encapsulation: TypeAlias = 'Literal["llc-snap", "vc", "bridged", "lane", "ppp"]'

#: How the protocol type of a packet is sent.
Protocol: TypeAlias = 'Literal["suppressed", "compressed", "full"]'

#: What follows the last fragment of a fragmented packet.
Trailer: TypeAlias = 'Literal["sequence", "crc"]'

#: The transfer frames of a space link, by their CCSDS standard.
SpaceFrame: TypeAlias = 'Literal["tm", "aos", "uslp", "proximity-1"]'

#: The header that a packet gets.
SpacePackets: TypeAlias = 'Literal["encapsulation", "space-packet"]'


class NoneFraming(TypedDict):
    """Framing of the kind `none`. No framing: packets are transmitted as they are, and errors act on
    packets."""

    kind: Literal["none"]


class AtmFraming(TypedDict):
    """Framing of the kind `atm`. ATM with AAL5 (ITU-T I.363.5, RFC 2684): each packet, with padding and a
    trailer of 8 bytes, fills whole cells of 53 bytes, 48 of them payload."""

    encapsulation: NotRequired[Encapsulation]
    """What precedes the packet in its AAL5 frame: `"llc-snap"` (8 bytes, the default), `"vc"` (nothing),
    `"bridged"` (24 bytes, an Ethernet frame without checksum), `"lane"` (16 bytes, LAN emulation) or `"ppp"`
    (6 bytes)."""
    kind: Literal["atm"]


class MpeFraming(TypedDict):
    """Framing of the kind `mpe`. Multi-protocol encapsulation (EN 301 192, section 7): packets in datagram
    sections, sections in MPEG transport stream packets of 188 bytes."""

    kind: Literal["mpe"]
    llc_snap: NotRequired[bool]
    """Whether an LLC/SNAP header of 8 bytes identifies the protocol of each packet; off by default."""
    packing: NotRequired[bool]
    """Whether a section may start in the transport stream packet in which the previous one ends; on by
    default. Otherwise the rest of that packet is stuffed."""


class UleFraming(TypedDict):
    """Framing of the kind `ule`. Unidirectional lightweight encapsulation (RFC 4326): packets in SNDUs, SNDUs
    in MPEG transport stream packets of 188 bytes."""

    address: NotRequired[bool]
    """Whether each SNDU has a destination address of 6 bytes (D = 0); off by default."""
    kind: Literal["ule"]
    packing: NotRequired[bool]
    """Whether an SNDU may start in the transport stream packet in which the previous one ends (RFC 4326,
    section 6.2); on by default. Otherwise the rest of that packet is padded."""


class GseFraming(TypedDict):
    """Framing of the kind `gse`. Generic stream encapsulation (ETSI TS 102 606-1): packets, whole or in
    fragments, in the baseband frames of DVB-S2."""

    frame: NotRequired[int]
    """Size in bytes of a baseband frame's data field, on links. The default, 4016, is that of QPSK 1/2 with
    long frames: 32 208 bits less 80. With adaptive coding and modulation the size of the MODCOD's long frame
    applies instead, on a return link that of the burst."""
    kind: Literal["gse"]
    label: NotRequired[int]
    """Size of the label in bytes: 0 (the default), 3 or 6."""


class RleFraming(TypedDict):
    """Framing of the kind `rle`. Return link encapsulation (EN 301 545-2, TS 103 179): packets, whole or in
    fragments, in the bursts of DVB-RCS2."""

    kind: Literal["rle"]
    protocol: NotRequired[Protocol]
    """How the protocol type of each packet is sent; suppressed by default."""
    trailer: NotRequired[Trailer]
    """What follows the last fragment of a fragmented packet, for the receiver to check it; a sequence number
    by default."""


class SpaceFraming(TypedDict):
    """Framing of the kind `space`. Transfer frames of space links (TM, AOS, USLP, Proximity-1; CCSDS) behind
    a channel code. The link's rate is that of the sent bits."""

    code: NotRequired[Code]
    """The channel code; none by default. The link's `error` of kind `coded` has the same one."""
    control_field: NotRequired[bool]
    """Whether frames end with an operational control field of 4 bytes; off by default."""
    frame: NotRequired[SpaceFrame]
    """The kind of frame: `"tm"` (the default), `"aos"`, `"uslp"` or `"proximity-1"`."""
    idle_frames: NotRequired[bool]
    """Whether idle frames are sent when there is nothing to send, so that a packet waits for the end of the
    one in transmission; off by default. Links with TM, AOS and USLP frames send them."""
    kind: Literal["space"]
    length: NotRequired[int]
    """Bytes of a frame without sync marker and code, 1115 by default, which are five codewords of
    RS(255,223). With `arq`, of the longest frame."""
    packets: NotRequired[SpacePackets]
    """Header of each packet: `"encapsulation"` (the default), 4 bytes, or `"space-packet"`, 6 bytes."""


#: The framing: how packets are placed into the units that a link transmits, which determines the overhead and
#: what an error destroys.
Framing: TypeAlias = 'NoneFraming | AtmFraming | MpeFraming | UleFraming | GseFraming | RleFraming | SpaceFraming | Literal["none", "atm", "mpe", "ule", "gse", "rle", "space"]'


class NoneJitter(TypedDict):
    """Jitter of the kind `none`. No jitter: each packet takes the link's delay."""

    kind: Literal["none"]


class UniformJitter(TypedDict):
    """Jitter of the kind `uniform`. Extra delay that is uniformly distributed from 0 s to a greatest one."""

    kind: Literal["uniform"]
    most: Span
    """Largest extra delay of a packet; the smallest is 0 s."""


class NormalJitter(TypedDict):
    """Jitter of the kind `normal`. Extra delay that is normally distributed; draws below 0 s are repeated."""

    deviation: Span
    """Standard deviation of the normal distribution, before draws below 0 s are repeated."""
    kind: Literal["normal"]
    mean: Span
    """Mean of the normal distribution, before draws below 0 s are repeated."""


class ExponentialJitter(TypedDict):
    """Jitter of the kind `exponential`. Extra delay that is exponentially distributed."""

    kind: Literal["exponential"]
    mean: Span
    """Mean of the extra delay of a packet."""


class QuantilesJitter(TypedDict):
    """Jitter of the kind `quantiles`. Extra delay by the quantiles of a measured distribution."""

    kind: Literal["quantiles"]
    values: list[Span]
    """Quantiles in equal steps of probability, ascending: the first is the least extra delay, the last the
    greatest. Between two of them the distribution is uniform."""


class LateJitter(TypedDict):
    """Jitter of the kind `late`. An extra delay that a packet has with some probability. With `reorder`,
    others overtake it."""

    extra: Span
    """Extra delay of a packet that is late."""
    kind: Literal["late"]
    probability: float
    """Probability that a packet is late, independently of all others."""


class LevelsJitter(TypedDict):
    """Jitter of the kind `levels`. Extra delay that is the same for all packets during a period of fixed
    length, with another draw for each period."""

    every: NotRequired[Span]
    """Time for which a level lasts, 15 s by default, as measured on Starlink."""
    kind: Literal["levels"]
    of: Jitter
    """The distribution from which each level of extra delay is drawn."""
    offset: NotRequired[Span]
    """Time of the first change, 0 s by default."""


class SeriesJitter(TypedDict):
    """Jitter of the kind `series`. Extra delay by a time series."""

    kind: Literal["series"]
    repeat: NotRequired[Span]
    """Period after which the series restarts; must be longer than the time of the last sample. If unset, the
    last sample holds until the end of the run."""
    samples: str | dict[str, object]
    """The samples: a table, comma-separated or a Parquet file, with `time` and `extra`, both in seconds from
    0. Each sample holds until the next; there is no extra delay before the first. In a series of regular
    steps a longer step is refused as a gap."""


class SumJitter(TypedDict):
    """Jitter of the kind `sum`. The sum of several extra delays."""

    kind: Literal["sum"]
    parts: list[Jitter]
    """The jitters whose extra delays add up."""


#: The jitter of a link: delay of each packet beyond the link's propagation delay.
Jitter: TypeAlias = 'NoneJitter | UniformJitter | NormalJitter | ExponentialJitter | QuantilesJitter | LateJitter | LevelsJitter | SeriesJitter | SumJitter | Literal["none", "uniform", "normal", "exponential", "quantiles", "late", "levels", "series", "sum"]'

#: The packets that the average queue of a drop precedence counts.
Counted: TypeAlias = 'Literal["all", "coupled", "own"]'


class Thresholds(TypedDict):
    """Thresholds and drop probability for the packets of one drop precedence."""

    max: int
    """Average queue in packets from which all packets are dropped (max_th). Must be greater than `min`."""
    min: int
    """Average queue in packets from which packets are dropped or marked (min_th)."""
    probability: NotRequired[float]
    """Drop probability just below `max` (max_p), 0.1 by default."""


#: How drops are drawn from the probability p_b that belongs to an average (Floyd and Jacobson 1993, section
#: 7).
Spacing: TypeAlias = 'Literal["uniform", "geometric"]'


class ScheduledClass(TypedDict):
    """A class of a scheduling queue: it has a name, selects packets by DSCP and keeps them in a queue of its
    own."""

    dscp: NotRequired[list[Dscp]]
    """Code points (DSCP) of its packets. The last class also takes all code points that no class lists."""
    name: str
    """Name of the class, by which messages refer to it."""
    queue: NotRequired[Queue]
    """Queue discipline of the class, which may have classes of its own."""
    weight: NotRequired[int]
    """Weight of the class relative to the other classes' weights, 1 if unset. Not allowed in a `priority`
    queue, where the order of the classes decides."""


class DropTailQueue(TypedDict):
    """Queue of the kind `drop-tail`. A drop-tail queue, limited in packets, in bytes or in both."""

    bytes: NotRequired[Size]
    """The most bytes that wait, at least 1500 B. If unset, only `packets` limits the queue."""
    kind: Literal["drop-tail"]
    packets: NotRequired[int]
    """The most packets that wait. If neither this nor `bytes` is given, 1000 packets as in a Linux device."""


class DropFrontQueue(TypedDict):
    """Queue of the kind `drop-front`. A queue that drops from its front when it is full, limited in packets,
    in bytes or in both."""

    bytes: NotRequired[Size]
    """The most bytes that wait, at least 1500 B. If unset, only `packets` limits the queue."""
    kind: Literal["drop-front"]
    packets: NotRequired[int]
    """The most packets that wait. If neither this nor `bytes` is given, 1000 packets as in a Linux device."""


class RedQueue(TypedDict):
    """Queue of the kind `red`. Random early detection (Floyd and Jacobson 1993): drops or marks packets with
    a probability that grows with the average queue, before the queue is full."""

    ecn: NotRequired[bool]
    """Whether packets of ECN-capable transports are marked instead of dropped (RFC 3168); on by default."""
    kind: Literal["red"]
    max: NotRequired[int]
    """Average queue in packets at which the linear slope of the drop probability ends (max_th), 15 by
    default. Must be greater than `min`."""
    min: NotRequired[int]
    """Average queue in packets from which packets are dropped or marked (min_th), 5 by default."""
    packets: NotRequired[int]
    """Maximum number of waiting packets, 100 by default. Packets that arrive at a full queue are dropped."""
    probability: NotRequired[float]
    """Drop probability just below `max` (max_p), 0.1 by default."""
    typical: NotRequired[Size]
    """Size of a typical packet, 500 B by default; 1 B to 65535 B. During idle time the average decays as if
    such packets were being sent."""
    weight: NotRequired[float]
    """Weight of an arrival in the moving average of the queue (w_q), 0.002 by default."""


class RedBytesQueue(TypedDict):
    """Queue of the kind `red-bytes`. Random early detection (Floyd and Jacobson 1993) with limits in bytes
    and the parameters of Linux' `tc-red`: drops or marks packets with a probability that grows with the
    average queue."""

    bandwidth: NotRequired[Rate]
    """Rate at which the average decays during idle time. If unset, that of the link."""
    burst: NotRequired[int]
    """Number of packets that may arrive at once at an empty queue without raising the average above `min`; at
    least `min` / `typical`. If unset, (2 `min` + `max`) / (3 `typical`), as `tc-red` recommends."""
    ecn: NotRequired[bool]
    """Whether packets of ECN-capable transports are marked instead of dropped (RFC 3168); off by default, as
    in `tc-red`."""
    kind: Literal["red-bytes"]
    limit: NotRequired[Size]
    """The most bytes that wait, 75 kB by default. Packets that would exceed it are dropped."""
    max: NotRequired[Size]
    """Average queue at which the linear slope of the drop probability ends (max_th), above which all packets
    are dropped. If unset, a quarter of `limit`, as in `tc-red`. Must be greater than `min`."""
    min: NotRequired[Size]
    """Average queue from which packets are dropped or marked (min_th). If unset, a third of `max`, as in
    `tc-red`."""
    probability: NotRequired[float]
    """Drop probability just below `max` (max_p), 0.02 by default, as in `tc-red`."""
    typical: NotRequired[Size]
    """Average size of a packet (`avpkt` of `tc-red`), 1500 B by default; 1 B to 65535 B. With `burst` it
    determines the weight of an arrival; during idle time the average decays as if such packets were being
    sent."""


class GentleRedQueue(TypedDict):
    """Queue of the kind `gentle-red`. RED whose drop probability rises linearly from max_p at `max` to 1 at
    twice `max`, instead of jumping to 1 (Floyd 2000)."""

    ecn: NotRequired[bool]
    """Whether packets of ECN-capable transports are marked instead of dropped (RFC 3168); on by default."""
    kind: Literal["gentle-red"]
    max: NotRequired[int]
    """Average queue in packets at which the linear slope of the drop probability ends (max_th), 15 by
    default. Must be greater than `min`."""
    min: NotRequired[int]
    """Average queue in packets from which packets are dropped or marked (min_th), 5 by default."""
    packets: NotRequired[int]
    """Maximum number of waiting packets, 100 by default. Packets that arrive at a full queue are dropped."""
    probability: NotRequired[float]
    """Drop probability just below `max` (max_p), 0.1 by default."""
    typical: NotRequired[Size]
    """Size of a typical packet, 500 B by default; 1 B to 65535 B. During idle time the average decays as if
    such packets were being sent."""
    weight: NotRequired[float]
    """Weight of an arrival in the moving average of the queue (w_q), 0.002 by default."""


class AredQueue(TypedDict):
    """Queue of the kind `ared`. Adaptive RED (Floyd, Gummadi and Shenker 2001): derives its thresholds and
    its weight from the link's rate and a target delay, and adapts the drop probability so that the average
    queue stays midway between the thresholds."""

    ecn: NotRequired[bool]
    """Whether packets of ECN-capable transports are marked instead of dropped (RFC 3168); on by default."""
    kind: Literal["ared"]
    packets: NotRequired[int]
    """Maximum number of waiting packets, 1000 by default. Packets that arrive at a full queue are dropped."""
    target: NotRequired[Span]
    """Average queueing delay to aim for, 5 ms by default as in section 5 of the paper. Must be longer than 0
    s."""
    typical: NotRequired[Size]
    """Packet size by which the link's rate and `target` are converted into packets, 500 B by default; 1 B to
    65535 B."""


class WredQueue(TypedDict):
    """Queue of the kind `wred`. Weighted RED (Clark and Fang 1998): RED with thresholds for each of the three
    drop precedences of assured forwarding (RFC 2597, section 2)."""

    average: NotRequired[Counted]
    """The packets that each average queue counts: all by default (WRED)."""
    ecn: NotRequired[bool]
    """Whether packets of ECN-capable transports are marked instead of dropped (RFC 3168); on by default."""
    gentle: NotRequired[bool]
    """Whether the drop probability keeps rising beyond `max`, to 1 at twice `max`, instead of jumping to 1;
    off by default."""
    green: NotRequired[Thresholds]
    """Thresholds for green packets: low drop precedence (AFx1) and all code points other than assured
    forwarding."""
    kind: Literal["wred"]
    packets: NotRequired[int]
    """Maximum number of waiting packets, 100 by default. Packets that arrive at a full queue are dropped."""
    red: NotRequired[Thresholds]
    """Thresholds for red packets: high drop precedence (AFx3)."""
    spacing: NotRequired[Spacing]
    """How drops are drawn from the probability: uniform by default (RED)."""
    typical: NotRequired[Size]
    """Size of a typical packet, 500 B by default; 1 B to 65535 B. During idle time the averages decay as if
    such packets were being sent."""
    weight: NotRequired[float]
    """Weight of an arrival in a moving average (w_q), 0.002 by default."""
    yellow: NotRequired[Thresholds]
    """Thresholds for yellow packets: medium drop precedence (AFx2)."""


class CodelQueue(TypedDict):
    """Queue of the kind `codel`. CoDel (RFC 8289): drops packets at departure while the queueing delay has
    stayed above a target for a whole interval."""

    ecn: NotRequired[bool]
    """Whether packets of ECN-capable transports are marked instead of dropped (RFC 3168); on by default."""
    interval: NotRequired[Span]
    """Time for which the delay must stay above the target before packets are dropped (INTERVAL in RFC 8289),
    100 ms by default. It should be a worst-case round-trip time, such as 600 ms over a geostationary
    satellite."""
    kind: Literal["codel"]
    largest: NotRequired[Size]
    """Size of the largest packet, 1500 B by default. Nothing is dropped while no more than this is
    waiting."""
    packets: NotRequired[int]
    """Maximum number of waiting packets, 1000 by default. Packets that arrive at a full queue are dropped."""
    target: NotRequired[Span]
    """Target minimum standing queue delay (TARGET in RFC 8289), 5 ms by default as the RFC recommends. Must
    be longer than 0 s and shorter than `interval`."""


class FqCodelQueue(TypedDict):
    """Queue of the kind `fq-codel`. FQ-CoDel (RFC 8290): hashes flows to lines, each controlled by a CoDel of
    its own, and serves the lines by deficit round robin with precedence for new ones."""

    ecn: NotRequired[bool]
    """Whether packets of ECN-capable transports are marked instead of dropped (RFC 3168); on by default."""
    flows: NotRequired[int]
    """Number of lines to which flows are hashed, 1024 by default as in RFC 8290."""
    interval: NotRequired[Span]
    """Time for which a line's delay must stay above the target before its packets are dropped (INTERVAL in
    RFC 8289), 100 ms by default."""
    kind: Literal["fq-codel"]
    packets: NotRequired[int]
    """Maximum number of waiting packets in all lines together, 10240 by default as in RFC 8290. Beyond it, up
    to 64 packets are dropped from the head of the longest line."""
    quantum: NotRequired[Size]
    """Bytes that a line may send per turn, 1514 B by default as in RFC 8290; 64 B to 1 MB."""
    target: NotRequired[Span]
    """Target minimum standing queue delay of each line's CoDel (TARGET in RFC 8289), 5 ms by default."""


class PieQueue(TypedDict):
    """Queue of the kind `pie`. PIE (RFC 8033): drops packets at arrival with a probability that a controller
    adjusts to hold the queueing delay at a target."""

    burst: NotRequired[Span]
    """Time for which nothing is dropped when a delay builds up after an idle period (MAX_BURST in RFC 8033),
    150 ms by default."""
    ecn: NotRequired[bool]
    """Whether packets of ECN-capable transports are marked instead of dropped while the drop probability is
    at most 10 % (section 5.1); on by default."""
    kind: Literal["pie"]
    packets: NotRequired[int]
    """Maximum number of waiting packets, 1000 by default. Packets that arrive at a full queue are dropped."""
    target: NotRequired[Span]
    """Queueing delay that the controller aims for (QDELAY_REF in RFC 8033), 15 ms by default. Must be longer
    than 0 s."""
    update: NotRequired[Span]
    """Period after which the drop probability is recomputed (T_UPDATE in RFC 8033), 15 ms by default. Must be
    longer than 0 s."""


class PriorityQueue(TypedDict):
    """Queue of the kind `priority`. Strict priority: whenever the link is free, it serves the first class in
    the list that has a packet to send."""

    classes: list[ScheduledClass]
    """The classes, highest priority first; 1 to 64."""
    kind: Literal["priority"]


class WrrQueue(TypedDict):
    """Queue of the kind `wrr`. Weighted round robin: classes take turns, and each sends as many packets per
    turn as its weight. Shares are of packets, so classes with larger packets get more bytes."""

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
    """Bytes that a class of weight 1 may send per turn, 1500 B by default; 64 B to 1 MB."""


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
    """Size of the token bucket, which may leave at once after a pause; 3000 B by default, at least 1500 B."""
    kind: Literal["shaper"]
    queue: NotRequired[Queue]
    """Queue discipline for the packets that wait for tokens."""
    rate: Rate
    """Rate at which the bucket is refilled, and thus the long-term rate of the queue."""


class DiffservQueue(TypedDict):
    """Queue of the kind `diffserv`. The common DiffServ per-hop behaviours in one queue: expedited forwarding
    (RFC 3246), four assured forwarding classes (RFC 2597), control traffic (CS6, CS7) and best effort."""

    ef: NotRequired[float]
    """Maximum share of the link's rate for expedited forwarding, 0.3 by default. Must be greater than 0."""
    kind: Literal["diffserv"]
    packets: NotRequired[int]
    """Maximum number of waiting packets in each assured forwarding class and in best effort, 100 by
    default."""


class UnlimitedQueue(TypedDict):
    """Queue of the kind `unlimited`. A first-in, first-out queue that admits every packet."""

    kind: Literal["unlimited"]


#: The queue discipline: which packets are admitted, which leaves next, and which are dropped or marked.
Queue: TypeAlias = 'DropTailQueue | DropFrontQueue | RedQueue | RedBytesQueue | GentleRedQueue | AredQueue | WredQueue | CodelQueue | FqCodelQueue | PieQueue | PriorityQueue | WrrQueue | DrrQueue | WfqQueue | ShaperQueue | DiffservQueue | UnlimitedQueue | Literal["drop-tail", "drop-front", "red", "red-bytes", "gentle-red", "ared", "wred", "codel", "fq-codel", "pie", "priority", "wrr", "drr", "wfq", "shaper", "diffserv", "unlimited"]'

#: a rate, or a symbol rate with ACM, 1 bit/s to 100 Tbit/s
ChannelRate: TypeAlias = "str"


class Trace(TypedDict):
    """Rate, delay and loss of a link as a time series, which replaces the link's own values from the first
    sample on."""

    repeat: NotRequired[Span]
    """Period after which the series restarts; must be longer than the time of the last sample. If unset, the
    last sample holds until the end of the run."""
    samples: str | dict[str, object]
    """The samples: a table, comma-separated or a Parquet file, with `time` in seconds from 0 and at least one
    of `rate` in bit/s, `delay` in seconds one way, and `loss` as a probability from 0 to 1. Each sample holds
    until the next."""


class LinkReturn(TypedDict):
    """One direction of a link, with a rate and a delay of its own."""

    acm: NotRequired[Acm]
    """Adaptive coding and modulation: packets are sent with the MODCOD that the signal allows. `rate` is then
    the symbol rate, that is the rate at one bit per symbol. In an outage packets wait in the queue. If unset,
    all packets are sent at `rate`."""
    delay: Span
    """Propagation delay in this direction, one way."""
    error: NotRequired[Error]
    """Errors on the link, which hit packets, or the units of the framing; none by default."""
    framing: NotRequired[Framing]
    """How packets are placed into the link's transmission units; none by default. With a framing, `rate` is
    that of its units."""
    holds: NotRequired[int]
    """Packets that the link holds at most, those on their way included, as an emulator that keeps packets in
    memory for the delay (`limit` of netem): a packet that finds so many is dropped. Unlimited by default."""
    jitter: NotRequired[Jitter]
    """Delay of each packet beyond `delay`, by a distribution or a series; none by default."""
    queue: NotRequired[Queue]
    """Queue discipline in front of the link."""
    quick_start: NotRequired[float]
    """Fraction of the rate that may be granted to Quick-Start requests (RFC 4782). If unset, the link does
    not support Quick-Start."""
    rate: ChannelRate
    """Rate at the network layer, or of the framing's units if there is a framing."""
    reorder: NotRequired[bool]
    """Whether a packet with less extra delay overtakes. By default the order is kept: a packet waits for
    those before it."""
    trace: NotRequired[Trace]
    """A time series that sets rate, delay and loss during the run. If unset, they are constant."""


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
    """How one link takes over from another."""

    interruption: NotRequired[Span]
    """Time for which there is no link to send over (break before make); 0 s by default."""
    overlap: NotRequired[Span]
    """Time for which the old link continues to send what waits in it (make before break); 0 s by default."""
    packets: NotRequired[Fate]
    """What happens to packets that wait for a link that is cut, that are in flight on it, or that arrive
    while there is no link; forwarded by default."""


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


#: The policy of a multilink: when it hands over, and to which link.
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
    """How packets are placed into the link's transmission units; none by default. With a framing, `rate` is
    that of its units."""
    queue: NotRequired[Queue]
    """Queue discipline in front of the forward link."""
    rate: ChannelRate
    """Rate at the network layer, or of the framing's units if there is a framing. It also carries the burst
    time plans."""


class Site(TypedDict):
    """A place on the ground, in geodetic coordinates on the WGS84 ellipsoid."""

    altitude: NotRequired[Distance]
    """Height above the ellipsoid, 0 m by default; -12 km to 100 km."""
    latitude: Angle
    """Geodetic latitude, north positive; -90 deg to 90 deg."""
    longitude: Angle
    """Longitude of the site, positive to the east and negative to the west."""


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
    """Altitude above the equatorial radius of 6378.137 km; 160 km to 400000 km."""
    inclination: Angle
    """Inclination of all planes to the equator."""
    kind: Literal["walker-delta"]
    phasing: NotRequired[int]
    """Phasing F: how far each plane is ahead of the previous one, in units of 360 deg divided by the number
    of all satellites; 0 by default, less than `planes`."""
    planes: int
    """Number P of orbital planes, whose ascending nodes are `raan_spread` / P apart."""
    raan_spread: NotRequired[Angle]
    """Angle over which the ascending nodes are spread, 360 deg by default."""
    satellites: int
    """Number of satellites in each plane, evenly spaced; the Walker notation T/P/F has the total T, this
    number times P."""


class WalkerStarShell(TypedDict):
    """Shell of the kind `walker-star`. A Walker star pattern: near-polar circular orbits whose ascending
    nodes are spread over half of the equator, with a seam."""

    altitude: Distance
    """Altitude above the equatorial radius of 6378.137 km; 160 km to 400000 km."""
    inclination: Angle
    """Inclination of all planes to the equator."""
    kind: Literal["walker-star"]
    phasing: NotRequired[float]
    """Phasing F: how far each plane is ahead of the previous one, in units of 360 deg divided by the number
    of all satellites; 0 by default, less than `planes`. Half the number of planes puts its satellites midway
    between those of the previous plane."""
    planes: int
    """Number P of orbital planes, whose ascending nodes are `raan_spread` / P apart."""
    raan_spread: NotRequired[Angle]
    """Number of planes times the angle between the ascending nodes of adjacent planes, 180 deg by default."""
    satellites: int
    """Number of satellites in each plane, evenly spaced; the Walker notation T/P/F has the total T, this
    number times P."""


class GeoShell(TypedDict):
    """Shell of the kind `geo`. Geostationary satellites at given longitudes."""

    kind: Literal["geo"]
    longitudes: list[Angle]
    """Longitudes of the satellites, east positive; at least one, each once."""


class ElementsShell(TypedDict):
    """Shell of the kind `elements`. Real satellites, described by their element sets (TLE or OMM) and
    propagated by SGP4."""

    elements: str | dict[str, object]
    """The element sets, or the file that holds them, as a path relative to the folder of the scenario."""
    kind: Literal["elements"]


#: A set of satellites that belong together, such as one shell of a constellation.
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


#: How slots for the data of a class are requested.
Asks: TypeAlias = 'Literal["nothing", "rate", "volume"]'


class Class(TypedDict):
    """A traffic class of the terminals."""

    asks: NotRequired[Asks]
    """How slots for its data are requested: by volume (the default), by rate, or not at all."""
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

#: When terminals make requests and the control centre makes plans.
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
    """How the terminal estimates the rate that it needs; from its queue by default."""
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
    """Whether terminals also get spare slots (FCA); off by default."""
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
    """How the requested slots are divided if there are not enough; in proportion to the requests by
    default."""
    cra: NotRequired[RateOrZero]
    """Constant rate of each terminal (CRA), which must be a whole number of slots. If unset, it is one slot;
    with the scheme `cra`, where there is nothing else, it is an equal share of the slots not taken by
    terminals with a rate of their own."""
    plan_error: NotRequired[Error]
    """Errors that hit burst time plans in addition to those of the forward link; none by default. Each
    terminal has errors of its own."""
    planning: NotRequired[Planning]
    """When terminals make requests and the control centre makes plans; at superframe boundaries by
    default."""
    processing: NotRequired[Span]
    """Time from the arrival of a request until the allocator can use it; 0 s by default."""
    request_error: NotRequired[Error]
    """Errors that hit requests in addition to those of the return link; none by default."""
    requests: NotRequired[Requests]
    """How requests reach the control centre; in dedicated request slots by default."""
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
    """How packets are placed into slots; none by default. A slot must hold whole cells or MPEG packets."""
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

#: Whether a carrier belongs to one terminal or is shared by several.
SkyplexAccess: TypeAlias = 'Literal["tdma", "scpc"]'

#: How terminals get the slots of a super-frame.
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
    """Which satellites serve a site; those at the highest elevation by default."""
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
    """What happens when another satellite, or none, takes over a site."""

    interruption: NotRequired[Span]
    """Time for which nothing is sent between the site and the new satellite; 0 s by default."""
    overlap: NotRequired[Span]
    """Time for which the old satellite continues to send what waits there for the site (make before break); 0
    s by default."""
    packets: NotRequired[Fate]
    """What happens to packets on their way over the old satellite; forwarded by default. Packets that wait at
    the site itself are always moved to the new satellite."""


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
    """Whether planes on both sides of a seam are linked too; off by default."""
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
    """How the paths of packets through the constellation are computed."""

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
    """What happens to packets on an inter-satellite link that goes down; forwarded by default."""


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
    """Time-division access: the cells of a frame's length are sent in one burst per frame."""

    carrier: Rate
    """Rate within a burst, at least the leg's `rate`, in bit/s of cells."""
    frame: Span
    """Length of a frame, such as 20 ms. Frames begin at multiples of it."""


class AtmLeg(TypedDict):
    """A leg of the connection: the buffer and the line from one adapter or switch to the next."""

    buffer: NotRequired[int]
    """Number of cells that the buffer in front of the line holds, 4096 by default."""
    delay: NotRequired[Span]
    """Propagation delay, one way; 0 s by default."""
    early: NotRequired[int]
    """Number of waiting cells from which frames are dropped as a whole (early packet discard). If unset, they
    are not."""
    error: NotRequired[Error]
    """Errors on the line, which hit cells; none by default. Bit errors spoil a cell's payload or header,
    others lose the cell."""
    low_priority: NotRequired[int]
    """Number of waiting cells from which cells of low priority (CLP = 1) are dropped. If unset, the same as
    `buffer`."""
    partial: NotRequired[bool]
    """Whether the rest of a frame is dropped once one of its cells has been (partial packet discard), except
    its last cell; off by default."""
    rate: Rate
    """Rate at which cells of 53 bytes are sent: that of the line less the overhead of its physical layer. An
    OC-3 of 155.52 Mbit/s carries 149.76 Mbit/s of cells."""
    tdma: NotRequired[AtmTdma]
    """Time-division access to the line. If unset, cells are sent at any time."""


#: Service category of an ATM connection, by which its cells are policed. The cells of all categories wait in
#: one buffer, in order of arrival: none has a guarantee beside connections that fill it.
AtmCategory: TypeAlias = 'Literal["ubr", "cbr", "vbr"]'

#: What a policer does to a cell that exceeds the contract.
AtmExcess: TypeAlias = 'Literal["discard", "tag"]'


class AtmContract(TypedDict):
    """The traffic contract of the connection in each direction: its service category, its cell rates, and
    what happens to cells that exceed them."""

    burst: NotRequired[int]
    """Maximum burst size (MBS): number of cells that may arrive at the peak rate, 2 or more."""
    category: NotRequired[AtmCategory]
    """Service category: `"ubr"` (unspecified bit rate, the default), `"cbr"` (constant bit rate, needs
    `peak`) or `"vbr"` (variable bit rate, needs `peak`, `sustainable` and `burst`)."""
    excess: NotRequired[AtmExcess]
    """What happens to a cell that exceeds the contract: `"discard"` (the default) or `"tag"`, which gives it
    low priority. A cell of `vbr` above the peak rate is always discarded."""
    peak: NotRequired[Rate]
    """Peak cell rate (PCR), in bit/s of whole cells of 53 bytes. Optional with `ubr`."""
    shaping: NotRequired[bool]
    """Whether the sender's adapter spaces its cells so that all of them conform; off by default."""
    sustainable: NotRequired[Rate]
    """Sustainable cell rate (SCR), in bit/s of whole cells, below `peak`."""
    tolerance: NotRequired[Span]
    """Cell delay variation tolerance (CDVT), by which a cell may be early; 0 s by default."""


class AtmConnection(TypedDict):
    """A further connection over the legs of an ATM network."""

    contract: NotRequired[AtmContract]
    """The traffic contract, which holds for each direction; by default UBR without a peak rate."""
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
    """The rate, one of those of the network's standard, such as `"5.5 Mbit/s"`. If unset, that of `mcs`."""


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
    """RateAdaptation of the kind `minstrel`. Minstrel: rates are chosen by the throughput that was observed,
    and one frame in ten tries another rate."""

    ewma: NotRequired[float]
    """Weight of what was known before in the average of a rate's probability; 0.75 by default (Linux)."""
    interval: NotRequired[Span]
    """Length of the periods after which rates are judged; 100 ms by default (Linux)."""
    kind: Literal["minstrel"]
    look_around: NotRequired[float]
    """Fraction of the frames that try another rate; 0.1 by default (Linux)."""


class MinstrelHtRateAdaptation(TypedDict):
    """RateAdaptation of the kind `minstrel-ht`. Minstrel-HT: Linux' present rate control, which chooses rates
    by the throughput that was observed and tests few others."""

    interval: NotRequired[Span]
    """Length of the periods after which rates are judged; 50 ms by default (Linux)."""
    kind: Literal["minstrel-ht"]
    sampling: NotRequired[Span]
    """Time between two frames that test another rate; 20 ms by default (Linux)."""


#: The rate adaptation: at which rate a sender transmits its next frame to a receiver.
RateAdaptation: TypeAlias = 'FixedRateAdaptation | ArfRateAdaptation | AarfRateAdaptation | LdArfRateAdaptation | OnoeRateAdaptation | CaraRateAdaptation | MinstrelRateAdaptation | MinstrelHtRateAdaptation | Literal["fixed", "arf", "aarf", "ld-arf", "onoe", "cara", "minstrel", "minstrel-ht"]'

#: The frequency band in which a network transmits.
WifiBand: TypeAlias = 'Literal["5 GHz", "2.4 GHz"]'

#: A length of preambles or guard intervals.
WifiLength: TypeAlias = 'Literal["long", "short"]'

#: The implementation of Wi-Fi that the stations run.
WifiStack: TypeAlias = 'Literal["model", "linux"]'

#: An amendment of IEEE 802.11, which decides on the rates and on the timing.
WifiStandard: TypeAlias = 'Literal["802.11b", "802.11a", "802.11g", "802.11n"]'


class WifiStationGroup(TypedDict):
    """One or more stations with values of their own."""

    adaptation: NotRequired[RateAdaptation]
    """How these stations choose rates. If unset, as the network says."""
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

#: What a node without room drops.
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

#: The rule by which a node chooses to whom it gives a bundle.
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
    """What happens when another satellite takes over a site."""
    isl: NotRequired[Isl]
    """Links between satellites. There are none by default, so that packets go from site to satellite to
    site."""
    kind: Literal["constellation"]
    routing: NotRequired[Routing]
    """How paths are chosen and how often; by default those of the shortest delay, computed every second."""
    shell: list[Shell]
    """The satellites, as one or more shells: sets of circular orbits or element sets."""
    sites: dict[str, GroundSite]
    """Sites on the ground, by the names of their nodes; at least two."""


class AtmNetworkKind(TypedDict):
    """NetworkKind of the kind `atm`. An ATM connection between two nodes, over one or several legs between
    adapters and switches, with a LAN at both ends if wanted; `others` are further connections that share the
    legs."""

    access: NotRequired[AtmLeg]
    """The line between each node and its switch, before the first leg and behind the last. Each connection
    has such lines of its own. If unset, the adapters stand at the ends of the legs; `others` need it."""
    contract: NotRequired[AtmContract]
    """The traffic contract of the connection between `ends`, which holds for each direction; by default UBR
    without a peak rate. A contract that changes during a run starts with its next cell, whatever the policer
    had counted."""
    encapsulation: NotRequired[Encapsulation]
    """What precedes a packet in its AAL5 frame: `"llc-snap"` (8 bytes, the default), `"vc"` (nothing),
    `"bridged"` (24 bytes), `"lane"` (16 bytes, LAN emulation) or `"ppp"` (6 bytes)."""
    ends: list[str]
    """The two nodes that the connection joins."""
    kind: Literal["atm"]
    lan: NotRequired[Rate]
    """Rate of the Ethernet segments between the nodes and their adapters. If unset, there are none: the nodes
    have adapters of their own."""
    legs: list[AtmLeg]
    """The legs from the first node to the second, in reverse order on the return path. At least one. A change
    during a run sets the keys of a leg by its position from 0, such as `legs.1.delay`; it holds for cells
    that reach the first leg afterwards, and no cell overtakes earlier ones."""
    others: NotRequired[list[AtmConnection]]
    """Further connections between nodes, with contracts of their own, which share the legs with the first. Of
    these keys `contract` can change during a run, such as `others.0.contract.peak`."""


class WifiNetworkKind(TypedDict):
    """NetworkKind of the kind `wifi`. A Wi-Fi network (IEEE 802.11b, a, g or n): stations that share a radio
    channel, with an access point or ad hoc."""

    access_point: NotRequired[str]
    """Node name of the access point, through which all packets pass. If unset, the network is ad hoc: each
    station sends to any other."""
    adaptation: NotRequired[RateAdaptation]
    """How senders choose the rates of data frames; `"minstrel"` by default."""
    aggregate: NotRequired[Size]
    """Size of the longest aggregate (A-MPDU) of 802.11n, 65535 B by default; 0 B sends each frame on its
    own."""
    aggregate_frames: NotRequired[int]
    """Number of frames in an aggregate at most, 64 by default, which is the size of the block
    acknowledgment's window."""
    band: NotRequired[WifiBand]
    """The band of 802.11n: `"5 GHz"` (the default) or `"2.4 GHz"`, where SIFS is 10 us and frames end with an
    extension of 6 us."""
    control_errors: NotRequired[bool]
    """Whether errors also hit acknowledgments, RTS and CTS; false by default, since a process that describes
    data frames says nothing of frames that are shorter and slower. Set it with processes that depend on size
    and rate, such as bit errors."""
    delay: NotRequired[Span]
    """Propagation delay between any two stations, 0 s by default: a distance of 300 m is 1 us."""
    edca: NotRequired[bool]
    """Whether stations use EDCA: four categories by DSCP (RFC 8325) - voice, video, best effort, background -
    with their own queues and contention parameters. By default true with 802.11n, which requires it, and
    false otherwise: DCF with one queue."""
    eifs: NotRequired[bool]
    """Whether stations wait for EIFS instead of DIFS after a frame that they could not read; true by default,
    as in the standard."""
    error: NotRequired[Error]
    """Errors of frames on the air, in each direction between two stations separately; none by default. Frames
    that are corrupted are retransmitted."""
    guard: NotRequired[WifiLength]
    """Length of the guard interval of 802.11n: `"long"` (800 ns, the default) or `"short"` (400 ns)."""
    hears: NotRequired[dict[str, list[str]]]
    """Which stations each station hears, by node name; a station that is not listed hears all. Stations that
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
    """Whether 802.11b stations are near a network of 802.11g, so that slots are long (20 us) and every data
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
    """How bundles pass a contact: `"udp"`, a datagram per bundle that is lost or not, or `"ltp"` (RFC 5326),
    which retransmits until the neighbour has it. UDP by default."""
    copies: NotRequired[int]
    """Copies of a bundle under spray-and-wait, 8 by default."""
    discard: NotRequired[BundleDiscard]
    """What a node without room drops: `"newest"`, the bundle that comes, by default; `"oldest"`, the bundles
    that came first; `"lowest-priority"`, bundles of a lower priority than the one that comes, if any."""
    error: NotRequired[Error]
    """Errors that spoil datagrams on every contact; none by default."""
    kind: Literal["bundles"]
    lifetime: NotRequired[Span]
    """Time for which a bundle is worth anything; then it is dropped. One day by default."""
    margin: NotRequired[Span]
    """Time that an answer of LTP may take beyond light times and closed contacts, for transmission, queues
    and processing. 1 s by default."""
    outages: NotRequired[list[ContactOutage]]
    """Contacts or parts of them that do not take place."""
    plan: str | dict[str, object]
    """The contact plan, whose nodes are nodes of the scenario: JSON, HDTN's JSON, commands of ION,
    comma-separated values, or TOML."""
    routing: NotRequired[BundleRouting]
    """Where bundles go next. By the contact plan (`"contact-graph"`, CCSDS 734.3) by default; `"epidemic"`,
    `"spray-and-wait"` and `"prophet"` (RFC 6693) copy bundles at meetings and use no plan."""
    segment: NotRequired[Size]
    """Largest LTP segment in bytes, headers of LTP included, 1400 B by default."""
    skip_impossible: NotRequired[bool]
    """Skips contacts of the plan that do not end after their start, as HDTN does. Off by default: a plan with
    such a contact is refused."""
    storage: NotRequired[Size]
    """Bytes of bundles that a node stores at most. Unlimited by default."""


#: An access network, which joins several nodes.
NetworkKind: TypeAlias = 'DvbRcsNetworkKind | SkyplexNetworkKind | ConstellationNetworkKind | AtmNetworkKind | WifiNetworkKind | BundlesNetworkKind | Literal["dvb-rcs", "skyplex", "constellation", "atm", "wifi", "bundles"]'

#: When the handshake with a connection's source is completed.
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
    """When the handshake with the source is completed: after the destination has accepted (`"late"`, the
    default) or at once (`"early"`)."""
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
    """Switch of the proxy, true by default. With false the scenario runs as without this proxy, so a campaign
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
    """What a run records besides its summary."""

    capture: NotRequired[list[str]]
    """Names of the nodes at which packets are captured into `packets.pcapng`; none by default."""
    capture_bytes: NotRequired[int]
    """Number of bytes that are kept of each captured packet, 128 by default."""
    details: NotRequired[bool]
    """Whether destinations also measure delay variation and reordering, and report delays by class, in the
    tables `flow_details` and `class`; off by default."""
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
                "selection",
                "wifi",
            ]
        ]
    ]
    """Names of the traces to write; all by default, none if the list is empty."""


class BridgeRole(TypedDict):
    """Role of the kind `bridge`. A conference bridge: answers the calls of its flows, mixes their speech, and
    sends one stream back to each party."""

    kind: Literal["bridge"]


class RelayRole(TypedDict):
    """Role of the kind `relay`. A conference relay: sends every datagram that comes in on one of its flows to
    the sources of all its other flows."""

    kind: Literal["relay"]


#: What a service does with the packets of its flows.
Role: TypeAlias = 'BridgeRole | RelayRole | Literal["bridge", "relay"]'


class Service(TypedDict):
    """A service that runs at a node."""

    flows: NotRequired[list[str]]
    """Names of the flows that the service serves. If unset, it serves every flow that it can: the role says
    which. An empty list means no flow."""
    name: str
    """Name of the service in results and messages."""
    node: str
    """Name of the node at which the service runs."""
    role: Role
    """What the service does, and with which parameters."""


class Scenario(TypedDict):
    """A network, the traffic through it, what to record, and for how long to run."""

    campaign: NotRequired[Campaign]
    """Values to vary over many runs. A resolved scenario, which is what runs, does not have this key."""
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
    """Multilinks: several links between the same two nodes, one of which at a time carries the packets of
    each direction."""
    name: str
    """Name of the scenario, in results and as the name of the run's folder."""
    network: NotRequired[dict[str, NetworkKind]]
    """Access networks, which join several nodes, by name."""
    preset: NotRequired[str | list[str]]
    """Names of the presets that the scenario builds on; later ones override earlier ones. `bentpipe new
    --list` shows all."""
    proxy: NotRequired[list[Proxy]]
    """Performance-enhancing proxies, each at a node on the path of flows."""
    record: NotRequired[Record]
    """What the run records besides its summary."""
    seed: NotRequired[int]
    """Seed of all random streams, 1 by default. Runs with the same scenario, seed and version are
    identical."""
    service: NotRequired[list[Service]]
    """Services at nodes: programs that take packets of flows and send packets of their own."""
