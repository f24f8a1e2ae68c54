"""The schema of scenarios for the forms of the page, with facts about keys that JSON Schema has no words for."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, Final

from bentpipe._native import ScenarioError
from bentpipe.scenario.scenarios import load, schema

#: Values that make an application valid, where the required keys and their examples do not.
_FIRST: Final[Mapping[str, dict[str, Any]]] = {
    "bundles": {"rate": "10 kbit/s"},
    "calls": {"calls": 1},
    "command": {"run": "true"},
    "http": {"object": "20 kB"},
    "sensors": {"motes": ["m1"], "query": "SELECT * FROM motes"},
}

#: The transports that a form proposes: the first of these that carries the application.
_PROPOSED: Final = ("tcp", "udp", "sip")
#: Applications for which a form proposes another transport: TCP would change the rate.
_PROPOSED_FOR: Final = {"cbr": "udp"}


@cache
def form_schema() -> dict[str, Any]:
    """Returns the JSON Schema of scenarios with more annotations.

    An application has ``examples``, one table that is valid, and ``transports``: the kinds of transport that carry it,
    the one to propose first.
    """
    found = schema()
    definitions = found["$defs"]
    transports = [kind for kind, _ in variants(definitions["Transport"])]
    for kind, variant in variants(definitions["App"]):
        app = {"kind": kind, **_required(variant, definitions), **_FIRST.get(kind, {})}
        variant["examples"] = [app]
        proposed = [*filter(None, [_PROPOSED_FOR.get(kind)]), *_PROPOSED, *transports]
        variant["transports"] = [one for one in dict.fromkeys(proposed) if is_carried(app, one)]
    return found


def variants(definition: Mapping[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """Returns kind and schema of the variants of a definition that are tables."""
    return [
        (part["properties"]["kind"]["const"], part) for part in definition["oneOf"] if "properties" in part
    ]


def is_carried(app: Mapping[str, Any], transport: str) -> bool:
    """True if the engine accepts a flow of this application over this kind of transport."""
    flow = {"name": "f", "from": "user", "to": "server", "app": app, "transport": {"kind": transport}}
    try:
        load({"name": "carried", "duration": "1 s", "preset": "geo", "flow": [flow]})
    except ScenarioError:
        return False
    return True


def _required(variant: Mapping[str, Any], definitions: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the example of each required quantity of a variant."""
    of = {key: variant["properties"][key].get("$ref", "").rpartition("/")[2] for key in variant["required"]}
    return {key: definitions[name]["examples"][0] for key, name in of.items() if name}
