"""The schema from which the page builds the test bed's forms."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import bentpipe as bp
import pytest
from bentpipe.quantities import UNITS, base_value
from bentpipe.scenario.scenarios import schema

pytest.importorskip("fastapi", reason="bentpipe[testbed] is not installed")

from bentpipe.testbed.forms import form_schema
from bentpipe.testbed.key_groups import GROUPS, tables


def variants(definition: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Returns the variants of a definition that are tables, by kind."""
    parts = [part for part in definition["oneOf"] if "properties" in part]
    return {part["properties"]["kind"]["const"]: part for part in parts}


def is_carried(app: Mapping[str, Any], transport: str) -> bool:
    """Returns true if the engine accepts a flow of this application over this kind of transport."""
    flow = {"name": "f", "from": "user", "to": "server", "app": app, "transport": {"kind": transport}}
    try:
        bp.load({"name": "carried", "duration": "1 s", "preset": "geo", "flow": [flow]})
    except bp.ScenarioError:
        return False
    return True


def quantities() -> dict[str, dict[str, dict[str, float]]]:
    """Returns the units of every quantity of the schema."""
    return {name: one["units"] for name, one in form_schema()["$defs"].items() if "units" in one}


def test_every_quantity_lists_the_units_of_its_pattern() -> None:
    listed = set()
    for name, definition in schema()["$defs"].items():
        if (pattern := definition.get("pattern", "")).endswith(r")\s*$"):
            named = set(pattern.rpartition("(")[2].removesuffix(r")\s*$").split("|"))
            assert {unit for units in quantities()[name].values() for unit in units} == named, name
            listed |= named
    assert listed == set(UNITS)


@pytest.mark.parametrize(
    ("unit", "base"),
    [("d", "s"), ("min", "s"), ("KiB", "B"), ("Tbit/s", "bit/s"), ("MBd", "Bd"), ("km/h", "m/s")],
)
def test_sizes_of_units(unit: str, base: str) -> None:
    sizes = {"d": 86400, "min": 60, "KiB": 1024, "Tbit/s": 1e12, "MBd": 1e6, "km/h": 1 / 3.6}
    (of,) = {units[base][unit] for units in quantities().values() if unit in units.get(base, {})}
    assert math.isclose(of, sizes[unit])
    assert base_value(f"3 {unit}") == 3 * of


def test_the_engine_has_the_same_sizes() -> None:
    """A run whose duration in seconds is the size of a unit: the engine's own conversion, visible
    in its facts of a path."""
    for unit, size in quantities()["Span"]["s"].items():
        if size > 10:
            continue
        link = [{"name": "l", "from": "a", "to": "b", "rate": "1 Mbit/s", "delay": f"3 {unit}"}]
        flow = [{"name": "f", "from": "a", "to": "b", "app": "bulk", "transport": "tcp"}]
        loaded = bp.load({"name": "u", "duration": "1 s", "link": link, "flow": flow})
        (hop,) = loaded.facts["flows"][0]["there"]
        assert math.isclose(hop["delay_s"]["least"], 3 * size), unit


def test_each_application_is_valid_over_each_of_its_transports_and_no_other() -> None:
    definitions = form_schema()["$defs"]
    transports = variants(definitions["Transport"])
    proposed = {}
    for kind, variant in variants(definitions["App"]).items():
        (app,) = variant["examples"]
        assert app["kind"] == kind
        proposed[kind] = variant["transports"][0]
        for transport in transports:
            assert is_carried(app, transport) == (transport in variant["transports"]), (kind, transport)
    assert {kind: one for kind, one in proposed.items() if one != "tcp"} == {
        "bundles": "udp",
        "calls": "sip",
        "cbr": "udp",
        "voice": "udp",
    }


def test_every_listed_key_exists_and_has_one_place() -> None:
    found = dict(tables(form_schema()))
    assert set(GROUPS) <= set(found)
    for name, groups in GROUPS.items():
        listed = [key for keys in groups.values() for key in keys.split()]
        assert len(listed) == len(set(listed)), name
        assert set(listed) <= set(found[name]["properties"]), name


def test_required_keys_are_common_and_rate_and_delay_precede_adaptive_coding() -> None:
    found = dict(tables(form_schema()))
    for table in found.values():
        assert all(table["properties"][key]["common"] for key in table.get("required", ()))
        # A folded key has a group, and a common key has none.
        assert all(key["common"] != bool(key.get("group")) for key in table["properties"].values())
    link = found["LinkPair"]["properties"]
    assert link["rate"]["order"] < link["delay"]["order"] < link["acm"]["order"]
    assert not link["acm"]["common"]
    red = found["Queue.red-bytes"]["properties"]
    assert sorted((one["order"], key) for key, one in red.items() if one["common"] and key != "kind") == [
        (0, "limit"),
        (1, "min"),
        (2, "max"),
        (3, "probability"),
        (4, "typical"),
        (5, "burst"),
        (6, "bandwidth"),
    ]
