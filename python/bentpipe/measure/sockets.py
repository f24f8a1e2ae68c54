"""UDP sockets with time stamps from the kernel, and the clock of this host."""

from __future__ import annotations

import contextlib
import ctypes
import select
import socket
import struct
import time
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

# From <asm/socket.h> and <linux/net_tstamp.h>; Python's socket module lacks them.
_SO_TIMESTAMPING: Final = 37
_SCM_TIMESTAMPING: Final = 37
_TX_SOFTWARE, _RX_SOFTWARE, _SOFTWARE, _OPT_ID, _OPT_TSONLY = 1 << 1, 1 << 3, 1 << 4, 1 << 7, 1 << 11
_TX_HARDWARE, _RX_HARDWARE, _RAW_HARDWARE, _OPT_PKTINFO = 1 << 0, 1 << 2, 1 << 6, 1 << 13
_SCM_TIMESTAMPING_PKTINFO: Final = 58
_MSG_ERRQUEUE: Final = 0x2000
_IP_RECVTTL, _IP_RECVTOS, _SO_RXQ_OVFL = 12, 13, 40
_IP_MTU_DISCOVER, _IPV6_MTU_DISCOVER, _PMTUDISC_PROBE = 10, 23, 3
_IP_RECVERR, _IPV6_RECVERR = 11, 25
#: In struct sock_extended_err: a report of a time stamp, not of an error.
_ORIGIN_TIMESTAMPING: Final = 4
#: Index of a card's stamp in struct scm_timestamping.
_RAW: Final = 2
_ROOM: Final = 512
_HOP_LIMITS: Final = ((socket.IPPROTO_IP, socket.IP_TTL), (socket.IPPROTO_IPV6, socket.IPV6_HOPLIMIT))
_CLASSES: Final = ((socket.IPPROTO_IP, socket.IP_TOS), (socket.IPPROTO_IPV6, socket.IPV6_TCLASS))

#: Maximum time between the readings of two compared clocks, in nanoseconds.
CLOSE_NS: Final = 2_000
#: Time for which a comparison of two clocks is valid, in nanoseconds. A clock that is slewed by the
#: kernel's maximum of 500 ppm moves by 5 us in this time.
FRESH_NS: Final = 10_000_000
#: Time limit for the kernel to begin to stamp packets, in seconds.
BEGIN_S: Final = 5.0

#: A function that returns the time of this host in nanoseconds since the epoch.
Clock = Callable[[], int]
#: Function that converts a card's stamp, given the number of the interface, to this host's time;
#: None for an unused card.
Converted = Callable[[int, int], int | None]


class Arrival(NamedTuple):
    """A received packet: its sender, the kernel's time of arrival in nanoseconds (``None`` without
    one), its hop limit (255 if unknown), the byte of DSCP and ECN, and the number of packets that
    the socket has dropped so far because its buffer was full."""

    packet: bytes
    sender: tuple[object, ...]
    stamp: int | None
    ttl: int
    tos: int
    dropped: int


def opened(family: int, *, departing: bool = False, hardware: bool = False) -> socket.socket:
    """Returns a UDP socket whose packets are stamped at arrival by the kernel and, with
    ``hardware``, by the network card. With ``departing`` departures are stamped as well; then
    :func:`departures` must be called, because unread stamps use the socket's memory."""
    made = socket.socket(family, socket.SOCK_DGRAM)
    flags = _RX_SOFTWARE | _SOFTWARE | ((_TX_SOFTWARE | _OPT_ID | _OPT_TSONLY) if departing else 0)
    if hardware:
        flags |= _RX_HARDWARE | _RAW_HARDWARE | _OPT_PKTINFO | (_TX_HARDWARE if departing else 0)
    made.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPING, flags)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
    made.setsockopt(socket.SOL_SOCKET, _SO_RXQ_OVFL, 1)
    made.setblocking(False)
    # Packets are never fragmented, so that a size above the MTU is detected (ip(7),
    # IP_PMTUDISC_PROBE).
    made.setsockopt(socket.IPPROTO_IP, _IP_MTU_DISCOVER, _PMTUDISC_PROBE)
    if family == socket.AF_INET6:
        made.setsockopt(socket.IPPROTO_IPV6, _IPV6_MTU_DISCOVER, _PMTUDISC_PROBE)
    # A socket of IPv6 also receives packets of IPv4.
    made.setsockopt(socket.IPPROTO_IP, _IP_RECVTTL, 1)
    made.setsockopt(socket.IPPROTO_IP, _IP_RECVTOS, 1)
    if family == socket.AF_INET6:
        made.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_RECVTCLASS, 1)
        made.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_RECVHOPLIMIT, 1)
    _await_stamps()
    return made


def _await_stamps() -> None:
    """Waits until the kernel stamps arrivals. After the first socket's request, the kernel enables
    stamps from a work queue; on a busy machine, dozens of packets may arrive before. The function
    tests it with datagrams over loopback; without loopback it returns at once."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as own, contextlib.suppress(OSError):
        stamping(own)
        own.setblocking(False)
        own.bind(("127.0.0.1", 0))
        end = time.monotonic() + BEGIN_S
        while time.monotonic() < end:
            own.sendto(b"", own.getsockname())
            select.select([own], [], [], 0.1)
            got = received(own)
            if got is not None and got.stamp is not None:
                return
            time.sleep(1e-3)


def stamping(made: socket.socket) -> None:
    """Enables the kernel's stamps of the packets that a socket receives."""
    made.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPING, _RX_SOFTWARE | _SOFTWARE)


def received(stamped: socket.socket, hardware: Converted = lambda _index, _stamp: None) -> Arrival | None:
    """Returns the next packet; ``None`` if none waits. Raises :class:`OSError` if the other host
    refuses."""
    try:
        packet, ancillary, _, sender = stamped.recvmsg(65536, _ROOM)
    except BlockingIOError:
        return None
    stamp, ttl, tos, dropped = None, 255, 0, 0
    for level, kind, data in ancillary:
        if level == socket.SOL_SOCKET:
            if kind == _SCM_TIMESTAMPING:
                stamp = _arrival(data, ancillary, hardware)
            elif kind == _SO_RXQ_OVFL:
                dropped = struct.unpack("=I", data[:4])[0]
        elif (level, kind) in _HOP_LIMITS:
            ttl = struct.unpack("=i", data[:4])[0]
        elif (level, kind) in _CLASSES:
            tos = data[0] if len(data) == 1 else struct.unpack("=i", data[:4])[0]
    return Arrival(packet, sender, stamp, ttl, tos, dropped)


def _arrival(data: bytes, ancillary: Sequence[tuple[int, int, bytes]], hardware: Converted) -> int | None:
    """Returns the time of an arrival from the card if available, otherwise from the kernel."""
    if raw := _stamp(data, _RAW):
        for level, kind, about in ancillary:
            if (level, kind) == (socket.SOL_SOCKET, _SCM_TIMESTAMPING_PKTINFO):
                index = struct.unpack_from("=I", about)[0]
                if (found := hardware(index, raw)) is not None:
                    return found
    return _stamp(data)


def departures(
    stamped: socket.socket, hardware: Callable[[int], int | None] = lambda _: None
) -> list[tuple[int, int]]:
    """Returns number and time of each departure since the last call, from the card or the kernel;
    the first packet of a socket has the number 0."""
    found: list[tuple[int, int]] = []
    while True:
        try:
            _, ancillary, _, _ = stamped.recvmsg(0, _ROOM, _MSG_ERRQUEUE)
        except OSError:
            return found
        stamp = number = None
        for level, kind, data in ancillary:
            if level == socket.SOL_SOCKET and kind == _SCM_TIMESTAMPING:
                raw = _stamp(data, _RAW)
                stamp = (hardware(raw) if raw else None) or _stamp(data)
            elif kind in (_IP_RECVERR, _IPV6_RECVERR) and len(data) >= 16:
                _, origin, _, _, _, _, identity = struct.unpack("=IBBBBII", data[:16])
                number = identity if origin == _ORIGIN_TIMESTAMPING else None
        if stamp is not None and number is not None:
            found.append((number, stamp))


def _stamp(data: bytes, place: int = 0) -> int | None:
    """Returns a time stamp of struct scm_timestamping; None if it is empty. The first of its three
    stamps is the kernel's, the last one the card's."""
    seconds, nanos = struct.unpack_from("=qq", data.ljust(48, b"\0"), 16 * place)
    return seconds * 1_000_000_000 + nanos if seconds else None


def sibling(stamped: socket.socket, peer: tuple[object, ...]) -> socket.socket:
    """Returns a socket with the same address and port, connected to ``peer``, with its own buffer
    and options. Raises :class:`OSError`."""
    made = opened(stamped.family)
    made.setsockopt(
        socket.SOL_SOCKET, _SO_TIMESTAMPING, stamped.getsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPING)
    )
    try:
        if stamped.family == socket.AF_INET6:
            made.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        # Allowed only while the socket is opened, so that no other program can share the port.
        for one in (stamped, made):
            one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        made.bind(stamped.getsockname())
        made.connect(peer)
    except OSError:
        made.close()
        raise
    finally:
        stamped.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 0)
    return made


class _Timex(ctypes.Structure):
    """The first fields of struct timex, and room for the others."""

    _fields_ = (
        ("modes", ctypes.c_uint),
        ("offset", ctypes.c_long),
        ("freq", ctypes.c_long),
        ("maxerror", ctypes.c_long),
        ("esterror", ctypes.c_long),
        ("status", ctypes.c_int),
        ("rest", ctypes.c_byte * 256),
    )


def clock_error_s() -> float | None:
    """Returns the maximum error of this host's clock according to the kernel, in seconds
    (adjtimex(2), `maxerror`); ``None`` for an unsynchronised clock."""
    state = _Timex()
    if ctypes.CDLL(None).adjtimex(ctypes.byref(state)) == 5 or state.status & 0x40:
        return None
    return float(state.maxerror) / 1e6


def apart(one: Clock, other: Clock) -> int:
    """Returns the lead of one clock over another, in nanoseconds.

    The clocks are read within :data:`CLOSE_NS` if possible, because preemption between two readings
    would appear as a difference.

    >>> apart(lambda: 7, lambda: 3)
    4
    """
    found, least = 0, 1 << 62
    for _ in range(8):
        before, now, after = other(), one(), other()
        if after - before < least:
            found, least = now - (before + after) // 2, after - before
        if least < CLOSE_NS:
            break
    return found


def ahead(clock: Clock) -> int:
    """Returns the lead of a clock over the wall clock, which the kernel uses for stamps, in
    nanoseconds."""
    return 0 if clock is time.time_ns else apart(clock, time.time_ns)


class MonotonicClock:
    """The time of this host by a clock without steps: the monotonic clock, shifted to the epoch at
    the start."""

    def __init__(self) -> None:
        #: Lead over the monotonic clock, in nanoseconds.
        self.shift_ns = self.shift()
        #: Maximum time so far by which the wall clock was set or slewed, in nanoseconds.
        self.moved = 0
        self._now, self._read = 0, 0

    @staticmethod
    def shift() -> int:
        """Returns the wall clock minus the monotonic clock, in nanoseconds."""
        return apart(time.time_ns, time.monotonic_ns)

    def now(self) -> int:
        """Returns the time in nanoseconds."""
        return time.monotonic_ns() + self.shift_ns

    def of(self, wall_ns: int) -> int:
        """Returns the steady time of a recent wall-clock time."""
        now = time.monotonic_ns()
        if now - self._read > FRESH_NS:
            self._read, self._now = now, self.shift() - self.shift_ns
            if abs(self._now) > abs(self.moved):
                self.moved = self._now
        return wall_ns - self._now
