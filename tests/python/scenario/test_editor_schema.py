"""The schema for editors accepts valid scenarios, refuses misspelt keys, and is found by a
scenario's first line."""

from __future__ import annotations

import json
import shutil
import subprocess
import tomllib
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


def test_taplo_finds_the_schema_and_a_misspelt_key(tmp_path: Path) -> None:
    taplo = shutil.which("taplo")
    if taplo is None:
        pytest.skip("taplo is not installed")
    (tmp_path / "bentpipe.schema.json").write_text(json.dumps(bp.schema(editor=True)), encoding="utf-8")
    for name, line in (("right", "seed = 3"), ("wrong", "seeds = 3")):
        (tmp_path / f"{name}.toml").write_text(f'{SCHEMA}\npreset = "geo"\n{line}\n', encoding="utf-8")

    def check(name: str) -> subprocess.CompletedProcess[str]:
        words = [taplo, "check", "--colors", "never", f"{name}.toml"]
        return subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)

    assert check("right").returncode == 0
    wrong = check("wrong")
    assert wrong.returncode == 1 and "'seeds' was unexpected" in wrong.stderr
