"""Equations for a NetPIPE block and for buffers between LAN islands (Yousef and Strange).

The source prints the throughput of a window as window / (RTT x rate); window / RTT is meant
(:func:`bentpipe.predict.window_limited_rate_bit_s`), and the window for the full rate is the
bandwidth-delay product.
"""

from __future__ import annotations

import math
from typing import Final

from .checks import require_at_least, require_not_negative, require_positive

#: Bytes of a cell.
CELL: Final = 53


def request_response_s(generate_s: float, process_s: float, rtt_s: float) -> float:
    """Returns the time from a request to its response: generation and processing of the request,
    and a round trip. Raises ``ValueError``.

    >>> request_response_s(0.001, 0.002, 0.4)
    0.403
    """
    for name, value in (("generate_s", generate_s), ("process_s", process_s), ("rtt_s", rtt_s)):
        require_not_negative(name, value)
    return generate_s + process_s + rtt_s


def buffer_cells(transmission_bit_s: float, link_bit_s: float, burst_bytes: float) -> float:
    """Returns the number of cells that wait in front of a link when a burst arrives at a higher
    rate: (transmission - link) x burst / (53 x transmission), with the burst in bytes of cells.
    Raises ``ValueError``.

    >>> buffer_cells(8e6, 2e6, 320 * 53)
    240.0
    """
    require_positive("transmission_bit_s", transmission_bit_s)
    require_positive("link_bit_s", link_bit_s)
    require_not_negative("burst_bytes", burst_bytes)
    excess = max(transmission_bit_s - link_bit_s, 0.0)
    return excess * burst_bytes / (CELL * transmission_bit_s)


def fitted_throughput_bit_s(socket_bytes: float) -> float:
    """Returns the source's linear fit at a round-trip time of 600 ms: 0.0125 Mbit/s for each
    kilobyte of socket buffer, in NetPIPE's megabits. Raises ``ValueError``.

    >>> round(fitted_throughput_bit_s(65_536))
    838861
    """
    require_positive("socket_bytes", socket_bytes)
    return 0.0125 * (1 << 20) * socket_bytes / 1024


def block_time_s(
    block_bytes: int,
    one_way_s: float,
    rate_bit_s: float,
    window_bytes: float | None = None,
    segment_bytes: int = 1460,
    acknowledgment_s: float = 0.0,
) -> float:
    """Returns the time of half a ping-pong of a block, over a connection without a limit by the
    congestion window.

    The first window is sent at once. Each further window waits for an acknowledgment, which takes
    twice ``one_way_s``, the time to send one segment, and ``acknowledgment_s``, the receiver's
    delay of the acknowledgment. There is no wait if sending a window takes longer than this.
    ``rate_bit_s`` is the rate of payload. Raises ``ValueError``.

    >>> round(block_time_s(4096, 0.2, 1.85e6), 4)
    0.2177
    >>> round(block_time_s(8192, 0.2, 1.85e6, window_bytes=7300), 4)
    0.6102
    """
    require_at_least("block_bytes", block_bytes, 1)
    require_not_negative("one_way_s", one_way_s)
    require_positive("rate_bit_s", rate_bit_s)
    require_at_least("segment_bytes", segment_bytes, 1)
    if window_bytes is not None:
        require_positive("window_bytes", window_bytes)
    if window_bytes is None or window_bytes >= block_bytes:
        return one_way_s + 8 * block_bytes / rate_bit_s
    further = math.ceil(block_bytes / window_bytes) - 1
    segment_s = 8 * segment_bytes / rate_bit_s
    cycle = max(2 * one_way_s + segment_s + acknowledgment_s, 8 * window_bytes / rate_bit_s)
    return one_way_s + further * cycle + 8 * (block_bytes - further * window_bytes) / rate_bit_s
