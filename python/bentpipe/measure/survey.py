"""The survey of a path: datagrams with various marks and sizes, and the TCP options at both ends of
a connection.

:mod:`bentpipe.measure.survey_results` evaluates it.
"""

from __future__ import annotations

import socket
import struct
from typing import Final

import numpy as np

from .datagrams import PATTERN, Records

#: Tested values of the byte for DSCP and ECN: best effort, AF11, AF21, AF31, AF41, EF, CS6, then
#: ECT(1), ECT(0) and CE (RFC 2474, RFC 2597, RFC 3246, RFC 3168).
MARKS: Final = (0x00, 0x28, 0x48, 0x68, 0x88, 0xB8, 0xC0, 0x01, 0x02, 0x03)
#: Tested sizes of datagrams, in bytes with IP and UDP headers; they must not be fragmented.
SIZES: Final = (1500, 1492, 1480, 1460, 1420, 1400, 1280, 576)
#: Number of datagrams of each mark and of each size.
EACH: Final = 4
#: Interval between two datagrams in seconds.
GAP_S: Final = 0.02

# From <linux/in.h> and <linux/in6.h>; Python's socket module lacks them.
_IP_PKTOPTIONS, _IP_RECVTTL, _IPV6_2292PKTOPTIONS = 9, 12, 6
#: struct cmsghdr: length, level, kind.
_CONTROL: Final = struct.Struct("=Qii")
#: The first bytes of struct tcp_info: state, options and window scales, then times and segment
#: sizes.
_HEAD: Final = struct.Struct("=8B4I")
#: Option flags in it: time stamps, SACK, window scale, ECN.
_OPTIONS: Final = 0x0F


def pattern() -> Records:
    """Returns the datagrams to send. Each mark and each size is repeated :data:`EACH` times."""
    one = [(200, mark) for mark in MARKS] + [(size, 0) for size in SIZES]
    rows = np.zeros(EACH * len(one), dtype=PATTERN)
    rows["at"] = GAP_S * np.arange(len(rows))
    rows["size"], rows["tos"] = np.array(one * EACH).T
    return rows


def handshake(sock: socket.socket) -> dict[str, int]:
    """Returns the options that this end of a connection has negotiated."""
    data = sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 104)
    values = _HEAD.unpack_from(data)
    return {
        "options": values[5] & _OPTIONS,
        "scale_sent": values[6] >> 4,
        "scale_received": values[6] & 15,
        "segment": values[10],
    }


def watch_hop_limit(listener: socket.socket) -> None:
    """Enables :func:`hop_limit` for the connections that a listening socket accepts."""
    listener.setsockopt(socket.IPPROTO_IP, _IP_RECVTTL, 1)
    if listener.family == socket.AF_INET6:
        listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_RECVHOPLIMIT, 1)


def hop_limit(sock: socket.socket) -> int:
    """Returns the hop limit of an accepted connection's handshake on arrival (ip(7),
    IP_PKTOPTIONS); 255 if unknown."""
    host = sock.getpeername()[0]
    is_4 = sock.family == socket.AF_INET or host.startswith("::ffff:")
    level, option, kind = (
        (socket.IPPROTO_IP, _IP_PKTOPTIONS, socket.IP_TTL)
        if is_4
        else (socket.IPPROTO_IPV6, _IPV6_2292PKTOPTIONS, socket.IPV6_HOPLIMIT)
    )
    try:
        data = sock.getsockopt(level, option, 256)
    except OSError:
        return 255
    # Control messages as in recvmsg(2): length including the header, level and kind, then the
    # value.
    while len(data) >= _CONTROL.size + 4:
        length, own_level, own_kind = _CONTROL.unpack_from(data)
        if (own_level, own_kind) == (level, kind):
            return int(struct.unpack_from("=i", data, _CONTROL.size)[0]) & 255
        data = data[max(_CONTROL.size, -(-length // 8) * 8) :]
    return 255
