"""The views of a measurement: its report, its figure, and the output of the command."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import bentpipe as bp
import numpy as np
import pytest
from bentpipe import measure, plots
from bentpipe.cli import app
from bentpipe.errors import InputError
from bentpipe.measure import flows, folder
from bentpipe.measure.load_results import loaded
from bentpipe.measure.plan import plan_of
from bentpipe.measure.summary import summarise
from bentpipe.report import measured, page
from bentpipe.results.runs import Run
from helpers.measuring import KEY, reflecting
from typer.testing import CliRunner

LOADS = [
    {"kind": "call", "duration": "0.4 s", "pause": "0 s"},
    {"kind": "page", "pages": 2, "objects": 3, "congestion": "cubic", "pause": "0 s"},
    {"kind": "udp", "direction": "down", "rate": "2 Mbit/s", "duration": "0.4 s", "pause": "0 s"},
    {"kind": "survey", "pause": "0 s"},
    {"kind": "transports", "duration": "100 ms", "pause": "0 s"},
]


@pytest.fixture(scope="module")
def seen() -> measure.Measured:
    plan = plan_of({"duration": "1 s", "rate": 40, "train": 0, "load": LOADS}, "plan.toml")
    with reflecting(KEY) as (port, _):
        return measure.probe("127.0.0.1", port, plan, KEY)


def written(seen: measure.Measured, place: Path) -> Run:
    folder.free(place)
    return folder.write(place, "host", 7, seen, summarise(seen))


def test_the_report_contains_the_measured_values(seen: measure.Measured, tmp_path: Path) -> None:
    run = written(seen, tmp_path / "run")
    assert run.provenance["seed"] == 7
    found = {one.title.split(":")[0].split(";")[0]: one for one in measured.tables(run)}
    assert all(len(row) == len(one.columns) for one in found.values() for row in one.rows)
    (forward, backward) = found["Each direction at rest"].rows
    row = run.table("direction").row(0, named=True)
    assert forward[0] == "forward" and backward[0] == "backward"
    low, high = (float(value) for value in forward[1].split(" to "))
    assert low == pytest.approx(1e3 * row["delay_least_low"], rel=0.01, abs=1e-3)
    assert high == pytest.approx(1e3 * row["delay_least_high"], rel=0.01, abs=1e-3)
    assert forward[6] == f"{row['lost']} of {row['packets']}"
    loads = found["Loads of datagrams, calls and pages"]
    by_name = {one[0]: dict(zip(loads.columns, one, strict=True)) for one in loads.rows}
    flow = {one["flow"]: one for one in run.flows.to_dicts()}
    assert float(by_name["call-1"]["MOS"]) == pytest.approx(flow["call-1"]["voice_mos"], rel=0.01)
    took = float(by_name["page-cubic-1"]["page median, ms"])
    assert took == pytest.approx(1e3 * flow["page-cubic-1"]["transaction_p50"], rel=0.01)
    assert by_name["udp-down-1"]["lost"] == "0 of 83" and by_name["udp-down-1"]["MOS"] == "-"
    assert len(found["Transparency"].rows) == 10 and len(found["UDP and QUIC"].rows) == 5
    text = page([run])
    assert "The path, as measured" in text and "Each direction at rest" in text
    # Throughput, and the delays of both directions above round-trip times.
    assert text.count("<svg") == 2 and "One-way delay from the reflector" in text
    assert "The path of a, as measured" in page([run, run.__class__(run.path)]).replace(str(run.path), "a")


def test_one_figure_shows_all_delays(seen: measure.Measured, tmp_path: Path) -> None:
    run = written(seen, tmp_path / "run")
    there, back, both = plots.delays(run).axes
    probes = next(line for line in back.lines if line.get_label() == "probes")
    rows = run.trace("probe").filter("replied")
    middle = 1e3 * (rows["backward_low"] + rows["backward_high"]).to_numpy() / 2
    assert np.sort(np.asarray(probes.get_ydata())) == pytest.approx(np.sort(middle))
    # A load has datagrams in its direction only, except a call, which has datagrams in both.
    loads = [next(line for line in axes.lines if line.get_label() == "loads") for axes in (there, back)]
    sides = [run.flows.filter(run.flows["from"] == end)["flow"].to_list() for end in ("here", "there")]
    for line, names in zip(loads, sides, strict=True):
        own = run.trace("load")
        own = own.filter(own["flow"].cast(str).is_in(names) & own["arrived"])
        assert 0 < len(np.asarray(line.get_xdata())) <= len(own)
        assert set(np.asarray(line.get_xdata())) <= set(own["time"].to_list())
    assert {line.get_label() for line in both.lines} >= {"probes", "ICMP echo"}
    # A run that has no delays of a path is refused.
    answer = CliRunner().invoke(app, ["plot", str(run.path), str(run.path), "--figure", "delays"])
    assert answer.exit_code == 2 and "the figure delays shows only one run" in answer.stderr
    simulated = bp.simulate(run.path / "scenario.toml", out=tmp_path / "simulated")
    assert measured.tables(simulated) == []
    with pytest.raises(InputError, match="was not measured"):
        plots.delays(simulated)
    silent = replace(seen, returned=np.zeros_like(seen.returned), outcomes=[], notes=[])
    with pytest.raises(InputError, match="no probe had a reply"):
        plots.delays(written(silent, tmp_path / "silent"))


def test_the_rating_of_a_call_excludes_delays_of_its_host(seen: measure.Measured) -> None:
    """A sender that pauses for 200 ms sends ten packets at once; the path has delayed none of
    them."""
    said = summarise(seen)
    assert said.zeros is not None and said.delays is not None
    (outcome,) = (one for one in seen.outcomes if one.item.name == "call-1")
    before = flows.rated(loaded(replace(seen, outcomes=[outcome]), said.rtt, said.delays, *said.zeros)[0])
    sent, arrived = outcome.sent.copy(), outcome.arrived.copy()
    late = np.maximum(0, sent[14] - sent[5:15])
    sent[5:15] += late
    numbers = arrived["number"].astype(int)
    inside = (numbers >= 5) & (numbers < 15)
    arrived["arrived"][inside] += late[numbers[inside] - 5]
    held = replace(outcome, sent=sent, arrived=arrived)
    after = flows.rated(loaded(replace(seen, outcomes=[held]), said.rtt, said.delays, *said.zeros)[0])
    assert after["voice_late"] == before["voice_late"] == 0
    assert after["voice_r"] == pytest.approx(before["voice_r"], abs=0.1)
    # Delays of the path lower the rating.
    arrived = outcome.arrived.copy()
    arrived["arrived"][arrived["number"] == 7] += 500_000_000
    slow = replace(outcome, arrived=arrived)
    worse = flows.rated(loaded(replace(seen, outcomes=[slow]), said.rtt, said.delays, *said.zeros)[0])
    assert worse["voice_late"] == 1 and worse["voice_r"] < before["voice_r"] - 1


def test_the_command_prints_the_results_of_loads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    (tmp_path / "key").write_bytes(KEY)
    plan = 'duration = "1 s"\ntrain = 0\n' + "".join(
        f'[[load]]\nkind = "{kind}"\npause = "0 s"\n{more}\n'
        for kind, more in (
            ("call", 'duration = "0.4 s"'),
            ("page", 'pages = 2\nobjects = 2\ncongestion = "cubic"'),
            ("survey", ""),
            ("transports", 'duration = "100 ms"'),
        )
    )
    (tmp_path / "plan.toml").write_text(plan)
    with reflecting(KEY) as (port, _):
        line = f"measure 127.0.0.1 --port {port} --key key --plan plan.toml --out run"
        answer = CliRunner().invoke(app, line.split())
    assert answer.exit_code == 0, answer.output
    lines = answer.stdout.splitlines()
    assert max(map(len, lines)) <= 80, answer.stdout
    said = " ".join(answer.stdout.split())
    assert re.search(r"call-1: R \d+\.\d, MOS \d\.\d\d; 0 lost and \d+ late of 20,", said)
    assert re.search(r"call-1\.reverse: R ", said) and re.search(
        r"page-cubic-1: 2 pages, median \d+ ms", said
    )
    assert "UDP and QUIC up: " in said and "DSCP and ECN up: kept" in said
