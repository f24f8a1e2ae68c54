"""Depth of a bottleneck's queue, as an interval.

Several estimates have different error sources in the hosts and the path:

- The longest wait of a datagram, multiplied by the rate. Any delay outside the queue, such as in a
  busy host, increases this estimate.
- The same estimate, corrected by the datagrams that follow: a busy bottleneck cannot have sent a
  datagram later than the next datagrams minus their transmission times.
- The free space that a full queue still had for small datagrams.
- For a queue that drops at its tail, the median of the waits around losses. A busy host changes
  these waits only briefly.
- For a queue that drops at its front, the bytes after the last run of losses of a burst. This
  estimate needs no clock.

The interval covers all estimates plus two packets on each side. If they differ by more than
:data:`REASON_DISTANCE`, the reason is reported.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from .clock import Times
from .load_results import Loaded

#: Minimum wait in a full queue, as a fraction of the longest wait.
FULL: Final = 0.85
#: Minimum number of small datagrams in a burst for refining the depth.
MIN_FILLERS: Final = 3
#: Maximum duration of a delay outside the queue, in seconds.
HELD_UP_S: Final = 0.05
#: Maximum number of consecutive datagrams with a delay outside the queue.
MAX_HELD_UP: Final = 256
#: Error of each estimate in packets. The free space may be up to one packet that does not fit, and
#: another packet may be partly sent when a datagram arrives.
ESTIMATE_ERROR: Final = 2
#: Quantile of the waits that gives the lower bound.
LOWER_BOUND_FRACTION: Final = 0.9
#: Minimum distance of a bound from the depth, as a fraction of the depth, for reporting a reason.
REASON_DISTANCE: Final = 0.1


@dataclass(frozen=True)
class Depth:
    """Depth of a queue in bytes."""

    #: Most likely depth.
    likely: int
    #: Lower bound.
    least: int
    #: Upper bound; None if unknown.
    most: int | None
    #: The reason for a wide interval; None for a narrow one.
    reason: str | None = None


@dataclass(frozen=True)
class Seen:
    """A load as seen by its receiver: times at which each datagram was sent and arrived (NaN if
    lost), the numbers of full-size and of small datagrams, the waits of the full-size ones, the
    rate of the bottleneck in bit/s, and the arrival times and sizes of probes."""

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
        """Depth in bytes from the longest wait: that datagram found a full queue and took its last
        place."""
        return int(float(np.nanmax(self.wait)) * self.rate / 8)


def at_least(seen: Seen) -> Depth:
    """Returns the depth of a queue that never overflowed."""
    return Depth(seen.longest, _held(seen), None, "the load did not fill it")


def of_policy(seen: Seen, likely: int, policy: str | None) -> Depth:
    """Returns the depth of a queue that overflowed, for which :func:`best` is ``likely``, by its
    policy."""
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
    least, most = max(0, min(told) - ESTIMATE_ERROR * seen.size), max(told) + ESTIMATE_ERROR * seen.size
    apart = max(likely - min(told), max(told) - likely) / max(1, likely)
    reason = None
    if apart > REASON_DISTANCE:
        if policy == "drop-front" and found[-1]:
            likely = found[-1]
        cause = "a host or the path delayed datagrams, or the rate varied"
        reason = f"the estimates of the depth differ by {100 * apart:.0f} %: {cause}"
    return Depth(likely, least, most, reason)


def best(seen: Seen) -> int:
    """Returns the likeliest depth of a queue that overflowed."""
    return max(seen.longest, _filled(seen))


def in_time(seen: Seen) -> Times:
    """Returns the waits of datagrams without delays outside the queue."""
    size = seen.one.outcome.pattern["size"][: len(seen.sent)].astype(float)
    both = np.concatenate([seen.main, seen.small])
    both = both[np.isfinite(seen.arrived[both])]
    both = both[np.argsort(seen.arrived[both], kind="stable")]
    taken = 8 * np.cumsum(size[both]) / seen.rate
    behind = seen.arrived[both] - taken
    usual = 8 * seen.size / seen.rate
    count = int(np.clip(HELD_UP_S / usual, 1, MAX_HELD_UP))
    padded = np.concatenate([behind, np.full(count, np.inf)])
    own = np.lib.stride_tricks.sliding_window_view(padded, count + 1).min(axis=1) + taken
    late = np.zeros(len(seen.sent))
    late[both] = seen.arrived[both] - own
    # The waits are already corrected for handovers within the load.
    wait = seen.wait - late[seen.main]
    found: Times = wait - np.nanmin(wait)
    return found


def _in_time(seen: Seen) -> int:
    return replace(seen, wait=in_time(seen)).longest


def _held(seen: Seen) -> int:
    """Returns a lower bound of the depth: the wait that a tenth of the datagrams exceeded. Rarer,
    longer waits may come from a late host."""
    wait = float(np.nanquantile(in_time(seen), LOWER_BOUND_FRACTION))
    return max(0, int(wait * seen.rate / 8) - ESTIMATE_ERROR * seen.size)


def _around_losses(seen: Seen) -> int:
    """Returns the depth from the median wait of the last datagrams before losses; 0 without
    losses."""
    lost, known = (
        np.flatnonzero(~np.isfinite(seen.arrived[seen.main])),
        np.flatnonzero(np.isfinite(seen.wait)),
    )
    place = np.searchsorted(known, lost) - 1
    around = seen.wait[known[place[place >= 0]]]
    return int(float(np.median(around)) * seen.rate / 8) if len(around) else 0


def _behind_losses(seen: Seen) -> int:
    """Returns the bytes of a burst behind its last run of losses; 0 for loads other than bursts."""
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
    """Returns the depth of a full queue from the packets that it still accepted: the bytes sent
    from the next packet to leave at the arrival of an accepted packet up to that packet, both
    included. Uses small packets if there are any, because they find room longest.

    0 if there are too few, or if they contradict the longest wait by more than a packet.
    """
    sent, arrived, rate, whole = seen.sent, seen.arrived, seen.rate, seen.size
    size = seen.one.outcome.pattern["size"][: len(sent)]
    both = np.sort(np.concatenate([seen.main, seen.small]))
    both = both[np.isfinite(arrived[both])]
    # Start of each transmission, and arrival at the queue, both by the receiver's clock.
    begin = arrived[both] - 8 * size[both] / rate
    came = sent[both] + float(np.min(begin - sent[both]))
    following = np.searchsorted(np.maximum.accumulate(begin), came)
    known = following < len(both)
    next_one = np.where(known, following, 0)
    # Remainder of the packet in transmission; if almost nothing or almost all is left, it may be a
    # neighbouring packet.
    left = rate / 8 * (begin[next_one] - came)
    known &= (left > 0.1 * whole) & (left < 0.9 * whole)
    held = rate / 8 * (begin - begin[next_one]) + size[both]
    own = held[known & np.isin(both, seen.small)]
    if len(own) < MIN_FILLERS:
        own = held[known]
        own = own[own > FULL * own.max(initial=0.0)]
    if len(own) < MIN_FILLERS:
        return 0
    found = int(np.quantile(own, 0.9))
    return found if found < seen.longest + 1.1 * whole else 0
