"""Rate, depth and drop policy of a bottleneck, from datagrams that arrived faster than its rate.

A burst arrives at the bottleneck's rate. The longest wait, times the rate, is the depth of the
queue (:mod:`bentpipe.measure.depth`). A queue that holds the same number of packets for two sizes
is limited in packets. The lost numbers show the policy:

- Drop-tail: datagrams around a loss found a full queue. Their waits are the longest, and nearly
  equal.
- Drop-front: datagrams at the front are lost in long runs. The last datagrams of a burst, as many
  as the queue holds, all arrive (arXiv 2605.27717 found this on Starlink).
- Active queue management (AQM): single datagrams are lost while the queue is shorter than its
  maximum.
- Fair queuing: datagrams from another port that are sent after the burst arrive before its end.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from . import depth
from .clock import Times
from .depth import FULL, Depth, Seen
from .load_results import Loaded

#: Seconds within which packets catch up with those before them on a path that has become shorter.
CATCHING_UP_S: Final = 0.025
#: Minimum change of the delay in a handover, in seconds.
MIN_STEP_S: Final = 2.5e-3
#: Minimum duration of the constant delay before and after a handover, in seconds.
STEADY_S: Final = 0.1
#: Minimum number of datagrams in this time.
STEADY: Final = 8
#: Minimum number of pairs of consecutive datagrams, both received, for an estimate of the rate.
MIN_PAIRS: Final = 30
#: Maximum relative difference of equal gaps between arrivals.
GAP_TOLERANCE: Final = 0.05
#: Minimum fraction of gaps that must be equal.
MIN_EQUAL_GAPS: Final = 0.8
#: Maximum change of the delay by a handover, in seconds. There is at most one handover per second.
MAX_STEP_S: Final = 0.03
#: Minimum number of losses for determining a policy; fewer may be random.
MIN_LOSSES: Final = 5
#: Minimum ratio of the packet sizes of two loads for finding a limit in packets.
MIN_SIZE_RATIO: Final = 1.1
#: Maximum relative difference of the queued packets of two loads for a limit in packets. The queued
#: bytes must differ by more.
PACKETS_TOLERANCE: Final = 0.03
#: Policies from the most to the least specific.
POLICIES: Final = ("fair-queuing", "drop-front", "aqm", "drop-tail")
#: Interval between two values of the available rate, in seconds.
BIN_S: Final = 1e-3


@dataclass(frozen=True)
class Queue:
    """Estimates of the bottleneck in one direction, from one load."""

    load: str
    direction: str
    #: Rate in bit/s of IP packets; None if the load did not fill the bottleneck.
    rate: float | None
    #: Depth of the queue in bytes; a lower bound if `overflowed` is false.
    depth: int
    #: Depth of the queue in packets of the load's size; a lower bound if `overflowed` is false.
    packets: int
    #: Lower bound of the depth in bytes.
    depth_least: int
    #: Upper bound of the depth in bytes; None if unknown.
    depth_most: int | None
    depth_reason: str | None
    overflowed: bool
    #: "drop-tail", "drop-front", "aqm", "fair-queuing"; None if unknown.
    policy: str | None
    size: int
    #: True for a limit in packets, found from loads of two sizes.
    in_packets: bool = False


@dataclass(frozen=True)
class CrossLoad:
    """Packets that do not belong to the load: their arrival times in nanoseconds by the receiver's
    clock, and their sizes in bytes."""

    at: NDArray[np.int64]
    size: NDArray[np.int64]


def bottlenecks(
    loads: Sequence[Loaded],
    losses: dict[str, tuple[float, float]],
    probes: dict[str, CrossLoad] | None = None,
) -> list[Queue]:
    """Returns the bottleneck estimated from each load that filled one. ``losses`` are the fractions
    of packets that are lost at random in the directions "up" and "down", with their upper bounds;
    ``probes`` are the concurrent arrivals of probes."""
    found = []
    for one in loads:
        direction = one.outcome.item.load.direction
        found.append(queue(one, losses.get(direction, (0.0, 0.0)), (probes or {}).get(direction)))
    known = [one for one in found if one is not None and one.rate is not None]
    # At a constant rate, no datagram waits for the full depth of a drop-front queue, which then
    # looks like an AQM.
    front = {one.direction for one in known if one.policy == "drop-front"}
    why = "the delay of a constant load does not show the whole depth of a queue that drops at the front"
    return [
        replace(one, depth_most=None, depth_reason=why)
        if one.direction in front and one.overflowed and one.policy != "drop-front"
        else one
        for one in known
    ]


def together(queues: Sequence[Queue], direction: str) -> Queue | None:
    """Returns the combined estimate of all loads of a direction: medians, and the most specific
    policy. A burst ends before RED's average queue has grown and before CoDel has dropped much, and
    only a burst reveals drop-front."""
    own = [one for one in queues if one.direction == direction]
    if not own:
        return None
    named = [one.policy for one in own]
    policy = next((name for name in POLICIES if name in named), None)
    full = [one for one in own if one.overflowed] or [max(own, key=lambda one: one.depth)]
    # The loads that show the policy also show the depth.
    showing = [one for one in full if one.policy == policy] or full
    # A handover during a load, or a busy host, can only increase the longest wait; so of two the
    # shorter is used.
    middle = sorted(showing, key=lambda one: one.depth)[(len(showing) - 1) // 2]
    rate = float(np.median([one.rate for one in own if one.rate is not None]))
    in_packets = _is_in_packets([one for one in showing if one.overflowed])
    return replace(
        middle, rate=rate, policy=policy, overflowed=any(one.overflowed for one in own), in_packets=in_packets
    )


def _is_in_packets(full: Sequence[Queue]) -> bool:
    """Returns true if a queue holds the same number of packets for two sizes."""
    pairs = [(a, b) for a in full for b in full if a.size > MIN_SIZE_RATIO * b.size]
    return bool(pairs) and all(abs(a.packets / max(1, b.packets) - 1) <= PACKETS_TOLERANCE for a, b in pairs)


def queue(
    one: Loaded, random_losses: tuple[float, float] = (0.0, 0.0), probes: CrossLoad | None = None
) -> Queue | None:
    """Returns the bottleneck estimated from a load; ``None`` for too few datagrams.
    ``random_losses`` are the fraction of packets that are lost at random, and its upper bound."""
    random_loss, _ = random_losses
    load, records = one.outcome.item.load, one.outcome.arrived
    if load.kind not in ("burst", "udp"):
        return None
    lane = one.outcome.pattern["lane"]
    if len(lane) != len(one.outcome.sent):
        return None
    small = (one.outcome.pattern["size"] < load.size) & (lane == 0) & (one.outcome.sent > 0)
    main = np.flatnonzero((lane == 0) & (one.outcome.sent > 0) & ~small)
    arrived = np.full(len(one.outcome.sent), np.nan)
    rows = records[records["number"] < len(arrived)]
    arrived[rows["number"]] = (rows["arrived"] - one.outcome.sent[0]) / 1e9
    sent = (one.outcome.sent - one.outcome.sent[0]) / 1e9 if len(arrived) else arrived
    if len(main) < 10 or np.isfinite(arrived[main]).sum() < 10:
        return None
    companions = np.flatnonzero((lane == 1) & (one.outcome.sent > 0))
    got = np.isfinite(arrived[main])
    wait = _steadied(sent[main], arrived[main]) - sent[main]
    wait -= np.nanmin(wait)
    # Packets that another queue sends in between take their share of the rate.
    beside = np.concatenate([companions, np.flatnonzero(small)])
    probing: tuple[Times, Any] = (np.empty(0), np.empty(0))
    if probes is not None:
        probing = ((probes.at - one.outcome.sent[0]) / 1e9, probes.size)
    between = (
        np.concatenate([arrived[beside], probing[0]]),
        np.concatenate([one.outcome.pattern["size"][beside], probing[1]]),
    )
    rate = _rate(sent[main], arrived[main], wait, load.size, between)
    if rate is None:
        return Queue(one.name, load.direction, None, 0, 0, 0, None, None, False, None, load.size)
    seen = Seen(one, sent, arrived, main, np.flatnonzero(small), wait, rate, probing)
    fair = _overtakes(sent, arrived, main, companions) > 0.5
    lost = int((~got).sum())
    # More than random losses, by three standard deviations.
    expected = random_loss * len(got)
    overflowed = lost >= MIN_LOSSES + expected + 3 * expected**0.5
    if not overflowed:
        policy, held = "fair-queuing" if fair else None, depth.at_least(seen)
    else:
        in_time = replace(seen, wait=depth.in_time(seen))
        # Delays in a host carry no information on the queue.
        is_late = seen.longest > (1 + depth.REASON_DISTANCE) * in_time.longest
        likely = in_time.longest if is_late else depth.best(seen)
        waits = in_time.wait if is_late else wait
        policy = "fair-queuing" if fair else _policy(got, waits, likely, rate, load.size, random_losses)
        held = depth.of_policy(seen, likely, policy)
    return _queue(one, rate, held, overflowed, policy)


def _queue(one: Loaded, rate: float, held: Depth, overflowed: bool, policy: str | None) -> Queue:
    load = one.outcome.item.load
    return Queue(
        one.name,
        load.direction,
        rate,
        held.likely,
        round(held.likely / load.size),
        held.least,
        held.most,
        held.reason,
        overflowed,
        policy,
        load.size,
    )


def _rate(sent: Times, arrived: Times, wait: Times, size: int, between: tuple[Times, Any]) -> float | None:
    """Returns the arrival rate of datagrams that waited; ``None`` if too few waited.

    ``between`` are arrivals of other packets and their sizes.
    """
    sending = 8 * size
    order = np.argsort(arrived)
    order = order[np.isfinite(arrived[order])]
    at = arrived[order]
    # The bottleneck is busy between two arrivals if the second was sent before the first arrived,
    # by more than the common delay.
    least = float(np.nanmin(arrived - sent))
    busy = sent[order][1:] + least < at[:-1]
    # Packets lost behind the bottleneck used its time; packets dropped by its queue did not. No
    # packet was lost between two consecutive ones.
    whole = busy & (np.diff(order) == 1)
    busy = whole if whole.sum() >= MIN_PAIRS else busy
    gaps = np.diff(at)[busy]
    if len(gaps) < 8 or gaps.sum() <= 0:
        return None
    place = np.searchsorted(at, between[0]) - 1
    inside = np.isfinite(between[0]) & (place >= 0) & (place < len(busy))
    other = np.bincount(place[inside], weights=between[1][inside], minlength=len(busy))[busy]
    gaps = gaps - 8 * other * float(np.median(gaps)) / sending
    # If most gaps are equal and the sum of the others is small, the others come from a handover.
    # Gaps between the turns of a scheduler belong to the bottleneck.
    usual = float(np.median(gaps))
    even = np.abs(gaps - usual) < GAP_TOLERANCE * usual
    odd = abs(float((gaps[~even] - usual).sum()))
    if even.mean() >= MIN_EQUAL_GAPS and odd <= MAX_STEP_S * (1 + float(gaps.sum())):
        gaps = gaps[even]
    rate = sending * len(gaps) / float(gaps.sum())
    # A late host releases packets in batches; the queue must have grown beyond these.
    return rate if float(np.nanmax(wait)) > 3 * sending / rate else None


def _overtakes(sent: Times, arrived: Times, main: Any, companions: Any) -> float:
    """Returns the fraction of the other port's datagrams that overtake earlier ones of the burst,
    among those sent while the queue still held part of the burst."""
    least, found = float(np.nanmin(arrived - sent)), []
    for number in companions:
        before = arrived[main][sent[main] < sent[number]]
        before = before[np.isfinite(before)]
        if np.isfinite(arrived[number]) and len(before) and before.max() > sent[number] + least:
            found.append((before > arrived[number]).sum() > 3)
    return float(np.mean(found)) if len(found) >= 3 else 0.0


def _steadied(sent: Times, arrived: Times) -> Times:
    """Returns the arrivals of datagrams, corrected to a constant path length; NaN for those delayed
    by a busy host.

    While the queue is not empty, arrivals are spaced by the bottleneck's time per packet. A
    handover shifts all later arrivals at once. A host delays a few packets, and the next ones are
    on time.
    """
    known = np.flatnonzero(np.isfinite(arrived))
    if len(known) < 4 * STEADY:
        return arrived
    at, found = arrived[known], arrived.copy()
    gaps = np.diff(at)
    usual = float(np.median(gaps))
    least = max(MIN_STEP_S, 4 * usual)
    # The second datagram of a pair was sent before the first left the bottleneck, with few losses
    # between them.
    busy = sent[known][1:] + float(np.nanmin(arrived - sent)) + least < at[:-1]
    even, wait = at - usual * np.arange(len(at)), at - sent[known]
    # A longer path appears as one gap. On a shorter path, packets catch up with their predecessors
    # one after the other.
    later = [
        (int(place), int(place) + 1)
        for place in np.flatnonzero((gaps - usual > least) & busy & (np.diff(known) <= 2))
    ]
    order = np.maximum.accumulate(at)
    end = np.searchsorted(order, at + CATCHING_UP_S) - 1
    falls = even[end] - even
    low = np.flatnonzero(falls < -least)
    sooner = [
        (int(own[falls[own].argmin()]), int(end[own[falls[own].argmin()]]))
        for own in np.split(low, np.flatnonzero(np.diff(low) > 1) + 1)
        if len(own)
    ]
    for place, first in sorted(later + sooner):
        before = np.flatnonzero(at[: place + 1] > at[place] - STEADY_S)
        after = np.flatnonzero(at[first:] < at[first] + STEADY_S) + first
        if min(len(before), len(after)) < STEADY:
            continue
        level, jump = float(np.median(even[before])), float(even[first] - even[place])
        change = float(np.median(even[after])) - level
        # Random losses behind the bottleneck used its time, which changes the gap slightly.
        if not 0.5 < change / jump < 2:
            found[known[after[even[after] > level + least / 2]]] = np.nan
        elif 0.7 < (shift := _change(at, wait, before, after)) / jump < 1.5:
            found[known[place] + 1 :] -= shift
            found[known[place] + 1 : known[first]] = np.nan
        # Otherwise the bottleneck was idle for that time, and its queue is unchanged.
    return found


def _change(at: Times, wait: Times, before: Any, after: Any) -> float:
    """Returns the change of the wait between two groups of datagrams, in excess of its trend in
    both."""

    def trend(own: Any) -> float:
        one, other = np.array_split(own, 2)
        apart = float(np.median(at[other]) - np.median(at[one]))
        return float(np.median(wait[other]) - np.median(wait[one])) / apart if apart > 0 else 0.0

    apart = float(np.median(at[after]) - np.median(at[before]))
    change = float(np.median(wait[after]) - np.median(wait[before]))
    return change - apart * (trend(before) + trend(after)) / 2


def _policy(
    got: Any, wait: Times, held_bytes: int, rate: float, size: int, random_losses: tuple[float, float]
) -> str | None:
    """Returns the policy of a queue that has overflowed at a given depth in bytes; ``None`` if it
    may be drop-tail or an AQM, because there are too few probes to estimate random losses."""
    random_loss, most_loss = random_losses
    lost, held = np.flatnonzero(~got), held_bytes / size
    longest = float(np.nanquantile(wait, 0.98))
    # Wait of the last arrival before each loss.
    seen = np.flatnonzero(np.isfinite(wait))
    place = np.searchsorted(seen, lost) - 1
    around = wait[seen[place[place >= 0]]]
    # Mixed sizes leave up to one packet of free space, and hosts are late by some milliseconds.
    near = min((1 - FULL) * longest, 4 * 8 * size / rate + 2e-3)
    middle = float(np.median(around)) if len(around) else 0.0
    same = int((np.abs(around - middle) <= near).sum())
    # Losses far from a full queue are random; only the order of magnitude of their rate is known.
    early, not_full = int((around < FULL * longest).sum()), int((wait < FULL * longest).sum())
    likely, most = (loss * (not_full + early) for loss in random_losses)
    is_early = [early > MIN_LOSSES + 1.5 * likely + 3 * likely**0.5, early > MIN_LOSSES + most]
    if middle >= FULL * longest and same >= 0.5 * (len(lost) - random_loss * len(got)):
        return "aqm" if all(is_early) else None if any(is_early) else "drop-tail"
    # No more of the last datagrams are lost than by random losses.
    last = max(1, int(0.5 * held))
    expected = most_loss * last
    whole = (lost >= len(got) - last).sum() <= expected + 3 * expected**0.5
    runs = np.split(lost, np.flatnonzero(np.diff(lost) > 1) + 1)
    typical = float(np.median(np.repeat([len(run) for run in runs], [len(run) for run in runs])))
    return "drop-front" if whole and typical >= 3 else "aqm"


def available(one: Loaded) -> tuple[Times, Times]:
    """Returns times in seconds since the first arrival of a load, in steps of :data:`BIN_S`, and
    the arrival rate in bit/s in each: the available rate while the queue is not empty."""
    records = np.sort(one.outcome.arrived, order="arrived")
    if not len(records):
        return np.empty(0), np.empty(0)
    at = (records["arrived"] - records["arrived"][0]) / 1e9
    edges = np.arange(0, at[-1] + BIN_S, BIN_S)
    if len(edges) < 2:
        return np.empty(0), np.empty(0)
    total = np.histogram(at, edges, weights=records["size"])[0]
    return edges[:-1], 8 * total / BIN_S
