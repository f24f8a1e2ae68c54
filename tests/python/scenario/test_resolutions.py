"""Number of resolutions of a scenario: one for each command and call."""

from __future__ import annotations

from pathlib import Path

import bentpipe as bp
import pytest
from bentpipe import _native
from bentpipe.results.flows import flow_results
from rigs.commands import call

HUB = "examples/hub.toml"
SHORT = ("--set", "duration=2 s", "--set", "network.sat.terminals=[{name = 'st', count = 3}]")


@pytest.fixture
def resolved(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """The arguments of every resolution since the start of the test."""
    asked: list[object] = []
    scenario = _native.Scenario

    def counted(*given: object) -> _native.Scenario:
        asked.append(given)
        return scenario(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(_native, "Scenario", counted)
    return asked


@pytest.mark.parametrize(
    "command", [["simulate"], ["simulate", "--seed", "3"], ["check"], ["check", "--json"], ["predict"]]
)
def test_a_command_resolves_its_scenario_once(
    resolved: list[object], tmp_path: Path, command: list[str]
) -> None:
    out = ["--out", tmp_path / "run"] if command[0] == "simulate" else []
    # The groups of flows, which are resolved into members, are in every table and prediction.
    call(command[0], HUB, *command[1:], *SHORT, *out)
    assert len(resolved) == 1


def test_each_variant_is_resolved_once(resolved: list[object], tmp_path: Path) -> None:
    call("simulate", HUB, *SHORT, "--vary", "seed=1,2,3", "--out", tmp_path / "runs")
    # And once without a variant, for warnings.
    assert len(resolved) == 1 + 3


def test_a_loaded_scenario_is_not_resolved_again(resolved: list[object], tmp_path: Path) -> None:
    scenario = bp.load("examples/geo-bulk.toml", ["duration=2 s"])
    run = bp.simulate(scenario, out=tmp_path / "run")
    assert (run.flow_names, list(bp.predict_scenario(scenario))) == (["download"], ["download"])
    assert flow_results(run)
    assert len(resolved) == 1
