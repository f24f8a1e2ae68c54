"""ACM, link budgets and moving paths from a user's view: commands, both clocks, presets, the
example."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import bentpipe as bp
import polars as pl
import pytest
from bentpipe.scenario import budgets
from bentpipe.scenario.facts import facts
from bentpipe.scenario.outages import outages_of
from rigs.commands import call
from rigs.networks import networks

pytestmark = pytest.mark.quiet

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

#: A link with ACM in both directions: 1 MBd down, 0.5 MBd up, packets share baseband frames.
LINK = """
name = "rain"
duration = "12 s"
record.traces = ["acm"]

[[link]]
name = "sat"
from = "gw"
to = "st1"
rate = "1 Mbit/s"
delay = "250 ms"
framing = "gse"
acm = { esn0_db = 12.5, delay = "500 ms", fade = { samples = "FADE" } }

[link.return]
rate = "500 kbit/s"
delay = "250 ms"
acm = { esn0_db = 12.5, delay = "500 ms", fade = { samples = "FADE" } }

[[flow]]
name = "down"
from = "gw"
to = "st1"
app = { kind = "cbr", rate = "4 Mbit/s", datagram = "1000 B" }
transport = "udp"

[[flow]]
name = "up"
from = "st1"
to = "gw"
app = { kind = "cbr", rate = "2 Mbit/s", datagram = "1000 B" }
transport = "udp"
""".replace("FADE", FADE)


@pytest.fixture
def rain(tmp_path: Path) -> Path:
    (tmp_path / "rain.toml").write_text(RAIN)
    return tmp_path / "rain.toml"


#: 11.5 dB, 4.5 dB half a second late, no signal, and 11.5 dB again. The latter is 0.47 dB above
#: 16APSK 4/5, less than the hysteresis.
TIMES, EFFICIENCIES = [0.0, 3.5, 6.5, 8.5], [3.166, 1.487, 0.0, 2.967]


def compare(simulated: bp.Run, emulated: bp.Run, entity: str) -> None:
    """Asserts that both clocks have the same changes of the MODCOD and the same goodput, and that
    neither loses a byte."""
    flows = [
        {row["flow"]: row for row in run.flows.iter_rows(named=True) if row["flow"] in ("up", "down")}
        for run in (simulated, emulated)
    ]
    for flow in ("up", "down"):
        assert flows[1][flow]["goodput"] == pytest.approx(flows[0][flow]["goodput"], rel=0.03), flow
    for run in (simulated, emulated):
        rows = run.trace("acm", entity).sort("time")
        assert [round(time, 2) for time in rows["time"]] == TIMES
        assert rows["efficiency"].to_list() == EFFICIENCIES
        packets = run.summary["packets"]
        assert packets["conserved"], packets
        dropped = {drop["reason"] for drop in run.summary["drops"]}
        assert "signal below the threshold of the MODCOD" in dropped


@pytest.mark.parametrize(("text", "entity"), [(RAIN, "st1.forward"), (LINK, "sat")], ids=["hub", "link"])
def test_a_fade_is_the_same_on_both_clocks_and_no_byte_is_lost(
    tmp_path: Path, text: str, entity: str
) -> None:
    (tmp_path / "rain.toml").write_text(text)
    simulated = bp.simulate(tmp_path / "rain.toml", out=tmp_path / "simulated")
    emulated = bp.emulate(tmp_path / "rain.toml", out=tmp_path / "emulated", in_memory=True)
    compare(simulated, emulated, entity)


@networks
def test_a_fade_is_the_same_between_real_hosts(tmp_path: Path) -> None:
    (tmp_path / "rain.toml").write_text(LINK)
    simulated = bp.simulate(tmp_path / "rain.toml", out=tmp_path / "simulated")
    compare(simulated, bp.emulate(tmp_path / "rain.toml", out=tmp_path / "emulated"), "sat")


@pytest.mark.parametrize("clock", ["virtual", "real"])
def test_a_change_of_the_signal_is_an_outage_until_it_is_changed_back(tmp_path: Path, clock: str) -> None:
    text = RAIN.replace(FADE, "time,st1\\n0,0\\n")
    for at, level in ((4, -20.0), (8, 12.5)):
        text += f'[[change]]\nat = "{at} s"\nset.network.sat.forward.acm.esn0_db = {level}\n'
    (tmp_path / "set.toml").write_text(text)
    if clock == "virtual":
        run = bp.simulate(tmp_path / "set.toml", out=tmp_path / "set")
    else:
        run = bp.emulate(tmp_path / "set.toml", out=tmp_path / "set", in_memory=True)
    rows = run.trace("acm", "st1.forward").sort("time")
    assert [round(time, 2) for time in rows["time"]] == [0.0, 4.5, 8.5]
    assert rows["efficiency"].to_list() == [3.166, 0.0, 2.967]
    assert run.summary["packets"]["conserved"]


def test_facts_and_notes_name_the_fade_and_the_outage(rain: Path) -> None:
    known = facts(rain)["flows"]
    (outage,) = outages_of(bp.load(rain), known)
    # The senders learn of the sky 500 ms later, so they stop and resume 500 ms after the fade.
    assert not outage.whole_run and outage.when == "6.5 s to 8.5 s"
    assert outage.parts == ("sat.forward", "sat.st1") and outage.flows == ("down", "up")
    flows = {flow["name"]: flow for flow in known}
    (hop,) = flows["down"]["there"] or []
    rate = hop["rate_bit_s"]
    assert rate["least"] == 0.0 and rate["greatest"] < 3.166e6 < 1.1 * rate["greatest"]
    assert any("outage for 2.0 s" in note for note in hop["notes"])
    assert any("fade" in note for note in hop["notes"])


def test_a_parquet_series_is_the_same_as_its_text(tmp_path: Path) -> None:
    """Covers fades, jitter and traces of links; errors are refused with file and line."""
    text = LINK.replace('duration = "12 s"', 'duration = "4 s"').replace(
        'delay = "250 ms"\nframing = "gse"',
        'delay = "250 ms"\nframing = "gse"\njitter = { kind = "series", samples = { file = "jitter.NAME" } }',
    )
    text = text.replace(f'samples = "{FADE}"', 'samples = { file = "fade.NAME" }')
    fade = pl.DataFrame({"time": [0, 1, 2], "st1": [0.0, 7.25, 1e-7]})
    jitter = pl.DataFrame({"time": [0.0, 1.5], "extra": [0.004, 0.013]})
    runs = []
    for name in ("csv", "parquet"):
        for series, frame in (("fade", fade), ("jitter", jitter)):
            getattr(frame, f"write_{name}")(tmp_path / f"{series}.{name}")
        (tmp_path / f"{name}.toml").write_text(text.replace("NAME", name))
        runs.append(bp.simulate(tmp_path / f"{name}.toml", out=tmp_path / name))
    assert runs[0].trace("acm").equals(runs[1].trace("acm")) and len(runs[0].trace("acm")) > 4
    assert runs[0].flows.equals(runs[1].flows)
    scenario = tmp_path / "parquet.toml"
    for wrong, words in (
        (
            fade.with_columns(st1=pl.Series([0.0, float("nan"), 1.0])),
            "fade.parquet:3:1: link.sat.acm.fade.samples: st1",
        ),
        (
            fade.with_columns(st1=pl.Series([0.0, 1.0, None])),
            "fade.parquet:4:1: link.sat.acm.fade.samples: st1",
        ),
        (
            fade.with_columns(time=pl.Series([0, 2, 1])),
            "fade.parquet:4:1: link.sat.acm.fade.samples: time is 1",
        ),
        (fade.with_columns(st1=pl.Series(["a", "b", "c"])), 'column "st1" is of type String'),
    ):
        wrong.write_parquet(tmp_path / "fade.parquet")
        message = " ".join(call("check", scenario, code=2).stderr.split())
        assert "fade.parquet" in message and words in message, message
    (tmp_path / "fade.parquet").write_bytes(b"PAR1 and nothing of it")
    assert "not a readable Parquet table" in " ".join(call("check", scenario, code=2).stderr.split())


def test_budgets_are_printed_line_by_line_and_warn_when_the_margin_is_gone(tmp_path: Path) -> None:
    file = tmp_path / "down.csv"
    rows = "symbol_rate,30 MBd\ndown.frequency,19.7 GHz\ndown.distance,37500 km\ndown.eirp_dbw,54\ndown.gt_db_k,14\n"
    file.write_text(rows)
    printed = call("space", "budget", file)
    # 54 - 209.82 + 14 + 228.60 - 74.77 dB.
    assert "-209.82" in printed.stdout and "12.01" in printed.stdout and "16APSK 3/4" in printed.stdout
    assert printed.stderr == ""
    assert max(map(len, printed.stdout.split("\n"))) <= 80
    file.write_text(rows + "down.losses_db.rain,20\n")
    assert "the link has no margin" in call("space", "budget", file).stderr
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
    assert json.loads(call("space", "budget", scenario, "--json").stdout)[0]["modcod"] is None
    file.write_text(rows + "down.eirp,54\n")
    refused = call("space", "budget", file, code=2).stderr
    assert "down.csv: line 6: down.eirp" in " ".join(refused.split())
    assert "down.csv:6:1: " in call("check", scenario, code=2).stderr


@pytest.mark.parametrize(
    ("place", "column", "gaps"),
    [
        ("acm = { esn0_db = 9.0, fade = SERIES }", "st1", True),
        ('jitter = { kind = "series", SAMPLES }', "extra", True),
        ("trace = SERIES", "delay", False),
    ],
)
def test_a_bad_series_on_a_link_is_refused_with_file_and_line(
    tmp_path: Path, place: str, column: str, gaps: bool
) -> None:
    samples = 'samples = { file = "series.csv" }'
    place = place.replace("SERIES", "{ " + samples + " }").replace("SAMPLES", samples)
    scenario = tmp_path / "link.toml"
    scenario.write_text(
        f"""
        name = "bad"
        duration = "5 s"
        [[link]]
        name = "sat"
        from = "gw"
        to = "st1"
        rate = "1 Mbit/s"
        delay = "10 ms"
        {place}
        [[flow]]
        name = "f"
        from = "gw"
        to = "st1"
        app = "bulk"
        transport = "tcp"
        """
    )
    for rows, words in (
        ("0,1\n1,2\n2,\n", "series.csv:4:1:"),
        ("0,1\n1,nan\n", "series.csv:3:1:"),
        ("0,1\n1,inf\n", "series.csv:3:1:"),
        ("0,1\n2,1\n1,1\n", "series.csv:4:1:"),
        ("0,1\n1,1\n1,1\n", "series.csv:4:1:"),
        ("0,1\n1,-4\n", "series.csv:3:1:"),
        ("0,1\n1,1\n2,1\n3,1\n4,1\n9,1\n10,1\n", "a gap of 5 s"),
    ):
        (tmp_path / "series.csv").write_text(f"time,{column}\n{rows}")
        if "gap" in words and not gaps:
            call("check", scenario)
            continue
        message = " ".join(call("check", scenario, code=2).stderr.split())
        # The line of the file that is wrong, instead of the file's beginning.
        assert "series.csv:" in message and words in message and "0,1" not in message, message
    (tmp_path / "series.csv").write_text(f"time,{column}\n0,1\n1,1\n")
    call("check", scenario)


@pytest.mark.parametrize(("preset", "least", "most"), [("access-leo", 25, 60), ("access-leo-isl", 106, 388)])
def test_low_orbits_shift_every_15_s_within_the_published_range(
    tmp_path: Path, preset: str, least: float, most: float
) -> None:
    """The round trips of probes on an otherwise idle path match the published ones, and no probe is
    lost. TCP's samples after a loss include the time of its recovery."""
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
    without = ['link.sat.error="none"', 'link.sat.return.error="none"']
    run = bp.simulate(tmp_path / "probes.toml", out=tmp_path / "run", overrides=without)
    round_trips = run.trace("tcp").filter(pl.col("rtt") > 0).sort("time")
    found = 1e3 * round_trips["rtt"].to_numpy()
    assert len(found) > 3000
    assert min(found) >= least
    assert max(found) <= most, max(found)
    # The level of a period (from 12, 27, 42 and 57 s of each minute) is that of its least delayed
    # probe.
    period = ((round_trips["time"].to_numpy() + 3) // 15).astype(int)
    levels = [found[period == one].min() for one in range(1, period.max())]
    shifts = [abs(one - other) for one, other in pairwise(levels)]
    assert sorted(shifts)[len(shifts) // 2] > 0.1 * (most - least)


def test_the_hub_of_200_terminals_loses_rome_and_gets_it_back(tmp_path: Path) -> None:
    run = bp.simulate("examples/hub-storm.toml", out=tmp_path / "hub", overrides=["duration=2100 s"])
    report = run.table("acm")
    of = {row[report.columns[0]]: row for row in report.iter_rows(named=True)}
    assert len(of) == 400
    assert of["roma-1.return"]["outage"] > 60 and of["rieti-20.return"]["outage"] == 0
    assert of["roma-1.forward"]["efficiency"] < of["rieti-20.forward"]["efficiency"]
