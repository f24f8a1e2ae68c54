"""Scenarios to start from: a preset, the keys that a scenario needs to run, and comments on each
part."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping, Sequence
from typing import Any

from bentpipe import _native
from bentpipe.errors import InputError, unknown
from bentpipe.quantities import span_text

from .facts import facts
from .handshakes import given_up
from .scenarios import load


def preset_named(beginning: str, what: str = "preset") -> str:
    """Returns the preset with this name, or else the only preset whose name begins with it. Raises
    :class:`bentpipe.InputError`, with ``what`` as the kind of object in the message."""
    names = [name for name, _, _ in _native.presets()]
    meant = [name for name in names if beginning and name.startswith(beginning)]
    if beginning in names or len(meant) == 1:
        return beginning if beginning in names else meant[0]
    if meant:
        raise InputError(f'"{beginning}" is ambiguous; it matches {" or ".join(meant)}')
    raise unknown(what, beginning, names)


#: The line from which editors learn the schema of a scenario. `bentpipe schema --editor` writes the
#: schema.
SCHEMA = "#:schema ./bentpipe.schema.json"


def scenario_from(preset: str, about: str, text: str, editor: bool = False) -> str:
    """Returns a commented scenario based on a preset, whose TOML text is ``text``. With ``editor``,
    the first line names the schema.

    If the preset has no flow, the scenario has one bulk transfer between the preset's ends. The
    preset's text follows as comments, to show the keys that can be overridden.
    """
    fragment = tomllib.loads(text)
    parts = [
        *([SCHEMA] if editor else []),
        f"# {about}",
        *([] if editor else ["#"]),
        "# Quantities are strings with a unit. Try bentpipe check, simulate and predict on this file.",
        "",
        f"name = {_quoted(f'My {preset}')}",
        *([] if "duration" in fragment else [f"duration = {_quoted(_duration(preset, fragment))}"]),
        "seed = 1                             # the same seed gives identical results",
        f"preset = {_quoted(preset)}",
        "",
    ]
    if "flow" not in fragment:
        origin, destination = ends(fragment)
        parts += [
            "[[flow]]",
            'name = "transfer"',
            f"from = {_quoted(origin)}",
            f"to = {_quoted(destination)}",
            'app = { kind = "bulk" }              # endless; with size = "12 MB" it ends',
            "",
            "[flow.transport]",
            'kind = "tcp"',
            'congestion = "reno"                  # `bentpipe variants` lists all',
            "initial_window = 10                  # segments",
            *_handshake(preset, fragment),
            "",
        ]
    parts += [
        "# The preset. To override a value, uncomment its line and the [table] above it.",
        "#",
        *(f"# {line}".rstrip() for line in text.strip().splitlines()),
    ]
    return "\n".join(parts) + "\n"


def ends(fragment: Mapping[str, Any]) -> tuple[str, str]:
    """Returns the ends of the first flow. Without a flow, returns the first station of a Wi-Fi
    network and the node beyond its access point, or the ends of the first link (the user's side,
    ``to``, first), or the first terminal of a star and its gateway, or two sites of a
    constellation, from the fewest to the most antennas."""
    links, networks = fragment.get("link", []), fragment.get("network", {}).values()
    for flow in fragment.get("flow", []):
        to = flow["to"]
        return flow["from"], to if isinstance(to, str) else to[0]
    for network in networks:
        if network["kind"] == "wifi":
            access_point = network["access_point"]
            pairs = [(link["from"], link["to"]) for link in links]
            beyond = (end for pair in pairs if access_point in pair for end in pair if end != access_point)
            return _first(network["stations"]), next(beyond, access_point)
    for link in links:
        return link["to"], link["from"]
    for network in networks:
        if network["kind"] == "constellation":
            sites = network["sites"]
            # Tables have no order. If the numbers of antennas are equal, the names in presets
            # decide: from user to server.
            by_name, equal = sorted(sites, reverse=True), network["gsl"].get("antennas", 1)
            user, *_, server = sorted(by_name, key=lambda name: sites[name].get("antennas", equal))
            return user, server
        return _first(network["terminals"]), network["gateway"]
    raise ValueError("the preset has neither a link nor a network")


def _first(members: Sequence[str | Mapping[str, Any]]) -> str:
    """Returns the name of the first node in a list of nodes and groups of nodes."""
    first = members[0]
    if isinstance(first, str):
        return first
    name = str(first["name"])
    return f"{name}1" if "count" in first else name


def _duration(preset: str, fragment: Mapping[str, Any]) -> str:
    """Returns a duration: a minute, or a hundred round trips if longer."""
    return span_text(max(60.0, 100 * _first_flow(preset, fragment)[1]))


def _handshake(preset: str, fragment: Mapping[str, Any]) -> list[str]:
    """Returns the keys for a longer handshake time limit of TCP, if the default is too short for
    the path."""
    transport, rtt_s = _first_flow(preset, fragment)
    if not given_up(transport, rtt_s):
        return []
    enough_s = 100 * math.ceil(1.2 * rtt_s / 100)
    return [
        f'rto_initial = "{enough_s} s"               # longer than a round trip; the default is 1 s',
        f'rto_max = "{enough_s} s"',
    ]


def _first_flow(preset: str, fragment: Mapping[str, Any]) -> tuple[Mapping[str, Any], float]:
    """Returns the transport of a flow between the ends of a preset, and its round-trip time in
    seconds."""
    origin, destination = ends(fragment)
    flow = {"name": "first", "from": origin, "to": destination, "app": "bulk", "transport": {"kind": "tcp"}}
    scenario = load({"name": preset, "duration": "60 s", "preset": preset, "flow": [flow]})
    (first,) = facts(scenario)["flows"]
    hops = (*(first["there"] or ()), *(first["back"] or ()))
    return scenario.flows[0]["transport"], sum(hop["delay_s"]["start"] for hop in hops)


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
