"""The study's experiments, TCP versions and set-ups, and the jobs that run them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Literal

from bentpipe.campaign.jobs import Job

HERE: Final = Path(__file__).parent

#: The clock of a run: models in virtual time, or the kernel's stacks in real time.
Clock = Literal["virtual", "real"]

#: The paper's TCP versions, by congestion control. Compound is the version of Windows 7, the others
#: are versions of Linux. Here, Compound has the same profile as the others, because no source gives
#: the values of the Windows 7 stack.
VERSIONS: Final = ("reno", "westwood", "cubic", "hybla", "compound")

#: Start times of the second and of the third phase.
HANDOVERS_S: Final = (20.0, 40.0)
#: Duration of a transfer.
DURATION_S: Final = 60.0

#: Kinds of link change: one emulated link whose parameters change, or two links of a
#: ``[[multilink]]``.
Model = Literal["emulated-link", "access"]


#: Parameters of Linux's modules that differ from the papers that they implement
#: (docs/reference/congestion).
MODULES: Final = {
    "hybla": "{ hoe = 0, spacing = 0, coarse = 1, per_ack = 1, from_rho = 1 }",
    "westwood": "{ filter = 875, order = 2, late = 1 }",
}


@dataclass(frozen=True)
class Setup:
    """Our assumptions for the values that the paper does not state."""

    name: str = "as in the study"
    model: Model = "emulated-link"
    #: Profile of the TCP stack.
    profile: str = "linux-2.6.32"
    #: Keys of the transport that differ from the profile.
    changed: str = ""
    #: True for Hybla and Westwood as in Linux's modules, false for Hybla and Westwood as in their
    #: papers.
    modules: bool = True
    #: Length of the drop-tail queue, in packets. The default is netem's.
    queue: int = 1000
    #: Maximum window of Compound in KiB. ``None``: unlimited.
    window: int | None = 160
    #: True if ``window`` applies to all versions.
    everyone: bool = False
    #: Slow-start threshold that the Linux stacks take from their metrics cache, in segments.
    #: ``None``: no cached threshold.
    ssthresh: int | None = 30
    #: RTT of the experiment ``loss``.
    loss_rtt_ms: int = 50

    def transport(self, version: str) -> str:
        """Returns the transport keys of a flow of this version, without its kind."""
        keys = [self.stack(version)]
        if self.modules and version in MODULES:
            keys.append(f"parameters = {MODULES[version]}")
        if self.window is not None and (version == "compound" or self.everyone):
            keys.append(f'receive_window = "{self.window} KiB"')
        if self.ssthresh is not None and version != "compound":
            keys.append(f"initial_ssthresh = {self.ssthresh}")
        return ", ".join(keys)

    def stack(self, version: str) -> str:
        """Returns the transport keys of the stack of this version."""
        keys = [f'congestion = "{version}"', f'profile = "{self.profile}"', self.changed]
        return ", ".join(filter(None, keys))


#: The set-up of the study.
STUDY: Final = Setup()

#: The stack of the real clock's kernel instead of the stack of the paper's time.
TODAY: Final = replace(STUDY, name="Linux 6.18", profile="linux")

#: Two links of a ``[[multilink]]`` instead of one emulated link.
ACCESS: Final = replace(STUDY, name="access model", model="access")

#: The queue of earlier editions of the study.
SHORT: Final = replace(STUDY, name="queue of 250 packets", queue=250)

#: Set-ups that are tests: all claims are judged with each.
VARIANTS: Final = {"queue-250": SHORT, "today": TODAY, "access": ACCESS}

#: Set-ups with one changed assumption each, some with several values. The last is the set-up of the
#: study's first edition.
SENSITIVITY: Final = (
    STUDY,
    TODAY,
    *(
        replace(STUDY, name=name, changed=keys)
        for name, keys in (
            ("initial window of 10, time-out of 1 s (3.1)", 'initial_window = 10, rto_initial = "1 s"'),
            ("proportional rate reduction (3.2)", "proportional_reduction = true"),
            ("bursts (3.12)", "bursts = true"),
            ("growth by segments (4.0)", "byte_counting = true"),
            ("RACK and tail loss probes (4.18)", 'recovery = "rack", tail_loss_probe = true'),
        )
    ),
    replace(STUDY, name="Hybla and Westwood of their papers", modules=False),
    *(
        replace(STUDY, name=f"queue of {packets} packets", queue=packets)
        for packets in (100, 160, 250, 500, 800, 1500)
    ),
    replace(STUDY, name="Compound not bounded", window=None),
    *(replace(STUDY, name=f"Compound bounded by {size} KiB", window=size) for size in (128, 256)),
    replace(STUDY, name="all versions bounded by 160 KiB", everyone=True),
    replace(STUDY, name="no cached ssthresh", ssthresh=None),
    replace(STUDY, name="cached ssthresh of 60", ssthresh=60),
    replace(STUDY, name="loss at RTT 500 ms", loss_rtt_ms=500),
    replace(
        STUDY, name="queue of 100, nothing bounded, nothing cached", queue=100, window=None, ssthresh=None
    ),
    ACCESS,
    replace(ACCESS, name="access model, no cached ssthresh", ssthresh=None),
    replace(
        ACCESS,
        name="access model, queue of 100, nothing bounded, nothing cached",
        queue=100,
        window=None,
        ssthresh=None,
    ),
)


@dataclass(frozen=True)
class Phase:
    """The parameters of the emulated link in a phase."""

    rate_bit_s: float
    rtt_ms: int
    #: Packet loss probability.
    loss: float = 0.0

    def keys(self, *, broken: bool = False) -> str:
        """Returns the link's keys as an inline table, equal in both directions. A ``broken`` link
        drops every packet."""
        probability = 1.0 if broken else self.loss
        error = f'{{ kind = "packet", probability = {probability} }}' if probability else '"none"'
        each = f'delay = "{self.rtt_ms / 2} ms", rate = "{self.rate_bit_s} bit/s", error = {error}'
        return f"{{ {each}, return = {{ {each} }} }}"


_FAST, _SLOW = 2e6, 512e3
_SATELLITE: Final = Phase(_SLOW, 500, 1e-5)


@dataclass(frozen=True)
class Experiment:
    """The experiment of a figure: three phases of 20 s, with breaks of ``gap_ms`` between them."""

    name: str
    title: str
    phases: tuple[Phase, Phase, Phase]
    gap_ms: int = 0

    @property
    def rates(self) -> tuple[float, ...]:
        """The rates of the phases in bit/s."""
        return tuple(phase.rate_bit_s for phase in self.phases)

    @property
    def handovers_s(self) -> tuple[float, ...]:
        """Times in seconds at which the link changes. Empty if all phases are equal."""
        return HANDOVERS_S if len(set(self.phases)) > 1 else ()


def _varied(name: str, title: str, first: Phase, second: Phase, gap_ms: int = 0) -> Experiment:
    broken = f", breaks of {gap_ms} ms" if gap_ms else ""
    return Experiment(f"{name}-{gap_ms}" if gap_ms else name, title + broken, (first, second, first), gap_ms)


_DELAY: Final = ("delay", "RTT 500 - 50 - 500 ms at 2 Mbit/s", Phase(_FAST, 500), Phase(_FAST, 50))
_SLOW_FIRST: Final = (
    "512 kbit/s - 2 Mbit/s - 512 kbit/s at RTT 50 ms",
    Phase(_SLOW, 50),
    Phase(_FAST, 50),
)

#: The experiment whose sender stops at :data:`DURATION_S`.
TAIL: Final = "satellite-tail"
#: Duration of the run of :data:`TAIL`, in which the last packets arrive.
TAIL_UNTIL_S: Final = 130.0

#: Experiments by name. ``loss`` has the round-trip time of :attr:`Setup.loss_rtt_ms`.
EXPERIMENTS: Final[dict[str, Experiment]] = {
    one.name: one
    for one in (
        Experiment("satellite", "satellite alone: 512 kbit/s, RTT 500 ms", (_SATELLITE,) * 3),
        Experiment(TAIL, "satellite alone, the sender stops after 60 s", (_SATELLITE,) * 3),
        _varied(*_DELAY),
        _varied(
            "bandwidth", "2 Mbit/s - 512 kbit/s - 2 Mbit/s at RTT 50 ms", Phase(_FAST, 50), Phase(_SLOW, 50)
        ),
        _varied("wired", *_SLOW_FIRST),
        _varied(
            "loss", "loss 1e-5 - none - 1e-5 at 2 Mbit/s, RTT 50 ms", Phase(_FAST, 50, 1e-5), Phase(_FAST, 50)
        ),
        *(_varied(*_DELAY, gap_ms=gap) for gap in (500, 1000)),
        *(_varied("bandwidth", *_SLOW_FIRST, gap_ms=gap) for gap in (500, 1000)),
    )
}


def overrides(experiment: Experiment, setup: Setup, later_s: float = 0.0) -> tuple[str, ...]:
    """Returns the overrides of path.toml or access.toml for an experiment. ``later_s`` is added to
    the times of link changes."""
    phases = experiment.phases
    if experiment.name == "loss":
        phases = tuple(replace(phase, rtt_ms=setup.loss_rtt_ms) for phase in phases)  # type: ignore[assignment]
    queue = f'queue = {{ kind = "drop-tail", packets = {setup.queue} }}'
    if _scenario(experiment, setup) == "access.toml":
        return _of_access(experiment, phases, queue)
    changes = []
    if experiment.handovers_s:
        for at, before, after in zip(HANDOVERS_S, phases, phases[1:], strict=False):
            if experiment.gap_ms:
                changes.append(_change(later_s + at, before.keys(broken=True)))
            changes.append(_change(later_s + at + experiment.gap_ms / 1e3, after.keys()))
    first = phases[0].keys().removeprefix("{ ")
    ends = f'name = "path", from = "gateway", to = "client", {queue}'
    stops = (
        f'flow.transfer.app={{ kind = "bulk", duration = "{DURATION_S} s" }}',
        f'duration="{TAIL_UNTIL_S} s"',
    )
    return (
        *(stops if experiment.name == TAIL else ()),
        f"link=[{_LAN}, {{ {ends}, {first}]",
        f"change=[{', '.join(changes)}]",
    )


_LAN: Final = (
    '{ name = "lan", from = "server", to = "gateway", '
    'rate = "100 Mbit/s", delay = "100 us", queue = "unlimited" }'
)


def _change(at_s: float, keys: str) -> str:
    return f'{{ at = "{at_s} s", set = {{ link = {{ path = {keys} }} }} }}'


def _of_access(experiment: Experiment, phases: tuple[Phase, ...], queue: str) -> tuple[str, ...]:
    links = [_LAN]
    for name, phase in (("first", phases[0]), ("second", phases[1])):
        ends = f'name = "{name}", from = "gateway", to = "client", {queue}'
        links.append(f"{{ {ends}, {phase.keys().removeprefix('{ ')}")
    gap = experiment.gap_ms
    handover = f'{{ interruption = "{gap} ms", packets = "lose" }}' if gap else '{ overlap = "1 s" }'
    return (f"link=[{', '.join(links)}]", f"multilink.path.handover={handover}")


def _scenario(experiment: Experiment, setup: Setup) -> str:
    return "access.toml" if setup.model == "access" and experiment.handovers_s else "path.toml"


def job(experiment: Experiment, version: str, clock: Clock, setup: Setup = STUDY) -> Job:
    """Returns the job of an experiment with one version end to end, without a proxy."""
    transport = f'flow.transfer.transport={{ kind = "tcp", {setup.transport(version)} }}'
    name = f"{experiment.name}-{version}-{clock}"
    return Job(
        name, HERE / _scenario(experiment, setup), (*overrides(experiment, setup), transport), clock=clock
    )


def split_job(experiment: Experiment, version: str, setup: Setup = STUDY) -> Job:
    """Returns the job of an experiment through a simulated proxy at the gateway. The proxy uses the
    given version towards the client. The server uses Linux's default, CUBIC."""
    mechanism = f'{{ kind = "split", sides.path = {{ {setup.transport(version)} }} }}'
    proxy = f'proxy=[{{ name = "pep", node = "gateway", mechanism = {mechanism} }}]'
    server = f'flow.transfer.transport={{ kind = "tcp", {setup.stack("cubic")} }}'
    name = f"{experiment.name}-pep-{version}-virtual"
    return Job(name, HERE / _scenario(experiment, setup), (*overrides(experiment, setup), server, proxy))
