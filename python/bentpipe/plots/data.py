"""Data for figures: traces thinned to the visible resolution, and rates computed from
deliveries."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import polars as pl

    from bentpipe.results.runs import Run

FloatArray = NDArray[np.float64]

#: Number of points of a line, which exceeds the pixels of a panel.
POINTS = 1200


def by_entity(frame: pl.DataFrame) -> Mapping[str, Mapping[str, NDArray[Any]]]:
    """Returns the columns of a trace as one set of arrays per entity, in order of appearance.

    >>> import polars as pl
    >>> frame = pl.DataFrame({"time": [0.0, 1.0, 2.0], "flow": ["b", "a", "b"], "cwnd": [1, 2, 3]})
    >>> {name: columns["cwnd"].tolist() for name, columns in by_entity(frame).items()}
    {'b': [1, 3], 'a': [2]}
    """
    who = frame.columns[1]
    # In one pass, because a frame per entity would cost more than its contents.
    grouped = frame.group_by(who, maintain_order=True).agg("*")
    if grouped.is_empty():
        return {}
    edges = grouped["time"].list.len().cum_sum().to_list()[:-1]
    names = [name for name in frame.columns if name != who]
    parts = {name: np.split(grouped[name].explode().to_numpy(), edges) for name in names}
    return {
        str(entity): {name: parts[name][index] for name in names} for index, entity in enumerate(grouped[who])
    }


def thin(time_s: FloatArray, values: FloatArray, points: int = POINTS) -> tuple[FloatArray, FloatArray]:
    """Returns at most about ``points`` points with the same outline: the minimum and maximum of
    each time interval.

    >>> time, values = thin(np.arange(10000.0), np.where(np.arange(10000) == 4321, 9.0, 1.0), points=100)
    >>> len(time) <= 102, float(values.max())
    (True, 9.0)
    """
    valid = ~np.isnan(values)
    time_s, values = time_s[valid], values[valid]
    if len(time_s) <= points:
        return time_s, values
    span = time_s[-1] - time_s[0]
    stretch = np.zeros(len(time_s), dtype=np.int64)
    if span > 0:
        stretch = np.minimum((time_s - time_s[0]) / span * (points // 2), points // 2 - 1).astype(np.int64)
    # Sorted by value within each interval, the first row is the minimum and the last the maximum.
    order = np.lexsort((values, stretch))
    edges = np.flatnonzero(np.diff(stretch[order])) + 1
    chosen = np.concatenate(([0], edges, edges - 1, [len(order) - 1]))
    kept = np.unique(np.concatenate((order[chosen], [0, len(time_s) - 1])))
    return time_s[kept], values[kept]


def with_gaps(time_s: FloatArray, values: FloatArray, end_s: float) -> tuple[FloatArray, FloatArray]:
    """Returns samples with NaN at the start of every gap, so that no line crosses a gap. A gap is a
    time without samples that is longer than a fiftieth of the run and than twenty times the median
    distance of samples.

    >>> with_gaps(np.array([0.0, 1.0, 2.0, 90.0]), np.ones(4), 100.0)[1].tolist()
    [1.0, 1.0, 1.0, nan, 1.0]
    """
    if len(time_s) < 3:
        return time_s, values
    apart = np.diff(time_s)
    after = np.flatnonzero(apart > max(end_s / 50, 20 * float(np.median(apart)))) + 1
    return np.insert(time_s, after, time_s[after - 1]), np.insert(values, after, np.nan)


def rate(
    time_s: FloatArray, volume_bytes: FloatArray, bin_s: float, end_s: float
) -> tuple[FloatArray, FloatArray]:
    """Returns the rate in bit/s over bins of ``bin_s`` seconds, from a running total of bytes;
    times are the bins' middles.

    >>> middles, rates = rate(np.array([0.5, 1.5]), np.array([1000.0, 3000.0]), bin_s=1.0, end_s=3.0)
    >>> middles.tolist(), rates.tolist()
    ([0.5, 1.5, 2.5], [8000.0, 16000.0, 0.0])
    """
    edges = np.arange(round(max(end_s, bin_s) / bin_s) + 1) * bin_s
    total = np.concatenate(([0.0], volume_bytes))
    at_edges = total[np.searchsorted(time_s, edges, side="right")]
    # Samples at the very start belong to the first bin.
    at_edges[0] = 0.0
    middles: FloatArray = np.asarray(edges[:-1] + bin_s / 2, dtype=np.float64)
    return middles, np.diff(at_edges) * 8 / bin_s


def spread(
    time_s: FloatArray, values: FloatArray, bin_s: float, weights: FloatArray | None = None
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Returns middle, mean, by ``weights`` if given, minimum and maximum of each non-empty bin of
    ``bin_s`` seconds.

    >>> [part.tolist() for part in spread(np.array([0.0, 0.5, 2.0]), np.array([1.0, 3.0, 5.0]), bin_s=1.0)]
    [[0.5, 2.5], [2.0, 5.0], [1.0, 5.0], [3.0, 5.0]]
    """
    bins = np.floor(time_s / bin_s).astype(np.int64)
    starts = np.flatnonzero(np.diff(bins, prepend=-1))
    weights = np.ones(len(bins)) if weights is None else weights
    middles: FloatArray = (bins[starts].astype(np.float64) + 0.5) * bin_s
    counts = np.add.reduceat(weights, starts)
    total = np.add.reduceat(weights * values, starts)
    mean: FloatArray = np.divide(total, counts, out=np.full(len(starts), np.nan), where=counts > 0)
    least: FloatArray = np.minimum.reduceat(values, starts)
    greatest: FloatArray = np.maximum.reduceat(values, starts)
    return middles, mean, least, greatest


def on_grid(
    time_s: FloatArray, values: FloatArray, bin_s: float, end_s: float, weights: FloatArray | None = None
) -> FloatArray:
    """Returns the mean of a quantity's samples in each bin of ``bin_s`` seconds up to ``end_s``, by
    ``weights`` if given. A bin without samples keeps the last value; before the first sample it is
    NaN.

    >>> on_grid(np.array([1.0, 1.5, 3.0]), np.array([2.0, 4.0, 7.0]), bin_s=1.0, end_s=5.0).tolist()
    [nan, 3.0, 4.0, 7.0, 7.0]
    """
    valid = ~np.isnan(values)
    weights = np.ones(int(valid.sum())) if weights is None else weights[valid]
    time_s, values = time_s[valid], values[valid]
    edges = np.arange(round(max(end_s, bin_s) / bin_s) + 1) * bin_s
    # Samples at the very end belong to the last bin.
    edges[-1] = np.inf
    places = np.searchsorted(time_s, edges)
    counts = np.diff(np.concatenate(([0.0], np.cumsum(weights)))[places])
    total = np.concatenate(([0.0], np.cumsum(weights * values)))[places]
    before = np.concatenate(([np.nan], values))[places[1:]]
    return np.divide(np.diff(total), counts, out=before, where=counts > 0)


def quantiles(rows: FloatArray) -> tuple[FloatArray, list[tuple[FloatArray, FloatArray]]]:
    """Returns the median over rows at each column, with the ranges from the 10th to the 90th
    percentile and from minimum to maximum. NaN values do not count; a column of only NaN is NaN.

    >>> middle, (_, (least, greatest)) = quantiles(np.array([[1.0, np.nan], [2.0, np.nan], [6.0, np.nan]]))
    >>> middle.tolist(), least.tolist(), greatest.tolist()
    ([2.0, nan], [1.0, nan], [6.0, nan])
    """
    # NaN sorts to the end. numpy.nanquantile is many times slower, as it processes one column after
    # the other.
    ranked, columns = np.sort(rows, axis=0), np.arange(rows.shape[1])
    last = np.maximum((~np.isnan(rows)).sum(axis=0) - 1, 0)

    def at(share: float) -> FloatArray:
        below = np.floor(share * last).astype(np.int64)
        low, high = ranked[below, columns], ranked[np.minimum(below + 1, last), columns]
        between: FloatArray = low + (high - low) * (share * last - below)
        return between

    return at(0.5), [(at(0.1), at(0.9)), (at(0.0), at(1.0))]


def trace_of(run: Run, quantity: str) -> Mapping[str, tuple[FloatArray, FloatArray]]:
    """Returns times and values of a quantity by entity; empty if it was not recorded."""
    if not run.has_trace(quantity):
        return {}
    column = quantity.rpartition(".")[2]
    return {
        entity: (part["time"], part[column].astype(float))
        for entity, part in by_entity(run.trace(quantity)).items()
    }


def superframes(dama: pl.DataFrame) -> dict[str, FloatArray]:
    """Returns the trace ``dama`` as slots per frame, summed over the terminals, one value per
    superframe: arrays ``time``, ``requested``, ``assigned`` (including constant slots) and
    ``used``.

    A terminal records nothing for a superframe without events, although its constant slots are
    assigned.
    """
    first, last = dama["superframe"].min(), dama["superframe"].max()
    if not isinstance(first, int) or not isinstance(last, int):
        return {name: np.zeros(0) for name in ("time", "requested", "assigned", "used")}
    numbers = np.arange(first, last + 1)
    total = {name: np.zeros(len(numbers)) for name in ("requested", "assigned", "used")}
    starts = np.full(len(numbers), np.nan)
    for part in by_entity(dama).values():
        at = part["superframe"] - first
        column = {name: part[name].astype(float) for name in ("request", "constant", "assigned")}
        slots = column["constant"] + column["assigned"]
        capacity = part["capacity"].astype(float)
        share = np.divide(part["used"], capacity, out=np.zeros(len(at)), where=capacity > 0)
        assigned = np.full(len(numbers), column["constant"][-1])
        assigned[at] = slots
        total["assigned"] += assigned
        total["requested"][at] += column["request"]
        total["used"][at] += share * slots
        starts[at] = part["time"]
    known = ~np.isnan(starts)
    time = np.interp(numbers, numbers[known], starts[known])
    return {"time": time, **total}


def duration_s(run: Run) -> float:
    """Returns the network time of the run; for a killed run, the time of the last row of its
    traces."""
    for known in (run.provenance.get("simulated_seconds"), run.summary.get("duration_seconds")):
        if known is not None:
            return float(known)
    return run.last_row_s


def bin_for(duration: float) -> float:
    """Returns a bin length that hides single packets: about a two-hundredth of the run, rounded.

    >>> bin_for(400.0), bin_for(60.0), bin_for(3.0)
    (2.0, 0.5, 0.02)
    """
    return round_up(max(duration, 1e-6) / 200)


def round_up(value: float) -> float:
    """Returns the next higher 1, 2 or 5 times a power of ten.

    >>> round_up(0.61), round_up(0.05), round_up(30.0)
    (1.0, 0.05, 50.0)
    """
    power = 10.0 ** math.floor(math.log10(value))
    return float(f"{next(step for step in (1, 2, 5, 10) if step * power >= value * (1 - 1e-9)) * power:.3g}")
