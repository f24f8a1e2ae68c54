"""Emulations that are killed at any time leave nothing on the machine: all their resources last
only as long as their processes, so nothing needs to be removed."""

from __future__ import annotations

import contextlib
import ctypes
import os
import platform
import random
import re
import signal
import subprocess
import time
from pathlib import Path

import pytest
from parity.pieces import PAIR, flow
from rigs.networks import Bentpipe, Machine, in_use, needs, networks, until

#: Not in parallel, because the kernel reuses the numbers of namespaces immediately.
pytestmark = [pytest.mark.alone, networks, needs("nft", "nsenter", "ip", "unshare", "setsid")]

#: Numbers of bpf(2), and its commands that open an object of each kind by its number (linux/bpf.h).
SYSCALL = {"x86_64": 321, "aarch64": 280}
BY_NUMBER = {"prog_id": 13, "map_id": 14, "btf_id": 19, "link_id": 30}

PROGRAMS = '{ kind = "command", run = "sh -c \'setsid sleep 200 & exec sleep 100\'", serve = "sleep 300" }'
#: bentpipe's congestion controls, the log of connections, and programs that try to outlive their
#: run.
SCENARIO = (
    'name = "killed"\nduration = "60 s"\n[record]\ntraces = ["tcp"]\ncapture = ["b"]\n'
    + PAIR
    + flow("reno", "a", "b")
    + flow("vegas", "b", "a", transport='{ kind = "tcp", congestion = "vegas" }')
    + flow("program", "a", "b", PROGRAMS)
)


def bpf_objects(pid: int) -> set[tuple[str, int]]:
    """Returns kind and number of the BPF objects that a process holds."""
    found = set()
    for file in Path(f"/proc/{pid}/fdinfo").glob("*"):
        with contextlib.suppress(OSError):
            for kind, number in re.findall(r"^(\w+_id):\s*(\d+)$", file.read_text(), flags=re.MULTILINE):
                if kind in BY_NUMBER:
                    found.add((kind, int(number)))
    return found


def is_there(kind: str, number: int) -> bool:
    """Returns true if the kernel still has a BPF object."""
    attributes = (ctypes.c_uint32 * 32)(number)
    library = ctypes.CDLL(None, use_errno=True)
    opened: int = library.syscall(
        SYSCALL[platform.machine()], BY_NUMBER[kind], attributes, ctypes.sizeof(attributes)
    )
    if opened >= 0:
        os.close(opened)
    return opened >= 0


def namespaces(pid: int) -> set[int]:
    """Returns the network namespaces that a process holds open."""
    found = set()
    for link in Path(f"/proc/{pid}/fd").glob("*"):
        with contextlib.suppress(OSError):
            to = os.readlink(link)  # noqa: PTH115 - it is no path
            if to.startswith("net:["):
                found.add(int(to[5:-1]))
    return found


@pytest.mark.parametrize("seed", range(2))
def test_killed_at_any_moment(bentpipe: Bentpipe, machine: Machine, tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    inside = Bentpipe(bentpipe.state, before=machine.inside)
    before = machine.picture()
    file = tmp_path / "killed.toml"
    file.write_text(SCENARIO, encoding="utf-8")
    inodes: set[int] = set()
    objects: set[tuple[str, int]] = set()
    for turn in range(3):
        words = ["emulate", file, "--out", tmp_path / f"run{turn}", "--allow-commands", "--no-report"]
        started = inside.begin(*words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        end = time.monotonic() + chance.uniform(0.2, 1.5)
        if turn == 2:
            # Once, when all resources exist.
            until(lambda: any("sleep 200" in line for line in inside.processes().values()))
            assert namespaces(started.pid)
            names = Path("/proc/sys/net/ipv4/tcp_available_congestion_control").read_text()
            assert bpf_objects(started.pid) or "bp_" not in names
        while time.monotonic() < end:
            with contextlib.suppress(OSError):
                inodes |= namespaces(started.pid)
                objects |= bpf_objects(started.pid)
            time.sleep(0.02)
        started.send_signal(signal.SIGKILL)
        started.wait()
    own = Path("/proc/self/ns/net").stat().st_ino
    at_machine = Path(f"/proc/{machine.inside[2]}/ns/net").stat().st_ino
    inodes -= {own, at_machine}
    assert len(inodes) >= 2
    until(lambda: inside.processes() == {})
    until(lambda: in_use(inodes) == [])
    until(lambda: not any(is_there(*one) for one in objects))
    assert machine.picture() == before
    # The run folder is marked incomplete, and the next run replaces it.
    words = ["emulate", file, "--out", tmp_path / "run2", "--set", "duration=1 s", "--allow-commands"]
    done = inside.done(*words, "--no-report")
    assert done.returncode == 0, done.stderr
    assert machine.picture() == before
