"""Mutated input of measurements other than packets: plans, answers of a reflector, series, and run
folders."""

from __future__ import annotations

import contextlib
import shutil
import socket
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from bentpipe import measure
from bentpipe.errors import InputError
from bentpipe.measure import fitting, load_client, models, predicting
from bentpipe.measure.bulk import COUNTED
from bentpipe.measure.channel import Channel
from bentpipe.measure.folder import write
from bentpipe.measure.load import Item, Load
from bentpipe.measure.load_client import Outcome
from bentpipe.measure.plan import PLANS, Plan, read_plan
from bentpipe.measure.sockets import MonotonicClock
from bentpipe.measure.summary import summarise
from bentpipe.measure.tcplog import TcpLog
from bentpipe.results.runs import open_run
from helpers.measuring import KEY, Line, reflecting
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

#: A mutation of a file: bytes are replaced from an offset, and the following bytes are cut or kept.
CHANGES = st.tuples(st.integers(0, 5000), st.binary(min_size=1, max_size=8), st.booleans())


def changed(content: bytes, change: tuple[int, bytes, bool]) -> bytes:
    place, data, cut = change
    place %= max(1, len(content))
    return content[:place] + data + (b"" if cut else content[place + len(data) :])


PLAN = b"""
duration = "4 s"
schedule = "pairs"
sizes = ["140 B", "1400 B"]
[[load]]
kind = "tcp"
congestion = ["cubic"]
blocks = 2
[[load]]
kind = "transports"
rate = "5 Mbit/s"
"""


@given(st.one_of(st.binary(max_size=200), st.builds(changed, st.just(PLAN), CHANGES)))
def test_any_file_is_read_as_a_plan_or_refused(content: bytes) -> None:
    with tempfile.TemporaryDirectory() as name:
        file = Path(name) / "plan.toml"
        file.write_bytes(content)
        with contextlib.suppress(InputError):
            assert isinstance(read_plan(str(file)), Plan)
    assert all(isinstance(plan, Plan) for plan in PLANS.values())


#: A series, a LeoReplayer series (rate per millisecond, delay per ten), and a trace of mahimahi.
SERIES = {
    "a.csv": b"time,rate,delay,loss\n0,2e7,0.03,0\n15,1e7,0.05,0.01\n30,2e7,0.03,0\n",
    "leo.csv": b"time,rate,delay\n"
    + b"".join(b"%.3f,%d,0.03\n" % (k / 1e3, 12_000_000 * (k % 3)) for k in range(50)),
    "bw_1.txt": b"".join(b"%d\n" % (k // 2) for k in range(100)),
    "lte.up": b"".join(b"%d\n" % k for k in range(1, 200, 3)),
    "a.parquet": b"",
}


@settings(max_examples=150)
@given(st.sampled_from(sorted(SERIES)), st.binary(max_size=100), st.one_of(st.none(), CHANGES))
def test_any_series_becomes_a_scenario_or_is_refused(
    name: str, data: bytes, change: tuple[int, bytes, bool] | None
) -> None:
    import polars as pl

    with tempfile.TemporaryDirectory() as folder:
        file, out = Path(folder) / name, Path(folder) / "out.toml"
        content = SERIES[name]
        if name.endswith(".parquet"):
            pl.DataFrame({"time": [0.0, 1.0], "rate": [1e6, 2e6]}).write_parquet(file)
            content = file.read_bytes()
        file.write_bytes(data if change is None else changed(content, change))
        with contextlib.suppress(InputError):
            assert fitting.of_series(file, out)[0].read_text()


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A measured run with loads of every kind that a fit reads."""
    loads = (Load("udp", duration=0.2, pause=0.0), Load("burst", packets=50, pause=0.0))
    plan = Plan(duration=1.0, rate=100.0, train=0, loads=loads)
    folder = tmp_path_factory.mktemp("measured")
    with reflecting(KEY) as (port, _):
        seen = measure.probe("127.0.0.1", port, plan, KEY)
    write(folder, "here", 1, seen, summarise(seen))
    return folder


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_any_run_folder_is_fitted_or_refused(run: Path, data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as name:
        copy = Path(name) / "run"
        shutil.copytree(run, copy)
        files = sorted(file for file in copy.rglob("*") if file.is_file())
        file = data.draw(st.sampled_from(files))
        file.write_bytes(changed(file.read_bytes(), data.draw(CHANGES)))
        with contextlib.suppress(InputError):
            one = open_run(copy)
            fitting.series(one)
            models.scenario(one)
            predicting.quantities(one)


VALUES = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=6), st.just("ab" * 16)
)
ANSWERS = st.dictionaries(
    st.sampled_from(["name", "clock", "port", "error", "total", "ended", "reason", "lost", "options"]), VALUES
)
RECORDS = st.one_of(st.binary(max_size=40), st.just(np.zeros(2, dtype=COUNTED).tobytes()))


# A transfer that the reflector opens and never sends.
@example("tcp", "down", [({"name": "ab" * 16}, b"")])
@settings(max_examples=40)
@given(
    st.sampled_from(["tcp", "udp", "page", "survey", "transports", "burst"]),
    st.sampled_from(["up", "down"]),
    st.lists(st.tuples(ANSWERS, RECORDS), max_size=3),
)
def test_any_answer_of_a_reflector_ends_a_load_with_a_reason(
    kind: str, direction: str, messages: list[tuple[dict[str, Any], bytes]]
) -> None:
    line = Line(messages)
    with pytest.MonkeyPatch.context() as patch, socket.create_server(("127.0.0.1", 0)) as listener:
        for name in ("TIMEOUT_S", "REPORT_S"):
            patch.setattr(load_client, name, 0.02)
        patch.setattr(Channel, "opened", line.opened)
        patch.setattr("bentpipe.measure.page.TIMEOUT_S", 0.02)
        for name in ("survey.GAP_S", "transports.GAP_S", "load.COMPANION_S"):
            patch.setattr(f"bentpipe.measure.{name}", 1e-4)
        address = listener.getsockname()
        loads = load_client.Loads(socket.AF_INET, address, KEY, [], 1, MonotonicClock())
        load = Load(kind, direction, duration=0.02, packets=3, pages=1, rate=1e7)
        outcome = Outcome(Item("one", 0.0, load, "reno"))
        loads._log = TcpLog()
        try:
            loads._outcome(outcome)
        finally:
            loads.close()
            line.close()
