"""dtnd, the daemon of dtn7-rs, as a peer of bundle agents in tests (``cargo install dtn7
--locked``)."""

from __future__ import annotations

import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

#: Convergence layers of both dtnd and the agent: the agent's name, and dtnd's.
LAYERS = {"tcpcl": "tcp", "mtcp": "mtcp", "udp": "udp"}


@dataclass
class Dtnd:
    """A running daemon, with access to its web interface."""

    ask: Callable[[str, bytes | None], bytes]

    def send(self, destination: str, payload: bytes) -> None:
        """Sends a payload from the node; a report of its delivery goes to the node."""
        assert self.ask(f"send?dst={destination}", payload).startswith(b"Sent payload")

    def received(self, endpoint: str) -> list[bytes]:
        """Takes the bundles that have arrived for an endpoint."""
        found = []
        while (one := self.ask(f"endpoint?{endpoint}", None)) != b"Nothing to receive":
            found.append(one)
        return found


def words(node: str, layer: str, port: int, web: int, peer: str | None, folder: Path) -> list[str]:
    """Returns the command of a daemon with a convergence layer at a port, and an optional peer
    (``ADDRESS:PORT/NODE``)."""
    own = LAYERS[layer]
    return [
        "dtnd", "--nodeid", node, "--endpoint", "incoming", "--db", "mem", "--workdir", str(folder), "--disable_nd",
        "--peer-timeout", "1h", "--janitor", "1s", "--web-port", str(web), "--ipv4",
        "--cla", f"{own}:port={port}", *(() if peer is None else ("--static-peer", f"{own}://{peer}")),
    ]  # fmt: skip


def free(kind: socket.SocketKind = socket.SOCK_STREAM) -> int:
    """Returns an unused port of loopback."""
    with socket.socket(socket.AF_INET, kind) as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port


@contextmanager
def running(node: str, layer: str, port: int, peer: str, folder: Path) -> Iterator[Dtnd]:
    """Runs a daemon on loopback; its output is in the file ``dtnd.log``."""
    web = free()

    def ask(path: str, body: bytes | None) -> bytes:
        with urllib.request.urlopen(f"http://127.0.0.1:{web}/{path}", body, timeout=20) as answer:
            content: bytes = answer.read()
            return content

    with (folder / "dtnd.log").open("wb") as log:
        process = subprocess.Popen(words(node, layer, port, web, peer, folder), stdout=log, stderr=log)
        try:
            end = time.monotonic() + 20
            while True:
                try:
                    ask("status/nodeid", None)
                    break
                except (urllib.error.URLError, OSError):
                    assert process.poll() is None and time.monotonic() < end, (
                        folder / "dtnd.log"
                    ).read_text()
                    time.sleep(0.05)
            yield Dtnd(ask)
        finally:
            process.kill()
            process.wait(20)
