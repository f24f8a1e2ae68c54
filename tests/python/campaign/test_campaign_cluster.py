"""Campaigns on a Dask cluster: a real scheduler and real workers in separate processes on this
machine."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from bentpipe.campaign import open_campaign, plan, run
from helpers.campaigns import RUNS, SCENARIO, call, done, results, start, write_scenario

DASK = Path(sys.executable).parent / "dask"


#: The address of a scheduler, and its two workers. The last test kills one worker.
Cluster = tuple[str, list[subprocess.Popen[bytes]]]


@contextmanager
def process(*arguments: object, log: Path) -> Iterator[subprocess.Popen[bytes]]:
    environment = os.environ | {"DASK_DISTRIBUTED__WORKER__MEMORY__TERMINATE": "false"}
    with log.open("wb") as file:
        started = subprocess.Popen(
            [DASK, *map(str, arguments)], stdout=file, stderr=file, env=environment, cwd=log.parent
        )
        try:
            yield started
        finally:
            started.kill()
            started.wait()


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    folder = tmp_path_factory.mktemp("cluster")
    about = folder / "scheduler.json"
    at_home = ("--host", "127.0.0.1", "--no-dashboard")
    with ExitStack() as stack:
        words = ("scheduler", *at_home, "--port", 0, "--scheduler-file", about)
        stack.enter_context(process(*words, log=folder / "scheduler.log"))
        while not about.is_file() or not about.read_text().strip():
            time.sleep(0.05)
        worker = ("worker", *at_home, "--scheduler-file", about, "--nthreads", 1, "--no-nanny")
        workers = [
            stack.enter_context(process(*worker, "--name", name, log=folder / f"{name}.log"))
            for name in ("a", "b")
        ]
        yield json.loads(about.read_text())["address"], workers


def test_folders_of_runs_come_back_from_a_cluster_and_an_absent_one_is_a_message(
    cluster: Cluster, tmp_path: Path
) -> None:
    address, _ = cluster
    of = plan(write_scenario(tmp_path), ["duration=1 s"], replications=1, keep_runs=True)
    campaign = run(of, tmp_path / "store", cluster=address)
    assert all(campaign.run(key).trace("cwnd").height for key in campaign.index["run"])
    text = call("run", "loss.toml", "--dask", "tcp://127.0.0.1:1", folder=tmp_path, code=1)
    assert "no Dask scheduler answers at tcp://127.0.0.1:1" in text


def test_a_campaign_on_a_cluster_loses_and_doubles_nothing_when_a_worker_is_killed(
    cluster: Cluster, tmp_path: Path
) -> None:
    address, workers = cluster
    scenario = write_scenario(tmp_path, SCENARIO.replace('duration = "4 s"', 'duration = "25 s"'))
    whole = run(plan(scenario), tmp_path / "whole", workers=2)
    store = tmp_path / "store"
    running = start("run", scenario, "--out", store, "--dask", address, "--json", folder=tmp_path)
    while running.poll() is None and done(store) < RUNS // 3:
        time.sleep(0.005)
    workers[0].send_signal(signal.SIGKILL)
    out, err = running.communicate(timeout=120)
    assert running.returncode == 0, out + err
    said = json.loads(out)
    assert (said["new"], said["complete"], said["failed"]) == (RUNS, RUNS, 0)
    campaign = open_campaign(store)
    assert len({place.split()[1] for place in campaign.index["place"]}) == 2, "both had worked"
    assert campaign.index["run"].is_unique().all() and campaign.flows.height == RUNS
    assert results(campaign).equals(results(whole)), "the same as on threads"
