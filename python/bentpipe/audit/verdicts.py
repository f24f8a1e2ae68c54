"""Verdicts: each promise is kept, broken or not measurable."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Final

from bentpipe.quantities import number, rate_text

from . import causes
from .evidence import OFFERED, Estimate, Evidence, Numbers
from .observing import DATAGRAM
from .promises import DIRECTIONS, Promise, Promises

KEPT: Final = "kept"
BROKEN: Final = "broken"
UNKNOWN: Final = "not measurable"

#: Allowed deviation: the least, and the factor of the relative tolerance. The standard deviation of
#: a jitter, a loss and the depth of a queue depend on definitions that emulators do not share.
LEAST: Final = {"rate": 0.0, "delay": 1e-3, "jitter": 5e-4, "loss": 1e-3, "queue": 2.0}
FACTOR: Final = {"rate": 1.0, "delay": 1.0, "jitter": 4.0, "loss": 4.0, "queue": 2.0}
#: Deviations of delay and jitter that a busy host explains, in standard deviations of the time that
#: the reflector takes to answer.
BUSY: Final = 3.0
#: Maximum width of an interval, in multiples of the allowed range.
MAX_WIDTH: Final = 4.0
#: Bytes that may pass at line rate: the least, and as a time at the promised rate. A token bucket
#: needs the bytes of a timer's tick of 4 ms.
MIN_BUCKET: Final = 32_768.0
BUCKET_S: Final = 4e-3
#: Maximum fraction of packets out of order.
MAX_REORDERED: Final = 1e-3
#: Units of numbers in texts, and their sizes.
_UNITS: Final = {"rate": ("Mbit/s", 1e6), "loss": ("%", 0.01), "mtu": ("B", 1.0), "segments": ("times", 1.0)}


@dataclass(frozen=True)
class Row:
    """A promise with its verdict. ``direction`` is "up", "down" or "both"; numbers are in ``unit``;
    ``measured`` is None for an unknown number. ``reason`` states the deviation or why nothing could
    be measured, ``cause`` is the likely cause of a broken promise."""

    name: str
    direction: str
    promised: str
    implied: bool
    verdict: str
    unit: str = ""
    measured: float | None = None
    low: float | None = None
    high: float | None = None
    reason: str | None = None
    cause: str | None = None

    def as_dict(self) -> dict[str, Any]:
        """The row as a dictionary for JSON."""
        return {
            "promise": self.name,
            "direction": self.direction,
            "promised": self.promised,
            "implied": self.implied,
            "verdict": self.verdict,
            "measured": self.measured,
            "interval": None if self.low is None else [self.low, self.high],
            "unit": self.unit,
            "reason": self.reason,
            "cause": self.cause,
        }


@dataclass(frozen=True)
class Audit:
    """The verdicts on all promises, and notes on the measurement."""

    rows: list[Row]
    notes: list[str] = field(default_factory=list)

    @property
    def broken(self) -> list[Row]:
        """The rows of the broken promises."""
        return [row for row in self.rows if row.verdict == BROKEN]


def judge(promises: Promises, seen: Numbers, tolerance: float = 0.05) -> Audit:
    """Compares promises with numbers. ``tolerance`` is the allowed relative deviation."""
    rows = []
    for name in ("rate", "delay", "jitter", "loss", "queue", *_PROPERTIES):
        if name == "delay" and not seen.shared_clock:
            rows += _round_trip(promises, seen, tolerance)
            continue
        for side in DIRECTIONS:
            promise = promises.of.get((name, side))
            if promise is not None:
                judged = _PROPERTIES.get(name, _quantity)
                rows.append(judged(promise, seen.of[side], promises, seen, tolerance))
    return Audit(_merged(rows), seen.notes)


def _merged(rows: list[Row]) -> list[Row]:
    """Joins the rows of both directions if their implied promise has the same verdict, unless it
    was broken. The joined row has the numbers that are equal in both."""
    merged: list[Row] = []
    for row in rows:
        last = merged[-1] if merged else row
        same = last is not row and (last.name, last.promised) == (row.name, row.promised)
        if same and row.implied and row.verdict == last.verdict != BROKEN:
            equal = (row.measured, row.low, row.high) == (last.measured, last.low, last.high)
            known = row if equal else replace(row, measured=None, low=None, high=None)
            merged[-1] = replace(known, direction="both")
        else:
            merged.append(row)
    return merged


def _unit(name: str) -> tuple[str, float]:
    return _UNITS.get(name, ("ms", 1e-3))


def _row(
    promise: Promise,
    verdict: str,
    measured: Estimate | None = None,
    *,
    unit: tuple[str, float] | None = None,
    reason: str | None = None,
    cause: str | None = None,
) -> Row:
    name, size = unit or _unit(promise.name)
    return Row(
        promise.name,
        promise.direction,
        promise.text,
        promise.implied,
        verdict,
        name,
        None if measured is None else measured.value / size,
        None if measured is None else measured.low / size,
        None if measured is None else measured.high / size,
        reason,
        cause,
    )


def _band(name: str, value: float, tolerance: float) -> tuple[float, float]:
    allowed = max(LEAST[name], FACTOR[name] * tolerance * value)
    return value - allowed, value + allowed


def _compared(measured: Estimate, band: tuple[float, float]) -> str:
    """Returns the verdict of a number with an interval."""
    low, high = band
    if measured.high < low or measured.low > high:
        return BROKEN
    wide = measured.high - measured.low > max(MAX_WIDTH * (high - low), high)
    return UNKNOWN if wide and not low <= measured.value <= high else KEPT


def _quantity(promise: Promise, one: Evidence, promises: Promises, seen: Numbers, tolerance: float) -> Row:
    name = promise.name
    if name == "rate":
        return _rate(promise, one, promises, seen, tolerance)
    if name == "queue":
        return _queue(promise, one, promises, seen, tolerance)
    measured: Estimate | None = getattr(one, name)
    if measured is None:
        return _row(promise, UNKNOWN, reason=_too_few(seen))
    low, high = _band(name, promise.value, tolerance)
    high += one.transmission if name == "delay" else 0.0
    verdict = _compared(measured, (low, high))
    if verdict == BROKEN and low <= measured.low <= high + BUSY * seen.busy and name in ("delay", "jitter"):
        busy = f"{number(1e3 * seen.busy)} ms"
        late = f"programs of this host wait for the processor (standard deviation {busy})"
        return _row(promise, UNKNOWN, measured, reason=late)
    if name == "loss" and verdict == KEPT and (bursts := causes.correlated(one)):
        return _row(promise, BROKEN, measured, reason="losses are not independent", cause=bursts)
    reason = f"the interval is too wide: {_interval(measured, name)}" if verdict == UNKNOWN else None
    cause = causes.cause(name, one, promises, seen) if verdict == BROKEN else None
    return _row(promise, verdict, measured, reason=reason, cause=cause)


def _too_few(seen: Numbers) -> str:
    if seen.saturated:
        return "the network forwards too few packets for this measurement"
    return "too few packets arrived"


def _interval(measured: Estimate, name: str) -> str:
    unit, size = _unit(name)
    return f"{number(measured.low / size)} to {number(measured.high / size)} {unit}"


def _rate(promise: Promise, one: Evidence, promises: Promises, seen: Numbers, tolerance: float) -> Row:
    measured, (least, most) = one.rate, _band("rate", promise.value, tolerance)
    if measured is None and one.packets is not None:
        # The probes alone overloaded the network. Packets of 1500 bytes would give this rate.
        highest = one.packets * 8 * 1500
        measured = Estimate(highest, highest, highest)
    if measured is None or (seen.saturated and measured.value >= least):
        return _row(promise, UNKNOWN, reason=_too_few(seen))
    if one.unlimited:
        offered = rate_text(one.offered)
        if one.offered is None or one.offered < OFFERED * promise.value:
            return _row(
                promise, UNKNOWN, measured, reason=f"this host could only send {offered}, which all arrived"
            )
        return _row(promise, BROKEN, measured, reason=f"a load of {offered} arrived completely")
    verdict = _compared(measured, (least, most))
    allowed = max(MIN_BUCKET, BUCKET_S * promise.value / 8)
    if verdict == KEPT and one.excess is not None and one.excess > allowed:
        bucket = (
            f"a token bucket of at least {number(one.excess / 1e3)} kB passes packets at line rate; a rate of "
            f"{rate_text(promise.value)} needs at most {number(allowed / 1e3)} kB"
        )
        return _row(promise, BROKEN, measured, reason="a burst exceeds the rate", cause=bucket)
    cause = causes.cause("rate", one, promises, seen) if verdict == BROKEN else None
    return _row(promise, verdict, measured, cause=cause)


def _queue(promise: Promise, one: Evidence, promises: Promises, seen: Numbers, tolerance: float) -> Row:
    queue = one.queue
    if queue is None or queue.rate is None:
        return _row(promise, UNKNOWN, unit=_of_queue(promise), reason="the burst did not fill a queue")
    factor = {"packets": 1 / DATAGRAM, "B": 1.0, "s": 8 / queue.rate}[promise.unit]
    most = queue.depth_most if queue.overflowed and queue.depth_most is not None else float("inf")
    measured = Estimate(queue.depth * factor, queue.depth_least * factor, most * factor)
    low, high = _band("queue", promise.value * (1 / factor) / DATAGRAM, tolerance)
    verdict = _compared(measured, (low * DATAGRAM * factor, high * DATAGRAM * factor))
    reason = None
    if verdict != BROKEN and not queue.overflowed:
        verdict, reason = UNKNOWN, "the burst did not overflow the queue, which may be longer"
    if not queue.overflowed:
        measured = Estimate(measured.value, measured.low, measured.value)
    cause = causes.cause("queue", one, promises, seen) if verdict == BROKEN else None
    return _row(promise, verdict, measured, unit=_of_queue(promise), reason=reason, cause=cause)


def _of_queue(promise: Promise) -> tuple[str, float]:
    units = {"packets": ("packets", 1.0), "B": ("kB", 1e3), "s": ("ms", 1e-3)}
    return units[promise.unit]


def _round_trip(promises: Promises, seen: Numbers, tolerance: float) -> list[Row]:
    """Judges the sum of both delays, because two clocks do not show the share of each direction."""
    each = [promises.of.get(("delay", side)) for side in DIRECTIONS]
    up, down = each
    if up is None or down is None:
        return [
            _row(one, UNKNOWN, reason="two clocks do not show the delay of one direction; promise both")
            for one in each
            if one is not None
        ]
    both = Promise("delay", "both", up.value + down.value, f"{up.text} + {down.text}")
    if seen.round_trip is None:
        return [_row(both, UNKNOWN, reason="too few packets arrived")]
    low, high = _band("delay", both.value, tolerance)
    high += sum(one.transmission for one in seen.of.values())
    verdict = _compared(seen.round_trip, (low, high))
    cause = causes.of_round_trip(up.value, down.value, seen.round_trip) if verdict == BROKEN else None
    return [_row(both, verdict, seen.round_trip, reason="round-trip time", cause=cause)]


def _order(promise: Promise, one: Evidence, promises: Promises, seen: Numbers, _: float) -> Row:
    if not one.arrived:
        return _row(promise, UNKNOWN, reason="too few packets arrived")
    share = one.reordered / one.arrived
    measured = Estimate(share, share, share)
    broken = one.reordered > causes.ACCIDENTAL and share > MAX_REORDERED
    cause = causes.cause("order", one, promises, seen) if broken else None
    return _row(promise, BROKEN if broken else KEPT, measured, unit=("%", 0.01), cause=cause)


def _granularity(promise: Promise, one: Evidence, promises: Promises, seen: Numbers, _: float) -> Row:
    if one.tick is None:
        return _row(promise, UNKNOWN, reason="too few packets arrived")
    broken = one.tick > promise.value * 1.05
    cause = causes.cause("granularity", one, promises, seen) if broken else None
    return _row(promise, BROKEN if broken else KEPT, Estimate(one.tick, one.tick, one.tick), cause=cause)


def _ecn(promise: Promise, one: Evidence, *_: Any) -> Row:
    marks = [] if one.survey is None else [mark for mark in one.survey.marks if mark.sent_as in (1, 2, 3)]
    if not any(mark.arrived for mark in marks):
        return _row(promise, UNKNOWN, reason="no packet with an ECN mark arrived")
    changed = causes.changed_marks(marks)
    return _row(promise, BROKEN if changed else KEPT, unit=("", 1.0), cause=changed)


def _mtu(promise: Promise, one: Evidence, *_: Any) -> Row:
    if one.survey is None or one.survey.mtu is None:
        return _row(promise, UNKNOWN, reason="no packet of the survey arrived")
    mtu = float(one.survey.mtu)
    measured = Estimate(mtu, mtu, mtu)
    if mtu < promise.value <= 1500:
        cause = f"MTU: packets of up to {mtu:.0f} B pass, larger ones are dropped"
        return _row(promise, BROKEN, measured, cause=cause)
    return _row(promise, KEPT if mtu >= promise.value else UNKNOWN, measured)


def _segments(promise: Promise, one: Evidence, promises: Promises, seen: Numbers, _: float) -> Row:
    """Judges whether a queue holds the same number of packets with segmentation offload."""
    if one.burst is None:
        return _row(promise, UNKNOWN, reason="no rate or queue is promised")
    ratio = causes.segments_ratio(one)
    if ratio is None:
        return _row(promise, UNKNOWN, reason="this host cannot send with segmentation offload")
    if one.burst.sent - one.burst.arrived < max(5, 0.02 * one.burst.sent):
        return _row(promise, UNKNOWN, reason="the burst did not overflow a queue")
    cause = causes.cause("segments", one, promises, seen)
    measured = Estimate((ratio[0] * ratio[1]) ** 0.5, *ratio)
    return _row(promise, BROKEN if cause else KEPT, measured, cause=cause)


_PROPERTIES: Final = {
    "order": _order,
    "granularity": _granularity,
    "segments": _segments,
    "ecn": _ecn,
    "mtu": _mtu,
}
