"""Handmade run folders in the engine's format, to test readers without simulating."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

SCENARIO = """\
name = "{name}"
duration = "100 s"
seed = 1

[network.sat]
kind = "dvb-rcs"
propagation = "250 ms"
terminals = ["st1"]
gateway = "gw"

[network.sat.forward]
rate = "10 Mbit/s"
error = {{ kind = "none" }}

[network.sat.return]
rate = "2048 kbit/s"
slots_per_frame = 32
frame = "23.5 ms"
frames_per_superframe = 4
error = {{ kind = "none" }}
dama = {{ scheme = {{ kind = "{scheme}" }}, cra = "64 kbit/s", processing = "0 s", response = 11 }}

[[flow]]
name = "upload"
from = "st1"
to = "gw"
start = "0 s"
app = {{ kind = "bulk" }}

[flow.transport]
kind = "tcp"
congestion = "{congestion}"
segment_size = 1460
initial_window = 1
initial_ssthresh = 20
delayed_ack = false
timestamps = false
"""


def write_run(
    folder: Path,
    *,
    name: str = "Upload by hand",
    congestion: str = "reno",
    scheme: str = "rbdc",
    status: str = "complete",
    seed: int = 1,
    speed: float = 1.0,
    traces: bool = True,
) -> Path:
    """Writes a run of 100 s in which the window grows by one segment per round trip until the link
    is full."""
    for sub in ("tables", "traces"):
        (folder / sub).mkdir(parents=True, exist_ok=True)
    (folder / "scenario.toml").write_text(SCENARIO.format(name=name, congestion=congestion, scheme=scheme))
    _json(
        folder / "provenance.json",
        {
            "bentpipe": "0.1.0",
            "commit": None,
            "instrument": "simulate",
            "seed": seed,
            "run": 0,
            "status": status,
            "reason": None if status == "complete" else "stopped",
            "command": [],
            "host": {"kernel": "Linux 6.1", "system": "Debian", "architecture": "x86_64"},
            "started": "2026-01-01T00:00:00Z",
            "simulated_seconds": 100.0,
            "events": 123456,
            "wall_seconds": 0.05,
            "cpu_seconds": 0.05,
            "notes": {},
        },
    )
    rtt = 0.55
    times = np.arange(rtt, 100.0, rtt)
    cwnd = np.minimum(20 + np.arange(len(times)), 120).astype(np.int64)
    rates = np.minimum(cwnd * 1460 * 8 / rtt, 1.99e6) * speed
    delivered = np.cumsum(rates * rtt / 8).astype(np.int64)
    _json(folder / "summary.json", {"duration_seconds": 100.0, "tables": {}})
    _table(
        folder / "flows.parquet",
        {
            "flow": ["upload"],
            "from": ["st1"],
            "to": ["gw"],
            "app": ["bulk"],
            "transport": ["tcp"],
            "congestion": [congestion],
            "start": [0.0],
            "sent_bytes": [int(delivered[-1])],
            "sent_packets": [int(delivered[-1]) // 1460],
            "retransmissions": [0],
            "timeouts": [0],
            "rtt_mean": [0.61],
            "rtt_min": [0.51],
            "rtt_p50": [0.6],
            "rtt_p95": [0.93],
            "rtt_max": [1.5],
            "completed": [None],
            "delivered_bytes": [int(delivered[-1])],
            "goodput": [float(delivered[-1]) * 8 / 100.0],
            "delay_mean": [0.31],
        },
    )
    terminal = {"terminal": ["st1"], "capacity_bytes": [1000], "used_bytes": [470], "efficiency": [0.47]}
    _table(folder / "tables" / "terminal.parquet", terminal)
    if traces:
        _traces(folder / "traces", times, cwnd, delivered)
    return folder


def _traces(folder: Path, times: Any, cwnd: Any, delivered: Any) -> None:
    count = len(times)
    nanos = (times * 1e9).astype(np.int64)
    names = pa.array(["upload"] * count).dictionary_encode()
    sample = 0.55 + 0.4 * (1 + np.sin(times)) / 2
    _table(
        folder / "tcp.parquet", {"time": nanos, "flow": names, "cwnd": cwnd, "rtt": sample, "srtt": sample}
    )
    _table(folder / "delivery.parquet", {"time": nanos, "flow": names, "delivered": delivered})
    superframe = np.arange(0, 1064)
    asked = np.minimum(31, 4 + superframe // 30)
    _table(
        folder / "dama.parquet",
        {
            "time": superframe * 94_000_000,
            "terminal": ["st1"] * len(superframe),
            "superframe": superframe,
            "queue": asked * 752,
            "request": asked,
            "constant": np.ones(len(superframe), dtype=np.int64),
            "assigned": np.maximum(asked - 3, 0),
            "capacity": (1 + np.maximum(asked - 3, 0)) * 752,
            "used": (1 + np.maximum(asked - 3, 0)) * 400,
        },
    )
    link = {
        "time": nanos,
        "link": ["sat.forward"] * count,
        "queue_packets": cwnd // 20,
        "queue_bytes": cwnd * 60,
    }
    _table(folder / "link.parquet", link)


def _table(file: Path, columns: dict[str, Any]) -> None:
    pq.write_table(pa.table(columns), file)


def _json(file: Path, document: Any) -> None:
    file.write_text(json.dumps(document))
