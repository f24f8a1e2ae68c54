"""One-way delays from times of two clocks, as intervals.

When the remote clock shows ``t``, it is ``offset + skew * t`` ahead of the local clock. A delay is
never shorter than the propagation time of light. Every probe therefore bounds this difference from
above, and every reply bounds it from below. The bounds of all probes and of all replies form two
convex hulls. The interval of a delay spans all lines that fit between the two hulls.

Sources:

- V. Paxson, "On calibrating measurements of packet transit times", SIGMETRICS 1998.
- S. B. Moon, P. Skelly, D. Towsley, "Estimation and removal of clock skew from network delay
  measurements", INFOCOM 1999.
- L. Zhang, Z. Liu, C. H. Xia, "Clock synchronization algorithms for network measurements", INFOCOM
  2002. It uses a lower convex hull for one direction; this module uses both directions together.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

Times = NDArray[np.float64]

#: Maximum skew of a clock: 500 ppm, which is the maximum that NTP corrects (RFC 5905, appendix
#: A.5.5.2).
MAX_SKEW: Final = 500e-6
#: Number of times per part at which the bounds of the clock difference are computed. Between these
#: times, the bounds are interpolated.
INSTANTS: Final = 17
#: Number of other delays close to the minimum that are needed to trust the minimum.
MIN_NEAR_DELAYS: Final = 3
#: Error of the variation, in seconds, above which a direction may use the skew estimated from that
#: direction alone.
MAX_VARIATION_ERROR_S: Final = 5e-3
#: Minimum factor by which the skew estimated from one direction must reduce the error to be used.
MIN_ERROR_RATIO: Final = 4.0
#: Error of a skew estimated from one direction, as a multiple of the error of the direction's
#: minimum delay.
OWN_SKEW_ERROR: Final = 8.0


@dataclass(frozen=True)
class Part:
    """A period without clock steps, with bounds of the clock difference: the time of the remote
    clock minus the time of the local clock, in seconds."""

    #: Times of the remote clock for which the bounds are computed.
    at: Times
    #: Minimum clock difference at each of these times.
    low: Times
    #: Maximum clock difference at each of these times.
    high: Times
    #: Bounds of the skew of the remote clock relative to the local clock, in seconds per second.
    skew: tuple[float, float]

    def bounds(self, when: Times) -> tuple[Times, Times]:
        """Returns the minimum and the maximum clock difference at each time ``when``. The linear
        interpolation is conservative, because the bounds are the minimum and the maximum of many
        lines."""
        return np.interp(when, self.at, self.low), np.interp(when, self.at, self.high)


@dataclass(frozen=True)
class Delays:
    """One-way delays of both directions in seconds, in the order of the probes. ``low`` and
    ``high`` are the minimum and the maximum delay that the times allow."""

    forward_low: Times
    forward_high: Times
    backward_low: Times
    backward_high: Times
    #: Forward delays in excess of their minimum, assuming that the minimum does not drift.
    forward_variation: Times
    #: Backward delays in excess of their minimum, under the same assumption.
    backward_variation: Times
    #: Error of the variation, forward and backward, in seconds.
    variation_errors: tuple[float, float]
    parts: list[Part]
    #: Index of the first probe of each part except the first. A clock was stepped before this
    #: probe.
    steps: list[int]
    #: True if the times contradict the clock errors that the hosts report.
    contradicted: bool = False

    def bounds(self, when: Times) -> tuple[Times, Times]:
        """Returns the minimum and the maximum clock difference at times of the remote clock. Each
        time uses the bounds of its part."""
        low, high = np.empty(len(when)), np.empty(len(when))
        ends = [part.at[-1] for part in self.parts[:-1]]
        numbers = np.searchsorted(np.array(ends), when)
        for number, part in enumerate(self.parts):
            inside = numbers == number
            low[inside], high[inside] = part.bounds(when[inside])
        return low, high


def delays(
    sent: Times,
    arrived: Times,
    left: Times,
    returned: Times,
    least: float = 0.0,
    known: tuple[float, float] | None = None,
) -> Delays:
    """Returns the one-way delays of probes and replies.

    All times are in seconds and ordered by ``sent``. The local clock shows ``sent`` when a probe is
    sent, and ``returned`` when its reply arrives. The remote clock shows ``arrived`` when the probe
    arrives, and ``left`` when the reply is sent. ``least`` is the minimum possible delay in each
    direction. ``known`` is the minimum and the maximum clock difference (remote minus local) that
    the hosts report. It is ignored if the times contradict it.
    """
    contradicted = False
    parts: list[Part] = []
    steps, first = [], 0
    fields = [np.empty(len(sent)) for _ in range(6)]
    errors = (0.0, 0.0)
    while first < len(sent):
        last = _until_step(sent[first:], arrived[first:], left[first:], returned[first:], least) + first
        here = slice(first, last)
        lines = _Lines(sent[here], arrived[here], left[here], returned[here], least, known)
        if known is not None and lines.farthest((0.0, 1.0)) is None:
            lines = _Lines(sent[here], arrived[here], left[here], returned[here], least)
            contradicted = True
        part = _part(lines)
        for at, stamps, low, high, sign in (
            (arrived[here], arrived[here] - sent[here], fields[0], fields[1], 1),
            (left[here], returned[here] - left[here], fields[2], fields[3], -1),
        ):
            least_here, most_here = part.bounds(at)
            low[here] = stamps - (most_here if sign > 0 else -least_here)
            high[here] = stamps - (least_here if sign > 0 else -most_here)
        skews = [
            _floor(arrived[here], arrived[here] - sent[here]),
            -_floor(left[here], returned[here] - left[here]),
        ]
        skew = sum(skews) / 2
        drift = abs(skews[0] - skews[1]) / 2 * float(np.ptp(arrived[here]))
        fields[4][here] = _above(arrived[here] - sent[here] - skew * arrived[here])
        fields[5][here] = _above(returned[here] - left[here] + skew * left[here])
        # If several delays are close to the minimum, it is the true minimum. A single smallest
        # delay may be far above the true minimum. The skew is estimated from both directions, so an
        # error in one direction affects the other.
        again = [
            float(np.sort(fields[side][here])[min(MIN_NEAR_DELAYS, last - first - 1)]) for side in (4, 5)
        ]
        own = [drift + sum(again)] * 2
        # With capacity on demand, one direction rarely reaches its minimum delay. The skew
        # estimated from the other direction alone is then more accurate than the mean of both.
        gaps = (
            arrived[here] - sent[here] - skews[0] * arrived[here],
            returned[here] - left[here] + skews[1] * left[here],
        )
        for side, gap in enumerate(map(_above, gaps)):
            alone = (OWN_SKEW_ERROR + 1) * float(np.sort(gap)[min(MIN_NEAR_DELAYS, last - first - 1)])
            if own[side] > MAX_VARIATION_ERROR_S and alone < own[side] / MIN_ERROR_RATIO:
                fields[4 + side][here], own[side] = gap, alone
        errors = (max(errors[0], own[0]), max(errors[1], own[1]))
        parts.append(part)
        if first:
            steps.append(first)
        first = last
    for low in (fields[0], fields[2]):
        # The solver's tolerance may give a value one nanosecond below the minimum.
        np.maximum(low, least, out=low)
    forward_low, forward_high, backward_low, backward_high, forward, backward = fields
    return Delays(
        *(forward_low, forward_high, backward_low, backward_high, forward, backward),
        *(errors, parts, steps, contradicted),
    )


def _floor(at: Times, gap: Times) -> float:
    """Returns the slope of the line that is closest below all gaps. This line contains the edge of
    the lower convex hull at the mean time (Zhang, Liu and Xia, section III)."""
    x, y = _hull(at, gap)
    if len(x) < 2:
        return 0.0
    edge = int(np.clip(np.searchsorted(x, at.mean()), 1, len(x) - 1))
    return float((y[edge] - y[edge - 1]) / (x[edge] - x[edge - 1]))


def _above(gap: Times) -> Times:
    return gap - float(gap.min())


def _until_step(sent: Times, arrived: Times, left: Times, returned: Times, least: float) -> int:
    """Returns the number of probes before the first clock step: the maximum number of first probes
    that are consistent with clocks without a step."""

    def possible(count: int) -> bool:
        lines = _Lines(sent[:count], arrived[:count], left[:count], returned[:count], least)
        return lines.farthest((0.0, 1.0)) is not None

    if possible(len(sent)):
        return len(sent)
    low, high = 1, len(sent)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if possible(middle) else (low, middle)
    return low


class _Lines:
    """The lines (offset and skew as a function of the remote time) that all probes, all replies and
    the bounds ``known`` allow."""

    def __init__(
        self,
        sent: Times,
        arrived: Times,
        left: Times,
        returned: Times,
        least: float,
        known: tuple[float, float] | None = None,
    ) -> None:
        # Lines are functions of the time of the remote clock.
        self.begin, self.end = float(arrived.min()), float(left.max())
        above_at, above = _hull(arrived - self.begin, arrived - sent - least)
        below_at, below = _hull(left - self.begin, -(left - returned + least))
        if known is not None:
            ends = np.array([0.0, self.end - self.begin])
            below_at, below = np.append(below_at, ends), np.append(below, [-known[0]] * 2)
            above_at, above = np.append(above_at, ends), np.append(above, [known[1]] * 2)
        # The unknowns are the offset at the start, relative to the minimum offset, and the skew.
        self.base = float(above.min())
        self._rows = np.concatenate(
            [
                np.column_stack([np.ones_like(above_at), above_at]),
                -np.column_stack([np.ones_like(below_at), below_at]),
            ]
        )
        self._most = np.concatenate([above - self.base, below + self.base])

    def farthest(self, cost: tuple[float, float]) -> float | None:
        """Returns the minimum of a weighted sum of offset and skew; ``None`` if no line is
        possible."""
        from scipy.optimize import linprog

        bounds = [(None, None), (-MAX_SKEW, MAX_SKEW)]
        # The solver's tolerance of 1e-9 is relative, so it stays below a nanosecond for round-trip
        # times of seconds.
        found = linprog(cost, A_ub=self._rows, b_ub=self._most, bounds=bounds, method="highs")
        return float(found.fun) if found.status == 0 else None


def _part(lines: _Lines) -> Part:
    """Returns the bounds of the possible lines. At least one line must be possible."""

    def farthest(offset: float, skew: float) -> float:
        found = lines.farthest((offset, skew))
        if found is None:
            raise ArithmeticError("the solver found no line, although it found one before")
        return found

    slowest, fastest = farthest(0.0, 1.0), -farthest(0.0, -1.0)
    at = np.linspace(0, lines.end - lines.begin, INSTANTS)
    low = np.array([farthest(1.0, float(instant)) for instant in at])
    high = np.array([-farthest(-1.0, -float(instant)) for instant in at])
    return Part(at + lines.begin, lines.base + low, lines.base + high, (slowest, fastest))


def _hull(at: Times, value: Times) -> tuple[Times, Times]:
    """Returns the corners of the lower convex hull (A. M. Andrew, "Another efficient algorithm for
    convex hulls in two dimensions", 1979)."""
    corners: list[tuple[float, float]] = []
    for x, y in sorted(zip(at.tolist(), value.tolist(), strict=True)):
        if corners and corners[-1][0] == x:
            continue
        while len(corners) > 1:
            (x0, y0), (x1, y1) = corners[-2:]
            if (x1 - x0) * (y - y0) > (y1 - y0) * (x - x0):
                break
            corners.pop()
        corners.append((x, y))
    return np.array([x for x, _ in corners]), np.array([y for _, y in corners])
