"""The study's experiments, its TCP versions, and the runs that they are."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from bentpipe.jobs import Job

HERE: Final = Path(__file__).parent

#: On which clock: models in virtual time, or the kernel's stacks in real time.
Clock = Literal["virtual", "real"]

#: The study's versions by what a flow says. Reno is what Linux' "reno" is, with selective acknowledgments; NewReno
#: repairs by partial acknowledgments without them (RFC 6582), which is what Linux does when SACK is off.
VERSIONS: Final[dict[str, str]] = {
    "reno": 'congestion = "reno"',
    "newreno": 'congestion = "reno", recovery = "newreno", sack = false',
    "westwood": 'congestion = "westwood"',
    "cubic": 'congestion = "cubic"',
    "hybla": 'congestion = "hybla"',
    "compound": 'congestion = "compound"',
    "bbr": 'congestion = "bbr"',
}

#: Those that the study has.
PUBLISHED: Final = ("reno", "newreno", "westwood", "cubic", "hybla", "compound")

#: Beginnings of the second and of the third phase.
HANDOVERS_S: Final = (20.0, 40.0)
DURATION_S: Final = 60.0

_SOFT: Final = ('access.path.handover={ overlap = "1 s" }',)
_DELAY: Final = ()
_BANDWIDTH: Final = ('link.first.delay="25 ms"', 'link.second.rate="512 kbit/s"')
#: Figure 6 begins on the slow link.
_SLOW_FIRST: Final = ('link.first.delay="25 ms"', 'link.first.rate="512 kbit/s"')
_LOSS: Final = (
    'link.first.error={ kind = "packet", probability = 1e-5 }',
    'link.second.delay="250 ms"',
)


def _broken(milliseconds: int) -> tuple[str, ...]:
    return (f'access.path.handover={{ interruption = "{milliseconds} ms", packets = "lose" }}',)


@dataclass(frozen=True)
class Experiment:
    """What a figure shows: overrides of path.toml, and the rates of the three phases in bit/s."""

    name: str
    title: str
    overrides: tuple[str, ...]
    rates: tuple[float, float, float]
    scenario: str = "path.toml"

    @property
    def handovers_s(self) -> tuple[float, ...]:
        """When links change."""
        return HANDOVERS_S if self.scenario == "path.toml" else ()

    @property
    def side(self) -> str:
        """What leads from the gateway to the client."""
        return "path" if self.scenario == "path.toml" else "first"


_FAST, _SLOW = 2e6, 512e3

#: By name.
EXPERIMENTS: Final[dict[str, Experiment]] = {
    one.name: one
    for one in (
        Experiment(
            "satellite", "satellite alone: 512 kbit/s, RTT 500 ms", (), (_SLOW,) * 3, "satellite.toml"
        ),
        Experiment("delay", "RTT 500 - 50 - 500 ms at 2 Mbit/s", _SOFT + _DELAY, (_FAST,) * 3),
        Experiment(
            "bandwidth",
            "2 Mbit/s - 512 kbit/s - 2 Mbit/s at RTT 50 ms",
            _SOFT + _BANDWIDTH,
            (_FAST, _SLOW, _FAST),
        ),
        Experiment("loss", "loss 1e-5 - none - 1e-5 at 2 Mbit/s, RTT 500 ms", _SOFT + _LOSS, (_FAST,) * 3),
        *(
            Experiment(
                f"delay-{gap}",
                f"RTT 500 - 50 - 500 ms at 2 Mbit/s, breaks of {gap} ms",
                _broken(gap),
                (_FAST,) * 3,
            )
            for gap in (500, 1000)
        ),
        *(
            Experiment(
                f"bandwidth-{gap}",
                f"512 kbit/s - 2 Mbit/s - 512 kbit/s at RTT 50 ms, breaks of {gap} ms",
                _broken(gap) + _SLOW_FIRST,
                (_SLOW, _FAST, _SLOW),
            )
            for gap in (500, 1000)
        ),
    )
}


def job(experiment: Experiment, version: str, clock: Clock) -> Job:
    """A version in an experiment, end to end."""
    return Job(
        f"{experiment.name}-{version}-{clock}",
        HERE / experiment.scenario,
        (*experiment.overrides, f'flow.transfer.transport={{ kind = "tcp", {VERSIONS[version]} }}'),
        clock=clock,
    )


def split_job(experiment: Experiment, version: str) -> Job:
    """A version towards the client from a simulated proxy at the gateway; the server has Linux' default."""
    mechanism = f'{{ kind = "split", sides.{experiment.side} = {{ {VERSIONS[version]} }} }}'
    proxy = f'proxy=[{{ name = "pep", node = "gateway", mechanism = {mechanism} }}]'
    server = 'flow.transfer.transport={ kind = "tcp", congestion = "cubic" }'
    return Job(
        f"{experiment.name}-pep-{version}-virtual",
        HERE / experiment.scenario,
        (*experiment.overrides, server, proxy),
    )
