"""The throughput of TCP Reno at a given loss probability, by the models of Padhye and of Mathis.

Sources: Padhye, Firoiu, Towsley and Kurose, "Modeling TCP Throughput: A Simple Model and its
Empirical Validation" (SIGCOMM 1998), and Mathis, Semke, Mahdavi and Ott, "The Macroscopic Behavior
of the TCP Congestion Avoidance Algorithm" (CCR 27(3), 1997). Results are sent segments per second,
including retransmissions, so they are upper bounds of goodput. Symbols: p loss probability of a
segment if no earlier segment of its round was lost, b segments per acknowledgement, W_max the
receiver's window in segments, T_0 the first retransmission time-out.

Limits: bulk transfer in steady state, losses within a round correlated and between rounds
independent, RTT independent of the window. With SACK, several losses in a round need no time-out,
so real stacks perform better than Padhye's model at high p.
"""

from __future__ import annotations

import math

from .checks import require_at_least, require_positive, require_probability


def mathis_segments_s(loss_probability: float, rtt_s: float, *, segments_per_ack: float = 1) -> float:
    """Returns segments per second, Mathis 1997: (1/RTT) C / sqrt(p) with C = sqrt(3 / (2b)).

    C is sqrt(3/2) for an acknowledgement per segment and sqrt(3/4) for delayed ones (periodic
    loss). Time-outs and window limits are ignored, so the result is too high above a loss of about
    1 %. Raises ``ValueError``.

    >>> round(mathis_segments_s(0.01, 0.1), 6)
    122.474487
    """
    _require(loss_probability, rtt_s, segments_per_ack)
    return math.sqrt(3 / (2 * segments_per_ack * loss_probability)) / rtt_s


def padhye_triple_duplicate_segments_s(
    loss_probability: float, rtt_s: float, *, segments_per_ack: float = 1
) -> float:
    """Returns segments per second if all losses are detected by duplicate ACKs and none by time-out
    (Padhye 1998).

    E[Y] / E[A] with E[Y] = (1-p)/p + E[W] and E[A] = RTT (b/2 E[W] + 1). For small p, the result
    approaches that of Mathis. Raises ``ValueError``.

    >>> round(padhye_triple_duplicate_segments_s(0.01, 0.1), 3)
    120.629
    """
    _require(loss_probability, rtt_s, segments_per_ack)
    p = loss_probability
    window = _mean_window_segments(p, segments_per_ack)
    return ((1 - p) / p + window) / (rtt_s * (segments_per_ack / 2 * window + 1))


def padhye_approximate_segments_s(
    loss_probability: float,
    rtt_s: float,
    timeout_s: float,
    *,
    segments_per_ack: float = 1,
    window_maximum_segments: float = math.inf,
) -> float:
    """Returns segments per second by the approximate model of Padhye 1998.

    min(W_max/RTT, 1 / (RTT sqrt(2bp/3) + T_0 min(1, 3 sqrt(3bp/8)) p (1 + 32 p^2))). Raises
    ``ValueError``.

    >>> round(padhye_approximate_segments_s(0.01, 0.05, 0.2), 4)
    224.6645
    """
    _require(loss_probability, rtt_s, segments_per_ack)
    require_positive("timeout_s", timeout_s)
    require_at_least("window_maximum_segments", window_maximum_segments, 1, infinite=True)
    p, b = loss_probability, segments_per_ack
    by_duplicates_s = rtt_s * math.sqrt(2 * b * p / 3)
    by_timeout_s = timeout_s * min(1.0, 3 * math.sqrt(3 * b * p / 8)) * p * (1 + 32 * p**2)
    return min(window_maximum_segments / rtt_s, 1 / (by_duplicates_s + by_timeout_s))


def padhye_full_segments_s(
    loss_probability: float,
    rtt_s: float,
    timeout_s: float,
    *,
    segments_per_ack: float = 1,
    window_maximum_segments: float = math.inf,
) -> float:
    """Returns segments per second by the full model of Padhye 1998, with time-outs and the
    receiver's window.

    The receiver's window does not limit while E[W] < W_max. The two branches do not meet exactly at
    the limit, because of the paper's approximation. Raises ``ValueError``.

    >>> round(padhye_full_segments_s(0.01, 0.05, 0.2), 4)
    221.92
    """
    _require(loss_probability, rtt_s, segments_per_ack)
    require_positive("timeout_s", timeout_s)
    require_at_least("window_maximum_segments", window_maximum_segments, 1, infinite=True)
    p, b = loss_probability, segments_per_ack
    window = _mean_window_segments(p, b)
    if window < window_maximum_segments:
        rounds = b / 2 * window + 1
    else:
        window = window_maximum_segments
        rounds = b / 8 * window + (1 - p) / (p * window) + 2
    by_timeout = _timeout_share(p, window)
    sent = (1 - p) / p + window + by_timeout / (1 - p)
    return sent / (rtt_s * rounds + by_timeout * timeout_s * _backoff_factor(p) / (1 - p))


def _mean_window_segments(p: float, b: float) -> float:
    """Returns E[W] at the end of a period between two losses (Padhye 1998)."""
    constant = (2 + b) / (3 * b)
    return constant + math.sqrt(8 * (1 - p) / (3 * b * p) + constant**2)


def _timeout_share(p: float, window: float) -> float:
    """Returns Q-hat(w): the probability that a loss in a window of w segments leads to a time-out.

    The expression is 1 at w = 3 and larger below, so its minimum with 1 covers the case "w <= 3" of
    the paper.
    """
    kept = 1 - p
    beyond_three, of_window = math.pow(kept, window - 3), math.pow(kept, window)
    return min(1.0, (1 - kept**3) * (1 + kept**3 * (1 - beyond_three)) / (1 - of_window))


def _backoff_factor(p: float) -> float:
    """Returns f(p), the factor by which the doubling of the time-out, up to 64 T_0, lengthens a run
    of time-outs."""
    return 1 + p + 2 * p**2 + 4 * p**3 + 8 * p**4 + 16 * p**5 + 32 * p**6


def _require(loss_probability: float, rtt_s: float, segments_per_ack: float) -> None:
    require_probability("loss_probability", loss_probability)
    require_positive("rtt_s", rtt_s)
    require_at_least("segments_per_ack", segments_per_ack, 1)
