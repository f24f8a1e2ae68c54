"""The schema for editors accepts valid scenarios, refuses misspelt keys, and is found by a
scenario's first line."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import bentpipe as bp
import pytest
from bentpipe import _native
from bentpipe.scenario.starters import SCHEMA, scenario_from
from helpers import ROOT
from rigs import commands

EXAMPLES = sorted((ROOT / "examples").glob("*.toml"))


@pytest.fixture(scope="module")
def validator() -> Any:
    jsonschema = pytest.importorskip("jsonschema", reason="no jsonschema")
    return jsonschema.Draft202012Validator(bp.schema(editor=True))


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: file.stem)
def test_examples_name_the_schema_first_and_keep_to_it(file: Path, validator: Any) -> None:
    text = file.read_text(encoding="utf-8")
    assert text.startswith(SCHEMA + "\n")
    assert [error.message for error in validator.iter_errors(tomllib.loads(text))] == []


def test_new_scenarios_name_the_schema_first_and_keep_to_it(validator: Any, tmp_path: Path) -> None:
    for preset, about, text in _native.presets():
        scenario = scenario_from(preset, about, text, editor=True)
        assert scenario.splitlines()[0] == SCHEMA, preset
        assert [error.message for error in validator.iter_errors(tomllib.loads(scenario))] == [], preset
    file = tmp_path / "mine.toml"
    assert commands.run("new", "geo", "--out", str(file)).returncode == 0
    assert file.read_text(encoding="utf-8").startswith(SCHEMA + "\n")


@pytest.mark.parametrize(
    "wrong",
    [
        "seeds = 3",
        "duration = 5",
        'link.sat.forwards = "5 Mbit/s"',
        '[[flow]]\nname = "a"\ntransport = { kind = "tcp", congestion = "veggas" }',
        '[[flow]]\nname = "a"\ntransport = { kind = "tcp", initial_windows = 4 }',
    ],
)
def test_mistakes_are_found(wrong: str, validator: Any) -> None:
    assert list(validator.iter_errors(tomllib.loads(f'preset = "geo"\n{wrong}\n')))


def test_no_key_of_the_schema_is_lost() -> None:
    def keys(schema: dict[str, Any]) -> set[tuple[str, str]]:
        found = set()
        for name, one in {**schema["$defs"], "": schema}.items():
            for part in [one, *one.get("oneOf", []), *one.get("anyOf", [])]:
                found |= {(name, key) for key in part.get("properties", {})}
        return found

    assert keys(bp.schema(editor=True)) == keys(bp.schema()) and len(keys(bp.schema())) > 700


def parts(schema: Any) -> Iterator[dict[str, Any]]:
    """Yields all parts of a schema."""
    if isinstance(schema, list):
        for item in schema:
            yield from parts(item)
    elif isinstance(schema, dict):
        yield schema
        for keyword, value in schema.items():
            if keyword in ("properties", "$defs"):
                for one in value.values():
                    yield from parts(one)
            elif keyword not in ("default", "examples", "const", "enum", "units"):
                yield from parts(value)


def test_every_key_and_every_kind_has_a_description() -> None:
    bare = []
    kinds = 0
    for part in parts(bp.schema(editor=True)):
        for key, value in part.get("properties", {}).items():
            kinds += key == "kind" and "const" in value
            if not value.get("description"):
                bare.append((part.get("description"), key))
    assert bare == []
    assert kinds > 100


def test_nothing_is_null_and_quantities_state_their_range_and_units() -> None:
    quantities = 0
    for part in parts(bp.schema(editor=True)):
        assert part.get("type") != "null" and "null" not in part.get("type", [])
        assert part.get("default", 0) is not None
        if "units" in part and "$ref" not in part:
            quantities += 1
            assert "; units: " in part["description"], part
    assert quantities > 200


def test_presets_are_listed_with_their_descriptions(validator: Any) -> None:
    one = bp.schema(editor=True)["properties"]["preset"]["anyOf"][0]["anyOf"]
    assert [(name["const"], name["description"]) for name in one] == [
        (name, about) for name, about, _ in _native.presets()
    ]
    first, second = one[0]["const"], one[1]["const"]
    assert not list(validator.iter_errors({"preset": [first, second]}))
    assert list(validator.iter_errors({"preset": "gee"}))
