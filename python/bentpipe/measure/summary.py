"""Summary of a measured path: delays and losses of each direction, and the rate towards the
reflector."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from . import transfers
from .access import Access, access
from .clock import Delays, Times, delays
from .load_results import Loaded, loaded
from .plan import SIZES, TRAIN_BYTES
from .probing import Measured
from .queueing import CrossLoad, Queue, bottlenecks
from .slots import Slots, slots
from .survey_results import Survey, proxied, survey
from .transport_results import Way, ways

#: Quantile of the normal distribution for confidence intervals of 95 %.
Z: float = 1.959964

#: Quantile of the round-trip times without load. Probes that were sent within this round-trip time
#: before a load do not count as probes without load.
AT_REST_QUANTILE: Final = 0.95


#: Minimum duration of an interruption in seconds.
INTERRUPTED_S: Final = 1.0
#: Minimum number of packets without a reply in an interruption.
MIN_MISSING: Final = 10


@dataclass(frozen=True)
class Direction:
    """One direction of a path. Times are in seconds.

    The minimum one-way delay is an interval, because two unsynchronised clocks do not determine how
    a round-trip time divides. Variation is the delay above its minimum. Its quantiles are certain
    within ``variation_error`` if the minimum delay does not drift, as it does for a moving
    satellite. Packets sent during a load are excluded. ``lost`` is ``None`` if the reflector does
    not number its replies independently.
    """

    name: str
    least: tuple[float, float]
    variation: dict[int, float]
    variation_error: float
    sent: int
    lost: int | None
    loss: tuple[float, float]


@dataclass(frozen=True)
class Summary:
    """A path between two hosts. Times are in seconds since the first probe, and rates in bit/s."""

    #: Time of each packet, and its round-trip time; NaN without a reply.
    time: Times
    rtt: Times
    delays: Delays | None
    directions: list[Direction]
    #: Median of the rates of the trains towards the reflector, and the 5th and 95th percentile;
    #: None without a train.
    rate: tuple[float, float, float] | None
    reordered: int
    #: Nanoseconds of this host's clock and of the reflector's that are the zeros of the times; None
    #: without a reply.
    zeros: tuple[int, int] | None = None
    #: Results of the loads.
    loads: list[Loaded] = field(default_factory=list)
    #: Bottlenecks, estimated from the loads.
    queues: list[Queue] = field(default_factory=list)
    #: Access schedulers, estimated from loads of impulses.
    access: list[Access] = field(default_factory=list)
    #: Surveys of each direction, and the evidence of a proxy on the path, in sentences.
    surveys: list[Survey] = field(default_factory=list)
    proxy: list[str] = field(default_factory=list)
    #: Handovers, if the length of the path has changed.
    slots: Slots | None = None
    #: Start and end of each period without replies.
    interruptions: list[tuple[float, float]] = field(default_factory=list)
    #: Results for UDP and QUIC, one list per load of the kind `transports`.
    ways: list[list[Way]] = field(default_factory=list)
    #: Notes on ambiguous or uncertain results, in sentences.
    notes: list[str] = field(default_factory=list)

    @property
    def losses_at_rest(self) -> dict[str, float]:
        """The fraction of packets that each direction loses while no load fills its queue."""
        return {one.name: (one.lost or 0) / one.sent for one in self.directions if one.sent}

    @property
    def quiet(self) -> NDArray[np.bool_]:
        """True for each packet that was sent at least a round-trip time away from any load."""
        return _at_rest(self.time, self.rtt, self.loads)


def summarise(seen: Measured, least_s: float = 0.0) -> Summary:
    """Returns the summary of a measurement. ``least_s`` is the minimum possible delay in each
    direction, such as the distance divided by the speed of light."""
    notes = list(seen.notes)
    least_s = _possible(seen, least_s, notes)
    ok = seen.replied
    time = (seen.sent - seen.sent[0]) / 1e9 if len(seen.sent) else np.empty(0)
    rtt = np.where(ok, (seen.returned - seen.sent) - (seen.left - seen.arrived), np.nan) / 1e9
    found, directions, loads, zeros = None, [], [], None
    if ok.any():
        local, remote = zeros = int(seen.sent[0]), int(seen.arrived[ok][0])
        found = delays(
            (seen.sent[ok] - local) / 1e9,
            (seen.arrived[ok] - remote) / 1e9,
            (seen.left[ok] - remote) / 1e9,
            (seen.returned[ok] - local) / 1e9,
            least_s,
            _known(seen, local, remote),
        )
        if found.contradicted:
            notes.append(
                "the clocks differ by more than the errors that their hosts report, so these errors are "
                "ignored"
            )
        loads = loaded(seen, rtt, found, local, remote)
        directions = _directions(seen, found, _at_rest(time, rtt, loads), notes)
        if found.steps:
            when = ", ".join(f"{time[ok][step]:.1f} s" for step in found.steps)
            notes.append(f"the clocks of the two hosts shifted relative to each other at {when}")
    if abs(seen.clock_moved_s) > 1e-3:
        notes.append(
            f"the clock of this host was adjusted by {seen.clock_moved_s * 1e3:.1f} ms; the measured times "
            "are not affected"
        )
    if not seen.kernel_sent or not seen.kernel_received:
        notes.append("the kernel provided no time stamps of packets, so the times of this program are used")
    breaks = interruptions(time, ok)
    notes += [
        f"from {begin:.1f} to {end:.1f} s no packet had a reply: the path was interrupted, so these losses "
        "are not random"
        for begin, end in breaks
    ]
    arrived = seen.reply[ok]
    notes += [f"{one.item.name}: {one.trouble}" for one in seen.outcomes if one.trouble]
    reordered = int((np.diff(arrived) < 0).sum())
    # A probe may have found capacity when all impulses had to wait for it.
    least = {}
    if found is not None:
        least["up"] = float((found.forward_low + found.forward_high).min()) / 2
        least["down"] = float((found.backward_low + found.backward_high).min()) / 2
    beside = load_bit_s(seen)
    found_access = [
        told
        for one in loads
        if (told := access(one, beside, least.get(one.outcome.item.load.direction, np.inf))) is not None
    ]
    said = Summary(
        time,
        rtt,
        found,
        directions,
        _rate(seen, notes),
        reordered,
        zeros,
        loads,
        [],
        found_access,
        interruptions=breaks,
        notes=notes,
    )
    losses, most = said.losses_at_rest, {one.name: one.loss[1] for one in directions}
    sides = {
        side: (losses.get(name, 0.0), most.get(name, 0.0))
        for side, name in (("up", "forward"), ("down", "backward"))
    }
    queues = bottlenecks(loads, sides, _beside(seen))
    queues += transfers.bottlenecks(loads, queues, {side: loss for side, (loss, _) in sides.items()})
    return replace(
        said,
        slots=slots(time, rtt, seen.size, said.quiet & (seen.train < 0)),
        queues=queues,
        surveys=[one for one in map(survey, loads) if one is not None],
        proxy=_proxy(said, seen, least_s),
        ways=[tried for one in loads if (tried := ways(one, loads))],
    )


def _known(seen: Measured, local: int, remote: int) -> tuple[float, float] | None:
    """Returns the minimum and the maximum difference of the clocks from their errors; the zeros of
    the clocks are in ns. ``None`` unless both hosts report an error and this host's clock was not
    adjusted."""
    if seen.clock_error_s is None or seen.reflector_error_s is None or abs(seen.clock_moved_s) > 1e-3:
        return None
    middle, error = (local - remote) / 1e9, seen.clock_error_s + seen.reflector_error_s
    return middle - error, middle + error


def _beside(seen: Measured) -> dict[str, CrossLoad]:
    """Returns the probes that arrived in each direction, by the receiver's clock."""
    ok = seen.replied
    return {
        "up": CrossLoad(seen.arrived[ok], seen.size[ok]),
        "down": CrossLoad(seen.returned[ok], seen.size[ok]),
    }


def _possible(seen: Measured, least_s: float, notes: list[str]) -> float:
    """Removes replies with contradictory stamps, as from a clock that was set during the
    measurement. Returns the minimum delay of a direction; 0 if replies arrived earlier than it
    allows."""
    ok = seen.replied
    rtt = ((seen.returned - seen.sent) - (seen.left - seen.arrived)) / 1e9
    wrong = ok & ((rtt < 0) | (seen.left < seen.arrived))
    if wrong.any():
        seen.returned[wrong] = 0
        notes.append(f"{wrong.sum()} replies have contradictory times and count as lost")
        ok = seen.replied
    if ok.any() and (least := float(rtt[ok].min())) < 2 * least_s:
        notes.append(
            f"replies came after {1e3 * least:.3f} ms, earlier than light travels there and back over "
            "--distance, so --distance is ignored"
        )
        return 0.0
    return least_s


def _proxy(said: Summary, seen: Measured, least_s: float) -> list[str]:
    found: dict[str, None] = {}
    hops = int(np.median(seen.ttl[seen.replied])) if seen.replied.any() else None
    for one in said.loads:
        if one.outcome.handshake is not None:
            found |= dict.fromkeys(proxied(*one.outcome.handshake, float(np.nanmin(said.rtt)), least_s, hops))
    return list(found)


def _directions(seen: Measured, found: Delays, quiet: NDArray[np.bool_], notes: list[str]) -> list[Direction]:
    sent, replies = len(seen.sent), int(seen.replied.sum())
    numbers, own = seen.reply[seen.replied], np.flatnonzero(seen.replied)
    stateless = not seen.numbers_replies and bool((numbers == own).all()) and replies < sent
    # The reflector answers every probe that it receives, and its last known answer was to this
    # probe.
    answered = int(numbers.max()) + 1
    last = int(own[int(numbers.argmax())]) + 1
    counts, found_lost = _losses(seen, quiet[:last])
    lost: tuple[int, int] | None = found_lost
    if stateless and last > answered:
        stateless = False
    if stateless and last - replies > 0:
        lost = None
        notes.append(
            "the reflector repeats the numbers of the probes, so the direction of losses cannot be determined"
        )
    if sent > last:
        last_ones = "last packet had" if sent - last == 1 else f"last {sent - last} packets had"
        notes.append(f"the {last_ones} no reply; the direction of the loss is not known")
    result = []
    rest = (quiet & (seen.train < 0))[seen.replied]
    if not rest.any():
        rest[:] = True
    pairs = (
        ("forward", found.forward_low, found.forward_high, found.forward_variation),
        ("backward", found.backward_low, found.backward_high, found.backward_variation),
    )
    for side, (name, low, high, above) in enumerate(pairs):
        least = int((low + high).argmin())
        count, missing = counts[side], lost[side] if lost else None
        result.append(
            Direction(
                name,
                (float(low[least]), float(high[least])),
                {q: float(np.quantile(above[rest], q / 100)) for q in (50, 95, 99)},
                found.variation_errors[side],
                count,
                missing,
                wilson(missing, count) if missing is not None else (0.0, 1.0),
            )
        )
    return result


def _losses(seen: Measured, quiet: NDArray[np.bool_]) -> tuple[tuple[int, int], tuple[int, int]]:
    """Returns the number of packets sent in each direction without load, and the number of losses.
    The reflector's numbers of two replies give the number of probes that it answered between
    them."""
    own = np.flatnonzero(seen.replied)
    ends, numbers = np.append(-1, own), np.append(-1, seen.reply[seen.replied])
    lost = np.zeros(2)
    for place in np.flatnonzero(np.diff(ends) > 1):
        between = quiet[ends[place] + 1 : ends[place + 1]]
        missing = len(between)
        forward = float(np.clip(missing + 1 - (numbers[place + 1] - numbers[place]), 0, missing))
        part = float(between.mean()) if missing else 0.0
        lost += part * np.array([forward, missing - forward])
    there, back = (round(value) for value in lost.tolist())
    reached = int(quiet.sum()) - there
    return (int(quiet.sum()), reached), (there, back)


def _at_rest(time: Times, rtt: Times, loads: list[Loaded]) -> NDArray[np.bool_]:
    """Returns true for each packet that was sent at least a round-trip time away from any load. The
    margin before a load covers nearly all packets without load, because a load may begin after a
    probe was sent and delay its reply."""
    margin = float(np.nanmin(rtt)) if np.isfinite(rtt).any() else 0.0

    def outside(before: float) -> NDArray[np.bool_]:
        found = np.ones(len(time), dtype=bool)
        for one in loads:
            found &= (time < one.begin - before) | (time > one.begin + one.drained + margin)
        return found

    seen = rtt[outside(margin) & np.isfinite(rtt)]
    return outside(float(np.quantile(seen, AT_REST_QUANTILE))) if len(seen) else outside(margin)


def interruptions(time: Times, replied: NDArray[np.bool_]) -> list[tuple[float, float]]:
    """Returns start and end of each period of at least :data:`INTERRUPTED_S` in which at least
    :data:`MIN_MISSING` packets were sent and none had a reply, between two packets with a reply.

    >>> at = np.arange(0, 10, 0.1)
    >>> interruptions(at, (at < 2) | (at > 5))
    [(1.9, 5.1)]
    """
    own = np.flatnonzero(replied)
    pairs = zip(own[:-1].tolist(), own[1:].tolist(), strict=True)
    return [
        (round(float(time[last]), 3), round(float(time[first]), 3))
        for last, first in pairs
        if first - last > MIN_MISSING and time[first] - time[last] >= INTERRUPTED_S
    ]


def wilson(count: int, of: int, z: float = Z) -> tuple[float, float]:
    """Returns the confidence interval of a probability, by default of 95 % (E. B. Wilson, "Probable
    inference, the law of succession, and statistical inference", JASA 1927).

    >>> [round(bound, 4) for one in (0, 10) for bound in wilson(one, 100)]
    [0.0, 0.037, 0.0552, 0.1744]
    """
    if of == 0:
        return 0.0, 1.0
    part, square = count / of, z * z / of
    middle = (part + square / 2) / (1 + square)
    width = z * math.sqrt(part * (1 - part) / of + square / (4 * of)) / (1 + square)
    return max(0.0, middle - width), min(1.0, middle + width)


def _rate(seen: Measured, notes: list[str]) -> tuple[float, float, float] | None:
    """Returns the arrival rate of trains, from the time between consecutive packets that both had a
    reply (V. Jacobson, "Congestion avoidance and control", SIGCOMM 1988, figure 1; J.-C. Bolot,
    SIGCOMM 1993): its median over all trains, and the 5th and 95th percentile of the medians of
    trains."""
    rates, gaps, as_sent = [], [], 0
    own = np.flatnonzero(seen.train >= 0)
    first, second = own[:-1], own[1:]
    good = (seen.train[first] == seen.train[second]) & seen.replied[first] & seen.replied[second]
    for number in range(int(seen.train.max(initial=-1)) + 1):
        pairs = good & (seen.train[first] == number)
        between = seen.arrived[second[pairs]] - seen.arrived[first[pairs]]
        if len(between) < 2 or np.median(between) <= 0:
            continue
        rates.append(float(8e9 * TRAIN_BYTES / np.median(between)))
        gaps.append(between)
        as_sent += bool(
            np.median(between) < 1.1 * np.median(seen.sent[second[pairs]] - seen.sent[first[pairs]])
        )
    if not rates:
        return None
    if as_sent > len(rates) / 2:
        notes.append("trains arrived as fast as this host sent them, so the rate of the path may be higher")
    low, high = np.quantile(rates, (0.05, 0.95))
    return float(8e9 * TRAIN_BYTES / np.median(np.concatenate(gaps))), float(low), float(high)


def load_bit_s(seen: Measured) -> float:
    """Returns the mean rate that the probes and echo requests added to the path towards the
    reflector, in bit/s of IP packets."""
    span = float(seen.sent[-1] - seen.sent[0]) / 1e9 if len(seen.sent) > 1 else 0.0
    total = float(seen.size.sum()) + SIZES[0] * len(seen.echoes)
    return 8 * total / span if span else 0.0
