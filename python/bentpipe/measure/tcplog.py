"""Log of a sender's TCP: the kernel's log of each acknowledgment if BPF is available, otherwise
TCP_INFO at short intervals. Rows have the columns and units of the trace `tcp`."""

from __future__ import annotations

import json
import math
import socket
import struct
import threading
import time
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from bentpipe import _native


def _columns() -> tuple[tuple[str, ...], tuple[str, ...]]:
    (table,) = (one for one in json.loads(_native.tables())["traces"] if one["name"] == "tcp")
    columns = table["columns"]
    whole = (one["name"] for one in columns if one["kind"] == "whole")
    return tuple(one["name"] for one in columns), tuple(whole)


#: Columns of the trace `tcp`. `WHOLE` are the columns that contain integers.
COLUMNS, WHOLE = _columns()
#: Interval between two readings of TCP_INFO, in seconds.
INTERVAL_S: Final = 0.01

#: getsockopt(SO_COOKIE), the number that identifies a socket in the kernel's log.
_SO_COOKIE: Final = 57
#: struct tcp_info of <linux/tcp.h>, up to bytes_retrans (Linux 4.19).
_INFO: Final = struct.Struct("=8B24I4Q6I4Q2I2Q")
_INFINITE: Final = 0x7FFF_FFFF

Row = tuple[int, list[float]]


def cookie(sock: socket.socket) -> int:
    """Returns the number that identifies a socket in the kernel's log."""
    return int.from_bytes(sock.getsockopt(socket.SOL_SOCKET, _SO_COOKIE, 8), "little")


def information(sock: socket.socket) -> list[float] | None:
    """Returns the values of :data:`COLUMNS` from TCP_INFO; ``None`` for a closed connection.
    TCP_INFO has no samples of single acknowledgments and no count of time-outs, so these are
    NaN."""
    try:
        data = sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _INFO.size)
    except OSError:
        return None
    if len(data) < _INFO.size:
        return None
    values = _INFO.unpack(data)
    rto = values[8]
    unacked, sacked, lost, retrans = values[12:16]
    rtt, rttvar, ssthresh, cwnd = values[23:27]
    total = values[31]
    acknowledged, sent_bytes, again = values[34], values[-2], values[-1]
    return [
        float(cwnd),
        math.nan if ssthresh >= _INFINITE else float(ssthresh),
        math.nan,
        rtt / 1e6 if rtt else math.nan,
        rttvar / 1e6 if rtt else math.nan,
        rto / 1e6,
        float(max(0, unacked - sacked - lost + retrans)),
        # The handshake's sequence number counts as acknowledged.
        float(max(0, acknowledged - 1)),
        float(max(0, sent_bytes - again)),
        float(total),
        math.nan,
        float(values[1]),
    ]


def round_trip(sock: socket.socket) -> float | None:
    """Returns the smoothed round-trip time of a connection in seconds; ``None`` if unknown."""
    values = information(sock)
    found = math.nan if values is None else values[COLUMNS.index("srtt")]
    return None if math.isnan(found) else found


class TcpLog:
    """The log of connections of this network namespace, in a thread of its own, until
    :meth:`close`."""

    def __init__(self) -> None:
        self.rows: dict[int, list[Row]] = {}
        self._watched: dict[int, socket.socket] = {}
        self._ending = threading.Event()
        self._guard = threading.Lock()
        self._log: _native.TcpLog | None = None
        #: The reason if the kernel's log is not available; otherwise None.
        self.reason: str | None = None
        #: Events lost because the kernel's log was full.
        self.lost = 0
        try:
            self._log = _native.TcpLog(Path("/proc/self/ns/net").stat().st_ino)
        except OSError as error:
            self.reason = str(error)
        self._thread = threading.Thread(target=self._run, name="tcp log", daemon=True)
        self._thread.start()

    def watch(self, sock: socket.socket) -> int:
        """Starts the log of a connection. Returns its number in :attr:`rows`, whose times are
        nanoseconds of the monotonic clock."""
        number = cookie(sock)
        with self._guard:
            self.rows[number] = []
            self._watched[number] = sock
        return number

    def unwatch(self, number: int) -> None:
        """Ends the readings of TCP_INFO before a connection is closed."""
        with self._guard:
            self._watched.pop(number, None)

    def close(self) -> None:
        """Reads the remaining events and ends the log."""
        self._ending.set()
        self._thread.join(10)

    def _run(self) -> None:
        while True:
            last = self._ending.is_set()
            if self._log is None:
                with self._guard:
                    for number, sock in self._watched.items():
                        values = information(sock)
                        if values is not None:
                            self.rows[number].append((time.monotonic_ns(), values))
                if last or self._ending.wait(INTERVAL_S):
                    return
                continue
            try:
                found = self._log.poll(0.05)
                self.lost = self._log.lost()
            except OSError as error:
                self.reason, self._log = str(error), None
                continue
            for at, number, values in found:
                rows = self.rows.get(number)
                if rows is not None:
                    rows.append((at, values))
            if last and not found:
                return


def as_array(rows: list[Row]) -> NDArray[np.float64]:
    """Returns rows as an array: the time in nanoseconds as the first column, then
    :data:`COLUMNS`."""
    return np.array([[at, *values] for at, values in rows], dtype=np.float64).reshape(-1, 1 + len(COLUMNS))
