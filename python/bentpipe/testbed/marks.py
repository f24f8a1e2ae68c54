"""Marks of a run over time: losses, retransmissions and time-outs, handovers, changes, fades and
outages."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bentpipe.plots.events import events
from bentpipe.results.runs import Run

from .regions import ManualChange, of_folder

#: Number of equal intervals within a time range that have one mark of losses each.
INTERVALS: Final = 240
#: Maximum number of marks per kind; more than a screen can show.
MAX_MARKS: Final = 500
#: Maximum number of links or flows that a mark of losses names.
MAX_NAMES: Final = 3

#: Counters in traces whose increments are marks: kind, quantity, and the event in words.
COUNTERS: Final = (
    ("loss", "link.dropped", "packet dropped", "packets dropped"),
    ("retransmission", "tcp.retransmissions", "retransmission", "retransmissions"),
    ("timeout", "tcp.timeouts", "time-out", "time-outs"),
)


@dataclass(frozen=True)
class Mark:
    """A mark from ``start`` to ``end`` (seconds of the run; None for a moment). ``kind`` is "loss",
    "retransmission", "timeout", "handover", "change", "manual", "fade" or "outage". ``count`` is
    the number of events that the mark represents."""

    kind: str
    label: str
    start: float
    end: float | None = None
    count: int = 1


def marks_of(
    scenario: str,
    made: Sequence[ManualChange],
    folder: Path,
    start_s: float = 0.0,
    end_s: float = math.inf,
) -> list[Mark]:
    """Returns the marks of a run that has ended, from ``start_s`` to ``end_s``, by kind and time.

    Losses, retransmissions and time-outs are counted in :data:`INTERVALS` equal intervals of the
    range. A mark stands at the last event of its interval, so a shorter range separates events.
    """
    run = Run(folder)
    end_s = min(end_s, max(run.last_row_s, start_s))
    found: list[Mark] = []
    for kind, quantity, one, several in COUNTERS:
        found += _counted(run, kind, quantity, (one, several), start_s, end_s)
    of_kind: defaultdict[str, list[Mark]] = defaultdict(list)
    for mark in _events(run, scenario, made, folder):
        if mark.start <= end_s and (mark.start if mark.end is None else mark.end) >= start_s:
            of_kind[mark.kind].append(mark)
    for marks in of_kind.values():
        found += sorted(marks, key=lambda mark: mark.start)[:MAX_MARKS]
    return found


def _events(run: Run, scenario: str, made: Sequence[ManualChange], folder: Path) -> Iterator[Mark]:
    handovers = False
    for region in of_folder(scenario, [], folder):
        if region.kind == "change":
            yield Mark("change", region.label, region.start)
        else:
            handovers = True
            yield Mark("handover", f"{region.of}: {region.label}", region.start)
    for time, key, value in made:
        yield Mark("manual", f"{key} = {value}", time)
    for event in events(run):
        if event.kind in ("fade", "outage") or (event.kind == "handover" and not handovers):
            yield Mark(event.kind, event.label, event.time_s, event.end_s)


def _counted(
    run: Run, kind: str, quantity: str, words: tuple[str, str], start_s: float, end_s: float
) -> Iterator[Mark]:
    """Yields a mark for each interval in which a counter increased."""
    import polars as pl

    if not run.has_trace(quantity):
        return
    lazy = run.scan(quantity)
    _, who, column = lazy.collect_schema().names()
    time, value = pl.col("time"), pl.col(column)
    width = (end_s - start_s) / INTERVALS or 1.0
    # The interval -1 has all rows before the range, for the counter at the start of the range.
    cell = ((time - start_s) / width).floor().cast(pl.Int64).clip(-1, INTERVALS - 1)
    cells = (
        lazy.filter((time <= end_s) & value.is_not_null())
        .group_by(cell.alias("cell"), who)
        .agg(value.max().alias("count"), time.filter(value == value.max()).min().alias("at"))
        .collect(engine="streaming")
        .sort("cell")
        .with_columns(pl.col("count") - pl.col("count").shift(1).over(who).fill_null(0))
        .filter((pl.col("count") > 0) & (pl.col("cell") >= 0))
        .sort("cell", "count", descending=[False, True])
    )
    for _, rows in cells.group_by("cell", maintain_order=True):
        count = int(rows["count"].sum())
        names = [str(name) for name in rows[who].head(MAX_NAMES)]
        more = rows.height - len(names)
        where = ", ".join(names) + (f" and {more} more" if more else "")
        word = words[0] if count == 1 else words[1]
        yield Mark(kind, f"{count} {word}: {where}", float(rows["at"].max()), None, count)  # type: ignore[arg-type]
