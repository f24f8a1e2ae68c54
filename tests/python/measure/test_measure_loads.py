"""Loads of a measurement: their data, order and arrivals, and the effect of the path."""

from __future__ import annotations

import contextlib
import itertools
import json
import socket
from dataclasses import replace
from pathlib import Path

import bentpipe as bp
import numpy as np
import polars as pl
import pytest
from bentpipe import _native, measure
from bentpipe.cli import app
from bentpipe.errors import InputError
from bentpipe.measure import bulk, folder
from bentpipe.measure.channel import MAGIC, Channel, ChannelError
from bentpipe.measure.datagrams import ARRIVED, Datagram
from bentpipe.measure.flows import flow
from bentpipe.measure.load import Item, Load, schedule
from bentpipe.measure.load_client import Outcome
from bentpipe.measure.load_results import Loaded
from bentpipe.measure.plan import plan_of
from bentpipe.measure.queueing import queue, together
from bentpipe.measure.summary import _at_rest, summarise
from bentpipe.measure.tcplog import COLUMNS
from bentpipe.results.runs import open_run
from bentpipe.voice import emodel
from helpers.measuring import KEY, LINK, measure_path, path, reflecting
from hypothesis import given
from hypothesis import strategies as st
from rigs.networks import Bentpipe, networks
from typer.testing import CliRunner


def test_each_block_has_every_congestion_control_once_in_random_order() -> None:
    loads = [Load("tcp", blocks=20, duration=5.0, pause=1.0), Load("udp", "down", blocks=20, duration=2.0)]
    items = schedule(loads, ["cubic", "bbr", "reno"], ["cubic"], seed=1)
    assert len(items) == 80 and len({item.name for item in items}) == 80
    blocks = [items[at : at + 4] for at in range(0, 80, 4)]
    kinds = [[item.congestion for item in block] for block in blocks]
    assert all(sorted(map(str, kind)) == ["None", "bbr", "cubic", "reno"] for kind in kinds)
    # All 24 orders are equally likely, so fewer than 8 different ones in 20 blocks are practically
    # impossible.
    assert len({tuple(kind) for kind in kinds}) >= 8
    # One load after the other, with the pause between.
    for before, after in itertools.pairwise(items):
        assert after.start == pytest.approx(before.start + before.load.duration + before.load.pause)
    assert schedule(loads, ["cubic"], ["cubic"], seed=1) == schedule(loads, ["cubic"], ["cubic"], seed=1)


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ({"kind": "icmp"}, "allowed: tcp, udp, burst, impulses"),
        ({}, "load.kind = None"),
        ({"kind": "udp", "congestion": "cubic"}, "of kind udp"),
        ({"kind": "tcp", "congestion": 3}, "names of congestion controls"),
        ({"kind": "tcp", "direction": "left"}, "allowed: up, down"),
        ({"kind": "udp", "rate": "3 MB"}, "a rate up to 10 Gbit/s"),
        ({"kind": "udp", "size": "20 B"}, "a size from 64 B to 1500 B"),
        ({"kind": "burst", "packets": 0}, "a whole number from 1 to 20000"),
        ({"kind": "tcp", "duration": "0 s"}, "a time from 0.1 s"),
        ({"kind": "call", "codec": "G.999"}, "allowed: G.711u"),
        ({"kind": "call", "direction": "up"}, "of kind call"),
        ({"kind": "page", "object": "0 B"}, "a size from 1 B"),
        ("tcp", "allowed: tables"),
    ],
)
def test_invalid_keys_of_loads_are_refused(table: object, said: str) -> None:
    with pytest.raises(InputError, match=said):
        plan_of({"load": [table]}, "plan.toml")


def test_a_load_needs_a_key() -> None:
    with pytest.raises(InputError, match="needs --key"):
        measure.probe("127.0.0.1", 9, plan_of({"load": {"kind": "udp"}}, "plan.toml"), None)


@given(st.binary(max_size=200), st.booleans())
def test_any_bytes_are_parsed_or_rejected(data: bytes, known: bool) -> None:
    Datagram.read(data)
    here, there = socket.socketpair()
    with here, there:
        here.sendall((MAGIC if known else b"") + data)
        here.shutdown(socket.SHUT_WR)
        with pytest.raises(ChannelError):
            Channel(there, KEY, False).hear(1.0)


def test_messages_with_another_key_and_repeated_messages_are_refused() -> None:
    here, there = socket.socketpair()
    with here, there:
        one, other = Channel(here, KEY, True), Channel(there, KEY, False)
        one.say({"a": 1}, b"data")
        one.say({"b": 2})
        assert other.hear(1.0) == ({"a": 1}, b"data")
        assert other.hear(1.0) == ({"b": 2}, b"")
        # A repeated message has the wrong sequence number.
        one._sent -= 2
        one.say({"b": 2})
        with pytest.raises(ChannelError, match="another key"):
            other.hear(1.0)
        Channel(here, b"another key.....", True).say({"c": 3})
        with pytest.raises(ChannelError, match="another key"):
            Channel(there, KEY, False).hear(1.0)


def test_hosts_without_the_key_get_no_byte_over_tcp() -> None:
    with reflecting(KEY) as (port, counts):
        for first in (b"GET / HTTP/1.0\r\n\r\n", MAGIC + bytes(32), bytes(16)):
            with socket.create_connection(("127.0.0.1", port), timeout=10) as stranger:
                stranger.sendall(first)
                # The connection may be reset before or after.
                with contextlib.suppress(OSError):
                    stranger.shutdown(socket.SHUT_WR)
                with contextlib.suppress(ConnectionResetError):
                    assert stranger.recv(100) == b""
    assert counts[0].transfers == 0


@pytest.mark.quiet
def test_every_kind_of_load_arrives_completely_over_loopback() -> None:
    common = {"duration": "1 s", "pause": "0 s"}
    loads = [
        {"kind": kind, "direction": direction} | (common if kind != "burst" else {"pause": "0 s"}) | more
        for kind, more in (
            ("tcp", {"congestion": "cubic"}),
            ("udp", {"rate": "4 Mbit/s"}),
            ("burst", {"packets": 30}),
            ("impulses", {"every": "0.2 s", "packets": 2}),
        )
        for direction in ("up", "down")
    ]
    plan = plan_of({"duration": "1 s", "train": 0, "load": loads}, "plan.toml")
    with reflecting(KEY) as (port, counts):
        seen = measure.probe("127.0.0.1", port, plan, KEY)
    assert counts[0].transfers == 8 and [one.trouble for one in seen.outcomes] == [None] * 8
    said = summarise(seen)
    by_name = {one.name: one for one in said.loads}
    for direction in ("up", "down"):
        assert by_name[f"tcp-{direction}-cubic-1"].delivered > 10**6
        assert len(by_name[f"tcp-{direction}-cubic-1"].outcome.tcp) > 10
        udp = by_name[f"udp-{direction}-1"]
        assert udp.lost == 0 and len(udp.time) == 416
        # 1172 of 1200 bytes are payload, and the last datagram leaves 2.4 ms before the end of the
        # second.
        assert udp.goodput == pytest.approx(4e6 * 1172 / 1200, rel=0.05)
        assert by_name[f"burst-{direction}-1"].lost == 0
        # The delay of loopback. Its interval contains every value that the clocks cannot exclude.
        assert float(np.nanmin(udp.low)) <= 1e-3 and float(np.nanmin(udp.high)) >= 0
    # Probes continue until the last load has ended.
    assert said.time[-1] >= max(one.begin + one.span for one in said.loads) - 0.5


def test_calls_and_pages_equal_those_of_a_scenario(tmp_path: Path) -> None:
    loads = [
        {"kind": "call", "duration": "1 s", "codec": "G.729A", "pause": "0 s"},
        {"kind": "page", "pages": 2, "objects": 4, "object": "9 kB", "congestion": "cubic", "pause": "0 s"},
    ]
    plan = plan_of({"duration": "1 s", "train": 0, "load": loads}, "plan.toml")
    with reflecting(KEY) as (port, _):
        seen = measure.probe("127.0.0.1", port, plan, KEY)
    assert [one.trouble for one in seen.outcomes] == [None] * 3
    folder.free(tmp_path / "run")
    run = folder.write(tmp_path / "run", "host", 1, seen, summarise(seen))
    rows = {row["flow"]: row for row in run.flows.to_dicts()}
    for name in ("call-1", "call-1.reverse"):
        # 20 ms of speech in 20 bytes; 5 ms of look-ahead, and 60 ms in the de-jitter buffer.
        assert (rows[name]["app"], rows[name]["sent_packets"], rows[name]["voice_lost"]) == ("voice", 50, 0)
        assert rows[name]["voice_delay"] == pytest.approx(0.085, abs=0.02)
        assert rows[name]["sent_bytes"] == 50 * 32
    # 82 is the rating of G.729A without losses and delay (G.107: 93.2 - 11).
    assert 75 < rows["call-1"]["voice_r"] < 82.3
    page, objects = rows["page-cubic-1"], rows["page-cubic-1.reverse"]
    assert (page["transactions"], page["transaction_bytes"]) == (2, 72_000)
    assert (page["delivered_bytes"], objects["delivered_bytes"]) == (2 * 4 * 400, 72_000)
    assert run.trace("transaction")["complete"].to_list() == [1, 1]
    # The run's scenario has the same flows, with the same columns filled.
    again = bp.simulate(run.path / "scenario.toml", out=tmp_path / "again")
    simulated = {row["flow"]: row for row in again.flows.to_dicts()}
    assert set(rows) == set(simulated)
    for name, row in list(rows.items())[1:]:
        assert all(simulated[name][key] is not None for key, value in row.items() if value is not None), name
    assert simulated["page-cubic-1"]["transaction_bytes"] == 72_000


def test_pages_of_few_objects_end() -> None:
    """A page of one object needs no further request, and a page of two objects no second
    connection."""
    loads = [{"kind": "page", "pages": 2, "objects": count, "pause": "0 s"} for count in (1, 2, 3)]
    plan = plan_of({"duration": "1 s", "train": 0, "load": loads}, "plan.toml")
    with reflecting(KEY) as (port, _):
        seen = measure.probe("127.0.0.1", port, plan, KEY)
    pages = {one.item.load.objects: one for one in seen.outcomes}
    assert set(pages) == {1, 2, 3} and {one.trouble for one in pages.values()} == {None}
    for count, one in pages.items():
        assert one.pages["complete"].tolist() == [True, True]
        assert one.pages["bytes"].tolist() == [count * one.item.load.object] * 2


def test_a_call_is_rated_by_the_equations_of_the_e_model() -> None:
    source = np.random.default_rng(3)
    arrivals = 0.025 + 0.02 * np.arange(2000) + source.uniform(0.05, 0.09, 2000)
    kept = np.flatnonzero(source.random(2000) > 0.04)
    heard = json.loads(_native.hear("G.729A", list(zip(kept.tolist(), arrivals[kept].tolist(), strict=True))))
    assert heard["lost"] == kept[-1] + 1 - kept[0] - len(kept)
    ms = 1e3 * heard["delay"]
    call = emodel.rate("G.729A", T=ms, Ta=ms, Tr=2 * ms, Ppl=heard["loss"], BurstR=heard["burst_ratio"])
    assert heard["r"] == pytest.approx(call.R) and heard["mos"] == pytest.approx(call.MOS)


PATH = (
    LINK
    + """
rate = "10 Mbit/s"
delay = "40 ms"
queue = { kind = "drop-front", bytes = "125 kB" }
return = { rate = "10 Mbit/s", delay = "40 ms", queue = { kind = "drop-tail", bytes = "125 kB" } }
"""
)

PLAN = """
duration = "4 s"
rate = 50
[[load]]
kind = "tcp"
congestion = "cubic"
duration = "4 s"
pause = "1 s"
[[load]]
kind = "udp"
direction = "down"
rate = "14 Mbit/s"
duration = "2 s"
[[load]]
kind = "burst"
packets = 300
pause = "1 s"
"""


@pytest.mark.quiet
@networks
def test_a_load_recovers_the_queue_that_it_fills(bentpipe: Bentpipe, tmp_path: Path) -> None:
    """A queue of 100 ms in both directions, filled by TCP and by datagrams at 1.4 times the
    rate."""
    with path(bentpipe, tmp_path, PATH):
        text = measure_path(bentpipe, tmp_path, PLAN, "--json")
    document = json.loads(text)
    run = open_run(tmp_path / "run")
    flows = {row["flow"]: row for row in document["loads"]}
    tcp, udp = flows["tcp-up-cubic-1"], flows["udp-down-1"]
    assert tcp["congestion"] == "cubic" and tcp["goodput"] > 7e6 and tcp["retransmissions"] > 0
    log = run.trace("tcp", "tcp-up-cubic-1")
    cwnd, srtt = log["cwnd"].to_numpy(), log["srtt"].drop_nulls().to_numpy()
    # When the queue overflows first, 100 kB are in flight and 125 kB wait: 150 packets of 1500 B.
    # The probes use 0.3 of 10 Mbit/s, which the transfer cannot use.
    assert cwnd.max() >= 150 * (1 - 0.3 / 10) and 0.08 <= srtt.min() < 0.1 < srtt.max() <= 0.2
    # 4 of 14 Mbit/s are lost, except the 125 kB that the queue has taken; probes take 0.3 Mbit/s.
    rows = run.trace("load", "udp-down-1")
    lost = 1 - float(rows["arrived"].to_numpy().mean())
    assert lost == pytest.approx(1 - ((10 - 0.3) * 2 + 1) / (14 * 2), abs=0.02)
    delay = ((rows["delay_low"] + rows["delay_high"]).drop_nulls() / 2).to_numpy()
    # The queue is full for most of the time; a busy host may delay single datagrams.
    assert np.quantile(delay, 0.98) - delay.min() == pytest.approx(0.1, rel=0.1)
    arrived = (10 - 0.3) * 2 + 1
    assert 8 * udp["delivered_bytes"] == pytest.approx(1e6 * arrived * 1172 / 1200, rel=0.03)
    # Probes in the same queue whose losses are not random do not make the path lossy.
    assert run.scenario["link"][0]["error"]["kind"] == "none"
    # The queue towards the reflector drops at its front, the other one at its tail.
    for direction, policy in (("up", "drop-front"), ("down", "drop-tail")):
        (found,) = run.table("bottleneck").filter(pl.col("direction") == direction).to_dicts()
        assert found["policy"] == policy and found["overflowed"]
        assert found["rate"] == pytest.approx(10e6, rel=0.03)
        assert found["depth"] == pytest.approx(125e3, rel=0.1)
    assert run.scenario["link"][0]["queue"]["kind"] == "drop-front"
    # Models fitted to the run reproduce and report the measured values.
    out, shown = str(tmp_path / "fitted.toml"), str(tmp_path / "figure.png")
    answer = CliRunner().invoke(
        app, ["fit", str(run.path), "--model", "fitted", "--out", out, "--draw", shown]
    )
    assert answer.exit_code == 0, answer.output
    text = Path(out).read_text()
    assert "# Residuals, of one simulation:" in text and Path(shown).stat().st_size > 10_000
    found = {
        line.split(":")[0].strip("# ") + " " + line.split()[2]: float(line.rpartition("(")[2].split()[0])
        for line in text.splitlines()
        if line.endswith("%)")
    }
    assert abs(found["tcp-up-cubic-1 goodput"]) <= 15 and abs(found["udp-down-1 goodput"]) <= 5
    assert abs(found["udp-down-1 delay_p95"]) <= 10
    bp.load(out)
    # The run is a scenario with the same flows.
    again = tmp_path / "again"
    answer = CliRunner().invoke(app, ["simulate", str(run.path / "scenario.toml"), "--out", str(again)])
    assert answer.exit_code == 0, answer.output
    assert open_run(again).flows["flow"].to_list() == run.flows["flow"].to_list()


def test_a_congestion_control_that_this_host_lacks_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    # Other tests register congestion controls meanwhile.
    controls = bulk.controls()
    monkeypatch.setattr(bulk, "controls", lambda: controls)
    table = {
        "kind": "tcp",
        "congestion": ["no-such", controls[0]],
        "duration": "0.2 s",
        "pause": "0 s",
    }
    plan = plan_of({"duration": "1 s", "train": 0, "load": [table]}, "plan.toml")
    with reflecting(KEY) as (port, _):
        seen = measure.probe("127.0.0.1", port, plan, KEY)
    said = summarise(seen)
    (note,) = (one for one in said.notes if "no-such-1" in one)
    assert "congestion control no-such" in note
    assert note.endswith(f"allowed to this user: {', '.join(controls)}")
    assert sum(one.delivered > 0 for one in said.loads) == 1


def through(
    queue: str, packets: int, count: int, gap: float, loss: float = 0.0, *, size: int = 1000, room: int = 0
) -> Loaded:
    """Returns a burst through a queue of this many packets, or bytes in `room`, at 8 Mbit/s: 1 ms
    for a packet of 1000 bytes, and 20 ms of delay."""
    load = Load("burst", size=size, packets=count)
    pattern = load.pattern(np.random.default_rng(1))
    # A small datagram leaves with the one before it.
    own = np.cumsum(pattern["size"] == load.size)[: int((pattern["lane"] == 0).sum())] - 1
    pattern["at"][: len(own)] = own * gap
    pattern["at"][len(own) :] += count * gap
    source, held, arrived = np.random.default_rng(7), list[int](), np.full(len(pattern), np.nan)
    free = 0.0

    def serve(until: float) -> None:
        nonlocal free
        while held and free <= until:
            # A fair queue takes a packet of the other port first.
            first = held.pop(-1 if queue == "fair" and pattern["lane"][held[-1]] else 0)
            free = max(free, float(pattern["at"][first])) + pattern["size"][first] / 1e6
            if source.random() >= loss:
                arrived[first] = free + 0.02

    for number, at in enumerate(pattern["at"].tolist()):
        serve(at)
        if len(held) >= packets and queue == "tail":
            continue
        if room and sum(int(pattern["size"][one]) for one in held) + int(pattern["size"][number]) > room:
            continue
        if queue == "early" and source.random() < min(0.2, 0.2 * len(held) / packets):
            continue
        if len(held) >= packets and queue == "front":
            held.pop(0)
        held.append(number)
    serve(np.inf)
    outcome = Outcome(Item("burst-up-1", 0.0, load), pattern=pattern)
    outcome.sent = (pattern["at"] * 1e9).astype(np.int64) + 10**9
    numbers = np.flatnonzero(np.isfinite(arrived))
    outcome.arrived = np.zeros(len(numbers), dtype=ARRIVED)
    outcome.arrived["number"], outcome.arrived["size"] = numbers, pattern["size"][numbers]
    # The other clock is 3 s ahead.
    outcome.arrived["arrived"] = (arrived[numbers] * 1e9).astype(np.int64) + 4 * 10**9
    nothing = np.empty(0)
    return Loaded(outcome, 0.0, 1.0, 0, *[nothing] * 6)


@pytest.mark.parametrize("loss", [0.0, 0.02])
@pytest.mark.parametrize(
    ("kind", "policy"), [("tail", "drop-tail"), ("front", "drop-front"), ("early", "aqm")]
)
def test_the_lost_numbers_show_the_drop_policy(kind: str, policy: str, loss: float) -> None:
    for packets in (40, 150):
        found = queue(through(kind, packets, 500, 1e-4, loss), (loss, loss))
        assert found is not None and found.policy == policy and found.overflowed
        assert found.rate == pytest.approx(8e6, rel=0.03)
        if policy != "aqm":
            assert found.depth == pytest.approx(packets * 1000, rel=0.1)
            assert found.packets == pytest.approx(packets, rel=0.1)


def test_random_losses_without_a_lost_probe_do_not_look_like_aqm() -> None:
    """No loss among 33 probes means a loss rate of at most 10 %; the path has 3 %."""
    front = queue(through("front", 60, 300, 2e-5, 0.03, size=1400), (0.0, 0.104))
    assert front is not None and front.policy == "drop-front"
    # Above the rate of the path for some seconds, so that many are lost while the queue is not
    # full.
    tail, early = (queue(through(kind, 200, 3000, 9e-4, 0.03), (0.0, 0.104)) for kind in ("tail", "early"))
    assert tail is not None and tail.policy is None and tail.depth_most is None
    assert early is not None and early.policy != "drop-tail"
    known = queue(through("tail", 200, 3000, 9e-4, 0.03), (0.03, 0.04))
    assert known is not None and known.policy == "drop-tail"


@pytest.mark.parametrize("loss", [0.0, 0.02])
def test_small_datagrams_determine_the_depth_to_less_than_a_packet(loss: float) -> None:
    for room in (60_000, 60_700, 61_300, 80_000, 120_500):
        found = queue(through("tail", 10**6, 300, 2e-5, loss, size=1400, room=room), (loss, loss))
        assert found is not None and found.policy == "drop-tail"
        # The largest packet that does not fit has 1500 bytes.
        assert found.depth == pytest.approx(room, abs=150), room


def test_two_sizes_show_a_limit_in_packets() -> None:
    large, small = (queue(through("tail", 60, 300, 2e-5, size=size)) for size in (1400, 1000))
    assert large is not None and small is not None
    both = together([large, small], "up")
    assert both is not None and both.in_packets and both.packets == pytest.approx(60, abs=1)
    large, small = (queue(through("tail", 10**6, 300, 2e-5, size=size, room=60_000)) for size in (1400, 1000))
    assert large is not None and small is not None
    both = together([large, small], "up")
    assert both is not None and not both.in_packets and both.depth == pytest.approx(60_000, abs=150)


def test_a_constant_load_does_not_make_a_drop_front_queue_look_limited_in_packets() -> None:
    """At 1.2 times the rate, packets that arrive have waited for 1 / 1.2 of the queue: as many
    packets of 1200 bytes as of a burst's 1400."""
    burst = queue(through("front", 60, 300, 2e-5, size=1400))
    assert burst is not None and burst.policy == "drop-front"
    steady = replace(burst, load="udp-up-1", size=1200, depth=round(burst.depth / 1.17), policy="aqm")
    steady = replace(steady, packets=round(steady.depth / steady.size))
    assert steady.packets == pytest.approx(burst.packets, abs=1)
    both = together([steady, burst], "up")
    assert both is not None and both.depth == burst.depth and not both.in_packets


@pytest.mark.parametrize("kind", ["tail", "front"])
@pytest.mark.parametrize(("late_s", "is_said"), [(0.004, False), (0.02, True)])
def test_the_bounds_contain_the_depth_on_a_busy_host(kind: str, late_s: float, is_said: bool) -> None:
    one = through(kind, 60, 300, 1e-4)
    rows, sound = one.outcome.arrived, queue(one)
    assert sound is not None and sound.depth_reason is None and sound.depth_most is not None
    assert sound.depth_least <= 60_000 <= sound.depth_most <= 1.1 * sound.depth_least
    # A paused host receives the packets that have waited longest late, and then all at once.
    at, late = rows["arrived"], int(1e9 * late_s)
    first = at[np.flatnonzero(rows["number"] >= (60 if kind == "tail" else 315))[0]]
    at[(at > first) & (at < first + late)] = first + late
    found = queue(one)
    assert found is not None and found.policy == sound.policy and found.depth_most is not None
    assert found.depth_least <= 60_000 <= found.depth_most and found.depth == pytest.approx(60_000, rel=0.1)
    assert (found.depth_reason is not None) == is_said


def test_another_port_overtakes_a_burst_in_a_fair_queue() -> None:
    found = queue(through("fair", 10**6, 300, 1e-4))
    assert found is not None and found.policy == "fair-queuing"


def test_a_load_that_does_not_fill_the_queue_gives_no_estimate_of_it() -> None:
    # 100 packets in a queue for 200; and packets that arrive more slowly than they leave.
    found = queue(through("tail", 200, 100, 1e-4))
    assert found is not None and not found.overflowed and found.policy is None
    assert found.rate == pytest.approx(8e6, rel=0.03)
    slow = queue(through("tail", 200, 100, 2e-3))
    assert slow is not None and slow.rate is None
    # Random losses are no policy.
    lossy = queue(through("tail", 10**6, 500, 1e-4, 0.05), (0.05, 0.05))
    assert lossy is not None and not lossy.overflowed and lossy.policy is None


def test_a_transfer_occupies_the_path_until_its_last_packet_has_left_the_queue() -> None:
    """After a loss nothing is delivered, while a queue of 600 ms still drains."""
    outcome = Outcome(Item("tcp-up-cubic-1", 2.0, Load("tcp", duration=5.0)), begin=2 * 10**9)
    outcome.tcp = np.full((3, 1 + len(COLUMNS)), np.nan)
    outcome.tcp[:, 1 + COLUMNS.index("rtt")] = 0.5, 1.1, np.nan
    nothing = np.empty(0)
    one = Loaded(outcome, 2.0, 4.6, 0, *[nothing] * 6)
    assert one.drained == pytest.approx(5.0 + 1.1)
    time = np.array([1.0, 1.7, 4.0, 6.9, 7.8, 8.3, 9.0])
    # A round trip of 0.4 s before and after the loss does not count either.
    assert _at_rest(time, np.full(7, 0.4), [one]).tolist() == [True, False, False, False, False, False, True]
    outcome.tcp = outcome.tcp[:0]
    assert one.drained == 4.6


def test_a_load_that_began_before_the_first_probe_begins_with_the_run() -> None:
    """A busy machine may send the first probe late; scenarios have no time before zero."""
    outcome = Outcome(Item("udp-up-1", 0.0, Load("udp", rate=1e6, duration=1.0)))
    found = flow(Loaded(outcome, -0.023, 1.0, 0, *[np.empty(0)] * 6), ["cubic"])
    assert found is not None and found["start"] == "0.000 s"


@pytest.mark.parametrize("step_s", [0.012, -0.012])
@pytest.mark.parametrize("loss", [0.0, 0.02])
def test_a_handover_within_a_load_changes_neither_policy_nor_depth_nor_rate(
    step_s: float, loss: float
) -> None:
    one = through("tail", 60, 2500, 0.8e-3, loss)
    rows = one.outcome.arrived
    late = rows["arrived"] > rows["arrived"][len(rows) // 2]
    rows["arrived"][late] += int(1e9 * step_s)
    # On a shorter path no packet overtakes another.
    rows["arrived"] = np.maximum.accumulate(rows["arrived"])
    assert_60_packets(one, loss)


@pytest.mark.parametrize("step_s", [0.011, -0.011])
def test_a_handover_within_a_burst_does_not_change_its_rate(step_s: float) -> None:
    """The handover takes a seventh of a short burst."""
    one = through("front", 60, 300, 1e-4)
    rows = one.outcome.arrived
    rows["arrived"][rows["arrived"] > rows["arrived"][60]] += int(1e9 * step_s)
    rows["arrived"] = np.maximum.accumulate(rows["arrived"])
    found = queue(one)
    assert found is not None and found.rate == pytest.approx(8e6, rel=0.01)


def test_pauses_of_a_scheduler_are_part_of_the_rate() -> None:
    """The scheduler serves this terminal for 20 ms of every 50 ms: 400 bytes per ms on average."""
    one = through("tail", 150, 500, 1e-4)
    at = one.outcome.arrived["arrived"]
    sent_after = (at - at[0]) // 20_000_000
    at += sent_after * 30_000_000
    found = queue(one)
    assert found is not None and found.rate == pytest.approx(3.2e6, rel=0.1)


def test_a_host_that_delays_packets_changes_neither_policy_nor_depth_nor_rate() -> None:
    one = through("tail", 60, 2500, 0.8e-3)
    rows = one.outcome.arrived
    for place in (700, 1300):
        begin = rows["arrived"][place]
        held = (rows["arrived"] >= begin) & (rows["arrived"] < begin + 15_000_000)
        rows["arrived"][held] = begin + 15_000_000
    assert_60_packets(one, 0.0)


def assert_60_packets(one: Loaded, loss: float) -> None:
    found = queue(one, (loss, loss))
    assert found is not None and found.policy == "drop-tail"
    assert found.rate == pytest.approx(8e6, rel=0.01) and found.packets == pytest.approx(60, rel=0.07)
