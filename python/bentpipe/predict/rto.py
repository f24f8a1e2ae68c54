"""The retransmission time-out: RFC 6298, and the two differences of Linux.

RFC 6298: RTO = SRTT + max(G, 4 RTTVAR), at least 1 s (equation 2.3 and rule 2.4). Linux has no
minimum of the sum, but a minimum of 0.2 s for the variation term. Over a geostationary satellite,
both agree while the RTT varies. Over a low orbit, the RFC's time-out is a second, and Linux's a
quarter of a second.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final

from .checks import require_at_least, require_not_negative, require_positive

#: RFC 6298, rule 2.3: gains of the smoothed RTT and of its variation, and the factor K.
ALPHA: Final = 1 / 8
BETA: Final = 1 / 4
VARIATION_FACTOR: Final = 4


@dataclass(frozen=True)
class RtoEstimator:
    """State of the estimator; :meth:`after` returns the next one. Times in seconds.

    ``granularity_s`` is G. ``minimum_s`` is the minimum of the RTO (rule 2.4), and
    ``variation_floor_s`` the minimum of the term 4 RTTVAR. Raises ``ValueError``.

    >>> steady = RtoEstimator().after(0.56)
    >>> steady.rto_s, round(steady.after(0.56).rto_s, 3)
    (1.6800000000000002, 1.4)
    """

    srtt_s: float | None = None
    rttvar_s: float = 0.0
    minimum_s: float = 1.0
    granularity_s: float = 0.1
    variation_floor_s: float = 0.0

    def __post_init__(self) -> None:
        if self.srtt_s is not None:
            require_positive("srtt_s", self.srtt_s)
        require_not_negative("rttvar_s", self.rttvar_s)
        require_not_negative("minimum_s", self.minimum_s)
        require_not_negative("granularity_s", self.granularity_s)
        require_not_negative("variation_floor_s", self.variation_floor_s)

    @classmethod
    def like_linux(cls) -> RtoEstimator:
        """Returns an estimator with the usual settings of Linux: no minimum of the RTO, and 0.2 s
        for its variation term.

        >>> RtoEstimator.like_linux().after(0.03).rto_s
        0.23
        """
        return cls(minimum_s=0.0, granularity_s=0.0, variation_floor_s=0.2)

    def after(self, sample_s: float) -> RtoEstimator:
        """Returns the estimator after another measured RTT (rules 2.2 and 2.3; RTTVAR first, from
        the old SRTT)."""
        require_positive("sample_s", sample_s)
        if self.srtt_s is None:
            return replace(self, srtt_s=sample_s, rttvar_s=sample_s / 2)
        rttvar_s = (1 - BETA) * self.rttvar_s + BETA * abs(self.srtt_s - sample_s)
        return replace(self, srtt_s=(1 - ALPHA) * self.srtt_s + ALPHA * sample_s, rttvar_s=rttvar_s)

    @property
    def rto_s(self) -> float:
        """The time-out, not backed off; 1 s before the first sample (rule 2.1)."""
        if self.srtt_s is None:
            return 1.0
        variation_s = max(self.granularity_s, self.variation_floor_s, VARIATION_FACTOR * self.rttvar_s)
        return max(self.minimum_s, self.srtt_s + variation_s)


def rto_sequence_s(samples_s: Iterable[float], start: RtoEstimator | None = None) -> list[float]:
    """Returns the time-out after each sample, in seconds. Raises ``ValueError``.

    >>> [round(rto_s, 4) for rto_s in rto_sequence_s([0.56, 0.6, 0.58])]
    [1.68, 1.445, 1.2419]
    """
    estimator = RtoEstimator() if start is None else start
    sequence: list[float] = []
    for sample_s in samples_s:
        estimator = estimator.after(sample_s)
        sequence.append(estimator.rto_s)
    return sequence


def backed_off_rto_s(rto_s: float, timeouts: int, maximum_s: float = 60.0) -> float:
    """Returns the time-out after ``timeouts`` expiries in a row: doubled by each (rule 5.5), up to
    ``maximum_s`` (rule 2.5).

    A maximum of less than 60 s is refused, as rule 2.5 requires. Raises ``ValueError``.

    >>> [backed_off_rto_s(1.5, timeouts) for timeouts in (0, 1, 2, 6)]
    [1.5, 3.0, 6.0, 60.0]
    """
    require_positive("rto_s", rto_s)
    require_not_negative("timeouts", timeouts)
    require_at_least("maximum_s", maximum_s, 60.0)
    # 2^64 s is above any maximum. The limit prevents an overflow in a long outage.
    return float(min(maximum_s, rto_s * 2.0 ** min(timeouts, 64)))


def steady_rto_s(
    rtt_minimum_s: float,
    rtt_mean_s: float,
    rtt_maximum_s: float,
    minimum_s: float = 1.0,
    variation_floor_s: float = 0.0,
) -> float:
    """Returns the steady-state time-out for an RTT that is uniform between two bounds.

    RTTVAR tends to the mean absolute deviation, a quarter of the range, so 4 RTTVAR is the range;
    if the mean is not the middle of the range, this is an approximation. ``minimum_s`` is the
    minimum of the RTO, and ``variation_floor_s`` the minimum of 4 RTTVAR. Raises ``ValueError``.

    >>> round(steady_rto_s(1.534, 1.581, 1.628), 3)
    1.675
    >>> round(steady_rto_s(0.08, 0.08, 0.08, minimum_s=0.2, variation_floor_s=0.2), 3)  # Linux
    0.28
    """
    require_positive("rtt_minimum_s", rtt_minimum_s)
    require_at_least("rtt_mean_s", rtt_mean_s, rtt_minimum_s)
    require_at_least("rtt_maximum_s", rtt_maximum_s, rtt_mean_s)
    require_not_negative("minimum_s", minimum_s)
    require_not_negative("variation_floor_s", variation_floor_s)
    return max(minimum_s, rtt_mean_s + max(rtt_maximum_s - rtt_minimum_s, variation_floor_s))
