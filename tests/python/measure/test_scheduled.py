"""Accesses with slots: fitted to observations of known accesses, and scored against them."""

from __future__ import annotations

import json
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import bentpipe
import numpy as np
import polars as pl
import pytest
from bentpipe.cli import app
from bentpipe.errors import InputError
from bentpipe.measure import dish, fitting, scheduled, score
from bentpipe.scenario.scenarios import load
from typer.testing import CliRunner

if TYPE_CHECKING:
    from bentpipe.results.runs import Run

KNOWN = """name = "Known"
duration = "60 s"

[[link]]
name = "access"
from = "server"
to = "user"
rate = "40 Mbit/s"
delay = "20 ms"
slots = { offset = "4 s", hole = "50 ms", level = 0.15, wander = 0.1, correlation = "1 s", noise = 0.2, step = "20 ms" }
queue = { kind = "drop-front", packets = 500 }

[link.jitter]
kind = "sum"
parts = [
  { kind = "bursts", least = "2 ms", most = "6 ms" },
  { kind = "spikes", offset = "4020 ms", peak = "25 ms", lasts = "70 ms", recovery = "30 ms" },
]

[[flow]]
name = "download"
from = "server"
to = "user"
app = "bulk"
transport = "tcp"
"""


#: The path that is observed.
ENDS = ("server", "user")


@pytest.fixture(scope="module")
def observed() -> scheduled.Access:
    """Ten minutes of the known access, with delays in steps of 10 ms as in the files of
    LeoReplayer."""
    found = score.observe(load(scheduled_text()), ENDS, 600.0)
    return replace(found, delay_times=np.floor(found.delay_times / 10) * 10)


def scheduled_text() -> dict[str, object]:
    return tomllib.loads(KNOWN)


def test_the_keys_of_a_known_access_are_found(observed: scheduled.Access) -> None:
    found = scheduled.fit(observed)
    assert found.grid is not None
    assert found.grid.every == pytest.approx(15_000, abs=5)
    # At the receiver, holes begin after the delay.
    assert found.grid.offset == pytest.approx(4_020, abs=15)
    assert found.hole == pytest.approx(50, abs=10)
    assert found.peak == pytest.approx(25, abs=4)
    assert found.rate == pytest.approx(40e6, rel=0.1)
    # 40 levels: the standard error of a deviation is 11 %.
    assert found.level == pytest.approx(0.15, rel=0.4)
    assert found.wander == pytest.approx(0.1, rel=0.2)
    assert found.correlation == pytest.approx(1_000, rel=0.35)
    assert found.noise == pytest.approx(0.2, rel=0.2)
    assert found.delay == pytest.approx(20, abs=1.5)


#: Largest differences between the known and the fitted access, relative or in the unit of the
#: property. They include the spread of 40 levels.
TOLERANCES = {"Mbit/s": (0.1, 0.0), "": (0.0, 0.1), "ms": (0.0, 2.0), "s": (0.0, 0.05)}


def test_the_fitted_scenario_behaves_as_the_trace(observed: scheduled.Access, tmp_path: Path) -> None:
    file = tmp_path / "fitted.toml"
    file.write_text(scheduled.scenario(scheduled.fit(observed), "trace"), encoding="utf-8")
    fitted = score.observe(load(file), ENDS, 600.0, 1)
    for name, unit, of in score.properties(observed):
        relative, absolute = TOLERANCES[unit]
        most = 20.0 if name.startswith("length") else absolute
        assert of(fitted) == pytest.approx(of(observed), rel=relative, abs=most), name


def test_an_access_without_slots_gets_a_low_score(observed: scheduled.Access) -> None:
    constant = ["link.access.jitter=none", "link.access.slots.hole=0 s", "link.access.slots.level=0.0"]
    plain = load(scheduled_text(), constant)
    lines = score.score(observed, [score.observe(plain, ENDS, 60.0, run) for run in range(4)])
    outside = {line.name for line in lines if not line.inside}
    assert outside >= {
        "rate, 5 % quantile",
        "delay, 50 % quantile",
        "spacing of holes",
        "length of holes, median",
    }


def test_a_trace_without_slots_is_refused() -> None:
    steady = scheduled.Access(np.full(60_000, 1500.0), np.array([]), np.array([]))
    with pytest.raises(InputError, match="fewer than three of them on a grid"):
        scheduled.fit(steady)


def written(folder: Path, number: int, access: scheduled.Access) -> Path:
    """Writes an observation as a trace of LeoReplayer."""
    opportunities = np.repeat(np.arange(access.end_ms), np.round(access.deliveries / 1500).astype(int))
    file = folder / f"bw_{number}.txt"
    file.write_text("\n".join(map(str, opportunities[opportunities > 0])) + "\n", encoding="utf-8")
    delays = [f"{access.delays[access.delay_times >= at][0]:.3f}" for at in range(0, access.end_ms - 500, 10)]
    (folder / f"delay_{number}.txt").write_text("\n".join(delays) + "\n", encoding="utf-8")
    return file


def minute(observed: scheduled.Access) -> scheduled.Access:
    """The first minute of an observation."""
    kept = observed.delay_times < 60_000
    return scheduled.Access(observed.deliveries[:60_000], observed.delays[kept], observed.delay_times[kept])


def test_both_directions_share_the_grid(observed: scheduled.Access, tmp_path: Path) -> None:
    """The return direction is too slow to show its holes, so it takes the grid of the other."""
    down = minute(observed)
    # A packet every 30 to 90 ms.
    slow = np.zeros(down.end_ms)
    slow[np.cumsum(np.random.default_rng(1).integers(30, 90, down.end_ms // 90))] = 1500.0
    files = [written(tmp_path, 1, down), written(tmp_path, 2, replace(down, deliveries=slow))]
    out = tmp_path / "access.toml"
    call = ["fit", "--kind", "leo-scheduled", str(files[0]), "--return", str(files[1]), "--out", str(out)]
    result = CliRunner().invoke(app, call)
    assert result.exit_code == 0, result.output
    there = tomllib.loads(out.read_text(encoding="utf-8"))["link"][0]
    back = there["return"]
    assert [back["slots"][key] for key in ("every", "offset")] == [
        there["slots"][key] for key in ("every", "offset")
    ]
    rate = 8e3 * slow.sum() / np.flatnonzero(slow)[-1]
    assert 1e3 * int(back["rate"].removesuffix(" kbit/s")) == pytest.approx(rate, rel=0.05)


def controls(scenario: dict[str, Any], congestion: str) -> tuple[float, int]:
    """Returns goodput and retransmissions of five downloads, which start at different times."""
    link = scenario["link"][0]
    flow = {"name": "download", "from": link["from"], "to": link["to"], "app": "bulk"}
    goodput, again = 0.0, 0
    for start in (0, 3, 7, 11, 13):
        run = bentpipe.simulate(
            scenario
            | {"duration": f"{start + 40} s", "seed": start + 1}
            | {"link": [link | {"queue": {"kind": "drop-front", "packets": 500}}]}
            | {
                "flow": [
                    flow | {"start": f"{start} s", "transport": {"kind": "tcp", "congestion": congestion}}
                ]
            }
        )
        row = run.flows.to_dicts()[0]
        goodput, again = goodput + row["goodput"], again + row["retransmissions"]
    return goodput, again


class MeasuredRun:
    """A measured run with a load towards this host from 30 s on, and probes before."""

    path = Path("measured")

    def __init__(self, access: scheduled.Access, lost: int) -> None:
        at = np.repeat(np.arange(access.end_ms), np.round(access.deliveries / 1500).astype(int))
        quiet = access.delay_times < 30_000
        self.flows = pl.DataFrame(
            {"flow": ["load"], "app": ["cbr"], "from": ["there"], "to": ["here"]}
            | {"sent_packets": [len(at) + lost], "delivered_packets": [len(at)]}
        )
        probes = {"time": access.delay_times[quiet] / 1e3, "quiet": True, "replied": True, "train": -1}
        half = access.delays[quiet] / 1e3
        probes |= {"backward_low": half - 1e-4, "backward_high": half + 1e-4}
        load = {"time": 30 + at / 1e3, "payload": 1472}
        self.frames = {"datagram": pl.DataFrame(load), "probe": pl.DataFrame(probes)}
        self.traces: dict[str, list[str]] = {name: [] for name in self.frames}

    def trace(self, name: str, _entity: str | None = None) -> pl.DataFrame:
        return self.frames[name]


def test_a_measured_run_shows_rate_and_delay_at_different_times(observed: scheduled.Access) -> None:
    """The load starts 30 s after the probes, two slots later, so the grid has the same phase."""
    down, up = scheduled.of_run(cast("Run", MeasuredRun(minute(observed), 1)))
    assert up is None and down is not None
    fit, direct = scheduled.fit(down), scheduled.fit(minute(observed))
    assert fit.grid is not None and direct.grid is not None
    assert fit.rate == pytest.approx(direct.rate, rel=0.001)
    assert fit.grid.every == pytest.approx(direct.grid.every, rel=0.001)
    # Times count from the first arrival.
    first = float(np.flatnonzero(minute(observed).deliveries)[0])
    assert fit.grid.offset == pytest.approx(direct.grid.offset - first, abs=1)
    assert fit.delay == pytest.approx(direct.delay, abs=2)
    assert fit.peak == pytest.approx(direct.peak, abs=8)
    with pytest.raises(InputError, match="no load of datagrams that lost packets"):
        scheduled.of_run(cast("Run", MeasuredRun(minute(observed), 0)))


@pytest.mark.parametrize("congestion", ["reno", "cubic", "bbr"])
def test_controls_behave_as_over_the_replayed_trace(
    observed: scheduled.Access, congestion: str, tmp_path: Path
) -> None:
    file = written(tmp_path, 1, minute(observed))
    replay, fitted = tmp_path / "replay.toml", tmp_path / "fitted.toml"
    fitting.of_series(file, replay)
    fitted.write_text(scheduled.scenario(scheduled.fit(scheduled.read(file)), file.name), encoding="utf-8")
    (real, lost), (model, again) = (controls(load(one).data, congestion) for one in (replay, fitted))
    assert model == pytest.approx(real, rel=0.15)
    assert 2 / 3 <= (again + 1) / (lost + 1) <= 1.5, (again, lost)


def history(seed: int, phase: int) -> dict[str, Any]:
    """Returns the answer of a dish after an hour: a level of the round-trip time in each slot,
    losses of 1 %, and outages of 5 s on average that begin 36 times per hour."""
    source = np.random.default_rng(seed)
    count, size = 3600, 900
    slot = (np.arange(count) - (count - size) - phase) // 15
    rtt = 45 + source.normal(0, 6, count)[slot] + source.normal(0, 1.5, count)
    loss = np.where(source.random(count) < 0.1, 0.1, 0.0)
    out = False
    for at in range(count):
        out = source.random() < (0.8 if out else 0.01)
        loss[at] = 1.0 if out else loss[at]
    values = {
        "popPingLatencyMs": np.where(loss < 1, rtt, 0.0),
        "popPingDropRate": loss,
        "downlinkThroughputBps": np.full(count, 20e6),
        "uplinkThroughputBps": np.full(count, 3e6),
    }
    # The ring buffer: sample k is at k modulo the length.
    rings = {name: np.roll(all_of[-size:], count % size).tolist() for name, all_of in values.items()}
    return {"apiVersion": "25", "dishGetHistory": {"current": str(count), **rings}}


@pytest.mark.parametrize("phase", [0, 7])
def test_the_history_of_a_dish_becomes_an_access(phase: int, tmp_path: Path) -> None:
    file, out = tmp_path / "history.json", tmp_path / "access.toml"
    answer = history(phase, phase)
    file.write_text(json.dumps(answer), encoding="utf-8")
    result = CliRunner().invoke(app, ["fit", "--kind", "leo-scheduled", str(file), "--out", str(out)])
    assert result.exit_code == 0, result.output
    found = dish.fit(dish.read(file))
    assert found.phase == phase
    # 60 slots.
    assert found.level == pytest.approx(6.0, rel=0.3)
    assert found.wander == pytest.approx(1.5, rel=0.2)
    assert found.loss == pytest.approx((0.01, 1.0), abs=0.002)
    out_s = dish.read(file).loss == 1
    starts = int((~out_s[:-1] & out_s[1:]).sum())
    assert found.begins == pytest.approx(starts / (~out_s).sum(), rel=0.01)
    assert found.ends == pytest.approx(starts / out_s.sum(), rel=0.25)
    link = load(out).data["link"][0]
    assert (link["rate"], link["return"]["rate"]) == ("20 Mbit/s", "3 Mbit/s")

    ends = [("down", "server", "user"), ("up", "user", "server")]
    app_of = {"kind": "cbr", "rate": "8 kbit/s", "datagram": "100 B"}
    flows = [
        {"name": name, "from": one, "to": other, "app": app_of, "transport": "udp"}
        for name, one, other in ends
    ]
    rows = bentpipe.simulate(load(out).data | {"duration": "3600 s", "flow": flows}).flows.to_dicts()
    rtt, loss = dish.read(file).rtt, dish.read(file).loss
    assert 1e3 * sum(row["delay_mean"] for row in rows) == pytest.approx(float(np.nanmean(rtt)), abs=1.2)
    delivered = np.prod([1 - row["loss"] for row in rows])
    assert 1 - delivered == pytest.approx(loss.mean(), abs=0.03)


def test_a_history_with_another_notation_and_a_short_one(tmp_path: Path) -> None:
    """protobuf can also write the names of the messages with underscores, and after a start the
    ring buffer is not full."""
    answer = history(1, 3)["dishGetHistory"]
    names = {"popPingLatencyMs": "pop_ping_latency_ms", "popPingDropRate": "pop_ping_drop_rate"}
    names |= {
        "downlinkThroughputBps": "downlink_throughput_bps",
        "uplinkThroughputBps": "uplink_throughput_bps",
    }
    other = {"current": 30} | {names[name]: answer[name] for name in names}
    file = tmp_path / "history.json"
    file.write_text(json.dumps({"dish_get_history": other}), encoding="utf-8")
    assert dish.read(file).loss.tolist() == answer["popPingDropRate"][:30]
    with pytest.raises(InputError, match="seconds with a reply; allowed: at least 60"):
        dish.fit(dish.read(file))
    file.write_text('{"dishGetStatus": {}}', encoding="utf-8")
    with pytest.raises(InputError, match="has no current"):
        dish.read(file)
