"""The twelve curves of test T_I: their simulations, and the series that the figures and measures
use."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final, Literal

import numpy as np
from bentpipe.campaign.jobs import Job, run_all
from bentpipe.plots.data import FloatArray, duration_s, rate, superframes, trace_of
from bentpipe.quantities import base_value
from bentpipe.results.predictions import predict_run
from bentpipe.results.runs import Run
from bentpipe.simulation import Progress

HERE: Final = Path(__file__).parent

Direction = Literal["forward", "return"]
Congestion = Literal["reno", "vegas"]
Scheme = Literal["cra", "rbdc", "vbdc"]

FLOW: Final = "transfer"

CONGESTIONS: Final[tuple[Congestion, ...]] = ("reno", "vegas")
SCHEMES: Final[tuple[Scheme, ...]] = ("cra", "rbdc", "vbdc")

#: The study's Vegas is the algorithm of 1995; see README.md, "Which Vegas".
CONTROLS: Final = {"reno": "reno", "vegas": "vegas95"}

#: The curves for CRA use the whole return link. With less, a terminal would not reach the full
#: rate, and data on the forward link need 267 kbit/s for their acknowledgments. With the other
#: schemes each terminal has one constant slot.
CRA: Final = {"cra": "2048 kbit/s", "rbdc": "64 kbit/s", "vbdc": "64 kbit/s"}

#: Window for goodput, efficiency and round-trip times: a few round-trip times, so that bursts of a
#: congestion window that does not fill the pipe are averaged out.
WINDOW_S: Final = 5.0
STEP_S: Final = 0.5


@dataclass(frozen=True)
class Change:
    """A single change of test T_I that isolates a cause. ``overrides`` are applied last and take
    precedence."""

    name: str
    overrides: tuple[str, ...]


@dataclass(frozen=True)
class Curve:
    """A line of a figure, or that line under one change of the test."""

    direction: Direction
    congestion: Congestion
    scheme: Scheme
    change: Change | None = None

    @property
    def name(self) -> str:
        """The name of the curve's folder of runs.

        >>> Curve("return", "reno", "cra").name
        'return-reno-cra'
        """
        name = f"{self.direction}-{self.congestion}-{self.scheme}"
        return name if self.change is None else f"{name}-{self.change.name}"

    @property
    def overrides(self) -> list[str]:
        """The overrides that turn the direction's scenario into this curve's."""
        return [
            f"flow.{FLOW}.transport.congestion={CONTROLS[self.congestion]}",
            f"network.sat.return.dama.scheme={self.scheme}",
            f'network.sat.return.dama.cra="{CRA[self.scheme]}"',
            *(() if self.change is None else self.change.overrides),
        ]

    @property
    def scenario(self) -> Path:
        """The scenario file of the curve's direction."""
        return HERE / f"{self.direction}.toml"


DIRECTIONS: Final[tuple[Direction, ...]] = ("forward", "return")
CURVES: Final = [Curve(*parts) for parts in itertools.product(DIRECTIONS, CONGESTIONS, SCHEMES)]

#: Each packet is sent in a section of multi-protocol encapsulation with LLC/SNAP (EN 301 192). This
#: adds 24 bytes, so an acknowledgment of 40 bytes takes 64 bytes of the return link (README.md,
#: "The size of an acknowledgment").
SECTIONS: Final = Change("sections", ('network.sat.return.framing={kind="mpe",llc_snap=true}',))
#: Slots on request only, without a constant slot.
NO_SLOT: Final = Change("no-slot", ('network.sat.return.dama.cra="0 kbit/s"',))
LINUX_VEGAS: Final = Change("linux-vegas", (f"flow.{FLOW}.transport.congestion=vegas",))
#: A queue of the bandwidth-delay product of 2048 kbit/s and 500 ms.
BOUNDED_WINDOW: Final = Change("bounded-window", (f'flow.{FLOW}.transport.receive_window="128 kB"',))
FIRST_WINDOW: Final = Change("window-2", (f"flow.{FLOW}.transport.initial_window=2",))
#: Vegas with a target of exactly one waiting segment; the paper does not give its alpha and beta.
ONE_WAITING: Final = Change("alpha-beta-1", (f"flow.{FLOW}.transport.parameters={{alpha=1,beta=1}}",))
#: An application write that fits one slot, instead of eight.
SMALL_PACKETS: Final = Change("small-packets", (f"flow.{FLOW}.transport.segment_size=148",))

CAUSES: Final = [
    *(Curve("forward", congestion, scheme, SECTIONS) for congestion in CONGESTIONS for scheme in SCHEMES[1:]),
    Curve("return", "vegas", "rbdc", SECTIONS),
    # No change of the run, but another interval or another measure.
    *(Curve("return", congestion, "rbdc") for congestion in CONGESTIONS),
    *(Curve("return", congestion, "rbdc", FIRST_WINDOW) for congestion in CONGESTIONS),
    *(Curve("return", "vegas", scheme, ONE_WAITING) for scheme in SCHEMES),
    *(Curve("return", "reno", scheme) for scheme in ("cra", "vbdc")),
    *(
        Curve(direction, congestion, "vbdc", NO_SLOT)
        for direction in DIRECTIONS
        for congestion in CONGESTIONS
    ),
    *(Curve("return", "vegas", scheme, LINUX_VEGAS) for scheme in SCHEMES[1:]),
    Curve("return", "reno", "cra", BOUNDED_WINDOW),
    Curve("return", "vegas", "vbdc", SMALL_PACKETS),
]


@dataclass(frozen=True)
class Course:
    """A quantity against time: two arrays of one shape; times in seconds."""

    time_s: FloatArray
    value: FloatArray

    def between(self, start_s: float, end_s: float) -> FloatArray:
        """Returns the values within an interval."""
        return self.value[(self.time_s >= start_s) & (self.time_s < end_s)]


class Series:
    """The recorded series of one run of a curve."""

    def __init__(self, curve: Curve, run: Run) -> None:
        self.curve = curve
        self.run = run
        self.duration_s = duration_s(run)

    @cached_property
    def rtt_ms(self) -> Course:
        """Every sample of the round-trip time, at the moment of its acknowledgment."""
        time, value = trace_of(self.run, "rtt")[FLOW]
        there = ~np.isnan(value)
        return Course(time[there], 1e3 * value[there])

    @cached_property
    def ceiling_kbit_s(self) -> float:
        """Payload rate of a link that is filled with full segments."""
        network = self.run.scenario["network"]["sat"]
        link = network["forward" if self.curve.direction == "forward" else "return"]["rate"]
        transport = self.run.scenario["flow"][0]["transport"]
        segment = float(transport["segment_size"])
        header = float(predict_run(self.run)[FLOW].arguments["header_bytes"])
        return float(base_value(link)) / 1e3 * segment / (segment + header)

    @cached_property
    def goodput_kbit_s(self) -> Course:
        """Payload rate delivered in the window around each moment."""
        time, volume = trace_of(self.run, "delivery.delivered")[FLOW]
        return self._sliding(time, volume, 1e-3)

    @cached_property
    def efficiency(self) -> Course:
        """Equation 15 over the window around each moment, in percent: bytes sent in slots over the
        capacity of the slots."""
        slots = superframes(self.run.trace("dama"))
        used = self._sliding(slots["time"], slots["used"].cumsum(), 1.0)
        assigned = self._sliding(slots["time"], slots["assigned"].cumsum(), 1.0)
        there = assigned.value > 0
        return Course(used.time_s[there], 100 * used.value[there] / assigned.value[there])

    def _sliding(self, time_s: FloatArray, volume: FloatArray, factor: float) -> Course:
        """Returns the growth of a running total per second, over windows that end within the
        run."""
        steps = round(WINDOW_S / STEP_S)
        _, rates = rate(time_s, volume, STEP_S, self.duration_s)
        total = np.concatenate(([0.0], np.cumsum(rates)))
        mean = (total[steps:] - total[:-steps]) / steps
        middles = WINDOW_S / 2 + STEP_S * np.arange(len(mean), dtype=np.float64)
        return Course(middles, mean * factor)


def simulate_all(curves: Sequence[Curve], out: Path, progress: Progress) -> dict[Curve, Series]:
    """Simulates the curves into folders named after them below ``out``. ``progress`` receives the
    completed fraction of all runs."""
    jobs = {curve: Job(curve.name, curve.scenario, tuple(curve.overrides)) for curve in curves}
    runs = run_all(list(jobs.values()), out, progress)
    return {curve: Series(curve, runs[job]) for curve, job in jobs.items()}
