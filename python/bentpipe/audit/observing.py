"""The measurement of an audit: probes of an idle network, then loads around its promised rate."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np

from bentpipe.measure import Measured, Plan, probe
from bentpipe.measure.load import Load

from .promises import DIRECTIONS, Promises

#: Size of probes and of the datagrams of loads, in bytes with IP and UDP headers. The latter pass
#: networks with a small MTU.
PROBE: Final = 140
DATAGRAM: Final = 1200
#: Size of the datagrams that show whether a limit is in packets or in bytes.
SMALL: Final = 300
#: Maximum rate of the probes in 1/s, and their maximum share of the promised rate.
PROBES: Final = 100.0
SHARE: Final = 0.1
#: Loads below and above the promised rate, as multiples of it.
BELOW: Final = 0.8
ABOVE: Final = 1.5
#: Duration of the load above the rate in seconds.
ABOVE_S: Final = 3.0
#: Rate of the load below the rate if no rate is promised, in bit/s.
UNKNOWN_RATE: Final = 4e6
#: Minimum and maximum number of packets of a burst, and the maximum duration of its transmission.
BURST: Final = (400, 8000)
BURST_S: Final = 8.0
#: Number of datagrams in a packet with segmentation offload.
SEGMENTS: Final = 16
#: Time between loads in seconds.
PAUSE_S: Final = 0.5
#: Least time without a datagram after which a load has ended, in seconds.
MIN_QUIET_S: Final = 0.5


@dataclass
class Observation:
    """The records of an audit: single probes of an idle network, frequent probes, loads, and loads
    of small datagrams if the promised rate was not reached. ``shared_clock`` is true if both ends
    use one clock."""

    lone: Measured
    rest: Measured
    loads: Measured | None = None
    small: Measured | None = None
    shared_clock: bool = True
    notes: list[str] = field(default_factory=list)


def observe(
    host: str,
    port: int,
    key: bytes,
    promises: Promises,
    *,
    duration: float,
    shared_clock: bool,
    seed: int = 1,
    advance: Callable[[float], bool] = lambda _: True,
) -> Observation:
    """Measures the network between this host and a reflector. ``duration`` is the time of the
    probes and of the loads below the promised rate, in seconds. Raises :class:`bentpipe.InputError`
    if the reflector does not answer."""

    def measured(plan: Plan, begin: float, end: float) -> Measured:
        return probe(
            host,
            port,
            plan,
            key,
            seed=seed,
            advance=lambda done: advance(begin + (end - begin) * done),
            departures_stamped=False,
        )

    rates = {side: promises.value("rate", side) for side in DIRECTIONS}
    slowest = min((rate for rate in rates.values() if rate), default=1e9)
    probes = max(2.0, min(PROBES, SHARE * slowest / (8 * PROBE)))
    quiet = Plan(duration=1.5, rate=4.0, schedule="periodic", sizes=(PROBE,), train=0, icmp=0.0)
    lone = measured(quiet, 0.0, 0.1)
    if not lone.replied.any():
        return Observation(lone, lone, shared_clock=shared_clock, notes=["no probe had a reply"])
    rest = measured(replace(quiet, duration=duration, rate=probes, schedule="poisson"), 0.1, 0.3)
    seen = Observation(lone, rest, shared_clock=shared_clock)
    if saturated(seen):
        seen.notes.append("the probes alone overload the network, so no loads were sent")
        return seen
    loads = tuple(
        one for side in DIRECTIONS for one in _loads(promises, side, rates[side], duration, seen.lone)
    )
    plan = replace(quiet, duration=1.0, rate=max(2.0, probes / 10), loads=loads)
    seen.loads = measured(plan, 0.3, 0.9)
    short = tuple(
        Load("udp", side, duration=2.0, pause=PAUSE_S, rate=SMALL * 8 * 2 * packets, size=SMALL)
        for side in DIRECTIONS
        if (packets := _short_of(seen.loads, side, rates[side])) is not None
    )
    if short:
        seen.small = measured(replace(plan, loads=short), 0.9, 1.0)
    return seen


def saturated(seen: Observation) -> bool:
    """Returns true if the delay of frequent probes grows far above that of single probes, because
    the network forwards fewer packets than the probes."""
    one, many = (_round_trips(part) for part in (seen.lone, seen.rest))
    late = many[-len(many) // 4 :]
    if not len(late):
        return True
    lost = 1 - len(many) / len(seen.rest.sent)
    grown = float(np.median(late)) > 2 * float(np.min(one)) + 0.2
    return grown and (lost > 0.1 or float(np.median(late)) > 1.0)


def _round_trips(seen: Measured) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    ok = seen.replied
    return ((seen.returned - seen.sent)[ok] - (seen.left - seen.arrived)[ok]) / 1e9


def _loads(
    promises: Promises, side: str, promised: float | None, duration: float, lone: Measured
) -> list[Load]:
    rate = promised or UNKNOWN_RATE
    round_trip = float(np.median(_round_trips(lone)))
    queue = promises.of.get(("queue", side))
    held = rate * 0.3 / (8 * DATAGRAM)
    if queue is not None:
        in_bytes = queue.value if queue.unit == "B" else queue.value * rate / 8
        held = queue.value if queue.unit == "packets" else in_bytes / DATAGRAM
    quiet = MIN_QUIET_S + 2 * round_trip
    packets = 2 * held + rate * round_trip / (8 * DATAGRAM)
    longest = max(50.0, BURST_S * rate / (8 * DATAGRAM))
    burst = int(min(max(packets, BURST[0]), BURST[1], longest)) // SEGMENTS * SEGMENTS
    any_load = Load("udp", side, pause=PAUSE_S + 2 * round_trip, quiet=quiet, size=DATAGRAM)
    full = replace(any_load, kind="burst", packets=burst)
    loads = [
        replace(any_load, kind="survey", duration=1.5 + round_trip),
        replace(any_load, rate=BELOW * rate, duration=max(1.0, duration)),
    ]
    if promised:
        loads.append(replace(any_load, rate=ABOVE * rate, duration=max(ABOVE_S, 4 * round_trip)))
    if promised or queue is not None:
        loads.append(full)
        if ("segments", side) in promises.of:
            loads.append(replace(full, segments=SEGMENTS))
    return loads


def _short_of(loads: Measured, side: str, promised: float | None) -> float | None:
    """Returns the packets per second of the load above the promised rate, if fewer than promised
    arrived; else None."""
    for one in loads.outcomes:
        load = one.item.load
        if load.kind == "udp" and load.direction == side and promised and load.rate > promised:
            at = np.sort(one.arrived["arrived"]) / 1e9
            late = at[at > at[0] + 0.4 * (at[-1] - at[0])] if len(at) > 10 else at
            if len(late) < 4:
                return None
            packets = (len(late) - 1) / float(late[-1] - late[0])
            return packets if packets * 8 * DATAGRAM < 0.95 * promised else None
    return None
