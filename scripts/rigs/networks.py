"""Fixtures for tests of live networks: bentpipe with separate state, and a namespace in place of
the machine."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from bentpipe.live import processes

from rigs import commands

START = [sys.executable, "-c", "import sys; sys.argv[0] = 'bentpipe'; from bentpipe.cli import main; main()"]

#: Options for a link that is fast enough for tests and slow enough to be measured.
LINK = ["--set", "link.sat.delay=20 ms", "--set", "link.sat.rate=20 Mbit/s"]


def reason_to_skip() -> str | None:
    """Returns the reason why this machine cannot create networks as root; None if it can."""
    if os.geteuid() != 0:
        return "not root"
    if not os.access("/dev/net/tun", os.R_OK | os.W_OK):
        return "no /dev/net/tun"
    if shutil.which("unshare") is None or subprocess.run(["unshare", "-n", "true"], check=False).returncode:
        return "no network namespaces"
    return None


#: Mark of tests that create networks as root.
networks = pytest.mark.skipif(reason_to_skip() is not None, reason=str(reason_to_skip()))


def needs(*programs: str) -> pytest.MarkDecorator:
    """Returns a mark that skips a test if one of these programs is not installed."""
    missing = [program for program in programs if shutil.which(program) is None]
    return pytest.mark.skipif(bool(missing), reason=f"not installed: {', '.join(missing)}")


@dataclass
class Bentpipe:
    """The command ``bentpipe`` with a separate state folder.

    ``before`` are words before the command, such as ``nsenter``; ``start`` are the words that start
    it.
    """

    state: Path
    before: Sequence[str] = ()
    start: Sequence[str] = tuple(START)
    environment: dict[str, str] = field(default_factory=dict)

    def words(self, *arguments: object) -> list[str]:
        return [*self.before, *self.start, *map(str, arguments)]

    def variables(self) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("BENTPIPE_")}
        return kept | {"BENTPIPE_STATE": str(self.state), "COLUMNS": "80"} | self.environment

    def done(
        self, *arguments: object, given: str = "", cwd: Path | None = None, timeout: float = 120
    ) -> subprocess.CompletedProcess[str]:
        """Runs the command. Returns its result. Forks it from a server unless ``before`` or
        ``start`` is set."""
        if not self.before and tuple(self.start) == tuple(START):
            return commands.run(
                *arguments, folder=cwd, environment=self.variables(), given=given, limit_s=timeout
            )
        return subprocess.run(
            self.words(*arguments),
            env=self.variables(),
            input=given,
            cwd=cwd,
            timeout=timeout,
            capture_output=True,
            text=True,
            check=False,
        )

    def __call__(self, *arguments: object, code: int = 0, **options: Any) -> str:
        """Runs the command. Returns its output, or its standard error if it is expected to fail."""
        done = self.done(*arguments, **options)
        assert done.returncode == code, f"{arguments}\n{done.stdout}\n{done.stderr}"
        assert "Traceback" not in done.stderr, done.stderr
        return done.stdout if code == 0 else done.stderr

    def begin(self, *arguments: object, **options: Any) -> subprocess.Popen[str]:
        """Starts the command without waiting for it."""
        return subprocess.Popen(self.words(*arguments), env=self.variables(), text=True, **options)

    def records(self) -> list[dict[str, Any]]:
        """Returns the records in the state folder."""
        return [json.loads(file.read_text()) for file in sorted(self.state.glob("*.json"))]

    def left(self) -> list[str]:
        """Returns the names of the remaining state files except the lock."""
        return (
            [file.name for file in self.state.iterdir() if file.name != "lock"] if self.state.is_dir() else []
        )

    def processes(self) -> dict[int, str]:
        """Returns all processes of the command, found by the state folder in their environment."""
        mark = f"BENTPIPE_STATE={self.state}".encode()
        found = {}
        for folder in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                if mark in (folder / "environ").read_bytes().split(b"\0"):
                    found[int(folder.name)] = (folder / "cmdline").read_text().replace("\0", " ")
        return found


@pytest.fixture
def bentpipe(tmp_path: Path) -> Iterator[Bentpipe]:
    """Provides the command. Fails if processes or state of the test's networks remain at the
    end."""
    command = Bentpipe(tmp_path / "state")
    yield command
    clear(command)


def clear(command: Bentpipe) -> None:
    """Takes all networks down. Fails if anything remains, after killing remaining processes."""
    done = command.done("net", "down", "--all")
    left, processes = command.left(), command.processes()
    for pid in processes:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    assert done.returncode == 0, done.stderr
    assert (left, processes) == ([], {})


def until(condition: Callable[[], Any], limit_s: float = 30) -> Any:
    """Waits until the function returns a true value, and returns the value."""
    end = time.monotonic() + limit_s
    while not (found := condition()):
        assert time.monotonic() < end, f"the condition did not become true within {limit_s} s"
        time.sleep(0.02)
    return found


def namespace_of(process: subprocess.Popen[bytes]) -> int:
    """Waits until `unshare -n` has created its network namespace. Returns the namespace's inode."""
    own = Path("/proc/self/ns/net").stat().st_ino
    until(lambda: Path(f"/proc/{process.pid}/ns/net").stat().st_ino != own)
    return Path(f"/proc/{process.pid}/ns/net").stat().st_ino


def in_use(inodes: set[int]) -> list[str]:
    """Returns the processes that are in one of the namespaces or hold it open."""
    found = []
    for link in Path("/proc").glob("[0-9]*/fd/*"):
        try:
            to = os.readlink(link)  # noqa: PTH115 - the target is not a path
        except OSError:
            continue
        if to.startswith("net:[") and int(to[5:-1]) in inodes:
            found.append(str(link))
    return found + [str(pid) for pid in processes.inside(inodes)]


class Machine:
    """A network namespace in place of the machine, with a wire to the namespace of a server.

    The server at 203.0.113.2 has a route only to the machine itself. `close` removes both
    namespaces.
    """

    SERVER = "203.0.113.2"

    def __init__(self) -> None:
        self._here, self._there = (
            subprocess.Popen(["unshare", "-n", "sleep", "600"], env={"PATH": os.environ["PATH"]})
            for _ in range(2)
        )
        for process in (self._here, self._there):
            namespace_of(process)
        self.inside = ["nsenter", "-t", str(self._here.pid), "-n"]
        self.at_server = ["nsenter", "-t", str(self._there.pid), "-n"]
        self(
            "ip", "link", "add", "wire", "type", "veth", "peer", "name", "wire", "netns", str(self._there.pid)
        )
        for where, address in ((self.inside, "203.0.113.1/24"), (self.at_server, f"{self.SERVER}/24")):
            for words in (
                ["addr", "add", address, "dev", "wire"],
                ["link", "set", "wire", "up"],
                ["link", "set", "lo", "up"],
            ):
                subprocess.run([*where, "ip", *words], check=True)
        self("sysctl", "-qw", "net.ipv4.ip_forward=0")

    def __call__(self, *words: str) -> str:
        """Runs a command in the machine's namespace. Returns its output."""
        return subprocess.run([*self.inside, *words], check=True, capture_output=True, text=True).stdout

    @property
    def forwards(self) -> bool:
        return self("cat", "/proc/sys/net/ipv4/ip_forward").strip() == "1"

    def picture(self) -> dict[str, str]:
        """Returns the network configuration of the machine, as other programs see it."""
        links = json.loads(self("ip", "-json", "link"))
        return {
            "interfaces": " ".join(sorted(link["ifname"] for link in links)),
            "routes": self("ip", "route"),
            "rules": self("nft", "list", "ruleset"),
            "forwarding": str(self.forwards),
        }

    def close(self) -> None:
        for process in (self._here, self._there):
            process.kill()
            process.wait()


@pytest.fixture
def machine() -> Iterator[Machine]:
    """Provides a network namespace in place of the machine."""
    made = Machine()
    yield made
    made.close()
