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
    STEP_S,
    WINDOW_S,
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
#: Our interval for "always": from the start of the second flow to the end.
FIVE_FLOWS_S: Final = (5.0, 200.0)
#: Utilisation of Vegas over VBDC that the paper calls constant, and its tolerance, in percent.
ALWAYS_USED: Final = (10.0, 5.0)
#: The part of the transient in which all five flows are active.
ALL_ACTIVE_S: Final = (20.0, 40.0)

#: Interval in which the fairness of ten flows is compared.
SHOWN_S: Final = (10.0, 100.0)
#: Intervals in which the fairness index of ten flows oscillates, and in which it is damped.
OSCILLATION_S: Final = ((5.0, 40.0), (40.0, 80.0))
#: Start of the phase in which connections stop: the end of the paper's highest load.
STOPPING_FROM_S: Final = 80.0
#: Decrease of the fairness index that counts as worse.
WORSE: Final = 0.05

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
    low, high = start_fairness(sharing, "vegas", "cra")
    ours["ten-low-vegas-cra"], ours["ten-high-vegas-cra"] = low.value, high.value
    full_s, fair_s = reached_s(vegas.utilisation, FULL), settled_s(vegas.fairness, FAIR)
    if full_s is not None and full["cra"] is not None:
        ours["full-earlier-reno-cra"] = full_s - full["cra"]
    ours["fair-wait-vegas-cra"] = None if full_s is None or fair_s is None else fair_s - full_s
    ours["fair-trend-rbdc"] = max(
        abs(mean(of(congestion, "rbdc").fairness, part) - mean(of(congestion, "cra").fairness, part))
        for congestion in CONGESTIONS
        for part in (TRANSIENT_S, AFTERWARDS_S)
    )
    for scheme, part in zip(SCHEMES[1:], (FIVE_FLOWS_S, TRANSIENT_S), strict=True):
        lead = mean(of("vegas", scheme).fairness, part) - mean(of("reno", scheme).fairness, part)
        ours[f"fair-lead-{scheme}"] = 100 * lead
    ours["use-always-vegas-vbdc"] = always_percent(of("vegas", "vbdc"))
    ours["fair-transient-reno-vbdc"] = mean(of("reno", "vbdc").fairness, TRANSIENT_S)
    for scheme in SCHEMES[1:]:
        ours[f"ten-lower-{scheme}"] = lower_fairness(sharing, scheme).value
    for scheme in (SCHEMES[0], SCHEMES[2]):
        for congestion in CONGESTIONS:
            runs = [sharing[case] for case in _draws(congestion, scheme)]
            ours[f"ten-damped-{congestion}-{scheme}"] = _damped(runs)
        ours[f"ten-converge-{scheme}"] = later_convergence_s(sharing, scheme).value
        ours[f"ten-stops-{scheme}"] = stops_without_loss_percent(sharing, scheme).value
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
    ours["queue-ten-damped-reno-cra"] = _damped([sharing[case] for case in _draws("reno", "cra", QUEUE)])
    ours["queue-ten-converge-cra"] = later_convergence_s(sharing, "cra", QUEUE).value
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
            ("share of the time at 10 ± 5 %", [always_percent(one) / 100 for one in runs]),
        ):
            cells = [f"{value:.3f}" for value in (min(values), float(np.mean(values)), max(values))]
            rows.append([f"Vegas/{scheme.upper()}", name, *cells])
    about = (
        f"Five flows of Vegas from {START_OFFSET_COUNT} moments within a superframe on: 40 to 200 s, share of "
        "the time from 5 s on"
    )
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
            _rate_of(one, "reno", interval) for interval in ((JOIN_S - 20, JOIN_S), (JOIN_S + 10, LEAVE_S))
        )
        ours[f"reno-unchanged-{scheme}"] = with_vegas / before
        returned = _rate_of(one, "again", (RETURN_S, RETURN_S + JOIN_S))
        ours[f"reno-returns-{scheme}"] = returned / _rate_of(one, "reno", (0.0, JOIN_S))
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
        rate, alone = (_rate_of(runs[scheme], "reno", after) for runs in (unchanged, without))
        ours[f"threshold-2-{_RENO_UNCHANGED}-{scheme}"] = measure_friendliness({scheme: threshold_2[scheme]})[
            f"{_RENO_UNCHANGED}-{scheme}"
        ]
        ours[f"beside-{_RENO_UNCHANGED}-{scheme}"] = rate / alone
    return rounded(ours)


_RENO_UNCHANGED: Final = "reno-unchanged"


def _rate_of(one: Sharing, prefix: str, interval_s: tuple[float, float]) -> float:
    rates = [course for name, course in one.rates_bit_s.items() if name.startswith(prefix)]
    return sum(mean(course, interval_s) for course in rates)


def mean(course: Course, interval_s: tuple[float, float]) -> float:
    """Returns the mean over an interval."""
    return float(course.between(*interval_s).mean())


def always_percent(one: Sharing) -> float:
    """Returns the share of the time in which the utilisation is :data:`ALWAYS_USED`, in percent."""
    level, tolerance = ALWAYS_USED
    used = 100 * one.utilisation.between(*FIVE_FLOWS_S)
    return 100 * float((np.abs(used - level) <= tolerance).mean())


def reached_s(course: Course, level: float) -> float | None:
    """Returns the first time at which a course reaches a level."""
    reached = np.flatnonzero(course.value >= level)
    return float(course.time_s[reached[0]]) if len(reached) else None


def settled_s(course: Course, level: float) -> float | None:
    """Returns the first time from 20 s on at which a course reaches a level. From 20 s, all five
    flows are active."""
    reached = np.flatnonzero((course.value >= level) & (course.time_s >= 20.0))
    return float(course.time_s[reached[0]]) if len(reached) else None


def _draws(congestion: Congestion, scheme: Scheme, change: str = "") -> list[Case]:
    return [Case(congestion, scheme, RANDOM_FLOW_COUNT, seed, change) for seed in SEEDS]


def lower_fairness(sharing: Mapping[Case, Sharing], scheme: Scheme) -> Mean:
    """Returns the share of the time in which the fairness index of ten Vegas flows is below that of
    ten Reno flows with the same starts and lifetimes, in percent, as a mean over the seeds."""
    shares = []
    for reno, vegas in zip(_draws("reno", scheme), _draws("vegas", scheme), strict=True):
        both = [sharing[case].fairness.between(*SHOWN_S) for case in (reno, vegas)]
        shares.append(100 * float((both[1] < both[0]).mean()))
    return mean_of(shares)


def later_convergence_s(sharing: Mapping[Case, Sharing], scheme: Scheme, change: str = "") -> Mean:
    """Returns the time by which Vegas converges later than Reno in the phase in which connections
    stop, as a mean over the seeds."""
    cases = zip(_draws("reno", scheme, change), _draws("vegas", scheme, change), strict=True)
    return mean_of(
        [converged_s(vegas, sharing[vegas]) - converged_s(reno, sharing[reno]) for reno, vegas in cases]
    )


def converged_s(case: Case, one: Sharing) -> float:
    """Returns the first time from :data:`STOPPING_FROM_S` on at which the fairness index reaches
    :data:`FAIR`, or else the time at which a single connection remains. Windows with a start or a
    stop do not count."""
    ends = sorted(start + lifetime for start, lifetime in case.times_s)
    time, index = one.fairness.time_s, one.fairness.value
    counted = (time >= STOPPING_FROM_S) & (index >= FAIR)
    for moment in (*ends, *(start for start, _ in case.times_s)):
        counted &= np.abs(time - moment) >= WINDOW_S / 2
    return float(time[counted][0]) if counted.any() else ends[-2]


def stops_without_loss_percent(sharing: Mapping[Case, Sharing], scheme: Scheme) -> Mean:
    """Returns the share of stops after which the fairness index is not worse, in percent, as a mean
    over the seeds of Reno and Vegas.

    The index is compared between a window that ends before the stop and a window that begins after
    it. Stops near another start or stop do not count, nor stops after which one connection
    remains."""
    shares = []
    distance = WINDOW_S / 2 + STEP_S
    for reno, vegas in zip(_draws("reno", scheme), _draws("vegas", scheme), strict=True):
        ends = sorted(start + lifetime for start, lifetime in reno.times_s)
        moments = [*ends, *(start for start, _ in reno.times_s)]
        clear = [
            end
            for end in ends[:-2]
            if sum(abs(end - moment) < distance + WINDOW_S / 2 for moment in moments) == 1
        ]
        unharmed = []
        for end in clear:
            for case in (reno, vegas):
                course = sharing[case].fairness
                before, after = (
                    float(np.interp(end + offset, course.time_s, course.value))
                    for offset in (-distance, distance)
                )
                unharmed.append(after >= before - WORSE)
        if unharmed:
            shares.append(100 * float(np.mean(unharmed)))
    return mean_of(shares)


def table_of_draws(sharing: Mapping[Case, Sharing]) -> Table:
    """Returns the table of the values of ten flows that depend on the draw."""
    rows = []
    for scheme in SCHEMES:
        values = (
            lower_fairness(sharing, scheme),
            later_convergence_s(sharing, scheme),
            stops_without_loss_percent(sharing, scheme),
            *(
                mean_of([_damped([sharing[case]]) for case in _draws(congestion, scheme)])
                for congestion in CONGESTIONS
            ),
        )
        rows.append([scheme.upper(), *(one.text(2) for one in values)])
    about = f"Ten flows: means over {len(SEEDS)} draws with 95 % confidence intervals"
    header = ["scheme", "Vegas less fair, % of time", "Vegas converges later by s", "harmless stops %"]
    return Table(about, [*header, "Reno damped", "Vegas damped"], rows)


def rounded(ours: dict[str, float | None]) -> dict[str, float | None]:
    """Rounds the values to six decimal places, because two computations of one value may differ in
    the last digits."""
    return {name: None if value is None else round(value, 6) + 0.0 for name, value in ours.items()}
