"""Datagrams of a load. Each datagram carries the name of the transfer, its number and the time of
sending. Delay, loss and reordering are therefore measured on the load itself, not only on the
sparse probes.

>>> Datagram.read(Datagram(b"t" * 16, 7, 1_000).packed(60)) == Datagram(b"t" * 16, 7, 1_000)
True
>>> Datagram.read(b"nonsense") is None
True
"""

from __future__ import annotations

import select
import socket
import struct
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray

from .sockets import Arrival

#: The first bytes of every datagram of a load. No probe begins with the same bytes.
MAGIC: Final = b"\xff\xff\xff\xffload"
#: Number of the datagram that reports the address at which the measuring host receives the first
#: lane. The datagrams for the other lanes have the numbers below this number.
HERE: Final = 0xFFFF_FFFF
#: From <linux/udp.h>; Python's socket module lacks it.
_UDP_SEGMENT: Final = 103
#: Maximum number of lanes of a load. Each lane sends from its own port.
LANES: Final = 4
_FIELDS: Final = struct.Struct("!8s16sIq")
#: Minimum payload of a datagram in bytes.
MIN_PAYLOAD: Final = _FIELDS.size


@dataclass(frozen=True)
class Datagram:
    """Name of the transfer, number of the datagram, and the sender's time in nanoseconds."""

    name: bytes
    number: int
    time_ns: int

    def packed(self, size: int) -> bytes:
        """Returns the payload, padded to ``size`` bytes if it is shorter."""
        return _FIELDS.pack(MAGIC, self.name, self.number, self.time_ns).ljust(size, b"\0")

    @classmethod
    def read(cls, packet: bytes) -> Self | None:
        """Parses a datagram. Returns ``None`` if the bytes are not a datagram of a load."""
        if len(packet) < MIN_PAYLOAD or not packet.startswith(MAGIC):
            return None
        _, name, number, time_ns = _FIELDS.unpack_from(packet)
        return cls(name, number, time_ns)


#: Columns of the record of arrived datagrams.
ARRIVED: Final = np.dtype(
    [("number", "<u4"), ("arrived", "<i8"), ("size", "<u2"), ("tos", "u1"), ("ttl", "u1")]
)
#: Columns of the record of datagrams to send: time in seconds since the first datagram; size in
#: bytes with IP and UDP headers; byte with DSCP and ECN; lane (source port).
PATTERN: Final = np.dtype([("at", "<f8"), ("size", "<u2"), ("tos", "u1"), ("lane", "u1")])

#: A socket and its destination address. The address is None for a connected socket.
Lane = tuple[socket.socket, tuple[Any, ...] | None]

#: Function that builds the payload of a datagram from its number, the time in nanoseconds, and its
#: size.
Form = Callable[[int, int, int], bytes]

Records = NDArray[Any]


def plain(name: bytes) -> Form:
    """Returns the function that builds plain datagrams of the transfer ``name``."""
    return lambda number, now, size: Datagram(name, number, now).packed(size)


@dataclass
class Arrivals:
    """The datagrams of a transfer that arrived, in the order of their arrival."""

    rows: list[tuple[int, int, int, int, int]] = field(default_factory=list)

    def add(self, number: int, arrival: Arrival, arrived_ns: int, headers: int) -> None:
        """Records the arrival of a datagram."""
        size = len(arrival.packet) + headers
        self.rows.append((number, arrived_ns, size, arrival.tos, arrival.ttl & 255))

    def records(self) -> Records:
        """Returns the datagrams as an array of :data:`ARRIVED`."""
        return np.array(self.rows, dtype=ARRIVED)


def read_records(data: bytes, kind: np.dtype[Any]) -> Records | None:
    """Converts bytes from the other host to an array. Returns ``None`` for invalid bytes."""
    return np.frombuffer(data, dtype=kind) if len(data) % kind.itemsize == 0 else None


def send(
    lanes: Sequence[Lane | None],
    form: Form,
    pattern: Records,
    clock: Callable[[], int],
    headers: int,
    should_continue: Callable[[], bool],
    segments: int = 1,
) -> NDArray[np.int64]:
    """Sends the datagrams of a pattern. Skips datagrams of lanes that are None. Returns the time of
    sending of each datagram, or 0 for datagrams that were not sent.

    With ``segments`` above 1, as many datagrams are passed to the kernel as one packet. They must
    have one size and one lane.
    """
    if segments > 1 and lanes[0] is not None:
        return _send_segments(lanes[0], form, pattern, clock, headers, segments)
    sent = np.zeros(len(pattern), dtype=np.int64)
    begin, asked = time.monotonic(), 0.0
    marked: dict[int, int] = {}
    before = 0
    for number, (at, size, tos, lane) in enumerate(pattern.tolist()):
        if (way := lanes[lane]) is None:
            continue
        if lane != before:
            # A burst may take longer than planned. Later datagrams in another lane keep their
            # interval after the burst.
            before, begin = lane, max(begin, time.monotonic() - at)
        while (left := begin + at - time.monotonic()) > 0:
            if left > 0.05 and not should_continue():
                return sent
            time.sleep(min(left, 0.1))
        sock, address = way
        if tos != marked.get(lane):
            sock.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, tos)
            if sock.family == socket.AF_INET6:
                sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_TCLASS, tos)
            marked[lane] = tos
        # Waits while the socket is full: the load must fill the network's queues, not this host's.
        for _ in range(50):
            now = clock()
            try:
                packet = form(number, now, size - headers)
                sock.send(packet) if address is None else sock.sendto(packet, address)
                sent[number] = now
                break
            except BlockingIOError:
                select.select([], [sock], [], 0.1)
            except OSError:
                # Larger than the path's MTU, or refused: not sent.
                break
        if number % 64 == 0 and (now_s := time.monotonic()) - asked > 0.1:
            asked = now_s
            if not should_continue():
                return sent
    return sent


def _send_segments(
    lane: Lane, form: Form, pattern: Records, clock: Callable[[], int], headers: int, segments: int
) -> NDArray[np.int64]:
    """Sends datagrams without pauses, several in one packet (udp(7), UDP_SEGMENT)."""
    sent = np.zeros(len(pattern), dtype=np.int64)
    sock, address = lane
    size = int(pattern["size"][0]) - headers
    control = [(socket.IPPROTO_UDP, _UDP_SEGMENT, struct.pack("=H", size))]
    for first in range(0, len(pattern), segments):
        numbers = range(first, min(first + segments, len(pattern)))
        now = clock()
        packets = [form(number, now, size) for number in numbers]
        for _ in range(50):
            try:
                sock.sendmsg(packets, control, 0, *(() if address is None else (address,)))
                sent[numbers.start : numbers.stop] = now
                break
            except BlockingIOError:
                select.select([], [sock], [], 0.1)
            except OSError:
                # The interface cannot divide packets.
                return sent
    return sent
