"""The handshake before the probes. It prevents that the reflector sends packets to forged
addresses.

A sender with the key requests a session (HELLO) and receives a cookie (CHALLENGE). The sender
returns the cookie to prove that it receives packets at its source address (PROOF). The reflector
then opens a session for this address (WELCOME). All four messages are authenticated with the key
and have 64 bytes. A forged address therefore receives no more bytes than the forger sends, and a
sender without the key gets no answer.

>>> hello = Message(HELLO, nonce=b"n" * 16)
>>> Message.read(hello.packed(b"secret"), b"secret") == hello
True
>>> Message.read(hello.packed(b"secret"), b"other") is None
True
"""

from __future__ import annotations

import hmac
import struct
from dataclasses import dataclass
from typing import Final, Self

#: The first bytes of every message. No probe begins with the same bytes.
MAGIC: Final = b"\xff\xff\xff\xffbentpipe"
HELLO, CHALLENGE, PROOF, WELCOME = 1, 2, 3, 4
BYTES: Final = 64

_FIELDS: Final = struct.Struct("!12sB16s16sHx")


@dataclass(frozen=True)
class Message:
    """A message: its kind, the sender's random number, the reflector's cookie, and the session's
    number."""

    kind: int
    nonce: bytes
    cookie: bytes = bytes(16)
    session: int = 0

    def packed(self, key: bytes) -> bytes:
        """Returns the bytes of the message, authenticated with the key."""
        fields = _FIELDS.pack(MAGIC, self.kind, self.nonce, self.cookie, self.session)
        return fields + hmac.digest(key, fields, "sha256")[: BYTES - len(fields)]

    @classmethod
    def read(cls, packet: bytes, key: bytes) -> Self | None:
        """Parses a message. Returns ``None`` if the bytes are not a message, or if the message is
        authenticated with another key."""
        if len(packet) != BYTES or not packet.startswith(MAGIC):
            return None
        fields, digest = packet[: _FIELDS.size], packet[_FIELDS.size :]
        if not hmac.compare_digest(hmac.digest(key, fields, "sha256")[: len(digest)], digest):
            return None
        _, kind, nonce, cookie, session = _FIELDS.unpack(fields)
        return cls(kind, nonce, cookie, session)
