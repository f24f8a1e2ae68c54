"""Reliable multicast: the number of transmissions until every receiver has a segment, and the
number of negative acknowledgements after suppression (NORM, RFC 5740 and RFC 5401)."""

from __future__ import annotations

import math
from collections.abc import Sequence

from .checks import require_at_least, require_not_negative, require_positive

#: The series of transmissions ends with the first term below this value.
_NEGLIGIBLE = 1e-12


def transmissions_per_segment(loss_probabilities: Sequence[float]) -> float:
    """Returns the mean number of transmissions of a segment until every receiver has received one,
    if receiver i loses each transmission with the i-th probability, independently of the others.

    The sum over k >= 0 of 1 - (1 - p_1^k) ... (1 - p_R^k): transmission k + 1 takes place unless
    each receiver has received one of the first k. Source: D. Towsley, J. Kurose, S. Pingali, "A
    Comparison of Sender-Initiated and Receiver-Initiated Reliable Multicast Protocols", 1997. A
    loss on a link that several receivers share is one loss for all of them, so for such paths the
    sum is an upper bound. Raises ``ValueError``.

    >>> round(transmissions_per_segment([0.1]), 4), round(transmissions_per_segment([0.1] * 10), 4)
    (1.1111, 1.758)
    """
    require_at_least("receivers", len(loss_probabilities), 1)
    for loss in loss_probabilities:
        require_not_negative("loss_probability", loss)
        require_positive("1 - loss_probability", 1 - loss)
    total, lost = 0.0, [1.0] * len(loss_probabilities)
    while (term := 1 - math.prod(1 - one for one in lost)) >= _NEGLIGIBLE:
        total += term
        lost = [one * loss for one, loss in zip(lost, loss_probabilities, strict=True)]
    return total


def expected_nacks(
    receivers: int,
    backoff_s: float,
    suppression_s: float,
    group_size: float | None = None,
    *,
    steps: int = 20_000,
) -> float:
    """Returns the mean number of NACKs for a segment that all ``receivers`` miss.

    Each receiver waits for a random time of at most ``backoff_s`` (K GRTT), with the truncated
    exponential distribution of RFC 5401 for the group size, by default the number of receivers. It
    sends its NACK unless another one is known to it earlier: ``suppression_s`` after the first
    NACK. For unicast NACKs, this is the time to the source and of the advertisement back. With the
    density f and the distribution F, the mean is R times the integral of
    f(t) (1 - F(t - d))^(R - 1). Raises ``ValueError``.

    >>> round(expected_nacks(20, 0.4, 0.04), 2), round(expected_nacks(1, 0.4, 0.04), 2)
    (1.68, 1.0)
    """
    require_at_least("receivers", receivers, 1)
    require_positive("backoff_s", backoff_s)
    require_not_negative("suppression_s", suppression_s)
    size = receivers if group_size is None else group_size
    require_at_least("group_size", size, 1)
    growth = math.log(size) + 1

    def distribution(at_s: float) -> float:
        return math.expm1(growth * min(max(at_s, 0.0), backoff_s) / backoff_s) / math.expm1(growth)

    step = backoff_s / steps
    return receivers * sum(
        (distribution((index + 1) * step) - distribution(index * step))
        * (1 - distribution((index + 0.5) * step - suppression_s)) ** (receivers - 1)
        for index in range(steps)
    )
