"""The test bed's executor and web process, killed at random moments. No run is lost or repeated,
and the queue continues."""

from __future__ import annotations

import contextlib
import ctypes
import itertools
import multiprocessing
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi", reason="bentpipe[testbed] is not installed")

from bentpipe.testbed import queue
from bentpipe.testbed.accounts import open_session, password_hash
from bentpipe.testbed.executor import lock_folder, run_executor
from bentpipe.testbed.serving import Address, bind, serve
from bentpipe.testbed.settings import Settings
from bentpipe.testbed.store import Store, migrate
from bentpipe.testbed.tables import FINAL, Event, Run, User
from helpers import ROOT
from httpx2 import Client, HTTPError, HTTPTransport
from rigs.testbeds import BENTPIPE, PR_SET_PDEATHSIG, SMALL, free_port, serving, until
from sqlalchemy import func, select, update


def states(store: Store) -> dict[str, int]:
    with store.reading() as rows:
        counted = rows.execute(select(Run.state, func.count()).group_by(Run.state)).all()
        return {str(state): int(count) for state, count in counted}


def forked(data: Path) -> int:
    """Returns the process of an executor that takes runs. The process is a fork of this one, which
    has imported all modules, so hundreds of executors can be started."""
    ready, tell = os.pipe()
    child = os.fork()
    if child == 0:
        with contextlib.suppress(BaseException):
            ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
            os.setsid()
            run_executor(Settings(data, slots=2), lambda: os.close(tell))
        os._exit(0)
    os.close(tell)
    # The child ends when the executor has closed its end, or has ended.
    assert os.read(ready, 1) == b""
    os.close(ready)
    return child


def runners(data: Path) -> list[int]:
    """Returns the processes of runs whose folder is below ``data``."""
    found = []
    for one in Path("/proc").iterdir():
        try:
            if b"bentpipe.testbed.runner" in (one / "cmdline").read_bytes() and (
                one / "cwd"
            ).resolve().is_relative_to(data):
                found.append(int(one.name))
        except (OSError, ValueError):
            continue
    return found


def filled(data: Path, runs: int) -> Store:
    """Returns the database of a test bed with waiting runs, a third of which take some seconds."""
    settings = Settings(data)
    settings.runs.mkdir(parents=True)
    store = Store(settings.url)
    migrate(store)
    with store.writing() as rows:
        user = User(name="ada", password=password_hash("correct horse battery"), level="user")
        rows.add(user)
        rows.flush()
        for number in range(runs):
            scenario = SMALL.replace("20 s", "200 s" if number % 3 == 0 else "1 s")
            rows.add(Run(owner_id=user.id, name=f"run {number}", instrument="simulate", scenario=scenario))
    return store


def kill_and_check(data: Path, kills: int, seed: int) -> None:
    chance = random.Random(seed)
    store = filled(data, 0)
    runs = 0
    for _ in range(kills):
        # Keeps the executor busy: a third of the runs take some seconds.
        for _ in range(4 - states(store).get("queued", 0)):
            runs += 1
            scenario = SMALL.replace("20 s", "200 s" if runs % 3 == 0 else "1 s")
            with store.writing() as rows:
                rows.add(Run(owner_id=1, name=f"run {runs}", instrument="simulate", scenario=scenario))
        executor = forked(data)
        time.sleep(chance.choice([0.1, 0.5, 2.0, 4.0]) * chance.random())
        os.kill(executor, signal.SIGKILL)
        os.waitpid(executor, 0)
        # A run does not outlive its executor.
        until(lambda: not runners(data))
    executor = forked(data)
    until(lambda: set(states(store)) <= set(FINAL))
    os.kill(executor, signal.SIGTERM)
    assert os.waitpid(executor, 0)[1] == 0
    assert sum(states(store).values()) == runs
    with store.reading() as rows:
        assert {
            run.reason for run in rows.scalars(select(Run)) if run.state not in ("done", "incomplete")
        } == set()
    assert states(store).get("incomplete", 0) <= 2 * kills
    assert runners(data) == []
    with store.reading() as rows:
        for run in rows.scalars(select(Run)):
            told = [
                event.data["state"]
                for event in rows.scalars(select(Event).where(Event.run_id == run.id).order_by(Event.id))
            ]
            # A run that has started never starts again, and ends once.
            if "running" in told:
                assert not {"leased", "queued"} & set(told[told.index("running") :]), told
            assert len([state for state in told if state in FINAL]) == 1, told
            complete = (data / "runs" / str(run.owner_id) / run.id / "report.html").is_file()
            assert run.state != "done" or complete
    store.close()


def test_23_an_executor_that_is_killed_loses_no_run_and_does_none_twice(tmp_path: Path) -> None:
    kill_and_check(tmp_path / "data", kills=4, seed=1)


@pytest.mark.slow
def test_23_an_executor_that_is_killed_at_many_moments(tmp_path: Path) -> None:
    kill_and_check(tmp_path / "data", kills=200, seed=2)


def test_26_a_clock_that_is_set_ends_no_run_of_a_living_executor(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If the clock jumps forward, leases look expired, but the next renewal keeps them. If it jumps
    back, they look valid, but a restart still finds abandoned runs."""
    store = filled(tmp_path / "data", 2)
    now = time.time()
    with store.writing() as rows:
        run = queue.claim(rows, "alive", ["simulate"])
        assert run is not None
    for shift in (-1e6, 1e6):
        monkeypatch.setattr(time, "time", lambda shift=shift: now + shift)
        with store.writing() as rows:
            assert queue.renew(rows, run.number, "alive", 0.5)
        with store.writing() as rows:
            assert queue.reclaim(rows) == 0
    monkeypatch.setattr(time, "time", lambda: now - 1e6)
    with store.writing() as rows:
        assert queue.reclaim(rows, "alive") == 1
    store.close()


def test_27_a_full_disk_ends_runs_with_the_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import shutil

    from bentpipe.testbed.executor import Executor

    store = filled(tmp_path / "data", 2)
    usage = shutil.disk_usage(tmp_path)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage._replace(free=1000))
    executor = Executor(Settings(tmp_path / "data", slots=1), store)
    thread = threading.Thread(target=executor.loop)
    thread.start()
    until(lambda: states(store) == {"failed": 2})
    executor.stop()
    thread.join()
    with store.reading() as rows:
        assert {run.reason for run in rows.scalars(select(Run))} == {
            "the disk is full; runs need 200 MB of free space"
        }
    store.close()


def test_27_a_locked_database_is_waited_out(tmp_path: Path) -> None:
    """While another process holds the lock, nothing is lost. Afterwards, the queue continues."""
    import sqlite3

    from bentpipe.testbed.executor import Executor

    data = tmp_path / "data"
    store = filled(data, 1)
    with store.writing() as rows:
        rows.scalars(select(Run)).one().scenario = SMALL.replace("20 s", "1 s")
    executor = Executor(Settings(data, slots=1), store)
    holder = sqlite3.connect(data / "testbed.sqlite", isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    thread = threading.Thread(target=executor.loop)
    thread.start()
    time.sleep(1)
    assert states(store) == {"queued": 1}
    holder.execute("ROLLBACK")
    holder.close()
    until(lambda: states(store) == {"done": 1})
    executor.stop()
    thread.join()
    store.close()


def test_only_one_executor_works_in_a_folder(tmp_path: Path) -> None:
    from bentpipe.errors import InputError
    from bentpipe.testbed.executor import Executor

    store = filled(tmp_path / "data", 0)
    first = Executor(Settings(tmp_path / "data"), store)
    with pytest.raises(InputError, match="another executor"):
        Executor(Settings(tmp_path / "data"), store)
    first.lock.close()
    store.close()


def test_a_test_bed_does_not_serve_without_its_executor(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """A second executor in the same data folder is refused. A test bed whose executor is killed
    ends with the reason."""
    with serving(tmp_path / "data") as served:
        until(lambda: (tmp_path / "data" / "executor.socket").exists())
        more = ("--data", str(tmp_path / "data"), "--port", str(free_port()))
        assert "another executor works in" in refused(*more)
        assert served.process.poll() is None
        (executor,) = executors(served.process.pid)
        os.kill(executor, signal.SIGKILL)
        assert served.process.wait(60) == 1
    assert "the executor has ended" in capfd.readouterr().err
    # The next executor takes over the remaining runs.
    with serving(tmp_path / "data") as served:
        until(lambda: (tmp_path / "data" / "executor.socket").exists())
        assert served.stop(signal.SIGINT) == 0


def executors(web: int) -> list[int]:
    """Returns the executors that a web process has started."""
    children = Path(f"/proc/{web}/task/{web}/children").read_text().split()
    return [int(child) for child in children if b"spawn_main" in Path(f"/proc/{child}/cmdline").read_bytes()]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_test_bed_that_is_stopped_at_its_start_prints_nothing_and_leaves_nothing(
    tmp_path: Path, number: int
) -> None:
    """A terminal sends Ctrl-C to both processes while the executor is still importing its
    modules."""
    for run, delay in enumerate((0.0, 0.1, 0.3, 0.6, 1.0)):
        data = tmp_path / str(run)
        words = (*BENTPIPE, "serve", "--data", str(data), "--port", str(free_port()))
        with subprocess.Popen(
            words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
        ) as process:
            until(lambda: process.poll() is not None or executors(process.pid))
            time.sleep(delay)
            os.killpg(process.pid, number)
            _, said = process.communicate(timeout=60)
        assert (process.returncode, said) == (0, ""), delay
        assert not (data / "executor.socket").exists()
        # No process works in the folder any more.
        lock_folder(data).close()


def test_a_socket_of_another_user_is_refused() -> None:
    import socket

    from bentpipe.testbed.executor import permitted

    here, there = socket.socketpair()
    assert permitted(here)
    if os.geteuid() == 0:
        # The credentials are those of the process that connected, as the kernel states them.
        class Foreign:
            def getsockopt(self, *_: Any) -> bytes:
                import struct

                return struct.pack("3i", 1, 12345, 12345)

        assert not permitted(Foreign())  # type: ignore[arg-type]
    here.close()
    there.close()


def refused(*words: str) -> str:
    """Returns the message of ``bentpipe serve`` when it refuses to start."""
    done = subprocess.run(
        [*BENTPIPE, "serve", *words], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 2, done
    assert "Traceback" not in done.stderr
    return done.stderr


def test_only_a_dead_socket_is_removed(tmp_path: Path) -> None:
    """Any other file at the socket's path stays unchanged, and the message names the path."""
    import socket

    from bentpipe.errors import InputError

    def taken(path: Path) -> None:
        with pytest.raises(InputError, match=str(path)):
            bind(Address("", 0, path))

    file, link, path = tmp_path / "thesis.txt", tmp_path / "link", tmp_path / "s"
    file.write_text("years of work")
    link.symlink_to(file)
    taken(file)
    taken(link)
    taken(file / "s")
    taken(tmp_path / ("s" * 200))
    assert link.read_text() == "years of work"
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as other:
        other.bind(str(path))
        other.listen()
        taken(path)
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
            client.connect(str(path))
    here = ("--part", "web", "--data", str(tmp_path / "data"), "--socket")
    assert "/nonexistent/s" in refused(*here, "/nonexistent/s")
    # The other process's file still exists, but no process listens on it.
    process = subprocess.Popen([*BENTPIPE, "serve", *here, str(path)], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        assert f"unix:{path}" in process.stdout.readline()
        taken(path)
        with Client(base_url="http://127.0.0.1", transport=HTTPTransport(uds=str(path))) as browser:
            assert browser.get("/api/session").status_code == 401
    finally:
        process.terminate()
        process.communicate(timeout=30)
    assert process.returncode == 0
    assert not path.exists()


def kill_web_and_check(data: Path, kills: int, seed: int) -> None:
    """Kills the web process while launches of three runs each arrive. Each launch is retried until
    it is answered."""
    chance = random.Random(seed)
    store = filled(data, 0)
    with store.writing() as rows:
        user = rows.scalars(select(User)).one()
        secret = open_session(rows, user, "token", 3600.0)
    port = free_port()
    batch = SMALL + "\n[campaign]\nreplications = 3\n"
    answered: list[str] = []
    ending = threading.Event()

    def launch() -> None:
        with Client(
            base_url=f"http://127.0.0.1:{port}", headers={"Authorization": f"Bearer {secret}"}
        ) as client:
            for number in itertools.count():
                body = {"text": batch, "campaign": True, "once": f"launch {number}"}
                while not ending.is_set():
                    try:
                        answer = client.post("/api/runs", json=body, timeout=10)
                    except HTTPError:
                        time.sleep(0.05)
                        continue
                    if answer.status_code == 201:
                        assert len(answer.json()) == 3
                        answered.append(f"launch {number}")
                        break
                    # The owner's part of the queue is full: waiting runs are removed.
                    assert answer.status_code == 409, answer.text
                    with store.writing() as rows:
                        rows.execute(update(Run).values(state="cancelled"))
                if ending.is_set():
                    return

    # Forks of a process that has imported all modules, so many can be started.
    forks = multiprocessing.get_context("forkserver")
    forks.set_forkserver_preload(["bentpipe.testbed.serving"])
    thread = threading.Thread(target=launch)
    thread.start()
    try:
        for _ in range(kills):
            before = len(answered)
            ready = forks.Event()
            given = (Settings(data), Address("127.0.0.1", port), "web", ready.set)
            web = forks.Process(target=serve, args=given)
            web.start()
            assert ready.wait(60)
            until(lambda before=before: len(answered) > before)
            time.sleep(chance.uniform(0.0, 0.5))
            web.kill()
            web.join()
    finally:
        ending.set()
        thread.join()
    assert len(answered) >= kills
    with store.reading() as rows:
        counted: dict[str, int] = defaultdict(int)
        for run in rows.scalars(select(Run)):
            assert run.once is not None and run.batch is not None
            counted[run.once.partition("#")[0]] += 1
        # Every answered launch exists once and is complete; the last one may have had no answer.
        assert set(counted.values()) == {3}
        assert set(answered) <= set(counted) and len(counted) <= len(answered) + 1
    store.close()


def test_23_a_web_process_that_is_killed_keeps_what_it_has_answered(tmp_path: Path) -> None:
    kill_web_and_check(tmp_path / "data", kills=1, seed=3)


@pytest.mark.slow
def test_23_a_web_process_that_is_killed_at_many_moments(tmp_path: Path) -> None:
    kill_web_and_check(tmp_path / "data", kills=200, seed=4)


#: A test that starts a test bed and is killed.
KILLED = """
import sys
from pathlib import Path
from rigs.testbeds import serving

with serving(Path(sys.argv[1])) as served:
    print(served.process.pid, flush=True)
    sys.stdin.read()
"""


def test_a_test_bed_ends_with_the_process_of_its_test(tmp_path: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", KILLED, str(tmp_path / "data")],
        env=os.environ | {"PYTHONPATH": str(ROOT / "scripts")},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with process:
        assert process.stdout is not None
        served = int(process.stdout.readline())
        ends = [served, *until(lambda: executors(served))]
        process.kill()
        process.wait()
    for number in ends:
        until(lambda number=number: not Path(f"/proc/{number}").exists())
