"""Bulk transfers over TCP: one host sends for a given time, and the other host counts the arriving
bytes."""

from __future__ import annotations

import socket
import struct
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

#: Number of bytes per call of send or receive.
CHUNK: Final = 1 << 16
#: Duration of an entry of the record of arrivals, in seconds.
BIN_S: Final = 0.05
#: Socket memory in bytes that holds the largest receive window of any profile. This is the maximum
#: of Linux.
WHOLE: Final = 32 << 20
#: Minimum initial socket memory in bytes. With less memory, the window holds fewer than two
#: segments.
SMALLEST: Final = 8192
#: An entry of the record of arrivals: the time of its last bytes in nanoseconds, and its number of
#: bytes.
COUNTED: Final = np.dtype([("at", "<i8"), ("bytes", "<i8")])


def controls() -> list[str]:
    """Returns the congestion controls that this user may choose on this host. The default of the
    host is first."""
    file = Path("/proc/sys/net/ipv4/tcp_allowed_congestion_control")
    try:
        allowed = file.read_text(encoding="ascii").split()
    except OSError:
        # This file exists only in the initial network namespace. Other namespaces have only the
        # list of loaded congestion controls.
        allowed = []
    try:
        loaded = file.with_name("tcp_available_congestion_control").read_text(encoding="ascii").split()
    except OSError:
        loaded = []
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as sock:
        default = sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16).rstrip(b"\0").decode()
    return sorted((name for name in loaded or allowed if can_choose(name)), key=lambda name: name != default)


def can_choose(name: str) -> bool:
    """Returns true if this user may choose a congestion control."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as sock:
        try:
            choose(sock, name)
        except OSError:
            return False
    return True


def receive_memory() -> list[int] | None:
    """Returns the receive memory of this host's sockets in bytes (tcp_rmem): minimum, initial value
    and maximum. Returns None if it cannot be read."""
    try:
        text = Path("/proc/sys/net/ipv4/tcp_rmem").read_text(encoding="ascii")
        least, start, most = map(int, text.split())
    except (OSError, ValueError):
        return None
    return [least, start, most]


def window_start(here: Any, there: Any) -> int | None:
    """Returns the initial receive window in bytes of connections between two hosts, from the
    :func:`receive_memory` of both. The window is half of the initial memory, as in Linux
    (ip-sysctl.rst, tcp_rmem). None if the window does not grow, if a host does not report its
    memory, or if the two hosts differ.

    >>> window_start([4096, 131072, 33554432], [4096, 131072, 6291456])
    65536
    >>> window_start([4096, 33554432, 1 << 30], [4096, 33554432, 1 << 30])
    >>> window_start([4096, 131072, 6291456], [True, "131072"])
    """
    both = [one[1:] for one in (here, there) if isinstance(one, list) and len(one) == 3]
    if len(both) < 2 or not all(isinstance(size, int) and size > 0 for one in both for size in one):
        return None
    (start, most), (other, other_most) = both
    return start // 2 if start == other and SMALLEST <= start < min(most, other_most, WHOLE) else None


def choose(sock: socket.socket, name: str) -> None:
    """Sets the congestion control of a socket. Raises :class:`OSError`."""
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, name.encode())


@dataclass
class Received:
    """The received part of a transfer."""

    bins: list[tuple[int, int]] = field(default_factory=list)
    total: int = 0
    _bin: int = -1

    def add(self, now_ns: int, count: int) -> None:
        """Records the arrival of bytes."""
        own = now_ns // int(BIN_S * 1e9)
        if self.bins and self._bin == own:
            self.bins[-1] = (now_ns, self.bins[-1][1] + count)
        else:
            self.bins.append((now_ns, count))
        self._bin = own
        self.total += count

    def counted(self) -> NDArray[np.void]:
        """Returns the record as an array of :data:`COUNTED`."""
        return np.array(self.bins, dtype=COUNTED)


def receive(
    sock: socket.socket,
    clock: Callable[[], int],
    should_continue: Callable[[], bool],
    found: Received | None = None,
) -> Received:
    """Receives until the other end closes or resets the connection, or until ``should_continue``
    returns false. Returns the received data, and also adds it to ``found``, if given."""
    found, room = found or Received(), bytearray(CHUNK)
    sock.settimeout(0.25)
    while should_continue():
        try:
            count = sock.recv_into(room)
        except TimeoutError:
            continue
        except OSError:
            break
        if not count:
            break
        found.add(clock(), count)
    return found


def send(sock: socket.socket, seconds: float, should_continue: Callable[[], bool]) -> str | None:
    """Sends for ``seconds``, then resets the connection, so that no retransmissions keep the path's
    queues filled. Returns the reason if the transfer ended early."""
    chunk, end = bytes(CHUNK), time.monotonic() + seconds
    # The send buffer holds only slightly more data than the path can carry.
    sock.settimeout(0.25)
    reason = None
    while time.monotonic() < end and should_continue():
        try:
            sock.send(chunk)
        except TimeoutError:
            continue
        except OSError as error:
            reason = error.strerror or str(error)
            break
    return reason


def reset(sock: socket.socket) -> None:
    """Closes a connection and discards its unsent data."""
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    sock.close()
