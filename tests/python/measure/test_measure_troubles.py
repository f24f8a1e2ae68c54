"""Failures during a measurement are reported, and the measured data is kept."""

from __future__ import annotations

import json
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest
from bentpipe import measure
from bentpipe.cli import app
from bentpipe.measure import folder, sockets
from bentpipe.measure.summary import summarise
from bentpipe.results.runs import open_run
from helpers.measuring import KEY, LINK, measure_path, path, reflecting
from rigs.networks import Bentpipe, needs, networks
from typer.testing import CliRunner

pytestmark = pytest.mark.quiet


def test_a_step_of_the_reflectors_clock_is_reported_and_removed(tmp_path: Path) -> None:
    (tmp_path / "key").write_bytes(KEY)
    (tmp_path / "plan.toml").write_text('duration = "4 s"\nrate = 100\ntrain = 0\n')
    first: list[int] = []

    def clock() -> int:
        now = time.time_ns()
        first[:] = first or [now]
        return now + (1_500_000_000 if now - first[0] > 2_500_000_000 else 0)

    with reflecting(KEY, clock=clock) as (port, _):
        words = ["measure", "127.0.0.1", "--port", str(port), "--json"]
        words += [f"--{name}={tmp_path / file}" for name, file in (("key", "key"), ("plan", "plan.toml"))]
        answer = CliRunner().invoke(app, [*words, "--out", str(tmp_path / "run")])
    assert answer.exit_code == 0, answer.output
    document = json.loads(answer.stdout)
    (said,) = (one for one in document["fidelity"]["reasons"] if "shifted relative to each other" in one)
    assert float(said.rpartition(" at ")[2].split()[0]) == pytest.approx(2.4, abs=0.4)
    # Without the step's 1.5 s, the delays are those of loopback.
    for row in document["directions"]:
        assert -1e-3 < row["delay_least_low"] <= row["delay_least_high"] < 5e-3
        assert row["variation_p95"] < 50e-3 and row["lost"] == 0


def test_times_ignore_steps_of_this_hosts_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    state = {"monotonic": 10**12, "wall": 10**18}
    clocks = SimpleNamespace(
        monotonic_ns=lambda: state["monotonic"], time_ns=lambda: state["wall"], monotonic=time.monotonic
    )
    monkeypatch.setattr(sockets, "time", clocks)
    steady = sockets.MonotonicClock()
    assert steady.of(state["wall"]) == state["wall"] and steady.moved == 0
    # A second later the wall clock has been set back by 700 ms.
    state["monotonic"] += 10**9
    state["wall"] += 300_000_000
    assert steady.of(state["wall"]) == 10**18 + 10**9
    assert steady.moved == -700_000_000


PATH = (
    LINK
    + """
rate = "5 Mbit/s"
delay = "30 ms"
"""
)
#: After this many bytes no packet reaches the reflector's port; the handshake takes 184.
RULES = """
table ip middlebox {{
  chain stamp {{
    type filter hook input priority 0;
    udp dport 8620 quota over {quota} bytes drop
  }}
}}
"""


@networks
@needs("nft")
def test_a_middlebox_that_drops_stamp_is_reported_and_earlier_data_is_kept(
    bentpipe: Bentpipe, tmp_path: Path
) -> None:
    (tmp_path / "plan.toml").write_text('duration = "4 s"\nrate = 50\ntrain = 0\nsizes = ["140 B"]\n')
    with path(bentpipe, tmp_path, PATH):
        for name, quota in (("nothing", 200), ("half", 14_000)):
            (tmp_path / "rules").write_text(RULES.format(quota=quota))
            bentpipe("net", "exec", "server", "--", "nft", "-f", tmp_path / "rules")
            words = ["net", "exec", "user", "--", *bentpipe.start, "measure", "server", "--key", "key"]
            done = bentpipe.done(*words, "--plan", "plan.toml", "--out", name, cwd=tmp_path, timeout=60)
            bentpipe("net", "exec", "server", "--", "nft", "delete", "table", "ip", "middlebox")
            assert (tmp_path / name / "provenance.json").is_file(), done
            run = open_run(tmp_path / name)
            replied = run.trace("probe")["replied"]
            if name == "nothing":
                assert (
                    done.returncode == 1 and "but the path drops the probes or the replies" in done.stderr
                ), done
                assert not replied.any() and run.fidelity["verdict"] == "void"
            else:
                assert done.returncode == 0, done
                # Packets that passed are measured, and the report states that later packets had no
                # reply.
                last = int(replied.arg_true().max())  # type: ignore[arg-type]
                assert 60 < replied.sum() < 130 and replied[: last + 1].all()
                assert f"last {len(replied) - last - 1} packets had" in " ".join(done.stdout.split())
                rows = pl.read_parquet(tmp_path / name / "tables" / "direction.parquet")
                # The report blames neither direction, because the lossy one is unknown.
                assert rows["lost"].to_list() == [0, 0]
                low, high = rows.select("delay_least_low", "delay_least_high").row(0)
                assert low <= 0.0302 <= high


def test_an_interruption_of_the_path_is_reported(tmp_path: Path) -> None:
    """For 2 s no packet passes. Before and after, one of fifty is lost, which is no
    interruption."""
    at = np.arange(0, 10, 0.02)
    source = np.random.default_rng(5)
    passed = ((at < 4) | (at >= 6)) & ((source.random(len(at)) > 0.02) | (at > 9.9))
    sent = (1e9 * at).astype(np.int64) + 10**18
    own = np.where(passed, sent, 0)
    arrived, left, returned = (own + late * passed for late in (20_000_000, 20_100_000, 40_100_000))
    reply = np.where(passed, np.cumsum(passed) - 1, 0)
    size, train = np.full(len(at), 140), np.full(len(at), -1)
    seen = measure.Measured(
        measure.Plan(), size, train, sent, arrived, left, returned, reply, np.full(len(at), 64)
    )
    said = summarise(seen)
    ((begin, end),) = said.interruptions
    assert 3.9 <= begin < 4 and 6 <= end <= 6.1
    (note,) = (one for one in said.notes if "interrupted" in one)
    assert note.startswith(f"from {begin:.1f} to {end:.1f} s no packet had a reply")
    folder.free(tmp_path / "run")
    run = folder.write(tmp_path / "run", "host", 1, seen, said)
    assert run.fidelity["interruptions_s"] == [[begin, end]] and run.fidelity["verdict"] == "degraded"


QUEUES = (
    LINK
    + """
rate = "5 Mbit/s"
delay = "30 ms"
queue = { kind = "drop-tail", bytes = "100 kB" }
[link.return]
rate = "5 Mbit/s"
delay = "30 ms"
queue = { kind = "fq-codel" }
"""
)
LOADS = """
duration = "4 s"
rate = 30
train = 0
icmp = 20
"""
LOAD = """
[[load]]
kind = "udp"
direction = "{direction}"
rate = "6 Mbit/s"
duration = "2.5 s"
pause = "1 s"
"""


@networks
def test_icmp_shows_if_a_load_has_a_separate_queue(bentpipe: Bentpipe, tmp_path: Path) -> None:
    with path(bentpipe, tmp_path, QUEUES):
        plan = LOADS + "".join(LOAD.format(direction=one) for one in ("up", "down"))
        text = measure_path(bentpipe, tmp_path, plan)
    assert max(map(len, text.splitlines())) <= 80 and "ICMP" in text
    run = open_run(tmp_path / "run")
    assert run.fidelity["icmp"].endswith("had a reply")
    echoes, loads = run.trace("icmp"), run.trace("load")
    begins = {row["flow"]: row["start"] for row in run.flows.to_dicts()}
    for direction in ("up", "down"):
        begin = begins[f"udp-{direction}-1"]
        during = (echoes["time"] > begin + 1) & (echoes["time"] < begin + 2.3)
        times = echoes.filter(during & echoes["replied"])["round_trip"].to_numpy()
        own = loads.filter(loads["flow"] == f"udp-{direction}-1")["delay_high"].drop_nulls().to_numpy()
        assert np.quantile(own, 0.95) - own.min() > 0.1
        # 100 kB at 5 Mbit/s are 160 ms, in which ICMP waits as well; a fair queue has one queue for
        # each flow.
        if direction == "up":
            assert np.quantile(times, 0.95) > 0.06 + 0.1
        else:
            assert np.median(times) < 0.06 + 0.02
