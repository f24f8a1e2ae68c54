"""Language servers for TOML complete, describe and check a scenario by the schema that its first
line names, as they do for an editor."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import bentpipe as bp
import pytest
from bentpipe import _native
from bentpipe.scenario.starters import SCHEMA
from helpers import ROOT
from helpers.language_server import EndedError, LanguageServer

#: Servers and their arguments. The package `taplo` of Python is built without the server.
SERVERS = {"tombi": ("lsp", "--offline"), "taplo": ("lsp", "--no-auto-config", "stdio")}

START = f'{SCHEMA}\nname = "mine"\nduration = "10 s"\n'


def program(name: str) -> str:
    """Returns the path of a program of this environment or of the machine."""
    found = shutil.which(name, path=f"{ROOT}/.venv/bin{os.pathsep}{os.environ['PATH']}")
    if found is None:
        pytest.skip(f"{name} is not installed")
    return found


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("scenarios")
    (place / "bentpipe.schema.json").write_text(json.dumps(bp.schema(editor=True)), encoding="utf-8")
    return place


@pytest.fixture(params=SERVERS)
def server(request: pytest.FixtureRequest, folder: Path) -> Iterator[LanguageServer]:
    try:
        with LanguageServer([program(request.param), *SERVERS[request.param]], folder) as running:
            yield running
    except EndedError:
        pytest.skip(f"this build of {request.param} has no language server")


@pytest.fixture
def tombi(folder: Path) -> Iterator[LanguageServer]:
    with LanguageServer([program("tombi"), *SERVERS["tombi"]], folder) as running:
        yield running


def answered(request: Callable[[str], Any], text: str) -> Any:
    """Returns an answer. The first one may be empty, while the server reads the schema."""
    for _ in range(600):
        if answer := request(text):
            return answer
        time.sleep(0.1)
    return request(text)


def test_keys_of_a_scenario_are_completed_and_described(server: LanguageServer) -> None:
    found = answered(server.completions, f'{START}preset = "geo"\n^\n')
    assert {"flow", "link", "network", "campaign", "seed"} <= set(found)
    assert "Seed of all random streams" in found["seed"]
    precision = answered(server.completions, f'{START}preset = "geo"\n[campaign.precision]\n^\n')
    assert "Default 100" in precision["at_most"]


def test_a_key_shows_its_description_with_range_and_units(server: LanguageServer) -> None:
    text = answered(server.hover, START.replace("duration", "dur^ation"))
    assert "Duration of the run" in text
    assert "a span of time, 0 s to 36600 d; units: s, ns, us, ms, min, h, d" in text


def test_mistakes_are_marked(server: LanguageServer) -> None:
    assert answered(server.diagnostics, f"{START}seeds = 3\n")
    wrong = answered(server.diagnostics, f'{START}seed = "3"\n')
    assert {line for line, _ in wrong} == {3}, wrong
    # The schema is read by now.
    assert server.diagnostics(f"{START}seed = 3\n") == []


def test_examples_have_no_marks(tombi: LanguageServer) -> None:
    assert answered(tombi.diagnostics, f"{START}seeds = 3\n")
    for file in sorted((ROOT / "examples").glob("*.toml")):
        assert tombi.diagnostics(file.read_text(encoding="utf-8")) == [], file.name


def test_presets_and_kinds_are_completed(tombi: LanguageServer) -> None:
    presets = answered(tombi.completions, f'{START}preset = "^"\n')
    for name, about, _ in _native.presets():
        assert about in presets[f'"{name}"']
    kinds = answered(tombi.completions, f'{START}[[flow]]\nname = "a"\n[flow.transport]\nkind = "^"\n')
    assert set(kinds) == {'"iax2"', '"norm"', '"quic"', '"sip"', '"tcp"', '"tfrc"', '"udp"'}
    assert "Datagrams (UDP, RFC 768)" in kinds['"udp"']


def test_a_variant_completes_and_checks_its_own_keys(tombi: LanguageServer) -> None:
    transport = f'{START}[[flow]]\nname = "a"\n[flow.transport]\nkind = "tcp"\n'
    keys = answered(tombi.completions, f"{transport}^\n")
    assert {"congestion", "initial_window", "recovery"} <= set(keys)
    assert "trunk" not in keys, "a key of another transport"
    assert "Default: 10" in answered(tombi.hover, f"{transport}initial_^window = 10\n")
    (wrong,) = answered(tombi.diagnostics, f"{transport}initial_windows = 10\n")
    assert wrong[0] == 7 and "initial_windows" in wrong[1]


def test_taplo_checks_scenarios_on_the_command_line(folder: Path) -> None:
    taplo = program("taplo")
    for name, line in (("right", "seed = 3"), ("wrong", "seeds = 3")):
        (folder / f"{name}.toml").write_text(f'{SCHEMA}\npreset = "geo"\n{line}\n', encoding="utf-8")

    def check(name: str) -> subprocess.CompletedProcess[str]:
        words = [taplo, "check", "--colors", "never", f"{name}.toml"]
        return subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)

    assert check("right").returncode == 0
    wrong = check("wrong")
    assert wrong.returncode == 1 and "'seeds' was unexpected" in wrong.stderr
