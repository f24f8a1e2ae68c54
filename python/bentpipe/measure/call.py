"""A telephone call as a load: RTP (RFC 3550) in both directions, rated by the E-model as in
scenarios.

A packet carries 20 ms of speech, or the smallest number of codec frames that hold 20 ms. Packets
are sent continuously, without silence suppression. The payload is not speech. The reflector
identifies a call by its SSRC, which is the beginning of the transfer's name.

>>> codec = codec_of("G.729A")
>>> packet = packed(b"name of transfer", 3, codec)
>>> len(packet), read(packet, codec.units)
(32, (b'name', 3))
>>> read(b"nonsense", 160) is None
True
"""

from __future__ import annotations

import struct
from functools import cache
from typing import TYPE_CHECKING, Final

import numpy as np

from .datagrams import PATTERN, Records

if TYPE_CHECKING:
    from bentpipe.voice.emodel import Codec

#: The RTP header: version, marker and payload type, sequence number, time stamp, SSRC.
_HEADER: Final = struct.Struct("!BBHI4s")
_VERSION: Final = 0x80
_MARKER: Final = 0x80
#: Offset of the SSRC in a packet, in bytes.
PLACE: Final = 8
#: Length of the SSRC in bytes.
SSRC: Final = 4
#: The first byte of every packet.
FIRST: Final = bytes([_VERSION])


@cache
def codec_of(name: str) -> Codec:
    """Returns a codec by its name. Raises :class:`KeyError`."""
    from bentpipe.voice import emodel

    return emodel.codecs()[name]


def pattern(codec: Codec, duration: float, headers: int) -> Records:
    """Returns the packets that one side of a call sends, as
    :data:`bentpipe.measure.datagrams.PATTERN`."""
    step = codec.packet_ms / 1e3
    rows = np.zeros(max(1, int(duration / step)), dtype=PATTERN)
    rows["at"], rows["size"] = np.arange(len(rows)) * step, _HEADER.size + codec.packet_bytes + headers
    return rows


def packed(name: bytes, number: int, codec: Codec) -> bytes:
    """Returns the RTP packet with a given number."""
    stamp = number * codec.units & 0xFFFF_FFFF
    kind = codec.payload_type | (0 if number else _MARKER)
    head = _HEADER.pack(_VERSION, kind, number & 0xFFFF, stamp, name[:SSRC])
    return head + bytes(codec.packet_bytes)


def read(packet: bytes, units: int) -> tuple[bytes, int] | None:
    """Returns the SSRC and the number of an RTP packet, or ``None`` if the bytes are not an RTP
    packet. ``units`` is the increment of the time stamp from packet to packet."""
    if len(packet) < _HEADER.size or packet[0] != _VERSION:
        return None
    _, _, _, stamp, source = _HEADER.unpack_from(packet)
    return source, stamp // units
