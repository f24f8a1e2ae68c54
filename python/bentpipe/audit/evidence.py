"""Numbers of a measured network, per direction, with intervals.

Intervals have a confidence of 99.9 %, so that an audit of many promises rarely raises a false
alarm. Quantiles use order statistics; rates use means of batches; fractions use Wilson's interval.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from bentpipe.measure import Measured
from bentpipe.measure.load_client import Outcome
from bentpipe.measure.queueing import Queue
from bentpipe.measure.summary import Summary, summarise, wilson
from bentpipe.measure.survey_results import Survey
from bentpipe.statistics import student_quantile

from .observing import ABOVE, DATAGRAM, PROBE, Observation, saturated

Times = NDArray[np.float64]

#: Quantile of the normal distribution for intervals of 99.9 %.
Z: Final = 3.290527
#: Error of a clock that both ends share, in seconds: the time between two of its readings.
CLOCK_ERROR_S: Final = 2e-5
#: Batches of arrivals for the interval of a rate.
BATCHES: Final = 10
#: Fraction of a load after which a token bucket is empty and the rate is steady.
STEADY: Final = 0.5
#: Minimum ratio of offered and promised rate for testing a promised rate.
OFFERED: Final = 1.05
#: Maximum backlog in packets of a datagram whose loss counts, and the minimum number of such
#: datagrams.
MAX_BACKLOG: Final = 4.0
MIN_COUNTED: Final = 20
#: Quantiles whose distance gives the standard deviation, and this distance for a normal
#: distribution. For a uniform distribution the result is 5 % smaller than the standard deviation.
SPREAD: Final = (0.05, 0.95)
SPREAD_NORMAL: Final = 3.2897
#: Tested periods of the release of packets in seconds, and the minimum length of the mean vector
#: of phases (Rayleigh's test) for a period.
TICKS: Final = (1e-3, 2e-3, 4e-3, 5e-3, 8e-3, 1e-2, 1.5625e-2, 1.6e-2, 2e-2, 2.5e-2, 4e-2, 5e-2, 0.1)
PHASE_LOCKED: Final = 0.6


@dataclass(frozen=True)
class Estimate:
    """A number with its interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Burst:
    """A burst: sent and arrived datagrams, and the number that the promised rate could send while
    this host was still sending."""

    sent: int
    arrived: int
    drained: float

    @property
    def held(self) -> tuple[float, float]:
        """Least and greatest number of datagrams that the queue held."""
        return max(1.0, self.arrived - self.drained), float(max(1, self.arrived))


@dataclass
class Evidence:
    """The numbers of one direction; None for numbers that the measurement does not give. Times are
    in seconds, rates in bit/s and sizes in bytes, with IP and UDP headers."""

    direction: str
    delay: Estimate | None = None
    #: Time to send a probe at the promised rate. It is part of the delay, except in a token bucket.
    transmission: float = 0.0
    jitter: Estimate | None = None
    rate: Estimate | None = None
    #: Rate at which this host sent the load above the promised rate.
    offered: float | None = None
    #: True if the network delivered the whole load above the promised rate.
    unlimited: bool = False
    #: Packets per second of the load above the promised rate, and of small datagrams.
    packets: float | None = None
    small_packets: float | None = None
    loss: Estimate | None = None
    lost: int = 0
    #: Fraction of lost datagrams whose predecessor was lost, and the same with independent losses.
    runs: tuple[float, float] | None = None
    #: Delay of the load below the promised rate.
    loaded_delay: float | None = None
    #: Datagrams that arrived after a later one, and all that arrived.
    reordered: int = 0
    arrived: int = 0
    #: Interval between bunches of packets; 0 if packets leave singly.
    tick: float | None = None
    #: Bytes of a burst that arrived in excess of the promised rate.
    excess: float | None = None
    #: The burst, and the burst with segmentation offload.
    burst: Burst | None = None
    segments: Burst | None = None
    queue: Queue | None = None
    survey: Survey | None = None


@dataclass
class Numbers:
    """The numbers of both directions, the round-trip time, and notes on the measurement."""

    of: dict[str, Evidence]
    round_trip: Estimate | None
    shared_clock: bool
    saturated: bool
    #: Standard deviation of the time that the reflector takes to answer. On a busy host, programs
    #: such as an emulator wait as long for the processor.
    busy: float = 0.0
    notes: list[str] = field(default_factory=list)


def numbers(seen: Observation, promised: dict[str, float | None]) -> Numbers:
    """Returns the numbers of an observation. ``promised`` are the promised rates, by direction."""
    of = {side: Evidence(side) for side in ("up", "down")}
    result = Numbers(of, None, seen.shared_clock, False, notes=list(seen.notes))
    if not seen.lone.replied.any():
        return result
    result.saturated = saturated(seen)
    if seen.shared_clock:
        for part in (seen.lone, seen.rest, seen.loads, seen.small):
            if part is not None:
                part.clock_error_s = part.reflector_error_s = CLOCK_ERROR_S
    idle = seen.lone if result.saturated else seen.rest
    _idle(result, idle, promised)
    if result.saturated:
        _forwarded(result, seen.rest)
        return result
    if seen.loads is not None:
        summary = summarise(seen.loads)
        for side, one in of.items():
            _loads(one, seen.loads, summary, side, promised[side])
        result.notes += [f"{one.item.name}: {one.trouble}" for one in seen.loads.outcomes if one.trouble]
    for outcome in seen.small.outcomes if seen.small is not None else []:
        at = _arrivals(outcome)[1]
        of[outcome.item.load.direction].small_packets = _per_second(at)
    return result


def _idle(result: Numbers, idle: Measured, promised: dict[str, float | None]) -> None:
    """Adds delays and jitter from the probes of an idle network."""
    ok = idle.replied
    forward, backward = ((b - a)[ok] / 1e9 for a, b in _legs(idle))
    round_trip = forward + backward
    for side, rate in promised.items():
        result.of[side].transmission = 8 * PROBE / rate if rate else 0.0
    result.round_trip = _quantile(round_trip, 0.5)
    answering = spread((idle.left - idle.arrived)[ok] / 1e9)
    result.busy = 0.0 if answering is None else answering.value
    arrivals = (idle.arrived[ok], idle.returned[ok])
    if result.shared_clock:
        variations = [forward, backward]
        for side, values in (("up", forward), ("down", backward)):
            result.of[side].delay = _quantile(values, 0.5)
    else:
        found = summarise(idle).delays
        assert found is not None
        variations = [found.forward_variation, found.backward_variation]
    for side, values, at in zip(("up", "down"), variations, arrivals, strict=True):
        result.of[side].jitter = spread(values)
        result.of[side].tick = phase_locked(at / 1e9)


def _legs(seen: Measured) -> tuple[tuple[Any, Any], tuple[Any, Any]]:
    return (seen.sent, seen.arrived), (seen.left, seen.returned)


def _forwarded(result: Numbers, rest: Measured) -> None:
    """Adds the packets per second of a network that the probes alone overload: the slower direction
    limits both, and the other direction waits for it."""
    ok = rest.replied
    legs = [(b - a)[ok] / 1e9 for a, b in _legs(rest)]
    grown = [float(np.ptp(leg)) for leg in legs]
    for side, at, growth in zip(("up", "down"), (rest.arrived[ok], rest.returned[ok]), grown, strict=True):
        if growth > 0.25 * max(grown):
            one = result.of[side]
            one.packets = one.small_packets = _per_second(at / 1e9)


def _loads(one: Evidence, seen: Measured, summary: Summary, side: str, promised: float | None) -> None:
    for outcome, loaded in zip(seen.outcomes, summary.loads, strict=True):
        load = outcome.item.load
        if load.direction != side or load.kind == "survey" or not (outcome.sent > 0).any():
            continue
        number, at = _arrivals(outcome)
        if load.kind == "burst":
            burst = _burst(outcome, number, promised)
            if load.segments > 1:
                one.segments = burst
            else:
                one.burst = burst
                if promised and len(at):
                    sizes = outcome.pattern["size"][number]
                    one.excess = float(np.max(np.cumsum(sizes) - promised / 8 * (at - at[0]), initial=0.0))
        elif promised and load.rate > promised:
            _above(one, outcome, at)
        else:
            _below(one, outcome, number, promised)
            delay = loaded.delay[np.isfinite(loaded.delay)]
            one.loaded_delay = float(np.median(delay)) if len(delay) else None
            one.tick = max(one.tick or 0.0, bunched(at, 8 * load.size / load.rate))
        if load.kind == "udp":
            one.reordered += reordered(number)
            one.arrived += len(number)
    queues = [queue for queue in summary.queues if queue.direction == side and "burst" in queue.load]
    plain = {outcome.item.name for outcome in seen.outcomes if outcome.item.load.segments == 1}
    one.queue = next((queue for queue in queues if queue.load in plain), None)
    one.survey = next((found for found in summary.surveys if found.direction == side), None)


def _burst(outcome: Outcome, number: NDArray[np.int64], promised: float | None) -> Burst:
    lane = outcome.pattern["lane"]
    sent = outcome.sent[(lane == 0) & (outcome.sent > 0)] / 1e9
    span = float(np.ptp(sent)) if len(sent) else 0.0
    drained = (promised or 0.0) * span / (8 * DATAGRAM)
    return Burst(len(sent), int((lane[number] == 0).sum()), drained)


def _arrivals(outcome: Outcome) -> tuple[NDArray[np.int64], Times]:
    """Returns number and time of each arrived datagram, in the order of arrival, without
    duplicates."""
    rows = outcome.arrived[outcome.arrived["number"] < len(outcome.sent)]
    rows = rows[np.argsort(rows["arrived"], kind="stable")]
    rows = rows[np.sort(np.unique(rows["number"], return_index=True)[1])]
    return rows["number"].astype(np.int64), rows["arrived"] / 1e9


def _above(one: Evidence, outcome: Outcome, at: Times) -> None:
    """Adds the rate from the load above the promised rate."""
    sent = outcome.sent[outcome.sent > 0] / 1e9
    one.offered = (len(sent) - 1) * 8 * DATAGRAM / float(np.ptp(sent)) if len(sent) > 1 else 0.0
    if len(at) < 2 * BATCHES:
        return
    steady = at[at >= at[0] + STEADY * (at[-1] - at[0])]
    one.packets = _per_second(steady)
    if len(steady) < 2 * BATCHES:
        steady = at
    edges = np.linspace(0, len(steady) - 1, BATCHES + 1).astype(int)
    spans = np.diff(steady[edges])
    if not (spans > 0).all():
        return
    each = np.diff(edges) * 8 * DATAGRAM / spans
    mean = (len(steady) - 1) * 8 * DATAGRAM / float(np.ptp(steady))
    half = student_quantile(0.9995, BATCHES - 1) * float(each.std(ddof=1)) / math.sqrt(BATCHES)
    one.rate = Estimate(mean, mean - half, mean + half)
    lost = len(sent) - len(at)
    waited = float(np.ptp(at)) > (1 + 0.5 * (ABOVE - 1)) * float(np.ptp(sent))
    one.unlimited = lost <= 0.02 * len(sent) and not waited and one.offered < mean * 1.03


def _below(one: Evidence, outcome: Outcome, number: NDArray[np.int64], promised: float | None) -> None:
    """Adds losses from the load below the promised rate."""
    sent = np.flatnonzero(outcome.sent > 0)
    if promised:
        sent = sent[backlog(outcome.sent[sent] / 1e9, promised) <= MAX_BACKLOG]
    if len(sent) < MIN_COUNTED:
        return
    got = np.isin(sent, number)
    one.lost = int((~got).sum())
    one.loss = Estimate(one.lost / len(sent), *fraction(one.lost, len(sent)))
    if one.lost > 1:
        again = float((~got[1:] & ~got[:-1]).sum()) / max(1, int((~got[:-1]).sum()))
        one.runs = again, one.lost / len(sent)


def backlog(sent: Times, rate: float) -> Times:
    """Returns the packets that wait at a link of the promised rate when each datagram arrives,
    itself included. A busy host sends late datagrams without pauses, and a correct network may drop
    them.

    >>> backlog(np.array([0.0, 0.0, 0.0, 1.0]), 9600.0).tolist()
    [1.0, 2.0, 3.0, 3.0]
    """
    gaps = np.diff(sent, prepend=sent[:1]) * rate / (8 * DATAGRAM)
    found, waiting = np.empty(len(sent)), 0.0
    for place, gap in enumerate(gaps.tolist()):
        waiting = max(0.0, waiting - gap) + 1
        found[place] = waiting
    return found


def fraction(count: int, of: int) -> tuple[float, float]:
    """Returns the interval of a probability.

    >>> [round(bound, 3) for bound in fraction(10, 1000)]
    [0.004, 0.027]
    """
    return wilson(count, of, Z)


def _quantile(values: Times, q: float) -> Estimate | None:
    """Returns a quantile with its interval by order statistics."""
    if not len(values):
        return None
    ordered, count = np.sort(values), len(values)
    half = Z * math.sqrt(count * q * (1 - q))
    low, high = (int(np.clip(round(count * q + way * half), 0, count - 1)) for way in (-1, 1))
    return Estimate(float(np.quantile(ordered, q)), float(ordered[low]), float(ordered[high]))


def spread(values: Times) -> Estimate | None:
    """Returns the standard deviation of delays. It uses quantiles, so a busy host that delays a few
    packets does not change it."""
    if len(values) < 20:
        return None
    low, high = (_quantile(values, q) for q in SPREAD)
    assert low is not None and high is not None
    return Estimate(
        (high.value - low.value) / SPREAD_NORMAL,
        max(0.0, high.low - low.high) / SPREAD_NORMAL,
        (high.high - low.low) / SPREAD_NORMAL,
    )


def phase_locked(at: Times) -> float | None:
    """Returns the largest tested period at whose multiples all packets arrive; 0 without one, None
    for too few packets.

    >>> float(phase_locked(np.arange(100) * 0.024) or 0)
    0.008
    >>> phase_locked(np.random.default_rng(1).uniform(0, 9, 100))
    0.0
    """
    if len(at) < 20:
        return None
    at = at - at[0]
    locked = [tick for tick in TICKS if abs(np.exp(2j * np.pi * at / tick).mean()) > PHASE_LOCKED]
    return max(locked, default=0.0)


def bunched(at: Times, interval: float) -> float:
    """Returns the interval between bunches of packets that were sent at equal intervals; 0 if they
    arrive singly.

    >>> round(bunched(np.repeat(np.arange(50) * 0.01, 8), 0.00125), 6)
    0.01
    >>> bunched(np.arange(400) * 0.00125, 0.00125)
    0.0
    """
    gaps = np.diff(at)
    long = gaps > 3 * interval
    starts = at[1:][long]
    if len(starts) < 10 or (gaps < 0.5 * interval).mean() < 0.5:
        return 0.0
    apart = np.diff(starts)
    period = float(np.median(apart))
    equal = float((np.abs(apart - period) < 0.1 * period).mean())
    return period if equal > 0.8 else 0.0


def reordered(number: NDArray[np.int64]) -> int:
    """Returns the number of packets that arrive after a packet with a higher number (RFC 4737).

    >>> reordered(np.array([0, 1, 3, 2, 4]))
    1
    """
    return int((number < np.maximum.accumulate(number)).sum()) if len(number) else 0


def _per_second(at: Times) -> float | None:
    at = np.sort(at)
    return (len(at) - 1) / float(at[-1] - at[0]) if len(at) > 2 and at[-1] > at[0] else None
