"""The causes of waiting packets: the parts add up, and the command reports them."""

from __future__ import annotations

import json
import re
from pathlib import Path

import bentpipe as bp
import pytest
from bentpipe import plots
from bentpipe.cli import app
from bentpipe.results.waits import PARTS, explain, summary, waits
from typer.testing import CliRunner

SCENARIO = """
name = "explained"
duration = "30 s"
preset = "dvb-rcs"
network.sat.terminals = ["st1", "st2"]
network.sat.return.dama = { scheme = "avbdc", cra = "0 bit/s", response = 11 }

[[flow]]
name = "voice"
from = "st1"
to = "gw"
app = { kind = "cbr", rate = "64 kbit/s", datagram = "160 B", on = "1 s", off = "1.35 s" }
transport = "udp"

[[flow]]
name = "upload"
from = "st2"
to = "gw"
app = "bulk"
transport = { kind = "tcp", congestion = "reno", profile = "classic" }
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> bp.Run:
    """A run with two terminals without constant slots."""
    folder = tmp_path_factory.mktemp("explain")
    file = folder / "scenario.toml"
    file.write_text(SCENARIO)
    return bp.simulate(file, out=folder / "run")


def test_parts_are_the_whole_wait(run: bp.Run) -> None:
    for terminal in ("st1", "st2"):
        frame = waits(run, terminal)
        assert frame.height > 200
        total = sum(frame[part] for part in PARTS)
        # 250 ms after its last slot the packet is at the gateway.
        there = (frame["time"] * 1e9).round().cast(int)
        assert (frame["arrival"] + total + 250_000_000 == there).all()
        assert all((frame[part] >= 0).all() for part in PARTS)
        # A request and its plan take 250 ms each, or the packet did not wait for them.
        assert set(frame["wait_propagation"].unique()) <= {0, 500_000_000}
        # Packets that left in slots assigned earlier have no other waiting time.
        without = frame.filter(frame["asked"] < 0)
        assert all((without[part] == 0).all() for part in PARTS if part not in ("wait_earlier", "wait_slot"))
        assert (frame.filter(frame["asked"] >= 0)["wait_earlier"] == 0).all()
        # Without constant slots, no packet leaves before request and plan have passed: 250 ms each.
        first = frame.row(0, named=True)
        assert first["wait_propagation"] == 500_000_000
        # 11 superframes of 94 ms, of which 500 ms are propagation.
        assert first["wait_controller"] == 11 * 94_000_000 - 500_000_000


def test_a_moment_is_told_packet_by_packet(run: bp.Run) -> None:
    packets = explain(run, "st1", 0.5)
    assert packets[0].flow == "voice" and packets[0].packet == 0
    assert all(packet.arrival_ns <= 500_000_000 <= packet.sent_ns for packet in packets)
    times = [time for time, _ in packets[0].timeline()]
    assert times == sorted(times) and times[0] == packets[0].arrival_ns and times[-1] == packets[0].sent_ns
    # If no packet waits, the next packet to arrive.
    assert explain(run, "st1", 2.2)[0].arrival_ns > 2_200_000_000
    with pytest.raises(bp.InputError, match="no packet waited at 31 s"):
        explain(run, "st1", 31)
    with pytest.raises(bp.InputError, match=r"unknown terminal \"st3\".*st1, st2"):
        explain(run, "st3", 1)


def test_the_command_says_it_in_words_in_json_and_in_a_figure(run: bp.Run, tmp_path: Path) -> None:
    def call(*arguments: str) -> str:
        result = CliRunner().invoke(app, ["explain", str(run.path), *arguments], env={"COLUMNS": "80"})
        assert result.exit_code == 0, result.output
        assert all(len(line) <= 80 for line in result.output.splitlines() if "figure" not in line)
        return result.output

    figure = tmp_path / "wait.png"
    text = call("--terminal", "st1", "--at", "0.5s", "--out", str(figure))
    assert "packet 0 of voice" in text and "propagation" in text and figure.stat().st_size > 10_000
    document = json.loads(call("--terminal", "st2", "--at", "10 s", "--json"))
    packet = document["packets"][0]
    assert sum(packet["parts_ns"].values()) == packet["total_ns"]
    shares = json.loads(call("--terminal", "st2", "--json"))["parts"]
    assert sum(part["share"] for part in shares.values()) == pytest.approx(1)
    # Words are aligned to the left, numbers to the right.
    shown = call("--terminal", "st2")
    assert re.search(
        r"^ slot position +position in the superframe, .* +[\d.]+ +[\d.]+ +[\d.]+ *$", shown, re.MULTILINE
    )

    wrong = CliRunner().invoke(app, ["explain", str(run.path), "--terminal", "st1", "--at", "soon"])
    assert wrong.exit_code == 2 and "12.3s" in wrong.output


def test_terminals_to_choose_from_are_listed_in_their_order(tmp_path: Path) -> None:
    flow = {"name": "up", "from": "st*", "to": "gw", "app": "bulk", "transport": "tcp"}
    stars = [{"name": "st", "count": 11}]
    scenario = {"name": "many", "duration": "3 s", "preset": "dvb-rcs", "flow": [flow]}
    run = bp.simulate(scenario | {"network": {"sat": {"terminals": stars}}}, out=tmp_path / "many")
    with pytest.raises(bp.InputError, match=r"--terminal: st1 \.\.\. st11 \(11\)$"):
        explain(run, None, 1.0)
    with pytest.raises(bp.InputError, match="allowed: st1, st2, .*, st9, st10, st11$"):
        explain(run, "st99", 1.0)


def test_the_parts_of_the_summary_add_up(run: bp.Run) -> None:
    frame = waits(run, "st2")
    mean = sum(mean for mean, _, _ in summary(frame).values())
    waited = frame["time"].to_numpy() - frame["arrival"].to_numpy() / 1e9
    way = float(waited.mean()) - 0.25
    assert mean == pytest.approx(way, rel=1e-9)


def test_figures_have_a_bar_for_each_packet(run: bp.Run) -> None:
    packets = explain(run, "st2", 20.0)
    axes = plots.timelines(packets, 20.0).axes[0]
    assert len(axes.get_yticks()) == min(len(packets), 40)
    assert plots.waits(run, "st2").axes[0].get_ylabel() == "mean wait (ms)"
