"""A control group per run, where the kernel lets this process make one: it bounds the memory of the run and of
everything that the run starts, and ends all of it together.

With cgroup v2 the executor's own group has to be delegated (systemd: ``Delegate=yes``); the executor then moves into
a group below it, as a group with processes cannot pass controllers on. Version 1 needs root. Without either the
limits of the run's process are all there is (:mod:`bentpipe.testbed.runner`).
"""

from __future__ import annotations

import contextlib
import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Final

#: Where control groups are mounted.
MOUNT: Final = Path("/sys/fs/cgroup")
#: Processes and threads of a run.
MOST_TASKS: Final = 2000
#: Seconds that a killed group has to become empty.
EMPTY_S: Final = 5.0


@dataclass(frozen=True)
class Parent:
    """The group below which runs get theirs. ``unified`` is version 2."""

    path: Path
    unified: bool


class Group:
    """The control group of one run."""

    def __init__(self, parent: Parent, name: str, memory: int) -> None:
        self.parent = parent
        self.path = parent.path / name
        self.path.mkdir(exist_ok=True)
        if parent.unified:
            self._write("memory.max", memory)
            self._write("memory.swap.max", 0)
            self._write("pids.max", MOST_TASKS)
        else:
            self._write("memory.limit_in_bytes", memory)

    def _write(self, name: str, value: int) -> None:
        # A file that this kernel does not have bounds nothing.
        with contextlib.suppress(FileNotFoundError):
            (self.path / name).write_text(str(value))

    def add(self, process: int) -> None:
        """Put a process, and what it will start, into the group."""
        (self.path / "cgroup.procs").write_text(str(process))

    def exceeded(self) -> bool:
        """Whether the kernel has ended something of it for its memory."""
        name = "memory.events" if self.parent.unified else "memory.oom_control"
        with contextlib.suppress(OSError):
            rows = (line.split() for line in (self.path / name).read_text().splitlines())
            return any(row[0] == "oom_kill" and int(row[1]) > 0 for row in rows)
        return False

    def end(self) -> None:
        """Kill what is left in the group, and remove it."""
        until = time.monotonic() + EMPTY_S
        while time.monotonic() < until:
            with contextlib.suppress(OSError):
                self.path.rmdir()
                return
            with contextlib.suppress(OSError):
                for line in (self.path / "cgroup.procs").read_text().split():
                    os.kill(int(line), 9)
            time.sleep(0.02)


def parent() -> Parent | None:
    """Returns where this process can make groups of runs, if anywhere."""
    try:
        lines = Path("/proc/self/cgroup").read_text().splitlines()
    except OSError:
        return None
    for line in lines:
        _, controllers, path = line.split(":", 2)
        own = path.lstrip("/")
        with contextlib.suppress(OSError):
            if not controllers and _has_memory(MOUNT / own):
                return _delegated(MOUNT / own)
            if "memory" in controllers.split(","):
                there = MOUNT / "memory" / own
                # Inside a container the path may be that of the machine outside.
                above = there if there.is_dir() else MOUNT / "memory"
                for left in above.glob("bentpipe-*"):
                    # Of an executor that was killed.
                    if not Path(f"/proc/{left.name.removeprefix('bentpipe-')}").exists():
                        _clear(left)
                        left.rmdir()
                below = above / f"bentpipe-{os.getpid()}"
                below.mkdir(exist_ok=True)
                return Parent(below, unified=False)
    return None


def _has_memory(own: Path) -> bool:
    return "memory" in (own / "cgroup.controllers").read_text().split()


def _delegated(own: Path) -> Parent:
    leaf = own / "executor"
    leaf.mkdir(exist_ok=True)
    for process in (own / "cgroup.procs").read_text().split():
        (leaf / "cgroup.procs").write_text(process)
    (own / "cgroup.subtree_control").write_text("+memory +pids")
    _clear(own)
    return Parent(own, unified=True)


def _clear(parent: Path) -> None:
    """Remove the groups of runs, which ended with their executor."""
    for left in parent.glob("run-*"):
        with contextlib.suppress(OSError):
            left.rmdir()


def leave(found: Parent | None) -> None:
    """Remove the group that :func:`parent` has made, once those of all runs are gone."""
    if found is not None and not found.unified:
        with contextlib.suppress(OSError):
            found.path.rmdir()
