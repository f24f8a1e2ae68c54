"""The TCP segments in a run's ``packets.pcapng``, for measures that need every packet."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

_ENHANCED_PACKET: Final = 6
_BLOCK: Final = struct.Struct("<II")
_ABOUT: Final = struct.Struct("<III")
#: Of an IPv4 and a TCP header without IP options: total length, ports, sequence number, data offset.
_HEADERS: Final = struct.Struct("!2xH16xHHI4xB")
_IP: Final = 20


class Segment(NamedTuple):
    """A TCP segment where it was captured. ``interface`` is the place of its node in ``record.capture``; sizes are in
    bytes, ``size`` that of the packet and ``payload`` that of its data; ``time_s`` counts from the start of the run."""

    interface: int
    time_s: float
    size: int
    payload: int
    source: int
    to: int
    sequence: int


def segments(file: str | Path) -> Iterator[Segment]:
    """All TCP segments over IPv4 in a capture of the simulator, in order of time. Raises ``OSError``."""
    content = Path(file).read_bytes()
    offset = 0
    while offset + _BLOCK.size <= len(content):
        kind, length = _BLOCK.unpack_from(content, offset)
        if kind == _ENHANCED_PACKET and content[offset + 28] >> 4 == 4 and content[offset + 37] == 6:
            interface, high, low = _ABOUT.unpack_from(content, offset + 8)
            size, source, to, sequence, data = _HEADERS.unpack_from(content, offset + 28)
            yield Segment(
                interface,
                (high << 32 | low) * 1e-9,
                size,
                size - _IP - (data >> 4) * 4,
                source,
                to,
                sequence,
            )
        offset += length
