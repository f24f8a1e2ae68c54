"""Series of a link's rate, delay and loss: formats, and their effect on a link."""

from __future__ import annotations

import re
from pathlib import Path

import bentpipe as bp
import polars as pl
import pytest
from bentpipe import series
from bentpipe.cli import app
from bentpipe.measure.fitting import of_series
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner


@given(
    st.lists(st.integers(0, 3000), min_size=1, max_size=400).map(sorted).filter(lambda times: times[-1] > 0)
)
def test_a_mahimahi_trace_is_the_same_again_after_a_round_by_milliseconds(times: list[int]) -> None:
    frame = series.from_opportunities(times, step_ms=1)
    # An opportunity at 0 ms belongs to the first millisecond.
    assert series.to_opportunities(frame, times[-1] / 1e3) == [max(time, 1) for time in times]


def test_every_format_says_the_same(tmp_path: Path) -> None:
    frame = pl.DataFrame({"time": [0.0, 1.5, 2.0], "rate": [1e6, 3e6, 0.0], "delay": [0.1, 0.02, 0.02]})
    series.write(frame, tmp_path / "a.parquet")
    series.write(series.read(tmp_path / "a.parquet"), tmp_path / "a.csv")
    assert series.read(tmp_path / "a.csv").equals(frame)
    series.write(frame, tmp_path / "a.up", duration_s=3)
    # 1.5 s at 1 Mbit/s and 0.5 s at 3 Mbit/s are 250 packets of 1500 bytes.
    assert len((tmp_path / "a.up").read_text().split()) == 250


@pytest.mark.parametrize(
    ("name", "text", "word"),
    [
        ("a.csv", "time,rtt\n0,1\n", "rtt"),
        ("a.csv", "time,rate\n0,fast\n", "number"),
        ("a.up", "5\n3\n", "a.up:2"),
        ("a.up", "time,rate\n", "a.up:1"),
        ("a.up", "", "no packet"),
    ],
)
def test_what_is_no_series_is_refused(tmp_path: Path, name: str, text: str, word: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(bp.InputError, match=word):
        series.read(tmp_path / name)


@pytest.mark.parametrize(
    ("text", "line", "word"),
    [
        ("time,rate\n0,1e6\n# later\n\n1,-5\n", 5, 'rate of sample 2 is "-5"; allowed: a number from 0'),
        ("time,rate\n0,inf\n", 2, 'rate of sample 1 is "inf"'),
        ("time,rate\n0,1e20\n", 2, 'rate of sample 1 is "1e20"'),
        ("time,rate\n0,\n", 2, 'rate of sample 1 is ""'),
        ("time,delay\n0,nan\n", 2, 'delay of sample 1 is "nan"'),
        ("time,delay\n0,-0.5\n", 2, 'delay of sample 1 is "-0.5"'),
        ("# losses\ntime,loss\n0,7\n", 3, 'loss of sample 1 is "7"; allowed: a number from 0 to 1$'),
        ("time,loss\n0,0\n2,0\n1,0\n", 4, 'time of sample 3 is "1"; allowed: later than'),
        ("time,loss\n0,0\n0,0\n", 3, 'time of sample 2 is "0"; allowed: later than'),
        ("time,loss\n-1,0\n", 2, 'time of sample 1 is "-1"'),
    ],
)
def test_a_series_that_no_scenario_takes_is_refused_with_its_line(
    tmp_path: Path, text: str, line: int, word: str
) -> None:
    file, scenario = tmp_path / "a.csv", tmp_path / "a.toml"
    file.write_text("time,rate\n0,1e6\n")
    of_series(file, scenario)
    (tmp_path / "a-series.csv").write_text(text)
    assert {problem["line"] for problem in bp.check(scenario)} == {line}
    file.write_text(text)
    for words in (["trace", file, tmp_path / "b.csv"], ["fit", file, "--out", tmp_path / "b.toml"]):
        answer = CliRunner().invoke(app, [str(one) for one in words])
        assert answer.exit_code == 2, answer.output
        assert re.search(f"a.csv:{line}: {word}", answer.stderr.strip()), answer.stderr
    assert not list(tmp_path.glob("b*"))


@pytest.mark.parametrize(
    ("name", "content", "duration", "word"),
    [
        (
            "a.up",
            "1\n1700000000000\n",
            "3",
            r'a.up:2: "1700000000000" is not .* from 0 to 86400000 \(a day\)',
        ),
        ("a.up", f"1\n{'9' * 5000}\n", "3", 'a.up:2: "9{40}" is not'),
        ("a.csv", "time,rate\n0,inf\n", "3", "a.csv:2: rate"),
        ("a.csv", "time,rate\n0,1e14\n", "3", r"2.5e\+10 packets in 3 s .*; allowed: up to 10000000$"),
        ("a.csv", "time,rate\n0,1e6\n", "1e12", r"1e\+12 s .*; allowed: up to 86400 s"),
        ("a.csv", "time,rate\n0,1e6\n", "inf", "inf s .*; allowed: up to 86400 s"),
        (
            "a.parquet",
            [[1.0], [2.0]],
            "3",
            r'a.parquet: column "rate" is of type List\(Float64\); allowed: numbers',
        ),
    ],
)
def test_what_would_take_all_time_or_memory_is_refused(
    tmp_path: Path, name: str, content: str | list[list[float]], duration: str, word: str
) -> None:
    file = tmp_path / name
    if isinstance(content, str):
        file.write_text(content)
    else:
        pl.DataFrame({"time": [0.0, 1.0], "rate": content}).write_parquet(file)
    words = ["trace", str(file), str(tmp_path / "b.down"), "--duration", duration]
    answer = CliRunner().invoke(app, words)
    assert answer.exit_code == 2, answer.output
    assert re.search(word, answer.stderr.strip()), answer.stderr


@pytest.mark.parametrize(
    ("times", "rows"),
    [
        # mahimahi's trace of 12 Mbit/s: a packet in each millisecond, repeated forever.
        ([1], [(0.0, 12e6)]),
        ([*range(1, 1006)], [(0.0, 12e6)]),
        # 4 packets in 10 ms, none in 20 ms, and 3 in the last 6 ms.
        ([2, 4, 6, 8, 32, 34, 36], [(0.0, 4.8e6), (0.01, 0.0), (0.03, 6e6)]),
    ],
)
def test_a_trace_ends_with_its_last_packet_and_repeats_then(
    tmp_path: Path, times: list[int], rows: list[tuple[float, float]]
) -> None:
    trace, out = tmp_path / "lte.up", tmp_path / "lte.toml"
    trace.write_text("".join(f"{time}\n" for time in times))
    assert series.read(trace).rows() == rows
    of_series(trace, out)
    assert f'repeat = "{times[-1]} ms"' in out.read_text()
    # 3 s of datagrams faster than the trace use all its opportunities; their mean is that of one
    # period.
    flow = {"app": {"kind": "cbr", "rate": "20 Mbit/s", "datagram": "1472 B"}, "transport": "udp"}
    changed = {"duration": "3 s"} | {f"flow.upload.{key}": value for key, value in flow.items()}
    run = bp.simulate(out, overrides=changed, out=tmp_path / "run")
    offered = 3e3 / times[-1] * len(times)
    assert run.trace("datagram").height == pytest.approx(offered, rel=0.01)


def test_a_link_carries_what_the_trace_has_opportunities_for(tmp_path: Path) -> None:
    """An on-off trace of mahimahi: 10 packets in a row, then nothing for 90 ms, repeated forever;
    1.2 Mbit/s on average."""
    packets = [100 * burst + place for burst in range(20) for place in range(1, 11)] + [2000]
    (tmp_path / "on-off.down").write_text("".join(f"{time}\n" for time in packets))
    series.write(series.read(tmp_path / "on-off.down", step_ms=1), tmp_path / "on-off.csv")
    scenario = tmp_path / "scenario.toml"
    scenario.write_text(
        """
name = "on and off"
duration = "20 s"
[[link]]
name = "l"
from = "a"
to = "b"
rate = "1 Mbit/s"
delay = "10 ms"
queue = { kind = "drop-tail", packets = 50 }
trace = { samples = { file = "on-off.csv" }, repeat = "2 s" }
[[flow]]
name = "f"
from = "a"
to = "b"
app = { kind = "cbr", rate = "2 Mbit/s", datagram = "1472 B" }
transport = "udp"
"""
    )
    run = bp.simulate(scenario, out=tmp_path / "run")
    received = run.trace("datagram")
    # 201 opportunities in 2 s. All are used except nine at the start, when only two datagrams of
    # the ten had been sent.
    assert received.height == 10 * 201 - 9
    phase = (received["time"] - 0.010) % 0.1
    # Each packet leaves in one of the ten milliseconds of a burst, or in the one before the first.
    inside = ((phase <= 0.0101) | (phase >= 0.0985)).sum()
    assert inside == received.height
