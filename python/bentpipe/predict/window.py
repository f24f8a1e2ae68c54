"""Limits of the goodput by a window, a link and headers, which hold for every TCP.

A sender has at most one window in flight per round-trip time, a link cannot carry more than its
rate, and headers take part of the rate. A packet consists of ``segment_bytes`` of payload and
``header_bytes`` (1460 + 40 = 1500 bytes for IPv4 and TCP without options).
"""

from __future__ import annotations

from .checks import require_not_negative, require_positive


def bandwidth_delay_product_bytes(rate_bit_s: float, rtt_s: float) -> float:
    """Returns the bytes in flight that fill a pipe: rate times round-trip time. Raises
    ``ValueError``.

    >>> bandwidth_delay_product_bytes(2.048e6, 0.5)
    128000.0
    """
    require_positive("rate_bit_s", rate_bit_s)
    require_positive("rtt_s", rtt_s)
    return rate_bit_s * rtt_s / 8


def window_limited_rate_bit_s(window_bytes: float, rtt_s: float) -> float:
    """Returns the rate of one window per round-trip time, regardless of the link. Raises
    ``ValueError``.

    >>> window_limited_rate_bit_s(65_536, 0.5)
    1048576.0
    """
    require_positive("window_bytes", window_bytes)
    require_positive("rtt_s", rtt_s)
    return 8 * window_bytes / rtt_s


def serialisation_time_s(segment_bytes: int, rate_bit_s: float, header_bytes: int = 40) -> float:
    """Returns the time to send one packet, including headers, onto a link. ``segment_bytes`` may be
    0 (a pure ACK). Raises ``ValueError``.

    >>> serialisation_time_s(1460, 64e3)
    0.1875
    """
    require_not_negative("segment_bytes", segment_bytes)
    require_not_negative("header_bytes", header_bytes)
    require_positive("rate_bit_s", rate_bit_s)
    return 8 * (segment_bytes + header_bytes) / rate_bit_s


def goodput_ceiling_bit_s(rate_bit_s: float, segment_bytes: int = 1460, header_bytes: int = 40) -> float:
    """Returns the payload rate of a link that is always busy: its rate times the ratio of payload
    to packet size. Raises ``ValueError``.

    >>> round(goodput_ceiling_bit_s(10e6))
    9733333
    """
    require_positive("rate_bit_s", rate_bit_s)
    require_positive("segment_bytes", segment_bytes)
    require_not_negative("header_bytes", header_bytes)
    return rate_bit_s * segment_bytes / (segment_bytes + header_bytes)


def steady_goodput_bit_s(
    rate_bit_s: float,
    rtt_s: float,
    *,
    segment_bytes: int = 1460,
    header_bytes: int = 40,
    window_bytes: float | None = None,
) -> float:
    """Returns the goodput of a flow at its maximum window without loss: that of the link, or the
    window divided by the RTT if smaller.

    ``window_bytes`` is the receiver's or the sender's window in payload bytes, ``None`` without a
    limit. Raises ``ValueError``.

    >>> steady_goodput_bit_s(10e6, 0.5, window_bytes=65_536)
    1048576.0
    """
    require_positive("rtt_s", rtt_s)
    link_bit_s = goodput_ceiling_bit_s(rate_bit_s, segment_bytes, header_bytes)
    return (
        link_bit_s
        if window_bytes is None
        else min(link_bit_s, window_limited_rate_bit_s(window_bytes, rtt_s))
    )
