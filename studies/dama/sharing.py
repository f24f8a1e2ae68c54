"""Runs of T_II and T_III, in which several flows share a terminal, and their time series of rate,
utilisation and fairness."""

from __future__ import annotations

import itertools
import random
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final

import numpy as np
from bentpipe.campaign.jobs import Job
from bentpipe.plots.data import FloatArray, duration_s, rate, trace_of
from bentpipe.predict import jain_index
from bentpipe.results.runs import Run
from bentpipe.simulation import Progress

from .curves import CONGESTIONS, CONTROLS, CRA, SCHEMES, Congestion, Course, Scheme
from .setups import PAPER, Setup

HERE: Final = Path(__file__).parent

#: Payload rate of a return link that is filled with full segments, in bit/s.
CEILING_BIT_S: Final = 2048e3 * 1460 / 1500

#: Length of the sliding window over which the rate of a flow is averaged, as in T_I.
WINDOW_S: Final = 5.0
#: Step of the sliding window.
STEP_S: Final = 0.5

#: Number of flows in the second part of T_II, whose starts and lifetimes are random.
RANDOM_FLOW_COUNT: Final = 10
#: Seeds of the random starts and lifetimes. Each seed is one run.
SEEDS: Final = tuple(range(1, 11))

#: Number of equally spaced offsets within a superframe at which the five flows can start.
START_OFFSET_COUNT: Final = 12
#: Duration of a superframe.
SUPERFRAME_S: Final = 0.094

#: Time in T_III at which the three Vegas flows start.
JOIN_S: Final = 100.0
#: Time in T_III at which the three Reno flows stop.
LEAVE_S: Final = 150.0
#: Time in T_III at which three Reno flows start again.
RETURN_S: Final = 250.0
#: Time at which T_III ends.
END_S: Final = 400.0


@dataclass(frozen=True)
class Case:
    """The parameters of a run of T_II: five flows, or ten flows with random starts and
    lifetimes."""

    congestion: Congestion
    scheme: Scheme
    flows: int = 5
    #: Seed of the random starts and lifetimes of ten flows.
    seed: int = 1
    #: Change of the paper's test that isolates a cause: a key of :data:`CHANGES`, :data:`APART`,
    #: :data:`QUEUE` or :data:`NO_SLOT`. Empty: the paper's test.
    change: str = ""
    #: Start of the five flows after the start of a superframe, as a multiple of a superframe
    #: divided by :data:`START_OFFSET_COUNT`.
    start_offset: int = 0

    @property
    def job(self) -> Job:
        """Returns the job that runs this case."""
        names = [f"f{number}" for number in range(1, self.flows + 1)]
        changes = [f"flow.{name}.transport.congestion={CONTROLS[self.congestion]}" for name in names]
        changes += _scheme(self.scheme, CRA[self.scheme])
        name = f"{self.flows}-flows-{self.congestion}-{self.scheme}"
        if self.flows == RANDOM_FLOW_COUNT:
            name = f"{name}-{self.seed}"
            for flow, (start_s, lifetime_s) in zip(names, self.times_s, strict=True):
                changes += [f'flow.{flow}.start="{start_s} s"', f'flow.{flow}.app.duration="{lifetime_s} s"']
        if self.start_offset:
            name = f"{name}-moment-{self.start_offset}"
            offset_s = SUPERFRAME_S * self.start_offset / START_OFFSET_COUNT
            changes += [
                f'flow.{flow}.start="{5 * index + offset_s:.6f} s"' for index, flow in enumerate(names)
            ]
        if self.change:
            name = f"{name}-{self.change}"
        if self.change in CHANGES:
            changes += [f"flow.{flow}.{CHANGES[self.change]}" for flow in names]
        if self.change == QUEUE:
            changes.append('network.sat.return.queue={kind="drop-tail",bytes="128 kB"}')
        if self.change == NO_SLOT:
            changes += _scheme(self.scheme, "0 kbit/s")
        if self.change == APART:
            cra = "384 kbit/s" if self.scheme == "cra" else CRA[self.scheme]
            terminals = ", ".join(f'"st{number}"' for number in range(1, self.flows + 1))
            changes += [f"network.sat.terminals=[{terminals}]", *_scheme(self.scheme, cra)]
            changes += [f"flow.{flow}.from=st{flow[1:]}" for flow in names]
        scenario = HERE / {5: "five-flows.toml", RANDOM_FLOW_COUNT: "ten-flows.toml"}[self.flows]
        return Job(name, scenario, tuple(changes), self.seed)

    @property
    def times_s(self) -> list[tuple[float, float]]:
        """Returns the start and the lifetime of each of the ten flows, in seconds.

        The gaps between starts are uniform from 1 to 10 s, the lifetimes from 50 to 100 s."""
        draw = random.Random(self.seed)
        starts = itertools.accumulate(
            (draw.uniform(1, 10) for _ in range(RANDOM_FLOW_COUNT - 1)), initial=0.0
        )
        return [(round(start, 3), round(draw.uniform(50, 100), 3)) for start in starts]


#: A change: each flow has its own terminal. With CRA, each terminal has 384 kbit/s.
APART: Final = "apart"
#: A change: the terminal's queue is limited to 128 kB, the bandwidth-delay product of 2048 kbit/s
#: and 500 ms.
QUEUE: Final = "bounded-queue"
#: A change: the terminal has slots on request only, without a constant slot.
NO_SLOT: Final = "no-slot"
#: Changes that override one key of each flow, by name.
CHANGES: Final = {
    "window-2": "transport.initial_window=2",
    "alpha-beta-1": "transport.parameters={alpha=1,beta=1}",
}


def _scheme(scheme: Scheme, cra: str) -> list[str]:
    return [f"network.sat.return.dama.scheme={scheme}", f'network.sat.return.dama.cra="{cra}"']


#: The runs of five flows of T_II.
FIVE_FLOW_CASES: Final = [Case(*parts) for parts in itertools.product(CONGESTIONS, SCHEMES)]
#: The runs of T_II-causes.
CAUSES: Final = [
    *(Case(case.congestion, case.scheme, change=APART) for case in FIVE_FLOW_CASES),
    *(Case(congestion, "cra", change=change) for congestion in CONGESTIONS for change in ("", QUEUE)),
    *(Case("vegas", "vbdc", change=change) for change in (*CHANGES, NO_SLOT)),
    *(
        Case("vegas", scheme, start_offset=offset)
        for scheme in SCHEMES[1:]
        for offset in range(START_OFFSET_COUNT)
    ),
    *(
        Case(congestion, "cra", RANDOM_FLOW_COUNT, seed, QUEUE)
        for congestion in CONGESTIONS
        for seed in SEEDS
    ),
]
#: The runs of ten flows of T_II.
TEN_FLOW_CASES: Final = [
    Case(congestion, scheme, RANDOM_FLOW_COUNT, seed)
    for congestion, scheme, seed in itertools.product(CONGESTIONS, SCHEMES, SEEDS)
]


class Sharing:
    """The rates, the utilisation and the fairness of the flows of one run."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.duration_s = duration_s(run)

    @cached_property
    def rates_bit_s(self) -> dict[str, Course]:
        """Payload rate of each flow, averaged over a window centred at each time."""
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
        """Utilisation (equation 18): payload rate of all flows divided by the link's payload
        rate."""
        courses = list(self.rates_bit_s.values())
        total: FloatArray = np.sum([course.value for course in courses], axis=0) / CEILING_BIT_S
        return Course(courses[0].time_s, total)

    @cached_property
    def fairness(self) -> Course:
        """Jain's fairness index (equation 16) of the active flows, from the start of the second
        flow.

        A flow is active from its start to the end of its lifetime in the scenario.
        """
        courses = self.rates_bit_s
        time = next(iter(courses.values())).time_s
        index = np.full(len(time), np.nan)
        lifetimes_s = {flow["name"]: _lifetime_s(flow) for flow in self.run.scenario["flow"]}
        active = {
            name: (time >= lifetimes_s[name][0]) & (time <= lifetimes_s[name][1])
            for name in courses
            if name in lifetimes_s
        }
        for step in range(len(time)):
            rates = [courses[name].value[step] for name, mask in active.items() if mask[step]]
            if len(rates) > 1 and max(rates) > 0:
                index[step] = float(jain_index(rates))
        known = ~np.isnan(index)
        return Course(time[known], index[known])

    def share(self, prefix: str, interval_s: tuple[float, float]) -> float:
        """Returns the share of the flows with this prefix in the mean rate of all flows, in
        percent."""
        means = {name: float(one.between(*interval_s).mean()) for name, one in self.rates_bit_s.items()}
        return (
            100 * sum(value for name, value in means.items() if name.startswith(prefix)) / sum(means.values())
        )


def _lifetime_s(flow: Mapping[str, object]) -> tuple[float, float]:
    from bentpipe.quantities import base_value

    start = float(base_value(str(flow["start"])))
    app = flow["app"]
    assert isinstance(app, Mapping)
    duration = app.get("duration")
    return start, start + float(base_value(duration)) if duration else float("inf")


def simulate_sharing(
    cases: list[Case], out: Path, progress: Progress, setup: Setup = PAPER
) -> dict[Case, Sharing]:
    """Runs cases of T_II and returns their results."""
    runs = setup.run({case: case.job for case in cases}, out, progress)
    return {case: Sharing(run) for case, run in runs.items()}


#: A change of T_III: the initial slow-start threshold of Vegas is 2, so its slow start ends at
#: once.
VEGAS_THRESHOLD_2: Final = "vegas-threshold-2"
#: A change of T_III: Vegas starts only in the last second, so Reno has the link alone.
WITHOUT_VEGAS: Final = "without-vegas"
#: Overrides of each Vegas flow, by change.
_VEGAS_OVERRIDES: Final = {
    "": (),
    VEGAS_THRESHOLD_2: ("transport.initial_ssthresh=2",),
    WITHOUT_VEGAS: (f'start="{END_S - 1:g} s"',),
}


def simulate_friendliness(
    out: Path, progress: Progress, change: str = "", setup: Setup = PAPER
) -> dict[Scheme, Sharing]:
    """Runs T_III with each scheme and returns the results.

    ``change`` is empty, :data:`VEGAS_THRESHOLD_2` or :data:`WITHOUT_VEGAS`."""
    changes = [f"flow.vegas{number}.{key}" for number in (1, 2, 3) for key in _VEGAS_OVERRIDES[change]]
    jobs = {
        scheme: Job(
            f"friendliness-{scheme}{f'-{change}' if change else ''}",
            HERE / "friendliness.toml",
            (*_scheme(scheme, CRA[scheme]), *changes),
        )
        for scheme in SCHEMES
    }
    return {scheme: Sharing(run) for scheme, run in setup.run(jobs, out, progress).items()}
