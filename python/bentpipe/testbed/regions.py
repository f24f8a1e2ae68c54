"""Regions: time ranges of a run in which a site has one serving satellite, a multilink uses one
link, or a changed key has one value. They are derived from the changes of the scenario, manual
changes, and the traces `handover` and `selection`.
"""

from __future__ import annotations

import functools
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from bentpipe.quantities import base_value
from bentpipe.scenario.scenarios import ScenarioText

#: Maximum number of regions returned; more than a plot can show.
MAX_REGIONS: Final = 500

#: A manual change: seconds of the run, key, value.
ManualChange = tuple[float, str, str]
#: The start of a region: seconds, kind, entity, label.
Start = tuple[float, str, str, str]


@dataclass(frozen=True)
class Region:
    """The time from ``start`` to ``end`` (seconds of the run; None for an open end) in which
    ``label`` describes the state of the entity ``of``. ``kind`` is "change", "handover" or
    "selection"."""

    kind: str
    of: str
    label: str
    start: float
    end: float | None


def of_folder(scenario: str, made: Sequence[ManualChange], folder: Path) -> list[Region]:
    """Returns the regions of a run that has ended."""
    from bentpipe.results import old_names
    from bentpipe.results.runs import Run

    data = old_names.renamed(tomllib.loads(scenario))
    run = Run(folder)
    starts = _changes(data, made)
    for trace in ("handover", "selection"):
        if trace in run.traces:
            frame = run.trace(trace)
            entity = frame.columns[1]
            starts += [
                _start(scenario, data, trace, str(row[entity]), row["time"], row)
                for row in frame.iter_rows(named=True)
            ]
    return _joined(starts)


def of_live(scenario: str, made: Sequence[ManualChange], parts: Iterable[dict[str, Any]]) -> list[Region]:
    """Returns the regions of a run in progress, from its live data."""
    data = tomllib.loads(scenario)
    starts = _changes(data, made)
    columns = _columns()
    for part in parts:
        for trace in ("handover", "selection"):
            for entity, rows in part["rows"].get(trace, {}).items():
                for time, *values in rows:
                    row = dict(zip(columns[trace], values, strict=True))
                    starts.append(_start(scenario, data, trace, entity, time, row))
    return _joined(starts)


def _changes(data: dict[str, Any], made: Sequence[ManualChange]) -> list[Start]:
    starts = [(time, "change", key, f"{key} = {value}") for time, key, value in made]
    for change in data.get("change", []):
        time = base_value(change["at"])
        for key, value in _leaves(change["set"], ""):
            starts.append((time, "change", key, f"{key} = {value}"))
    return starts


def _leaves(table: Any, path: str) -> Iterable[tuple[str, Any]]:
    for key, value in table.items():
        inner = f"{path}.{key}" if path else key
        if isinstance(value, dict):
            yield from _leaves(value, inner)
        else:
            yield inner, value


def _start(
    text: str, data: dict[str, Any], trace: str, entity: str, time: float, row: dict[str, Any]
) -> Start:
    to = row["to"]
    if trace == "handover":
        network = next((name for name, one in data["network"].items() if entity in one.get("sites", {})), "")
        label = "no satellite" if to is None else _satellites(text, network)[int(to)]
        antenna = int(row["antenna"] or 0)
        return time, trace, entity if antenna == 0 else f"{entity} (antenna {antenna})", label
    links: list[Any] = next((one["links"] for one in data.get("multilink", []) if one["name"] == entity), [])
    label = str(links[int(to)]) if to is not None and int(to) < len(links) else f"link {to}"
    return time, trace, f"{entity} ({'back' if row['direction'] else 'there'})", label


@functools.lru_cache(maxsize=8)
def _satellites(scenario: str, network: str) -> list[str]:
    """Returns the names of a constellation's satellites."""
    from bentpipe.scenario.constellations import constellation

    return constellation(ScenarioText(scenario, "scenario"), [0.0], network=network).satellites


def _joined(starts: list[Start]) -> list[Region]:
    """Returns the regions. Each region ends at the start of the next region of its entity."""
    found: list[Region] = []
    last: dict[tuple[str, str], int] = {}
    for time, kind, of, label in sorted(starts)[:MAX_REGIONS]:
        place = last.get((kind, of))
        if place is not None:
            before = found[place]
            found[place] = Region(kind, of, before.label, before.start, time)
        last[kind, of] = len(found)
        found.append(Region(kind, of, label, time, None))
    return found


def _columns() -> dict[str, list[str]]:
    import json

    from bentpipe import _native

    listed = json.loads(_native.tables())["traces"]
    return {table["name"]: [column["name"] for column in table["columns"]] for table in listed}
