"""Confidence intervals cover the mean as often as stated."""

from __future__ import annotations

import math

import numpy as np
import pytest
from bentpipe.statistics import batch_means, mean_of, student_quantile


def test_quantiles_are_those_of_the_tables() -> None:
    """The values of Abramowitz and Stegun, table 26.10."""
    for degrees, probability, value in (
        (1, 0.95, 6.314),
        (2, 0.975, 4.303),
        (5, 0.995, 4.032),
        (30, 0.975, 2.042),
    ):
        assert student_quantile(probability, degrees) == pytest.approx(value, abs=6e-4)


def test_the_relative_half_width_of_nothing_that_varies_is_zero() -> None:
    assert mean_of([5.0, 5.0]).relative == 0 and mean_of([0.0, 0.0]).relative == 0
    assert math.isinf(mean_of([-1.0, 1.0]).relative) and math.isnan(mean_of([3.0]).relative)


def test_the_text_of_a_single_value_has_no_interval() -> None:
    assert mean_of([2.5e6]).text(3, 1e6) == "2.500"
    # Student's t is 12.706 for one degree of freedom, the deviation 0.5 s / sqrt(2), so the half
    # width 0.25 * 12.706.
    assert mean_of([1.0, 1.5]).text(2) == "1.25 ± 3.18"


def correlated(seed: int, length: int, memory: float) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Returns an autoregressive process with mean 10."""
    from scipy.signal import lfilter

    noise = np.random.default_rng(seed).normal(size=length)
    return np.asarray(10 + lfilter([1.0], [1.0, -memory], noise), dtype=np.float64)


def test_batch_means_hold_the_mean_of_what_is_correlated_as_often_as_they_say() -> None:
    """For 200 sequences with a memory of ten observations, the 95 % interval covers the mean in
    about 190 (binomial: 182 to 197 with 99.9 %). The interval for independent values covers the
    mean in fewer than half."""
    time = np.arange(20_000.0)
    held = held_naively = believed = 0
    for seed in range(200):
        values = correlated(seed, len(time), 0.9)
        of = batch_means(time, values, batches=20)
        held += abs(of.mean.value - 10) <= of.mean.half_width
        believed += of.independent
        naive = mean_of(values[::1].tolist())
        held_naively += abs(naive.value - 10) <= naive.half_width
    assert 182 <= held <= 198 and believed >= 180
    assert held_naively < 100


def test_batches_that_are_too_short_are_not_believed() -> None:
    time = np.arange(2_000.0)
    found = [batch_means(time, correlated(seed, 2_000, 0.99), batches=50).independent for seed in range(50)]
    assert sum(found) < 5


def test_warm_up_is_left_out_and_an_empty_batch_refused() -> None:
    time = np.arange(1000.0)
    values = np.where(time < 100, 1e6, 1.0)
    assert batch_means(time, values, batches=10, warm_up_s=100.0).mean == (1.0, 0.0)
    with pytest.raises(ValueError, match="a batch of .* s has no observation"):
        batch_means(np.array([0.0, 1.0, 99.0]), np.ones(3), batches=10)
