"""Simulating from Python: folders, stopping, threads, determinism."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import bentpipe as bp
import pytest
from bentpipe.campaign.jobs import NOTE, jobs_of, run_all
from bentpipe.predict.prediction import predict_scenario
from bentpipe.results.predictions import predict_run
from bentpipe.scenario.variation import combinations
from rigs.commands import call

if TYPE_CHECKING:
    from bentpipe.scenario_types import Scenario

SHORT: Scenario = {
    "name": "short",
    "duration": "20 s",
    "preset": "dvb-rcs",
    "flow": [{"name": "up", "from": "st1", "to": "gw", "app": "bulk", "transport": {"kind": "tcp"}}],
}


def contents(folder: Path) -> dict[str, bytes]:
    """Returns every file of a run except those that record the time and machine of the run."""
    dated = ("provenance.json", NOTE)
    files = [file for file in sorted(folder.rglob("*")) if file.is_file() and file.name not in dated]
    return {str(file.relative_to(folder)): file.read_bytes() for file in files}


def test_runs_on_one_and_on_two_threads_are_equal_byte_for_byte(tmp_path: Path) -> None:
    variations = combinations(["flow.up.transport.congestion=reno,vegas", "seed=1,2"])
    for jobs in (1, 2):
        runs = run_all(jobs_of(SHORT, variations), tmp_path / str(jobs), None, jobs)
        assert [run.complete for run in runs.values()] == [True] * 4
    assert contents(tmp_path / "1") == contents(tmp_path / "2")


def test_runs_that_begin_at_once_have_folders_of_their_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with ThreadPoolExecutor(4) as pool:
        runs = list(pool.map(lambda seed: bp.simulate(SHORT, seed=seed), range(12)))
    assert len({run.path for run in runs}) == 12
    assert [run.provenance["seed"] for run in runs] == list(range(12))


def test_a_run_that_does_not_begin_leaves_no_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(bp.ScenarioError):
        bp.simulate(SHORT | {"flow": []})
    assert not list(tmp_path.glob("runs/*"))


def test_what_was_resolved_repeats_the_run(tmp_path: Path) -> None:
    first = bp.simulate(SHORT, seed=5, overrides=["flow.up.transport.congestion=vegas"], out=tmp_path / "a")
    again = bp.simulate(first.path / "scenario.toml", out=tmp_path / "b")
    assert contents(first.path) == contents(again.path)
    assert again.provenance["seed"] == 5


def test_progress_is_told_and_stops_the_run(tmp_path: Path) -> None:
    told: list[float] = []

    def stop(fraction: float) -> bool:
        told.append(fraction)
        return len(told) < 2

    run = bp.simulate(
        SHORT | {"duration": "30 d", "record": {"traces": []}}, out=tmp_path / "run", progress=stop
    )
    assert not run.complete and run.flows.height == 1
    assert len(told) == 2 and all(0 <= fraction <= 1 for fraction in told)


def test_the_prediction_beside_an_interrupted_run_is_for_the_time_that_it_ran(tmp_path: Path) -> None:
    long: Scenario = {
        "name": "long",
        "duration": "20 d",
        "preset": "geo",
        "flow": [{"name": "up", "from": "user", "to": "server", "app": "bulk", "transport": "tcp"}],
        "record": {"traces": []},
    }
    told: list[float] = []

    def stop(fraction: float) -> bool:
        told.append(fraction)
        return len(told) < 2

    run = bp.simulate(long, out=tmp_path / "run", progress=stop)
    ran_s = run.provenance["simulated_seconds"]
    assert 0 < ran_s < 20 * 86400
    (beside,) = predict_run(run).values()
    (until,) = predict_scenario(long | {"duration": f"{ran_s} s"}).values()
    assert beside.prediction and until.prediction
    assert beside.prediction.duration_s == until.prediction.duration_s == pytest.approx(ran_s)
    assert beside.prediction.goodput_bit_s == until.prediction.goodput_bit_s


def test_what_progress_raises_arrives_after_the_folder_was_closed(tmp_path: Path) -> None:
    def fail(_: float) -> None:
        raise RuntimeError("from progress")

    long = SHORT | {"duration": "30 d", "record": {"traces": []}}
    with pytest.raises(RuntimeError, match="from progress"):
        bp.simulate(long, out=tmp_path / "run", progress=fail)
    assert bp.open_run(tmp_path / "run").provenance["status"] == "incomplete"


def test_a_folder_with_something_else_in_it_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "letter.txt").write_text("mine")
    with pytest.raises(bp.InputError, match="was not changed"):
        bp.simulate(SHORT, out=tmp_path)
    assert [file.name for file in tmp_path.iterdir()] == ["letter.txt"]


def test_an_earlier_run_is_written_again(tmp_path: Path) -> None:
    bp.simulate(SHORT, out=tmp_path / "run")
    assert bp.simulate(SHORT, seed=9, out=tmp_path / "run").provenance["seed"] == 9


def test_two_runs_at_once_do_not_write_to_one_folder(tmp_path: Path) -> None:
    refused: list[str] = []

    def another(_fraction: float) -> None:
        with pytest.raises(bp.InputError) as error:
            bp.simulate(SHORT, out=tmp_path / "run", seed=2)
        refused.append(str(error.value))

    first = bp.simulate(SHORT, out=tmp_path / "run", seed=1, progress=another, pace=40)
    assert refused
    assert all("another run is writing to" in message for message in refused)
    assert first.complete
    assert contents(first.path) == contents(bp.simulate(SHORT, out=tmp_path / "alone", seed=1).path)
    assert bp.simulate(SHORT, out=tmp_path / "run", seed=2).complete


def test_a_run_that_does_not_begin_leaves_no_parents_of_its_folder(tmp_path: Path) -> None:
    with pytest.raises(bp.ScenarioError):
        bp.simulate({**SHORT, "duration": "0 s"}, out=tmp_path / "much" / "deeper")
    assert not (tmp_path / "much").exists()


def test_runs_without_a_folder_get_a_new_one_each(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert [str(bp.simulate(SHORT).path) for _ in range(2)] == ["runs/short", "runs/short-2"]


def test_every_problem_of_a_scenario_is_named(tmp_path: Path) -> None:
    wrong = SHORT | {"duration": "20 sec", "preset": "dvb-rsc"}
    with pytest.raises(bp.ScenarioError) as caught:
        bp.simulate(wrong, out=tmp_path / "run")
    assert caught.value.problems and not (tmp_path / "run").exists()
    assert bp.check(SHORT) == []


def test_what_begins_when_the_run_has_ended_is_named_with_its_place(tmp_path: Path) -> None:
    """`check` and `simulate` warn about a flow or change at the end of a run, which is allowed and
    has no effect."""
    flow = '[[flow]]\nname = "NAME"\nfrom = "user"\nto = "server"\nstart = "START"\napp = "bulk"\ntransport = "tcp"\n'
    flows = [
        flow.replace("NAME", name).replace("START", start)
        for name, start in (("soon", "1999 ms"), ("late", "2 s"), ("later", "1 h"))
    ]
    changes = [
        f'[[change]]\nat = "{at}"\nset.link.sat.rate = "1 Mbit/s"\n' for at in ("1 s", "2000 ms", "2 s")
    ]
    file = tmp_path / "late.toml"
    file.write_text("\n".join(['name = "late"\nduration = "2 s"\npreset = "geo"', *flows, *changes]))
    lines = file.read_text().split("\n")
    told = [
        f'{file}:{lines.index(word) + 1}:{column}: {key} = "{value}": {words}'
        for word, column, key, value, words in (
            (
                'start = "2 s"',
                *(9, "flow.late.start", "2 s"),
                "starts at or after the end of the run (2 s) and sends nothing; so do later",
            ),
            (
                'at = "2000 ms"',
                *(6, "change.1.at", "2000 ms"),
                "is the end of the run, so the change has no effect; the same applies to 1 more",
            ),
        )
    ]
    assert bp.load(file).warnings == told
    for words in (("check",), ("simulate", "--no-report", "--out", tmp_path / "run")):
        assert [one for one in call(*words, file).stderr.splitlines() if one.startswith("warning: ")] == [
            f"warning: {one}" for one in told
        ]
    assert bp.load(file, {"duration": "2 h"}).warnings == []
    (late,) = bp.load(file, {"flow.later.start": "1 s", "change": []}).warnings
    assert "so do" not in late


def test_a_variation_that_is_wrong_stops_before_the_first_run(tmp_path: Path) -> None:
    variations = combinations(["flow.up.transport.congestion=reno,veggas"])
    with pytest.raises(bp.ScenarioError, match="veggas"):
        run_all(jobs_of(SHORT, variations), tmp_path / "all", None)
    assert not (tmp_path / "all").exists()


def test_a_key_is_varied_once_and_with_values() -> None:
    for wrong in (["seed"], ["=1"], ["seed="], ["seed=1,,2"], ["seed=1", "seed=2"]):
        with pytest.raises(bp.InputError):
            combinations(wrong)
