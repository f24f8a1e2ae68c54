"""The counters of the parts of a network at the end of a run, as tables of text for the report.

The tables of flows and of their connections are elsewhere in the report.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from bentpipe import _native
from bentpipe.quantities import number, readable_unit

if TYPE_CHECKING:
    from bentpipe.results.runs import Run

#: Maximum number of parts of a table. Of larger tables, which are in the run's folder, only the
#: name is shown.
MAX_PARTS: Final = 60

#: Maximum number of parts for a table with a column per part, and a row per quantity with its
#: meaning.
MAX_COLUMNS: Final = 4


#: Units of counts.
_COUNTS: Final = ("1", "packets", "frames", "slots", "superframes", "cells")


@dataclass(frozen=True)
class Counted:
    """A table: its name, its subject and time, its headings, and its rows. ``meanings`` has the
    meaning of each row, or is empty if each row is a part."""

    name: str
    about: str
    parts: int
    headings: list[str]
    rows: list[list[str]]
    meanings: list[str]


def tables(run: Run) -> list[Counted]:
    """Returns the tables of a run; empty for a measured run, whose tables have other formats."""
    if run.clock == "measured":
        return []
    known = {table["name"]: table for table in json.loads(_native.tables())["reports"]}
    units = run.summary.get("units", {})
    return [
        _table(name, known.get(name, {}), units.get(name, {}), rows)
        for name, rows in run.summary.get("tables", {}).items()
        if rows and not name.startswith(("flow_", "tcp_connection"))
    ]


def _table(
    name: str, known: Mapping[str, Any], units: Mapping[str, str], rows: Sequence[Mapping[str, Any]]
) -> Counted:
    # The part is a name and has no unit.
    of = next(key for key in rows[0] if key not in units)
    columns = {column["name"]: column["about"] for column in known.get("columns", [])}
    order = [*(key for key in columns if key in units), *(key for key in units if key not in columns)]
    shown = {key: _quantity(key, units[key], [row.get(key) for row in rows]) for key in order}
    about, parts = str(known.get("about", "")), [str(row[of]) for row in rows]
    if len(rows) > MAX_PARTS:
        return Counted(name, about, len(rows), [], [], [])
    if len(rows) <= MAX_COLUMNS:
        return Counted(
            name,
            about,
            len(rows),
            ["", *parts],
            [[heading, *texts] for heading, texts in shown.values()],
            [columns.get(key, "") for key in order],
        )
    return Counted(
        name,
        about,
        len(rows),
        [of, *(heading for heading, _ in shown.values())],
        [list(row) for row in zip(parts, *(texts for _, texts in shown.values()), strict=True)],
        [],
    )


def _quantity(key: str, base: str, values: Sequence[float | None]) -> tuple[str, list[str]]:
    """Returns the heading of a quantity, with its unit unless the quantity is a count, and its
    values as text."""
    unit, size = readable_unit(max((abs(value) for value in values if value is not None), default=0.0), base)
    heading = key.replace("_", " ") + ("" if base in _COUNTS else f", {unit}")
    return heading, [number(None if value is None else value / size) for value in values]
