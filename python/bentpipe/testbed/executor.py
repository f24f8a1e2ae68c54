"""The executor: takes runs from the queue and executes each in its own process.

The web process notifies the executor of new runs through a Unix socket. Notifications contain only
the number of a run, and are accepted from processes of the same user, or of the group that shares
the data. Everything else comes from the database. A data folder has at most one executor.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import secrets
import shutil
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from queue import SimpleQueue
from typing import IO, Any, Final

from sqlalchemy import select
from sqlalchemy.exc import SQLAlchemyError

from bentpipe._native import ScenarioError
from bentpipe.errors import InputError

from . import control_groups, instruments, live, queue, reproducing
from .paths import without_paths
from .refused import Refused
from .rules import OF_LEVEL, Limits
from .settings import Settings
from .store import Store
from .summaries import checked
from .tables import ACTIVE, Run

#: Seconds between polls of the queue without a notification, and between polls of a run.
POLL_S: Final = 1.0
RUN_POLL_S: Final = 0.25
#: Seconds between searches for a kernel for virtual time.
KERNEL_POLL_S: Final = 10.0
#: Minimum free disk space in bytes.
MIN_FREE_BYTES: Final = 200_000_000


class Executor:
    """Executes queued runs until :meth:`stop`."""

    def __init__(self, settings: Settings, store: Store) -> None:
        self.settings = settings
        self.store = store
        self.worker = secrets.token_hex(8)
        self.work = threading.Event()
        self.ending = threading.Event()
        self.busy: dict[int, threading.Thread] = {}
        self.exclusive = False
        self.lock = lock_folder(settings.data)
        self.groups = control_groups.parent()
        self.unavailable = instruments.without_real_time(settings)
        with store.writing() as rows:
            # This is the only executor, so active runs in the database belong to a killed one.
            for worker in set(rows.scalars(select(Run.worker).where(Run.state.in_(ACTIVE)))):
                queue.reclaim(rows, worker)

    def stop(self, *_: object) -> None:
        """Stops the runs in progress and ends."""
        self.ending.set()
        self.work.set()

    def loop(self) -> None:
        """Executes runs until stopped. Retries after errors of the database."""
        threading.Thread(target=self._listen, daemon=True).start()
        threading.Thread(target=self._examine, daemon=True).start()
        examined = -KERNEL_POLL_S
        while not self.ending.is_set():
            if time.monotonic() - examined > KERNEL_POLL_S:
                # An administrator may build a kernel while the test bed runs.
                instruments.write(self.settings, self.unavailable | instruments.without_kernel())
                examined = time.monotonic()
            try:
                while self._take():
                    pass
                with self.store.writing() as rows:
                    queue.reclaim(rows)
                    queue.remove_old_events(rows)
            except SQLAlchemyError as error:
                print(f"bentpipe: the queue cannot be read: {error}", file=sys.stderr)
            self.work.wait(POLL_S)
            self.work.clear()
        for thread in list(self.busy.values()):
            thread.join()
        control_groups.leave(self.groups)
        # Removed while the lock is held, so the socket cannot belong to another executor. Backups
        # of the folder then contain no socket.
        self.settings.socket.unlink(missing_ok=True)
        self.settings.instruments.unlink(missing_ok=True)
        self.settings.checks.unlink(missing_ok=True)
        self.lock.close()

    def _examine(self) -> None:
        """Writes the findings about this machine, of which the page shows those for all users."""
        with contextlib.suppress(OSError, ValueError):
            instruments.write_checks(self.settings)

    def _take(self) -> bool:
        """Starts the next run if a run waits and a slot is free. Returns true if it started one."""
        self.busy = {number: thread for number, thread in self.busy.items() if thread.is_alive()}
        if self.ending.is_set() or len(self.busy) >= self.settings.slots or (self.busy and self.exclusive):
            return False
        served = ["simulate", "kernel", "study"]
        if self.settings.real_time:
            served.append("emulate")
        with self.store.writing() as rows:
            run = queue.claim(rows, self.worker, served, busy=bool(self.busy))
        if run is None:
            return False
        self.exclusive = run.instrument in queue.EXCLUSIVE
        self.busy[run.number] = threading.Thread(target=self._do, args=(run,))
        self.busy[run.number].start()
        return True

    def _do(self, run: Run) -> None:
        """Executes a run, and records its end even after an exception."""
        found: dict[str, Any] = {}
        try:
            state, reason, found = self._run(run)
        except (Refused, ScenarioError, InputError) as refused:
            state, reason = "failed", f"refused: {refused}"
        except Exception as error:  # noqa: BLE001 - the queue must continue
            state, reason = "failed", f"the executor failed: {error}"
        data = self.settings.data
        while True:
            try:
                with self.store.writing() as rows:
                    queue.finish(rows, run.number, self.worker, state, without_paths(reason, data), found)
                break
            except SQLAlchemyError:
                # The slot stays occupied until the end is recorded.
                time.sleep(POLL_S)
        self.work.set()

    def _run(self, run: Run) -> tuple[str, str, dict[str, Any]]:
        """Executes a run. Returns its final state with the reason, and the columns of its
        results."""
        level = run.owner.level
        # The database is not trusted, so the checks of the web process are repeated: here for a
        # study, in the run's process for a scenario.
        if run.instrument == "study":
            reproducing.check(run.scenario)
        limits = OF_LEVEL[level]
        folder = self.settings.folder(run.owner_id, run.id)
        if shutil.disk_usage(self.settings.data).free < MIN_FREE_BYTES:
            return "failed", "the disk is full; runs need 200 MB of free space", {}
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        given = {
            "scenario": run.scenario,
            "instrument": run.instrument,
            "replication": run.replication,
            "pace": run.pace,
            "level": level,
            # A relative path, so that no report names a folder of this machine.
            "folder": run.id,
            # The memory of a guest is a sparse file. The size of the run's folder is limited
            # separately.
            "bytes": limits.bytes * (10 if run.instrument == "kernel" else 1),
        }
        process = subprocess.Popen(
            [sys.executable, "-m", "bentpipe.testbed.runner", str(os.getpid())],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            start_new_session=True,
            cwd=folder.parent,
            env={
                name: value for name, value in os.environ.items() if not name.startswith("BENTPIPE_DATABASE")
            }
            # The process may only create files there (sandbox.py).
            | {"TMPDIR": str(folder.parent)},
        )
        assert process.stdin is not None and process.stdout is not None
        messages = Messages(process.stdout)
        group = None
        try:
            # The process first waits for input, so the limits apply before it does any work.
            group = self._group(process.pid, run, limits)
            # A group limits the memory in use; without a group only the address space can be
            # limited.
            send(process.stdin, {**given, "memory": limits.memory if group is None else None})
            state, reason = self._watch(run, process, messages, folder, limits)
            if state == "failed" and group is not None and group.exceeded():
                reason = f"the run needed more than {limits.memory // 1_000_000} MB of memory"
            return state, reason, {**checked(messages.summary), "bytes": size(folder)}
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            if group is not None:
                group.end()
            messages.thread.join()
            process.stdout.close()
            with contextlib.suppress(BrokenPipeError):
                process.stdin.close()
            live.live_file(folder).unlink(missing_ok=True)

    def _group(self, process: int, run: Run, limits: Limits) -> control_groups.Group | None:
        """Creates the control group of a run and adds the run's process. Returns None without
        control groups. A run may use its slot's share of the processors; an exclusive run, all of
        them."""
        if self.groups is None:
            return None
        there = len(os.sched_getaffinity(0))
        processors = there if run.instrument in queue.EXCLUSIVE else max(1.0, there / self.settings.slots)
        try:
            group = control_groups.Group(self.groups, f"run-{run.id}", limits.memory, processors)
        except OSError:
            return None
        try:
            group.add(process)
        except OSError:
            group.end()
            return None
        return group

    def _watch(
        self, run: Run, process: subprocess.Popen[str], messages: Messages, folder: Path, limits: Limits
    ) -> tuple[str, str]:
        """Waits for the end of a run. Ends a run that is cancelled or exceeds a limit."""
        started = time.monotonic()
        while not messages.ended.wait(RUN_POLL_S):
            if not self._exchange(run, process, messages):
                return "cancelled", "cancelled while the run was in progress"
            if self.ending.is_set():
                return "incomplete", "the test bed was stopped while the run was in progress; launch it again"
            if time.monotonic() - started > limits.seconds:
                return (
                    "failed",
                    f"the run took longer than {limits.seconds:g} s, the limit of its owner's level",
                )
            if size(folder) > limits.bytes:
                return (
                    "failed",
                    f"the run wrote more than {limits.bytes // 1_000_000} MB, the limit of its owner's level",
                )
            if shutil.disk_usage(folder).free < MIN_FREE_BYTES / 2:
                return "failed", "the disk is full"
        process.wait()
        self._exchange(run, process, messages)
        if messages.last == "done":
            return "done", ""
        if messages.last.startswith("failed "):
            return "failed", messages.last.removeprefix("failed ")
        return (
            "failed",
            f"the run's process ended with code {process.returncode}: probably out of memory",
        )

    def _exchange(self, run: Run, process: subprocess.Popen[str], messages: Messages) -> bool:
        """Records the messages of a run, and sends requested changes to the run. Returns true if
        the run may continue."""
        answers = messages.answers()
        try:
            with self.store.writing() as rows:
                continues = queue.renew(rows, run.number, self.worker, messages.progress)
                queue.record_answers(rows, run.number, answers)
                wanted = queue.take_changes(rows, run.number)
        except SQLAlchemyError:
            # The database is busy or cannot be written; the next call retries.
            for one in answers:
                messages.changed.put(one)
            return True
        for change in wanted:
            send(process.stdin, change)
        return continues

    def _listen(self) -> None:
        """Wakes the loop up when the web process reports a new run."""
        path = self.settings.socket
        path.unlink(missing_ok=True)
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as server:
            server.bind(str(path))
            path.chmod(0o660)
            server.listen(16)
            while not self.ending.is_set():
                connection, _ = server.accept()
                with connection:
                    if permitted(connection, self.settings.group):
                        self.work.set()


def send(pipe: IO[str] | None, what: Any) -> None:
    """Writes a line of JSON to a run's process. Ignores a process that has ended."""
    with contextlib.suppress(OSError, ValueError):
        assert pipe is not None
        pipe.write(json.dumps(what) + "\n")
        pipe.flush()


class Messages:
    """The messages of a run's process, read by a thread."""

    def __init__(self, pipe: IO[str]) -> None:
        self.progress = 0.0
        self.changed: SimpleQueue[dict[str, Any]] = SimpleQueue()
        self.last = ""
        self.summary: dict[str, Any] = {}
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self._read, args=(pipe,), daemon=True)
        self.thread.start()

    def _read(self, pipe: IO[str]) -> None:
        for line in pipe:
            word, _, rest = line.strip().partition(" ")
            if word == "progress":
                with contextlib.suppress(ValueError):
                    self.progress = float(rest)
            elif word == "changed":
                with contextlib.suppress(ValueError):
                    self.changed.put(json.loads(rest))
            elif word == "summary":
                with contextlib.suppress(ValueError):
                    self.summary = dict(json.loads(rest))
            else:
                self.last = line.strip()[:2000]
        self.ended.set()

    def answers(self) -> list[dict[str, Any]]:
        """Returns the results of changes since the last call."""
        found = []
        while not self.changed.empty():
            found.append(self.changed.get())
        return found


def permitted(connection: socket.socket, group: int | None = None) -> bool:
    """Returns true if the other end of a Unix socket is a process of this user, of root, or of the
    ``group`` that shares the data."""
    size_of = struct.calcsize("3i")
    _, user, of = struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size_of))
    return user in (0, os.geteuid()) or (group is not None and of == group)


def wake(settings: Settings, number: int) -> None:
    """Notifies the executor of a new run. A lost notification only causes a delay, because the
    executor polls the queue every second."""
    with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
        client.settimeout(0.2)
        client.connect(str(settings.socket))
        client.sendall(b"%d\n" % number)


def size(folder: Path) -> int:
    """Returns the size of all files below a folder, in bytes."""
    total = 0
    for file in folder.rglob("*"):
        with contextlib.suppress(OSError):
            total += file.lstat().st_size
    return total


def lock_folder(data: Path) -> Any:
    """Returns the lock that makes this the only executor of a folder. Raises
    :class:`bentpipe.InputError`."""
    file = (data / "executor.lock").open("w")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        file.close()
        raise InputError(f"another executor works in {data}; stop it, or choose another --data") from None
    return file


def run_executor(settings: Settings, ready: Callable[[], None] = lambda: None) -> None:
    """Runs the executor until SIGTERM or SIGINT."""
    store = Store(settings.url)
    executor = Executor(settings, store)
    signal.signal(signal.SIGTERM, executor.stop)
    signal.signal(signal.SIGINT, executor.stop)
    ready()
    executor.loop()
    store.close()
