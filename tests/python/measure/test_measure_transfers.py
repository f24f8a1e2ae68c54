"""Bulk transfers alone recover rate and depth of a bottleneck, on simulated paths."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import bentpipe as bp
import numpy as np
import pytest
from bentpipe.measure import transfers
from bentpipe.measure.bulk import BIN_S, COUNTED
from bentpipe.measure.load import Item, Load
from bentpipe.measure.load_client import Outcome
from bentpipe.measure.load_results import Loaded
from bentpipe.measure.queueing import Queue, together
from bentpipe.measure.tcplog import COLUMNS

SCENARIO = """
name = "path"
duration = "{seconds} s"
[[link]]
name = "path"
from = "here"
to = "there"
rate = "{rate} Mbit/s"
delay = "{delay} ms"
queue = {{ kind = "drop-tail", bytes = "{queue} B" }}
error = {{ kind = "packet", probability = {loss} }}
return = {{ rate = "50 Mbit/s", delay = "{delay} ms" }}
[[flow]]
name = "flow"
from = "here"
to = "there"
app = "bulk"
transport = {{ kind = "tcp", congestion = "{congestion}", segment_size = 1448{more} }}
[record]
traces = ["tcp", "delivery"]
"""


def seen(folder: Path, seconds: int = 10, **keys: object) -> Loaded:
    """Simulates a transfer over a path and returns it as a load of a measurement."""
    values: dict[str, Any] = {"loss": 0, "congestion": "cubic", "more": ""} | keys
    folder.mkdir(exist_ok=True)
    file = folder / "path.toml"
    file.write_text(SCENARIO.format(seconds=seconds, **values))
    run = bp.simulate(file, out=folder / "run")
    log, arrived = run.trace("tcp"), run.trace("delivery")
    rows = np.array([log["time"] * 1e9, *(log[name].cast(float).to_numpy() for name in COLUMNS)])
    time, total = (arrived[name].to_numpy() for name in ("time", "delivered"))
    # The last arrival in each bin, as the receiver of a measurement counts.
    last = np.append(np.flatnonzero(np.diff(np.floor(time / BIN_S))), len(time) - 1)
    counted = np.zeros(len(last), dtype=COUNTED)
    counted["at"], counted["bytes"] = 1e9 * time[last], np.diff(total[last], prepend=0)
    outcome = Outcome(Item("flow", 0.0, Load("tcp", duration=seconds)), counted=counted, tcp=rows.T)
    none = np.empty(0)
    return Loaded(outcome, 0.0, float(time[-1]), int(total[-1]), none, none, none, none, none, time[last])


@pytest.mark.parametrize(
    ("rate", "delay", "queue", "congestion"),
    [(8, 12, 60_000, "cubic"), (20, 5, 100_000, "reno"), (4, 260, 150_000, "cubic"), (8, 12, 10_000, "bbr")],
)
def test_transfers_recover_rate_and_depth(
    tmp_path: Path, rate: float, delay: float, queue: int, congestion: str
) -> None:
    # Over GEO the queue overflows once in ten seconds.
    one = seen(tmp_path, seconds=30, rate=rate, delay=delay, queue=queue, congestion=congestion)
    found = transfers.bottleneck(one)
    assert found is not None and found.overflowed and found.policy is None
    assert found.rate == pytest.approx(1e6 * rate, rel=0.03)
    # The last packet that a full queue accepts leaves at most one place free.
    assert found.depth == pytest.approx(queue, rel=0.1)
    assert found.depth_least <= queue and found.depth_most is None and found.depth_reason


def test_a_queue_without_overflow_gives_a_lower_bound_of_its_depth(tmp_path: Path) -> None:
    # With a receive window of 100 kB over 24 ms at 8 Mbit/s, 24 kB are in flight, and the remaining
    # data waits in the queue.
    one = seen(tmp_path, rate=8, delay=12, queue=400_000, more=', receive_window = "100 kB"')
    found = transfers.bottleneck(one)
    assert found is not None and not found.overflowed and found.rate == pytest.approx(8e6, rel=0.03)
    assert found.depth == pytest.approx(100_000 * 1500 / 1448 - 24_000, rel=0.1)


def test_a_transfer_with_random_losses_fills_no_queue(tmp_path: Path) -> None:
    """A transfer that losses slow down keeps no bottleneck busy, and determines neither rate nor
    depth."""
    one = seen(tmp_path, rate=50, delay=30, queue=400_000, loss=0.02, congestion="reno")
    assert one.outcome.tcp[-1, 1 + COLUMNS.index("retransmissions")] > 20
    assert transfers.bottleneck(one, 0.02) is None


def test_estimates_from_datagrams_are_preferred(tmp_path: Path) -> None:
    one = seen(tmp_path, rate=8, delay=12, queue=60_000)
    datagrams = Queue("udp-up-1", "up", 7.9e6, 50_000, 40, 48_000, 52_000, None, True, "aqm", 1200)
    assert transfers.bottlenecks([one], [datagrams], {}) == []
    (own,) = transfers.bottlenecks([one], [], {"up": 0.0})
    whole = together([own], "up")
    assert whole is not None and whole.overflowed and whole.policy is None and not whole.in_packets
    # A transfer that is too short determines nothing.
    assert transfers.bottleneck(seen(tmp_path / "short", seconds=1, rate=8, delay=200, queue=60_000)) is None
