"""Number of resolutions of a scenario: one for each command and call."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import IO, Any

import bentpipe as bp
import pytest
from bentpipe import _native
from bentpipe.results.flows import flow_results
from bentpipe.testbed import executor, runner
from helpers.beds import Bed, bed, launched
from rigs.commands import call
from rigs.networks import until
from rigs.testbeds import SMALL

__all__ = ["bed"]

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


def test_an_edit_in_the_test_bed_resolves_once(resolved: list[object], bed: Bed) -> None:
    ada = bed.join("ada")
    edits = [{"path": ["duration"], "value": "2 s"}, {"path": ["link", "sat", "delay"], "value": "20 ms"}]
    text = ada.post("/api/drafts/edit", json={"text": SMALL, "edits": edits}).json()["text"]
    shown = ada.post("/api/drafts/view", json={"text": text}).json()
    assert shown["valid"] and shown["resolved"]["duration"] == "2 s" and shown["predictions"]
    assert len(resolved) == 1


def test_a_launch_resolves_once_to_check_and_once_to_run(
    resolved: list[object], bed: Bed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ada = bed.join("ada")
    (run,) = launched(ada)
    assert len(resolved) == 1
    told: list[dict[str, Any]] = []
    send = executor.send

    def noted(pipe: IO[str] | None, what: Any) -> None:
        told.append(what)
        send(pipe, what)

    monkeypatch.setattr(executor, "send", noted)
    bed.execute()
    shown = until(lambda: (now := ada.get(f"/api/runs/{run['id']}").json())["ended"] and now, 120)
    assert shown["state"] == "done", shown
    # The executor itself resolves nothing. The work of the run's process is repeated here, where it
    # is counted.
    assert len(resolved) == 1
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    runner.perform(told[0] | {"folder": str(tmp_path / "again")}, lambda _: None)
    assert len(resolved) == 2
    first = bed.settings.runs.rglob("flows.parquet")
    assert next(first).read_bytes() == (tmp_path / "again" / "flows.parquet").read_bytes()


def test_the_process_of_a_run_refuses_what_its_owner_may_not(tmp_path: Path) -> None:
    given = {"scenario": SMALL, "level": "user", "instrument": "simulate", "pace": None}
    assert runner.permitted(given).data["name"] == "Small"
    for changed, why in (
        ({"scenario": SMALL.replace("20 s", "31 d")}, "refused: .*30 days"),
        ({"scenario": SMALL.replace("geo", "nowhere")}, "refused: .*nowhere"),
        (
            {"level": "guest", "instrument": "emulate"},
            "refused: your level does not allow the instrument emulate",
        ),
        ({"pace": 0.001}, "refused: the run takes 20000 s"),
    ):
        with pytest.raises(ValueError, match=f"(?s)^{why}"):
            runner.permitted(given | changed)
