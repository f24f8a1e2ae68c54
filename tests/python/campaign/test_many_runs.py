"""Many runs with one folder each: reused, repeated, kept and reported runs. Studies and ``--vary``
use them."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import bentpipe as bp
import pytest
from bentpipe.campaign import keys, work
from bentpipe.campaign.jobs import NOTE, Job, run_all, run_jobs
from helpers.campaigns import START, write_scenario
from rigs.commands import call
from rigs.networks import until

SHORT = ("duration=1 s", "record.traces=[]")
LONG = ("duration=900 d", "record.traces=[]")


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    return write_scenario(tmp_path)


@pytest.fixture
def runs(scenario: Path, tmp_path: Path) -> Callable[..., tuple[list[str], int]]:
    """Runs each seed in ``tmp_path/out``. Returns the names of the complete runs, and the number of
    new ones."""

    def run(*seeds: int, overrides: tuple[str, ...] = SHORT) -> tuple[list[str], int]:
        jobs = [Job(f"seed-{seed}", scenario, overrides, seed) for seed in seeds]
        results = run_jobs(jobs, tmp_path / "out")
        assert not results.failed
        complete = [job.name for job, run in results.runs.items() if run.complete]
        return complete, len(complete) - results.reused

    return run


def test_only_what_is_new_or_changed_is_run(
    runs: Callable[..., tuple[list[str], int]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert runs(1, 2) == (["seed-1", "seed-2"], 2)
    assert runs(1, 2) == (["seed-1", "seed-2"], 0)
    assert runs(3, 2, 1) == (["seed-3", "seed-2", "seed-1"], 1)
    before = json.loads((tmp_path / "out" / "seed-1" / "summary.json").read_text())
    assert runs(1, overrides=(*SHORT, "link.sat.delay=77 ms"))[1] == 1
    assert json.loads((tmp_path / "out" / "seed-1" / "summary.json").read_text()) != before
    # The folder now contains the changed run.
    assert runs(1, 2, 3)[1] == 1
    assert json.loads((tmp_path / "out" / "seed-1" / "summary.json").read_text()) == before
    with monkeypatch.context() as newer:
        newer.setattr(keys, "engine", lambda: "another engine")
        newer.setattr(work, "engine", lambda: "another engine")
        newer.setattr("bentpipe.campaign.jobs.engine", lambda: "another engine")
        assert runs(1, 2)[1] == 2
    assert runs(1, 2, 3)[1] == 2


def test_a_run_with_a_class_that_was_registered_again_is_not_reused(
    runs: Callable[..., tuple[list[str], int]],
) -> None:
    def register(segments: int) -> None:
        @bp.congestion("constant")
        class Constant:
            def cong_avoid(self, tcp: Any, _ack: int, _acked: int) -> None:
                tcp.snd_cwnd = segments

    of = (*SHORT, "flow.down.transport.congestion=constant")
    register(10)
    assert (runs(1, overrides=of)[1], runs(1, overrides=of)[1]) == (1, 0)
    register(20)
    assert runs(1, overrides=of)[1] == 1


def test_a_folder_that_was_changed_since_is_not_reused(
    runs: Callable[..., tuple[list[str], int]], scenario: Path, tmp_path: Path
) -> None:
    runs(1, 2, 3)
    out = tmp_path / "out"
    (out / "seed-1" / "flows.parquet").unlink()
    bp.simulate(scenario, overrides=SHORT, seed=5, out=out / "seed-2")
    # A page about a run is written into its folder and changes no result.
    (out / "seed-3" / "report.html").write_text("a report")
    assert runs(1, 2, 3)[1] == 2
    assert bp.open_run(out / "seed-2").provenance["seed"] == 2
    (out / "seed-3" / NOTE).write_text('{"key"')
    assert runs(1, 2, 3)[1] == 1


def test_a_failed_run_stops_no_other_and_is_repeated(
    scenario: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    jobs = [Job(f"seed-{seed}", scenario, SHORT, seed) for seed in (1, 2, 3, 4)]
    run_one = work._run

    def failing(task: work.Task, *more: Any) -> bp.Run:
        if task.key in {jobs[0].key, jobs[2].key}:
            raise bp.InputError("it cannot be")
        return run_one(task, *more)

    with monkeypatch.context() as patched:
        patched.setattr(work, "_run", failing)
        results = run_jobs(jobs, tmp_path / "out", workers=1)
        assert list(results.runs) == [jobs[1], jobs[3]]
        assert {job.name: str(error) for job, error in results.failed.items()} == {
            "seed-1": "it cannot be",
            "seed-3": "it cannot be",
        }
        with pytest.raises(bp.InputError, match="it cannot be") as raised:
            run_all(jobs, tmp_path / "out", None)
    assert raised.value.__notes__ == [
        f"failed: {tmp_path / 'out' / 'seed-1'} and 1 more; complete runs are kept and reused"
    ]
    results = run_jobs(jobs, tmp_path / "out")
    assert list(results.runs) == jobs and results.reused == 2


def test_what_stops_the_runs_keeps_the_complete_ones(scenario: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    jobs = [Job(name, scenario, of) for name, of in (("short", SHORT), ("long", LONG), ("last", SHORT))]
    results = run_jobs(jobs, out, lambda _: not (out / "long/provenance.json").exists(), workers=1)
    assert {job.name: run.complete for job, run in results.runs.items()} == {"short": True, "long": False}


def test_an_exception_keeps_runs_that_were_complete_but_not_taken_yet(scenario: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    jobs = [Job("long", scenario, LONG), *(Job(f"seed-{seed}", scenario, SHORT, seed) for seed in (1, 2, 3))]

    def interrupt(_: float) -> None:
        until(lambda: all((out / job.name / "summary.json").exists() for job in jobs[1:]))
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_jobs(jobs, out, interrupt, workers=4)
    assert bp.open_run(out / "long").provenance["status"] == "incomplete"
    assert run_jobs(jobs[1:], out).reused == 3


def test_an_interrupted_variation_resumes_and_a_repeated_one_is_reused(
    scenario: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    words = ("simulate", scenario, "--set", "record.traces=[]", "--out", "all", "--jobs", 2)
    with subprocess.Popen(
        [sys.executable, "-c", START, *map(str, words), "--vary", "duration=1 s,900 d"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        while not (
            (tmp_path / "all/1-s" / NOTE).exists() and (tmp_path / "all/900-d/provenance.json").exists()
        ):
            assert process.poll() is None
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        table, said = process.communicate()
    assert process.returncode == 130
    assert "all (marked incomplete); the same command resumes from here" in said
    assert "900 d" in table
    done = call(*words, "--vary", "duration=1 s,2 s")
    assert done.stderr == "reused 1 of 2 runs: scenario and engine have not changed\n"
    again = call(*words, "--vary", "duration=1 s,2 s")
    assert again.stderr == "reused 2 of 2 runs: scenario and engine have not changed\n"
    assert again.stdout == done.stdout


def test_a_failed_variation_is_reported_beside_the_others(scenario: Path, tmp_path: Path) -> None:
    out = tmp_path / "all"
    (out / "2-s").mkdir(parents=True)
    (out / "2-s" / "letter.txt").touch()
    words = (
        "simulate",
        scenario,
        "--set",
        "record.traces=[]",
        "--out",
        out,
        "--vary",
        "duration=1 s,2 s,3 s",
    )
    done = call(*words, "--json", code=1)
    assert [one["labels"] for one in json.loads(done.stdout)["runs"]] == [
        {"duration": "1 s"},
        {"duration": "3 s"},
    ]
    assert done.stderr.startswith(f"failed: 2-s: {out / '2-s'} is not empty")
    assert [file.name for file in (out / "2-s").iterdir()] == ["letter.txt"]
