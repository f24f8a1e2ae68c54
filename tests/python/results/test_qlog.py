"""qlog of QUIC flows, compared with qlog's drafts and with what the other end recorded."""

from __future__ import annotations

import json
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from bentpipe.errors import InputError
from bentpipe.results.qlog import qlog
from bentpipe.results.runs import Run, open_run
from rigs.commands import call

SCENARIO = """
name = "upload"
seed = 4
duration = "30 s"
record.details = true

[[link]]
name = "path"
from = "a"
to = "b"
rate = "2 Mbit/s"
delay = "100 ms"
error = { kind = "packet", probability = 0.02 }

[[flow]]
name = "f"
from = "a"
to = "b"
app = { kind = "bulk", size = "300 kB" }
transport = { kind = "quic", congestion = "reno", mtu_discovery = false }
"""

#: Fields of the data of each event, and of frames by type (draft-ietf-quic-qlog-quic-events-03).
PACKET = {"header", "frames", "raw"}
FIELDS = {
    "transport:packet_sent": PACKET,
    "transport:packet_received": PACKET,
    "recovery:packet_lost": {"header", "frames", "is_mtu_probe_packet", "trigger"},
    "recovery:metrics_updated": {
        "min_rtt",
        "smoothed_rtt",
        "latest_rtt",
        "rtt_variance",
        "pto_count",
        "congestion_window",
        "bytes_in_flight",
        "ssthresh",
        "packets_in_flight",
        "pacing_rate",
    },
    "recovery:congestion_state_updated": {"old", "new", "trigger"},
}
FRAMES = {
    "ping": set(),
    "ack": {"ack_delay", "acked_ranges", "ect1", "ect0", "ce"},
    "crypto": {"offset", "length"},
    "stream": {"stream_id", "offset", "length", "fin"},
    "max_data": {"maximum"},
    "max_stream_data": {"stream_id", "maximum"},
    "handshake_done": set(),
}


@pytest.fixture(scope="module")
def upload(tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("qlog")
    (folder / "scenario.toml").write_text(SCENARIO)
    call("simulate", folder / "scenario.toml", "--out", folder / "run")
    return open_run(folder / "run")


def records(text: str) -> list[dict[str, Any]]:
    """Returns the records of JSON text sequences (RFC 7464)."""
    empty, *records = text.split("\x1e")
    assert not empty and all(record.endswith("\n") for record in records)
    return [json.loads(record) for record in records]


def packets(events: list[dict[str, Any]], name: str) -> list[tuple[Any, ...]]:
    """Returns type, number and frames of the packets of an event."""
    found = [event["data"] for event in events if event["name"] == name]
    return [
        (one["header"]["packet_type"], one["header"]["packet_number"], json.dumps(one["frames"]))
        for one in found
    ]


def test_events_have_the_fields_of_the_draft(upload: Run) -> None:
    for flow, role in (("f", "client"), ("f.destination", "server")):
        header, *events = records(qlog(upload, flow))
        assert (header["qlog_version"], header["qlog_format"]) == ("0.3", "JSON-SEQ")
        assert header["trace"]["vantage_point"]["type"] == role
        assert all(event.keys() == {"time", "name", "data"} for event in events)
        assert all(event["data"].keys() <= FIELDS[event["name"]] for event in events)
        times = [event["time"] for event in events]
        assert times == sorted(times) and times[-1] > 1000
        frames = [frame for event in events for frame in event["data"].get("frames", ())]
        assert all(frame.keys() - {"frame_type"} <= FRAMES[frame["frame_type"]] for frame in frames)


def test_both_ends_agree_on_their_packets(upload: Run) -> None:
    _, *client = records(qlog(upload))
    _, *server = records(qlog(upload, "f.destination"))
    sent, lost = (packets(client, name) for name in ("transport:packet_sent", "recovery:packet_lost"))
    received = Counter(packets(server, "transport:packet_received"))
    assert len(set(sent)) == len(sent) and received <= Counter(sent)
    assert lost and set(lost) <= set(sent)
    # Each data byte was sent and acknowledged, and only packets of the client.
    ranges = [
        one
        for event in client
        if event["name"] == "transport:packet_received" and event["data"]["header"]["packet_type"] == "1RTT"
        for frame in event["data"]["frames"]
        if frame["frame_type"] == "ack"
        for one in frame["acked_ranges"]
    ]
    acknowledged = {number for one in ranges for number in range(one[0], one[-1] + 1)}
    numbers = {number: json.loads(frames) for kind, number, frames in sent if kind == "1RTT"}
    assert acknowledged <= set(numbers)
    data: set[int] = set()
    for number in acknowledged:
        for frame in numbers[number]:
            if frame["frame_type"] == "stream":
                data.update(range(frame["offset"], frame["offset"] + frame["length"]))
    assert data == set(range(300_000))


def test_metrics_are_those_of_the_trace(upload: Run) -> None:
    _, *events = records(qlog(upload))
    metrics: dict[str, float] = {}
    for event in events:
        if event["name"] == "recovery:metrics_updated":
            metrics |= event["data"]
    last = upload.trace("quic", "f").row(-1, named=True)
    # Packets have 1200 bytes without path MTU discovery (RFC 9000, section 14.1).
    assert metrics["congestion_window"] == 1200 * last["cwnd"]
    assert metrics["smoothed_rtt"] == pytest.approx(1e3 * last["srtt"])
    assert 200 <= metrics["min_rtt"] < 215
    changes = [event["data"] for event in events if event["name"] == "recovery:congestion_state_updated"]
    assert changes[0] == {"new": "slow_start"}
    assert all(one["new"] == two["old"] != two["new"] for one, two in pairwise(changes))
    assert "recovery" in {change["new"] for change in changes}


def test_a_run_without_frames_is_refused(upload: Run, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r'"g".*allowed: f'):
        qlog(upload, "g")
    (tmp_path / "scenario.toml").write_text(SCENARIO.replace("details = true", "details = false"))
    call("simulate", tmp_path / "scenario.toml", "--out", tmp_path / "run")
    with pytest.raises(InputError, match=r"record\.details = true"):
        qlog(open_run(tmp_path / "run"))
