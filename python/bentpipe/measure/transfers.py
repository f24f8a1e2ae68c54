"""Rate and depth of a bottleneck, from bulk transfers; used if no datagrams have filled it.

A transfer that keeps a bottleneck busy arrives at the bottleneck's rate. Its round-trip time grows
with the queue until a loss. The full queue therefore has the longest round-trip time within the
last two round trips before a repair.

Estimates from datagrams are preferred, because transfers reveal less. The lost packets of a
transfer are unknown, so the drop policy cannot be determined. Other changes of the path's delay
look like queueing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from .clock import Times
from .load_results import Loaded
from .queueing import Queue
from .tcplog import COLUMNS

#: Size of a full segment's IP packet in bytes, for an MTU of 1500 bytes.
PACKET: Final = 1500
#: Payload of this segment in bytes, with TCP time stamps.
PAYLOAD: Final = 1448
#: Minimum averaging time of the rate, in seconds. In-order data arrives in batches after each loss,
#: so the averaging time is at least a round-trip time.
SPAN_S: Final = 0.25
#: Minimum duration of a transfer, in averaging times.
SPANS: Final = 4
#: Minimum number of waiting packets in a filled path.
MIN_PACKETS: Final = 3
#: Margin of the bounds of the queue's depth, in packets.
DEPTH_ERROR: Final = 2
#: Quantile of the round-trip times that gives the lower bound. A busy host increases some of the
#: round-trip times.
LOWER_BOUND_FRACTION: Final = 0.9


def bottlenecks(loads: Sequence[Loaded], known: Sequence[Queue], losses: dict[str, float]) -> list[Queue]:
    """Returns the bottleneck estimated from each bulk transfer, in directions without an estimate
    in ``known``. ``losses`` are the fractions of packets that are lost at random in the directions
    "up" and "down"."""
    told = {one.direction for one in known}
    found = [
        bottleneck(one, losses.get(one.outcome.item.load.direction, 0.0))
        for one in loads
        if one.outcome.item.load.kind == "tcp" and one.outcome.item.load.direction not in told
    ]
    return [one for one in found if one is not None]


def bottleneck(one: Loaded, random_loss: float = 0.0) -> Queue | None:
    """Returns the bottleneck estimated from a bulk transfer; ``None`` if it did not fill a queue or
    was too short."""
    rows, counted = one.outcome.tcp, one.outcome.counted
    if not len(rows):
        return None
    columns = dict(zip(COLUMNS, rows[:, 1:].T, strict=True))
    # TCP_INFO has no samples of single acknowledgments.
    samples = columns["rtt"] if np.isfinite(columns["rtt"]).any() else columns["srtt"]
    rtt = samples[np.isfinite(samples)]
    rate = _rate(one, counted, max(SPAN_S, float(np.median(rtt)))) if len(rtt) else None
    if rate is None:
        return None
    least = float(np.quantile(rtt, LOWER_BOUND_FRACTION) - rtt.min())
    if least < MIN_PACKETS * 8 * PACKET / rate:
        return None
    repaired = np.nan_to_num(columns["retransmissions"])
    expected = random_loss * one.delivered / PAYLOAD
    more = float(repaired[-1]) - expected
    overflowed = more > 3 * expected**0.5
    longest, waits = least, _before_repairs(rows[:, 0] / 1e9, samples, repaired) - rtt.min()
    if overflowed and len(waits):
        # Random losses found a shorter queue.
        longest = float(np.quantile(waits, 1 - 0.5 * more / float(repaired[-1])))
    depth = int(longest * rate / 8)
    reason = "only transfers have filled it" if overflowed else "the load did not fill it"
    return Queue(
        one.name,
        one.outcome.item.load.direction,
        rate,
        depth,
        round(depth / PACKET),
        max(0, min(depth, int(least * rate / 8)) - DEPTH_ERROR * PACKET),
        None,
        reason,
        overflowed,
        None,
        PACKET,
    )


def _before_repairs(time: Times, rtt: Times, repaired: Times) -> Times:
    """Returns the longest round-trip time within the last two round trips before each repair."""
    known = np.flatnonzero(np.isfinite(rtt))
    at, own = time[known], rtt[known]
    found = []
    for place in np.flatnonzero(np.diff(repaired) > 0) + 1:
        last = int(np.searchsorted(at, time[place]))
        first = int(np.searchsorted(at, time[place] - 2 * own[max(0, last - 1)]))
        if last > first:
            found.append(float(own[first:last].max()))
    return np.array(found)


def _rate(one: Loaded, counted: Any, span_s: float) -> float | None:
    """Returns the arrival rate of a transfer in bit/s of IP packets: the median over averaging
    times."""
    ends, total = one.ends, np.cumsum(counted["bytes"]) if len(counted) else np.empty(0)
    if len(ends) < SPANS or ends[-1] - ends[0] < SPANS * span_s:
        return None
    last = np.flatnonzero(ends >= ends[0] + span_s)
    first = np.searchsorted(ends, ends[last] - span_s, side="right") - 1
    rates = 8 * (total[last] - total[first]) / (ends[last] - ends[first])
    return float(np.median(rates)) * PACKET / PAYLOAD
