"""Requests from other processes of the user to a network.

The network listens on a Unix socket in the folder of the records. A connection carries one request
and one response, each a line of JSON.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from bentpipe.errors import InputError

if TYPE_CHECKING:
    from bentpipe._native import Network

    from .state import Record

#: Time limit of each socket call in seconds (connect, send and receive, by the server and by the
#: client), and of waiting for the server's thread when the server is closed.
_LIMIT_S: Final = 5.0
#: Maximum length of a request or response in bytes. Reading stops at this length.
_MAX_LINE: Final = 1 << 20


class Server:
    """A server that answers requests in its own thread until it is closed."""

    def __init__(self, record: Record, network: Network) -> None:
        self._handlers: dict[str, Callable[[dict[str, Any]], Any]] = {
            "status": lambda _: json.loads(network.status()),
            "change": lambda request: network.change(request["key"], request["value"]),
        }
        self._socket = socket.socket(socket.AF_UNIX)
        before = os.umask(0o177)
        try:
            with _address(record) as address:
                self._socket.bind(address)
        finally:
            os.umask(before)
        self._socket.listen(16)
        self._thread = threading.Thread(target=self._serve, name="control", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stops answering requests and closes the socket."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        self._thread.join(_LIMIT_S)

    def _serve(self) -> None:
        while True:
            try:
                client, _ = self._socket.accept()
            except OSError:
                return
            with client, contextlib.suppress(OSError):
                client.settimeout(_LIMIT_S)
                if _peer_user(client) == os.geteuid():
                    client.sendall(json.dumps(self._response(_read_line(client))).encode() + b"\n")

    def _response(self, line: bytes) -> dict[str, Any]:
        try:
            request = json.loads(line)
            return {"answer": self._handlers[request["do"]](request)}
        except (ValueError, KeyError, TypeError, OSError) as error:
            return {"error": str(error), "input": isinstance(error, ValueError)}


def ask(record: Record, do: str, **more: Any) -> Any:
    """Sends the request ``do`` with the arguments ``more`` to a network that another process keeps
    up. Returns the answer. Raises :class:`bentpipe.InputError` if the network refuses the request,
    and ``OSError`` if it does not answer."""
    with socket.socket(socket.AF_UNIX) as server:
        server.settimeout(_LIMIT_S)
        try:
            with _address(record) as address:
                server.connect(address)
            server.sendall(json.dumps({"do": do, **more}).encode() + b"\n")
            line = _read_line(server)
        except OSError as error:
            raise OSError(f"{record.id} does not answer: {error.strerror or error}") from None
    if not line:
        raise OSError(f"{record.id} does not answer, because it is ending")
    answer = json.loads(line)
    if "error" in answer:
        raise (InputError if answer["input"] else OSError)(answer["error"])
    return answer["answer"]


@contextlib.contextmanager
def _address(record: Record) -> Iterator[str]:
    """Yields a path of the socket that goes through a file descriptor of its folder. This path is
    short; the operating system limits the length of socket addresses."""
    file: Path = record.file("sock")
    folder = os.open(file.parent, os.O_PATH | os.O_DIRECTORY)
    try:
        yield f"/proc/self/fd/{folder}/{file.name}"
    finally:
        os.close(folder)


def _read_line(connection: socket.socket) -> bytes:
    received = b""
    while not received.endswith(b"\n") and len(received) < _MAX_LINE:
        part = connection.recv(65_536)
        if not part:
            break
        received += part
    return received


def _peer_user(connection: socket.socket) -> int:
    """Returns the user id of the process at the other end of a connection."""
    credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    return int(struct.unpack("3i", credentials)[1])
