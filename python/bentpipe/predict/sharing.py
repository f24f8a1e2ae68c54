"""Efficiency and fairness of a shared link.

Equations 15 to 18 of Luglio, Roseti and Zampognaro, "Performance evaluation of TCP-based
applications over DVB-RCS DAMA schemes" (2009): efficiency of the assigned capacity, the index of
Jain, Chiu and Hawe (1984), the fair share and the utilisation. They are definitions, which
prediction, simulation and measurement all use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .checks import refuse, require_at_least, require_not_negative, require_positive

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

    FloatArray = NDArray[np.float64]


def efficiency(used_bit_s: float, assigned_bit_s: float) -> float:
    """Returns eta_N = used / assigned capacity, equation 15. Raises ``ValueError`` if more is used
    than assigned.

    Volumes may be given instead of rates. A terminal without assigned capacity has no efficiency.

    >>> efficiency(used_bit_s=512e3, assigned_bit_s=2048e3)
    0.25
    """
    require_positive("assigned_bit_s", assigned_bit_s)
    if not (0 <= used_bit_s <= assigned_bit_s):
        raise refuse("used_bit_s", used_bit_s, f"from 0 to assigned_bit_s = {assigned_bit_s!r}")
    return used_bit_s / assigned_bit_s


def fair_share_bit_s(capacity_bit_s: float, flows: int) -> float:
    """Returns F_i = B / n, equation 17: an equal share for each of ``flows`` flows. Raises
    ``ValueError``.

    >>> fair_share_bit_s(2048e3, 4)
    512000.0
    """
    require_positive("capacity_bit_s", capacity_bit_s)
    require_at_least("flows", flows, 1)
    return capacity_bit_s / flows


def jain_index(throughput_bit_s: ArrayLike, fair_share_bit_s: ArrayLike = 1.0) -> FloatArray:
    """Returns Jain's index over x_i = T_i / F_i, equation 16: (sum x_i)^2 / (n sum x_i^2).

    ``throughput_bit_s`` has shape ``(flows,)`` or ``(flows, ...)``, for example flows by times. The
    result has the same shape without the first axis. Its values are from 1/n (one flow has all) to
    1 (all flows have their share), and NaN if all throughputs are 0. ``fair_share_bit_s`` is one
    number, which cancels out, or one number per flow. Raises ``ValueError`` for negative
    throughputs, for no flows, and for shares that are not positive.

    >>> float(jain_index([1e6, 1e6, 0.0, 0.0]))
    0.5
    >>> jain_index([[2.0, 1.0], [2.0, 0.0]]).tolist()
    [1.0, 0.5]
    """
    import numpy as np

    throughput = _throughputs(throughput_bit_s)
    share = np.asarray(fair_share_bit_s, dtype=np.float64)
    if not bool(np.all(share > 0)) or share.shape not in ((), throughput.shape[:1]):
        raise refuse("fair_share_bit_s", fair_share_bit_s, "above 0, and one number or one per flow")
    if share.shape:
        share = share.reshape(-1, *(1,) * (throughput.ndim - 1))
    x = throughput / share
    # The index does not depend on the scale. Scaling by the largest value avoids underflow of the
    # squares of tiny rates.
    largest = x.max(axis=0)
    x = x / np.where(largest > 0, largest, 1.0)
    squares = len(x) * np.sum(x**2, axis=0)
    index = np.full(squares.shape, np.nan)
    np.divide(np.sum(x, axis=0) ** 2, squares, out=index, where=squares > 0)
    return index


def utilisation(throughput_bit_s: ArrayLike, capacity_bit_s: float) -> FloatArray:
    """Returns eta_U = sum T_i / B, equation 18; shapes as for :func:`jain_index`. Raises
    ``ValueError``.

    >>> float(utilisation([512e3, 1024e3], 2048e3))
    0.75
    """
    import numpy as np

    require_positive("capacity_bit_s", capacity_bit_s)
    share: FloatArray = np.asarray(np.sum(_throughputs(throughput_bit_s), axis=0) / capacity_bit_s)
    return share


def round_trip_shares_bit_s(rate_bit_s: float, rtts_s: ArrayLike, queue_s: float) -> FloatArray:
    """Returns the shares of Reno flows with different round-trip times at a drop-tail queue, if all
    flows lose packets at the same times.

    Between two losses, at a distance of T, every window grows from W / 2 to W by one packet in each
    round trip: W = 2 T / RTT, and the mean rate is (3/2) T / RTT^2. So the shares are proportional
    to 1 / RTT^2 (Lakshman and Madhow, "The performance of TCP/IP for networks with high
    bandwidth-delay products and random loss", IEEE/ACM Transactions on Networking 5(3), 1997). The
    round-trip times ``rtts_s`` exclude the queue. The mean queueing delay is added: the mean of
    ``queue_s``, when the queue is full, and the delay of the rest that remains after all windows
    have been halved. Raises ``ValueError``.

    Limits: no slow start, no time-outs. If a loss does not affect all flows, the shares are closer
    to 1 / RTT.

    >>> round_trip_shares_bit_s(20e6, [0.05, 0.1], 0.0).round().tolist()
    [16000000.0, 4000000.0]
    """
    import numpy as np

    require_positive("rate_bit_s", rate_bit_s)
    require_not_negative("queue_s", queue_s)
    base = _throughputs(rtts_s)
    require_positive("least of rtts_s", float(base.min()))
    part: FloatArray = np.full(len(base), 1 / len(base))
    # The rest in the queue depends on the mean path, which depends on the shares. The fixed-point
    # iteration is a contraction.
    for _ in range(50):
        rest = max(0.0, (queue_s - float((part * base).sum())) / 2)
        weight = (base + (queue_s + rest) / 2) ** -2.0
        part = (part + weight / weight.sum()) / 2
    shares: FloatArray = rate_bit_s * part
    return shares


def _throughputs(throughput_bit_s: ArrayLike) -> FloatArray:
    import numpy as np

    throughput = np.asarray(throughput_bit_s, dtype=np.float64)
    require_at_least("number of flows in throughput_bit_s", len(throughput) if throughput.ndim else 0, 1)
    if throughput.size:
        require_not_negative("least of throughput_bit_s", float(throughput.min()))
        require_not_negative("greatest of throughput_bit_s", float(throughput.max()))
    return throughput
