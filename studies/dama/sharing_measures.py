"""Our measured values for T_II and T_III, by the ids of published.csv."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
from bentpipe.statistics import Mean, mean_of
from bentpipe.studies import Table

from .curves import CONGESTIONS, SCHEMES, Congestion, Course, Scheme
from .sharing import (
    APART,
    CHANGES,
    END_S,
    JOIN_S,
    LEAVE_S,
    NO_SLOT,
    QUEUE,
    RANDOM_FLOW_COUNT,
    RETURN_S,
    SEEDS,
    START_OFFSET_COUNT,
    Case,
    Sharing,
)

#: Minimum utilisation of a full link.
FULL: Final = 0.95
#: Minimum fairness index of a fairly shared link.
FAIR: Final = 0.95

#: Our interval for the paper's transient, in seconds. The second flow starts at 5 s, the fifth at
#: 20 s.
TRANSIENT_S: Final = (5.0, 40.0)
#: Our interval for the time after the transient, in seconds.
AFTERWARDS_S: Final = (40.0, 200.0)
#: The part of the transient in which all five flows are active.
ALL_ACTIVE_S: Final = (20.0, 40.0)

#: Interval in which the utilisations of ten flows are compared.
SHOWN_S: Final = (10.0, 100.0)
#: Intervals in which the fairness index of ten flows oscillates, and in which it is damped.
OSCILLATION_S: Final = ((5.0, 40.0), (40.0, 80.0))
#: Maximum distance of a converged fairness index from its final level.
CONVERGED_DISTANCE: Final = 0.05
#: Start of the interval whose mean is the final level of the index.
FINAL_LEVEL_FROM_S: Final = 60.0

#: Time after a change of the flows before shares are measured. Vegas yields or Reno recovers in it.
SETTLE_S: Final = 10.0


def measure_fairness(sharing: Mapping[Case, Sharing]) -> dict[str, float | None]:
    """Returns the values for T_II. Values of ten flows are means over the seeds."""

    def of(congestion: Congestion, scheme: Scheme) -> Sharing:
        return sharing[Case(congestion, scheme)]

    ours: dict[str, float | None] = {}
    vegas, reno = of("vegas", "cra"), of("reno", "cra")
    ours["fair-lead-cra"] = 100 * (mean(vegas.fairness, TRANSIENT_S) - mean(reno.fairness, TRANSIENT_S))
    for congestion, one in (("reno", reno), ("vegas", vegas)):
        ours[f"fair-later-{congestion}-cra"] = mean(one.fairness, AFTERWARDS_S)
    full_s, fair_s = reached_s(reno.utilisation, FULL), settled_s(reno.fairness, FAIR)
    ours["fair-wait-reno-cra"] = None if full_s is None or fair_s is None else fair_s - full_s
    for scheme in ("rbdc", "vbdc"):
        ours[f"use-vegas-{scheme}"] = 100 * mean(of("vegas", scheme).utilisation, AFTERWARDS_S)
    ours["fair-level-vegas-vbdc"] = mean(of("vegas", "vbdc").fairness, AFTERWARDS_S)
    full = {scheme: reached_s(of("reno", scheme).utilisation, FULL) for scheme in SCHEMES}
    if full["vbdc"] is not None and full["rbdc"] is not None and full["cra"] is not None:
        ours["full-later-reno-vbdc"] = full["vbdc"] - full["rbdc"]
        ours["full-later-cra-reno-vbdc"] = full["vbdc"] - full["cra"]
    low, high = start_fairness(sharing, "reno", "cra")
    ours["ten-low-cra"], ours["ten-high-cra"] = low.value, high.value
    ours["fair-saturation-vegas-cra"] = reached_s(vegas.utilisation, FULL)
    for assigned in (SCHEMES[0], SCHEMES[2]):
        reno_runs, vegas_runs = (
            [sharing[Case(one, assigned, RANDOM_FLOW_COUNT, seed)] for seed in SEEDS] for one in CONGESTIONS
        )
        time = reno_runs[0].utilisation.time_s
        shown = (time >= SHOWN_S[0]) & (time <= SHOWN_S[1])
        both = [np.mean([one.utilisation.value for one in runs], axis=0) for runs in (reno_runs, vegas_runs)]
        ours[f"ten-lower-{assigned}"] = 100 * float((both[1] < both[0])[shown].mean())
        ours[f"ten-damped-{assigned}"] = _damped(reno_runs)
        ours[f"ten-converge-{assigned}"] = converged_s(vegas_runs) - converged_s(reno_runs)
    return rounded(ours)


def measure_causes(sharing: Mapping[Case, Sharing]) -> dict[str, float | None]:
    """Returns the values for T_II-causes. Each has one change of the test or of the measure."""

    def of(congestion: Congestion, scheme: Scheme, change: str) -> Sharing:
        return sharing[Case(congestion, scheme, change=change)]

    ours: dict[str, float | None] = {}
    lead = mean(of("vegas", "cra", "").fairness, ALL_ACTIVE_S)
    ours["all-fair-lead-cra"] = 100 * (lead - mean(of("reno", "cra", "").fairness, ALL_ACTIVE_S))
    bounded = of("reno", "cra", QUEUE)
    ours["queue-fair-later-reno-cra"] = mean(bounded.fairness, AFTERWARDS_S)
    full_s, fair_s = reached_s(bounded.utilisation, FULL), settled_s(bounded.fairness, FAIR)
    ours["queue-fair-wait-reno-cra"] = None if full_s is None or fair_s is None else fair_s - full_s
    for scheme in ("rbdc", "vbdc"):
        apart = of("vegas", scheme, APART)
        ours[f"apart-use-vegas-{scheme}"] = 100 * mean(apart.utilisation, AFTERWARDS_S)
    ours["apart-fair-level-vegas-vbdc"] = mean(of("vegas", "vbdc", APART).fairness, AFTERWARDS_S)
    full = {scheme: reached_s(of("reno", scheme, APART).utilisation, FULL) for scheme in SCHEMES}
    if full["vbdc"] is not None and full["rbdc"] is not None:
        ours["apart-full-later-reno-vbdc"] = full["vbdc"] - full["rbdc"]
    for change in (*CHANGES, NO_SLOT):
        one = of("vegas", "vbdc", change)
        ours[f"{change}-use-vegas-vbdc"] = 100 * mean(one.utilisation, AFTERWARDS_S)
        ours[f"{change}-fair-level-vegas-vbdc"] = mean(one.fairness, AFTERWARDS_S)
    by_start_offset = {
        scheme: [run for case, run in sharing.items() if case in _offset_cases(scheme)]
        for scheme in SCHEMES[1:]
    }
    for scheme, runs in by_start_offset.items():
        used = [mean(one.utilisation, AFTERWARDS_S) for one in runs]
        ours[f"moments-use-vegas-{scheme}"] = 100 * float(np.mean(used))
    fair = [mean(one.fairness, AFTERWARDS_S) for one in by_start_offset["vbdc"]]
    ours["moments-fair-level-vegas-vbdc"] = float(np.mean(fair))
    reno, vegas = (
        [sharing[Case(one, "cra", RANDOM_FLOW_COUNT, seed, QUEUE)] for seed in SEEDS] for one in CONGESTIONS
    )
    ours["queue-ten-damped-cra"] = _damped(reno)
    ours["queue-ten-converge-cra"] = converged_s(vegas) - converged_s(reno)
    return rounded(ours)


def _offset_cases(scheme: Scheme) -> list[Case]:
    return [Case("vegas", scheme, start_offset=offset) for offset in range(START_OFFSET_COUNT)]


def _damped(runs: Sequence[Sharing]) -> float:
    """Returns the ratio of the fairness index's standard deviations in the second and in the first
    interval of :data:`OSCILLATION_S`. Each is a mean over the seeds."""
    early, late = (np.mean([one.fairness.between(*part).std() for one in runs]) for part in OSCILLATION_S)
    return float(late / early)


def table_of_start_offsets(sharing: Mapping[Case, Sharing]) -> Table:
    """Returns the table of five Vegas flows that start at different offsets within a superframe."""
    rows = []
    for scheme in SCHEMES[1:]:
        runs = [sharing[case] for case in _offset_cases(scheme)]
        for name, values in (
            ("utilisation", [mean(one.utilisation, AFTERWARDS_S) for one in runs]),
            ("fairness", [mean(one.fairness, AFTERWARDS_S) for one in runs]),
        ):
            cells = [f"{value:.3f}" for value in (min(values), float(np.mean(values)), max(values))]
            rows.append([f"Vegas/{scheme.upper()}", name, *cells])
    about = f"Five flows of Vegas from {START_OFFSET_COUNT} moments within a superframe on, 40 to 200 s"
    return Table(about, ["flows", "of", "least", "mean", "greatest"], rows)


def start_fairness(
    sharing: Mapping[Case, Sharing], congestion: Congestion, scheme: Scheme
) -> tuple[Mean, Mean]:
    """Returns the means, over the seeds, of the minimum and the maximum fairness of ten flows
    between the second and the last start."""
    lows, highs = [], []
    for seed in SEEDS:
        case = Case(congestion, scheme, RANDOM_FLOW_COUNT, seed)
        starts = [start for start, _ in case.times_s]
        values = sharing[case].fairness.between(starts[1], starts[-1])
        lows.append(float(values.min()))
        highs.append(float(values.max()))
    return mean_of(lows), mean_of(highs)


def table_of_start_fairness(sharing: Mapping[Case, Sharing]) -> Table:
    """Returns the table of the minimum and maximum fairness of ten flows while they start."""
    rows = []
    for congestion in CONGESTIONS:
        for scheme in SCHEMES:
            both = start_fairness(sharing, congestion, scheme)
            cells = [one.text(2) for one in both]
            rows.append([congestion.capitalize(), scheme.upper(), *cells])
    about = (
        "Ten flows while they join (figures 16 and 17): least and greatest index of fairness, means over "
        f"{len(SEEDS)} draws with 95 % confidence intervals"
    )
    return Table(about, ["congestion", "scheme", "least", "greatest"], rows)


def measure_friendliness(sharing: Mapping[Scheme, Sharing]) -> dict[str, float | None]:
    """Returns the values for T_III."""
    ours: dict[str, float | None] = {}
    for scheme, one in sharing.items():
        ours[f"yield-first-{scheme}"] = one.share("vegas", (JOIN_S + SETTLE_S, LEAVE_S))
        ours[f"yield-again-{scheme}"] = one.share("vegas", (RETURN_S + SETTLE_S, END_S))
        before, with_vegas = (
            _rate_of_reno(one, interval) for interval in ((JOIN_S - 20, JOIN_S), (JOIN_S + 10, LEAVE_S))
        )
        ours[f"reno-unchanged-{scheme}"] = with_vegas / before
        ours[f"alone-{scheme}"] = 100 * mean(one.utilisation, (LEAVE_S + SETTLE_S, RETURN_S))
    return rounded(ours)


def measure_friendliness_causes(
    unchanged: Mapping[Scheme, Sharing],
    threshold_2: Mapping[Scheme, Sharing],
    without: Mapping[Scheme, Sharing],
) -> dict[str, float | None]:
    """Returns the values for T_III-causes: with a Vegas slow start that ends at once, and the rate
    of Reno relative to its rate without Vegas."""
    ours: dict[str, float | None] = {}
    after = (JOIN_S + SETTLE_S, LEAVE_S)
    for scheme in SCHEMES:
        rate, alone = _rate_of_reno(unchanged[scheme], after), _rate_of_reno(without[scheme], after)
        ours[f"threshold-2-{_RENO_UNCHANGED}-{scheme}"] = measure_friendliness({scheme: threshold_2[scheme]})[
            f"{_RENO_UNCHANGED}-{scheme}"
        ]
        ours[f"beside-{_RENO_UNCHANGED}-{scheme}"] = rate / alone
    return rounded(ours)


_RENO_UNCHANGED: Final = "reno-unchanged"


def _rate_of_reno(one: Sharing, interval_s: tuple[float, float]) -> float:
    rates = [course for name, course in one.rates_bit_s.items() if name.startswith("reno")]
    return sum(mean(course, interval_s) for course in rates)


def mean(course: Course, interval_s: tuple[float, float]) -> float:
    """Returns the mean over an interval."""
    return float(course.between(*interval_s).mean())


def reached_s(course: Course, level: float) -> float | None:
    """Returns the first time at which a course reaches a level."""
    reached = np.flatnonzero(course.value >= level)
    return float(course.time_s[reached[0]]) if len(reached) else None


def settled_s(course: Course, level: float) -> float | None:
    """Returns the first time from 20 s on at which a course reaches a level. From 20 s, all five
    flows are active."""
    reached = np.flatnonzero((course.value >= level) & (course.time_s >= 20.0))
    return float(course.time_s[reached[0]]) if len(reached) else None


def converged_s(runs: Sequence[Sharing]) -> float:
    """Returns the last time at which the mean fairness index over the seeds is more than
    :data:`CONVERGED_DISTANCE` from its final level. Later, the index stays near that level."""
    time = runs[0].fairness.time_s
    shown = (time >= OSCILLATION_S[0][0]) & (time <= SHOWN_S[1])
    time = time[shown]
    index = np.mean([np.interp(time, one.fairness.time_s, one.fairness.value) for one in runs], axis=0)
    level = index[time >= FINAL_LEVEL_FROM_S].mean()
    away = np.flatnonzero(np.abs(index - level) > CONVERGED_DISTANCE)
    return float(time[away[-1]]) if len(away) else float(time[0])


def rounded(ours: dict[str, float | None]) -> dict[str, float | None]:
    """Rounds the values to six decimal places, because two computations of one value may differ in
    the last digits."""
    return {name: None if value is None else round(value, 6) + 0.0 for name, value in ours.items()}
