"""TFRC: the throughput equation and the average loss interval (RFC 5348).

A TFRC sender sends at the rate of Padhye's approximate model for the loss event rate that its
receiver reports. Both its steady rate and the reported rate can therefore be predicted.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from .checks import refuse, require_at_least, require_not_negative, require_positive

#: RFC 5348, section 5.4: w_0 to w_7, newest first.
LOSS_INTERVAL_WEIGHTS: Final = (1.0, 1.0, 1.0, 1.0, 0.8, 0.6, 0.4, 0.2)


def tfrc_rate_byte_s(
    loss_event_rate: float,
    rtt_s: float,
    segment_bytes: float = 1460,
    *,
    timeout_s: float | None = None,
    segments_per_ack: float = 1,
) -> float:
    """Returns X_Bps, RFC 5348, section 3.1, in bytes per second.

    s / (R sqrt(2bp/3) + t_RTO 3 sqrt(3bp/8) p (1 + 32 p^2)), 0 < p <= 1; by default, t_RTO is 4 R
    and b is 1, as the RFC recommends. Raises ``ValueError``.

    >>> round(tfrc_rate_byte_s(0.01, 0.6))
    27334
    """
    if not (0 < loss_event_rate <= 1):
        raise refuse("loss_event_rate", loss_event_rate, "above 0 and at most 1")
    require_positive("rtt_s", rtt_s)
    require_positive("segment_bytes", segment_bytes)
    require_at_least("segments_per_ack", segments_per_ack, 1)
    timeout_s = 4 * rtt_s if timeout_s is None else timeout_s
    require_positive("timeout_s", timeout_s)
    p, b = loss_event_rate, segments_per_ack
    by_duplicates_s = rtt_s * math.sqrt(2 * b * p / 3)
    by_timeout_s = timeout_s * 3 * math.sqrt(3 * b * p / 8) * p * (1 + 32 * p**2)
    return segment_bytes / (by_duplicates_s + by_timeout_s)


def mean_loss_interval_segments(intervals_newest_first: Sequence[float]) -> float:
    """Returns I_mean, RFC 5348, section 5.4: the weighted mean of loss intervals. The loss event
    rate is 1 / I_mean.

    The first interval, I_0, is still open. It counts only if it raises the mean, so a flow without
    losses speeds up, and the last loss has no double weight. There are 2 to 9 intervals in
    segments; older intervals are ignored, and the first may be 0. Raises ``ValueError``.

    >>> mean_loss_interval_segments([10, 100, 100, 100]), mean_loss_interval_segments([500, 100, 100, 100])
    (100.0, 233.33333333333334)
    """
    closed = len(intervals_newest_first) - 1
    if not (1 <= closed <= len(LOSS_INTERVAL_WEIGHTS)):
        raise refuse(
            "number of intervals_newest_first", closed + 1, f"from 2 to {len(LOSS_INTERVAL_WEIGHTS) + 1}"
        )
    require_not_negative("intervals_newest_first[0]", intervals_newest_first[0])
    for index, interval in enumerate(intervals_newest_first[1:], start=1):
        require_at_least(f"intervals_newest_first[{index}]", interval, 1)
    weights = LOSS_INTERVAL_WEIGHTS[:closed]
    with_open = math.fsum(w * i for w, i in zip(weights, intervals_newest_first[:-1], strict=True))
    without_open = math.fsum(w * i for w, i in zip(weights, intervals_newest_first[1:], strict=True))
    return max(with_open, without_open) / math.fsum(weights)
