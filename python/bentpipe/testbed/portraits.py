"""Portraits of scenarios: the description and the small picture on the card of a configuration or
template."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from typing import Any, Final

from bentpipe._native import ScenarioError
from bentpipe.errors import InputError
from bentpipe.quantities import base_value

from .refused import Refused
from .rules import read

#: Largest numbers of nodes and bytes of a scenario with a picture. Larger scenarios load slowly,
#: and their pictures show nothing.
MAX_NODES: Final = 60
MAX_BYTES: Final = 60_000
#: Smallest one-way delay, in seconds, of a link that is drawn with a satellite.
MIN_DELAY_S: Final = 0.1
#: Largest length of a description, in characters.
MAX_ABOUT: Final = 300

#: A description, and a picture for :class:`bentpipe.testbed.api.drafts.Thumbnail`.
Portrait = tuple[str, dict[str, Any] | None]


def portrait(text: str, level: str) -> Portrait:
    """Returns the description of a scenario and its picture: the kinds and ids of its nodes, and
    its edges as pairs of their numbers, with true for a link over a satellite. The picture is None
    for an invalid or large scenario."""
    return _about(text), _picture(text, level)


def _about(text: str) -> str:
    try:
        about = tomllib.loads(text).get("description")
    except (ValueError, RecursionError):
        about = None
    if not isinstance(about, str):
        first = text.partition("\n")[0]
        about = first.removeprefix("#") if first.startswith("#") else ""
    return " ".join(about.split())[:MAX_ABOUT]


def _picture(text: str, level: str) -> dict[str, Any] | None:
    if len(text) > MAX_BYTES:
        return None
    try:
        loaded = read(text, level)
    except (ScenarioError, InputError, Refused):
        return None
    nodes, edges = loaded.picture["nodes"], loaded.picture["edges"]
    if len(nodes) > MAX_NODES:
        return None
    distant = {link["name"] for link in loaded.data.get("link", []) if _is_distant(link)}
    numbers = {node["id"]: number for number, node in enumerate(nodes)}
    return {
        "nodes": [{"id": node["id"], "kind": node["kind"]} for node in nodes],
        "edges": [
            [
                numbers[edge["from"]],
                numbers[edge["to"]],
                edge["path"][0] == "link" and edge["path"][1] in distant,
            ]
            for edge in edges
        ],
        "first": numbers.get(loaded.picture["first"], 0),
    }


def _is_distant(link: Mapping[str, Any]) -> bool:
    """Returns true for a link over a satellite, by the rule of the editor's picture
    (``isSatelliteLink`` in ``testbed/web/src/data/things.ts``)."""
    if link.get("contacts") or link.get("acm"):
        return True
    delay = link.get("delay")
    try:
        return isinstance(delay, str) and base_value(delay) >= MIN_DELAY_S
    except InputError:
        return False
