"""The control connection between the two hosts of a measurement: authenticated messages over TCP.

The measuring host opens the connection, and its first message (HELLO) proves that it has the key.
The reflector answers with a random number of its own. The key of the connection is derived from
both random numbers, so a recorded connection cannot be replayed. Each further message is JSON
followed by bytes, with an HMAC over both and over the message's sequence number. Hosts without the
key receive no answer.
"""

from __future__ import annotations

import hmac
import json
import os
import socket
import struct
import time
from typing import Any, Final, Self

#: The first bytes of a control connection.
MAGIC: Final = b"bentpipe-control"
#: Length of a random number, of an HMAC and of the name of a transfer, in bytes.
NUMBER: Final = 16
#: Maximum length of a message in bytes.
MAX_MESSAGE: Final = 64 << 20

_LENGTHS: Final = struct.Struct("!II")


class ChannelError(Exception):
    """The other end does not answer, has another key, or sends an invalid message."""


def exactly(sock: socket.socket, count: int, end: float) -> bytes:
    """Receives exactly ``count`` bytes and returns them. Raises :class:`ChannelError` if they have
    not arrived when the monotonic clock reaches ``end``, or if the connection fails."""
    parts = bytearray()
    while len(parts) < count:
        left = end - time.monotonic()
        if left <= 0:
            raise ChannelError("no answer in time")
        sock.settimeout(left)
        try:
            part = sock.recv(min(count - len(parts), 1 << 20))
        except TimeoutError:
            raise ChannelError("no answer in time") from None
        except OSError as error:
            raise ChannelError(error.strerror or str(error)) from error
        if not part:
            raise ChannelError("the connection was closed")
        parts += part
    return bytes(parts)


class Channel:
    """One end of a control connection."""

    def __init__(self, sock: socket.socket, key: bytes, is_opener: bool) -> None:
        self.sock, self._key = sock, key
        self._sent, self._heard = (0, 1) if is_opener else (1, 0)

    @classmethod
    def opened(cls, sock: socket.socket, key: bytes, patience: float) -> Self:
        """Opens the control connection over a new TCP connection. Waits for the answer for at most
        ``patience`` seconds. Raises :class:`ChannelError`."""
        own = os.urandom(NUMBER)
        end = time.monotonic() + patience
        try:
            sock.sendall(MAGIC + own + _digest(key, MAGIC, own))
        except OSError as error:
            raise ChannelError(error.strerror or str(error)) from error
        answer = exactly(sock, 2 * NUMBER, end)
        if not hmac.compare_digest(answer[NUMBER:], _digest(key, own, answer[:NUMBER])):
            raise ChannelError("the other host has another key")
        return cls(sock, hmac.digest(key, own + answer[:NUMBER], "sha256"), True)

    @classmethod
    def accepted(cls, sock: socket.socket, key: bytes, end: float) -> Self:
        """Answers the HELLO of the other end. The caller has already read its first bytes,
        :data:`MAGIC`. Raises :class:`ChannelError`."""
        hello = exactly(sock, 2 * NUMBER, end)
        if not hmac.compare_digest(hello[NUMBER:], _digest(key, MAGIC, hello[:NUMBER])):
            raise ChannelError("the other host has another key")
        own = os.urandom(NUMBER)
        sock.sendall(own + _digest(key, hello[:NUMBER], own))
        return cls(sock, hmac.digest(key, hello[:NUMBER] + own, "sha256"), False)

    def say(self, message: dict[str, Any], data: bytes = b"", patience: float = 60.0) -> None:
        """Sends a message. Raises :class:`ChannelError`."""
        text = json.dumps(message).encode()
        head = _LENGTHS.pack(len(text), len(data))
        digest = _digest(self._key, self._sent.to_bytes(8), head, text, data)
        self._sent += 2
        try:
            self.sock.settimeout(patience)
            self.sock.sendall(head + text + data + digest)
        except OSError as error:
            raise ChannelError(error.strerror or str(error)) from error

    def hear(self, patience: float) -> tuple[dict[str, Any], bytes]:
        """Waits for the next message for at most ``patience`` seconds and returns it. Raises
        :class:`ChannelError`."""
        end = time.monotonic() + patience
        head = exactly(self.sock, _LENGTHS.size, end)
        text_bytes, data_bytes = _LENGTHS.unpack(head)
        if text_bytes + data_bytes > MAX_MESSAGE:
            raise ChannelError("a message that is too long")
        text, data = exactly(self.sock, text_bytes, end), exactly(self.sock, data_bytes, end)
        digest = _digest(self._key, self._heard.to_bytes(8), head, text, data)
        if not hmac.compare_digest(exactly(self.sock, NUMBER, end), digest):
            raise ChannelError("a message with another key")
        self._heard += 2
        try:
            message = json.loads(text)
        except ValueError as error:
            raise ChannelError("a message that is not JSON") from error
        if not isinstance(message, dict):
            raise ChannelError("a message that is not a table")
        return message, data


def _digest(key: bytes, *parts: bytes) -> bytes:
    return hmac.digest(key, b"".join(parts), "sha256")[:NUMBER]
