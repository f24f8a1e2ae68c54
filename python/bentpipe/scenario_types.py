"""A scenario as typed dictionaries, for ``bentpipe.simulate({...})`` in a typed program.

Generated from the engine's JSON Schema by scripts/generate: change the Config struct beside the model, then run
``make generate``. Ranges are checked by the engine, not by these types; quantities are texts with a unit.
"""

from __future__ import annotations

from typing import Literal, NotRequired, TypeAlias, TypedDict

__all__ = [
    "Accept",
    "Access",
    "Acm",
    "Action",
    "Adapt",
    "Allocator",
    "Angle",
    "App",
    "Asks",
    "Assignment",
    "Avbdc",
    "Back",
    "Balance",
    "Campaign",
    "Carrier",
    "Change",
    "Channel",
    "Choice",
    "Class",
    "Clock",
    "Counted",
    "Dama",
    "Direction",
    "Direction2",
    "Distance",
    "Distribution",
    "Dscp",
    "Each",
    "Effect",
    "Encapsulation",
    "Endpoints",
    "Error",
    "Estimator",
    "Fate",
    "Fidelity",
    "Flow",
    "Forward",
    "Framing",
    "Freeze",
    "GroundSite",
    "Group",
    "Gsl",
    "Handover",
    "Handover2",
    "Handover3",
    "Isl",
    "LinkPair",
    "LinkPairReturn",
    "Mechanism",
    "Meter",
    "Method",
    "Metric",
    "NetworkKind",
    "OnHandover",
    "Planning",
    "Policy",
    "Positions",
    "Precision",
    "Profile",
    "Propagation",
    "Protocol",
    "Proxy",
    "Queue",
    "Rate",
    "RateOrZero",
    "Rbdc",
    "Record",
    "Recovery",
    "Requests",
    "Return",
    "Routing",
    "RtoEstimator",
    "Rule",
    "Sample",
    "Scenario",
    "ScenarioAccess",
    "ScheduledClass",
    "Scheme",
    "Shell",
    "Sides",
    "Site",
    "Size",
    "Sizes",
    "Span",
    "Terminals",
    "Thresholds",
    "Trace",
    "Trailer",
    "Transport",
    "TransportProtocol",
    "Vbdc",
]

#: a span of time, 0 s to 100 years
Span: TypeAlias = "str"

#: What happens to packets of a link that is no more.
Fate: TypeAlias = 'Literal["forward", "lose"]'


class Handover(TypedDict):
    """How one link follows another."""

    interruption: NotRequired[Span]
    """For how long there is no link to send over: break before make."""
    overlap: NotRequired[Span]
    """For how long the old link goes on to send what waits in it: make before break."""
    packets: NotRequired[Fate]
    """What happens to packets that wait for a link that is cut or are under way on it, and to those that come
    while there is no link."""


class SchedulePolicy(TypedDict):
    """Policy of the kind `schedule`."""

    kind: Literal["schedule"]


class RandomPolicy(TypedDict):
    """Policy of the kind `random`."""

    kind: Literal["random"]
    stay: list[Span]
    """Mean stay on each of the links, in their order."""


class SignalPolicy(TypedDict):
    """Policy of the kind `signal`."""

    hysteresis: NotRequired[float]
    """By how many dB another link must be stronger."""
    kind: Literal["signal"]
    samples: str | dict[str, object]
    """Comma-separated table: `time` in seconds from 0 on, and a column for each link, with its name, in dB or
    dBm."""
    time_to_trigger: NotRequired[Span]
    """For how long it must be so."""


class LoadPolicy(TypedDict):
    """Policy of the kind `load`."""

    high: NotRequired[float]
    """Load above which the next link takes over."""
    kind: Literal["load"]
    low: NotRequired[float]
    """Load below which the link before would be for it to take over."""
    period: NotRequired[Span]
    """Over what time load is measured."""


#: When to hand over, and to which link.
Policy: TypeAlias = 'SchedulePolicy | RandomPolicy | SignalPolicy | LoadPolicy | Literal["schedule", "random", "signal", "load"]'

#: Several links between two nodes, of which one at a time carries what is sent in each direction.
ScenarioAccess = TypedDict(
    "ScenarioAccess",
    {
        "handover": "NotRequired[Handover]",
        "links": "list[str]",
        "name": "str",
        "policy": "NotRequired[Policy]",
        "return": "NotRequired[str]",
    },
)

#: What time the runs of a campaign live in.
Clock: TypeAlias = 'Literal["virtual", "kernel"]'


class Precision(TypedDict):
    """When there are enough replications of a variant: when half of the confidence interval of a mean is at
    most a given part of it."""

    at_most: NotRequired[int]
    """Replications after which a variant ends all the same."""
    metric: str
    """Which column of the flows, or TABLE.COLUMN of another report."""
    of: NotRequired[str]
    """Of which flow, terminal or link; all of them must be known well enough otherwise."""
    relative_half_width: float
    """Greatest half width of the interval as a part of the mean."""


#: How values are drawn.
Method: TypeAlias = 'Literal["latin-hypercube", "random"]'


class Sample(TypedDict):
    """Values drawn at random between two, for each of several keys at once."""

    between: dict[str, object]
    """Keys with the least and the greatest value, numbers or quantities of one unit: `["1 Mbit/s", "10
    Mbit/s"]`."""
    count: int
    """How many combinations."""
    logarithmic: NotRequired[list[str]]
    """Those of the keys whose logarithm is uniform, not they themselves."""
    method: NotRequired[Method]
    """How they are drawn."""
    seed: NotRequired[int]
    """Seed of the draw."""


class Campaign(TypedDict):
    """Many runs: values varied, each combination replicated. The variants are the product of `vary`, each
    table of `zip`, `list` and `sample`; the last of them varies fastest. A single run of the scenario takes
    no notice of it."""

    clock: NotRequired[Clock]
    """Which clock runs it."""
    common_random_numbers: NotRequired[bool]
    """Whether the replications of one number draw the same random numbers in every variant, so that the
    differences between variants are not those of luck. Otherwise every variant has a seed of its own."""
    confidence: NotRequired[float]
    """Probability with which a confidence interval holds the mean."""
    keep_runs: NotRequired[bool]
    """Whether the folders of the runs are kept, with their traces. Otherwise no traces are recorded, only
    reports."""
    list: NotRequired[list[dict[str, object]]]
    """Combinations given one by one, each a table of keys and values."""
    precision: NotRequired[Precision]
    """When a variant has enough replications; `replications` is then the least."""
    replications: NotRequired[int]
    """Runs of each variant, with random numbers of their own."""
    sample: NotRequired[Sample]
    """Combinations drawn at random."""
    vary: NotRequired[dict[str, object]]
    """A grid: every combination of these values; the last key varies fastest."""
    zip: NotRequired[list[dict[str, object]]]
    """Lists of the same length that are walked in step: the first values together, then the second."""


class Change(TypedDict):
    """Other values for some keys of links and networks from a moment on, before anything else that happens
    then."""

    at: Span
    """When."""
    set: dict[str, dict[str, dict[str, object]]]
    """Keys of `link` and `network` with their new values."""


#: A differentiated services code point, by number or name (RFC 2474, 2597, 3246, 5865, 8622).
Dscp: TypeAlias = 'int | Literal["be", "le", "cs1", "af11", "af12", "af13", "cs2", "af21", "af22", "af23", "cs3", "af31", "af32", "af33", "cs4", "af41", "af42", "af43", "cs5", "voice-admit", "ef", "cs6", "cs7", "cs0"]'

#: What has a meter of its own.
Each: TypeAlias = 'Literal["rule", "flow", "connection"]'

#: What becomes of a packet: it is kept as it is, dropped, or gets a code point.
Action: TypeAlias = 'Literal["keep", "drop"] | Dscp'

#: a size, 0 B to 1 EB, k = 1000 and Ki = 1024
Size: TypeAlias = "str"

#: a rate, 1 bit/s to 100 Tbit/s
Rate: TypeAlias = "str"


class TokenBucketMeter(TypedDict):
    """Meter of the kind `token-bucket`."""

    burst: Size
    """Size of the bucket."""
    kind: Literal["token-bucket"]
    rate: Rate
    """Rate at which tokens come."""


class SrtcmMeter(TypedDict):
    """Meter of the kind `srtcm`."""

    burst: Size
    """CBS."""
    colour_aware: NotRequired[bool]
    """Whether a packet never gets a lower drop precedence than it had."""
    committed: Rate
    """CIR."""
    excess: Size
    """EBS."""
    kind: Literal["srtcm"]


class TrtcmMeter(TypedDict):
    """Meter of the kind `trtcm`."""

    burst: Size
    """CBS."""
    colour_aware: NotRequired[bool]
    """Whether a packet never gets a lower drop precedence than it had."""
    committed: Rate
    """CIR."""
    kind: Literal["trtcm"]
    peak: Rate
    """PIR, not below CIR."""
    peak_burst: Size
    """PBS."""


class Tsw2cmMeter(TypedDict):
    """Meter of the kind `tsw2cm`."""

    committed: Rate
    """CTR, the committed target rate."""
    kind: Literal["tsw2cm"]
    window: NotRequired[Span]
    """Window of the rate estimator."""


class Tsw3cmMeter(TypedDict):
    """Meter of the kind `tsw3cm`."""

    committed: Rate
    """CTR, the committed target rate."""
    kind: Literal["tsw3cm"]
    peak: Rate
    """PTR, the peak target rate."""
    window: NotRequired[Span]
    """Window of the rate estimator."""


#: A meter.
Meter: TypeAlias = 'TokenBucketMeter | SrtcmMeter | TrtcmMeter | Tsw2cmMeter | Tsw3cmMeter | Literal["token-bucket", "srtcm", "trtcm", "tsw2cm", "tsw3cm"]'

#: A transport protocol.
TransportProtocol: TypeAlias = 'Literal["tcp", "udp"]'

#: What an edge does with packets: all keys that are given must fit.
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
    """Tolerances of an emulation. A run beyond one of them is degraded; ten times beyond it, or with more
    packets lost than allowed, it is void. A simulation needs none."""

    lateness_max: NotRequired[Span]
    """By how much any packet may."""
    lateness_p99: NotRequired[Span]
    """By how much 99 % of the packets may at most reach their host too late."""
    lost: NotRequired[int]
    """Packets that may get lost where no model drops them."""
    rate: NotRequired[float]
    """By which share the rate of a transmitting link may differ from the configured one."""
    reading_p99: NotRequired[Span]
    """How long 99 % of the packets may lie in the kernel before the engine takes them from a host. A TCP
    sender that sends a window at once fills milliseconds."""
    starved: NotRequired[float]
    """Share of the run for which the engine's thread may wait for a processor."""
    steal: NotRequired[float]
    """Share of the processors' time that the machine may not get from the one that it runs on."""


#: Distribution of the lengths of bursts and silences.
Distribution: TypeAlias = 'Literal["constant", "exponential"]'

#: How sizes are distributed about their mean.
Sizes: TypeAlias = 'Literal["constant", "exponential", "pareto"]'

#: Which way the file goes.
Direction2: TypeAlias = 'Literal["upload", "download"]'


class BulkApp(TypedDict):
    """App of the kind `bulk`."""

    duration: NotRequired[Span]
    """For how long to send, from the start of the flow; what has not been sent by then is not sent."""
    kind: Literal["bulk"]
    size: NotRequired[Size]
    """How much to send; endless when not given."""


class CbrApp(TypedDict):
    """App of the kind `cbr`."""

    datagram: NotRequired[Size]
    """Payload of one datagram."""
    distribution: NotRequired[Distribution]
    """How the lengths of bursts and silences are distributed."""
    kind: Literal["cbr"]
    off: NotRequired[Span]
    """Length of the silence after a burst."""
    on: NotRequired[Span]
    """Length of a burst; always on when not given."""
    rate: Rate
    """Rate of the payload while on."""


class CommandApp(TypedDict):
    """App of the kind `command`."""

    kind: Literal["command"]
    run: str
    """Program and arguments, run at the flow's source; {to}, {from} and {port} stand for addresses and a
    port."""
    serve: NotRequired[str]
    """Program and arguments, run at the flow's destination and started before; none when not given."""


class EmailApp(TypedDict):
    """App of the kind `email`."""

    distribution: NotRequired[Sizes]
    """How the sizes of mails are distributed."""
    every: NotRequired[Span]
    """Mean time from one mail to the next; one mail when not given."""
    kind: Literal["email"]
    mails: NotRequired[int]
    """How many mails at most; as long as the run lasts when not given."""
    message: NotRequired[Size]
    """Size of a message."""
    messages: NotRequired[int]
    """Messages before the mail, of both ends together."""
    shape: NotRequired[float]
    """Shape of a Pareto distribution; its variance is finite above 2."""
    size: Size
    """Mean size of a mail."""


class FtpApp(TypedDict):
    """App of the kind `ftp`."""

    direction: NotRequired[Direction2]
    """Which way files go."""
    distribution: NotRequired[Sizes]
    """How the sizes of files are distributed."""
    every: NotRequired[Span]
    """Mean time from the start of a session to that of the next; one session when not given."""
    kind: Literal["ftp"]
    message: NotRequired[Size]
    """Size of a message."""
    messages: NotRequired[int]
    """Messages before the file, of both ends together."""
    sessions: NotRequired[int]
    """How many sessions at most; as long as the run lasts when not given."""
    shape: NotRequired[float]
    """Shape of a Pareto distribution; its variance is finite above 2."""
    size: Size
    """Mean size of a file."""


class HttpApp(TypedDict):
    """App of the kind `http`."""

    kind: Literal["http"]
    object: Size
    """Mean size of an object, the page itself being one."""
    object_max: NotRequired[Size]
    """Greatest size of an object."""
    object_min: NotRequired[Size]
    """Least size of an object."""
    objects: NotRequired[float]
    """Mean number of objects of a page, the page itself among them."""
    objects_max: NotRequired[int]
    """Greatest number of objects of a page."""
    objects_min: NotRequired[int]
    """Least number of objects of a page."""
    pages: NotRequired[int]
    """How many pages the user looks at."""
    request: NotRequired[Size]
    """Size of a request."""
    think: NotRequired[Span]
    """Mean time for which the user looks at a page before the next, exponentially distributed."""


#: What the application of a flow does. Both ends run it: the flow's source opens, its destination answers.
App: TypeAlias = 'BulkApp | CbrApp | CommandApp | EmailApp | FtpApp | HttpApp | Literal["bulk", "cbr", "command", "email", "ftp", "http"]'

#: What stands at the ends of a flow where the scenario is emulated. In a simulation all are models.
Endpoints: TypeAlias = 'Literal["kernel", "model"]'


class Adapt(TypedDict):
    """Senders set window and time-out for a new link (fast adaptation)."""

    at: Span
    """When the link is another."""
    rate: Rate
    """What it carries."""
    round_trip: Span
    """The round-trip time over it."""


class Freeze(TypedDict):
    """Receivers keep their window closed for a while (Freeze-TCP)."""

    at: Span
    """When the window closes: best a round-trip time before the link is gone."""
    until: Span
    """When the link is there again."""


#: What ends do at handovers.
OnHandover: TypeAlias = 'Literal["freeze", "adapt"]'

#: Named sets of values.
Profile: TypeAlias = 'Literal["linux", "classic", "freebsd", "scps"]'

#: How losses are found and repaired.
Recovery: TypeAlias = 'Literal["tahoe", "reno", "newreno", "sack", "snack", "rack"]'

#: How the variation of the round-trip time is smoothed.
RtoEstimator: TypeAlias = 'Literal["rfc6298", "linux"]'


class TcpTransport(TypedDict):
    """Transport of the kind `tcp`."""

    ack_compression: NotRequired[Span]
    """How long acknowledgments of a hole are gathered after the first three, where SACK is in use: at most 1
    ms, and a twentieth of the round-trip time (linux); 0 s for not at all (classic)."""
    ack_every: NotRequired[int]
    """Full segments that one delayed acknowledgment is for: 2 (RFC 1122); 4 of scps, whose standard reduces
    the frequency of acknowledgments and leaves the number open."""
    adapt: NotRequired[list[Adapt]]
    """Senders set window and time-out for a new link at once (fast adaptation): `{ at, rate, round_trip }`
    for each."""
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
        ]
    ]
    """Name of the congestion control, one of bentpipe's C files; for real endpoints also `linux-NAME`, the
    kernel's own of that name."""
    delayed_ack: NotRequired[bool]
    """Acknowledge every second segment, or after `delayed_ack_timeout` (RFC 1122, section 4.2.3.2; on in all
    profiles); otherwise every segment at once."""
    delayed_ack_min: NotRequired[Span]
    """Least delay of an acknowledgment, from which it follows the time between segments: 40 ms in Linux
    (linux). The delay is always `delayed_ack_timeout` when both are the same (classic)."""
    delayed_ack_timeout: NotRequired[Span]
    """Longest delay of an acknowledgment; less than 0.5 s by RFC 1122. 200 ms in all profiles."""
    dsack: NotRequired[bool]
    """Duplicate selective acknowledgments (RFC 2883): on (linux), off (classic)."""
    ecn: NotRequired[bool]
    """Explicit congestion notification (RFC 3168), when both ends want it: off in all profiles, as Linux only
    answers those who ask for it."""
    freeze: NotRequired[list[Freeze]]
    """Receivers close their window before a disconnection and open it afterwards (Freeze-TCP): `{ at, until
    }` for each."""
    freeze_warning: NotRequired[Span]
    """How long before such a handover the ends are warned of it; the round-trip time of a full segment over
    the path without queues when not given."""
    frto: NotRequired[bool]
    """Find out whether a time-out was spurious before all is sent again (F-RTO, RFC 5682), where SACK is in
    use: on (linux), off (classic)."""
    initial_sequence: NotRequired[int]
    """Initial sequence number of both ends; random when not given."""
    initial_ssthresh: NotRequired[int]
    """Slow-start threshold at the start, in segments; infinite when not given (RFC 5681, section 3.1)."""
    initial_window: NotRequired[int]
    """Congestion window at the start, in segments: 10 by RFC 6928 (linux), 2 to 4 by RFC 3390 (classic: 3), 1
    by RFC 2001 (freebsd)."""
    kind: Literal["tcp"]
    nagle: NotRequired[bool]
    """Hold back small segments while something is unacknowledged (Nagle's algorithm, RFC 9293, section
    3.7.4): off in all profiles."""
    on_handover: NotRequired[list[OnHandover]]
    """What the ends do at the scenario's `[[handover]]`s on their way: `freeze` (Freeze-TCP) at those that
    interrupt or lose, `adapt` (fast adaptation) at those to another link."""
    pacing: NotRequired[bool]
    """Pace segments whatever the congestion control asks for, as behind Linux' fq queue discipline; otherwise
    only those of a congestion control that asks for it, such as bbr."""
    pacing_ca_ratio: NotRequired[int]
    """Pacing rate above that, percent of cwnd / SRTT (Linux' tcp_pacing_ca_ratio): 120."""
    pacing_ss_ratio: NotRequired[int]
    """Pacing rate while cwnd < ssthresh / 2, percent of cwnd / SRTT (Linux' tcp_pacing_ss_ratio): 200."""
    parameters: NotRequired[dict[str, int]]
    """Parameters of the congestion control, by the names that it declares."""
    profile: NotRequired[Profile]
    """The named set of values that the other keys change."""
    proportional_reduction: NotRequired[bool]
    """Reduce the window in proportion to what arrives (PRR, RFC 9937): on (linux); otherwise at once
    (classic)."""
    quick_acks: NotRequired[int]
    """Segments that a receiver acknowledges one by one at the start, after idle time and when it sees
    retransmissions: 16 in Linux (linux), 0 for none (classic)."""
    quick_start: NotRequired[Rate]
    """Ask the path to begin at this rate (Quick-Start, RFC 4782), 80 kbit/s to 1.31072 Gbit/s; not when not
    given. Links and networks that know of it have the key `quick_start` too."""
    quick_window: NotRequired[Size]
    """Receive window up to which it grows from 64 KiB on, by two segments for each that arrives, which is
    then acknowledged at once: 16 MiB, half the buffer that emulated hosts get (linux); 0 B for the whole
    window from the start (classic)."""
    receive_window: NotRequired[Size]
    """The receiver's buffer, which it advertises as its window; never limiting (1 GiB) when not given."""
    receive_window_start: NotRequired[Size]
    """The window at the start, which grows by what arrives up to `receive_window` (dynamic right-sizing, as
    Linux' auto-tuning does it); as large as `receive_window` from the start when not given."""
    recovery: NotRequired[Recovery]
    """How losses are found and repaired: rack (linux), sack (classic)."""
    restart_after_idle: NotRequired[bool]
    """Start again with the initial window after idle time (RFC 5681, section 4.1), halved for each time-out
    that has passed as in Linux (linux); otherwise the window stays (classic)."""
    retries: NotRequired[int]
    """Retransmissions of the same data, or unanswered window probes, after which the connection fails: 15."""
    retries_as_time: NotRequired[bool]
    """Give data up not after so many retransmissions but at the first one after the time that they would take
    if the time-out had begun with `rto_min`, 924.6 s by default (Linux' tcp_retries2): on (linux), off
    (classic)."""
    rto_estimator: NotRequired[RtoEstimator]
    """How the variation of the round-trip time is smoothed: linux (linux), rfc6298 (classic)."""
    rto_initial: NotRequired[Span]
    """Retransmission time-out before the first round-trip time sample (RFC 6298, 2.1): 1 s."""
    rto_max: NotRequired[Span]
    """Greatest retransmission time-out, also with back-off: at least 60 s by RFC 6298 (2.5), 120 s in Linux
    and in all profiles."""
    rto_min: NotRequired[Span]
    """Least retransmission time-out: 1 s by RFC 6298 (2.4) (classic), 200 ms in Linux (linux)."""
    rto_variance_min: NotRequired[Span]
    """Least value of the term 4 RTTVAR: the clock granularity G of RFC 6298 (2.3), 200 ms in Linux and in all
    profiles."""
    sack: NotRequired[bool]
    """Selective acknowledgments (RFC 2018). When not given: on for a recovery that needs them."""
    segment_size: NotRequired[int]
    """Payload bytes of a full segment, 1460 when not given. Packets are 40 bytes longer (IPv4 and TCP
    headers), 52 with timestamps."""
    segmentation_offload: NotRequired[bool]
    """Segments that leave together travel as one packet, as TSO and GSO make of them where no interface
    divides it: a millisecond of the pacing rate, at least two segments, at most 64 KB. Such a packet is
    queued, lost and acknowledged as one. Off in all profiles; real hosts' packets are divided before the
    models see them."""
    send_buffer: NotRequired[Size]
    """The sender's buffer: most bytes that may be unacknowledged; never limiting when not given."""
    syn_linear_timeouts: NotRequired[int]
    """Retransmissions of a SYN before those, without doubling: 4 in Linux since 6.5 (linux), 0 (classic)."""
    syn_retries: NotRequired[int]
    """Retransmissions of a SYN or SYN-ACK, with a time-out that doubles, after which the connection fails:
    6."""
    tail_loss_probe: NotRequired[bool]
    """Probe for a loss at the tail of a flight before the time-out comes (RFC 8985, section 7), where losses
    are found by rack: on (linux), off (classic)."""
    timer_tick: NotRequired[Span]
    """Period of the clock that times segments and on whose ticks time-outs fall: 500 ms in BSD's stacks of
    the nineties (RFC 6298, section 4); 0 s for an exact one (all profiles)."""
    timestamps: NotRequired[bool]
    """Timestamps (RFC 7323, section 3), 12 bytes in every segment: on (linux), off (classic)."""
    undo: NotRequired[bool]
    """Take back reductions that timestamps (RFC 3522) or duplicate SACKs (RFC 3708) show to have been
    spurious: on (linux), off (classic)."""
    window_scaling: NotRequired[bool]
    """Window scaling (RFC 7323, section 2), on in all profiles; without it the window is at most 65535
    bytes."""
    window_validation: NotRequired[bool]
    """Let the window decay that the application does not use (RFC 7661 as Linux has it): on (linux), off
    (classic)."""


class TfrcTransport(TypedDict):
    """Transport of the kind `tfrc`."""

    damped: NotRequired[bool]
    """Pace by the square root of the round-trip time, against oscillation (RFC 5348, section 4.5)."""
    kind: Literal["tfrc"]
    quick_start: NotRequired[Rate]
    """Ask the path to begin at this rate (Quick-Start, RFC 4782), 80 kbit/s to 1.31072 Gbit/s; not when not
    given."""
    segment_size: NotRequired[int]
    """s of the equation, in bytes of payload: the size of an application's datagrams, or of those that it is
    cut into. With small packets it is their nominal size."""
    small_packets: NotRequired[bool]
    """TFRC-SP (RFC 4828): small packets share as large ones do. The rate is lowered by what headers take, and
    packets leave no closer than 10 ms."""


class UdpTransport(TypedDict):
    """Transport of the kind `udp`."""

    kind: Literal["udp"]


#: What carries a flow.
Transport: TypeAlias = 'TcpTransport | TfrcTransport | UdpTransport | Literal["tcp", "tfrc", "udp"]'

#: Data from one node to another.
Flow = TypedDict(
    "Flow",
    {
        "app": "App",
        "dscp": "NotRequired[Dscp]",
        "endpoints": "NotRequired[Endpoints]",
        "from": "str",
        "name": "str",
        "start": "NotRequired[Span]",
        "to": "str",
        "transport": "Transport",
    },
)

#: Which directions a handover is about.
Direction: TypeAlias = 'Literal["both", "forward", "return"]'


class Handover2(TypedDict):
    """From a moment on packets take another link of an `[[access]]`, or, with an interruption, the same one
    after it."""

    access: NotRequired[str]
    """The access; may be left out where there is one."""
    at: Span
    """When it begins, before anything else that happens to the access at that moment but what arrives."""
    direction: NotRequired[Direction]
    """Which directions it is about."""
    interruption: NotRequired[Span]
    """For how long there is no link to send over, if not as the access says."""
    overlap: NotRequired[Span]
    """For how long the old link goes on to send what waits in it, if not as the access says."""
    packets: NotRequired[Fate]
    """What happens to the packets concerned, if not as the access says."""
    to: str
    """The new link."""


#: What becomes of a packet that the channel spoils.
Effect: TypeAlias = 'Literal["drop", "stale-checksum", "valid-checksum"]'


class NoneError(TypedDict):
    """Error of the kind `none`."""

    kind: Literal["none"]


class PacketError(TypedDict):
    """Error of the kind `packet`."""

    effect: NotRequired[Effect]
    """What becomes of a packet that is spoiled: `"drop"` (it is lost), `"stale-checksum"` (it goes on with a
    wrong bit, for which the receiver drops it), `"valid-checksum"` (a bit of its payload is wrong, and nobody
    but the application can notice)."""
    kind: Literal["packet"]
    probability: float
    """Probability that a packet is spoiled."""


class BitError(TypedDict):
    """Error of the kind `bit`."""

    effect: NotRequired[Effect]
    """What becomes of a packet that is spoiled: `"drop"` (it is lost), `"stale-checksum"` (it goes on with a
    wrong bit, for which the receiver drops it), `"valid-checksum"` (a bit of its payload is wrong, and nobody
    but the application can notice)."""
    kind: Literal["bit"]
    rate: float
    """Probability that a bit is wrong (BER)."""


class GilbertError(TypedDict):
    """Error of the kind `gilbert`."""

    burst: float
    """Mean number of packets that are spoiled in a row."""
    effect: NotRequired[Effect]
    """What becomes of a packet that is spoiled: `"drop"` (it is lost), `"stale-checksum"` (it goes on with a
    wrong bit, for which the receiver drops it), `"valid-checksum"` (a bit of its payload is wrong, and nobody
    but the application can notice)."""
    kind: Literal["gilbert"]
    probability: float
    """Part of all packets that is spoiled."""


class ListError(TypedDict):
    """Error of the kind `list`."""

    effect: NotRequired[Effect]
    """What becomes of a packet that is spoiled: `"drop"` (it is lost), `"stale-checksum"` (it goes on with a
    wrong bit, for which the receiver drops it), `"valid-checksum"` (a bit of its payload is wrong, and nobody
    but the application can notice)."""
    kind: Literal["list"]
    packets: list[int]
    """Numbers of the packets that are spoiled, in ascending order; the first packet of the direction has the
    number 1."""


#: An error process.
Error: TypeAlias = 'NoneError | PacketError | BitError | GilbertError | ListError | Literal["none", "packet", "bit", "gilbert", "list"]'

#: What tells protocols apart.
Encapsulation: TypeAlias = 'Literal["llc-snap", "vc"]'

#: How the protocol type is sent.
Protocol: TypeAlias = 'Literal["suppressed", "compressed", "full"]'

#: What ends a packet that was sent in fragments.
Trailer: TypeAlias = 'Literal["sequence", "crc"]'


class NoneFraming(TypedDict):
    """Framing of the kind `none`."""

    kind: Literal["none"]


class AtmFraming(TypedDict):
    """Framing of the kind `atm`."""

    encapsulation: NotRequired[Encapsulation]
    """What tells protocols apart."""
    kind: Literal["atm"]


class MpeFraming(TypedDict):
    """Framing of the kind `mpe`."""

    kind: Literal["mpe"]
    llc_snap: NotRequired[bool]
    """Whether an LLC/SNAP header tells protocols apart."""
    packing: NotRequired[bool]
    """Whether sections follow each other within a transport stream packet."""


class UleFraming(TypedDict):
    """Framing of the kind `ule`."""

    address: NotRequired[bool]
    """Whether an SNDU has a destination address (D = 0)."""
    kind: Literal["ule"]
    packing: NotRequired[bool]
    """Whether SNDUs follow each other within a transport stream packet."""


class GseFraming(TypedDict):
    """Framing of the kind `gse`."""

    frame: NotRequired[int]
    """Bytes of a baseband frame's data field, on links. By default that of QPSK 1/2 with long frames: 32 208
    bits less 80."""
    kind: Literal["gse"]
    label: NotRequired[int]
    """Bytes of the label: 0, 3 or 6."""


class RleFraming(TypedDict):
    """Framing of the kind `rle`."""

    kind: Literal["rle"]
    protocol: NotRequired[Protocol]
    """How the protocol type is sent."""
    trailer: NotRequired[Trailer]
    """What ends a packet that was sent in fragments."""


#: How packets are put into the units that are sent.
Framing: TypeAlias = 'NoneFraming | AtmFraming | MpeFraming | UleFraming | GseFraming | RleFraming | Literal["none", "atm", "mpe", "ule", "gse", "rle"]'

#: Which packets an average counts.
Counted: TypeAlias = 'Literal["all", "coupled", "own"]'


class Thresholds(TypedDict):
    """When packets of a drop precedence are dropped."""

    max: int
    """Average from which on all are dropped (max_th)."""
    min: int
    """Average from which on packets are dropped or marked (min_th)."""
    probability: NotRequired[float]
    """Probability just below `max` (max_p)."""


class ScheduledClass(TypedDict):
    """A class of a scheduler."""

    dscp: NotRequired[list[Dscp]]
    """Code points of its packets; the last class has all others, too."""
    name: str
    """Its name."""
    queue: NotRequired[Queue]
    """Its queue, which may have classes of its own."""
    weight: NotRequired[int]
    """Its share beside the other classes' weights, 1 when not given."""


class DropTailQueue(TypedDict):
    """Queue of the kind `drop-tail`."""

    bytes: NotRequired[Size]
    """The most bytes that wait."""
    kind: Literal["drop-tail"]
    packets: NotRequired[int]
    """The most packets that wait."""


class RedQueue(TypedDict):
    """Queue of the kind `red`."""

    ecn: NotRequired[bool]
    """Whether packets of ECN-capable transports are marked instead of dropped."""
    kind: Literal["red"]
    max: NotRequired[int]
    """Where the slope ends (max_th)."""
    min: NotRequired[int]
    """Average from which on packets are dropped or marked (min_th)."""
    packets: NotRequired[int]
    """The most packets that wait."""
    probability: NotRequired[float]
    """Probability just below `max` (max_p)."""
    typical: NotRequired[Size]
    """A typical packet: while nothing waits the average falls as if such packets were sent."""
    weight: NotRequired[float]
    """Weight of an arrival in the average (w_q)."""


class GentleRedQueue(TypedDict):
    """Queue of the kind `gentle-red`."""

    ecn: NotRequired[bool]
    """Whether packets of ECN-capable transports are marked instead of dropped."""
    kind: Literal["gentle-red"]
    max: NotRequired[int]
    """Where the slope ends (max_th)."""
    min: NotRequired[int]
    """Average from which on packets are dropped or marked (min_th)."""
    packets: NotRequired[int]
    """The most packets that wait."""
    probability: NotRequired[float]
    """Probability just below `max` (max_p)."""
    typical: NotRequired[Size]
    """A typical packet: while nothing waits the average falls as if such packets were sent."""
    weight: NotRequired[float]
    """Weight of an arrival in the average (w_q)."""


class AredQueue(TypedDict):
    """Queue of the kind `ared`."""

    ecn: NotRequired[bool]
    """Whether packets of ECN-capable transports are marked instead of dropped."""
    kind: Literal["ared"]
    packets: NotRequired[int]
    """The most packets that wait."""
    target: NotRequired[Span]
    """The average delay to aim for."""
    typical: NotRequired[Size]
    """A typical packet, by which rate and target become packets."""


class WredQueue(TypedDict):
    """Queue of the kind `wred`."""

    average: NotRequired[Counted]
    """Which packets the averages count."""
    ecn: NotRequired[bool]
    """Whether packets of ECN-capable transports are marked instead of dropped."""
    gentle: NotRequired[bool]
    """Whether the probability rises on beyond `max`, to 1 at twice `max`."""
    green: NotRequired[Thresholds]
    """Packets of low drop precedence, and those that have none."""
    kind: Literal["wred"]
    packets: NotRequired[int]
    """The most packets that wait."""
    red: NotRequired[Thresholds]
    """Packets of high drop precedence."""
    typical: NotRequired[Size]
    """A typical packet: while nothing waits the averages fall as if such packets were sent."""
    weight: NotRequired[float]
    """Weight of an arrival in an average (w_q)."""
    yellow: NotRequired[Thresholds]
    """Packets of medium drop precedence."""


class CodelQueue(TypedDict):
    """Queue of the kind `codel`."""

    ecn: NotRequired[bool]
    """Whether packets of ECN-capable transports are marked instead of dropped."""
    interval: NotRequired[Span]
    """INTERVAL."""
    kind: Literal["codel"]
    largest: NotRequired[Size]
    """The largest packet: nothing is dropped while no more than this waits."""
    packets: NotRequired[int]
    """The most packets that wait."""
    target: NotRequired[Span]
    """TARGET."""


class FqCodelQueue(TypedDict):
    """Queue of the kind `fq-codel`."""

    ecn: NotRequired[bool]
    """Whether packets of ECN-capable transports are marked instead of dropped."""
    flows: NotRequired[int]
    """Lines to which flows are hashed."""
    interval: NotRequired[Span]
    """INTERVAL of each CoDel."""
    kind: Literal["fq-codel"]
    packets: NotRequired[int]
    """The most packets that wait in all."""
    quantum: NotRequired[Size]
    """Bytes that a line may send in its turn."""
    target: NotRequired[Span]
    """TARGET of each CoDel."""


class PieQueue(TypedDict):
    """Queue of the kind `pie`."""

    burst: NotRequired[Span]
    """MAX_BURST: how long nothing is dropped when delay begins."""
    ecn: NotRequired[bool]
    """Whether packets of ECN-capable transports are marked instead of dropped."""
    kind: Literal["pie"]
    packets: NotRequired[int]
    """The most packets that wait."""
    target: NotRequired[Span]
    """QDELAY_REF."""
    update: NotRequired[Span]
    """T_UPDATE."""


class PriorityQueue(TypedDict):
    """Queue of the kind `priority`."""

    classes: list[ScheduledClass]
    """The classes, first come first."""
    kind: Literal["priority"]


class WrrQueue(TypedDict):
    """Queue of the kind `wrr`."""

    classes: list[ScheduledClass]
    """The classes, in the order of their turns."""
    kind: Literal["wrr"]


class DrrQueue(TypedDict):
    """Queue of the kind `drr`."""

    classes: list[ScheduledClass]
    """The classes, in the order of their turns."""
    kind: Literal["drr"]
    quantum: NotRequired[Size]
    """Bytes for a weight of 1."""


class WfqQueue(TypedDict):
    """Queue of the kind `wfq`."""

    classes: list[ScheduledClass]
    """The classes."""
    kind: Literal["wfq"]


class ShaperQueue(TypedDict):
    """Queue of the kind `shaper`."""

    burst: NotRequired[Size]
    """Bytes that may leave at once after a pause."""
    kind: Literal["shaper"]
    queue: NotRequired[Queue]
    """What waits within."""
    rate: Rate
    """Rate at which packets leave."""


class DiffservQueue(TypedDict):
    """Queue of the kind `diffserv`."""

    ef: NotRequired[float]
    """Part of the link's rate that expedited forwarding gets at most."""
    kind: Literal["diffserv"]
    packets: NotRequired[int]
    """The most packets that wait in each assured class and in best effort."""


#: A queue discipline.
Queue: TypeAlias = 'DropTailQueue | RedQueue | GentleRedQueue | AredQueue | WredQueue | CodelQueue | FqCodelQueue | PieQueue | PriorityQueue | WrrQueue | DrrQueue | WfqQueue | ShaperQueue | DiffservQueue | Literal["drop-tail", "red", "gentle-red", "ared", "wred", "codel", "fq-codel", "pie", "priority", "wrr", "drr", "wfq", "shaper", "diffserv"]'


class Trace(TypedDict):
    """What a link follows."""

    repeat: NotRequired[Span]
    """After how long it begins anew; its last sample holds to the end when not given."""
    samples: str | dict[str, object]
    """Comma-separated table: `time` in seconds, and at least one of `rate` in bit/s, `delay` in seconds,
    `loss` as a probability."""


class LinkPairReturn(TypedDict):
    """One direction of a link."""

    delay: Span
    """Propagation delay, one way."""
    error: NotRequired[Error]
    """What the channel spoils: packets, or the units of the framing."""
    framing: NotRequired[Framing]
    """How packets are put into what is sent; with one, the rate is that of its units."""
    queue: NotRequired[Queue]
    """The queue in front of the link."""
    quick_start: NotRequired[float]
    """Part of the rate that is granted to Quick-Start requests (RFC 4782); such requests are not understood
    when not given."""
    rate: Rate
    """Rate at the network layer."""
    trace: NotRequired[Trace]
    """How rate, delay and loss change with time."""


#: A link between two nodes, in both directions.
LinkPair = TypedDict(
    "LinkPair",
    {
        "delay": "Span",
        "error": "NotRequired[Error]",
        "framing": "NotRequired[Framing]",
        "from": "str",
        "name": "str",
        "queue": "NotRequired[Queue]",
        "quick_start": "NotRequired[float]",
        "rate": "Rate",
        "return": "NotRequired[LinkPairReturn]",
        "to": "str",
        "trace": "NotRequired[Trace]",
    },
)


class Forward(TypedDict):
    """The forward link."""

    error: NotRequired[Error]
    """What the channel spoils, plans included; each terminal has errors of its own."""
    framing: NotRequired[Framing]
    """How packets are put into what is sent; with one, the rate is that of its units."""
    queue: NotRequired[Queue]
    """The queue in front of it."""
    rate: Rate
    """Rate at the network layer. Burst time plans take their share of it."""


#: a distance, -12000 km to 1e12 km (a depth is negative)
Distance: TypeAlias = "str"

#: an angle, -360 deg to 360 deg
Angle: TypeAlias = "str"


class Site(TypedDict):
    """A place on the ground, in geodetic coordinates on the WGS84 ellipsoid."""

    altitude: NotRequired[Distance]
    """Height above the ellipsoid."""
    latitude: Angle
    """Geodetic latitude, north positive, -90 deg to 90 deg."""
    longitude: Angle
    """Longitude, east positive."""


class Positions(TypedDict):
    """Where satellite and stations are."""

    gateway: Site
    """The gateway."""
    satellite: Angle
    """Longitude of the satellite, east positive."""
    terminals: NotRequired[Site]
    """Terminals that have no `site` of their own."""


#: Propagation between gateway and terminals.
Propagation: TypeAlias = "Span | Positions"


class Acm(TypedDict):
    """Adaptive coding and modulation."""

    burst: int
    """Symbols of a burst: 536 or 1616."""
    esn0_db: float
    """Es/N0 of terminals that have none of their own, in dB."""
    margin_db: float
    """By how much a terminal's Es/N0 must exceed a waveform's threshold, in dB."""


class Carrier(TypedDict):
    """Carriers that are alike."""

    count: NotRequired[int]
    """How many."""
    rate: Rate
    """Rate of each: a whole number of slots, of which the return link's `rate` has `slots_per_frame`."""


#: By which requests a class' data are asked for.
Asks: TypeAlias = 'Literal["nothing", "rate", "volume"]'


class Class(TypedDict):
    """A traffic class."""

    asks: NotRequired[Asks]
    """By which requests its data are asked for."""
    dscp: NotRequired[list[Dscp]]
    """Differentiated services code points of its packets (RFC 2474); the last class has all others, too."""
    name: str
    """Its name."""
    queue: NotRequired[Queue]
    """Its queue, when it is not that of the return link."""


class ProportionalAllocator(TypedDict):
    """Allocator of the kind `proportional`."""

    kind: Literal["proportional"]


class RoundRobinAllocator(TypedDict):
    """Allocator of the kind `round-robin`."""

    kind: Literal["round-robin"]


class MaxMinAllocator(TypedDict):
    """Allocator of the kind `max-min`."""

    kind: Literal["max-min"]


class PriorityAllocator(TypedDict):
    """Allocator of the kind `priority`."""

    kind: Literal["priority"]


#: How the network control centre divides the slots.
Allocator: TypeAlias = 'ProportionalAllocator | RoundRobinAllocator | MaxMinAllocator | PriorityAllocator | Literal["proportional", "round-robin", "max-min", "priority"]'

#: a rate or zero, 0 bit/s to 100 Tbit/s
RateOrZero: TypeAlias = "str"

#: When requests and plans are made.
Planning: TypeAlias = 'Literal["boundary", "just-in-time"]'


class DedicatedRequests(TypedDict):
    """Requests of the kind `dedicated`."""

    every: NotRequired[int]
    """Superframes from one request slot of a terminal to its next."""
    kind: Literal["dedicated"]


class PiggybackRequests(TypedDict):
    """Requests of the kind `piggyback`."""

    kind: Literal["piggyback"]


class AlohaRequests(TypedDict):
    """Requests of the kind `aloha`."""

    backoff: NotRequired[int]
    """Greatest exponent of the back-off."""
    kind: Literal["aloha"]
    slots: NotRequired[int]
    """Mini-slots in a superframe."""


class CrdsaRequests(TypedDict):
    """Requests of the kind `crdsa`."""

    backoff: NotRequired[int]
    """Greatest exponent of the back-off."""
    data: NotRequired[int]
    """Most bytes of data that a burst carries; 0 for requests alone."""
    kind: Literal["crdsa"]
    replicas: NotRequired[int]
    """Replicas of each request."""
    slots: NotRequired[int]
    """Mini-slots in a superframe."""


#: How requests reach the control centre.
Requests: TypeAlias = 'DedicatedRequests | PiggybackRequests | AlohaRequests | CrdsaRequests | Literal["dedicated", "piggyback", "aloha", "crdsa"]'


class QueueEstimator(TypedDict):
    """Estimator of the kind `queue`."""

    kind: Literal["queue"]


class ArrivalEstimator(TypedDict):
    """Estimator of the kind `arrival`."""

    kind: Literal["arrival"]


class PredictiveEstimator(TypedDict):
    """Estimator of the kind `predictive`."""

    kind: Literal["predictive"]
    trend: NotRequired[float]
    """Weight of the newest difference in the trend."""


#: How a terminal estimates the rate that it needs.
Estimator: TypeAlias = (
    'QueueEstimator | ArrivalEstimator | PredictiveEstimator | Literal["queue", "arrival", "predictive"]'
)


class Avbdc(TypedDict):
    """Absolute volume requests."""

    max: NotRequired[RateOrZero]
    """Most that a superframe serves of it; the whole return link when not given."""


class Rbdc(TypedDict):
    """Rate requests."""

    estimator: NotRequired[Estimator]
    """How the terminal knows the rate that it needs."""
    gamma: NotRequired[float]
    """Weight of the newest measurement in the request, of the present queue with the study's estimator;
    greater than zero."""
    max: NotRequired[RateOrZero]
    """Most that a terminal asks for (RBDC_max); the whole return link when not given."""
    timeout: NotRequired[int]
    """Superframes for which an assignment holds without a new request."""


class Vbdc(TypedDict):
    """Volume requests."""

    max: NotRequired[RateOrZero]
    """Most that a superframe serves of it (VBDC_max); the whole return link when not given."""
    timeout: NotRequired[int]
    """Superframes after which the controller forgets what has not been served since the last request; never
    when not given."""


class CraScheme(TypedDict):
    """Scheme of the kind `cra`."""

    kind: Literal["cra"]


class RbdcScheme(TypedDict):
    """Scheme of the kind `rbdc`."""

    estimator: NotRequired[Estimator]
    """How the terminal knows the rate that it needs."""
    gamma: NotRequired[float]
    """Weight of the newest measurement in the request, of the present queue with the study's estimator;
    greater than zero."""
    kind: Literal["rbdc"]
    max: NotRequired[RateOrZero]
    """Most that a terminal asks for (RBDC_max); the whole return link when not given."""
    timeout: NotRequired[int]
    """Superframes for which an assignment holds without a new request."""


class VbdcScheme(TypedDict):
    """Scheme of the kind `vbdc`."""

    kind: Literal["vbdc"]
    max: NotRequired[RateOrZero]
    """Most that a superframe serves of it (VBDC_max); the whole return link when not given."""
    timeout: NotRequired[int]
    """Superframes after which the controller forgets what has not been served since the last request; never
    when not given."""


class AvbdcScheme(TypedDict):
    """Scheme of the kind `avbdc`."""

    kind: Literal["avbdc"]
    max: NotRequired[RateOrZero]
    """Most that a superframe serves of it; the whole return link when not given."""


class FcaScheme(TypedDict):
    """Scheme of the kind `fca`."""

    kind: Literal["fca"]


class MixScheme(TypedDict):
    """Scheme of the kind `mix`."""

    avbdc: NotRequired[Avbdc]
    """Absolute volume requests; `max` is required."""
    fca: NotRequired[bool]
    """Whether terminals get spare slots."""
    kind: Literal["mix"]
    rbdc: NotRequired[Rbdc]
    """Rate requests; `max` is required."""
    vbdc: NotRequired[Vbdc]
    """Volume requests; `max` is required. Either these or `avbdc`."""


#: How terminals get capacity beyond their constant slots.
Scheme: TypeAlias = 'CraScheme | RbdcScheme | VbdcScheme | AvbdcScheme | FcaScheme | MixScheme | Literal["cra", "rbdc", "vbdc", "avbdc", "fca", "mix"]'


class Dama(TypedDict):
    """How terminals get slots."""

    allocator: NotRequired[Allocator]
    """How requested slots are divided when there are not enough."""
    cra: NotRequired[RateOrZero]
    """Constant rate of each terminal (CRA): a whole number of slots. When not given: one slot, but with the
    scheme `cra`, in which there is nothing else, an equal share of the slots that terminals with a rate
    leave."""
    plan_error: NotRequired[Error]
    """What spoils burst time plans, besides the errors of the forward link; each terminal has errors of its
    own."""
    planning: NotRequired[Planning]
    """When terminals ask and the control centre plans."""
    processing: NotRequired[Span]
    """Time from a request's arrival until the allocator may use it."""
    request_error: NotRequired[Error]
    """What spoils requests, besides the errors of the return link."""
    requests: NotRequired[Requests]
    """How requests get to the control centre."""
    response: NotRequired[int]
    """Superframes from a request to its assignment (L). When not given it emerges from propagation,
    processing and the waits for superframe boundaries; when given, a request made at the start of superframe
    n takes effect in superframe n + L."""
    scheme: NotRequired[Scheme]
    """The capacity category by which terminals ask for more than their constant slots."""


class Return(TypedDict):
    """The return link."""

    acm: NotRequired[Acm]
    """Adaptive coding and modulation: what a slot carries follows from each terminal's signal. The return
    link's `rate` then is that of a carrier whose slots carry what `slot_bytes` or `frame` say, and rates of
    terminals count such slots."""
    carriers: NotRequired[list[Carrier]]
    """The carriers, when there are several: each has slots of the same bytes, as many as its rate has room
    for. A terminal sends on one at a time and may change with every slot (MF-TDMA)."""
    classes: NotRequired[list[Class]]
    """Traffic classes, in order of priority; without, all packets are of one class."""
    dama: NotRequired[Dama]
    """Demand-assigned multiple access."""
    error: NotRequired[Error]
    """What the channel spoils, requests included."""
    frame: NotRequired[Span]
    """Length of a frame; 23.5 ms when neither this nor `slot_bytes` is given."""
    frames_per_superframe: NotRequired[int]
    """Frames in a superframe; an assignment holds for one superframe and is the same in each of its
    frames."""
    framing: NotRequired[Framing]
    """How packets are put into slots. A slot must hold whole cells or MPEG packets."""
    queue: NotRequired[Queue]
    """The queue in each terminal, of each class that has none of its own."""
    rate: Rate
    """Rate of a carrier, of all its slots together. Rate x frame / (8 x slots) must be a whole number of
    bytes."""
    slot_bytes: NotRequired[int]
    """Bytes of a slot, instead of `frame`, which then is as long as its slots take, rounded to the
    nanosecond."""
    slots_per_frame: NotRequired[int]
    """Slots in a carrier's frame."""


class Group(TypedDict):
    """One terminal, or several that are alike."""

    count: NotRequired[int]
    """How many terminals."""
    cra: NotRequired[RateOrZero]
    """Constant rate of each (CRA), instead of the network's."""
    esn0_db: NotRequired[float]
    """Es/N0 of each in dB, for adaptive coding and modulation."""
    logoff: NotRequired[Span]
    """When each logs off; what waits in it is dropped. Never when not given."""
    logon: NotRequired[Span]
    """When each begins to log on; logged on from the start when not given."""
    max: NotRequired[RateOrZero]
    """Most that each gets by request: a whole number of slots."""
    min: NotRequired[RateOrZero]
    """Rate that each gets before others when it asks for it: a whole number of slots."""
    name: NotRequired[str]
    """Node name of one terminal; either this or `prefix` and `count`."""
    period: NotRequired[Span]
    """After how long logon and logoff are repeated, again and again: terminals that come and go."""
    prefix: NotRequired[str]
    """What the names of `count` terminals begin with; numbers from 1 follow."""
    site: NotRequired[Site]
    """Where they are, when propagation is given by positions."""
    weight: NotRequired[int]
    """Weight of each among the others, for the allocator `max-min`; 1 when not given."""


#: An entry of the list of terminals.
Terminals: TypeAlias = "str | Group"

#: Whether terminals share a carrier.
Access: TypeAlias = 'Literal["tdma", "scpc"]'

#: Where a terminal's slots come from.
Assignment: TypeAlias = 'Literal["bod", "cir", "mixed"]'

#: Rate of a carrier.
Channel: TypeAlias = 'Literal["low-rate", "high-rate"]'


class Back(TypedDict):
    """The link from the terminals, besides its structure."""

    error: NotRequired[Error]
    """What the channel spoils, requests included."""
    queue: NotRequired[Queue]
    """The queue in each terminal."""


class HighestElevationChoice(TypedDict):
    """Choice of the kind `highest-elevation`."""

    kind: Literal["highest-elevation"]
    margin: NotRequired[Angle]
    """By how much another satellite must be higher than one that serves to take over."""


class LongestVisibilityChoice(TypedDict):
    """Choice of the kind `longest-visibility`."""

    kind: Literal["longest-visibility"]


class LeastHandoversChoice(TypedDict):
    """Choice of the kind `least-handovers`."""

    kind: Literal["least-handovers"]


class ScheduleChoice(TypedDict):
    """Choice of the kind `schedule`."""

    kind: Literal["schedule"]
    offset: NotRequired[Span]
    """Beginning of the first slot in each minute of UTC."""
    slot: NotRequired[Span]
    """Length of a slot; a whole number of them makes a minute."""


#: Which satellites serve a site.
Choice: TypeAlias = 'HighestElevationChoice | LongestVisibilityChoice | LeastHandoversChoice | ScheduleChoice | Literal["highest-elevation", "longest-visibility", "least-handovers", "schedule"]'


class Gsl(TypedDict):
    """Links between satellites and sites: each site has its own queue and rate in both directions, with the
    satellite that serves it."""

    antennas: NotRequired[int]
    """Satellites that serve a site at once, each by an antenna of its own. Over bent pipes a gateway needs
    several to meet the satellites that others are served by."""
    choice: NotRequired[Choice]
    """Which satellites serve a site."""
    down: Rate
    """Rate from a satellite to a site."""
    error: NotRequired[Error]
    """What the channel spoils."""
    mask: NotRequired[Angle]
    """Elevation from which on satellites are seen."""
    queue: NotRequired[Queue]
    """The queues in front of them."""
    up: Rate
    """Rate from a site to its satellite."""


class Handover3(TypedDict):
    """What happens when a site is served by another satellite, or by none."""

    interruption: NotRequired[Span]
    """For how long nothing is sent between the site and the new satellite."""
    overlap: NotRequired[Span]
    """For how long the old satellite goes on to send what waits there for the site: make before break."""
    packets: NotRequired[Fate]
    """What happens to packets on their way over the old satellite. What waits at the site itself goes to the
    new one in any case."""


class NoneIsl(TypedDict):
    """Isl of the kind `none`."""

    kind: Literal["none"]


class GridIsl(TypedDict):
    """Isl of the kind `grid`."""

    clearance: NotRequired[Distance]
    """Links are off while the way between their ends comes closer to the surface: the air would bend and
    absorb a beam."""
    cross_seam: NotRequired[bool]
    """Whether the planes on both sides of a seam are linked too."""
    error: NotRequired[Error]
    """What the channel spoils."""
    kind: Literal["grid"]
    max_latitude: NotRequired[Angle]
    """Links between planes are off while an end is farther north or south than this (geocentric latitude)."""
    max_range: NotRequired[Distance]
    """Links are off while their ends are farther from each other."""
    queue: NotRequired[Queue]
    """The queue in front of each."""
    rate: Rate
    """Rate of each direction of each link."""


#: Inter-satellite links.
Isl: TypeAlias = 'NoneIsl | GridIsl | Literal["none", "grid"]'


class Balance(TypedDict):
    """Spreading connections over several ways."""

    max_delay: NotRequired[Span]
    """A way takes no new connection while its propagation delay and the wait at its ground link together are
    longer."""
    max_load: NotRequired[float]
    """Nor while its ground link had more than this share of its rate to send in the last second."""
    ways: int
    """Ways at once from a site to a destination, which share no satellite; sites need as many antennas."""


#: What makes a way short.
Metric: TypeAlias = 'Literal["delay", "hops"]'


class Routing(TypedDict):
    """Which way packets take."""

    balance: NotRequired[Balance]
    """Several ways at once over which connections are spread."""
    forwarding: NotRequired[str | dict[str, object]]
    """Forwarding state to use instead of the shortest ways, or its file."""
    metric: NotRequired[Metric]
    """What makes a way short."""
    refresh: NotRequired[Span]
    """Ways are computed when links come and go, and as often as this for the distances that have changed
    since; 0 s for not."""
    vanished: NotRequired[Fate]
    """What happens to packets on an inter-satellite link that goes down."""


class WalkerDeltaShell(TypedDict):
    """Shell of the kind `walker-delta`."""

    altitude: Distance
    """Above the equatorial radius, 6378.137 km."""
    inclination: Angle
    """Of all planes."""
    kind: Literal["walker-delta"]
    phasing: NotRequired[int]
    """How far each plane is ahead of the one before, in units of 360 deg over the number of all
    satellites."""
    planes: int
    """Planes."""
    raan_spread: NotRequired[Angle]
    """Over which the ascending nodes are spread."""
    satellites: int
    """Satellites in each plane."""


class WalkerStarShell(TypedDict):
    """Shell of the kind `walker-star`."""

    altitude: Distance
    """Above the equatorial radius, 6378.137 km."""
    inclination: Angle
    """Of all planes."""
    kind: Literal["walker-star"]
    phasing: NotRequired[float]
    """How far each plane is ahead of the one before, in units of 360 deg over the number of all satellites:
    half the number of planes puts its satellites over the gaps of the plane before."""
    planes: int
    """Planes."""
    raan_spread: NotRequired[Angle]
    """Number of planes times the angle between the ascending nodes of neighbouring planes."""
    satellites: int
    """Satellites in each plane."""


class GeoShell(TypedDict):
    """Shell of the kind `geo`."""

    kind: Literal["geo"]
    longitudes: list[Angle]
    """Of the points below them, east positive."""


class ElementsShell(TypedDict):
    """Shell of the kind `elements`."""

    elements: str | dict[str, object]
    """The element sets, or their file: a path from the folder of the scenario."""
    kind: Literal["elements"]


#: A set of satellites.
Shell: TypeAlias = 'WalkerDeltaShell | WalkerStarShell | GeoShell | ElementsShell | Literal["walker-delta", "walker-star", "geo", "elements"]'


class GroundSite(TypedDict):
    """A site of a constellation, in geodetic coordinates on the WGS84 ellipsoid."""

    altitude: NotRequired[Distance]
    """Height above the ellipsoid."""
    antennas: NotRequired[int]
    """Its own number of antennas."""
    latitude: Angle
    """Geodetic latitude, north positive, -90 deg to 90 deg."""
    longitude: Angle
    """Longitude, east positive."""
    mask: NotRequired[Angle]
    """Its own elevation mask."""


#: NetworkKind of the kind `dvb-rcs`.
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

#: NetworkKind of the kind `skyplex`.
SkyplexNetworkKind = TypedDict(
    "SkyplexNetworkKind",
    {
        "access": "NotRequired[Access]",
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
    """NetworkKind of the kind `constellation`."""

    epoch: NotRequired[str]
    """The moment, in UTC, at which the run starts. UT1 is taken to be UTC: the Earth stands wrong by less
    than 0.9 s of its rotation, 420 m at the equator."""
    gsl: Gsl
    """Links between satellites and sites."""
    handover: NotRequired[Handover3]
    """What happens when a site is served by another satellite."""
    isl: NotRequired[Isl]
    """Links between satellites."""
    kind: Literal["constellation"]
    routing: NotRequired[Routing]
    """Which way packets take."""
    shell: list[Shell]
    """The satellites."""
    sites: dict[str, GroundSite]
    """Sites on the ground by the names of their nodes."""


#: An access network.
NetworkKind: TypeAlias = 'DvbRcsNetworkKind | SkyplexNetworkKind | ConstellationNetworkKind | Literal["dvb-rcs", "skyplex", "constellation"]'

#: When the handshake with a connection's source is completed.
Accept: TypeAlias = 'Literal["late", "early"]'


class Sides(TypedDict):
    """A TCP flow."""

    ack_compression: NotRequired[Span]
    """How long acknowledgments of a hole are gathered after the first three, where SACK is in use: at most 1
    ms, and a twentieth of the round-trip time (linux); 0 s for not at all (classic)."""
    ack_every: NotRequired[int]
    """Full segments that one delayed acknowledgment is for: 2 (RFC 1122); 4 of scps, whose standard reduces
    the frequency of acknowledgments and leaves the number open."""
    adapt: NotRequired[list[Adapt]]
    """Senders set window and time-out for a new link at once (fast adaptation): `{ at, rate, round_trip }`
    for each."""
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
        ]
    ]
    """Name of the congestion control, one of bentpipe's C files; for real endpoints also `linux-NAME`, the
    kernel's own of that name."""
    delayed_ack: NotRequired[bool]
    """Acknowledge every second segment, or after `delayed_ack_timeout` (RFC 1122, section 4.2.3.2; on in all
    profiles); otherwise every segment at once."""
    delayed_ack_min: NotRequired[Span]
    """Least delay of an acknowledgment, from which it follows the time between segments: 40 ms in Linux
    (linux). The delay is always `delayed_ack_timeout` when both are the same (classic)."""
    delayed_ack_timeout: NotRequired[Span]
    """Longest delay of an acknowledgment; less than 0.5 s by RFC 1122. 200 ms in all profiles."""
    dsack: NotRequired[bool]
    """Duplicate selective acknowledgments (RFC 2883): on (linux), off (classic)."""
    ecn: NotRequired[bool]
    """Explicit congestion notification (RFC 3168), when both ends want it: off in all profiles, as Linux only
    answers those who ask for it."""
    freeze: NotRequired[list[Freeze]]
    """Receivers close their window before a disconnection and open it afterwards (Freeze-TCP): `{ at, until
    }` for each."""
    freeze_warning: NotRequired[Span]
    """How long before such a handover the ends are warned of it; the round-trip time of a full segment over
    the path without queues when not given."""
    frto: NotRequired[bool]
    """Find out whether a time-out was spurious before all is sent again (F-RTO, RFC 5682), where SACK is in
    use: on (linux), off (classic)."""
    initial_sequence: NotRequired[int]
    """Initial sequence number of both ends; random when not given."""
    initial_ssthresh: NotRequired[int]
    """Slow-start threshold at the start, in segments; infinite when not given (RFC 5681, section 3.1)."""
    initial_window: NotRequired[int]
    """Congestion window at the start, in segments: 10 by RFC 6928 (linux), 2 to 4 by RFC 3390 (classic: 3), 1
    by RFC 2001 (freebsd)."""
    nagle: NotRequired[bool]
    """Hold back small segments while something is unacknowledged (Nagle's algorithm, RFC 9293, section
    3.7.4): off in all profiles."""
    on_handover: NotRequired[list[OnHandover]]
    """What the ends do at the scenario's `[[handover]]`s on their way: `freeze` (Freeze-TCP) at those that
    interrupt or lose, `adapt` (fast adaptation) at those to another link."""
    pacing: NotRequired[bool]
    """Pace segments whatever the congestion control asks for, as behind Linux' fq queue discipline; otherwise
    only those of a congestion control that asks for it, such as bbr."""
    pacing_ca_ratio: NotRequired[int]
    """Pacing rate above that, percent of cwnd / SRTT (Linux' tcp_pacing_ca_ratio): 120."""
    pacing_ss_ratio: NotRequired[int]
    """Pacing rate while cwnd < ssthresh / 2, percent of cwnd / SRTT (Linux' tcp_pacing_ss_ratio): 200."""
    parameters: NotRequired[dict[str, int]]
    """Parameters of the congestion control, by the names that it declares."""
    profile: NotRequired[Profile]
    """The named set of values that the other keys change."""
    proportional_reduction: NotRequired[bool]
    """Reduce the window in proportion to what arrives (PRR, RFC 9937): on (linux); otherwise at once
    (classic)."""
    quick_acks: NotRequired[int]
    """Segments that a receiver acknowledges one by one at the start, after idle time and when it sees
    retransmissions: 16 in Linux (linux), 0 for none (classic)."""
    quick_start: NotRequired[Rate]
    """Ask the path to begin at this rate (Quick-Start, RFC 4782), 80 kbit/s to 1.31072 Gbit/s; not when not
    given. Links and networks that know of it have the key `quick_start` too."""
    quick_window: NotRequired[Size]
    """Receive window up to which it grows from 64 KiB on, by two segments for each that arrives, which is
    then acknowledged at once: 16 MiB, half the buffer that emulated hosts get (linux); 0 B for the whole
    window from the start (classic)."""
    receive_window: NotRequired[Size]
    """The receiver's buffer, which it advertises as its window; never limiting (1 GiB) when not given."""
    receive_window_start: NotRequired[Size]
    """The window at the start, which grows by what arrives up to `receive_window` (dynamic right-sizing, as
    Linux' auto-tuning does it); as large as `receive_window` from the start when not given."""
    recovery: NotRequired[Recovery]
    """How losses are found and repaired: rack (linux), sack (classic)."""
    restart_after_idle: NotRequired[bool]
    """Start again with the initial window after idle time (RFC 5681, section 4.1), halved for each time-out
    that has passed as in Linux (linux); otherwise the window stays (classic)."""
    retries: NotRequired[int]
    """Retransmissions of the same data, or unanswered window probes, after which the connection fails: 15."""
    retries_as_time: NotRequired[bool]
    """Give data up not after so many retransmissions but at the first one after the time that they would take
    if the time-out had begun with `rto_min`, 924.6 s by default (Linux' tcp_retries2): on (linux), off
    (classic)."""
    rto_estimator: NotRequired[RtoEstimator]
    """How the variation of the round-trip time is smoothed: linux (linux), rfc6298 (classic)."""
    rto_initial: NotRequired[Span]
    """Retransmission time-out before the first round-trip time sample (RFC 6298, 2.1): 1 s."""
    rto_max: NotRequired[Span]
    """Greatest retransmission time-out, also with back-off: at least 60 s by RFC 6298 (2.5), 120 s in Linux
    and in all profiles."""
    rto_min: NotRequired[Span]
    """Least retransmission time-out: 1 s by RFC 6298 (2.4) (classic), 200 ms in Linux (linux)."""
    rto_variance_min: NotRequired[Span]
    """Least value of the term 4 RTTVAR: the clock granularity G of RFC 6298 (2.3), 200 ms in Linux and in all
    profiles."""
    sack: NotRequired[bool]
    """Selective acknowledgments (RFC 2018). When not given: on for a recovery that needs them."""
    segment_size: NotRequired[int]
    """Payload bytes of a full segment, 1460 when not given. Packets are 40 bytes longer (IPv4 and TCP
    headers), 52 with timestamps."""
    segmentation_offload: NotRequired[bool]
    """Segments that leave together travel as one packet, as TSO and GSO make of them where no interface
    divides it: a millisecond of the pacing rate, at least two segments, at most 64 KB. Such a packet is
    queued, lost and acknowledged as one. Off in all profiles; real hosts' packets are divided before the
    models see them."""
    send_buffer: NotRequired[Size]
    """The sender's buffer: most bytes that may be unacknowledged; never limiting when not given."""
    syn_linear_timeouts: NotRequired[int]
    """Retransmissions of a SYN before those, without doubling: 4 in Linux since 6.5 (linux), 0 (classic)."""
    syn_retries: NotRequired[int]
    """Retransmissions of a SYN or SYN-ACK, with a time-out that doubles, after which the connection fails:
    6."""
    tail_loss_probe: NotRequired[bool]
    """Probe for a loss at the tail of a flight before the time-out comes (RFC 8985, section 7), where losses
    are found by rack: on (linux), off (classic)."""
    timer_tick: NotRequired[Span]
    """Period of the clock that times segments and on whose ticks time-outs fall: 500 ms in BSD's stacks of
    the nineties (RFC 6298, section 4); 0 s for an exact one (all profiles)."""
    timestamps: NotRequired[bool]
    """Timestamps (RFC 7323, section 3), 12 bytes in every segment: on (linux), off (classic)."""
    undo: NotRequired[bool]
    """Take back reductions that timestamps (RFC 3522) or duplicate SACKs (RFC 3708) show to have been
    spurious: on (linux), off (classic)."""
    window_scaling: NotRequired[bool]
    """Window scaling (RFC 7323, section 2), on in all profiles; without it the window is at most 65535
    bytes."""
    window_validation: NotRequired[bool]
    """Let the window decay that the application does not use (RFC 7661 as Linux has it): on (linux), off
    (classic)."""


class AckDecimationMechanism(TypedDict):
    """Mechanism of the kind `ack-decimation`."""

    keep: NotRequired[int]
    """Acknowledgments of a connection that may wait."""
    kind: Literal["ack-decimation"]
    over: str
    """The slow link or network, in the direction away from the node."""
    queue: NotRequired[int]
    """Packets that may wait in all."""
    rate: Rate
    """Its rate at the network layer."""


class AckFilterMechanism(TypedDict):
    """Mechanism of the kind `ack-filter`."""

    kind: Literal["ack-filter"]
    over: str
    """The slow link or network, in the direction away from the node."""
    queue: NotRequired[int]
    """Packets that may wait."""
    rate: Rate
    """Its rate at the network layer."""


class AckReconstructionMechanism(TypedDict):
    """Mechanism of the kind `ack-reconstruction`."""

    every: NotRequired[Size]
    """Bytes that one acknowledgment stands for, two full segments by default."""
    kind: Literal["ack-reconstruction"]
    longest: NotRequired[Span]
    """Longest time for which one is held."""
    over: str
    """The slow link or network from which the acknowledgments come."""


class SnoopMechanism(TypedDict):
    """Mechanism of the kind `snoop`."""

    cache: NotRequired[int]
    """Packets of a connection that are kept."""
    kind: Literal["snoop"]
    over: str
    """The link or network that loses packets."""
    shortest: NotRequired[Span]
    """Least time without an acknowledgment after which a packet is sent again."""


class SplitMechanism(TypedDict):
    """Mechanism of the kind `split`."""

    accept: NotRequired[Accept]
    """When the handshake with the source is completed."""
    buffer: NotRequired[Size]
    """Most bytes of each direction of a connection that are in the proxy: received from one side and not yet
    acknowledged by the other."""
    kind: Literal["split"]
    sides: NotRequired[dict[str, Sides]]
    """TCP on each side, by the name of the link or network there."""
    transport: NotRequired[Sides]
    """TCP on sides that `sides` does not name."""


#: What a proxy does.
Mechanism: TypeAlias = 'AckDecimationMechanism | AckFilterMechanism | AckReconstructionMechanism | SnoopMechanism | SplitMechanism | Literal["ack-decimation", "ack-filter", "ack-reconstruction", "snoop", "split"]'


class Proxy(TypedDict):
    """A performance-enhancing proxy at a node (RFC 3135)."""

    flows: NotRequired[list[str]]
    """The flows that it serves: over TCP, and passing the node in both directions. All such when not
    given."""
    mechanism: Mechanism
    """What it does."""
    name: str
    """Its name, in results."""
    node: str
    """The node where it stands."""


class Record(TypedDict):
    """What to record."""

    capture: NotRequired[list[str]]
    """Nodes at which packets are captured into `packets.pcapng`."""
    capture_bytes: NotRequired[int]
    """Bytes of each captured packet that are kept."""
    details: NotRequired[bool]
    """Whether destinations measure delay variation and reordering, and all by class: tables `flow_details`
    and `class`."""
    traces: NotRequired[
        list[
            Literal[
                "tcp",
                "delivery",
                "datagram",
                "tfrc",
                "transaction",
                "link",
                "dama",
                "access",
                "ncc",
                "handover",
                "path",
                "selection",
            ]
        ]
    ]
    """Traces to write; none when empty, all by default."""


class Scenario(TypedDict):
    """A network, what flows through it, what to record, and for how long."""

    access: NotRequired[list[ScenarioAccess]]
    """Links between the same two nodes of which one at a time carries."""
    campaign: NotRequired[Campaign]
    """What a campaign varies. A resolved scenario, which is what is run, does not have it."""
    change: NotRequired[list[Change]]
    """What changes while it runs."""
    description: NotRequired[str]
    """What it is about, for people."""
    duration: Span
    """Simulated time."""
    edge: NotRequired[dict[str, list[Rule]]]
    """DiffServ edges, by the names of their nodes: rules for the packets that leave the node for others, in
    order."""
    fidelity: NotRequired[Fidelity]
    """How exact an emulation must be."""
    flow: NotRequired[list[Flow]]
    """What flows."""
    handover: NotRequired[list[Handover2]]
    """When they follow each other."""
    link: NotRequired[list[LinkPair]]
    """Links between two nodes."""
    name: str
    """What it is called, in results and as the name of the run's folder."""
    network: NotRequired[dict[str, NetworkKind]]
    """Access networks, by name."""
    preset: NotRequired[str | list[str]]
    """Fragments to begin from, the later over the earlier; see `bentpipe new --list`."""
    proxy: NotRequired[list[Proxy]]
    """Performance-enhancing proxies at nodes."""
    record: NotRequired[Record]
    """What to record."""
    seed: NotRequired[int]
    """Seed of all random streams."""
