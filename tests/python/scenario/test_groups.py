"""Groups of flows, from a short scenario to its results: a hub of 200 terminals with web pages and
calls."""

from __future__ import annotations

import json
import re
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

import bentpipe as bp
import numpy as np
import pytest
from bentpipe.results.flows import flow_results
from bentpipe.results.groups import by_class, by_group, worst_ends
from bentpipe.scenario.facts import facts
from bentpipe.scenario.summary import cautions, explain, parts, table
from helpers import ROOT
from rigs import commands

HUB = ROOT / "examples" / "hub.toml"
BENTPIPE = (
    sys.executable,
    "-c",
    "import sys; sys.argv[0] = 'bentpipe'; from bentpipe.cli import main; main()",
)


def call(*words: str | Path, folder: Path) -> str:
    done = subprocess.run(
        [*BENTPIPE, *map(str, words)], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> bp.Run:
    return bp.simulate(HUB, overrides=["duration=20 s"], out=tmp_path_factory.mktemp("hub") / "run")


def test_a_hub_of_200_terminals_is_a_scenario_of_under_40_lines_and_10_s_of_processor_time(
    tmp_path: Path,
) -> None:
    assert len(HUB.read_text().splitlines()) < 40
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    shown = call("simulate", HUB, "--out", "hub", "--report", folder=tmp_path)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    # The goal is 10 s for a release build; this test detects a gross mistake, not a slow machine.
    assert used < 60
    assert max(map(len, shown.splitlines())) <= 80, shown
    assert "web: 200 flows" in shown and "voice: 100 flows" in shown
    # The traffic classes are the groups under other names: only the report contains them.
    assert len(shown.splitlines()) < 40
    page = (tmp_path / "hub" / "report.html").read_text()
    assert "200 flows" in page and "DSCP 46, class voice" in page and "the equations describe" in page
    # One footnote per reason, not one per flow.
    assert page.count("the equations describe bulk transfers") == 1


def test_every_flow_is_shown_on_request(tmp_path: Path) -> None:
    shown = call("simulate", HUB, "--set", "duration=3 s", "--all-flows", "--no-report", folder=tmp_path)
    assert all(f" {name} " in f" {shown} " for name in ("web1", "web200", "voice100"))


def test_statistics_are_those_of_the_members(hub: bp.Run) -> None:
    groups, single = by_group(flow_results(hub))
    assert single == [] and {name: len(flows) for name, flows in groups.items()} == {
        "web": 200,
        "voice": 100,
        "web.reverse": 200,
    }
    frame = bp.group_table(hub)
    row = frame.filter((frame["group"] == "voice") & (frame["quantity"] == "delay mean, ms")).row(
        0, named=True
    )
    flows = hub.flows.filter(hub.flows["group"] == "voice")
    delays = 1e3 * flows["delay_mean"].to_numpy()
    assert (row["mean"], row["best"], row["worst"]) == pytest.approx(
        (delays.mean(), delays.min(), delays.max())
    )
    assert row["p95"] == pytest.approx(np.quantile(delays, 0.95))
    assert row["worst_flow"] == flows["flow"][int(delays.argmax())]
    classes = by_class(flow_results(hub))
    assert [*classes] == ["DSCP 46, class voice", "DSCP 0, class data", "DSCP 0"]
    worst = worst_ends(flow_results(hub))
    assert len(worst) == 5 and all(end.startswith("st") for end, _ in worst)
    assert [share for _, share in worst] == sorted(share for _, share in worst)


def test_members_start_by_their_process_and_differently_in_each_replication(
    hub: bp.Run, tmp_path: Path
) -> None:
    starts = hub.flows.filter(hub.flows["group"] == "web")["start"].to_numpy()
    assert 0 <= starts.min() < 0.5 and 9.5 < starts.max() < 10
    other = bp.simulate(HUB, overrides=["duration=20 s"], run=1, out=tmp_path / "other")
    assert other.flows["start"].to_list() != hub.flows["start"].to_list()
    # The run's own scenario keeps the groups, and gives the same run again.
    again = bp.simulate(hub.path / "scenario.toml", out=tmp_path / "again")
    assert (hub.path / "scenario.toml").read_text().count("[[flow]]") == 2
    assert again.flows.equals(hub.flows) and again.flow_names == hub.flow_names


def test_check_and_predictions_know_groups() -> None:
    loaded = bp.load(HUB)
    text = "\n".join(explain(loaded, facts(loaded)))
    assert "web (200 flows): http over tcp cubic, st1 ... st200 (200) -> gw" in text
    assert "st1 ... st200 (200)" in text and text.count("\n") < 25
    headings, rows = table(facts(loaded))
    assert len(rows) < 8 and len(headings) == 7
    bulk = ["flow.web.app=bulk", "flow.web.count=30", "network.sat.return.dama.scheme=rbdc"]
    words = [word for change in bulk for word in ("--set", change)]
    shown = commands.call("predict", HUB, *words).stdout
    assert "web (30)" in shown and "web7" not in shown
    assert len(json.loads(commands.call("predict", HUB, *words, "--json").stdout)["flows"]) == 130


def test_cautions_name_what_is_probably_not_meant() -> None:
    link = {"name": "sat", "from": "a", "to": "b", "rate": "100 Mbit/s", "delay": "250 ms"}
    bulk = {"name": "up", "from": "a", "to": "b", "app": "bulk", "transport": "tcp"}
    for changes, expected in (
        (
            {"link": [link | {"queue": {"kind": "drop-tail", "packets": 50}}]},
            "the link may be idle after losses",
        ),
        (
            {"link": [link | {"queue": {"kind": "drop-tail", "bytes": "90 MB"}}]},
            "times a bandwidth-delay product",
        ),
        (
            {"flow": [bulk | {"transport": {"kind": "tcp", "receive_window": "64 kB"}}]},
            "receive_window of 64 kB limits the flow to 1.02 Mbit/s over a round trip of 500 ms",
        ),
        (
            {"flow": [bulk | {"app": {"kind": "cbr", "rate": "64 kbit/s"}, "transport": "udp"}]},
            "% of its rate",
        ),
        (
            {"link": [link, link | {"name": "spare", "from": "b", "to": "c"}]},
            "spare: no flow uses this part of the network",
        ),
    ):
        scenario = bp.load({"name": "x", "duration": "10 s", "link": [link], "flow": [bulk]} | changes)
        found = cautions(scenario, facts(scenario))
        assert any(expected in caution for caution in found), (expected, found)
    good = [link | {"queue": {"kind": "drop-tail", "bytes": "6 MB"}}]
    scenario = bp.load({"name": "x", "duration": "10 s", "link": good, "flow": [bulk]})
    assert not re.search("idle|times|unloaded|no flow", " ".join(cautions(scenario, facts(scenario))))


def test_a_network_of_contacts_is_not_called_unloaded_by_their_rates() -> None:
    """The rover of the example transmits 2 % of the time."""
    scenario = bp.load("examples/mars-orbiter.toml")
    assert not any("unloaded" in caution for caution in cautions(scenario, facts(scenario)))


def test_flows_that_ask_for_more_than_their_way_carries_are_named() -> None:
    """By terminal and direction: one call of 80 kbit/s at IP, over a constant 64 kbit/s of a link
    of 2 Mbit/s."""
    call = {"kind": "voice", "codec": "G.711u", "silence_suppression": False}
    flow: dict[str, Any] = {"name": "call", "from": "st1", "to": "gw", "app": call, "transport": "udp"}
    satellite: dict[str, Any] = {
        "terminals": ["st1", "st2"],
        "return": {"dama": {"scheme": "cra", "cra": "64 kbit/s"}},
    }

    def found(*flows: dict[str, Any], rate: str = "64 kbit/s") -> list[str]:
        scenario = bp.load(
            {
                "name": "x",
                "duration": "10 s",
                "preset": "dvb-rcs",
                "network": {"sat": satellite},
                "flow": list(flows),
            },
            [f"network.sat.return.dama.cra={rate}"],
        )
        return cautions(scenario, facts(scenario))

    (said,) = found(flow)
    assert said == "sat.st1: overloaded: flows send 80 kbit/s (call), more than its capacity of 64 kbit/s"
    # At 128 kbit/s the call neither exceeds the rate, nor does its small share of the 10 Mbit/s
    # forward link count as unloaded.
    little = {"app": {"kind": "cbr", "rate": "8 kbit/s"}, "from": "gw", "to": "st1"}
    assert found(flow, flow | {"name": "little"} | little, rate="128 kbit/s") == []
    # Each call fits; both of one terminal do not.
    (said,) = found(flow | {"count": 2}, rate="128 kbit/s")
    assert said.startswith(
        "sat.st1: overloaded: flows send 160 kbit/s (call), more than its capacity of 128 kbit/s"
    )
    assert found(flow, flow | {"name": "other", "from": "st2"}, rate="128 kbit/s") == []
    # A constant rate that is not set does not count.
    assert found(flow, rate="0 kbit/s") == ["sat.st1: its rate is 0 bit/s, so no packet of call passes"]
    # A medium that terminals share: each stays below its 2.048 Mbit/s.
    cbr = flow | {"app": {"kind": "cbr", "rate": "1500 kbit/s"}}
    satellite["return"] = {"dama": {"scheme": "rbdc"}}
    (said,) = found(cbr, cbr | {"name": "other", "from": "st2"}, rate="0 kbit/s")
    assert said.startswith("sat.return: overloaded: flows send 3.0") and "(call, other)" in said


def test_a_part_that_is_passed_twice_has_the_delays_of_both_hops() -> None:
    """A bundle network is one part, with the light time of each contact."""
    plan = (
        "src,dst,start,end,rate_bps,owlt_s\nrover,orbiter,0,10,64000,0.003\norbiter,earth,0,99,64000,1209\n"
    )
    bundles = {"kind": "bundles", "payload": "1 kB", "rate": "1 kbit/s", "report": "0 B"}
    flow = {"name": "m", "from": "rover", "to": "earth", "app": bundles, "transport": "udp"}
    space = {"kind": "bundles", "plan": plan}
    scenario = bp.load({"name": "x", "duration": "2 h", "network": {"space": space}, "flow": [flow]})
    ((part, _, delay, *_),) = table(facts(scenario))[1]
    assert (part, delay) == ("space", "3 ms-1209 s")


#: Packets of 1460 B with the headers of TCP with time stamps; rows of 25 B; 160 B of G.711 over RTP
#: and UDP.
ANSWERS = {
    'app = { kind = "bulk" }\ntransport = "tcp"': ("nothing", 52),
    'app = { kind = "http", object = "18 kB" }\ntransport = "tcp"': ("stream", 1512),
    'app = { kind = "ftp", size = "1 MB" }\ntransport = "tcp"': ("nothing", 52),
    'app = { kind = "ftp", size = "1 MB", direction = "download" }\ntransport = "tcp"': ("stream", 1512),
    'app = { kind = "netpipe" }\ntransport = "tcp"': ("stream", 1512),
    'app = { kind = "sensors", motes = ["m"], query = "SELECT light FROM motes" }\ntransport = "tcp"': (
        "messages",
        77,
    ),
    'app = { kind = "voice" }\ntransport = "udp"': ("messages", 200),
    'app = { kind = "calls", calls = 2 }\ntransport = "sip"': ("messages", 200),
    'app = { kind = "cbr", rate = "64 kbit/s" }\ntransport = "udp"': ("nothing", 0),
}


@pytest.mark.parametrize("flow", ANSWERS)
def test_a_queue_is_sized_by_what_an_application_sends_through_it(flow: str, tmp_path: Path) -> None:
    """Data that a flow's destination sends is in the queue of the other direction."""
    answers, size = ANSWERS[flow]
    file = tmp_path / "x.toml"
    file.write_text(
        'name = "x"\nduration = "10 s"\n'
        '[[link]]\nname = "sat"\nfrom = "server"\nto = "user"\nrate = "4 Mbit/s"\ndelay = "250 ms"\n'
        'queue = { kind = "drop-tail", packets = 40 }\nreturn = { rate = "1 Mbit/s", delay = "250 ms" }\n'
        f'[[flow]]\nname = "f"\nfrom = "user"\nto = "server"\n{flow}\n'
    )
    known = facts(file)
    assert (known["flows"][0]["answers"], known["flows"][0]["answer_bytes"]) == (answers, size)
    queues = {row.part: row.queue_bytes for row in parts(known)}
    # The table omits a direction without traffic.
    assert queues.get("sat") == (40 * size or None)
    said = " ".join(cautions(bp.load(file), known))
    # 250 kB are in flight at 4 Mbit/s; the queue of requests does not matter.
    assert ("sat: the queue of 60.5 kB" in said) == (answers == "stream")
    assert "sat.return:" not in said or answers == "nothing"
    # A call takes 3 % of the slower direction; the gain from a queue is unknown.
    assert ("% of its rate" in said) == ("voice" in flow)
