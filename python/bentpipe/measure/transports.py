"""Test for blocking or shaping of UDP and QUIC. Four variants of datagrams offer the same rate and
are compared with TCP.

The variants are datagrams of no known protocol and datagrams that look like QUIC, each to the
reflector's own port and to port 443, which HTTP/3 uses. Datagrams that look like QUIC imitate
Initial packets of version 1 (RFC 9000, section 17.2.2): long header, connection identifiers, a
length, at least 1200 bytes. They are not encrypted by the keys that follow from the connection
identifier (RFC 9001, section 5.2), so a middlebox that decrypts Initial packets finds them invalid.
:mod:`bentpipe.measure.transport_results` evaluates the variants.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from .datagrams import PATTERN, Form, Records, plain

#: The port of HTTP/3 (RFC 9114, section 3.1).
PORT: Final = 443
#: Transport and port of each lane; None is the reflector's own port.
WAYS: Final[tuple[tuple[str, int | None], ...]] = (
    ("udp", None),
    ("quic", None),
    ("udp", PORT),
    ("quic", PORT),
)
#: Number of rounds.
ROUNDS: Final = 2
#: Pause between two variants in seconds.
GAP_S: Final = 0.3
#: The smallest datagram with an Initial packet (RFC 9000, section 14.1), with the headers of IPv6
#: and UDP.
MIN_DATAGRAM: Final = 1248

#: Long header of an Initial packet whose packet number has four bytes, version 1, two connection
#: identifiers of eight bytes, no token, a length of two bytes, and the packet number.
_INITIAL: Final = struct.Struct("!BIB8sB8sBHI")
_FIRST: Final = 0xC3
#: The two first bits of a length that has two bytes (RFC 9000, section 16).
_TWO_BYTES: Final = 0x4000


def initial(name: bytes, number: int, payload: bytes) -> bytes:
    """Returns a packet that looks like a QUIC Initial packet, with a payload."""
    length = _TWO_BYTES | (len(payload) + 4)
    return _INITIAL.pack(_FIRST, 1, 8, name[:8], 8, name[8:16], 0, length, number) + payload


def unwrapped(packet: bytes) -> bytes:
    """Returns the payload of a packet of :func:`initial`; returns other packets unchanged.

    >>> unwrapped(initial(bytes(16), 3, b"payload")), unwrapped(b"payload")
    (b'payload', b'payload')
    """
    if len(packet) < _INITIAL.size or packet[0] != _FIRST:
        return packet
    _, version, one, _, other, _, token, length, _ = _INITIAL.unpack_from(packet)
    fits = (version, one, other, token) == (1, 8, 8, 0) and length == _TWO_BYTES | (
        len(packet) - _INITIAL.size + 4
    )
    return packet[_INITIAL.size :] if fits else packet


def form(name: bytes, lane_of: Sequence[int] | NDArray[Any]) -> Form:
    """Returns the form of the datagrams of a transfer; ``lane_of`` maps each number to its lane."""
    inside = plain(name)

    def packed(number: int, now: int, size: int) -> bytes:
        if WAYS[int(lane_of[number])][0] != "quic":
            return inside(number, now, size)
        return initial(name, number, inside(number, now, size - _INITIAL.size))

    return packed


def pattern(duration: float, rate: float, size: int, source: np.random.Generator) -> Records:
    """Returns the datagrams to send: each variant for ``duration`` seconds in each round, in random
    order."""
    each = max(10, int(duration * rate / (8 * size)))
    order = np.concatenate([source.permutation(len(WAYS)) for _ in range(ROUNDS)])
    rows = np.zeros(each * len(order), dtype=PATTERN)
    begins = (each * 8 * size / rate + GAP_S) * np.arange(len(order))
    rows["at"] = (begins[:, None] + np.arange(each) * 8 * size / rate).ravel()
    rows["size"], rows["lane"] = size, np.repeat(order, each)
    return rows
