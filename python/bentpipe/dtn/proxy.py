"""A proxy between TCP and bundles: it ends TCP connections on one side of a network of bundle agents and opens them
again on the other.

Towards bundles (:class:`Entrance`), the bytes of each connection are divided into payloads, which the agent beside the
proxy takes over TCPCL: what it has acknowledged is on its disk. From bundles (:class:`Exit`), the payloads that the
agent of the destination has written into its folder are put in order and written to a TCP connection per stream.

A payload begins with the number of its stream (8 random bytes), the place of its first byte in the stream (8 bytes)
and whether the stream ends with it (1 byte). A stream whose connection to the destination breaks continues on a new
one; what TCP had taken and not delivered is lost then. If an exit dies after it has written a payload and before it
has noted that, the payload is written twice.
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

HEAD: Final = struct.Struct("!8sQ?")

#: Takes a payload; whether the agent has accepted it.
Send = Callable[[bytes], bool]

#: Time between two attempts, and between two looks at a folder.
AGAIN_S: Final = 1.0
LOOK_S: Final = 0.05


class Entrance:
    """Accepts TCP connections and sends what comes over them as payloads of at most ``block`` bytes. A payload that is
    not full leaves ``flush_s`` after its first byte."""

    def __init__(self, address: tuple[str, int], send: Send, block: int, flush_s: float) -> None:
        self._send, self._block, self._flush_s = send, block, flush_s
        self._socket = socket.create_server(address)
        self._socket.settimeout(LOOK_S)
        self._threads: list[threading.Thread] = []
        self._over = threading.Event()
        self._lock = threading.Lock()
        self.streams = self.payloads = self.bytes = 0

    @property
    def address(self) -> tuple[str, int]:
        """The address and port on which it listens."""
        host, port = self._socket.getsockname()[:2]
        return host, port

    def run(self, stopped: Callable[[], bool]) -> None:
        """Serve until ``stopped()`` is true; then what has come is still sent."""
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
                    while not self._send(HEAD.pack(stream, place, ended) + block):
                        # The agent is away or full: TCP holds up the source meanwhile.
                        if self._over.wait(AGAIN_S):
                            return
                    place += len(block)
                    with self._lock:
                        self.payloads += 1
                        self.bytes += len(block)

    def _read(self, connection: socket.socket) -> tuple[bytes, bool]:
        """The next bytes, and whether they are the last."""
        block, due = bytearray(), None
        while len(block) < self._block and not self._over.is_set():
            wait = LOOK_S if due is None else min(LOOK_S, due - time.monotonic())
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


class Exit:
    """Puts the payloads in ``folder`` in order and writes each stream to a TCP connection to ``address``. A payload is
    removed when it has been written."""

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
        """Write until ``stopped()`` is true."""
        try:
            while not stopped():
                if not self.step():
                    time.sleep(LOOK_S)
        finally:
            for connection in self._connections.values():
                connection.close()

    def step(self) -> bool:
        """Write what can be written now; whether there was anything."""
        self._look()
        if time.monotonic() < self._retry:
            return False
        moved = False
        for stream in list(self._waiting):
            while self._write(stream):
                moved = True
        return moved

    def _look(self) -> None:
        """Find new payloads; those of agents that still write end with .part."""
        for path in self._folder.iterdir():
            if path in self._seen or path.suffix in (".part", ".json", ".new") or not path.is_file():
                continue
            with path.open("rb") as file:
                head = file.read(HEAD.size)
            if len(head) < HEAD.size:
                # It is none of ours.
                self._seen.add(path)
                continue
            stream, place, ended = HEAD.unpack(head)
            self._waiting.setdefault(stream.hex(), {})[place] = (path, ended)
            self._seen.add(path)

    def _write(self, stream: str) -> bool:
        """Write the next payload of a stream; whether it was there and could be written."""
        waiting, place = self._waiting[stream], self._next.get(stream, 0)
        for old in [one for one in waiting if one < place]:
            self._remove(waiting.pop(old)[0])
        if place not in waiting:
            return False
        path, ended = waiting[place]
        data = path.read_bytes()[HEAD.size :]
        try:
            if stream not in self._connections:
                self._connections[stream] = socket.create_connection(self._address, timeout=10)
                self.streams += 1
            self._connections[stream].sendall(data)
        except OSError:
            # The destination is away: the stream continues on a new connection.
            broken = self._connections.pop(stream, None)
            if broken is not None:
                broken.close()
            self._retry = time.monotonic() + AGAIN_S
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
        """Remember the places of streams over the proxy's death."""
        new = self._places.with_suffix(".new")
        new.write_text(json.dumps(self._next), encoding="utf-8")
        new.replace(self._places)

    def _remove(self, path: Path) -> None:
        path.unlink(missing_ok=True)
        self._seen.discard(path)
