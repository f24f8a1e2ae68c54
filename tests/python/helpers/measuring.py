"""Helpers for tests of measurements: a reflector on loopback, and one in a host of an emulated
network."""

from __future__ import annotations

import random
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from bentpipe import measure
from bentpipe.measure import sockets
from bentpipe.measure.channel import ChannelError
from rigs.networks import Bentpipe, until

KEY = b"0123456789abcdef"

#: A scenario with one link between `user` and `server`; the link's keys follow.
LINK = """
name = "path"
duration = "1 h"
[[link]]
name = "sat"
from = "user"
to = "server"
"""


def _free() -> int:
    """Returns a loopback port that is free for UDP and TCP, below those that the kernel assigns."""
    while True:
        port = random.randrange(10_000, 32_000)
        with socket.socket() as tcp, socket.socket(type=socket.SOCK_DGRAM) as udp, suppress(OSError):
            for one in (tcp, udp):
                one.bind(("127.0.0.1", port))
            return port


@contextmanager
def reflecting(
    key: bytes | None, rate: float = 1000.0, clock: sockets.Clock = time.time_ns
) -> Iterator[tuple[int, list[measure.reflector.Counts]]]:
    """Yields the port of a reflector on loopback; the list contains its counts at the end."""
    port = _free()
    go_on, ready = threading.Event(), threading.Event()
    counts: list[measure.reflector.Counts] = []

    def run() -> None:
        counts.append(
            measure.reflect(
                "127.0.0.1",
                port,
                key,
                should_continue=lambda: not go_on.is_set(),
                ready=ready.set,
                rate=rate,
                clock=clock,
            )
        )

    thread = threading.Thread(target=run)
    thread.start()
    assert ready.wait(10)
    try:
        yield port, counts
    finally:
        go_on.set()
        thread.join(10)


class Line:
    """A control connection whose other end sends its messages in sequence, for any input."""

    def __init__(self, messages: list[tuple[dict[str, Any], bytes]]) -> None:
        self.messages, self.said = messages, list[dict[str, Any]]()
        self.sock, self.other = socket.socketpair()

    def opened(self, sock: socket.socket, *_: object) -> Line:
        sock.close()
        return self

    def hear(self, _: float) -> tuple[dict[str, Any], bytes]:
        if not self.messages:
            raise ChannelError("nothing more")
        return self.messages.pop(0)

    def say(self, message: dict[str, Any], _: bytes = b"") -> None:
        self.said.append(message)

    def close(self) -> None:
        with suppress(OSError):
            self.sock.close()
        self.other.close()


#: A reflector whose clock is 3 s ahead and 40 ppm fast, or as its arguments state: nanoseconds
#: ahead, and ppm fast.
REFLECTOR = """
import sys, time
from pathlib import Path
from bentpipe import measure
begin, ahead, fast = time.time_ns(), *map(int, sys.argv[1:])
def shifted():
    now = time.time_ns()
    return now + ahead + (now - begin) * fast // 1_000_000
measure.reflect("0.0.0.0", 8620, Path("key").read_bytes(), clock=shifted, should_continue=lambda: True)
"""


#: Linux's default memory of sockets for incoming data (tcp_rmem of 6.18): least, initial, most.
RECEIVE_MEMORY = "4096 131072 33554432"


@contextmanager
def path(
    bentpipe: Bentpipe,
    folder: Path,
    scenario: str,
    ahead_ns: int = 3_000_000_000,
    fast_ppm: int = 40,
    receive_memory: str | None = None,
) -> Iterator[None]:
    """Yields a network between `user` and `server` with a reflector at the server, whose clock is
    shifted. Both hosts have the given `receive_memory`, by default that of this machine."""
    (folder / "path.toml").write_text(scenario)
    (folder / "key").write_bytes(KEY)
    bentpipe("net", "up", folder / "path.toml")
    for host in ("user", "server") if receive_memory else ():
        setting = f"echo {receive_memory} > /proc/sys/net/ipv4/tcp_rmem"
        bentpipe("net", "exec", host, "--", "sh", "-c", setting)
    program = [sys.executable, "-c", REFLECTOR, str(ahead_ns), str(fast_ppm)]
    words = bentpipe.words("net", "exec", "server", "--", *program)
    with subprocess.Popen(words, env=bentpipe.variables(), cwd=folder) as process:
        try:
            listening = ["grep", "-q", ":21AC", "/proc/net/udp"]
            until(lambda: bentpipe.done("net", "exec", "server", "--", *listening).returncode == 0)
            yield
        finally:
            process.kill()


def measure_path(bentpipe: Bentpipe, folder: Path, plan: str, *options: object) -> str:
    """Measures from `user` to `server` into the folder `run`. Returns the command's output."""
    (folder / "plan.toml").write_text(plan)
    command: Sequence[object] = ["measure", "server", "--key", "key", "--plan", "plan.toml", "--out", "run"]
    return bentpipe("net", "exec", "user", "--", *bentpipe.start, *command, *options, cwd=folder, timeout=300)
