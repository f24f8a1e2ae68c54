"""The packets in a run's ``packets.pcapng``, for analyses that need every packet.

The file is read in pieces, so that it may be larger than memory.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
from numpy.lib.stride_tricks import sliding_window_view

from bentpipe.errors import InputError

if TYPE_CHECKING:
    import polars as pl

TCP: Final = 6
UDP: Final = 17
#: Flags of TCP from the lowest bit on (RFC 9293, section 3.1).
FLAGS: Final = ("FIN", "SYN", "RST", "PSH", "ACK", "URG", "ECE", "CWR")
FIN, SYN, RST, PSH, ACK = (1 << bit for bit in range(5))

#: Number of bytes read at once.
_PIECE: Final = 1 << 22
#: Upper bound of the length of a block: a packet has at most 65535 bytes, and its comment 2000.
_MAX_LENGTH: Final = 1 << 18
#: The block type and the byte-order magic of a section header.
_BEGIN: Final = (0x0A0D0D0A, 0x1A2B3C4D)
_INTERFACE: Final = 1
_ENHANCED_PACKET: Final = 6
_BLOCK: Final = struct.Struct("<II")
#: An enhanced packet block with headers of IPv4 (without options) and TCP. For UDP, only the fields
#: up to ports and length are valid.
_PACKET: Final = np.dtype(
    [
        *((name, "<u4") for name in ("kind", "length", "interface", "high", "low", "captured", "original")),
        *(
            ("version", "u1"),
            ("class", "u1"),
            ("size", ">u2"),
            ("identification", ">u2"),
            ("fragment", ">u2"),
        ),
        *(("hops", "u1"), ("protocol", "u1"), ("sum", ">u2"), ("source", ">u4"), ("destination", ">u4")),
        *(("source_port", ">u2"), ("destination_port", ">u2")),
        *(("sequence", ">u4"), ("acknowledgment", ">u4"), ("data", "u1"), ("flags", "u1"), ("window", ">u2")),
    ]
)
_IP: Final = 20
_UDP: Final = 8
#: Number of bytes of a block before its packet.
_ABOUT: Final = 28
#: Number of bytes after the beginning of each block that are examined. The largest headers end
#: before.
_MARGIN: Final = 128
#: TCP options: end of list, padding, window scale, and SACK blocks.
_END, _FILL, _SCALE, _SACK = 0, 1, 3, 5
#: Columns of :func:`packets` with unchanged values of header fields.
_KEPT: Final = {
    "interface": np.uint16,
    "protocol": np.uint8,
    "class": np.uint8,
    "size": np.uint16,
    "source": np.uint32,
    "source_port": np.uint16,
    "destination": np.uint32,
    "destination_port": np.uint16,
}
_OF_TCP: Final = {
    "sequence": np.uint32,
    "acknowledgment": np.uint32,
    "flags": np.uint8,
    "window": np.uint16,
}


class Segment(NamedTuple):
    """A captured TCP segment. ``interface`` is the index of its node in ``record.capture``.
    ``size`` is the size of the packet and ``payload`` the size of its data, in bytes. ``time_s`` is
    the time since the start of the run."""

    interface: int
    time_s: float
    size: int
    payload: int
    source: int
    to: int
    sequence: int


def segments(file: str | Path) -> Iterator[Segment]:
    """Yields all TCP segments over IPv4 in a capture of the simulator, in order of time. Raises
    ``OSError``, and :class:`bentpipe.InputError` for a damaged file."""
    for batch in packets(file):
        of_tcp = batch.filter(batch["protocol"] == TCP)
        columns = ("interface", "time", "size", "payload", "source_port", "destination_port", "sequence")
        for interface, time, *others in of_tcp.select(columns).iter_rows():
            yield Segment(interface, time * 1e-9, *others)


def nodes(file: str | Path) -> list[str]:
    """Returns the names of the nodes at which a file's packets were captured. Raises ``OSError``
    and :class:`bentpipe.InputError`."""
    names: list[str] = []
    for content, starts in _pieces(Path(file), 1 << 16):
        for start in starts.tolist():
            kind, length = _BLOCK.unpack_from(content, start)
            if kind == _ENHANCED_PACKET:
                return names
            if kind == _INTERFACE:
                names.append(_name(content[start : start + length]))
    return names


def packets(file: str | Path) -> Iterator[pl.DataFrame]:
    """Yields the TCP and UDP packets over IPv4 in a run's capture, in order of time, in data frames
    of many packets each.

    Columns are ``interface`` (the index of the node in :func:`nodes`), ``time`` in nanoseconds
    (since the start of a simulation, or since 1970 in emulations), ``protocol`` (6 or 17),
    ``class`` (DSCP and ECN), ``size`` and ``payload`` in bytes, ``source`` and ``destination``
    (addresses as numbers), ``source_port`` and ``destination_port``. The columns ``sequence``,
    ``acknowledgment``, ``flags`` and ``window`` are the values in the TCP header; ``scale`` is the
    window scale in a SYN, else null; ``sack`` has the edges of SACK blocks in pairs, or null. For
    UDP, these columns are zero or null. Later fragments and packets with IPv4 options are omitted.
    Raises ``OSError`` and :class:`bentpipe.InputError`.
    """
    for content, starts in _pieces(Path(file)):
        data = np.frombuffer(content, np.uint8)
        heads = sliding_window_view(data, _PACKET.itemsize)[starts].view(_PACKET)[:, 0]
        known = (heads["protocol"] == TCP) | (heads["protocol"] == UDP)
        known &= (
            (heads["kind"] == _ENHANCED_PACKET)
            & (heads["version"] == 0x45)
            & (heads["fragment"] & 0x1FFF == 0)
        )
        yield _frame(data, starts[known], heads[known])


def _frame(
    data: npt.NDArray[np.uint8], starts: npt.NDArray[np.int64], heads: npt.NDArray[Any]
) -> pl.DataFrame:
    import polars as pl

    tcp = heads["protocol"] == TCP
    header = np.where(tcp, heads["data"].astype(np.int64) // 16 * 4, _UDP)
    # Truncated packets cannot be read.
    ends = starts + _ABOUT + np.minimum(_IP + header, heads["captured"])
    scale, sack = _options(data, starts + _ABOUT + _IP + 20, np.where(tcp, ends, 0))
    return pl.DataFrame(
        {
            "time": (heads["high"].astype(np.int64) << 32) | heads["low"],
            **{name: heads[name].astype(kind) for name, kind in _KEPT.items()},
            "payload": np.maximum(heads["size"].astype(np.int64) - _IP - header, 0).astype(np.uint16),
            **{name: np.where(tcp, heads[name], 0).astype(kind) for name, kind in _OF_TCP.items()},
            "scale": scale,
            "sack": sack,
        }
    )


def _options(
    data: npt.NDArray[np.uint8], at: npt.NDArray[np.int64], ends: npt.NDArray[np.int64]
) -> tuple[pl.Series, pl.Series]:
    """Returns the window scales and the edges of SACK blocks in the options between ``at`` and
    ``ends``."""
    import polars as pl

    # The positions of the values of both options, 0 without the option, and the number of SACK
    # blocks.
    scales, sacks, counts = (np.zeros(len(at), np.int64) for _ in range(3))
    rows = np.flatnonzero(at < ends)
    while rows.size:
        here = at[rows]
        kinds = data[here]
        lengths = np.where(kinds == _FILL, 1, data[here + 1].astype(np.int64))
        whole = (kinds != _END) & (lengths > (kinds != _FILL)) & (here + lengths <= ends[rows])
        scales[rows[whole & (kinds == _SCALE)]] = here[whole & (kinds == _SCALE)] + 2
        blocks = whole & (kinds == _SACK)
        sacks[rows[blocks]] = here[blocks] + 2
        counts[rows[blocks]] = (lengths[blocks] - 2) // 8
        at[rows] += lengths
        rows = rows[whole & (here + lengths < ends[rows])]
    # Packets without SACK blocks use the first position.
    edges, places = [pl.Series([None], dtype=pl.List(pl.UInt32))], np.zeros(len(at), np.int64)
    for count in range(1, 5):
        having = np.flatnonzero(counts == count)
        places[having] = sum(map(len, edges)) + np.arange(len(having))
        values = data[sacks[having][:, None] + np.arange(8 * count)].view(">u4").astype(np.uint32)
        edges.append(pl.Series(values, dtype=pl.Array(pl.UInt32, 2 * count)).arr.to_list())
    scale = pl.select(pl.when(pl.Series(scales > 0)).then(pl.Series(data[scales]))).to_series()
    return scale, pl.concat(edges).gather(pl.Series(places))


def _pieces(file: Path, size: int = _PIECE) -> Iterator[tuple[bytes, npt.NDArray[np.int64]]]:
    """Yields pieces of the file, with the positions of the complete blocks in each piece."""
    rest, before = b"", 0
    with file.open("rb") as stream:
        while piece := stream.read(size):
            content = rest + piece
            if before == 0 and (len(content) < 12 or struct.unpack_from("<I4xI", content) != _BEGIN):
                break
            # Blocks consist of 32-bit words.
            padded = content + bytes(_MARGIN + -len(content) % 4)
            words, places, at, end = memoryview(padded).cast("I"), [], 0, len(content) // 4
            while at + 2 < end:
                length = words[at + 1]
                if length % 4 or not 12 <= length <= _MAX_LENGTH:
                    raise InputError(
                        f"{file} is damaged: no block of pcapng begins at byte {before + 4 * at}"
                    )
                if at + length // 4 > end:
                    break
                places.append(at)
                at += length // 4
            rest, before = content[4 * at :], before + 4 * at
            yield padded, 4 * np.array(places, np.int64)
    if before == 0:
        raise InputError(f"{file} is not a capture of bentpipe: it does not start like a pcapng file")
    if rest:
        raise InputError(f"{file} is truncated: its last packet, from byte {before} on, is incomplete")


def _name(block: bytes) -> str:
    """Returns the name in an interface description."""
    at = 16
    while at + 4 <= len(block) - 4:
        code, length = struct.unpack_from("<HH", block, at)
        if code == 2:
            return block[at + 4 : at + 4 + length].decode(errors="replace")
        at += 4 + (length + 3) // 4 * 4
    return ""
