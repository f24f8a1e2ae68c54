"""Processes as /proc shows them: who they are, in which network namespace, and how they are ended."""

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

#: How long what is asked to end may take before it is killed.
GRACE_S: Final = 3.0


@functools.cache
def boot() -> str:
    """Which start of the machine this is."""
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def started(pid: int) -> int | None:
    """When a process started, in ticks since the machine did: with its number, who it is. None if it is gone."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return None
    # The name in parentheses may hold anything.
    state, *rest = text.rpartition(")")[2].split()
    return None if state in "ZX" else int(rest[18])


def namespace(pid: int | str) -> int | None:
    """The number of the network namespace of a process, or of "self"; None if it is gone or not to be seen."""
    try:
        return int(str(Path(f"/proc/{pid}/ns/net").readlink()).partition("[")[2].rstrip("]"))
    except (OSError, ValueError):
        return None


def inside(inodes: Iterable[int]) -> dict[int, int]:
    """Processes in network namespaces, with the namespace of each; not this one."""
    wanted = set(inodes)
    if not wanted:
        return {}
    numbers = (int(name) for name in os.listdir("/proc") if name.isdigit())  # noqa: PTH208 - thousands
    seen = ((pid, namespace(pid)) for pid in numbers if pid != os.getpid())
    return {pid: inode for pid, inode in seen if inode in wanted}


def carries(pid: int, token: str) -> bool:
    """Whether a process was started with a network's token in its environment."""
    try:
        environment = Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return False
    return f"BENTPIPE_TOKEN={token}".encode() in environment.split(b"\0")


def end(inodes: Iterable[int], grace_s: float = GRACE_S) -> list[int]:
    """End all processes in network namespaces: ask, then kill. Returns those that even that does not end."""
    inodes = set(inodes)
    _tell(inside(inodes), inodes, (signal.SIGTERM, signal.SIGHUP, signal.SIGCONT))
    # While some are waited for, others may start.
    if _gone(inodes, grace_s):
        return []
    for _ in range(20):
        _tell(inside(inodes), inodes, (signal.SIGKILL,))
        if _gone(inodes, 0.25):
            return []
    return sorted(inside(inodes))


def _gone(inodes: set[int], limit_s: float) -> bool:
    limit = time.monotonic() + limit_s
    while any(started(pid) is not None for pid in inside(inodes)):
        if time.monotonic() > limit:
            return False
        time.sleep(0.01)
    return True


def _tell(pids: Iterable[int], inodes: set[int], signals: Iterable[signal.Signals]) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            process = os.pidfd_open(pid)
            try:
                # Now that the number cannot change hands: is it still the one that was meant?
                if namespace(pid) in inodes:
                    for number in signals:
                        signal.pidfd_send_signal(process, number)
            finally:
                os.close(process)


def wait(process: int, limit_s: float) -> bool:
    """Whether the process of a pidfd ends in time."""
    poll = select.poll()
    poll.register(process, select.POLLIN)
    return bool(poll.poll(1000 * limit_s))
