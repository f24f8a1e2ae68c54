"""What is drawn: traces thinned to what the eye can see, and rates from deliveries."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import polars as pl

    from bentpipe.runs import Run

FloatArray = NDArray[np.float64]

#: More points than a panel has pixels.
POINTS = 1200


def by_entity(frame: pl.DataFrame) -> Mapping[str, pl.DataFrame]:
    """A trace as one frame per entity, in the order in which they appear."""
    who = frame.columns[1]
    return {
        str(key[0]): part for key, part in frame.partition_by(who, as_dict=True, maintain_order=True).items()
    }


def thin(time_s: FloatArray, values: FloatArray, points: int = POINTS) -> tuple[FloatArray, FloatArray]:
    """At most about ``points`` points with the same outline: the least and the greatest value of each stretch of time.

    >>> time, values = thin(np.arange(10000.0), np.where(np.arange(10000) == 4321, 9.0, 1.0), points=100)
    >>> len(time) <= 102, float(values.max())
    (True, 9.0)
    """
    there = ~np.isnan(values)
    time_s, values = time_s[there], values[there]
    if len(time_s) <= points:
        return time_s, values
    span = time_s[-1] - time_s[0]
    stretch = np.zeros(len(time_s), dtype=np.int64)
    if span > 0:
        stretch = np.minimum((time_s - time_s[0]) / span * (points // 2), points // 2 - 1).astype(np.int64)
    # Sorted by value within each stretch, its first row is the least and its last the greatest.
    order = np.lexsort((values, stretch))
    edges = np.flatnonzero(np.diff(stretch[order])) + 1
    chosen = np.concatenate(([0], edges, edges - 1, [len(order) - 1]))
    kept = np.unique(np.concatenate((order[chosen], [0, len(time_s) - 1])))
    return time_s[kept], values[kept]


def rate(
    time_s: FloatArray, volume_bytes: FloatArray, bin_s: float, end_s: float
) -> tuple[FloatArray, FloatArray]:
    """Rate in bit/s over bins of ``bin_s`` seconds, from a running total of bytes; times are the bins' middles.

    >>> middles, rates = rate(np.array([0.5, 1.5]), np.array([1000.0, 3000.0]), bin_s=1.0, end_s=3.0)
    >>> middles.tolist(), rates.tolist()
    ([0.5, 1.5, 2.5], [8000.0, 16000.0, 0.0])
    """
    edges = np.arange(round(max(end_s, bin_s) / bin_s) + 1) * bin_s
    total = np.concatenate(([0.0], volume_bytes))
    at_edges = total[np.searchsorted(time_s, edges, side="right")]
    # What comes at the very start belongs to the first bin.
    at_edges[0] = 0.0
    middles: FloatArray = np.asarray(edges[:-1] + bin_s / 2, dtype=np.float64)
    return middles, np.diff(at_edges) * 8 / bin_s


def spread(
    time_s: FloatArray, values: FloatArray, bin_s: float
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Middle, mean, least and greatest value of each bin of ``bin_s`` seconds that has any.

    >>> [part.tolist() for part in spread(np.array([0.0, 0.5, 2.0]), np.array([1.0, 3.0, 5.0]), bin_s=1.0)]
    [[0.5, 2.5], [2.0, 5.0], [1.0, 5.0], [3.0, 5.0]]
    """
    bins = np.floor(time_s / bin_s).astype(np.int64)
    starts = np.flatnonzero(np.diff(bins, prepend=-1))
    counts = np.diff(np.append(starts, len(bins)))
    middles: FloatArray = (bins[starts].astype(np.float64) + 0.5) * bin_s
    mean: FloatArray = np.add.reduceat(values, starts) / counts
    least: FloatArray = np.minimum.reduceat(values, starts)
    greatest: FloatArray = np.maximum.reduceat(values, starts)
    return middles, mean, least, greatest


def trace_of(run: Run, quantity: str) -> Mapping[str, tuple[FloatArray, FloatArray]]:
    """Times and values of a quantity by entity; empty where it was not recorded."""
    if not run.has_trace(quantity):
        return {}
    column = quantity.rpartition(".")[2]
    return {
        entity: (part["time"].to_numpy(), part[column].cast(float).fill_null(float("nan")).to_numpy())
        for entity, part in by_entity(run.trace(quantity)).items()
    }


def superframes(dama: pl.DataFrame) -> dict[str, FloatArray]:
    """The trace ``dama`` as slots per frame, summed over the terminals, one value for each superframe: arrays
    ``time``, ``requested``, ``assigned`` (constant slots included) and ``used``.

    A terminal says nothing of a superframe in which nothing happened; its constant slots are assigned all the same.
    """
    first, last = dama["superframe"].min(), dama["superframe"].max()
    if not isinstance(first, int) or not isinstance(last, int):
        return {name: np.zeros(0) for name in ("time", "requested", "assigned", "used")}
    numbers = np.arange(first, last + 1)
    total = {name: np.zeros(len(numbers)) for name in ("requested", "assigned", "used")}
    starts = np.full(len(numbers), np.nan)
    for part in by_entity(dama).values():
        at = part["superframe"].to_numpy() - first
        column = {name: part[name].to_numpy().astype(float) for name in ("request", "constant", "assigned")}
        slots = column["constant"] + column["assigned"]
        capacity = part["capacity"].to_numpy().astype(float)
        share = np.divide(part["used"].to_numpy(), capacity, out=np.zeros(len(at)), where=capacity > 0)
        assigned = np.full(len(numbers), column["constant"][-1])
        assigned[at] = slots
        total["assigned"] += assigned
        total["requested"][at] += column["request"]
        total["used"][at] += share * slots
        starts[at] = part["time"].to_numpy()
    known = ~np.isnan(starts)
    time = np.interp(numbers, numbers[known], starts[known])
    return {"time": time, **total}


def duration_s(run: Run) -> float:
    """How much network time passed."""
    simulated = run.provenance.get("simulated_seconds")
    return float(simulated if simulated is not None else run.summary.get("duration_seconds", 0.0))


def bin_for(duration: float) -> float:
    """A bin that shows the course and not every packet: about a two-hundredth of the run, a round number of seconds.

    >>> bin_for(400.0), bin_for(60.0), bin_for(3.0)
    (2.0, 0.5, 0.02)
    """
    return round_up(max(duration, 1e-6) / 200)


def round_up(value: float) -> float:
    """The next 1, 2 or 5 times a power of ten.

    >>> round_up(0.61), round_up(0.05), round_up(30.0)
    (1.0, 0.05, 50.0)
    """
    power = 10.0 ** math.floor(math.log10(value))
    return float(f"{next(step for step in (1, 2, 5, 10) if step * power >= value * (1 - 1e-9)) * power:.3g}")
