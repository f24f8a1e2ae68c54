"""How much a bottleneck's queue holds, as an interval.

Several ways of telling it depend on the hosts and the path in different manners:

- the longest wait of a datagram, times the rate. What holds a datagram up besides the queue, such as a busy host, adds
  to it;
- the same without what the datagrams behind it contradict: a bottleneck that was busy cannot have sent a datagram later
  than those that follow less the time that they take to be sent;
- what a full queue still took, by small datagrams;
- where a queue drops at its end, the median of the waits around losses, which a busy host does not change for long;
- where it drops at its front, the bytes behind the last run of losses of a burst, which needs no clock.

The interval holds them all and two packets more on each side. Where they differ by more than :data:`APART`, the
reason is said.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from .clock import Times
from .load_results import Loaded

#: A wait is that of a full queue from this part of the longest on.
FULL: Final = 0.85
#: Least small datagrams of a burst by which the depth is refined.
FEWEST_FILLERS: Final = 3
#: Seconds, and datagrams, within which those that were held up are followed by one that came in time.
HELD_UP_S: Final = 0.05
MOST_HELD_UP: Final = 256
#: Packets by which each way may be wrong: what does not fit leaves up to one free, and another is half sent when one
#: comes.
FREE: Final = 2
#: Part of the datagrams by whose waits a lower bound is told.
USUALLY: Final = 0.9
#: From this part of the depth on, the distance of a bound from it is explained.
APART: Final = 0.1


@dataclass(frozen=True)
class Depth:
    """Bytes that a queue holds: the likeliest value, and its bounds; ``most`` is None where only a lower one is
    known. ``reason`` says why it could not be measured better."""

    likely: int
    least: int
    most: int | None
    reason: str | None = None


@dataclass(frozen=True)
class Seen:
    """A load as its receiver saw it: times at which each datagram was sent and arrived (NaN if it did not), the numbers
    of those of the load's size and of small ones, the waits of the former, the rate of the bottleneck in bit/s, and
    when probes arrived, with their sizes."""

    one: Loaded
    sent: Times
    arrived: Times
    main: Any
    small: Any
    wait: Times
    rate: float
    probes: tuple[Times, Any]

    @property
    def size(self) -> int:
        """Bytes of a datagram of the load."""
        return self.one.outcome.item.load.size

    @property
    def longest(self) -> int:
        """Bytes by the longest wait: the datagram that has it found a full queue and was its last byte."""
        return int(float(np.nanmax(self.wait)) * self.rate / 8)


def at_least(seen: Seen) -> Depth:
    """Returns the depth of a queue that never overflowed."""
    return Depth(seen.longest, _held(seen), None, "the load did not fill it")


def of_policy(seen: Seen, likely: int, policy: str | None) -> Depth:
    """Returns the depth of a queue that overflowed, for which :func:`best` is ``likely``, by its policy."""
    found = [likely, seen.longest, _in_time(seen)]
    if policy == "drop-tail":
        found.append(_around_losses(seen))
    elif policy == "drop-front":
        found.append(_behind_losses(seen))
    elif policy is None:
        return Depth(likely, _held(seen), None, "too few probes to estimate random losses")
    else:
        return Depth(likely, _held(seen), None, "the queue management drops packets before the queue is full")
    told = [one for one in found if one]
    least, most = max(0, min(told) - FREE * seen.size), max(told) + FREE * seen.size
    apart = max(likely - min(told), max(told) - likely) / max(1, likely)
    reason = None
    if apart > APART:
        if policy == "drop-front" and found[-1]:
            likely = found[-1]
        cause = "a host or the path delayed datagrams, or the rate varied"
        reason = f"the estimates of the depth differ by {100 * apart:.0f} %: {cause}"
    return Depth(likely, least, most, reason)


def best(seen: Seen) -> int:
    """Returns the likeliest depth of a queue that overflowed."""
    return max(seen.longest, _filled(seen))


def in_time(seen: Seen) -> Times:
    """Returns the waits of datagrams as they would be if nothing but the queue had held them up."""
    size = seen.one.outcome.pattern["size"][: len(seen.sent)].astype(float)
    both = np.concatenate([seen.main, seen.small])
    both = both[np.isfinite(seen.arrived[both])]
    both = both[np.argsort(seen.arrived[both], kind="stable")]
    taken = 8 * np.cumsum(size[both]) / seen.rate
    behind = seen.arrived[both] - taken
    usual = 8 * seen.size / seen.rate
    count = int(np.clip(HELD_UP_S / usual, 1, MOST_HELD_UP))
    padded = np.concatenate([behind, np.full(count, np.inf)])
    own = np.lib.stride_tricks.sliding_window_view(padded, count + 1).min(axis=1) + taken
    late = np.zeros(len(seen.sent))
    late[both] = seen.arrived[both] - own
    # Handovers within the load have been taken out of the waits.
    wait = seen.wait - late[seen.main]
    found: Times = wait - np.nanmin(wait)
    return found


def _in_time(seen: Seen) -> int:
    return replace(seen, wait=in_time(seen)).longest


def _held(seen: Seen) -> int:
    """Returns what the queue has held at least: the wait that a tenth of the datagrams exceeded, since what few have
    waited more may be a host's that was late."""
    wait = float(np.nanquantile(in_time(seen), USUALLY))
    return max(0, int(wait * seen.rate / 8) - FREE * seen.size)


def _around_losses(seen: Seen) -> int:
    """Returns the depth by the median wait of the datagrams that arrived last before the losses; 0 without any."""
    lost, known = (
        np.flatnonzero(~np.isfinite(seen.arrived[seen.main])),
        np.flatnonzero(np.isfinite(seen.wait)),
    )
    place = np.searchsorted(known, lost) - 1
    around = seen.wait[known[place[place >= 0]]]
    return int(float(np.median(around)) * seen.rate / 8) if len(around) else 0


def _behind_losses(seen: Seen) -> int:
    """Returns the bytes of a burst behind its last run of losses; 0 for loads that are no bursts."""
    if seen.one.outcome.item.load.kind != "burst":
        return 0
    lost = np.flatnonzero(~np.isfinite(seen.arrived[seen.main]))
    runs = [run for run in np.split(lost, np.flatnonzero(np.diff(lost) > 1) + 1) if len(run) > 2]
    if not runs:
        return 0
    last = int(seen.main[runs[-1][-1]])
    both = np.concatenate([seen.main, seen.small])
    both = both[both > last]
    arrived, (at, size) = seen.arrived[both], seen.probes
    if not np.isfinite(arrived).any():
        return 0
    beside = size[(at > np.nanmin(arrived)) & (at < np.nanmax(arrived))].sum()
    return int(seen.one.outcome.pattern["size"][both].sum() + beside)


def _filled(seen: Seen) -> int:
    """Returns what a full queue holds by the packets that it still took: what was sent between the next packet to leave
    when one of them came, and itself, both included. Of small ones, if there are some, as they find room longest.

    0 if there are too few, or if they contradict the longest wait by more than a packet.
    """
    sent, arrived, rate, whole = seen.sent, seen.arrived, seen.rate, seen.size
    size = seen.one.outcome.pattern["size"][: len(sent)]
    both = np.sort(np.concatenate([seen.main, seen.small]))
    both = both[np.isfinite(arrived[both])]
    # When each began to be sent, and when it came to the queue, both by the receiver's clock.
    begin = arrived[both] - 8 * size[both] / rate
    came = sent[both] + float(np.min(begin - sent[both]))
    following = np.searchsorted(np.maximum.accumulate(begin), came)
    known = following < len(both)
    next_one = np.where(known, following, 0)
    # What is left of the packet that is being sent; where it is nearly nothing or all, it may as well be another one.
    left = rate / 8 * (begin[next_one] - came)
    known &= (left > 0.1 * whole) & (left < 0.9 * whole)
    held = rate / 8 * (begin - begin[next_one]) + size[both]
    own = held[known & np.isin(both, seen.small)]
    if len(own) < FEWEST_FILLERS:
        own = held[known]
        own = own[own > FULL * own.max(initial=0.0)]
    if len(own) < FEWEST_FILLERS:
        return 0
    found = int(np.quantile(own, 0.9))
    return found if found < seen.longest + 1.1 * whole else 0
