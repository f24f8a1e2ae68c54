"""The tables of results that commands print."""

from __future__ import annotations

import html
import shlex
from pathlib import Path
from typing import Any

import bentpipe as bp
import numpy as np
import pytest
from bentpipe.predict.prediction import predict_scenario
from bentpipe.quantities import number
from bentpipe.report import page
from bentpipe.results.comparison import compare
from bentpipe.results.flows import flow_results
from bentpipe.results.groups import group_table
from rigs import commands
from rigs.networks import networks

LINK = {"name": "sat", "from": "a", "to": "b", "rate": "2 Mbit/s", "delay": "250 ms"}
CALL = {
    "name": "call",
    "from": "a",
    "to": "b",
    "app": {"kind": "voice", "codec": "G.711u"},
    "transport": "udp",
}


def written(folder: Path, *flows: dict[str, Any]) -> Path:
    scenario = bp.load({"name": "calls", "duration": "20 s", "link": [LINK], "flow": list(flows)})
    file = folder / "scenario.toml"
    file.write_text(scenario.toml, encoding="utf-8")
    return file


def test_calls_are_shown_with_their_quality(tmp_path: Path) -> None:
    file = written(tmp_path, CALL)
    shown = commands.call("simulate", file, "--out", tmp_path / "run").output
    run = bp.open_run(tmp_path / "run")
    heard = run.flows.filter(run.flows["flow"] == "call").row(0, named=True)
    mos = number(heard["voice_mos"])
    quality = shown[shown.index("MOS") :]
    row = next(line.split() for line in quality.splitlines() if line.startswith(" call "))
    # One call began, and part of it was heard.
    assert row == ["call", mos, "0", number(1e3 * heard["voice_delay"]), "1", "1", "0"]
    assert "<th>MOS</th>" in page([run]) and f"<td>{mos}</td>" in page([run])


def test_calls_are_shown_with_their_set_up(tmp_path: Path) -> None:
    """With SIP, the caller hears the ringing after a round trip of 100 ms, and the answer 2 s
    later. The messages take a few milliseconds on the link."""
    link = LINK | {"delay": "50 ms"}
    app = {"kind": "calls", "calls": 1, "answer": "2 s"}
    flow = {"name": "calls", "from": "a", "to": "b", "app": app, "transport": "sip"}
    scenario = bp.load({"name": "calls", "duration": "20 s", "link": [link], "flow": [flow]})
    file = tmp_path / "scenario.toml"
    file.write_text(scenario.toml, encoding="utf-8")
    shown = commands.call("simulate", file, "--out", tmp_path / "run").output
    found = flow_results(bp.open_run(tmp_path / "run"))[0]
    assert found.post_dial_delay == pytest.approx(0.1, abs=0.02)
    assert found.answer_delay == pytest.approx(2.1, abs=0.04)
    set_up = shown[shown.index("post-dial") :]
    row = next(line.split() for line in set_up.splitlines() if line.startswith(" calls "))
    times = (found.post_dial_delay, found.post_dial_delay_p95, found.answer_delay)
    assert row[1:] == [number(time) for time in times]


def test_transfers_and_pages_are_shown_with_the_time_that_they_took(tmp_path: Path) -> None:
    """The time is next to the predicted one, in the same unit as in a comparison."""
    bulk = {"name": "file", "from": "a", "to": "b", "app": {"kind": "bulk", "size": "100 kB"}}
    pages = {"name": "web", "from": "a", "to": "b", "app": {"kind": "http", "pages": 3, "object": "10 kB"}}
    flows = [flow | {"transport": "tcp", "start": "1 s"} for flow in (bulk, pages)]
    shown = commands.call("simulate", written(tmp_path, *flows), "--out", tmp_path / "run").output
    run = bp.open_run(tmp_path / "run")
    file, web, *_ = run.flows.to_dicts()
    took = file["last_delivery"] - 1
    assert took == pytest.approx(8 * file["delivered_bytes"] / file["goodput"])
    predicted = predict_scenario(bp.load(run.path / "scenario.toml"))["file"].prediction
    assert predicted is not None and predicted.bounded_transfer_s == pytest.approx(took, rel=0.1)
    rows = [line.split() for line in shown.splitlines()]
    assert ["file", number(took), number(predicted.bounded_transfer_s)] in rows
    times = [number(1e3 * web[f"transaction_{what}"]) for what in ("mean", "p95")]
    assert ["web", *times, "3", "3", "0"] in rows
    assert f"<td>{number(took)}</td>" in page([run]) and f"<td>{times[0]}</td>" in page([run])
    compared = {one.quantity: one.unit for one in compare(run, run).flows if one.flow == "file"}
    # Quantities that are equal by definition are left out.
    assert compared["transfer"] == ("s", 1.0) and not {"dscp", "leg", "predicted_transfer"} & {*compared}


def test_datagrams_and_bundles_are_shown_with_what_was_lost(tmp_path: Path) -> None:
    """A flow of twice the rate of its link loses half; a node with full storage refuses every
    bundle."""
    cbr = {"kind": "cbr", "rate": "4 Mbit/s", "datagram": "1000 B"}
    flow = {"name": "flood", "from": "a", "to": "b", "app": cbr, "transport": "udp"}
    short = ("--set", "link.sat.queue={ packets = 10 }")
    shown = commands.call("simulate", written(tmp_path, flow), *short, "--out", tmp_path / "run").output
    run = bp.open_run(tmp_path / "run")
    (flood,) = flow_results(run)
    # Each datagram has 28 B of headers on a link of 2 Mbit/s.
    assert flood.loss is not None and flood.delay_mean is not None
    assert flood.loss == pytest.approx(1 - 2 / (4 * 1.028), abs=0.01)
    rows = [line.split() for line in shown.splitlines()]
    lost = number(100 * flood.loss)
    assert [lost, number(1e3 * flood.delay_mean)] in [row[1:3] for row in rows if row[:1] == ["flood"]]
    assert "<th>loss<br>%</th>" in page([run]) and f"<td>{lost}</td>" in page([run])
    assert all(len(line) <= 80 for line in shown.splitlines() if str(tmp_path) not in line)
    full = ("--set", "network.space.storage=10 kB", "--no-report", "--out", tmp_path / "full")
    shown = commands.call("simulate", "examples/mars-orbiter.toml", *full).output
    refused = bp.open_run(tmp_path / "full")
    assert {drop["reason"] for drop in refused.summary["drops"]} == {"bundle storage full"}
    bundles = flow_results(refused)[0]
    assert bundles.loss is not None and bundles.loss > 0.9
    rows = [line.split() for line in shown.splitlines()]
    assert [bundles.flow, number(100 * bundles.loss)] in [row[:2] for row in rows]


def test_groups_of_calls_have_opinion_scores(tmp_path: Path) -> None:
    run = bp.simulate(written(tmp_path, CALL | {"count": 3}), out=tmp_path / "run")
    table = group_table(run)
    found = dict(table.filter(table["group"] == "call").select("quantity", "mean").iter_rows())
    flows = run.flows.filter(run.flows["group"] == "call")
    assert found["MOS"] == pytest.approx(float(np.mean(flows["voice_mos"].to_numpy())))
    assert found["mouth to ear, ms"] == pytest.approx(1e3 * float(np.mean(flows["voice_delay"].to_numpy())))


def test_groups_and_reports_have_the_packets_that_were_too_late(tmp_path: Path) -> None:
    """The network drops no packets of calls that exceed the link's capacity; the packets are late
    instead."""
    file = written(tmp_path, CALL | {"count": 3})
    narrow = ("--set", "link.sat.rate=60 kbit/s", "--set", "duration=10 s")
    shown = commands.call("simulate", file, *narrow, "--out", tmp_path / "run").output
    run = bp.open_run(tmp_path / "run")
    calls = run.flows.filter(run.flows["group"] == "call")
    mean = float(np.mean(calls["voice_loss"].to_numpy()))
    assert mean > 10 and not run.summary["drops"]
    rows = [line.split() for line in shown.splitlines() if "lost or late, %" in line]
    assert rows[0][:6] == ["lost", "or", "late,", "%", "3", number(mean)]
    assert "<th>lost or late<br>%</th>" in page(
        [run]
    ) and f"<td>{number(calls['voice_loss'][0])}</td>" in page([run])


def test_a_table_that_is_too_wide_omits_columns_without_numbers(tmp_path: Path) -> None:
    name = "measurements-of-a-rover"
    cbr = {"kind": "cbr", "rate": "8 kbit/s", "datagram": "100 B"}
    flow = {"name": name, "from": "a", "to": "b", "app": cbr, "transport": "udp"}
    file = written(tmp_path, flow, CALL | {"name": "call-of-a-rover-to-earth"})
    shown = commands.call("simulate", file, "--no-report", "--out", tmp_path / "run").output
    heading = next(line for line in shown.splitlines() if line.startswith(" flow "))
    assert "kbit/s" in heading and "efficiency" not in heading
    assert any(line.startswith(f" {name} ") for line in shown.splitlines()), shown
    # A line that contains the run's folder is as long as its name.
    assert all(len(line) <= 80 for line in shown.splitlines() if str(tmp_path) not in line)


@networks
def test_real_hosts_flows_have_no_loss_beside_simulated_ones(tmp_path: Path) -> None:
    """The network cannot attribute a dropped real packet to a flow, so the table has no value
    instead of a loss of 0 % next to the simulation's."""
    cbr = {"kind": "cbr", "rate": "4 Mbit/s", "datagram": "1000 B"}
    flows = [
        {"name": name, "from": "a", "to": "b", "app": cbr, "transport": "udp", "endpoints": endpoints}
        for name, endpoints in (("real", "kernel"), ("model", "model"))
    ]
    scenario = bp.load({"name": "s", "duration": "2 s", "link": [LINK], "flow": flows})
    simulated = {flow.flow: flow.loss for flow in flow_results(bp.simulate(scenario, out=tmp_path / "1"))}
    run = bp.emulate(scenario, out=tmp_path / "2")
    assert run.summary["drops"]
    emulated = {flow.flow: flow.loss for flow in flow_results(run)}
    assert simulated["real"] and simulated["model"]
    assert emulated["real"] is None and emulated["model"]


def test_a_report_has_what_the_parts_of_the_network_counted(tmp_path: Path) -> None:
    """The report lists bundles, which the table of flows omits, with the meaning of each number;
    for many parts it names the file of their table."""
    run = bp.simulate("examples/mars-orbiter.toml", out=tmp_path / "1")
    shown = page([run])
    (bundles,) = run.table("bundles").to_dicts()
    assert 0 < bundles["delivered"] < bundles["created"]
    delivered = f'<td class="words">delivered</td><td>{bundles["delivered"]}</td>'
    assert f'{delivered}<td class="words soft">bundles that arrived</td>' in shown
    assert f'<td class="words">delay mean, s</td><td>{number(bundles["delay_mean"])}</td>' in shown
    calls = bp.simulate(written(tmp_path, CALL), overrides=["duration=700 s"], out=tmp_path / "2")
    assert "tables/call_window.parquet" in page([calls]) and "packets that were transmitted" in page([calls])


def test_what_a_report_suggests_can_be_pasted(tmp_path: Path) -> None:
    """Suggestions work in a shell, from a folder with a space, and in Python, for a run without
    TCP."""
    run = bp.simulate(written(tmp_path, CALL), overrides=["duration=1 s"], out=tmp_path / "a run")
    lines = html.unescape(page([run])).splitlines()
    (compared,) = (line for line in lines if line.startswith("bentpipe compare"))
    assert shlex.split(compared) == ["bentpipe", "compare", str(run.path), f"{run.path}-changed"]
    (python,) = (line for line in lines if line.startswith("# in Python: "))
    exec(python.removeprefix("# in Python: ").partition("</code>")[0], {})
