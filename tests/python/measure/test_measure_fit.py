"""Scenarios that are generated from series, from statistics and from models."""

from __future__ import annotations

from pathlib import Path

import bentpipe as bp
import numpy as np
import polars as pl
import pytest
from bentpipe.cli import app
from bentpipe.measure import fitting
from bentpipe.series import read
from typer.testing import CliRunner


def test_a_mahimahi_trace_becomes_a_scenario_that_carries_its_rate(tmp_path: Path) -> None:
    # 12 Mbit/s for a second, 2.4 Mbit/s for the next.
    lines = [*range(1, 1001), *range(1005, 2001, 5)]
    (tmp_path / "lte.up").write_text("".join(f"{line}\n" for line in lines))
    out = tmp_path / "lte.toml"
    answer = CliRunner().invoke(app, ["fit", str(tmp_path / "lte.up"), "--out", str(out)])
    assert answer.exit_code == 0, answer.output
    assert set(read(tmp_path / "lte-series.csv").columns) == {"time", "rate"}
    assert (
        "Assumed, because the trace has no such column: delay (no delay), loss (no loss)" in out.read_text()
    )
    run = bp.simulate(out, out=tmp_path / "run")
    # TCP takes nearly all of the 1.2 Mbyte of opportunities, without the headers.
    offered = 1500 * len(lines)
    assert 0.75 * offered <= run.flows["delivered_bytes"][0] <= 0.98 * offered


def test_a_series_of_rate_delay_and_loss_becomes_a_scenario(tmp_path: Path) -> None:
    (tmp_path / "leo.csv").write_text("time,rate,delay,loss\n0,2e7,0.03,0\n15,1e7,0.05,0.01\n30,2e7,0.03,0\n")
    answer = CliRunner().invoke(app, ["fit", str(tmp_path / "leo.csv"), "--out", str(tmp_path / "leo.toml")])
    assert answer.exit_code == 0, answer.output
    run = bp.simulate(tmp_path / "leo.toml", out=tmp_path / "run")
    assert run.flows["rtt_min"][0] == pytest.approx(0.06, abs=0.002)


def test_a_trace_of_leoreplayer_becomes_a_scenario_with_its_rate_and_delay(tmp_path: Path) -> None:
    """12 Mbit/s for each line of a millisecond; delays of 24 ms, and of 40 ms in the second
    second."""
    lines = [*np.repeat(range(1000), 2), *range(1000, 2000)]
    (tmp_path / "bw_7.txt").write_text("".join(f"{line}\n" for line in lines))
    (tmp_path / "delay_7.txt").write_text("24\n" * 100 + "40.5\n" * 100)
    out = tmp_path / "leo.toml"
    answer = CliRunner().invoke(app, ["fit", str(tmp_path / "bw_7.txt"), "--out", str(out)])
    assert answer.exit_code == 0, answer.output
    assert "Assumed, because the trace has no such column: loss (no loss)" in out.read_text()
    series = read(tmp_path / "leo-series.csv")
    at = {time: series.filter(pl.col("time") <= time).row(-1, named=True) for time in (0.5, 1.5)}
    assert (at[0.5]["rate"], at[0.5]["delay"]) == (24e6, 0.024)
    assert (at[1.5]["rate"], at[1.5]["delay"]) == (12e6, 0.0405)
    run = bp.simulate(out, out=tmp_path / "run")
    assert run.flows["rtt_min"][0] == pytest.approx(0.048, abs=0.002)
    offered = 1500 * len(lines)
    assert 0.75 * offered <= run.flows["delivered_bytes"][0] <= 0.98 * offered
    for wrong in ("24\nmany\n", "-3\n", "nan\n", ""):
        (tmp_path / "delay_7.txt").write_text(wrong)
        answer = CliRunner().invoke(
            app, ["fit", str(tmp_path / "bw_7.txt"), "--out", str(tmp_path / "n.toml")]
        )
        assert answer.exit_code == 2 and "delay_7.txt" in answer.stderr


@pytest.mark.parametrize(
    "text", ["time;rate\n1;2\n", "time,speed\n0,1\n", "nonsense", "", "time,rate\n0,x\n", "time,rate\n"]
)
def test_invalid_series_are_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "bad.csv").write_text(text)
    out = tmp_path / "bad.toml"
    answer = CliRunner().invoke(app, ["fit", str(tmp_path / "bad.csv"), "--out", str(out)])
    assert answer.exit_code == 2 and "bad.csv" in answer.stderr and not out.exists()


def test_a_profile_keeps_the_distribution_and_the_correlation_in_time() -> None:
    # Delay that changes every 15 s, which independent samples would not preserve.
    source = np.random.default_rng(1)
    levels = np.repeat(source.uniform(0.03, 0.08, 80), 30)
    frame = pl.DataFrame({"time": np.arange(len(levels)) * 0.5, "delay": levels, "loss": levels * 0})
    drawn = fitting.profile({"forward": frame, "backward": frame}, 4800.0, seed=3)
    delay = drawn["forward"]["delay"].to_numpy()
    assert len(delay) == 9600 and drawn["backward"]["delay"].to_numpy().tolist() == delay.tolist()
    assert np.quantile(delay, [0.1, 0.5, 0.9]) == pytest.approx(np.quantile(levels, [0.1, 0.5, 0.9]), rel=0.1)
    # One in 30 steps of the series changes; blocks of 40 steps add one in 40.
    changes = float((np.diff(delay) != 0).mean())
    assert changes == pytest.approx(1 / 30 + 1 / 40, rel=0.25)
    again = fitting.profile({"forward": frame, "backward": frame}, 4800.0, seed=3)
    assert again["forward"].equals(drawn["forward"])


POISSON = """
name = "p"
duration = "200 s"
record = { traces = ["datagram"] }
[[link]]
name = "l"
from = "a"
to = "b"
rate = "1 Gbit/s"
delay = "1 ms"
[[flow]]
name = "f"
from = "a"
to = "b"
app = { kind = "cbr", rate = "80 kbit/s", datagram = "100 B", spacing = "exponential" }
transport = { kind = "udp" }
"""


def test_probes_of_a_scenario_are_a_poisson_process_as_in_the_measurement(tmp_path: Path) -> None:
    (tmp_path / "p.toml").write_text(POISSON)
    run = bp.simulate(tmp_path / "p.toml", out=tmp_path / "run")
    gaps = np.diff(run.trace("datagram", "f")["time"].to_numpy())
    # A hundred per second. The deviation of an exponential distribution equals its mean, and 1/e of
    # it lies above the mean.
    assert len(gaps) == pytest.approx(20_000, rel=0.03)
    assert gaps.std() == pytest.approx(0.01, rel=0.03)
    assert (gaps > 0.01).mean() == pytest.approx(np.exp(-1), abs=0.015)
