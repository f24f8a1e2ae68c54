"""Former names in run folders of older versions, which are read as the current names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

#: Current names of former columns, by table or trace.
COLUMNS: Final[Mapping[str, Mapping[str, str]]] = {
    "atm_leg": {"spoiled": "corrupted"},
    "scheduler": {"category": "scheme"},
    "selection": {"access": "multilink"},
}

#: Current names of former traces, by file name.
TRACES: Final[Mapping[str, str]] = {"access": "waits"}


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
        result["record"] = record | {"traces": [TRACES.get(name, name) for name in record["traces"]]}
    return result


def _key(table: Mapping[str, Any], former: str, today: str) -> dict[str, Any]:
    return {today if key == former else key: value for key, value in table.items()}
