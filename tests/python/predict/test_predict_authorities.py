"""The predict instrument checked against tables that others computed from the cited papers and
RFCs."""

from __future__ import annotations

import csv
import doctest
import importlib
import pkgutil

import pytest
from bentpipe import predict
from helpers import ROOT

AUTHORITIES = ROOT / "tests" / "authorities"

Row = dict[str, str]


def table(name: str) -> list[Row]:
    with (AUTHORITIES / name).open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert rows, f"{name} is empty"
    return rows


#: The modules with equations.
EQUATIONS = [info.name for info in pkgutil.iter_modules(predict.__path__) if info.name != "prediction"]


@pytest.mark.parametrize("module", EQUATIONS)
def test_docstring_examples(module: str) -> None:
    result = doctest.testmod(importlib.import_module(f"bentpipe.predict.{module}"))
    assert result.attempted > 0
    assert result.failed == 0


def test_padhye_full_and_approximate_model() -> None:
    for row in table("tfrc/padhye_reference.csv"):
        probability, rtt_s, timeout_s = float(row["p"]), float(row["RTT_s"]), float(row["T0_s"])
        ack, window = float(row["b"]), float(row["Wmax_pkts"])
        approximate = predict.padhye_approximate_segments_s(
            probability, rtt_s, timeout_s, segments_per_ack=ack, window_maximum_segments=window
        )
        full = predict.padhye_full_segments_s(
            probability, rtt_s, timeout_s, segments_per_ack=ack, window_maximum_segments=window
        )
        # The table has four decimals.
        assert approximate == pytest.approx(float(row["padhye_approx_pps"]), abs=0.6e-4), row
        assert full == pytest.approx(float(row["padhye_full_pps"]), abs=0.6e-4), row


def test_tfrc_throughput_equation() -> None:
    for row in table("tfrc/tfrc_throughput_reference.csv"):
        p = float(row["p"])
        # The denominator is the reciprocal of the rate of segments of one byte at an RTT of one
        # second.
        assert 1 / predict.tfrc_rate_byte_s(p, 1.0, 1) == pytest.approx(
            float(row["f_p_b1_tRTO4R"]), abs=0.6e-9
        )
        for column, value in row.items():
            if column.startswith("X_Bps_s1460_R"):
                rtt_s = float(column.removeprefix("X_Bps_s1460_R"))
                assert predict.tfrc_rate_byte_s(p, rtt_s, 1460) == pytest.approx(float(value), abs=0.6e-3)


def test_tfrc_average_loss_interval() -> None:
    for row in table("tfrc/tfrc_loss_interval_cases.csv"):
        intervals = [float(interval) for interval in row["intervals_newest_first"].split(";")]
        mean = predict.mean_loss_interval_segments(intervals)
        assert mean == pytest.approx(float(row["I_mean"]), abs=0.6e-6)
        assert 1 / mean == pytest.approx(float(row["p"]), abs=0.6e-8)


def test_cubic_window_and_mean_window() -> None:
    kinds = set()
    for row in table("tcp/rfc9438_cubic_reference.csv"):
        kind, value = row["kind"], float(row["value"])
        kinds.add(kind)
        if kind.startswith("avg"):
            rtt_s, p = float(row["W_max_seg"]), float(row["t_s"])
            if kind == "avg_W_cubic_formula":
                mean = predict.cubic_mean_window_segments(
                    p, rtt_s, c=float(row["C"]), beta=float(row["beta"])
                )
            else:
                mean = predict.mathis_segments_s(p, rtt_s) * rtt_s
            assert mean == pytest.approx(value, abs=0.6e-6), row
            continue
        maximum, epoch, c = float(row["W_max_seg"]), float(row["cwnd_epoch_seg"]), float(row["C"])
        if kind == "K":
            assert predict.cubic_k_s(maximum, epoch, c=c) == pytest.approx(value, abs=0.6e-9), row
        else:
            window = predict.cubic_window_segments(float(row["t_s"]), maximum, epoch, c=c)
            # t is rounded to nine decimals and W grows by up to 3 C (t - K)^2 per second.
            assert window == pytest.approx(value, abs=1e-7), row
    assert kinds == {"K", "W_cubic", "avg_W_cubic_formula", "avg_W_reno_sqrt(1.5/p)"}


@pytest.mark.parametrize(
    ("start", "column"),
    [
        (predict.RtoEstimator(), "RTO_rfc6298_min1s_G0.1"),
        (predict.RtoEstimator.like_linux(), "RTO_linux_like_min0.2s_rttvar_floor"),
    ],
    ids=["rfc6298", "linux"],
)
def test_retransmission_timeout(start: predict.RtoEstimator, column: str) -> None:
    cases: dict[str, predict.RtoEstimator] = {}
    for row in table("tcp/rfc6298_rto_cases.csv"):
        estimator = cases.get(row["case"], start).after(float(row["R_s"]))
        cases[row["case"]] = estimator
        assert estimator.srtt_s == pytest.approx(float(row["SRTT_s"]), abs=1e-9), row
        assert estimator.rttvar_s == pytest.approx(float(row["RTTVAR_s"]), abs=1e-9), row
        assert estimator.rto_s == pytest.approx(float(row[column]), abs=1e-9), row


@pytest.mark.parametrize(
    ("rate_bit_s", "rtt_s", "published_s"),
    [(10e6, 0.5, 180), (2.048e6, 0.5, 30), (2.048e6, 1.5, 350)],
    ids=["forward, CRA", "return, CRA", "return, VBDC"],
)
def test_time_to_full_rate_of_the_dama_study(rate_bit_s: float, rtt_s: float, published_s: float) -> None:
    """The study's text gives these times and round-trip times, "about"; ssthresh is 20 segments
    there."""
    flow = predict.predict_flow(rate_bit_s, rtt_s, initial_window=1, ssthresh=20, duration_s=400)
    assert flow.limited_by == "rate"
    assert flow.time_to_fill_s == pytest.approx(published_s, rel=0.25)


def test_rbdc_upload_of_the_dama_study_is_between_constant_and_bursty() -> None:
    """The study's text gives about 50 s to the full rate of the return link."""
    constant, bursty = (
        predict.predict_flow(2.048e6, 0.5, scheme, 0.094, 11, initial_window=1, ssthresh=20).time_to_fill_s
        for scheme in ("rbdc-constant", "rbdc-bursty")
    )
    assert constant is not None and bursty is not None
    assert constant < 50 < bursty


def test_round_trip_times_of_the_dama_study() -> None:
    """The study's values for the return link: CRA about 500 ms; VBDC around 1500 ms; RBDC between
    500 and 1500 ms (superframe 94 ms, L = 11)."""
    cra, vbdc, rbdc = (predict.round_trip(0.5, scheme, 0.094, 11) for scheme in ("cra", "vbdc", "rbdc"))
    assert (cra.minimum_s, cra.maximum_s) == pytest.approx((0.5, 0.594))
    assert (vbdc.minimum_s, vbdc.maximum_s) == pytest.approx((1.534, 1.628))
    assert (rbdc.minimum_s, rbdc.maximum_s) == pytest.approx((0.5, 1.628))
    constant, bursty = (predict.round_trip(0.5, s, 0.094, 11) for s in ("rbdc-constant", "rbdc-bursty"))
    assert (constant, bursty) == (cra, vbdc)
