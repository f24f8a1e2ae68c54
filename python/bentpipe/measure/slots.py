"""Handovers of a path: when its length changes, in which slots, and to which levels.

Constellations assign satellites in slots, such as Starlink's of 15 s, so the delay of a path at rest is a staircase. A
step is where the medians of the probes before and after it differ by more than they vary; its time is known to the gap
between two probes. A path whose satellite stays for several slots has steps at only some borders of slots, and a busy
host can add a step at any time. So the grid of the slots is the one that is least likely by chance: of n steps at
random times, the expected number of grids of length L that have k - 2 further steps within r of their borders, in
addition to the two steps that are m slots apart and determine the grid, is at most

    P m (m + 1) C(n - 2, k - 2) (4 r / L)^(k - 2)

for P pairs of steps (the number of false alarms of Desolneux, Moisan and Morel, "Meaningful alignments", International
Journal of Computer Vision 40, 2000; m (m + 1) divides the chance among all m; 4 r in place of 2 r, since the grid is
fitted to its steps, which about halves their largest distance r). A grid counts if that number is below :data:`CHANCE`
and the grid has two thirds of the steps; the others are reported as odd. Of 6000 draws of 3 to 10 random steps, 0.1
to 1.5 % had a grid, by the number of steps. Delay that drifts within a slot, because the satellite moves, is taken as
its median.
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
BESIDE: Final = 8
#: Least step of the round-trip time, in seconds and in medians of the difference between two probes.
LEAST_STEP_S: Final = 1e-3
NOISE: Final = 8
#: Largest gap between the probes around a step that tells when it was, in seconds.
NARROW_S: Final = 0.5
#: Shortest slot in seconds, and by how much a step may be off its grid, in seconds and as a part of a slot.
LEAST_SLOT_S: Final = 1.0
OFF_S: Final = 0.25
OFF: Final = 0.05
#: No step is known to be closer to a border than this, in seconds.
RESOLUTION_S: Final = 1e-2
#: Into how many slots the time between two steps may divide.
MOST_PARTS: Final = 4
#: Largest expected number of grids that steps at random times would have by chance.
CHANCE: Final = 0.02
#: Smallest part of the steps that a grid has.
LEAST_PART: Final = 2 / 3


@dataclass(frozen=True)
class Slots:
    """The staircase of a path's length. Times in seconds since the first probe."""

    #: Length of a slot, and the begin of one of them; None if the steps lie in no grid.
    period: float | None
    phase: float | None
    #: Times of the steps that were seen.
    steps: list[float]
    #: Begin of each level, and the round-trip time of the smallest packets during it.
    levels: list[tuple[float, float]]
    #: Times of the steps that are not at a border of a slot; empty without slots.
    odd: list[float] = field(default_factory=list)


def slots(time: Times, rtt: Times, size: NDArray[np.int64], quiet: NDArray[np.bool_]) -> Slots | None:
    """Returns the staircase of the probes at rest; ``None`` for a path without steps."""
    good = quiet & np.isfinite(rtt)
    at = time[good]
    if len(at) < 4 * BESIDE:
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
    """Returns round-trip times as those of the smallest packets. Larger ones take longer to be sent: by what they need
    more than the smallest ones next to them."""
    level, least = rtt.copy(), size == size.min(initial=2**31)
    for one in np.unique(size[~least]):
        pairs = np.flatnonzero((size[1:] == one) & least[:-1])
        if len(pairs):
            level[size == one] -= float(np.median(rtt[pairs + 1] - rtt[pairs]))
    return level


def _steps(level: Times) -> NDArray[np.int64]:
    """Returns the places of the first probes after steps."""
    medians = np.median(np.lib.stride_tricks.sliding_window_view(level, BESIDE), axis=1)
    change = np.abs(medians[BESIDE:] - medians[:-BESIDE])
    found = []
    large = np.flatnonzero(change > _least(level))
    for group in np.split(large, np.flatnonzero(np.diff(large) > 1) + 1):
        if not len(group):
            continue
        # The split that leaves the least deviation from a median on both sides.
        first, last = int(group[0]), int(group[-1]) + 2 * BESIDE
        own = level[first:last]
        off = [
            float(np.abs(part - np.median(part)).sum() + np.abs(rest - np.median(rest)).sum())
            for part, rest in (np.split(own, [place]) for place in range(BESIDE // 2, len(own) - BESIDE // 2))
        ]
        found.append(first + BESIDE // 2 + int(np.argmin(off)))
    return np.unique(np.array(found, dtype=np.int64))


def _least(level: Times) -> float:
    return max(LEAST_STEP_S, NOISE * float(np.median(np.abs(np.diff(level)))))


def _timed(at: Times, places: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Returns which steps tell when they were: those between two probes close to each other, unless the medians beside
    them reach over a pause in which there can have been another step."""
    pauses = np.flatnonzero(np.diff(at) >= LEAST_SLOT_S) + 1
    before, after = (
        np.searchsorted(pauses, places - BESIDE, "right"),
        np.searchsorted(pauses, places + BESIDE),
    )
    timed: NDArray[np.bool_] = (at[places] - at[places - 1] < NARROW_S) & (before == after)
    return timed


def _lasting(at: Times, level: Times, places: NDArray[np.int64]) -> NDArray[np.int64]:
    """Returns the steps between levels that last for :data:`LEAST_SLOT_S`: a host that is late makes shorter ones."""
    kept, least = places.tolist(), _least(level)
    while kept:
        edges = [0, *kept, len(at)]
        lasts = [float(at[end - 1] - at[begin]) for begin, end in itertools.pairwise(edges)]
        medians = [float(np.median(level[begin:end])) for begin, end in itertools.pairwise(edges)]
        shortest = int(np.argmin(lasts))
        small = int(np.argmin(np.abs(np.diff(medians))))
        if lasts[shortest] < LEAST_SLOT_S:
            # What is left of it joins the level before, or the next one at the begin.
            del kept[max(0, shortest - 1)]
        elif abs(medians[small + 1] - medians[small]) < least:
            del kept[small]
        else:
            break
    return np.array(kept, dtype=np.int64)


def _off(steps: Times, length: float, begin: float) -> Times:
    """Returns how far each step is behind the nearest border of a slot."""
    off: Times = steps - begin - length * np.round((steps - begin) / length)
    return off


def _tolerance(length: float) -> float:
    return min(OFF_S, OFF * length)


def _fit(steps: Times, grid: tuple[float, float]) -> tuple[float, float]:
    """Returns the grid that is closest to steps, which are numbered by another one (least squares)."""
    length, begin = grid
    length, begin = np.polyfit(np.round((steps - begin) / length), steps, 1)
    return float(length), float(begin)


def _grid(steps: Times) -> tuple[float, float] | None:
    """Returns length and one begin of the slots; ``None`` if every grid could be chance.

    >>> length, begin = _grid(np.array([3.01, 18.0, 48.02, 55.6, 63.0]))
    >>> round(length, 1), round(begin % length, 1)
    (15.0, 3.0)
    >>> _grid(np.array([3.0, 14.0, 51.0]))
    """
    count = len(steps)
    # The next step but one counts, too, as the next one may be odd.
    pairs = [(one, other) for one in range(count) for other in (one + 1, one + 2) if other < count]
    best, least = None, math.log(CHANCE)
    for (one, other), parts in itertools.product(pairs, range(1, MOST_PARTS + 1)):
        grid = (float(steps[other] - steps[one]) / parts, float(steps[one]))
        kept = np.array([one, other])
        for _ in range(5):
            if grid[0] < LEAST_SLOT_S:
                break
            kept = np.flatnonzero(np.abs(_off(steps, *grid)) <= _tolerance(grid[0]))
            borders = np.round((steps[kept] - grid[1]) / grid[0])
            if len(kept) < 3 or len(np.unique(borders)) < len(borders):
                kept = kept[:0]
                break
            grid = _fit(steps[kept], grid)
        fewest = max(3, math.ceil(LEAST_PART * count))
        if grid[0] < LEAST_SLOT_S or len(kept) < fewest:
            continue
        # Without its worst step a grid may be less likely by chance.
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
