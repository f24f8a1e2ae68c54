"""Properties of predictions for any arguments, and equation 9 against an independent count."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import cast

import numpy as np
import pytest
from bentpipe import predict
from bentpipe.predict.cubic import CUBIC_BETA, CUBIC_C, CUBIC_RANDOM
from hypothesis import assume, given
from hypothesis import strategies as st

segments = st.integers(1, 20_000)
initial_windows = st.integers(1, 40)
thresholds = st.one_of(st.integers(1, 400), st.just(math.inf))
rtts_s = st.floats(0.005, 3.0)
losses = st.floats(1e-6, 0.4)
unknown = cast(predict.Scheme, "fca")


def count(transfer_segments: int, initial_window: float, ssthresh: float) -> int:
    """Counts round trips of data, window by window: written from RFC 5681, not from the code under
    test."""
    window, left, rounds = float(initial_window), float(transfer_segments), 0
    while left > 0:
        left -= window
        rounds += 1
        if window < ssthresh:
            window = min(window * 2, ssthresh)
        else:
            window += 1
    return rounds


def in_segments(transfer_segments: int, initial_window: float, ssthresh: float) -> predict.TransferTime:
    return predict.transfer_time(
        transfer_segments, scheme="none", segment_bytes=1, initial_window=initial_window, ssthresh=ssthresh
    )


@given(segments, st.sampled_from([1, 2, 4, 8]), st.integers(0, 7))
def test_equation_9_rounded_up_is_the_count_where_doubling_meets_ssthresh(
    transfer: int, initial: int, doublings: int
) -> None:
    ssthresh = initial * 2**doublings
    time = in_segments(transfer, initial, ssthresh)
    assert math.ceil(time.round_trips - 1e-9) == 1 + count(transfer, initial, ssthresh)
    assert time.counted_s == pytest.approx(0.5 * (1 + count(transfer, initial, ssthresh)))
    if transfer > 2 * ssthresh:
        assert time.printed_s == pytest.approx(time.total_s)
    assert time.shortest_s <= time.total_s <= time.longest_s


@given(segments, initial_windows, thresholds)
def test_equation_9_is_at_most_two_round_trips_below_the_count_everywhere(
    transfer: int, initial: int, ssthresh: float
) -> None:
    """The tolerance is one round by rounding up, and one if the sender's last step to ssthresh is
    shorter than a doubling."""
    time = in_segments(transfer, initial, ssthresh)
    assert -1e-9 <= count(transfer, initial, ssthresh) + 1 - time.round_trips < 2
    assert predict.count_round_trips(transfer, initial, ssthresh) == count(transfer, initial, ssthresh)
    assert time.slow_start_segments + time.congestion_avoidance_segments == transfer


@given(segments, initial_windows, thresholds)
def test_transfer_time_grows_with_size_and_falls_with_windows(
    transfer: int, initial: int, ssthresh: float
) -> None:
    """The tolerance of 0.1: a part of a round is taken as a line in congestion avoidance and as a
    curve in slow start."""
    trips = in_segments(transfer, initial, ssthresh).round_trips
    assert trips >= 2
    assert in_segments(transfer + 1, initial, ssthresh).round_trips >= trips - 1e-9
    assert in_segments(transfer, initial, ssthresh + 1).round_trips <= trips + 0.1
    assert in_segments(transfer, initial + 1, ssthresh).round_trips <= trips + 0.1


def test_edges_of_equation_9() -> None:
    one = in_segments(1, 1, 20)
    assert (one.round_trips, one.counted_s, one.printed_s) == (2.0, 1.0, 0.5)
    # Two windows of data from a window of ten: the printed formula counts only the handshake.
    assert in_segments(20, 10, math.inf).printed_round_trips == 1.0
    assert in_segments(30, 10, math.inf).round_trips == pytest.approx(1 + 2)
    # No slow start if ssthresh is below the initial window: 10 + 11 + 12.
    below = in_segments(33, 10, 2)
    assert (below.slow_start_round_trips, below.congestion_avoidance_round_trips) == pytest.approx((0.0, 3.0))
    # The branches meet at the end of slow start.
    assert in_segments(15, 1, 16).round_trips == pytest.approx(5.0)
    assert in_segments(16 + 15, 1, 16).round_trips == pytest.approx(6.0)


@given(st.floats(0, 1e7), st.floats(1, 1e4))
def test_the_root_of_equation_7_solves_it(left: float, first: float) -> None:
    n = predict.congestion_avoidance_round_trips(left, first)
    assert n >= 0
    assert n * first + n * (n - 1) / 2 == pytest.approx(left, rel=1e-9, abs=1e-9)


@given(st.integers(1, 3_000_000), rtts_s, st.floats(64e3, 50e6), initial_windows, thresholds)
def test_bounded_transfer_inverts_what_is_delivered(
    size: int, rtt_s: float, ceiling: float, initial: int, ssthresh: float
) -> None:
    def delivered(duration_s: float) -> float:
        return predict.delivered_bytes(
            duration_s,
            rtt_s=rtt_s,
            segment_bytes=1000,
            ceiling_bit_s=ceiling,
            initial_window=initial,
            ssthresh=ssthresh,
        )

    time_s = predict.bounded_transfer_time_s(
        size,
        rtt_s=rtt_s,
        segment_bytes=1000,
        ceiling_bit_s=ceiling,
        initial_window=initial,
        ssthresh=ssthresh,
    )
    assert time_s >= max(2 * rtt_s, 8 * size / ceiling) * (1 - 1e-12)
    if time_s > 2 * rtt_s:
        assert delivered(time_s) == pytest.approx(size, rel=1e-6)
    else:
        assert delivered(time_s) >= size * (1 - 1e-9)
    # A link rate can only increase the time of equation 9, except for the fraction of a round that
    # its logarithm allows.
    unbounded = predict.transfer_time(
        size,
        scheme="none",
        segment_bytes=1000,
        rtt0_s=rtt_s,
        initial_window=initial,
        ssthresh=ssthresh,
    )
    assert time_s >= unbounded.total_s - 0.6 * rtt_s


@given(st.floats(64e3, 20e6), rtts_s, initial_windows, thresholds, st.floats(0.1, 300))
def test_curve_of_a_long_flow(
    rate: float, rtt0_s: float, initial: int, ssthresh: float, duration_s: float
) -> None:
    flow = predict.predict_flow(
        rate, rtt0_s, "vbdc", 0.1, 10, initial_window=initial, ssthresh=ssthresh, duration_s=duration_s
    )
    curve = flow.curve
    assert curve.goodput_bit_s[0] == 0
    assert np.all(np.diff(curve.window_segments) >= 0)
    assert np.all(np.diff(curve.delivered_bytes) >= 0)
    assert np.all(curve.goodput_bit_s <= flow.steady_goodput_bit_s * (1 + 1e-9))
    assert 8 * curve.delivered_bytes[-1] / duration_s == pytest.approx(flow.goodput_bit_s)
    assert flow.goodput_low_bit_s <= flow.goodput_bit_s * (1 + 1e-9)
    assert flow.goodput_bit_s <= flow.goodput_high_bit_s * (1 + 1e-9)
    assert flow.time_to_fill_s is not None
    full = curve.goodput_bit_s >= flow.steady_goodput_bit_s * (1 - 1e-6)
    assert np.array_equal(
        full[:-1], (curve.time_s >= flow.time_to_fill_s - 1e-6 * flow.round_trip.mean_s)[:-1]
    )


@given(losses, rtts_s, st.floats(0.2, 5), st.sampled_from([1.0, 2.0]), st.floats(4, 1e4))
def test_response_functions_fall_with_loss_and_keep_their_order(
    p: float, rtt_s: float, timeout_s: float, ack: float, window: float
) -> None:
    def full(p: float) -> float:
        return predict.padhye_full_segments_s(p, rtt_s, timeout_s, segments_per_ack=ack)

    def approximate(p: float) -> float:
        return predict.padhye_approximate_segments_s(
            p, rtt_s, timeout_s, segments_per_ack=ack, window_maximum_segments=window
        )

    functions: list[Callable[[float], float]] = [
        full,
        approximate,
        lambda p: predict.mathis_segments_s(p, rtt_s, segments_per_ack=ack),
        lambda p: predict.padhye_triple_duplicate_segments_s(p, rtt_s, segments_per_ack=ack),
        lambda p: predict.cubic_segments_s(p, rtt_s),
        lambda p: predict.tfrc_rate_byte_s(p, rtt_s, timeout_s=timeout_s, segments_per_ack=ack),
    ]
    for function in functions:
        assert function(p) >= function(p * 1.1) > 0
    assert approximate(p) <= predict.mathis_segments_s(p, rtt_s, segments_per_ack=ack)
    assert approximate(p) <= window / rtt_s * (1 + 1e-12)


def test_limits_of_the_response_functions() -> None:
    """For small p all Reno models equal Mathis', and CUBIC equals Reno if the product of rate and
    delay is small."""
    p, rtt_s = 1e-9, 0.5
    mathis = predict.mathis_segments_s(p, rtt_s)
    assert predict.padhye_triple_duplicate_segments_s(p, rtt_s) == pytest.approx(mathis, rel=1e-3)
    assert predict.padhye_full_segments_s(p, rtt_s, 2.0) == pytest.approx(mathis, rel=1e-3)
    assert predict.padhye_approximate_segments_s(p, rtt_s, 2.0) == pytest.approx(mathis, rel=1e-3)
    assert predict.cubic_segments_s(0.01, 0.01) == predict.mathis_segments_s(0.01, 0.01)
    assert predict.cubic_segments_s(1e-6, 0.6) > 3 * predict.mathis_segments_s(1e-6, 0.6)


@given(st.lists(st.floats(0, 1e9), min_size=1, max_size=20), st.floats(1e-3, 1e3))
def test_jain_index_is_bounded_and_has_no_scale(throughputs: list[float], scale: float) -> None:
    assume(max(throughputs) > 1e-6)
    index = float(predict.jain_index(throughputs))
    assert 1 / len(throughputs) - 1e-12 <= index <= 1 + 1e-12
    assert float(predict.jain_index(np.array(throughputs) * scale)) == pytest.approx(index, rel=1e-9)
    share = predict.fair_share_bit_s(2048e3, len(throughputs))
    assert float(predict.jain_index(throughputs, share)) == pytest.approx(index, rel=1e-9)


def test_jain_index_over_times_with_weights_and_without_traffic() -> None:
    against_time = predict.jain_index([[0.0, 4.0, 2.0], [0.0, 0.0, 1.0]], [2.0, 1.0])
    assert math.isnan(against_time[0])
    assert against_time[1:].tolist() == [0.5, 1.0]
    assert predict.utilisation([[1.0, 2.0], [1.0, 2.0]], 4.0).tolist() == [0.5, 1.0]


def test_cubic_under_random_losses_is_the_mean_of_its_chain() -> None:
    """The chain of windows at losses, with exponential numbers of segments between losses and RTT /
    p = 1."""
    source = np.random.default_rng(1)
    c, beta = CUBIC_C, CUBIC_BETA
    epoch, maximum = np.full(4000, beta), np.ones(4000)
    segments = seconds = 0.0
    for number in range(60):
        sent = source.exponential(size=len(epoch))
        k = np.cbrt((maximum - epoch) / c)
        low, high = np.zeros_like(sent), sent / epoch
        for _ in range(45):
            # The window never falls within an epoch, so bisection finds the time that `sent` takes.
            middle = (low + high) / 2
            short = c * ((middle - k) ** 4 - k**4) / 4 + maximum * middle < sent
            low, high = np.where(short, middle, low), np.where(short, high, middle)
        lost = c * (low - k) ** 3 + maximum
        if number >= 10:
            segments, seconds = segments + sent.sum(), seconds + low.sum()
        # RFC 9438, sections 4.6 and 4.7.
        maximum, epoch = np.where(lost < maximum, lost * (1 + beta) / 2, lost), beta * lost
    assert segments / seconds == pytest.approx(CUBIC_RANDOM, rel=0.01)
    rtt_s, p = 0.6, 1e-5
    assert predict.cubic_segments_s(p, rtt_s) == pytest.approx(CUBIC_RANDOM * (rtt_s / p) ** 0.75 / rtt_s)


def test_prediction_names_what_limits_the_flow_and_is_json() -> None:
    free = predict.predict_flow(10e6, 0.5, duration_s=600)
    window = predict.predict_flow(10e6, 0.5, duration_s=600, window_bytes=65_536)
    loss = predict.predict_flow(
        10e6, 0.5, "rbdc", 0.094, 11, size_bytes=2_000_000, duration_s=600, loss_probability=0.01
    )
    cubic = predict.predict_flow(10e6, 0.5, duration_s=600, loss_probability=1e-3, response="cubic")
    assert [flow.limited_by for flow in (free, window, loss, cubic)] == ["rate", "window", "loss", "loss"]
    assert window.time_to_fill_s is None
    assert window.steady_goodput_bit_s == pytest.approx(65_536 * 8 / 0.5)
    assert cubic.steady_goodput_bit_s == pytest.approx(8 * 1460 * predict.cubic_segments_s(1e-3, 0.5))
    assert loss.transfer is not None and loss.bounded_transfer_s is not None and loss.loss_bounds is not None
    assert loss.bounded_transfer_s > loss.transfer.total_s
    assert loss.active_s == loss.bounded_transfer_s
    assert loss.goodput_bit_s == pytest.approx(16e6 / loss.active_s)
    assert loss.loss_bounds.padhye_full_bit_s < loss.loss_bounds.mathis_bit_s
    for flow in (free, window, loss, cubic):
        read_back = json.loads(json.dumps(flow.as_dict(), allow_nan=False))
        assert read_back["steady_goodput_bit_s"] == flow.steady_goodput_bit_s
        assert len(read_back["curve"]["time_s"]) == 401


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: predict.round_trip(-1, "cra", 0.1, 11), "rtt0_s = -1 is not allowed: must be above 0"),
        (
            lambda: predict.round_trip(1, unknown, 0.1, 11),
            "scheme = 'fca' is not allowed: must be one of none, cra",
        ),
        (lambda: predict.transfer_time(0, scheme="cra"), "size_bytes = 0"),
        (lambda: predict.transfer_time(1, scheme="cra", initial_window=0.5), "initial_window = 0.5"),
        (lambda: predict.transfer_time(1, scheme="cra", ssthresh=math.nan), "ssthresh = nan"),
        (
            lambda: predict.padhye_full_segments_s(1.0, 0.5, 1),
            "loss_probability = 1.0 .* above 0 and below 1",
        ),
        (lambda: predict.tfrc_rate_byte_s(0, 0.5), "loss_event_rate = 0 .* above 0 and at most 1"),
        (lambda: predict.mean_loss_interval_segments([1] * 10), "from 2 to 9"),
        (lambda: predict.cubic_k_s(10, 11), "window_epoch = 11 .* at most window_maximum = 10"),
        (lambda: predict.efficiency(2, 1), "used_bit_s = 2 .* from 0 to assigned_bit_s = 1"),
        (lambda: predict.jain_index([1, -1]), "least of throughput_bit_s = -1.0"),
        (lambda: predict.jain_index([1, 1], [1, 1, 1]), "fair_share_bit_s"),
        (lambda: predict.RtoEstimator().after(0), "sample_s = 0"),
        (lambda: predict.backed_off_rto_s(1, 1, 10), "maximum_s = 10 is not allowed: must be 60 or more"),
        (lambda: predict.predict_flow(math.inf, 0.5), "rate_bit_s = inf .* finite"),
        (lambda: predict.predict_flow(1e6, 0.5, loss_probability=1), "loss_probability = 1"),
    ],
)
def test_bad_arguments_are_named_with_their_range(call: Callable[[], object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()
