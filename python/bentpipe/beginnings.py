"""Scenarios to start from: a preset, the keys that a scenario needs to run, and comments on each part."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from typing import Any

from .facts import facts
from .quantities import span_text


def scenario_from(preset: str, about: str, text: str) -> str:
    """Returns a commented scenario on top of a preset, whose TOML text is ``text``.

    If the preset has no flow, the scenario has one bulk transfer between the preset's ends. The preset's text follows
    as comments, to show what can be overridden.
    """
    fragment = tomllib.loads(text)
    parts = [
        f"# {about}",
        "#",
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
            'app = { kind = "bulk" }              # endless; size = "12 MB" would end it',
            "",
            "[flow.transport]",
            'kind = "tcp"',
            'congestion = "reno"                  # bentpipe variants lists them all',
            "initial_window = 10                  # segments",
            "",
        ]
    parts += [
        "# The preset. To override a value, uncomment its line and the [table] above it.",
        "#",
        *(f"# {line}".rstrip() for line in text.strip().splitlines()),
    ]
    return "\n".join(parts) + "\n"


def ends(fragment: Mapping[str, Any]) -> tuple[str, str]:
    """Returns the ends of the first flow. Without a flow: of the first link, a star's first terminal and its gateway,
    or two sites of a constellation: from one with the fewest antennas to one with the most."""
    for part in (*fragment.get("flow", []), *fragment.get("link", [])):
        return part["from"], part["to"]
    for network in fragment.get("network", {}).values():
        if network["kind"] == "constellation":
            sites = network["sites"]
            # A table has no order. If the numbers of antennas are equal, the presets' names decide: from user to
            # server.
            by_name, equal = sorted(sites, reverse=True), network["gsl"].get("antennas", 1)
            user, *_, server = sorted(by_name, key=lambda name: sites[name].get("antennas", equal))
            return user, server
        first = network["terminals"][0]
        if not isinstance(first, str):
            first = f"{first['name']}1" if "count" in first else first["name"]
        return first, network["gateway"]
    raise ValueError("the preset has neither a link nor a network")


def _duration(preset: str, fragment: Mapping[str, Any]) -> str:
    """A minute, or a hundred round trips if that is longer."""
    origin, destination = ends(fragment)
    flow = {"name": "first", "from": origin, "to": destination, "app": "bulk", "transport": {"kind": "tcp"}}
    scenario = {"name": preset, "duration": "60 s", "preset": preset, "flow": [flow]}
    (first,) = facts(scenario)["flows"]
    hops = (*(first["there"] or ()), *(first["back"] or ()))
    return span_text(max(60.0, 100 * sum(hop["delay_s"]["start"] for hop in hops)))


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
