"""The test bed's queue: campaigns, claims, leases, turns, and cancellation. Numbers in the names of
tests refer to the abuse cases in docs/notes/abuse-cases.md."""

from __future__ import annotations

import threading
import time
from dataclasses import replace
from typing import Any

import pytest
from bentpipe.testbed import queue, quotas
from bentpipe.testbed.api import runs as launches
from bentpipe.testbed.rules import OF_LEVEL
from bentpipe.testbed.tables import Run
from helpers.beds import Bed, _cheap_passwords, bed, launched, said
from rigs.testbeds import SMALL, until
from sqlalchemy import select

__all__ = ["_cheap_passwords", "bed"]


def test_campaigns_and_several_instruments_are_batches(bed: Bed) -> None:
    ada = bed.join("ada")
    campaign = (
        SMALL + '\n[campaign]\nreplications = 2\nvary."flow.up.transport.congestion" = ["reno", "hybla"]\n'
    )
    runs = launched(ada, text=campaign, campaign=True, instruments=["simulate", "kernel"])
    assert len(runs) == 8 and len({run["batch"] for run in runs}) == 1
    assert [run["label"] for run in runs[:3]] == [
        "reno, simulate, replication 0",
        "reno, simulate, replication 1",
        "reno, kernel, replication 0",
    ]
    listed = ada.get("/api/runs", params={"batch": runs[0]["batch"], "search": "HYBLA"}).json()
    assert len(listed) == 4
    big = SMALL + "\n[campaign]\nreplications = 1000\n"
    assert "200 runs" in said(ada.post("/api/runs", json={"text": big, "campaign": True}))
    # 18: the list of all combinations would not fit into memory.
    keys = "\n".join(f'vary."flow.up.k{key}" = [{", ".join(map(str, range(1000)))}]' for key in range(4))
    huge = f"{SMALL}\n[campaign]\n{keys}\n"
    assert ada.post("/api/runs", json={"text": huge, "campaign": True}).status_code == 422


def test_22_24_a_launch_that_is_sent_twice_is_one_run(bed: Bed) -> None:
    ada, bob = bed.join("ada"), bed.join("bob")
    first, again = (launched(ada, once="the same") for _ in range(2))
    assert first[0]["id"] == again[0]["id"]
    assert launched(bob, once="the same")[0]["id"] != first[0]["id"]
    found: list[str] = []
    threads = [
        threading.Thread(target=lambda: found.extend(run["id"] for run in launched(ada, once="at once")))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(ada.get("/api/runs").json()) == 2


def test_22_many_workers_claim_every_run_once(bed: Bed) -> None:
    ada = bed.join("ada")
    campaign = SMALL + "\n[campaign]\nreplications = 60\n"
    launched(ada, text=campaign, campaign=True)
    claimed: list[int] = []

    def work(name: str) -> None:
        while True:
            with bed.store.writing() as rows:
                run = queue.claim(rows, name, ["simulate"])
            if run is None:
                return
            claimed.append(run.number)

    threads = [threading.Thread(target=work, args=(f"w{place}",)) for place in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(claimed) == list(range(1, 61))


def test_23_leases_that_run_out_are_reclaimed(bed: Bed) -> None:
    """A run that had not started is queued again. A started run is incomplete, and its worker can
    no longer finish it."""
    ada = bed.join("ada")
    launched(ada)
    launched(ada)
    with bed.store.writing() as rows:
        first, second = (queue.claim(rows, "dead", ["simulate"]) for _ in range(2))
        assert first and second
        assert queue.renew(rows, second.number, "dead", 0.5)
        for run in (first, second):
            run.lease = time.time() - 1
        rows.flush()
        assert queue.reclaim(rows) == 2
        assert not queue.renew(rows, second.number, "dead", 0.6)
        assert not queue.finish(rows, second.number, "dead", "done")
    states = {run["number"]: run["state"] for run in ada.get("/api/runs").json()}
    assert states == {first.number: "queued", second.number: "incomplete"}


def test_24_cancelling_before_and_while_it_runs(bed: Bed) -> None:
    ada = bed.join("ada")
    (waiting,) = launched(ada)
    assert ada.post(f"/api/runs/{waiting['id']}/cancel").json()["state"] == "cancelled"
    # Longer than any wait of this test, even if this thread gets little processor time next to the
    # run.
    slow = SMALL.replace("20 s", "20 h")
    (running,) = launched(ada, text=slow)
    bed.execute()
    until(lambda: ada.get(f"/api/runs/{running['id']}").json()["state"] == "running")
    assert ada.delete(f"/api/runs/{running['id']}").status_code == 409
    ada.post(f"/api/runs/{running['id']}/cancel")
    ended = until(lambda: (one := ada.get(f"/api/runs/{running['id']}").json())["ended"] and one)
    assert (ended["state"], ended["reason"]) == ("cancelled", "cancelled while the run was in progress")


def test_25_users_take_turns(bed: Bed) -> None:
    ada, bob = bed.join("ada"), bed.join("bob")
    launched(ada, text=SMALL + "\n[campaign]\nreplications = 200\n", campaign=True)
    (his,) = launched(bob)
    assert said(ada.post("/api/runs", json={"text": SMALL})).startswith("200 of your runs")
    assert bob.get(f"/api/runs/{his['id']}").json()["position"] == 2
    with bed.store.writing() as rows:
        owners = [run.owner_id for _ in range(4) if (run := queue.claim(rows, "w", ["simulate"]))]
    assert owners == [1, 2, 1, 1]


def test_22_the_real_time_engine_is_reserved(bed: Bed) -> None:
    """A run in real time waits until it has the machine to itself. Later runs wait for it, so no
    run is overtaken indefinitely. Places and expected starts reflect this."""
    ada = bed.join("ada")
    for _ in range(2):
        launched(ada)
    with bed.store.writing() as rows:
        for run in rows.scalars(select(Run)):
            run.events, run.duration = 10e6, 20.0
    launched(ada, text=SMALL.replace("20 s", "30 s"))
    launched(ada)
    with bed.store.writing() as rows:
        third = rows.get_one(Run, 3)
        third.instrument = "emulate"
        rows.flush()
        starts = queue.plan(rows, 2)
        by_number = {run.number: starts[run.id] for run in rows.scalars(select(Run))}
    # 10 million events at the first guess of a million per second, plus one second; then 30 s in
    # real time.
    assert by_number == {1: (1, 0.0), 2: (2, 0.0), 3: (3, 11.0), 4: (4, 42.0)}

    def claim(busy: bool) -> int | None:
        with bed.store.writing() as rows:
            run = queue.claim(rows, "w", ["simulate", "kernel", "emulate"], busy=busy)
            return run.number if run else None

    assert [claim(False), claim(True), claim(True)] == [1, 2, None]
    with bed.store.writing() as rows:
        assert queue.finish(rows, 1, "w", "done") and queue.finish(rows, 2, "w", "done")
    assert [claim(False), claim(True)] == [3, 4]
    # A lab with one run at a time, in sequence.
    with bed.store.reading() as rows:
        assert queue.plan(rows, 1) == {}


def test_22_the_remaining_time_of_running_runs_counts(bed: Bed) -> None:
    ada = bed.join("ada")
    launched(ada)
    launched(ada)
    with bed.store.writing() as rows:
        run = queue.claim(rows, "w", ["simulate"])
        assert run is not None
        run.started, run.progress = time.time() - 30.0, 0.25
        rows.flush()
        ((place, start),) = queue.plan(rows, 1).values()
    assert place == 1 and 85.0 < start < 95.0
    assert queue.expected_seconds(("simulate", 2.0, 60.0, 1e6), {"simulate": 1e6}) == 31.0


def test_simultaneous_launches_stay_within_the_limit(bed: Bed) -> None:
    """Two launches that check the limit at the same time: only one of them gets the last place."""
    ada = bed.join("ada")
    check = quotas.check_room

    def slowly(*given: Any) -> None:
        check(*given)
        time.sleep(0.3)

    statuses: list[int] = []

    def launch() -> None:
        client = bed.visitor()
        client.cookies = ada.cookies
        statuses.append(client.post("/api/runs", json={"text": SMALL}).status_code)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(launches, "check_room", slowly)
        patch.setitem(OF_LEVEL, "user", replace(OF_LEVEL["user"], queued=1))
        threads = [threading.Thread(target=launch) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert sorted(statuses) == [201, 409]
    assert len(ada.get("/api/runs").json()) == 1
