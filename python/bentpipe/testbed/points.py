"""Points of plotted lines: a quantity of a run within a time range, reduced to the resolution of a
screen."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from bentpipe.plots.data import by_entity, thin
from bentpipe.plots.samples import MAX_ROWS, entities_of

if TYPE_CHECKING:
    import polars as pl

    from bentpipe.results.runs import Run

#: Maximum number of points of a line within the time range; more than a screen has columns.
MAX_POINTS: Final = 2_000
#: Maximum number of lines of a plot.
MAX_LINES: Final = 12


@dataclass(frozen=True)
class Line:
    """The points of one flow, terminal or link. ``thinned`` is true if the trace has more samples
    within the time range."""

    name: str
    time_s: list[float]
    values: list[float]
    thinned: bool


def lines_of(run: Run, quantity: str, start_s: float = -math.inf, end_s: float = math.inf) -> list[Line]:
    """Returns a quantity from ``start_s`` to ``end_s``, both included, as one line per entity.

    A line with more samples than :data:`MAX_POINTS` keeps the minimum and the maximum of each time
    interval. The result also has the last sample before the range and the first sample after it, so
    that lines reach the edges of the plot. Raises :class:`bentpipe.InputError` for a quantity that
    was not recorded.
    """
    import polars as pl

    lazy = run.scan(quantity)
    _, who, column = lazy.collect_schema().names()
    names = entities_of(run, quantity)[:MAX_LINES]
    value, time = pl.col("value"), pl.col("time")
    known = (
        lazy.select("time", who, pl.col(column).cast(pl.Float64).fill_nan(None).alias("value"))
        .filter(pl.col(who).is_in(names) & value.is_not_null())
        .select("time", who, "value")
    )
    inside = known.filter(time.is_between(start_s, end_s))
    counts = dict(inside.group_by(who).agg(pl.len()).collect(engine="streaming").iter_rows())
    # The trace of a long run may not fit into memory.
    large = sum(counts.values()) > MAX_ROWS
    within = by_entity((_extremes(inside, who) if large else inside).collect(engine="streaming"))
    before = _edge(known.filter(time < start_s), who, last=True)
    after = _edge(known.filter(time > end_s), who, last=False)
    lines = []
    for name in names:
        times, values = [], []
        if name in within:
            kept = thin(within[name]["time"], within[name]["value"], MAX_POINTS)
            times, values = (one.tolist() for one in kept)
        thinned = len(times) < counts.get(name, 0)
        for edge, place in ((before, 0), (after, len(times) + 1)):
            if name in edge:
                times.insert(place, edge[name][0])
                values.insert(place, edge[name][1])
        if times:
            lines.append(Line(name, times, values, thinned))
    return lines


def _edge(rows: pl.LazyFrame, who: str, *, last: bool) -> dict[str, tuple[float, float]]:
    """Returns time and value of each entity's last or first row."""
    grouped = rows.group_by(who)
    found = (grouped.last() if last else grouped.first()).collect(engine="streaming")
    return {name: (time, value) for name, time, value in found.select(who, "time", "value").iter_rows()}


def _extremes(rows: pl.LazyFrame, who: str) -> pl.LazyFrame:
    """Reduces rows to :data:`MAX_POINTS` intervals. The minimum of an interval is placed at the
    time of its first row, the maximum at the time of its last row."""
    import polars as pl

    time, value = pl.col("time"), pl.col("value")
    first, last = (
        rows.select(time.min().alias("first"), time.max().alias("last")).collect(engine="streaming").row(0)
    )
    cell = ((time - first) / ((last - first) / MAX_POINTS or 1.0)).floor().cast(pl.Int64)
    cells = rows.group_by(cell.alias("cell"), who).agg(
        time.min(), time.max().alias("end"), value.min(), value.max().alias("greatest")
    )
    least = cells.select("time", who, "value")
    greatest = cells.select(pl.col("end").alias("time"), who, pl.col("greatest").alias("value"))
    return pl.concat([least, greatest]).sort("time")
