"""ACM, link budgets and moving paths as a user meets them: commands, both clocks, presets, the example."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import bentpipe as bp
import polars as pl
import pytest
from bentpipe import budgets
from bentpipe.facts import facts

START = "import sys; sys.argv[0] = 'bentpipe'; from bentpipe.cli import main; main()"
#: Clear sky, a fade of 7 dB from 3 s, an outage from 6 s to 8 s.
FADE = "time,st1\\n0,0\\n3,7\\n6,30\\n8,0\\n"
RAIN = f"""
name = "rain"
duration = "12 s"
preset = "ka-hub"
record.traces = ["acm"]

[network.sat.forward]
rate = "1 Mbit/s"
acm = {{ delay = "500 ms", fade = {{ samples = "{FADE}" }} }}

[network.sat.return]
acm = {{ delay = "500 ms", fade = {{ samples = "{FADE}" }} }}
dama = {{ cra = "449500 bit/s", scheme = "cra", requests = "dedicated" }}

[[flow]]
name = "down"
from = "gw"
to = "st1"
app = {{ kind = "cbr", rate = "4 Mbit/s", datagram = "1000 B" }}
transport = "udp"

[[flow]]
name = "up"
from = "st1"
to = "gw"
app = {{ kind = "cbr", rate = "2 Mbit/s", datagram = "1000 B" }}
transport = "udp"
"""


def call(*arguments: object, code: int = 0) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [sys.executable, "-c", START, *map(str, arguments)], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == code, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    return done


@pytest.fixture
def rain(tmp_path: Path) -> Path:
    (tmp_path / "rain.toml").write_text(RAIN)
    return tmp_path / "rain.toml"


def test_a_fade_is_the_same_on_both_clocks(rain: Path, tmp_path: Path) -> None:
    runs = [
        bp.simulate(rain, out=tmp_path / "simulated"),
        bp.emulate(rain, out=tmp_path / "emulated", in_memory=True),
    ]
    simulated, emulated = (
        {row["flow"]: row for row in run.flows.iter_rows(named=True) if row["flow"] in ("up", "down")}
        for run in runs
    )
    for flow in ("up", "down"):
        assert emulated[flow]["goodput"] == pytest.approx(simulated[flow]["goodput"], rel=0.03), flow
    for run in runs:
        rows = run.trace("acm", "st1.forward").sort("time")
        # 11.5 dB, 4.5 dB with half a second of delay, nothing, and 11.5 dB again, which is 0.47 dB above 16APSK 4/5:
        # too little for the hysteresis.
        assert [round(time, 2) for time in rows["time"]] == [0.0, 3.5, 6.5, 8.5]
        assert rows["efficiency"].to_list() == [3.166, 1.487, 0.0, 2.967]


def test_facts_and_notes_name_the_fade_and_the_outage(rain: Path) -> None:
    flows = {flow["name"]: flow for flow in facts(rain)["flows"]}
    (hop,) = flows["down"]["there"] or []
    rate = hop["rate_bit_s"]
    assert rate["least"] == 0.0 and rate["greatest"] < 3.166e6 < 1.1 * rate["greatest"]
    assert any("outage for 2.0 s" in note for note in hop["notes"])
    assert any("fade" in note for note in hop["notes"])


def test_a_signal_set_by_hand_is_an_outage_until_it_is_set_back(tmp_path: Path) -> None:
    text = RAIN.replace(FADE, "time,st1\\n0,0\\n")
    for at, level in ((4, -20.0), (8, 12.5)):
        text += f'[[change]]\nat = "{at} s"\nset.network.sat.forward.acm.esn0_db = {level}\n'
    (tmp_path / "set.toml").write_text(text)
    run = bp.simulate(tmp_path / "set.toml", out=tmp_path / "set")
    rows = run.trace("acm", "st1.forward").sort("time")
    assert [round(time, 2) for time in rows["time"]] == [0.0, 4.5, 8.5]
    assert rows["efficiency"].to_list() == [3.166, 0.0, 2.967]


def test_budgets_are_printed_line_by_line_and_warn_when_the_margin_is_gone(tmp_path: Path) -> None:
    file = tmp_path / "down.csv"
    rows = "symbol_rate,30 MBd\ndown.frequency,19.7 GHz\ndown.distance,37500 km\ndown.eirp_dbw,54\ndown.gt_db_k,14\n"
    file.write_text(rows)
    printed = call("budget", file)
    # 54 - 209.82 + 14 + 228.60 - 74.77 dB.
    assert "-209.82" in printed.stdout and "12.01" in printed.stdout and "16APSK 3/4" in printed.stdout
    assert printed.stderr == ""
    assert max(map(len, printed.stdout.split("\n"))) <= 80
    file.write_text(rows + "down.losses_db.rain,20\n")
    assert "the margin is gone" in call("budget", file).stderr
    scenario = tmp_path / "budget.toml"
    scenario.write_text(
        RAIN.replace('delay = "500 ms", fade', 'esn0_db = 9.0, delay = "500 ms", fade').replace(
            '[[flow]]\nname = "down"', '[[flow]]\nname = "down"'
        )
    )
    call("check", scenario)
    text = scenario.read_text().replace('preset = "ka-hub"', 'preset = "dvb-rcs"')
    text = text.replace("acm = { esn0_db = 9.0, delay", 'acm = { budget = { file = "down.csv" }, delay', 1)
    text = (
        text.partition("[network.sat.return]")[0]
        + "[[flow]]"
        + text.partition("[[flow]]")[2].partition("[[flow]]")[0]
    )
    scenario.write_text(text)
    warned = call("check", scenario)
    assert "the margin is gone" in warned.stderr and "network.sat.forward.acm.budget" in warned.stderr
    (sheet,) = budgets.of(scenario)
    assert sheet.margin_db < 0 and sheet.modcod is None
    assert json.loads(call("budget", scenario, "--json").stdout)[0]["modcod"] is None
    file.write_text(rows + "down.eirp,54\n")
    refused = call("budget", file, code=2).stderr
    assert "down.csv: line 6: down.eirp" in " ".join(refused.split())
    assert "line 6" in call("check", scenario, code=2).stderr


@pytest.mark.parametrize(("preset", "least", "most"), [("access-leo", 25, 60), ("access-leo-isl", 106, 388)])
def test_low_orbits_shift_every_15_s_within_the_published_range(
    tmp_path: Path, preset: str, least: float, most: float
) -> None:
    text = f"""
    name = "probes"
    duration = "1200 s"
    preset = "{preset}"
    record.traces = ["tcp"]
    [[flow]]
    name = "probe"
    from = "user"
    to = "server"
    app = {{ kind = "cbr", rate = "4 kbit/s", datagram = "100 B" }}
    transport = {{ kind = "tcp", delayed_ack = false }}
    """
    (tmp_path / "probes.toml").write_text(text)
    rows = bp.simulate(tmp_path / "probes.toml", out=tmp_path / "run").trace("tcp")
    round_trips = rows.filter(pl.col("rtt") > 0)
    found = 1e3 * round_trips["rtt"].to_numpy()
    assert len(found) > 3000
    assert min(found) >= least
    inside = (found <= most).mean()
    assert inside > 0.99, inside


def test_the_hub_of_200_terminals_loses_rome_and_gets_it_back(tmp_path: Path) -> None:
    run = bp.simulate("examples/hub-storm.toml", out=tmp_path / "hub", overrides=["duration=2100 s"])
    report = run.table("acm")
    of = {row[report.columns[0]]: row for row in report.iter_rows(named=True)}
    assert len(of) == 400
    assert of["roma-1.return"]["outage"] > 60 and of["rieti-20.return"]["outage"] == 0
    assert of["roma-1.forward"]["efficiency"] < of["rieti-20.forward"]["efficiency"]
