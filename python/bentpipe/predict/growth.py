"""Growth of the congestion window, round trip by round trip, towards a ceiling.

The model behind equations 2 to 9 of the DAMA study (Luglio, Roseti and Zampognaro, 2009) is a step
function. In each round trip, the sender sends one window, which is acknowledged at the end. The
next window is twice as large up to ssthresh, and from there on one segment larger. Equations 7 and
9 sum these steps, so the curve agrees with their transfer times. A continuous curve would not (its
slow start sends 1/ln 2 times as much).

The study's equations do not include the link rate. Here the window stops at a ceiling (the pipe,
the receiver's window or the limit by random loss), because a larger window would only fill queues.
The cwnd therefore levels off, whereas a simulated cwnd with a deep buffer continues to grow.

Limits: no queueing delay, no loss, no delayed acknowledgement, and the round-trip time is constant.
"""

from __future__ import annotations

import bisect
import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .checks import refuse, require_at_least, require_not_negative, require_positive

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    FloatArray = NDArray[np.float64]


def next_window_segments(window: float, ssthresh: float) -> float:
    """Returns the window of the next round trip, in segments (RFC 5681, section 3.1; equations 2
    and 5 of the study).

    >>> next_window_segments(8, 20), next_window_segments(16, 20), next_window_segments(20, 20)
    (16, 20, 21)
    """
    return min(2 * window, ssthresh) if window < ssthresh else window + 1


def count_round_trips(transfer_segments: int, initial_window: float, ssthresh: float = math.inf) -> int:
    """Returns the whole round trips until ``transfer_segments`` segments are acknowledged, without
    the handshake.

    Equation 9 approximates this count by a formula. The last window takes a full round trip even if
    it is only partly used. All arguments are in segments and at least 1. Raises ``ValueError``.

    >>> count_round_trips(1, 1), count_round_trips(7, 1), count_round_trips(8, 1)
    (1, 3, 4)
    >>> count_round_trips(100, initial_window=10, ssthresh=10)  # 10 + 11 + ... + 17 = 108
    8
    """
    require_at_least("transfer_segments", transfer_segments, 1)
    require_start(initial_window, ssthresh)
    window, sent, rounds = initial_window, 0.0, 0
    while sent < transfer_segments:
        sent += window
        rounds += 1
        window = next_window_segments(window, ssthresh)
    return rounds


def round_trips_to_window(target_segments: float, initial_window: float, ssthresh: float = math.inf) -> int:
    """Returns the round trips until the window is at least ``target_segments``, without the
    handshake.

    >>> round_trips_to_window(85.3, initial_window=1, ssthresh=20)  # 1 2 4 8 16 20, then 66 steps of one
    71
    """
    require_positive("target_segments", target_segments)
    require_start(initial_window, ssthresh)
    window, rounds = initial_window, 0
    while window < min(target_segments, ssthresh):
        window = next_window_segments(window, ssthresh)
        rounds += 1
    return rounds + max(0, math.ceil(target_segments - window))


def round_windows_segments(
    rounds: int, initial_window: float, ssthresh: float = math.inf, ceiling_segments: float = math.inf
) -> FloatArray:
    """Returns the window of each round trip in segments, for ``rounds`` round trips or up to the
    ceiling, whichever comes first.

    The array has shape ``(n,)``, ``1 <= n <= rounds``. If the ceiling was reached, it is the last
    value and holds for all later round trips.

    >>> round_windows_segments(6, 1, ssthresh=4).tolist()
    [1.0, 2.0, 4.0, 5.0, 6.0, 7.0]
    >>> round_windows_segments(100, 1, ssthresh=4, ceiling_segments=5.5).tolist()
    [1.0, 2.0, 4.0, 5.0, 5.5]
    """
    import numpy as np

    return np.array(_windows(rounds, initial_window, ssthresh, ceiling_segments))


def _windows(rounds: int, initial_window: float, ssthresh: float, ceiling_segments: float) -> list[float]:
    """Returns the values of :func:`round_windows_segments`. This function needs no numpy, whose
    import takes longer than a short run."""
    require_at_least("rounds", rounds, 1)
    require_start(initial_window, ssthresh)
    if not ceiling_segments > 0:
        raise refuse("ceiling_segments", ceiling_segments, "above 0")
    start = [float(initial_window)]
    while start[-1] < min(ssthresh, ceiling_segments) and len(start) < rounds:
        start.append(next_window_segments(start[-1], ssthresh))
    left = rounds - len(start)
    steps = min(left, math.ceil(ceiling_segments - start[-1])) if ceiling_segments < math.inf else left
    linear = [start[-1] + step for step in range(1, max(0, steps) + 1)]
    return [min(window, ceiling_segments) for window in (*start, *linear)]


@dataclass(frozen=True)
class GrowthCurve:
    """A long-lived flow over time: four arrays of shape ``(points,)``.

    ``goodput_bit_s`` is the goodput of the round trip that contains ``time_s``. ``delivered_bytes``
    are the bytes delivered since the start, interpolated linearly within a round trip.
    """

    time_s: FloatArray
    window_segments: FloatArray
    goodput_bit_s: FloatArray
    delivered_bytes: FloatArray

    def as_dict(self) -> dict[str, list[float]]:
        """Returns the four arrays as lists, ready for JSON."""
        return {
            "time_s": self.time_s.tolist(),
            "window_segments": self.window_segments.tolist(),
            "goodput_bit_s": self.goodput_bit_s.tolist(),
            "delivered_bytes": self.delivered_bytes.tolist(),
        }


def growth_curve(
    duration_s: float,
    *,
    rtt_s: float,
    segment_bytes: int,
    ceiling_bit_s: float,
    initial_window: float = 1,
    ssthresh: float = math.inf,
    points: int = 401,
) -> GrowthCurve:
    """Returns window, goodput and delivered bytes over time, at ``points`` equidistant times from 0
    to ``duration_s``.

    The first round trip is the handshake (equation 1). ``segment_bytes`` is payload;
    ``ceiling_bit_s`` is the maximum goodput of the flow, see
    :func:`bentpipe.predict.steady_goodput_bit_s`. Raises ``ValueError``.

    >>> curve = growth_curve(3, rtt_s=0.5, segment_bytes=1000, ceiling_bit_s=80e3, ssthresh=4, points=7)
    >>> curve.window_segments.tolist()
    [1.0, 1.0, 2.0, 4.0, 5.0, 5.0, 5.0]
    >>> curve.goodput_bit_s.tolist()
    [0.0, 16000.0, 32000.0, 64000.0, 80000.0, 80000.0, 80000.0]
    >>> curve.delivered_bytes.tolist()
    [0.0, 0.0, 1000.0, 3000.0, 7000.0, 12000.0, 17000.0]
    """
    import numpy as np

    require_positive("duration_s", duration_s)
    require_at_least("points", points, 2)
    windows = _windows_until(duration_s, rtt_s, segment_bytes, ceiling_bit_s, initial_window, ssthresh)
    time_s = np.linspace(0.0, duration_s, points)
    progress = time_s / rtt_s - 1
    index = np.clip(np.floor(progress + ROUNDING).astype(np.int64), 0, len(windows) - 1)
    window = np.array(windows)[index]
    goodput = np.where(progress + ROUNDING < 0, 0.0, window * 8 * segment_bytes / rtt_s)
    delivered = _delivered_segments(windows, progress) * segment_bytes
    return GrowthCurve(time_s, window, goodput, delivered)


def delivered_bytes(
    duration_s: float,
    *,
    rtt_s: float,
    segment_bytes: int,
    ceiling_bit_s: float,
    initial_window: float = 1,
    ssthresh: float = math.inf,
) -> float:
    """Returns the bytes delivered from the start of the handshake to ``duration_s``; arguments as
    for :func:`growth_curve`.

    >>> delivered_bytes(2.25, rtt_s=0.5, segment_bytes=1000, ceiling_bit_s=80e3, ssthresh=4)
    9500.0
    """
    require_not_negative("duration_s", duration_s)
    windows = _windows_until(duration_s, rtt_s, segment_bytes, ceiling_bit_s, initial_window, ssthresh)
    progress = max(duration_s / rtt_s - 1, 0.0)
    index = min(math.floor(progress), len(windows) - 1)
    return (_before(windows)[index] + windows[index] * (progress - index)) * segment_bytes


def bounded_transfer_time_s(
    size_bytes: int,
    *,
    rtt_s: float,
    segment_bytes: int,
    ceiling_bit_s: float,
    initial_window: float = 1,
    ssthresh: float = math.inf,
) -> float:
    """Returns the time to deliver ``size_bytes`` under the ceiling, including the handshake:
    equation 9 with a link rate.

    This is the inverse of :func:`delivered_bytes`, but at least two round trips: one for the
    handshake, and one for the data and its acknowledgement. Raises ``ValueError``.

    >>> bounded_transfer_time_s(9500, rtt_s=0.5, segment_bytes=1000, ceiling_bit_s=80e3, ssthresh=4)
    2.25
    """
    require_at_least("size_bytes", size_bytes, 1)
    require_positive("ceiling_bit_s", ceiling_bit_s)
    enough_s = 8 * size_bytes / ceiling_bit_s
    # Upper bound of the round trips until the ceiling is reached or the transfer ends.
    rounds = count_round_trips(math.ceil(size_bytes / segment_bytes), initial_window, ssthresh)
    horizon_s = enough_s + (rounds + 2) * rtt_s
    windows = _windows_until(horizon_s, rtt_s, segment_bytes, ceiling_bit_s, initial_window, ssthresh)
    size_segments = size_bytes / segment_bytes
    before = _before(windows)
    index = bisect.bisect_left(before, size_segments) - 1
    round_trips = index + (size_segments - before[index]) / windows[index]
    return rtt_s * (1 + max(1.0, round_trips))


def require_start(initial_window: float, ssthresh: float) -> None:
    """Checks the initial window and ssthresh of a connection, in segments. ssthresh may be infinite
    (no threshold known)."""
    require_at_least("initial_window", initial_window, 1)
    require_at_least("ssthresh", ssthresh, 1, infinite=True)


def _windows_until(
    duration_s: float,
    rtt_s: float,
    segment_bytes: int,
    ceiling_bit_s: float,
    initial_window: float,
    ssthresh: float,
) -> list[float]:
    require_positive("rtt_s", rtt_s)
    require_positive("segment_bytes", segment_bytes)
    require_positive("ceiling_bit_s", ceiling_bit_s)
    rounds = max(1, math.ceil(duration_s / rtt_s))
    ceiling_segments = ceiling_bit_s * rtt_s / (8 * segment_bytes)
    return _windows(rounds, initial_window, ssthresh, ceiling_segments)


def _before(windows: Sequence[float]) -> list[float]:
    """Returns the segments delivered before each round trip."""
    return list(itertools.accumulate(windows[:-1], initial=0.0))


def _delivered_segments(windows: Sequence[float], progress: FloatArray) -> FloatArray:
    """Returns the segments delivered after ``progress`` round trips of data. The last window
    repeats forever."""
    import numpy as np

    before = np.array(_before(windows))
    progress = np.maximum(progress, 0.0)
    index = np.minimum(np.floor(progress).astype(np.int64), len(windows) - 1)
    delivered: FloatArray = before[index] + np.array(windows)[index] * (progress - index)
    return delivered


#: Tolerance in round trips: a time this close before the end of a round counts as its end, because
#: t / RTT is rarely an exact binary number.
ROUNDING = 1e-9
