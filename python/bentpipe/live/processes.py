"""Processes in /proc: identity, network namespace, and termination."""

from __future__ import annotations

import contextlib
import functools
import os
import select
import signal
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Final

#: Time limit in seconds for a process to end after SIGTERM before it is killed.
GRACE_S: Final = 3.0


@functools.cache
def boot() -> str:
    """Returns the identifier of this boot of the machine."""
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def started(pid: int) -> int | None:
    """Returns the start time of a process in ticks since boot, or None if the process has ended.
    The start time and the process id together identify a process."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return None
    # The name in parentheses may contain any character.
    state, *rest = text.rpartition(")")[2].split()
    return None if state in "ZX" else int(rest[18])


def namespace(pid: int | str) -> int | None:
    """Returns the inode number of the network namespace of a process. ``pid`` can be "self".
    Returns None if the process has ended or must not be read."""
    try:
        return int(str(Path(f"/proc/{pid}/ns/net").readlink()).partition("[")[2].rstrip("]"))
    except (OSError, ValueError):
        return None


def inside(inodes: Iterable[int]) -> dict[int, int]:
    """Returns the namespace of each process in these network namespaces, by process id. This
    process is not included."""
    wanted = set(inodes)
    if not wanted:
        return {}
    numbers = (int(name) for name in os.listdir("/proc") if name.isdigit())  # noqa: PTH208 - thousands
    seen = ((pid, namespace(pid)) for pid in numbers if pid != os.getpid())
    return {pid: inode for pid, inode in seen if inode in wanted}


def carries(pid: int, token: str) -> bool:
    """Returns true if a process was started with a network's token in its environment."""
    try:
        environment = Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return False
    return f"BENTPIPE_TOKEN={token}".encode() in environment.split(b"\0")


def end(inodes: Iterable[int], grace_s: float = GRACE_S) -> list[int]:
    """Ends all processes in network namespaces by SIGTERM, and after ``grace_s`` seconds by
    SIGKILL. Returns the ids of processes that still run."""
    inodes = set(inodes)
    _send(inside(inodes), inodes, (signal.SIGTERM, signal.SIGHUP, signal.SIGCONT))
    if _wait_until_empty(inodes, grace_s):
        return []
    # The processes may start new processes in the meantime, so the signal is repeated.
    for _ in range(20):
        _send(inside(inodes), inodes, (signal.SIGKILL,))
        if _wait_until_empty(inodes, 0.25):
            return []
    return sorted(inside(inodes))


def _wait_until_empty(inodes: set[int], limit_s: float) -> bool:
    """Waits until no process runs in the namespaces. Returns false after the time limit."""
    limit = time.monotonic() + limit_s
    while any(started(pid) is not None for pid in inside(inodes)):
        if time.monotonic() > limit:
            return False
        time.sleep(0.01)
    return True


def _send(pids: Iterable[int], inodes: set[int], signals: Iterable[signal.Signals]) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            process = os.pidfd_open(pid)
            try:
                # The pidfd refers to one process, even if the process id is reused. Check that this
                # process is in the namespaces.
                if namespace(pid) in inodes:
                    for number in signals:
                        signal.pidfd_send_signal(process, number)
            finally:
                os.close(process)


def wait(process: int, limit_s: float) -> bool:
    """Waits for the end of the process of a pidfd. Returns true if it ends within the time
    limit."""
    poll = select.poll()
    poll.register(process, select.POLLIN)
    return bool(poll.poll(1000 * limit_s))
