"""The phases of BBR, recognised by the sending rate (draft-ietf-ccwg-bbr-06, section 5.6.1).

In a phase the sender paces at gain x 0.99 x the estimated bandwidth, so that the rate shows both.
"""

from __future__ import annotations

import itertools
from typing import Final

from bentpipe.conform.exceptions import Missing
from bentpipe.conform.observation import Observation, Stretch

STARTUP_GAIN: Final = 2.77
DRAIN_GAIN: Final = 0.5
DOWN_GAIN: Final = 0.9
UP_GAIN: Final = 1.25
#: The pacing rate relative to the model's rate (PacingMarginPercent, section 5.6.2).
MARGIN: Final = 0.99
BETA: Final = 0.7
MIN_PIPE_CWND: Final = 4
#: BBR.bw_probe_wait in s.
PROBE_WAIT: Final = (2.0, 3.0)
PROBE_RTT_DURATION: Final = 0.2

#: A time in s at which :meth:`Lab.run` makes the path shorter, in ProbeBW_CRUISE before the first
#: ProbeBW_UP. ProbeRTT, which is due 5 s later, then does not disturb the phases in between.
SHORTER: Final = 2.2

#: Ranges of the rate, relative to the bandwidth, by which phases are recognised. They are wider
#: than the tolerances of cases, and do not overlap.
_DRAIN: Final = (0.35, 0.7)
_DOWN: Final = (0.84, 0.945)
_CRUISE: Final = (0.955, 1.05)
_UP: Final = (1.12, 1.45)


def _first(
    seen: Observation, name: str, range_: tuple[float, float], after: float, least: float, bandwidth: float
) -> Stretch:
    """Returns the first stretch of a phase. Raises :class:`Missing` without one."""
    unit = (bandwidth or seen.path.rate) / seen.path.rate * seen.path.packets_per_s
    low, high = range_
    found = seen.stretches(low * unit, high * unit, after=after, least=least)
    if not found:
        raise Missing(
            f"no {name} after {after:.3g} s: the sending rate was never {low:g} to {high:g} times the "
            f"bandwidth for {least:.2g} s"
        )
    return found[0]


def drain(seen: Observation) -> Stretch:
    """Returns DRAIN, the first phase after STARTUP."""
    return _first(seen, "DRAIN", _DRAIN, filled(seen), 0.5 * seen.path.min_rtt, 0)


def filled(seen: Observation) -> float:
    """Returns the begin of the first round trip with a sending rate above 95 % of the bandwidth."""
    unit = seen.path.packets_per_s
    found = seen.stretches(0.95 * unit, 1e12, least=0, window=round(seen.path.bdp))
    if not found:
        raise Missing("the sending rate never reached the bandwidth")
    return found[0].begin


def first_gain(seen: Observation) -> float:
    """Returns the pacing gain of STARTUP's second round trip. Until there are samples of the rate,
    the sender paces at the initial window per round-trip time times this gain. The first packets of
    a flight use credit of the pacer and are left out."""
    data = seen.sends[seen.first :]
    start = float(data[0])
    flight = data[data < start + 0.5 * seen.path.rtt]
    second = data[(data > start + 0.9 * seen.path.rtt) & (data < start + 1.9 * seen.path.rtt)]
    if second.size < 10:
        raise Missing("too few packets in the second round trip")
    rate = seen.rate(float(second[4]), float(second[-1]))
    return rate / (flight.size / seen.path.rtt) / MARGIN


def plateau(seen: Observation, end: float) -> int:
    """Returns the consecutive rounds before ``end`` in which the delivery rate grew by less than
    25 % over its last maximum (section 5.3.1.2)."""
    edges = seen.rounds(float(seen.time[0]), end + 0.25 * seen.path.min_rtt)
    best, count = 0.0, 0
    for begin, finish in itertools.pairwise(edges):
        rate = seen.delivery_rate(float(begin), float(finish))
        best, count = (rate, 0) if rate >= 1.25 * best else (best, count + 1)
    return count


def down(seen: Observation, after: float, bandwidth: float = 0) -> Stretch:
    """Returns the next ProbeBW_DOWN. ``bandwidth`` is the estimate in bit/s, by default the path's
    rate."""
    return _first(seen, "ProbeBW_DOWN", _DOWN, after, seen.path.min_rtt, bandwidth)


def cruise(seen: Observation, after: float, bandwidth: float = 0) -> Stretch:
    """Returns the next ProbeBW_CRUISE, with the following ProbeBW_REFILL, which has the same
    rate."""
    return _first(seen, "ProbeBW_CRUISE", _CRUISE, after, 3 * seen.path.min_rtt, bandwidth)


def up(seen: Observation, after: float, bandwidth: float = 0) -> Stretch:
    """Returns the next ProbeBW_UP."""
    return _first(seen, "ProbeBW_UP", _UP, after, seen.path.min_rtt, bandwidth)
