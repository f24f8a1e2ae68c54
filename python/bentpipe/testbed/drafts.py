"""Drafts: scenarios in the editor, with their problems, picture, predictions, and changes of single
values.

The TOML text is the scenario. Picture and forms show the values that the engine resolves from the
text. Each change in picture or forms is applied to the text, which keeps its comments and order.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from types import MappingProxyType
from typing import Any, Final

import tomlkit
from tomlkit.exceptions import TOMLKitError
from tomlkit.items import Array, InlineTable, Table

from bentpipe._native import ScenarioError
from bentpipe.campaign.variants import number_of
from bentpipe.predict.prediction import predict_scenario
from bentpipe.scenario.facts import facts
from bentpipe.scenario.scenarios import Override, Scenario, schema, toml_value
from bentpipe.scenario.summary import cautions, explain

from .instruments import impossible
from .refused import Refused
from .rules import NAME, Cost, check_cost, cost, read

#: Maximum number of nodes of a small scenario, which loads in milliseconds.
MAX_NODES_CHECKED_FULLY: Final = 100


def view(text: str, level: str, machine: Mapping[str, str] = MappingProxyType({})) -> dict[str, Any]:
    """Returns the data that the page shows for a draft.

    Of an invalid draft, these are the problems. Of a valid draft, these are summary, warnings,
    probable mistakes, resolved values, picture, predictions, cost and number of runs. Both have the
    instruments that cannot run the draft, each with the reason. ``machine`` lists those that the
    machine cannot run.
    """
    try:
        loaded = read(text, level)
        if problems := problems_of_campaign(text, level, loaded):
            return {"valid": False, "problems": problems, "impossible": dict(machine)}
        known = facts(loaded)
        wanted = cost(loaded.data, known)
        predictions = [one.as_dict() | {"arguments": {}} for one in predict_scenario(loaded).values()]
    except ScenarioError as error:
        problems = [dict(one) | {"file": NAME} for one in error.problems]
        return {"valid": False, "problems": problems, "impossible": dict(machine)}
    except Refused as refused:
        refusal: dict[str, Any] = {
            "file": NAME,
            "line": None,
            "column": None,
            "path": "",
            "value": None,
            "allowed": [],
            "nearest": None,
        }
        problems = [refusal | {"message": str(refused)}]
        return {"valid": False, "problems": problems, "impossible": dict(machine)}
    return {
        "valid": True,
        "problems": [],
        "summary": explain(loaded, known),
        "warnings": loaded.warnings,
        "cautions": cautions(loaded, known),
        "resolved": loaded.data,
        "campaign": loaded.campaign,
        "runs": _runs(loaded.campaign),
        "picture": loaded.picture,
        "predictions": predictions,
        "impossible": impossible(loaded, wanted, level, machine),
        "cost": {"events": wanted.events, "seconds": wanted.seconds, "refused": _refusal(wanted, level)},
    }


def problems_of_campaign(text: str, level: str, loaded: Scenario) -> list[dict[str, Any]]:
    """Returns the problems of the values that a campaign varies: unknown keys, and values that are
    not allowed. Each value is checked separately. Large scenarios load slowly, so only the first
    value of each of their keys is checked here; a launch checks all combinations."""
    found: list[dict[str, Any]] = []
    varied: Mapping[str, Sequence[Any]] = {} if loaded.campaign is None else loaded.campaign.get("vary", {})
    for key, values in varied.items():
        for value in values if len(loaded.nodes) <= MAX_NODES_CHECKED_FULLY else values[:1]:
            try:
                read(text, level, varying([f"{key}={toml_value(value)}"]))
            except ScenarioError as error:
                for one in error.problems:
                    message = one["message"] if one["path"] == key else f"{one['path']}: {one['message']}"
                    where = {"file": NAME, "line": None, "column": None, "path": f"campaign.vary.{key}"}
                    problem = dict(one) | where | {"message": message}
                    if problem not in found:
                        found.append(problem)
    return found


def varying(overrides: Sequence[str]) -> list[Override]:
    """Returns the overrides of a point of a campaign. Messages call their source "campaign"."""
    return [("campaign", one) for one in overrides]


def _runs(campaign: Mapping[str, Any] | None) -> int:
    return 1 if campaign is None else number_of(campaign) * int(campaign.get("replications", 1))


def _refusal(wanted: Cost, level: str) -> str | None:
    try:
        check_cost(wanted, "simulate", level)
    except Refused as refused:
        return str(refused)
    return None


def edit(text: str, path: Sequence[str], value: Any) -> str:
    """Returns the text after one value was set, or removed if ``value`` is None. The path addresses
    a table in a list by its name, or by its position if it has no name. Raises :class:`Refused` if
    the text is not TOML or the path cannot exist."""
    if not path:
        raise Refused(422, "a change needs a key")
    try:
        document = tomlkit.parse(text)
        *above, last = path
        part: Any = document
        for depth, key in enumerate(above):
            part = _inner(part, key, depth, removing=value is None)
            if part is None:
                return text
        # A network is a table of its own, because it has many keys.
        _put(part, last, value, table=list(above) == ["network"])
        if value is None and len(path) == 2 and part == []:
            document.remove(path[0])
        return tomlkit.dumps(document)
    except (TOMLKitError, RecursionError) as error:
        raise Refused(422, f"the text is not TOML, so nothing was changed: {error}") from error


def with_changes(text: str, made: Sequence[tuple[float, str, str]]) -> str:
    """Returns a scenario in which manual changes (seconds, key, value) are scheduled changes. Times
    are written with nanoseconds, the resolution of the engine."""
    lines = [text.rstrip("\n")]
    for time, key, value in made:
        parts = ".".join(json.dumps(part) for part in key.split("."))
        try:
            # As in an override, a value that is not TOML is a string.
            tomllib.loads(f"value = {value}")
            written = value
        except tomllib.TOMLDecodeError:
            written = json.dumps(value)
        lines += ["", "[[change]]", f'at = "{time:.9f} s"', f"set.{parts} = {written}"]
    return "\n".join(lines) + "\n"


@cache
def _lists() -> frozenset[str]:
    """Returns the keys of a scenario that are lists of tables."""
    properties = schema()["properties"].items()
    return frozenset(key for key, part in properties if "$ref" in part.get("items", {}))


def _inner(part: Any, key: str, depth: int, *, removing: bool) -> Any:
    """Returns the table or list of a key; creates it if it is missing."""
    if isinstance(part, list):
        found = _named(part, key)
        if found is not None or removing:
            return found
        table = tomlkit.inline_table() if isinstance(part, Array) else tomlkit.table()
        table.update(_name(key))
        part.append(table)
        return _named(part, key)
    if not isinstance(part, Mapping):
        raise Refused(422, f"there is no table {key}")
    there = part.get(key)
    if isinstance(there, Mapping | list):
        return there
    if there is None and removing:
        return None
    made: Any
    if there is None and depth == 0:
        made = tomlkit.aot() if key in _lists() else tomlkit.table()
    else:
        made = tomlkit.inline_table() if isinstance(part, InlineTable) or depth > 0 else tomlkit.table()
    if isinstance(there, str):
        # The short form of a variant consists of its kind.
        made["kind"] = str(there)
    part[key] = made  # type: ignore[index]
    return part[key]


def _name(key: str) -> dict[str, str]:
    """Returns the name of a table in a list. A number is the position of a table without a name."""
    return {} if key.isdigit() else {"name": key}


def _put(part: Any, key: str, value: Any, *, table: bool = False) -> None:
    if isinstance(part, list):
        found = _named(part, key)
        if found is not None:
            part.remove(found)
        if value is not None:
            part.append(_item({**_name(key), **value}, table=not isinstance(part, Array)))
        return
    if not isinstance(part, Mapping):
        raise Refused(422, f"there is no table for {key}")
    if value is None:
        part.pop(key, None)  # type: ignore[attr-defined]
    else:
        part[key] = _item(value, table=table)  # type: ignore[index]


def _item(value: Any, *, table: bool = False) -> Any:
    """Returns a value as TOML. Nested tables are inline, and null values are omitted."""
    if isinstance(value, Mapping):
        made: Table | InlineTable = tomlkit.table() if table else tomlkit.inline_table()
        if table:
            # An empty line precedes the header.
            made.trivia.indent = "\n"
        for key, inner in value.items():
            if inner is not None:
                made[key] = _item(inner)
        return made
    if isinstance(value, list):
        array = tomlkit.array()
        for inner in value:
            array.append(_item(inner))
        return array
    if isinstance(value, str) and "\n" in value:
        return tomlkit.string(value, multiline=True)
    return tomlkit.item(value)


def _named(part: list[Any], key: str) -> Any:
    for place, one in enumerate(part):
        if isinstance(one, Mapping) and (one.get("name") == key or ("name" not in one and str(place) == key)):
            return one
    return None
