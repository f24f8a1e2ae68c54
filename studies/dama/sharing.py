"""T_II and T_III, several flows through one terminal: their runs, and the courses that the figures
and measures use."""

from __future__ import annotations

import itertools
import random
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final

import numpy as np
from bentpipe.campaign.jobs import Job, run_all
from bentpipe.plots.data import FloatArray, duration_s, rate, trace_of
from bentpipe.predict import jain_index
from bentpipe.results.runs import Run
from bentpipe.simulation import Progress

from .curves import CONGESTIONS, CONTROLS, CRA, SCHEMES, Congestion, Course, Scheme

HERE: Final = Path(__file__).parent

#: Payload rate of a return link that is filled with full segments, in bit/s.
CEILING_BIT_S: Final = 2048e3 * 1460 / 1500

#: Window for the rates of flows, as in T_I.
WINDOW_S: Final = 5.0
STEP_S: Final = 0.5

#: Number of flows in the second half of T_II, and number of random draws of their starts and
#: lifetimes.
TEN: Final = 10
SEEDS: Final = tuple(range(1, 11))

#: Start times of five flows within a superframe.
MOMENTS: Final = 12
SUPERFRAME_S: Final = 0.094

#: Time from which the flows of T_III are active.
JOIN_S, LEAVE_S, RETURN_S, END_S = 100.0, 150.0, 250.0, 400.0


@dataclass(frozen=True)
class Case:
    """A run of five flows, or of ten flows with random starts and lifetimes from ``seed``."""

    congestion: Congestion
    scheme: Scheme
    flows: int = 5
    seed: int = 1
    #: Change of the paper's test that isolates a cause: one of :data:`CHANGES`.
    change: str = ""
    #: Delay of the start of five flows, in twelfths of a superframe.
    moment: int = 0

    @property
    def job(self) -> Job:
        """Returns the job whose run gives this case's values."""
        names = [f"f{number}" for number in range(1, self.flows + 1)]
        changes = [f"flow.{name}.transport.congestion={CONTROLS[self.congestion]}" for name in names]
        changes += _scheme(self.scheme, CRA[self.scheme])
        name = f"{self.flows}-flows-{self.congestion}-{self.scheme}"
        if self.flows == TEN:
            name = f"{name}-{self.seed}"
            for flow, (start_s, lifetime_s) in zip(names, self.times_s, strict=True):
                changes += [f'flow.{flow}.start="{start_s} s"', f'flow.{flow}.app.duration="{lifetime_s} s"']
        if self.moment:
            name = f"{name}-moment-{self.moment}"
            late_s = SUPERFRAME_S * self.moment / MOMENTS
            changes += [f'flow.{flow}.start="{5 * place + late_s:.6f} s"' for place, flow in enumerate(names)]
        if self.change:
            name = f"{name}-{self.change}"
        if self.change in CHANGES:
            changes += [f"flow.{flow}.{CHANGES[self.change]}" for flow in names]
        if self.change == QUEUE:
            changes.append('network.sat.return.queue={kind="drop-tail",bytes="128 kB"}')
        if self.change == NO_SLOT:
            changes += _scheme(self.scheme, "0 kbit/s")
        if self.change == APART:
            own = "384 kbit/s" if self.scheme == "cra" else CRA[self.scheme]
            terminals = ", ".join(f'"st{number}"' for number in range(1, self.flows + 1))
            changes += [f"network.sat.terminals=[{terminals}]", *_scheme(self.scheme, own)]
            changes += [f"flow.{flow}.from=st{flow[1:]}" for flow in names]
        scenario = HERE / {5: "five-flows.toml", TEN: "ten-flows.toml"}[self.flows]
        return Job(name, scenario, tuple(changes), self.seed)

    @property
    def times_s(self) -> list[tuple[float, float]]:
        """Returns start and lifetime of each of ten flows: gaps are uniform in 1 to 10 s, lifetimes
        in 50 to 100 s."""
        draw = random.Random(self.seed)
        starts = itertools.accumulate((draw.uniform(1, 10) for _ in range(TEN - 1)), initial=0.0)
        return [(round(start, 3), round(draw.uniform(50, 100), 3)) for start in starts]


#: Each flow from its own terminal; the terminals share the link's constant slots.
APART: Final = "apart"
#: The terminal's queue is limited to the bandwidth-delay product of 2048 kbit/s and 500 ms.
QUEUE: Final = "bounded-queue"
#: Slots on request only, without a constant slot.
NO_SLOT: Final = "no-slot"
#: Keys that are set at each flow.
CHANGES: Final = {
    "window-2": "transport.initial_window=2",
    "alpha-beta-1": "transport.parameters={alpha=1,beta=1}",
}


def _scheme(scheme: Scheme, cra: str) -> list[str]:
    return [f"network.sat.return.dama.scheme={scheme}", f'network.sat.return.dama.cra="{cra}"']


FIVE: Final = [Case(*parts) for parts in itertools.product(CONGESTIONS, SCHEMES)]
CAUSES: Final = [
    *(Case(case.congestion, case.scheme, change=APART) for case in FIVE),
    *(Case(congestion, "cra", change=change) for congestion in CONGESTIONS for change in ("", QUEUE)),
    *(Case("vegas", "vbdc", change=change) for change in (*CHANGES, NO_SLOT)),
    *(Case("vegas", scheme, moment=moment) for scheme in SCHEMES[1:] for moment in range(MOMENTS)),
    *(Case(congestion, "cra", TEN, seed, QUEUE) for congestion in CONGESTIONS for seed in SEEDS),
]
TENS: Final = [
    Case(congestion, scheme, TEN, seed)
    for congestion, scheme, seed in itertools.product(CONGESTIONS, SCHEMES, SEEDS)
]


class Sharing:
    """The division of the link among the flows of one run."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.duration_s = duration_s(run)

    @cached_property
    def rates_bit_s(self) -> dict[str, Course]:
        """Payload rate of each flow over the window around each moment."""
        steps = round(WINDOW_S / STEP_S)
        middles, courses = None, {}
        for name, (time, volume) in trace_of(self.run, "delivery.delivered").items():
            if name.endswith(".reverse"):
                continue
            _, rates = rate(time, volume, STEP_S, self.duration_s)
            total = np.concatenate(([0.0], np.cumsum(rates)))
            mean = (total[steps:] - total[:-steps]) / steps
            if middles is None:
                middles = WINDOW_S / 2 + STEP_S * np.arange(len(mean), dtype=np.float64)
            courses[name] = Course(middles, mean)
        return courses

    @cached_property
    def utilisation(self) -> Course:
        """Equation 18: payload rate of all flows over the link's payload rate."""
        courses = list(self.rates_bit_s.values())
        total: FloatArray = np.sum([course.value for course in courses], axis=0) / CEILING_BIT_S
        return Course(courses[0].time_s, total)

    @cached_property
    def fairness(self) -> Course:
        """Equation 16 over the flows that are active at each moment, once two flows have started.

        A flow is active from its start to the end of the lifetime that the scenario gives.
        """
        courses = self.rates_bit_s
        time = next(iter(courses.values())).time_s
        index = np.full(len(time), np.nan)
        lives = {flow["name"]: _life_s(flow) for flow in self.run.scenario["flow"]}
        there = {
            name: (time >= lives[name][0]) & (time <= lives[name][1]) for name in courses if name in lives
        }
        for at in range(len(time)):
            rates = [courses[name].value[at] for name, mask in there.items() if mask[at]]
            if len(rates) > 1 and max(rates) > 0:
                index[at] = float(jain_index(rates))
        known = ~np.isnan(index)
        return Course(time[known], index[known])

    def share(self, prefix: str, stretch_s: tuple[float, float]) -> float:
        """Returns the mean rate of the flows with this prefix over the rate of all flows, in
        percent."""
        means = {name: float(one.between(*stretch_s).mean()) for name, one in self.rates_bit_s.items()}
        return (
            100 * sum(value for name, value in means.items() if name.startswith(prefix)) / sum(means.values())
        )


def _life_s(flow: Mapping[str, object]) -> tuple[float, float]:
    from bentpipe.quantities import base_value

    start = float(base_value(str(flow["start"])))
    app = flow["app"]
    assert isinstance(app, Mapping)
    lasts = app.get("duration")
    return start, start + float(base_value(lasts)) if lasts else float("inf")


def simulate_sharing(cases: list[Case], out: Path, progress: Progress) -> dict[Case, Sharing]:
    """Returns the runs of T_II."""
    jobs = {case: case.job for case in cases}
    runs = run_all(list(jobs.values()), out, progress)
    return {case: Sharing(runs[job]) for case, job in jobs.items()}


#: Changes of T_III that isolate a cause: the slow start of Vegas ends at once; Vegas never joins.
AT_ONCE: Final = "vegas-threshold-2"
WITHOUT: Final = "without-vegas"
_OF_VEGAS: Final = {
    "": (),
    AT_ONCE: ("transport.initial_ssthresh=2",),
    WITHOUT: (f'start="{END_S - 1:g} s"',),
}


def simulate_friendliness(out: Path, progress: Progress, change: str = "") -> dict[Scheme, Sharing]:
    """Returns the three runs of T_III, with a change if one is named."""
    changes = [f"flow.vegas{number}.{key}" for number in (1, 2, 3) for key in _OF_VEGAS[change]]
    jobs = {
        scheme: Job(
            f"friendliness-{scheme}{f'-{change}' if change else ''}",
            HERE / "friendliness.toml",
            (*_scheme(scheme, CRA[scheme]), *changes),
        )
        for scheme in SCHEMES
    }
    runs = run_all(list(jobs.values()), out, progress)
    return {scheme: Sharing(runs[job]) for scheme, job in jobs.items()}
