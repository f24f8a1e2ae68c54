"""The numbers of every run balance, and a number is the same in every view.

The scenarios are the examples, those of the gallery, one from each preset, and three more: one with
losses in one direction only, one with three legs, and one in outage. In each direction

    packets sent = packets delivered + packets lost + packets in the network at the end of the run,

a delay is at least the propagation delay, started = finished + unfinished, the legs of a split flow
add up to the whole path, and groups to their flows. The Rust test ``kinds`` verifies the first two
for every variant of a model.
"""

from __future__ import annotations

import json
import math
import tomllib
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import bentpipe as bp
import pytest
from bentpipe import _native
from bentpipe.quantities import base_value, number
from bentpipe.results.flows import flow_results
from bentpipe.results.groups import by_group, group_table, summarise
from bentpipe.scenario.facts import Hop, facts
from bentpipe.scenario.starters import scenario_from
from helpers.scenarios import described
from rigs import commands

#: Duration of the runs, if the scenario allows it.
SHORT = "8 s"

LINK = {"name": "sat", "from": "user", "to": "server", "rate": "5 Mbit/s", "delay": "100 ms"}
ENDS = {"from": "user", "to": "server"}
#: A page of 20 objects, as in the tutorial, and losses of its packets on the way back.
PAGE = {"kind": "http", "object": "50 kB"} | dict.fromkeys(("objects", "objects_min", "objects_max"), 20)
SMALL = {"kind": "http", "object": "8 kB"}
LOSSY_RETURN = {
    "rate": "5 Mbit/s",
    "delay": "100 ms",
    "error": {"kind": "packet", "probability": 0.02},
}


def page() -> dict[str, Any]:
    """Returns pages and a call that lose packets only on the way back."""
    flows = [
        {"name": "page", **ENDS, "app": PAGE, "transport": "tcp"},
        {"name": "call", **ENDS, "app": "voice", "transport": "udp"},
        {"name": "users", "count": 3, **ENDS, "app": SMALL, "transport": "tcp"},
    ]
    return {"name": "page", "duration": "20 s", "link": [LINK | {"return": LOSSY_RETURN}], "flow": flows}


def split() -> dict[str, Any]:
    """Returns a transfer and a page over two proxies, with three legs in each direction."""
    error = {"kind": "packet", "probability": 0.01}
    links = [
        {"name": "one", "from": "server", "to": "a", "rate": "50 Mbit/s", "delay": "10 ms"},
        {"name": "two", "from": "a", "to": "b", "rate": "10 Mbit/s", "delay": "250 ms", "error": error},
        {"name": "three", "from": "b", "to": "user", "rate": "20 Mbit/s", "delay": "5 ms", "error": error},
    ]
    proxies = [
        # Proxies in another order than on the path.
        {"name": f"pep-{node}", "node": node, "mechanism": {"kind": "split", "buffer": "1 MB"}}
        for node in ("b", "a")
    ]
    flows = [
        {"name": "endless", "from": "server", "to": "user", "app": "bulk", "transport": "tcp"},
        {
            "name": "file",
            "from": "server",
            "to": "user",
            "app": {"kind": "bulk", "size": "200 kB"},
            "transport": "tcp",
        },
        {"name": "page", **ENDS, "app": PAGE, "transport": "tcp"},
    ]
    return {"name": "split", "duration": "20 s", "link": links, "proxy": proxies, "flow": flows}


def dead() -> dict[str, Any]:
    """Returns pages, calls and a transfer over a link in outage, and the same over a link with
    capacity."""
    outage = {"trace": {"samples": "time,rate\n0,0\n"}}
    links = [
        {"name": node, "from": node, "to": "server", "rate": "5 Mbit/s", "delay": "100 ms", **more}
        for node, more in (("up", {}), ("down", outage))
    ]
    flows = [
        {"name": f"{kind}-{node}", "from": node, "to": "server", "app": app, "transport": over}
        for kind, app, over in (
            ("web", SMALL, "tcp"),
            ("file", {"kind": "bulk", "size": "100 kB"}, "tcp"),
            ("call", "voice", "udp"),
            ("calls", {"kind": "calls", "calls": 3}, "sip"),
        )
        for node in ("up", "down")
    ]
    return {"name": "dead", "duration": SHORT, "link": links, "flow": flows}


OWN = {"page": page, "split": split, "dead": dead}


def scenarios() -> Iterator[tuple[str, Any]]:
    """Yields every scenario with its name: a path, or its content."""
    yield from described()
    for name, about, text in _native.presets():
        yield f"presets/{name}", tomllib.loads(scenario_from(name, about, text))
    for name, make in OWN.items():
        yield name, make()


SCENARIOS = dict(scenarios())


def run_of(name: str, folder: Path) -> bp.Run:
    """Runs a scenario, for a short time if possible. Deep space needs hours, which take little time
    to simulate."""
    scenario = bp.load(SCENARIOS[name])
    slow = name in OWN or any(word in name for word in ("mars", "moon", "deep-space", "sparse"))
    try:
        return bp.simulate(scenario, overrides=[] if slow else [f"duration={SHORT}"], out=folder)
    except bp.ScenarioError as refused:
        # An event is scheduled for a later time.
        assert "allowed: up to" in str(refused)
        return bp.simulate(scenario, out=folder)


def known(value: float | None) -> bool:
    return value is not None and not math.isnan(value)


@pytest.mark.parametrize("name", SCENARIOS)
def test_what_was_sent_was_delivered_or_lost_or_is_on_its_way(name: str, tmp_path: Path) -> None:
    run = run_of(name, tmp_path / "run")
    rows = {row["flow"]: row for row in run.flows.iter_rows(named=True)}
    packets = run.summary["packets"]
    assert packets["conserved"]
    # A packet to several receivers of a multicast group is on its way, or lost, in several rows.
    groups = {flow["name"]: flow["multicast"] for flow in run.flow_tables if "multicast" in flow}
    on_their_way: dict[str, int] = {}
    # A snooping proxy and a conference create packets of flows whose ends did not send them.
    mechanisms = [proxy["mechanism"]["kind"] for proxy in run.scenario.get("proxy", [])]
    exact = "service" not in run.scenario and "snoop" not in mechanisms
    for flow, row in rows.items():
        sent, delivered = row["sent_packets"], row["delivered_packets"]
        if not exact or row["app"] in ("bundles", "sensors") or not known(sent):
            continue
        delivered = delivered if known(delivered) else 0
        assert delivered <= sent, flow
        if known(row["sent_bytes"]) and known(row["delivered_bytes"]):
            assert row["delivered_bytes"] <= row["sent_bytes"], flow
        lost = row["lost_packets"]
        assert 0 <= sent - delivered - lost <= packets["held"]["packets"], (flow, sent, delivered, lost)
        assert row["loss"] == (lost / sent if sent else None), flow
        if row["leg"] is None:
            name = groups.get(flow, flow)
            on_their_way[name] = max(on_their_way.get(name, 0), sent - delivered - lost)
    assert sum(on_their_way.values()) <= packets["held"]["packets"]
    # Each lost packet belongs to exactly one row, or to one row or more of a multicast group.
    single = [row for flow, row in rows.items() if flow not in groups]
    data = sum(loss["packets"] for loss in run.summary["losses"] if loss["data"] and loss["flow"] in rows)
    assert not exact or data == sum(row["lost_packets"] or 0 for row in single if row["leg"] is None)
    for group in set(groups.values()):
        lost_by_row = [rows[flow]["lost_packets"] for flow, of_group in groups.items() if of_group == group]
        losses = [loss for loss in run.summary["losses"] if loss["data"] and loss["flow"] == group]
        assert max(lost_by_row) <= sum(loss["packets"] for loss in losses) <= sum(lost_by_row)


def propagation(run: bp.Run, row: dict[str, Any]) -> float:
    """Returns the shortest time over the path of a row, or over its leg."""
    base = row["flow"].partition("@")[0]
    (flow,) = (flow for flow in facts(run.scenario)["flows"] if flow["name"] == base.removesuffix(".reverse"))
    hops = flow["back" if base.endswith(".reverse") else "there"]
    assert hops is not None, "something has arrived"
    nodes = [hop["from"] for hop in hops] + [hops[-1]["to"]]
    parts = hops[nodes.index(row["from"]) : nodes.index(row["to"])]
    links = {link["name"]: link for link in run.resolved.links}

    def least(hop: Hop) -> float:
        """Returns the minimum delay of a hop. With jitter the facts have its mean, so the link's
        own delay counts."""
        link = links.get(hop["network"])
        if link is None or not any("jitter" in note for note in hop["notes"]):
            return hop["delay_s"]["least"]
        direction = link if hop["from"] == link["from"] else link.get("return") or link
        return base_value(direction["delay"])

    # The facts describe the largest packets; ATM cells of smaller packets wait less for a slot.
    return sum(map(least, parts)) * (0.98 if row["app"] == "netpipe" else 1)


@pytest.mark.parametrize("name", SCENARIOS)
def test_delays_rows_and_legs_agree(name: str, tmp_path: Path) -> None:
    run = run_of(name, tmp_path / "run")
    rows = list(run.flows.iter_rows(named=True))
    for row in rows[:40]:
        if known(row["delay_mean"]):
            assert row["delay_mean"] >= propagation(run, row) * (1 - 1e-9), row["flow"]
    for row in rows:
        assert (row["started"] is None) == (row["finished"] is None) == (row["unfinished"] is None)
        if row["started"] is not None:
            assert row["started"] == row["finished"] + row["unfinished"], row["flow"]
            assert row["unfinished"] >= 0, row["flow"]
        legs = [leg for leg in rows if leg["leg"] and leg["flow"].partition("@")[0] == row["flow"]]
        if not legs:
            continue
        for column in ("sent_packets", "delivered_packets", "lost_packets", "retransmissions", "timeouts"):
            assert row[column] == sum(leg[column] for leg in legs), (row["flow"], column)
        assert [leg["leg"] for leg in legs] == list(range(1, len(legs) + 1))
        assert legs[0]["from"] == row["from"] and legs[-1]["to"] == row["to"]
        assert row["sent_bytes"] == legs[0]["sent_bytes"]
        assert row["delivered_bytes"] == legs[-1]["delivered_bytes"]
        for before, after in pairwise(legs):
            assert before["to"] == after["from"] and after["sent_bytes"] <= before["delivered_bytes"]
    results = flow_results(run)
    assert [(flow.flow, flow.loss) for flow in results] == [(row["flow"], row["loss"]) for row in rows]
    for group, members in by_group(results)[0].items():
        found = summarise(group, members)
        of_tasks: list[Any] = [flow for flow in members if flow.started is not None]
        assert found.started == (sum(flow.started for flow in of_tasks) if of_tasks else None)
        goodputs = [flow.goodput for flow in members if flow.goodput is not None]
        (goodput,) = (one for one in found.statistics if one.about.startswith("goodput"))
        assert goodput.count == len(goodputs)
        assert goodput.count * goodput.mean == pytest.approx(sum(goodputs) / 1e3)


def test_losses_on_the_way_back_are_those_of_the_way_back(tmp_path: Path) -> None:
    flows: dict[str, Any] = {flow.flow: flow for flow in flow_results(run_of("page", tmp_path / "run"))}
    assert (flows["page"].loss, flows["call"].loss) == (0.0, 0.0)
    assert flows["page.reverse"].loss == pytest.approx(0.02, abs=0.015)
    assert flows["page.reverse"].retransmissions
    assert 0 < flows["call.reverse"].loss < 0.1


def test_a_leg_has_its_own_sender_and_receiver(tmp_path: Path) -> None:
    flows: dict[str, Any] = {flow.flow: flow for flow in flow_results(run_of("split", tmp_path / "run"))}
    legs = ["endless@server", "endless@pep-a", "endless@pep-b"]
    ends = [("server", "a"), ("a", "b"), ("b", "user")]
    assert [(flows[leg].source, flows[leg].destination) for leg in legs] == ends
    for leg, delay in zip(legs, (0.01, 0.25, 0.005), strict=True):
        assert delay <= flows[leg].delay_mean < 1.3 * delay + 0.02
        assert 2 * delay <= flows[leg].rtt_mean
    # The satellite loses 1 %, and so does the last link; the first link loses nothing.
    assert flows["endless@server"].loss == 0
    assert all(0.004 < flows[leg].loss < 0.03 for leg in legs[1:])
    assert flows["endless"].rtt_mean is None and flows["endless"].delay_mean is None
    # The user's requests pass the proxies in the reverse order of the pages.
    assert (flows["page@user"].destination, flows["page@pep-b"].destination) == ("b", "a")
    assert flows["page.reverse@server"].destination == "a" and flows["page.reverse@pep-b"].source == "b"
    # The user has the file when the last leg has delivered it.
    file = flows["file"].transfer
    assert file is not None and file > flows["file@server"].transfer


def test_what_never_finishes_is_counted(tmp_path: Path) -> None:
    run = run_of("dead", tmp_path / "run")
    flows: dict[str, Any] = {flow.flow: flow for flow in flow_results(run)}
    for kind in ("web", "file"):
        assert (flows[f"{kind}-up"].started, flows[f"{kind}-up"].finished) == (1, 1)
    for kind in ("web", "file", "call"):
        dead = flows[f"{kind}-down"]
        assert (dead.started, dead.finished, dead.unfinished) == (1, 0, 1)
    assert flows["calls-down"].unfinished == flows["calls-down"].started
    # Both listeners of a dead call hear nothing.
    assert flows["call-down"].voice_mos == flows["call-down.reverse"].voice_mos == 1.0
    assert flows["call-down"].voice_loss == 100
    assert flows["call-up"].voice_mos > 3.5
    shown = commands.call(
        "simulate", tmp_path / "run" / "scenario.toml", "--report", "--out", tmp_path / "again"
    ).output
    assert "no capacity for the whole run (down, down.return)" in " ".join(shown.split())
    assert "Outage: " in (tmp_path / "again" / "report.html").read_text()


def test_the_same_number_is_shown_everywhere(tmp_path: Path) -> None:
    """The views: `flows.parquet`, JSON, the printed table, the report, `compare`, a campaign and
    the web interface."""
    from bentpipe.campaign.results import open_campaign
    from bentpipe.report import page as report_page
    from bentpipe.testbed.api.results import results_of

    file = tmp_path / "page.toml"
    file.write_text(bp.load(page()).toml, encoding="utf-8")
    given = ("--no-report", "--out")
    document = json.loads(commands.call("simulate", file, "--json", *given, tmp_path / "a").output)["runs"][0]
    run = bp.open_run(tmp_path / "a")
    rows = {row["flow"]: row for row in run.flows.iter_rows(named=True)}
    flows: dict[str, Any] = {flow.flow: flow for flow in flow_results(run)}
    web = results_of(run)
    commands.call("simulate", file, *given, tmp_path / "b", "--seed", "2")
    compared = bp.compare(run, tmp_path / "b")
    commands.call("campaign", "run", file, "--vary", "seed=1", "--out", tmp_path / "c")
    campaign = open_campaign(tmp_path / "c")
    for field in ("goodput", "loss", "started", "finished", "unfinished", "delay_mean", "voice_mos"):
        of_campaign = dict(campaign.values(field).select("entity", "value").iter_rows())
        for one in document["flows"]:
            name = one["flow"]
            value = getattr(flows[name], field)
            assert one[field] == value
            assert rows[name][field] == value or not known(rows[name][field])
            assert next(of[field] for of in web.flows if of["flow"] == name) == value
            if value is not None:
                assert of_campaign[name] == value, (field, name)
                (number_of,) = (of for of in compared.flows if (of.flow, of.quantity) == (name, field))
                assert number_of.a == value
    # The printed tables and the report have the same numbers for flows and for groups.
    shown = commands.call("simulate", file, *given, tmp_path / "d").output
    report = report_page([run])
    lines = [" ".join(line.split()) for line in shown.splitlines()]
    one = flows["page"]
    took = [number(1e3 * value) for value in (one.transaction_mean, one.transaction_p95)]
    assert " ".join(["page", *took, "1", "1", "0"]) in lines
    assert f"<td>{number(100 * flows['page.reverse'].loss)}</td>" in report
    table = group_table(run)
    for group in web.groups:
        found = table.filter(table["group"] == group.name)
        assert [one.mean for one in group.statistics] == found["mean"].to_list()
        assert [one.count for one in group.statistics] == found["count"].to_list()
        for statistic in group.statistics:
            assert any(
                line.startswith(statistic.about) and f" {number(statistic.mean)} " in line for line in lines
            )
            assert f"<td>{number(statistic.mean)}</td>" in report
    assert next(group for group in web.groups if group.name == "users").started == sum(
        flows[f"users{index}"].started for index in (1, 2, 3)
    )
