"""Means with confidence intervals, over replications or by batches of one long run.

scipy provides the distributions. It is imported on demand, since the import takes longer than most
commands.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import fmean, stdev
from typing import TYPE_CHECKING, NamedTuple

from .predict.checks import require_at_least, require_probability

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class Mean(NamedTuple):
    """A mean and the half width of its confidence interval, which is NaN for a single value."""

    value: float
    half_width: float

    @property
    def relative(self) -> float:
        """The half width relative to the mean: 0 without variation, infinite for a mean of zero
        with variation."""
        if self.half_width == 0:
            return 0.0
        return abs(self.half_width / self.value) if self.value else math.inf

    def text(self, digits: int, size: float = 1.0) -> str:
        """Returns the mean and its half width in units of ``size``, or the mean alone if a single
        value gives no interval.

        >>> Mean(1.25, 0.125).text(2), Mean(1.25e6, math.nan).text(2, 1e6)
        ('1.25 ± 0.12', '1.25')
        """
        value = f"{self.value / size:.{digits}f}"
        return value if math.isnan(self.half_width) else f"{value} ± {self.half_width / size:.{digits}f}"


def student_quantile(probability: float, degrees: int) -> float:
    """Returns a quantile of Student's t distribution. Raises ``ValueError``.

    >>> round(student_quantile(0.975, 9), 3), round(student_quantile(0.975, 1), 3)  # tables: 2.262, 12.706
    (2.262, 12.706)
    """
    from scipy.special import stdtrit

    require_probability("probability", probability)
    require_at_least("degrees", degrees, 1)
    return float(stdtrit(degrees, probability))


def mean_of(values: Sequence[float], confidence: float = 0.95) -> Mean:
    """Returns the mean over replications and its confidence interval, assuming independent values
    with an approximately normal distribution.

    Raises ``ValueError`` without values.

    >>> mean_of([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0]).value
    5.5
    >>> round(mean_of([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0]).half_width, 2)
    2.17
    """
    require_at_least("number of values", len(values), 1)
    if len(values) == 1:
        return Mean(float(values[0]), math.nan)
    quantile = student_quantile((1 + confidence) / 2, len(values) - 1)
    return Mean(fmean(values), quantile * stdev(values) / math.sqrt(len(values)))


class BatchMeans(NamedTuple):
    """The mean of one long run, from the means of its batches. ``correlation`` is that of adjacent
    batches, and ``independent`` states whether it is small enough to trust the interval."""

    mean: Mean
    batches: int
    correlation: float
    independent: bool


def batch_means(
    time_s: NDArray[np.float64],
    values: NDArray[np.float64],
    *,
    batches: int = 20,
    warm_up_s: float = 0.0,
    end_s: float | None = None,
    confidence: float = 0.95,
) -> BatchMeans:
    """Returns the mean of a sequence of observations with its confidence interval by batch means
    (Law and Kelton, "Simulation Modeling and Analysis", 9.5.3): the time after ``warm_up_s`` is
    divided into ``batches`` of equal length, whose means are assumed to be independent.

    Independence is tested by von Neumann's ratio of the batch means at the 5 % level (one-sided, in
    the normal approximation of Young 1941). If it fails, use longer batches: a longer run or fewer
    batches. Raises ``ValueError`` for a batch without any observation.

    >>> import numpy as np
    >>> time, noise = np.arange(100_000.0), np.random.default_rng(1).normal(5.0, 1.0, 100_000)
    >>> of = batch_means(time, noise)
    >>> abs(of.mean.value - 5.0) < of.mean.half_width, of.independent
    (True, True)
    """
    import numpy as np

    require_at_least("batches", batches, 2)
    end = float(time_s[-1]) if end_s is None and len(time_s) else end_s or 0.0
    edges = np.linspace(warm_up_s, end, batches + 1)
    numbers = np.clip(np.searchsorted(edges, time_s, side="right") - 1, -1, batches - 1)
    inside = (time_s >= warm_up_s) & (time_s <= end) & ~np.isnan(values)
    counts = np.bincount(numbers[inside], minlength=batches)
    if end <= warm_up_s or (counts == 0).any():
        raise ValueError(
            f"a batch of {max(0.0, end - warm_up_s) / batches:g} s has no observation; use fewer batches or "
            "a longer run"
        )
    means = np.bincount(numbers[inside], values[inside], minlength=batches) / counts
    deviations = means - means.mean()
    squares = float((deviations**2).sum())
    correlation = float((deviations[1:] * deviations[:-1]).sum()) / squares if squares else 0.0
    # For independent batches, 1 - ratio / 2 is approximately normal with this variance.
    ratio = float((np.diff(means) ** 2).sum()) / squares if squares else 2.0
    spread = math.sqrt((batches - 2) / (batches**2 - 1))
    return BatchMeans(
        mean_of(means.tolist(), confidence), batches, correlation, 1 - ratio / 2 <= 1.645 * spread
    )
