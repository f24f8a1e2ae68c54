"""`bentpipe net down --all` removes all leftovers of networks killed at any time, and nothing that
belongs to others."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from bentpipe.live import processes
from rigs.networks import Bentpipe, Machine, in_use, namespace_of, needs, networks, until

#: Not in parallel, because the kernel reuses the numbers of namespaces immediately.
pytestmark = [pytest.mark.alone, networks, needs("nft", "nsenter", "ip", "unshare")]


class Strangers:
    """Items on the machine that do not belong to bentpipe: rules under a similar name, a namespace,
    and a process."""

    def __init__(self, machine: Machine) -> None:
        machine("nft", "add table ip bentpipe_geo_1; add chain ip bentpipe_geo_1 mine")
        self.process = subprocess.Popen(
            ["unshare", "-n", "sleep", "300"], env={"BENTPIPE_TOKEN": "another"} | _path()
        )
        self.namespace = namespace_of(self.process)

    def are_untouched(self) -> bool:
        return self.process.poll() is None and processes.namespace(self.process.pid) == self.namespace

    def close(self) -> None:
        self.process.kill()
        self.process.wait()


def _path() -> dict[str, str]:
    return {"PATH": os.environ["PATH"]}


@pytest.fixture
def strangers(machine: Machine) -> Iterator[Strangers]:
    made = Strangers(machine)
    yield made
    made.close()


@pytest.mark.parametrize("seed", range(4))
def test_killed_at_any_moment(bentpipe: Bentpipe, machine: Machine, strangers: Strangers, seed: int) -> None:
    chance = random.Random(seed)
    inside = Bentpipe(bentpipe.state, before=machine.inside)
    before = machine.picture()
    inodes: set[int] = set()
    # Programs that outlive their parent, alone in a namespace.
    stays = ["sh", "-c", "sleep 200 & exec sleep 100"]
    for turn in range(4):
        words = ["net", "up", "geo", "--internet"] if turn % 2 else ["run", "geo", "--internet", "--", *stays]
        started = inside.begin(*words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(chance.uniform(0.0, 0.9))
        if turn == 3:
            inside.done(
                "net", "exec", "geo", "user", "--", "sh", "-c", "sleep 300 >/dev/null 2>&1 &", timeout=20
            )
        for record in inside.records():
            inodes |= {host["inode"] for host in record["hosts"].values()}
            kill(record["pid"])
        kill(started.pid)
        started.wait()
    # A daemon that is just starting is not yet in the state.
    for pid in inside.processes():
        # The process may have ended since.
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            if b"bentpipe.live.daemon" in Path(f"/proc/{pid}/cmdline").read_bytes():
                kill(pid)
    inside("net", "down", "--all")
    assert machine.picture() == before
    # A killed process releases its namespaces shortly after it has disappeared.
    until(lambda: in_use(inodes) == [])
    assert inside.processes() == {}
    assert inside.left() == []
    assert strangers.are_untouched()


def kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return
    until(lambda: processes.started(pid) is None)


@pytest.mark.parametrize("turn", range(5))
def test_programs_of_exec_end_with_a_killed_keeper(bentpipe: Bentpipe, turn: int) -> None:
    bentpipe("net", "up", "geo", "--name", "one")
    (record,) = bentpipe.records()
    inodes = {host["inode"] for host in record["hosts"].values()}
    # A program in the terminal's session, one in its own session, and one that ignores SIGTERM.
    script = "sleep 300 & setsid sleep 300 & trap '' TERM; while true; do sleep 1; done"
    program = bentpipe.begin("net", "exec", "one", "user", "--", "sh", "-c", script)
    until(lambda: len(processes.inside(inodes)) >= 3)
    kill(record["pid"])
    until(lambda: processes.inside(inodes) == {})
    program.wait()
    bentpipe("net", "down", "--all")
    until(lambda: bentpipe.processes() == {})
    assert bentpipe.left() == []


def test_what_one_removes_another_keeps(bentpipe: Bentpipe, machine: Machine, strangers: Strangers) -> None:
    """Of two networks, one is killed and cleared while the other stays up, with the outlet that
    both used."""
    inside = Bentpipe(bentpipe.state, before=machine.inside)
    before = machine.picture()
    inside("net", "up", "geo", "--internet", "--name", "one")
    inside("net", "up", "geo", "--internet", "--name", "two")
    first, second = inside.records()
    assert (first["id"], second["id"]) == ("one", "two")
    kill(first["pid"])
    inside("net", "down", "one")
    assert machine.forwards
    rules = machine("nft", "list", "tables")
    assert first["rules"] not in rules and second["rules"] in rules
    inside("net", "exec", "two", "user", "--", "ping", "-c", "1", machine.SERVER)
    # The outlet belongs to another namespace: only items in this one are touched.
    kill(second["pid"])
    said = bentpipe("net", "down", "--all", code=1)
    assert second["rules"] in said and second["rules"] in machine("nft", "list", "tables")
    inside("net", "down", "--all")
    assert machine.picture() == before
    assert strangers.are_untouched()


def test_one_network_within_another_goes_with_it(bentpipe: Bentpipe) -> None:
    bentpipe("net", "up", "geo", "--name", "outer")
    bentpipe(
        "net", "exec", "outer", "user", "--", *bentpipe.start, "net", "up", "wifi-loss", "--name", "inner"
    )
    inner = next(record for record in bentpipe.records() if record["id"] == "inner")
    assert inner["rules"] is not None
    kill(inner["pid"])
    assert "run `bentpipe net down inner` there" in bentpipe("net", "down", "inner", code=1)
    bentpipe("net", "down", "--all")
    assert (bentpipe.left(), bentpipe.processes()) == ([], {})
