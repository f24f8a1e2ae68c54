"""Control groups of runs, for kernels that let this process create groups. A group limits memory
and processors of a run with all its child processes, and ends these processes together.

With cgroup v2 the executor's own group must be delegated (systemd: ``Delegate=yes``). The executor
then moves into a subgroup, because a group with processes cannot pass on controllers. Version 1,
which has a tree for each controller, needs root. Without control groups only the limits of the
run's process apply (:mod:`bentpipe.testbed.runner`).
"""

from __future__ import annotations

import contextlib
import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Final

#: Mount point of control groups, and the file that names the group of this process.
MOUNT: Final = Path("/sys/fs/cgroup")
OWN: Final = Path("/proc/self/cgroup")
#: Controllers that limit a run. The memory controller is required.
CONTROLLERS: Final = ("memory", "cpu", "pids")
#: Maximum number of processes and threads of a run.
MAX_TASKS: Final = 2000
#: Accounting period of processor time, in microseconds.
PERIOD_US: Final = 100_000
#: Seconds to wait for a killed group to become empty.
EMPTY_S: Final = 5.0


@dataclass(frozen=True)
class Parent:
    """The parent group of the groups of runs: in version 2 (``unified``) one path for all
    controllers, in version 1 one path per controller."""

    paths: dict[str, Path]
    unified: bool


class Group:
    """The control group of a run, limited to ``memory`` bytes and a number of ``processors``."""

    def __init__(self, parent: Parent, name: str, memory: int, processors: float) -> None:
        self.parent = parent
        self.paths = {controller: path / name for controller, path in parent.paths.items()}
        for path in self.paths.values():
            path.mkdir(exist_ok=True)
        quota = int(processors * PERIOD_US)
        if parent.unified:
            self._write("memory", "memory.max", memory)
            self._write("memory", "memory.swap.max", 0)
            self._write("cpu", "cpu.max", f"{quota} {PERIOD_US}")
        else:
            self._write("memory", "memory.limit_in_bytes", memory)
            self._write("cpu", "cpu.cfs_period_us", PERIOD_US)
            self._write("cpu", "cpu.cfs_quota_us", quota)
        self._write("pids", "pids.max", MAX_TASKS)

    def _write(self, controller: str, name: str, value: int | str) -> None:
        # Skips files that this kernel lacks or has not delegated.
        if controller in self.paths:
            with contextlib.suppress(FileNotFoundError):
                _set(self.paths[controller] / name, value)

    def add(self, process: int) -> None:
        """Adds a process to the group. Its future child processes join the group too."""
        for path in set(self.paths.values()):
            _set(path / "cgroup.procs", process)

    def exceeded(self) -> bool:
        """Returns true if the kernel has killed a process of the group at the memory limit."""
        name = "memory.events" if self.parent.unified else "memory.oom_control"
        with contextlib.suppress(OSError):
            rows = (line.split() for line in (self.paths["memory"] / name).read_text().splitlines())
            return any(row[0] == "oom_kill" and int(row[1]) > 0 for row in rows)
        return False

    def end(self) -> None:
        """Kills the remaining processes of the group and removes it."""
        until = time.monotonic() + EMPTY_S
        left = set(self.paths.values())
        while left and time.monotonic() < until:
            for path in list(left):
                with contextlib.suppress(OSError):
                    path.rmdir()
                    left.discard(path)
                    continue
                with contextlib.suppress(OSError):
                    for line in (path / "cgroup.procs").read_text().split():
                        os.kill(int(line), 9)
            if left:
                time.sleep(0.02)


def parent() -> Parent | None:
    """Returns the parent group of runs; None if this process cannot create groups."""
    try:
        lines = OWN.read_text().splitlines()
    except OSError:
        return None
    found: dict[str, Path] = {}
    for line in lines:
        _, controllers, path = line.split(":", 2)
        own = path.lstrip("/")
        with contextlib.suppress(OSError):
            if not controllers and "memory" in _controllers(MOUNT / own):
                return _delegated(MOUNT / own)
            for controller in set(controllers.split(",")) & set(CONTROLLERS):
                # In a container the path may be that of the host machine.
                there = MOUNT / controller / own
                found[controller] = _below(there if there.is_dir() else MOUNT / controller)
    if "memory" in found:
        return Parent(found, unified=False)
    leave(Parent(found, unified=False))
    return None


def _controllers(group: Path) -> set[str]:
    """Returns the controllers that a group of version 2 may enable in its subgroups."""
    return set((group / "cgroup.controllers").read_text().split())


def _delegated(own: Path) -> Parent:
    leaf = own / "executor"
    leaf.mkdir(exist_ok=True)
    for process in (own / "cgroup.procs").read_text().split():
        _set(leaf / "cgroup.procs", process)
    passed = [controller for controller in CONTROLLERS if controller in _controllers(own)]
    _set(own / "cgroup.subtree_control", " ".join(f"+{controller}" for controller in passed))
    _clear(own)
    return Parent(dict.fromkeys(passed, own), unified=True)


def _below(above: Path) -> Path:
    """Returns this executor's group of a version-1 controller; removes the groups of killed
    executors."""
    for left in above.glob("bentpipe-*"):
        if not Path(f"/proc/{left.name.removeprefix('bentpipe-')}").exists():
            _clear(left)
            left.rmdir()
    below = above / f"bentpipe-{os.getpid()}"
    below.mkdir(exist_ok=True)
    return below


def _clear(parent: Path) -> None:
    """Removes the groups of runs of an executor that has ended."""
    for left in parent.glob("run-*"):
        with contextlib.suppress(OSError):
            left.rmdir()


def _set(file: Path, value: int | str) -> None:
    # Opened without creation or truncation, because these are files of the kernel.
    with file.open("r+") as opened:
        opened.write(str(value))


def leave(found: Parent | None) -> None:
    """Removes the groups of :func:`parent` after all groups of runs were removed."""
    if found is not None and not found.unified:
        for path in found.paths.values():
            with contextlib.suppress(OSError):
                path.rmdir()
