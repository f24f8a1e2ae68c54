"""The journeys of packets in the page equal the results of the run.

Node runs the scenarios in the module and the page's script (testbed/web/src/packets/journeys.js).
"""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import bentpipe as bp
import numpy as np
import pytest
from bentpipe.results.waits import PARTS
from helpers import ROOT
from rigs import sites

HERE = Path(__file__).parent
MODULE = ROOT / "build" / "wasm" / "bentpipe.wasm"
#: The kind of packets with data in journeys.js.
DATA = 0

pytestmark = [
    pytest.mark.module,
    pytest.mark.skipif(not MODULE.exists(), reason="the module is not built: scripts/wasm --build"),
    pytest.mark.skipif(shutil.which("node") is None, reason="there is no 'node' on the PATH"),
]

GEO = """name = "A file over GEO"
duration = "60 s"
preset = "geo-ka"

[[flow]]
name = "file"
from = "user"
to = "server"
app = { kind = "bulk", size = "2000 kB" }
transport = { kind = "tcp", congestion = "cubic" }
"""

#: One-way delay and rates of the preset geo-ka.
DELAY_NS = 280e6
RETURN_BIT_S, FORWARD_BIT_S = 5e6, 50e6

LONG = """name = "Three links"
duration = "60 s"

[[link]]
name = "lan"
from = "pc"
to = "modem"
rate = "100 Mbit/s"
delay = "1 ms"

[[link]]
name = "sat"
from = "modem"
to = "hub"
rate = "2 Mbit/s"
delay = "250 ms"
error = { kind = "packet", probability = 0.02 }

[[link]]
name = "wan"
from = "hub"
to = "server"
rate = "1 Gbit/s"
delay = "10 ms"

[[flow]]
name = "file"
from = "pc"
to = "server"
app = { kind = "bulk", size = "2000 kB" }
transport = { kind = "tcp", congestion = "bbr" }
"""


class Journeys:
    """The answer of tests/python/web/journeys.mjs, with arrays."""

    def __init__(self, found: dict[str, Any]) -> None:
        self.summary: dict[str, Any] = found["summary"]
        self.flow: dict[str, Any] = found["flows"][0]
        self.at: list[dict[str, Any]] = found["at"]
        self.details: list[list[str]] = found["details"]
        self.found: dict[str, Any] = found["journeys"]
        self.nodes: list[str] = self.found["nodes"]

    def __getitem__(self, name: str) -> np.ndarray[Any, Any]:
        values = np.array(self.found[name], dtype=float)
        return values.reshape(-1, len(self.nodes)) if name in ("time", "leaves") else values

    @property
    def is_data(self) -> np.ndarray[Any, Any]:
        found: np.ndarray[Any, Any] = np.equal(self["kind"], DATA)
        return found

    @property
    def is_lost(self) -> np.ndarray[Any, Any]:
        found: np.ndarray[Any, Any] = np.logical_not(np.isnan(self["lost"]))
        return found

    @property
    def dropped(self) -> int:
        """Number of packets that the run has dropped."""
        return sum(row["packets"] for row in self.summary["drops"])


def journeys(
    text: str, flow: str, nodes: list[str], folder: Path, changes: tuple[str, ...] = (), at: Any = ()
) -> Journeys:
    request = {
        "toml": text,
        "overrides": [*changes, f"record.capture={json.dumps(nodes)}"],
        "traces": ["link", "waits", "dama", "ncc"],
        "packets": True,
    }
    (folder / "request.json").write_text(json.dumps(request))
    answer = folder / "journeys.json"
    times = [str(time) for time in at]
    command = ["node", str(HERE / "journeys.mjs"), str(MODULE), str(folder / "request.json")]
    subprocess.run([*command, flow, str(answer), *times], check=True)
    return Journeys(json.loads(answer.read_text()))


def test_travel_times_are_propagation_and_transmission(tmp_path: Path) -> None:
    """The time between the nodes without the wait equals propagation delay and transmission time,
    to the nanosecond."""
    found = journeys(GEO, "file", ["user", "server"], tmp_path)
    came, left, size = found["time"], found["leaves"], found["size"]
    there, back = found["back"] == 0, found["back"] == 1
    arrived = ~found.is_lost
    for direction, start, end, rate in ((there, 0, 1, RETURN_BIT_S), (back, 1, 0, FORWARD_BIT_S)):
        chosen = direction & arrived
        assert chosen.sum() > 1000
        travel = came[chosen, end] - left[chosen, start]
        assert np.abs(travel - DELAY_NS - size[chosen] * 8e9 / rate).max() <= 1
    assert (left >= came)[~np.isnan(came)].all()
    # The segments of the first window wait for the acknowledgment and the segments before them.
    first = np.flatnonzero(there & found.is_data)[:10]
    before = 52 + np.arange(10) * 1512
    assert (left - came)[first, 0] == pytest.approx(before * 8e9 / RETURN_BIT_S, abs=10)


def test_segments_and_acknowledgments(tmp_path: Path) -> None:
    """Segments cover the file once, and acknowledgments are those of the segments."""
    found = journeys(GEO, "file", ["user", "server"], tmp_path, ("flow.file.app.size=400 kB",))
    data = found.is_data
    assert found["payload"][data].sum() == found.flow["sent_bytes"] == 400_000
    assert (found["sequence"][data] == 1 + np.cumsum(found["payload"][data]) - found["payload"][data]).all()
    assert found["acknowledgment"][found["back"] == 1].max() == 400_002
    assert not found["retransmitted"].any()
    assert found.dropped == found.is_lost.sum() == 0
    assert found.details[int(np.flatnonzero(data)[1])][0] == "Segment, bytes 1461 to 2920"


@pytest.mark.parametrize("kilobytes", [20, 60, 150])
def test_losses_and_retransmissions_equal_the_summary(kilobytes: int, tmp_path: Path) -> None:
    """A full queue drops segments on arrival, and the sender retransmits them."""
    change = f"link.sat.return.queue.bytes={kilobytes} kB"
    found = journeys(GEO, "file", ["user", "server"], tmp_path, (change,))
    lost = found.is_lost
    assert found.dropped == lost.sum() > 0
    assert (found["lostAt"][lost] == 0).all()
    assert (found["inQueue"][lost] == 1).all()
    assert (found["lost"] == found["time"][:, 0])[lost].all()
    assert found["retransmitted"].sum() == found.flow["retransmissions"] > 0
    # Each lost segment is retransmitted.
    repeated = {row for row, again in zip(found["sequence"], found["retransmitted"], strict=True) if again}
    assert set(found["sequence"][lost & (found["retransmitted"] == 0)]) <= repeated


def test_losses_on_the_way_between_two_of_four_nodes(tmp_path: Path) -> None:
    found = journeys(LONG, "file", ["pc", "modem", "hub", "server"], tmp_path)
    assert found.flow["completed"] < 50
    lost, back = found.is_lost, found["back"] == 1
    assert found.dropped == lost.sum() > 20
    assert found["retransmitted"].sum() == found.flow["retransmissions"] >= (lost & ~back).sum() > 10
    assert (found["lostAt"][lost] == np.where(back, 2, 1)[lost]).all()
    assert not found["inQueue"].any()
    came = found["time"]
    assert np.isnan(came[lost & ~back][:, 2:]).all()
    assert np.isnan(came[lost & back][:, :2]).all()
    assert not np.isnan(came[~lost]).any()
    assert (np.diff(came[~lost & ~back], axis=1) > 0).all()
    assert (np.diff(came[~lost & back], axis=1) < 0).all()
    segment = int(np.flatnonzero(lost & ~back)[0])
    assert found.details[segment][-1] == "lost between modem and hub"


def test_slots_equal_the_trace_of_waits(tmp_path: Path) -> None:
    """A segment leaves its terminal at the end of its slot, and requests and plans have the times
    of the traces."""
    page = sites.specs(ROOT / "docs" / "concepts" / "dama.md")
    text = next(iter(page.values()))["toml"]
    found = journeys(text, "upload", ["st1", "gw"], tmp_path)
    (tmp_path / "wait.toml").write_text(text)
    run = bp.simulate(tmp_path / "wait.toml", out=tmp_path / "run")
    waits = run.trace("waits")
    assert {name for name in waits.columns if name.startswith("wait_")} == set(PARTS)
    left = waits["arrival"] + sum(waits[name] for name in PARTS)
    packet = {
        int(number): place
        for place, (number, back) in enumerate(zip(found["number"], found["back"], strict=True))
        if not back
    }
    places = [packet[number] for number in waits["packet"]]
    assert len(places) > 300
    assert found["time"][places, 0].tolist() == waits["arrival"].to_list()
    assert found["leaves"][places, 0].tolist() == left.to_list()
    # The propagation delay of the preset is 250 ms.
    assert (found["time"][places, 1] - found["leaves"][places, 0] == 250e6).all()
    requests = {message["sent"]: message for message in found.found["requests"]}
    assert set(waits["asked"].to_list()) - {-1} <= set(requests)
    terminal = run.table("terminal").row(0, named=True)
    assert len(requests) == terminal["requests"]
    assert sum(message["slots"] for message in requests.values()) == terminal["requested_slots"]
    assert all(message["received"] - message["sent"] == 250e6 for message in requests.values())
    plans = found.found["plans"]
    assert sum(plan["slots"] for plan in plans) == terminal["assigned_slots"]
    planned = dict(
        zip(*run.trace("ncc")["superframe", "time"].to_dict(as_series=False).values(), strict=True)
    )
    superframe = found.found["superframes"]["length"]
    for plan in plans:
        assert plan["sent"] == pytest.approx(planned[plan["superframe"]] * 1e9, abs=1)
        # A plan arrives before its superframe starts.
        assert plan["received"] < plan["superframe"] * superframe
    assert superframe == 94e6


def test_counts_and_sentence_at_a_time(tmp_path: Path) -> None:
    """The numbers of travelling, waiting and lost packets equal a search of all packets."""
    times = [1, 300e6, 1_700e6, 2_345_678_901, 4e9, 59e9]
    nodes = ["user", "server"]
    found = journeys(GEO, "file", nodes, tmp_path, ("link.sat.return.queue.bytes=60 kB",), map(int, times))
    first = np.where(found["back"] == 0, found["time"][:, 0], found["time"][:, 1])
    last = np.where(found["back"] == 0, found["time"][:, 1], found["time"][:, 0])
    left = np.where(found["back"] == 0, found["leaves"][:, 0], found["leaves"][:, 1])
    for time, at in zip(times, found.at, strict=True):
        counts = at["counts"]
        travels = (left <= time) & (last > time)
        assert counts["data"] == (travels & found.is_data).sum()
        assert counts["answers"] == (travels & ~found.is_data).sum()
        assert sum(counts["waiting"].values()) == ((first <= time) & (left > time) & (last > time)).sum()
        assert counts["lostData"] == (found["lost"] <= time).sum()
        assert counts["lostOthers"] == 0
    assert found.at[3]["sentence"].startswith("At 2.35 s: ")
    assert lost_in(found.at[3]["sentence"]) == found.at[3]["counts"]["lostData"] > 0
    assert found.at[0]["sentence"] == "At 0.00 s: 1 acknowledgment travels; no losses so far."


def lost_in(sentence: str) -> int:
    """The number of losses in a sentence."""
    return int(sentence.rpartition("; ")[2].split()[0])
