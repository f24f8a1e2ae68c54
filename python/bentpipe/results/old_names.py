"""Former names in run folders of older versions, which are read as the current names."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

#: Current names of former columns, by table or trace.
COLUMNS: Final[Mapping[str, Mapping[str, str]]] = {
    "atm_leg": {"spoiled": "corrupted"},
    "scheduler": {"category": "scheme"},
    "selection": {"access": "multilink"},
}

#: Current names of former traces and reports, which are the names of their files.
FILES: Final[Mapping[str, str]] = {"access": "waits", "spoiled": "corrupted"}


def files(folder: Path) -> dict[str, Path]:
    """Returns the Parquet files in a folder of traces or reports by their current names, in
    alphabetical order."""
    found = {FILES.get(file.stem, file.stem): file for file in folder.glob("*.parquet")}
    return dict(sorted(found.items()))


def renamed(scenario: Mapping[str, Any]) -> dict[str, Any]:
    """Returns a run's scenario with the current names of keys and traces.

    >>> renamed({"access": [{"name": "x"}], "handover": [{"access": "x"}], "record": {"traces": ["tcp", "access"]}})
    {'multilink': [{'name': 'x'}], 'handover': [{'multilink': 'x'}], 'record': {'traces': ['tcp', 'waits']}}
    """
    result = _key(scenario, "access", "multilink")
    if "handover" in result:
        result["handover"] = [_key(one, "access", "multilink") for one in result["handover"]]
    record = result.get("record", {})
    if "traces" in record:
        result["record"] = record | {"traces": [FILES.get(name, name) for name in record["traces"]]}
    return result


def renamed_summary(summary: Mapping[str, Any]) -> dict[str, Any]:
    """Returns a run's summary with the current names of reports and columns."""
    result = dict(summary)
    if "tables" in summary:
        result["tables"] = {
            FILES.get(name, name): [_columns(name, row) for row in rows]
            for name, rows in summary["tables"].items()
        }
    if "units" in summary:
        result["units"] = {
            FILES.get(name, name): _columns(name, units) for name, units in summary["units"].items()
        }
    return result


def _columns(table: str, row: Mapping[str, Any]) -> dict[str, Any]:
    return {COLUMNS.get(table, {}).get(column, column): value for column, value in row.items()}


def _key(table: Mapping[str, Any], former: str, today: str) -> dict[str, Any]:
    return {today if key == former else key: value for key, value in table.items()}
