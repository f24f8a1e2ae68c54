"""CUBIC: the window between two losses and the mean window at a given loss probability (RFC 9438).

Windows are in segments, times in seconds, C in segments per second cubed. CUBIC's window grows with
time and not with round trips, so CUBIC keeps its rate over a satellite, unlike Reno. If the
bandwidth-delay product is small, CUBIC would be slower than Reno and follows Reno's window instead
(section 4.3, the Reno-friendly region).
"""

from __future__ import annotations

import math
from typing import Final

from .checks import refuse, require_not_negative, require_positive, require_probability

#: RFC 9438, section 5: C in segments / s^3; section 4.6: the factor of multiplicative decrease.
CUBIC_C: Final = 0.4
CUBIC_BETA: Final = 0.7
#: Mean window under random losses, in units of (RTT / p)^(3/4), with C and beta as above and fast
#: convergence (section 4.7). It is the stationary mean of the Markov chain of windows at losses,
#: with an exponentially distributed number of segments between losses. Poojary and Sharma, "An
#: asymptotic approximation of TCP CUBIC" (2019), use this chain without fast convergence (1.30).
#: The RFC's equation assumes one loss in every 1/p segments (1.054).
CUBIC_RANDOM: Final = 1.192


def cubic_k_s(window_maximum: float, window_epoch: float, *, c: float = CUBIC_C) -> float:
    """Returns K, RFC 9438, section 4.2: the seconds until the window is again ``window_maximum``,
    cbrt((W_max - cwnd_epoch) / C).

    ``window_epoch`` is the window at the start of congestion avoidance, at most ``window_maximum``.
    Raises ``ValueError``.

    >>> round(cubic_k_s(100, 70), 6)
    4.217163
    """
    require_positive("window_maximum", window_maximum)
    require_positive("c", c)
    if not (0 < window_epoch <= window_maximum):
        raise refuse("window_epoch", window_epoch, f"above 0 and at most window_maximum = {window_maximum!r}")
    return math.cbrt((window_maximum - window_epoch) / c)


def cubic_window_segments(
    t_s: float, window_maximum: float, window_epoch: float, *, c: float = CUBIC_C
) -> float:
    """Returns W_cubic(t) = C (t - K)^3 + W_max, RFC 9438, section 4.2, with t from the start of
    congestion avoidance.

    Raises ``ValueError``.

    >>> round(cubic_window_segments(0, 100, 70), 9), round(cubic_window_segments(1, 100, 70), 6)
    (70.0, 86.680764)
    """
    require_not_negative("t_s", t_s)
    return c * (t_s - cubic_k_s(window_maximum, window_epoch, c=c)) ** 3 + window_maximum


def cubic_mean_window_segments(
    loss_probability: float, rtt_s: float, *, c: float = CUBIC_C, beta: float = CUBIC_BETA
) -> float:
    """Returns AVG_W_cubic, RFC 9438, section 5: (C (3 + beta) / (4 (1 - beta)))^(1/4) (RTT /
    p)^(3/4).

    The equation holds in the region in which CUBIC follows its own function, with one loss in every
    1/p segments. Raises ``ValueError``.

    >>> round(cubic_mean_window_segments(0.01, 0.1), 6)
    5.926116
    """
    require_probability("loss_probability", loss_probability)
    require_positive("rtt_s", rtt_s)
    require_positive("c", c)
    require_probability("beta", beta)
    return float((c * (3 + beta) / (4 * (1 - beta))) ** 0.25 * (rtt_s / loss_probability) ** 0.75)


def cubic_segments_s(loss_probability: float, rtt_s: float) -> float:
    """Returns segments per second under random losses: the mean window (:data:`CUBIC_RANDOM`), or
    Reno's mean window sqrt(3/(2p)) if larger (section 4.3), divided by the RTT.

    Time-outs and window limits are ignored. Raises ``ValueError``.

    >>> round(cubic_segments_s(0.0001, 0.6), 1), round(cubic_segments_s(0.01, 0.01), 1)
    (1354.4, 1224.7)
    """
    require_probability("loss_probability", loss_probability)
    require_positive("rtt_s", rtt_s)
    window = CUBIC_RANDOM * math.pow(rtt_s / loss_probability, 0.75)
    return max(window, math.sqrt(1.5 / loss_probability)) / rtt_s
