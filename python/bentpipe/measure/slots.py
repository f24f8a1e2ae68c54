"""Handovers of a path: times and levels of its changes in length, and their slots.

Constellations assign satellites in slots, such as Starlink's of 15 s, so the delay of a path at
rest is a staircase. At a step, the medians of the probes before and after it differ by more than
their variation; its time is known to within the gap between two probes. A path whose satellite
stays for several slots has steps at only some slot boundaries, and a busy host can add a step at
any time. So the grid of the slots is the grid that is least likely by chance: of n steps at random
times, the expected number of grids of length L that have k - 2 further steps within r of their
borders, in addition to the two steps that are m slots apart and determine the grid, is at most

    P m (m + 1) C(n - 2, k - 2) (4 r / L)^(k - 2)

for P pairs of steps (the number of false alarms of Desolneux, Moisan and Morel, "Meaningful
alignments", International Journal of Computer Vision 40, 2000; m (m + 1) divides the chance among
all m; 4 r in place of 2 r, since the grid is fitted to its steps, which about halves their largest
distance r). A grid counts if that number is below :data:`CHANCE` and the grid has two thirds of the
steps; the others are reported as odd. Of 6000 draws of 3 to 10 random steps, 0.1 to 1.5 % had a
grid, by the number of steps. Delay drifts within a slot because the satellite moves; the level of a
slot is its median.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from .clock import Times

#: Probes before and after a step whose medians are compared.
MEDIAN_PROBES: Final = 8
#: Minimum step of the round-trip time, in seconds and in medians of the difference between two
#: probes.
MIN_STEP_S: Final = 1e-3
NOISE: Final = 8
#: Maximum gap between the probes around a step for a known time, in seconds.
MAX_GAP_S: Final = 0.5
#: Shortest slot in seconds, and tolerance of a step against its grid, in seconds and as a fraction
#: of a slot.
MIN_SLOT_S: Final = 1.0
GRID_TOLERANCE_S: Final = 0.25
GRID_TOLERANCE: Final = 0.05
#: Resolution of the distance between a step and a slot boundary, in seconds.
RESOLUTION_S: Final = 1e-2
#: Maximum number of slots between two steps.
MAX_PARTS: Final = 4
#: Maximum expected number of grids for steps at random times.
CHANCE: Final = 0.02
#: Minimum fraction of the steps that lie on a grid.
MIN_PART: Final = 2 / 3


@dataclass(frozen=True)
class Slots:
    """The levels of a path's length. Times in seconds since the first probe."""

    #: Length of a slot, and the start of one slot; None if the steps have no grid.
    period: float | None
    phase: float | None
    #: Times of the detected steps.
    steps: list[float]
    #: Start of each level, and the round-trip time of the smallest packets during it.
    levels: list[tuple[float, float]]
    #: Times of steps away from slot boundaries; empty without slots.
    odd: list[float] = field(default_factory=list)


def slots(time: Times, rtt: Times, size: NDArray[np.int64], quiet: NDArray[np.bool_]) -> Slots | None:
    """Returns the levels of the probes without load; ``None`` for a path without steps."""
    good = quiet & np.isfinite(rtt)
    at = time[good]
    if len(at) < 4 * MEDIAN_PROBES:
        return None
    level = evened(rtt[good], size[good])
    places = _lasting(at, level, _steps(level))
    if not len(places):
        return None
    middles = (at[places - 1] + at[places]) / 2
    timed = middles[_timed(at, places)]
    grid = _grid(timed)
    edges = middles
    if grid is not None:
        first = grid[1] - grid[0] * np.ceil((grid[1] - at[0]) / grid[0])
        edges = np.arange(first, at[-1], grid[0])
        edges = edges[edges > at[0]]
    bounds = [float(at[0]), *edges.tolist(), float("inf")]
    levels: list[tuple[float, float]] = []
    for begin, end in itertools.pairwise(bounds):
        inside = level[(at >= begin) & (at < end)]
        if len(inside):
            levels.append((begin if levels else 0.0, float(np.median(inside))))
    if grid is None:
        return Slots(None, None, middles.tolist(), levels)
    odd = timed[np.abs(_off(timed, *grid)) > _tolerance(grid[0])]
    return Slots(*grid, middles.tolist(), levels, odd.tolist())


def evened(rtt: Times, size: NDArray[np.int64]) -> Times:
    """Returns round-trip times corrected to those of the smallest packets. Larger packets take
    longer to send; the difference is estimated from neighbouring small packets."""
    level, least = rtt.copy(), size == size.min(initial=2**31)
    for one in np.unique(size[~least]):
        pairs = np.flatnonzero((size[1:] == one) & least[:-1])
        if len(pairs):
            level[size == one] -= float(np.median(rtt[pairs + 1] - rtt[pairs]))
    return level


def _steps(level: Times) -> NDArray[np.int64]:
    """Returns the indices of the first probes after steps."""
    medians = np.median(np.lib.stride_tricks.sliding_window_view(level, MEDIAN_PROBES), axis=1)
    change = np.abs(medians[MEDIAN_PROBES:] - medians[:-MEDIAN_PROBES])
    found = []
    large = np.flatnonzero(change > _least(level))
    for group in np.split(large, np.flatnonzero(np.diff(large) > 1) + 1):
        if not len(group):
            continue
        # The split with the smallest deviation from the medians of both sides.
        first, last = int(group[0]), int(group[-1]) + 2 * MEDIAN_PROBES
        own = level[first:last]
        off = [
            float(np.abs(part - np.median(part)).sum() + np.abs(rest - np.median(rest)).sum())
            for part, rest in (
                np.split(own, [place]) for place in range(MEDIAN_PROBES // 2, len(own) - MEDIAN_PROBES // 2)
            )
        ]
        found.append(first + MEDIAN_PROBES // 2 + int(np.argmin(off)))
    return np.unique(np.array(found, dtype=np.int64))


def _least(level: Times) -> float:
    return max(MIN_STEP_S, NOISE * float(np.median(np.abs(np.diff(level)))))


def _timed(at: Times, places: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Returns true for steps with a known time: those between two close probes, unless the
    neighbouring medians span a pause that may hide another step."""
    pauses = np.flatnonzero(np.diff(at) >= MIN_SLOT_S) + 1
    before, after = (
        np.searchsorted(pauses, places - MEDIAN_PROBES, "right"),
        np.searchsorted(pauses, places + MEDIAN_PROBES),
    )
    timed: NDArray[np.bool_] = (at[places] - at[places - 1] < MAX_GAP_S) & (before == after)
    return timed


def _lasting(at: Times, level: Times, places: NDArray[np.int64]) -> NDArray[np.int64]:
    """Returns the steps between levels that last for :data:`MIN_SLOT_S`; a late host causes
    shorter levels."""
    kept, least = places.tolist(), _least(level)
    while kept:
        edges = [0, *kept, len(at)]
        lasts = [float(at[end - 1] - at[begin]) for begin, end in itertools.pairwise(edges)]
        medians = [float(np.median(level[begin:end])) for begin, end in itertools.pairwise(edges)]
        shortest = int(np.argmin(lasts))
        small = int(np.argmin(np.abs(np.diff(medians))))
        if lasts[shortest] < MIN_SLOT_S:
            # The remainder joins the previous level, or the next one at the start.
            del kept[max(0, shortest - 1)]
        elif abs(medians[small + 1] - medians[small]) < least:
            del kept[small]
        else:
            break
    return np.array(kept, dtype=np.int64)


def _off(steps: Times, length: float, begin: float) -> Times:
    """Returns the offset of each step from the nearest slot boundary."""
    off: Times = steps - begin - length * np.round((steps - begin) / length)
    return off


def _tolerance(length: float) -> float:
    return min(GRID_TOLERANCE_S, GRID_TOLERANCE * length)


def _fit(steps: Times, grid: tuple[float, float]) -> tuple[float, float]:
    """Returns the least-squares grid of steps, which are numbered by another grid."""
    length, begin = grid
    length, begin = np.polyfit(np.round((steps - begin) / length), steps, 1)
    return float(length), float(begin)


def _grid(steps: Times) -> tuple[float, float] | None:
    """Returns the length of the slots and the start of one; ``None`` if every grid could be chance.

    >>> length, begin = _grid(np.array([3.01, 18.0, 48.02, 55.6, 63.0]))
    >>> round(length, 1), round(begin % length, 1)
    (15.0, 3.0)
    >>> _grid(np.array([3.0, 14.0, 51.0]))
    """
    count = len(steps)
    # Also tries the next step but one, because the next one may be odd.
    pairs = [(one, other) for one in range(count) for other in (one + 1, one + 2) if other < count]
    best, least = None, math.log(CHANCE)
    for (one, other), parts in itertools.product(pairs, range(1, MAX_PARTS + 1)):
        grid = (float(steps[other] - steps[one]) / parts, float(steps[one]))
        kept = np.array([one, other])
        for _ in range(5):
            if grid[0] < MIN_SLOT_S:
                break
            kept = np.flatnonzero(np.abs(_off(steps, *grid)) <= _tolerance(grid[0]))
            borders = np.round((steps[kept] - grid[1]) / grid[0])
            if len(kept) < 3 or len(np.unique(borders)) < len(borders):
                kept = kept[:0]
                break
            grid = _fit(steps[kept], grid)
        fewest = max(3, math.ceil(MIN_PART * count))
        if grid[0] < MIN_SLOT_S or len(kept) < fewest:
            continue
        # A grid may be less likely by chance without its worst step.
        while len(kept) >= fewest:
            off = np.abs(_off(steps[kept], *grid))
            free, share = len(kept) - 2, 4 * max(float(off.max()), RESOLUTION_S) / grid[0]
            tried = len(pairs) * parts * (parts + 1) * math.comb(count - 2, free)
            chance = math.log(tried) + free * math.log(share)
            if off.max() <= _tolerance(grid[0]) and chance < least:
                best, least = grid, chance
            kept = np.delete(kept, off.argmax())
            if len(kept) >= fewest:
                grid = _fit(steps[kept], grid)
    return best
