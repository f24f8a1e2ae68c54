"""A client, a proxy and a server, each in its own namespace, for tests and benchmarks of `bentpipe
pep`."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import json
import os
import signal
import socket
import struct
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rigs.networks import START, namespace_of, until

CLIENT, SERVER = "10.77.1.2", "10.77.2.2"
CLIENT6, SERVER6 = "fd77:1::2", "fd77:2::2"
#: An unused address behind the server's wire.
NOBODY, NOBODY6 = "10.77.2.99", "fd77:2::99"

_CLONE_NEWNET = 0x40000000
_SO_MARK, _IP_TRANSPARENT = 36, 19
_libc = ctypes.CDLL(None, use_errno=True)


class Place:
    """A network namespace, which `close` removes."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(["unshare", "-n", "sleep", "3600"], env={"PATH": os.environ["PATH"]})
        namespace_of(self._process)
        self.pid = self._process.pid
        self.namespace = f"/proc/{self.pid}/ns/net"
        self.inside = ["nsenter", f"--net={self.namespace}"]
        self.sockets: list[socket.socket] = []
        # Disables duplicate address detection, which takes a second.
        self("sysctl", "-qw", "net.ipv6.conf.default.accept_dad=0")
        self("ip", "link", "set", "lo", "up")

    @classmethod
    def at(cls, namespace: str) -> Place:
        """Returns a namespace that another process has created and will remove."""
        place = cls.__new__(cls)
        place.namespace, place.inside, place.sockets = namespace, ["nsenter", f"--net={namespace}"], []
        return place

    def __call__(self, *words: str, script: str | None = None) -> str:
        """Runs a command in the namespace, with `script` as standard input. Returns its output."""
        done = subprocess.run(
            [*self.inside, *words], input=script, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, f"{words}: {done.stderr}"
        return done.stdout

    @contextlib.contextmanager
    def entered(self) -> Iterator[None]:
        """Moves this thread into the namespace. Sockets created in the block stay in the
        namespace."""
        own, other = Path("/proc/thread-self/ns/net"), Path(self.namespace)
        with own.open() as here, other.open() as there:
            assert _libc.setns(there.fileno(), _CLONE_NEWNET) == 0
            try:
                yield
            finally:
                assert _libc.setns(here.fileno(), _CLONE_NEWNET) == 0

    def socket(
        self, family: int = socket.AF_INET, kind: int = socket.SOCK_STREAM, protocol: int = 0
    ) -> socket.socket:
        """Creates a socket in this namespace."""
        with self.entered():
            made = socket.socket(family, kind, protocol)
        self.sockets.append(made)
        return made

    def close(self) -> None:
        for made in self.sockets:
            made.close()
        self._process.kill()
        self._process.wait()


class Lab:
    """A client and a server, with a forwarding machine between them on which ``start`` runs the
    proxy."""

    def __init__(self) -> None:
        self.client, self.proxy, self.server = Place(), Place(), Place()
        self.places = [self.client, self.proxy, self.server]
        self._state = tempfile.TemporaryDirectory()
        self._log = Path(self._state.name) / "log"
        self.process: subprocess.Popen[bytes] | None = None
        for number, (place, wire) in enumerate(((self.client, "near"), (self.server, "far")), 1):
            self.proxy(
                *("ip", "link", "add", wire, "type", "veth", "peer", "name", "wire", "netns", str(place.pid))
            )
            for where, name, host in ((self.proxy, wire, 1), (place, "wire", 2)):
                where("ip", "addr", "add", f"10.77.{number}.{host}/24", "dev", name)
                where("ip", "addr", "add", f"fd77:{number}::{host}/64", "dev", name, "nodad")
                where("ip", "link", "set", name, "up")
            place("ip", "route", "add", "default", "via", f"10.77.{number}.1")
            place("ip", "route", "add", "default", "via", f"fd77:{number}::1")
            # The kernel adds the link-local address and its route some time after the link is up.
            until(functools.partial(self._has_own_addresses, wire))
        self.proxy("sysctl", "-qw", "net.ipv4.ip_forward=1", "net.ipv6.conf.all.forwarding=1")

    def _has_own_addresses(self, wire: str) -> bool:
        return "fe80::/64" in self.proxy("ip", "-6", "route", "show", "dev", wire)

    # The proxy

    @property
    def variables(self) -> dict[str, str]:
        return os.environ | {"BENTPIPE_STATE": self._state.name, "COLUMNS": "80"}

    def command(self, *options: object) -> subprocess.CompletedProcess[str]:
        """Runs `bentpipe machine pep` until it ends."""
        words = [*self.proxy.inside, *START, "machine", "pep", *map(str, options)]
        return subprocess.run(
            words, env=self.variables, capture_output=True, text=True, timeout=60, check=False
        )

    def start(self, *options: object, python: str = START[0]) -> None:
        """Starts the proxy, by default that of this Python's build, and waits until it is ready."""
        words = [*self.proxy.inside, python, *START[1:], "machine", "pep", *map(str, options)]
        self._log.unlink(missing_ok=True)
        with self._log.open("w") as log:
            # A separate process group keeps Ctrl-C in a test from the proxy. A separate session
            # would distort benchmarks: the scheduler divides processors between sessions
            # (sched_autogroup).
            self.process = subprocess.Popen(words, env=self.variables, stderr=log, process_group=0)
        until(lambda: self.process is None or self.process.poll() is not None or self.events("ready"))
        assert self.process.poll() is None, self._log.read_text()

    def events(self, kind: str) -> list[dict[str, Any]]:
        """Returns the log entries of one kind."""
        lines = self._log.read_text().splitlines() if self._log.exists() else []
        events = [json.loads(line) for line in lines if line.startswith("{") and line.endswith("}")]
        return [event for event in events if event["event"] == kind]

    @property
    def worker_process(self) -> int:
        """The process id of the proxy's worker."""
        return int(self.events("ready")[0]["pid"])

    def stop(self, limit_s: float = 60) -> int:
        """Stops the proxy as a service manager would. Returns its exit code."""
        assert self.process is not None
        self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(limit_s)
        self.process = None
        return code

    def kill(self) -> None:
        """Kills the proxy's parent process before it can remove its rules, and waits for the
        worker's end."""
        assert self.process is not None
        served = self.worker_process
        self.process.kill()
        self.process.wait()
        # The worker's new parent may take time to reap it.
        until(lambda: _has_ended(served))
        self.process = None

    def metric(self, name: str, address: str = "127.0.0.1:9377") -> float:
        """Returns a metric of the proxy, which must have been started with ``--metrics`` and this
        address."""
        text = self.proxy("curl", "-sS", "--fail", f"http://{address}/metrics")
        [line] = [line for line in text.splitlines() if line.startswith(f"bentpipe_pep_{name} ")]
        return float(line.split()[1])

    def descriptors(self) -> int:
        """Returns the number of open descriptors of all threads of the proxy."""
        threads = Path(f"/proc/{self.worker_process}/task").iterdir()
        return sum(len(list((thread / "fd").iterdir())) for thread in threads)

    def picture(self) -> dict[str, str]:
        """Returns the network configuration of the proxy's machine, as other programs see it."""
        families = ("-4", "-6")
        return {
            "filter": self.proxy("nft", "list", "ruleset"),
            "rules": "".join(self.proxy("ip", family, "rule") for family in families),
            # The kernel's routes in the table "local" are skipped: they come and go with
            # neighbours.
            "routes": "".join(
                line + "\n"
                for family in families
                for line in self.proxy("ip", family, "route", "show", "table", "all").splitlines()
                if "table local" not in line
            ),
            "state": " ".join(file.name for file in (Path(self._state.name) / "pep").glob("*")),
        }

    # Traffic

    def listen(self, port: int = 8080, address: str = SERVER) -> socket.socket:
        """Returns a listening socket of the server."""
        listener = self.server.socket(socket.AF_INET6 if ":" in address else socket.AF_INET)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((address, port))
        listener.listen(4096)
        listener.settimeout(30)
        return listener

    def connect(self, port: int = 8080, address: str = SERVER, timeout_s: float = 30) -> socket.socket:
        """Returns a connected socket of the client."""
        made = self.client.socket(socket.AF_INET6 if ":" in address else socket.AF_INET)
        made.settimeout(timeout_s)
        made.connect((address, port))
        return made

    def pair(self, port: int = 8080, address: str = SERVER) -> tuple[socket.socket, socket.socket]:
        """Connects the client to the server. Returns the client's and the server's end."""
        with self.listen(port, address) as listener:
            near = self.connect(port, address)
            return near, self.accept(listener)

    def accept(self, listener: socket.socket) -> socket.socket:
        """Accepts the next connection. Returns the server's end."""
        far, _ = listener.accept()
        far.settimeout(30)
        self.server.sockets.append(far)
        return far

    def close(self) -> None:
        if self.process is not None:
            with contextlib.suppress(ProcessLookupError, AssertionError, IndexError):
                self.kill()
        for place in self.places:
            place.close()
        self._state.cleanup()


def received(end: socket.socket) -> bytes:
    """Returns all data received until the other end closes its half of the connection."""
    parts = []
    while part := end.recv(1 << 16):
        parts.append(part)
    return b"".join(parts)


def sent(end: socket.socket, data: bytes) -> threading.Thread:
    """Starts a thread that sends the data and then closes this half of the connection."""

    def send() -> None:
        end.sendall(data)
        end.shutdown(socket.SHUT_WR)

    thread = threading.Thread(target=send)
    thread.start()
    return thread


def reset(end: socket.socket) -> None:
    """Closes an end of a connection with RST, as after an error."""
    end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    end.close()


def _has_ended(process: int) -> bool:
    """Returns true if a process has ended, whether or not its parent has reaped it."""
    try:
        status = Path(f"/proc/{process}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return True
    return status.rpartition(")")[2].split()[0] == "Z"
