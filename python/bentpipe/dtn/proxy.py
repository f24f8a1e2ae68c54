"""A proxy between TCP and bundles. It terminates TCP connections on one side of a network of bundle
agents and opens corresponding connections on the other side.

The entrance (:class:`Ingress`) divides the bytes of each connection into payloads and sends them
over TCPCL to the agent next to the proxy. Acknowledged payloads are on the agent's disk. The exit
(:class:`Egress`) reads the payloads from the folder of the destination's agent, puts them in order,
and writes each stream to a TCP connection.

A payload begins with the number of its stream (8 random bytes), the offset of its first byte in the
stream (8 bytes), and a flag for the end of the stream (1 byte). If the connection to the
destination breaks, the stream continues on a new connection; data that TCP had accepted but not
delivered is lost. If an exit crashes after writing a payload and before recording it, the payload
is written twice.
"""

from __future__ import annotations

import json
import secrets
import socket
import struct
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

HEADER: Final = struct.Struct("!8sQ?")

#: Sends a payload. Returns true if the agent has accepted it.
Send = Callable[[bytes], bool]

#: Seconds between two attempts, and between two scans of a folder.
RETRY_INTERVAL_S: Final = 1.0
POLL_INTERVAL_S: Final = 0.05


class Ingress:
    """Accepts TCP connections and sends their data as payloads of at most ``block`` bytes. An
    incomplete payload is sent ``flush_s`` after its first byte."""

    def __init__(self, address: tuple[str, int], send: Send, block: int, flush_s: float) -> None:
        self._send, self._block, self._flush_s = send, block, flush_s
        self._socket = socket.create_server(address)
        self._socket.settimeout(POLL_INTERVAL_S)
        self._threads: list[threading.Thread] = []
        self._over = threading.Event()
        self._lock = threading.Lock()
        self.streams = self.payloads = self.bytes = 0

    @property
    def address(self) -> tuple[str, int]:
        """The address and port of the listening socket."""
        host, port = self._socket.getsockname()[:2]
        return host, port

    def run(self, stopped: Callable[[], bool]) -> None:
        """Serves until ``stopped()`` is true, then sends the data received so far."""
        try:
            while not stopped():
                try:
                    connection, _ = self._socket.accept()
                except TimeoutError:
                    continue
                thread = threading.Thread(target=self._serve, args=(connection,))
                thread.start()
                self._threads = [one for one in self._threads if one.is_alive()] + [thread]
                self.streams += 1
        finally:
            self._over.set()
            self._socket.close()
            for thread in self._threads:
                thread.join()

    def _serve(self, connection: socket.socket) -> None:
        stream, place, ended = secrets.token_bytes(8), 0, False
        with connection:
            while not ended:
                block, ended = self._read(connection)
                ended = ended or self._over.is_set()
                if block or (ended and place):
                    while not self._send(HEADER.pack(stream, place, ended) + block):
                        # The agent is unreachable or full. Meanwhile, TCP's flow control stops the
                        # source.
                        if self._over.wait(RETRY_INTERVAL_S):
                            return
                    place += len(block)
                    with self._lock:
                        self.payloads += 1
                        self.bytes += len(block)

    def _read(self, connection: socket.socket) -> tuple[bytes, bool]:
        """Returns the next bytes, and true if they are the last."""
        block, due = bytearray(), None
        while len(block) < self._block and not self._over.is_set():
            wait = POLL_INTERVAL_S if due is None else min(POLL_INTERVAL_S, due - time.monotonic())
            if wait <= 0:
                break
            connection.settimeout(wait)
            try:
                part = connection.recv(self._block - len(block))
            except TimeoutError:
                continue
            except OSError:
                return bytes(block), True
            if not part:
                return bytes(block), True
            block += part
            due = due or time.monotonic() + self._flush_s
        return bytes(block), False


class Egress:
    """Puts the payloads in ``folder`` in order and writes each stream to a TCP connection to
    ``address``. Written payloads are removed."""

    def __init__(self, folder: Path, address: tuple[str, int]) -> None:
        self._folder, self._address = folder, address
        folder.mkdir(parents=True, exist_ok=True)
        self._places = folder / "streams.json"
        self._next: dict[str, int] = {}
        if self._places.exists():
            self._next = json.loads(self._places.read_text(encoding="utf-8"))
        self._connections: dict[str, socket.socket] = {}
        self._waiting: dict[str, dict[int, tuple[Path, bool]]] = {}
        self._seen: set[Path] = set()
        self._retry = 0.0
        self.streams = self.payloads = self.bytes = 0

    def run(self, stopped: Callable[[], bool]) -> None:
        """Writes until ``stopped()`` is true."""
        try:
            while not stopped():
                if not self.step():
                    time.sleep(POLL_INTERVAL_S)
        finally:
            for connection in self._connections.values():
                connection.close()

    def step(self) -> bool:
        """Writes the payloads that are next in their streams. Returns true if there were any."""
        self._look()
        if time.monotonic() < self._retry:
            return False
        moved = False
        for stream in list(self._waiting):
            while self._write(stream):
                moved = True
        return moved

    def _look(self) -> None:
        """Finds new payloads. Agents give unfinished files the ending .part."""
        for path in self._folder.iterdir():
            if path in self._seen or path.suffix in (".part", ".json", ".new") or not path.is_file():
                continue
            with path.open("rb") as file:
                head = file.read(HEADER.size)
            if len(head) < HEADER.size:
                # The file is not a payload.
                self._seen.add(path)
                continue
            stream, place, ended = HEADER.unpack(head)
            self._waiting.setdefault(stream.hex(), {})[place] = (path, ended)
            self._seen.add(path)

    def _write(self, stream: str) -> bool:
        """Writes the next payload of a stream. Returns true if it was written and the stream
        continues."""
        waiting, place = self._waiting[stream], self._next.get(stream, 0)
        for old in [one for one in waiting if one < place]:
            self._remove(waiting.pop(old)[0])
        if place not in waiting:
            return False
        path, ended = waiting[place]
        data = path.read_bytes()[HEADER.size :]
        try:
            if stream not in self._connections:
                self._connections[stream] = socket.create_connection(self._address, timeout=10)
                self.streams += 1
            self._connections[stream].sendall(data)
        except OSError:
            # The destination is unreachable: the stream continues on a new connection.
            broken = self._connections.pop(stream, None)
            if broken is not None:
                broken.close()
            self._retry = time.monotonic() + RETRY_INTERVAL_S
            return False
        self._next[stream] = place + len(data)
        self.payloads += 1
        self.bytes += len(data)
        if ended:
            self._connections.pop(stream).close()
        self._keep()
        del waiting[place]
        self._remove(path)
        return not ended

    def _keep(self) -> None:
        """Saves the offsets of the streams, so that they survive a crash of the proxy."""
        new = self._places.with_suffix(".new")
        new.write_text(json.dumps(self._next), encoding="utf-8")
        new.replace(self._places)

    def _remove(self, path: Path) -> None:
        path.unlink(missing_ok=True)
        self._seen.discard(path)
