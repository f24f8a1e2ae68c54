"""Runs of test T_I, one per curve, and their time series of RTT, goodput and efficiency."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final, Literal

import numpy as np
from bentpipe.campaign.jobs import Job
from bentpipe.plots.data import FloatArray, duration_s, rate, superframes, trace_of
from bentpipe.quantities import base_value
from bentpipe.results.predictions import predict_run
from bentpipe.results.runs import Run
from bentpipe.simulation import Progress

from .setups import PAPER, Setup

HERE: Final = Path(__file__).parent

Direction = Literal["forward", "return"]
Congestion = Literal["reno", "vegas"]
Scheme = Literal["cra", "rbdc", "vbdc"]

#: Name of the flow in the scenarios.
FLOW: Final = "transfer"

#: Congestion controls by the paper's names.
CONGESTIONS: Final[tuple[Congestion, ...]] = ("reno", "vegas")
#: Capacity assignment: constant (CRA), by rate request (RBDC), by volume request (VBDC).
SCHEMES: Final[tuple[Scheme, ...]] = ("cra", "rbdc", "vbdc")

#: bentpipe's names of the congestion controls. The paper's Vegas is the algorithm of 1995; see
#: README.md, "Which Vegas".
CONTROLS: Final = {"reno": "reno", "vegas": "vegas95"}

#: Constant capacity of the terminal, by scheme. With CRA, the terminal has the entire return link:
#: with less, it would not reach the full rate, and the acknowledgments of data on the forward link
#: need 267 kbit/s. With RBDC and VBDC, the terminal has one constant slot.
CRA: Final = {"cra": "2048 kbit/s", "rbdc": "64 kbit/s", "vbdc": "64 kbit/s"}

#: Length of the sliding window over which goodput and efficiency are averaged. It spans several
#: round-trip times, so it averages out the bursts of a small congestion window.
WINDOW_S: Final = 5.0
#: Step of the sliding window.
STEP_S: Final = 0.5


@dataclass(frozen=True)
class Change:
    """A change of test T_I that isolates a cause. Its ``overrides`` take precedence over those of
    the curve."""

    name: str
    overrides: tuple[str, ...]


@dataclass(frozen=True)
class Curve:
    """The parameters of a run: a line of a figure, or the same line with one change of the test."""

    direction: Direction
    congestion: Congestion
    scheme: Scheme
    change: Change | None = None

    @property
    def name(self) -> str:
        """The name of the run's folder.

        >>> Curve("return", "reno", "cra").name
        'return-reno-cra'
        """
        name = f"{self.direction}-{self.congestion}-{self.scheme}"
        return name if self.change is None else f"{name}-{self.change.name}"

    @property
    def overrides(self) -> list[str]:
        """The overrides of the direction's scenario for this curve."""
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
#: The twelve curves of T_I.
CURVES: Final = [Curve(*parts) for parts in itertools.product(DIRECTIONS, CONGESTIONS, SCHEMES)]

#: Each packet is sent in a section of multi-protocol encapsulation with LLC/SNAP (EN 301 192). This
#: adds 24 bytes, so an acknowledgment of 40 bytes takes 64 bytes of the return link (README.md,
#: "The size of an acknowledgment").
SECTIONS: Final = Change("sections", ('network.sat.return.framing={kind="mpe",llc_snap=true}',))
#: Slots on request only, without a constant slot.
NO_SLOT: Final = Change("no-slot", ('network.sat.return.dama.cra="0 kbit/s"',))
#: Linux's Vegas instead of the algorithm of 1995.
LINUX_VEGAS: Final = Change("linux-vegas", (f"flow.{FLOW}.transport.congestion=vegas",))
#: A receive window of 128 kB, the bandwidth-delay product of 2048 kbit/s and 500 ms.
BOUNDED_WINDOW: Final = Change("bounded-window", (f'flow.{FLOW}.transport.receive_window="128 kB"',))
#: An initial window of two segments instead of one.
FIRST_WINDOW: Final = Change("window-2", (f"flow.{FLOW}.transport.initial_window=2",))
#: Vegas with a target of exactly one queued segment (alpha and beta of 1). The paper does not state
#: alpha and beta.
ONE_WAITING: Final = Change("alpha-beta-1", (f"flow.{FLOW}.transport.parameters={{alpha=1,beta=1}}",))
#: Segments that fit one slot, instead of eight slots.
SMALL_PACKETS: Final = Change("small-packets", (f"flow.{FLOW}.transport.segment_size=148",))

#: The runs of T_I-causes.
CAUSES: Final = [
    *(Curve("forward", congestion, scheme, SECTIONS) for congestion in CONGESTIONS for scheme in SCHEMES[1:]),
    Curve("return", "vegas", "rbdc", SECTIONS),
    # These runs of T_I are measured in a different interval or with a different measure.
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
    """A time series: times in seconds and the values at these times, two arrays of equal length."""

    time_s: FloatArray
    value: FloatArray

    def between(self, start_s: float, end_s: float) -> FloatArray:
        """Returns the values within an interval."""
        return self.value[(self.time_s >= start_s) & (self.time_s < end_s)]


class Series:
    """The time series of one run."""

    def __init__(self, curve: Curve, run: Run) -> None:
        self.curve = curve
        self.run = run
        self.duration_s = duration_s(run)

    @cached_property
    def rtt_ms(self) -> Course:
        """Every sample of the round-trip time, at the arrival time of its acknowledgment."""
        time, value = trace_of(self.run, "rtt")[FLOW]
        known = ~np.isnan(value)
        return Course(time[known], 1e3 * value[known])

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
        """Delivered payload rate, averaged over a window centred at each time."""
        time, volume = trace_of(self.run, "delivery.delivered")[FLOW]
        return self._sliding(time, volume, 1e-3)

    @cached_property
    def efficiency(self) -> Course:
        """Efficiency (equation 15): bytes sent in slots, in percent of the capacity of the assigned
        slots, over a window centred at each time."""
        slots = superframes(self.run.trace("dama"))
        used = self._sliding(slots["time"], slots["used"].cumsum(), 1.0)
        assigned = self._sliding(slots["time"], slots["assigned"].cumsum(), 1.0)
        defined = assigned.value > 0
        return Course(used.time_s[defined], 100 * used.value[defined] / assigned.value[defined])

    @cached_property
    def slots(self) -> Course:
        """Assigned slots per frame, including constant slots, in each superframe."""
        slots = superframes(self.run.trace("dama"))
        return Course(slots["time"], slots["assigned"])

    def _sliding(self, time_s: FloatArray, volume: FloatArray, factor: float) -> Course:
        """Returns the growth rate of a running total, times ``factor``, over windows that end
        within the run."""
        steps = round(WINDOW_S / STEP_S)
        _, rates = rate(time_s, volume, STEP_S, self.duration_s)
        total = np.concatenate(([0.0], np.cumsum(rates)))
        mean = (total[steps:] - total[:-steps]) / steps
        middles = WINDOW_S / 2 + STEP_S * np.arange(len(mean), dtype=np.float64)
        return Course(middles, mean * factor)


def simulate_all(
    curves: Sequence[Curve], out: Path, progress: Progress, setup: Setup = PAPER
) -> dict[Curve, Series]:
    """Runs the curves and returns their time series. A curve's run folder is ``out/NAME``.
    ``progress`` receives the completed fraction of all runs."""
    jobs = {curve: Job(curve.name, curve.scenario, tuple(curve.overrides)) for curve in curves}
    return {curve: Series(curve, run) for curve, run in setup.run(jobs, out, progress).items()}


def simulate_constant(out: Path, progress: Progress, setup: Setup = PAPER) -> dict[Scheme, float]:
    """Runs a flow of constant rate and returns its mean one-way delay over CRA and RBDC, in
    milliseconds."""
    schemes: tuple[Scheme, ...] = ("cra", "rbdc")
    jobs = {
        scheme: Job(
            f"constant-{scheme}",
            HERE / "constant.toml",
            (
                f"network.sat.return.dama.scheme={scheme}",
                f'network.sat.return.dama.cra="{CRA[scheme]}"',
            ),
        )
        for scheme in schemes
    }
    runs = setup.run(jobs, out, progress)
    return {scheme: 1e3 * float(run.flows["delay_mean"][0]) for scheme, run in runs.items()}
