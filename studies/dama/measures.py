"""Our measured values for T_I and T_I-causes, by the ids of published.csv."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Final

import numpy as np
from bentpipe.plots.data import FloatArray

from .curves import (
    BOUNDED_WINDOW,
    CONGESTIONS,
    DIRECTIONS,
    FIRST_WINDOW,
    LINUX_VEGAS,
    NO_SLOT,
    ONE_WAITING,
    SCHEMES,
    SECTIONS,
    SMALL_PACKETS,
    Congestion,
    Course,
    Curve,
    Direction,
    Scheme,
    Series,
)

#: The paper's RTT_0, the round-trip time without DAMA delay.
RTT0_MS: Final = 500.0
#: The paper's superframe D_SF, the resolution of the RTT.
SUPERFRAME_MS: Final = 94.0

#: The schemes with slots on request.
ON_DEMAND: Final = SCHEMES[1:]

#: Minimum goodput of a flow at "full rate", as a fraction of the link's payload rate.
FULL: Final = 0.95

# The following are our intervals, in seconds, for expressions of the paper.

#: The start of a transfer.
START_S: Final = (0.0, 10.0)
#: The ten seconds after the start.
AFTER_START_S: Final = (10.0, 20.0)
#: The first 20 s of a transfer.
FIT_S: Final = (0.0, 20.0)
#: The interval that the paper's figures of the RTT show.
SHOWN_S: Final = (0.0, 100.0)
#: The part of the paper's figures of the RTT after :data:`FIT_S`.
AFTER_FIT_S: Final = (20.0, 100.0)
#: The second half of :data:`SHOWN_S`.
SETTLED_RTT_S: Final = (50.0, 100.0)
#: The second half of a transfer.
STEADY_S: Final = (200.0, 400.0)
#: The end of a transfer.
END_S: Final = (350.0, 400.0)

Chosen = Callable[[Congestion, Scheme], Series]


def measure(series: Mapping[Curve, Series]) -> dict[str, float | None]:
    """Returns the values for T_I in the units of published.csv. The time of an event that did not
    occur is ``None``."""

    def of(direction: Direction, congestion: Congestion, scheme: Scheme) -> Series:
        return series[Curve(direction, congestion, scheme)]

    ours: dict[str, float | None] = {}
    _forward(lambda congestion, scheme: of("forward", congestion, scheme), ours)
    _return(lambda congestion, scheme: of("return", congestion, scheme), ours)
    _efficiency(lambda congestion, scheme: of("return", congestion, scheme), ours)
    goodput = {
        congestion: [
            float(of(direction, congestion, scheme).goodput_kbit_s.value.mean())
            for direction in DIRECTIONS
            for scheme in SCHEMES
        ]
        for congestion in CONGESTIONS
    }
    ours["throughput-reno-vegas"] = min(
        reno / vegas for reno, vegas in zip(goodput["reno"], goodput["vegas"], strict=True)
    )
    return _rounded(ours)


def measure_causes(series: Mapping[Curve, Series]) -> dict[str, float | None]:
    """Returns the values for T_I-causes. Each has one change of the test or of the measure."""
    ours: dict[str, float | None] = {}
    vegas_rbdc, reno_rbdc = (
        series[Curve("forward", one, "rbdc", SECTIONS)].rtt_ms for one in reversed(CONGESTIONS)
    )
    ours["acks-rtt-oscillates-reno-rbdc"] = spread(reno_rbdc, AFTER_FIT_S)
    ours["acks-rtt-less-vegas-rbdc"] = deviations(vegas_rbdc, reno_rbdc)
    ours["acks-rtt-slower-vegas-rbdc"] = more_swings(vegas_rbdc, reno_rbdc)
    one_waiting = {scheme: series[Curve("return", "vegas", scheme, ONE_WAITING)] for scheme in SCHEMES}
    reno = {scheme: series[Curve("return", "reno", scheme)] for scheme in SCHEMES}
    others = [reno["cra"], reno["rbdc"], *one_waiting.values()]
    ours["alpha-beta-1-eff-best-reno-vbdc"] = lead(reno["vbdc"], others)
    for curve, one in series.items():
        at = f"{curve.congestion}-{curve.scheme}"
        if curve.change is None and curve.congestion == "reno":
            if curve.scheme == "rbdc":
                ours[f"later-eff-start-{at}"] = mean(one.efficiency, AFTER_START_S)
        elif curve.change is None:
            ours[f"middle-rtt-{at}"] = middle(one.rtt_ms, SETTLED_RTT_S)
        elif curve.change == FIRST_WINDOW and curve.congestion == "reno":
            ours[f"window-2-eff-start-{at}"] = mean(one.efficiency, START_S)
        elif curve.change == ONE_WAITING:
            if curve.scheme != "cra":
                ours[f"alpha-beta-1-rate-{at}"] = mean(one.goodput_kbit_s, STEADY_S)
                ours[f"alpha-beta-1-rtt-{at}"] = mean(one.rtt_ms, SETTLED_RTT_S)
                ours[f"alpha-beta-1-eff-{at}"] = mean(one.efficiency, STEADY_S)
        elif curve.change == FIRST_WINDOW:
            ours[f"window-2-rate-{at}"] = mean(one.goodput_kbit_s, STEADY_S)
        elif curve.change == SECTIONS and curve.direction == "return":
            ours[f"acks-rate-{at}"] = mean(one.goodput_kbit_s, STEADY_S)
            ours[f"acks-eff-{at}"] = mean(one.efficiency, STEADY_S)
        elif curve.change == SECTIONS:
            ours[f"acks-share-{at}"] = share(one, END_S if curve.congestion == "reno" else STEADY_S)
            if curve.congestion == "reno":
                ours[f"acks-onset-{at}"] = onset_s(one)
        elif curve.change == NO_SLOT and curve.direction == "forward":
            ours[f"no-slot-share-{at}"] = share(one, END_S if curve.congestion == "reno" else STEADY_S)
        elif curve.change == NO_SLOT and curve.congestion == "reno":
            ours[f"no-slot-rtt-{at}"] = mean(one.rtt_ms, AFTER_FIT_S)
        elif curve.change == NO_SLOT:
            ours[f"no-slot-rate-{at}"] = mean(one.goodput_kbit_s, STEADY_S)
            ours[f"no-slot-rtt-{at}"] = mean(one.rtt_ms, SETTLED_RTT_S)
        elif curve.change == LINUX_VEGAS:
            ours[f"linux-rate-{at}"] = mean(one.goodput_kbit_s, STEADY_S)
            ours[f"linux-eff-{at}"] = mean(one.efficiency, STEADY_S)
        elif curve.change == BOUNDED_WINDOW:
            ours[f"window-rtt-{at}"] = mean(one.rtt_ms, SHOWN_S)
        elif curve.change == SMALL_PACKETS:
            ours[f"small-rate-{at}"] = mean(one.goodput_kbit_s, STEADY_S)
            ours[f"small-rtt-{at}"] = mean(one.rtt_ms, SETTLED_RTT_S)
    return _rounded(ours)


def _rounded(ours: Mapping[str, float | None]) -> dict[str, float | None]:
    """Rounds the values to six decimal places, so that a rounding error does not decide a verdict,
    and replaces negative zeros by zero."""
    return {name: None if value is None else round(value, 6) + 0.0 for name, value in ours.items()}


def _forward(of: Chosen, ours: dict[str, float | None]) -> None:
    for congestion in CONGESTIONS:
        ours[f"fwd-full-{congestion}-cra"] = time_to_full_s(of(congestion, "cra"))
    for scheme in ON_DEMAND:
        ours[f"fwd-share-reno-{scheme}"] = share(of("reno", scheme), END_S)
        ours[f"fwd-share-vegas-{scheme}"] = share(of("vegas", scheme), STEADY_S)
        ours[f"fwd-rtt-first-reno-{scheme}"] = mean(of("reno", scheme).rtt_ms, FIT_S)
        ours[f"fwd-onset-reno-{scheme}"] = onset_s(of("reno", scheme))
    reno_rbdc, reno_vbdc = of("reno", "rbdc").rtt_ms, of("reno", "vbdc").rtt_ms
    vegas_rbdc, vegas_vbdc = of("vegas", "rbdc").rtt_ms, of("vegas", "vbdc").rtt_ms
    ours["fwd-rtt-climbs-reno-vbdc"] = rank_correlation(windows(reno_vbdc, AFTER_FIT_S, 10.0))
    ours["fwd-access-reno-vbdc"] = float(reno_vbdc.between(*SHOWN_S).max()) - RTT0_MS
    ours["fwd-rtt-oscillates-reno-rbdc"] = spread(reno_rbdc, AFTER_FIT_S)
    ours["fwd-rtt-vegas-vbdc"] = mean(vegas_vbdc, SHOWN_S)
    ours["fwd-rtt-less-vegas-rbdc"] = deviations(vegas_rbdc, reno_rbdc)
    ours["fwd-rtt-slower-vegas-rbdc"] = more_swings(vegas_rbdc, reno_rbdc)
    ours["fwd-ack-compression"] = compressed_acks_percent(of("reno", "rbdc"))


def _return(of: Chosen, ours: dict[str, float | None]) -> None:
    reno_cra, reno_rbdc, reno_vbdc = (of("reno", scheme) for scheme in SCHEMES)
    for scheme in SCHEMES:
        ours[f"ret-full-reno-{scheme}"] = time_to_full_s(of("reno", scheme))
    full_s = {one: time_to_full_s(one) for one in (reno_cra, reno_rbdc)}
    ours["ret-rtt-reno-cra"] = mean(reno_cra.rtt_ms, (0.0, full_s[reno_cra]))
    ours["ret-rtt-shown-reno-cra"] = mean(reno_cra.rtt_ms, SHOWN_S)
    growing = reno_rbdc.rtt_ms.between(0.0, full_s[reno_rbdc])
    ours["ret-rtt-low-reno-rbdc"] = percentile(growing, 1)
    ours["ret-rtt-high-reno-rbdc"] = percentile(growing, 99)
    ours["ret-rtt-reno-vbdc"] = mean(reno_vbdc.rtt_ms, AFTER_FIT_S)
    ours["ret-rtt-varies-reno-vbdc"] = spread(reno_vbdc.rtt_ms, SETTLED_RTT_S)
    difference = of("vegas", "cra").goodput_kbit_s.value.mean() - reno_rbdc.goodput_kbit_s.value.mean()
    ours["ret-equal-vegas-cra"] = 100 * float(difference) / reno_cra.ceiling_kbit_s
    ours["ret-later-vegas-cra"] = time_to_full_s(of("vegas", "cra")) - time_to_full_s(reno_cra)
    ours["ret-slots-vegas-rbdc"] = mean(of("vegas", "rbdc").slots, STEADY_S)
    for scheme in ON_DEMAND:
        ours[f"ret-rate-vegas-{scheme}"] = mean(of("vegas", scheme).goodput_kbit_s, STEADY_S)
        ours[f"ret-rtt-vegas-{scheme}"] = mean(of("vegas", scheme).rtt_ms, SETTLED_RTT_S)


def _efficiency(of: Chosen, ours: dict[str, float | None]) -> None:
    reno_cra, reno_rbdc, reno_vbdc = (of("reno", scheme).efficiency for scheme in SCHEMES)
    ours["eff-start-reno-cra"] = mean(reno_cra, START_S)
    throughput = of("reno", "cra").goodput_kbit_s
    ours["eff-grows-reno-cra"] = float(np.corrcoef(reno_cra.value, throughput.value)[0, 1])
    ours["eff-start-reno-rbdc"] = mean(reno_rbdc, START_S)
    ours["eff-later-reno-rbdc"] = mean(reno_vbdc, STEADY_S) - mean(reno_rbdc, STEADY_S)
    others = [
        of(congestion, scheme)
        for congestion in CONGESTIONS
        for scheme in SCHEMES
        if (congestion, scheme) != ("reno", "vbdc")
    ]
    ours["eff-best-reno-vbdc"] = lead(of("reno", "vbdc"), others)
    steady = {
        (congestion, scheme): mean(of(congestion, scheme).efficiency, STEADY_S)
        for congestion in CONGESTIONS
        for scheme in SCHEMES
    }
    lowest = steady.pop(("vegas", "rbdc"))
    ours["eff-lowest-vegas-rbdc"] = min(steady.values()) - lowest
    ours["eff-reno-vegas"] = min(
        float(of("reno", scheme).efficiency.value.mean() - of("vegas", scheme).efficiency.value.mean())
        for scheme in SCHEMES
    )
    vegas_cra = of("vegas", "cra").efficiency
    ours["eff-below-vegas-cra"] = mean(vegas_cra, SHOWN_S) - mean(reno_cra, SHOWN_S)
    for scheme in ON_DEMAND:
        ours[f"eff-vegas-{scheme}"] = mean(of("vegas", scheme).efficiency, STEADY_S)


def deviations(one: Course, other: Course) -> float:
    """Returns the ratio of the standard deviations of two courses in :data:`AFTER_FIT_S`, in which
    the paper's figure shows DAMA delay."""
    return float(one.between(*AFTER_FIT_S).std() / other.between(*AFTER_FIT_S).std())


def lead(one: Series, others: Sequence[Series]) -> float:
    """Returns the mean efficiency of a curve minus the maximum mean efficiency of the others, in
    percentage points."""
    return float(one.efficiency.value.mean()) - max(float(other.efficiency.value.mean()) for other in others)


def more_swings(one: Course, other: Course) -> float:
    """Returns the number of swings of one course minus that number of another, in
    :data:`AFTER_FIT_S`, in which the paper's figure shows DAMA delay."""
    return float(swings(one.between(*AFTER_FIT_S)) - swings(other.between(*AFTER_FIT_S)))


def swings(values: FloatArray) -> int:
    """Returns the number of turns after a rise or fall by more than a superframe. Values are RTTs
    in milliseconds.

    >>> swings(np.array([500.0, 700.0, 650.0, 500.0, 520.0, 700.0]))
    2
    """
    turns, rising, extreme = 0, None, values[0]
    for value in values:
        if rising is None:
            if abs(value - extreme) > SUPERFRAME_MS:
                rising, extreme = value > extreme, value
        elif (value > extreme) == rising:
            extreme = value
        elif abs(value - extreme) > SUPERFRAME_MS:
            turns, rising, extreme = turns + 1, not rising, value
    return turns


def time_to_full_s(series: Series) -> float:
    """Returns the middle of the first window whose goodput is at least :data:`FULL` of the ceiling,
    or the duration of the run, a lower bound, if there is none."""
    goodput = series.goodput_kbit_s
    reached = np.flatnonzero(goodput.value >= FULL * series.ceiling_kbit_s)
    return float(goodput.time_s[reached[0]]) if len(reached) else series.duration_s


def share(series: Series, interval_s: tuple[float, float]) -> float:
    """Returns the mean goodput in percent of the ceiling."""
    return 100 * mean(series.goodput_kbit_s, interval_s) / series.ceiling_kbit_s


def onset_s(series: Series) -> float | None:
    """Returns the first time at which the RTT exceeds the maximum with constant slots only, if any.

    This maximum is RTT_0 + D_SF, because a slot comes in every frame. If packets wait for the next
    superframe before they wait for a slot in it, the maximum is RTT_0 + 2 D_SF."""
    rtt, dama = series.rtt_ms, series.run.scenario["network"]["sat"]["return"]["dama"]
    waits = 2 if dama["access"] == "superframe" else 1
    reached = np.flatnonzero(rtt.value > RTT0_MS + waits * SUPERFRAME_MS)
    return float(rtt.time_s[reached[0]]) if len(reached) else None


def compressed_acks_percent(series: Series) -> float:
    """Returns the share of compressed acknowledgments, in percent, after the RTT begins to include
    the DAMA delay. An acknowledgment is compressed if it follows the previous one more closely than
    the data packets that it acknowledges can have arrived."""
    times = series.rtt_ms.time_s
    late = times[times > (onset_s(series) or math.inf)]
    segment = series.run.scenario["flow"][0]["transport"]["segment_size"]
    data_spacing_s = 8 * segment / (1e3 * series.ceiling_kbit_s)
    return 100 * float((np.diff(late) < 0.99 * data_spacing_s).mean()) if len(late) > 1 else 0.0


def mean(course: Course, interval_s: tuple[float, float]) -> float:
    """Returns the mean over an interval."""
    return float(course.between(*interval_s).mean())


def spread(course: Course, interval_s: tuple[float, float]) -> float:
    """Returns the difference of the 95th and the 5th percentile over an interval."""
    values = course.between(*interval_s)
    return percentile(values, 95) - percentile(values, 5)


def middle(course: Course, interval_s: tuple[float, float]) -> float:
    """Returns the mean of the 1st and the 99th percentile, the level at which a reader of the
    figure sees an oscillating curve."""
    values = course.between(*interval_s)
    return (percentile(values, 1) + percentile(values, 99)) / 2


def percentile(values: FloatArray, percent: float) -> float:
    """Returns a percentile of the values."""
    return float(np.percentile(values, percent))


def windows(course: Course, interval_s: tuple[float, float], length_s: float) -> FloatArray:
    """Returns the means over consecutive windows of an interval."""
    starts = np.arange(interval_s[0], interval_s[1], length_s)
    return np.array([mean(course, (start, start + length_s)) for start in starts])


def rank_correlation(values: FloatArray) -> float:
    """Returns Spearman's rank correlation with time: 1 if the values only rise.

    >>> rank_correlation(np.array([1.0, 2.0, 5.0])), rank_correlation(np.array([3.0, 2.0, 1.0]))
    (1.0, -1.0)
    """
    ranks = np.argsort(np.argsort(values))
    return float(np.corrcoef(ranks, np.arange(len(values)))[0, 1])
