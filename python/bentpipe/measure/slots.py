"""Handovers of a path, detected as steps of its delay, and the slots in which they occur.

Constellations assign satellites in slots, such as Starlink's slots of 15 s. Without load, the delay
of a path is therefore a staircase. At a step, the medians of the probes before and after the step
differ by more than the variation of the probes. The time of the step is known to within the gap
between two probes.

Steps do not occur at every slot boundary, because a satellite may stay for several slots. A busy
host can also add a step at any time. The slots are therefore the grid that is least likely to occur
by chance. Two steps that are m slots apart determine a grid with slots of length L. Let k of n
steps lie within r of a border of the grid. If the steps have random times, the expected number of
such grids is at most

    P m (m + 1) C(n - 2, k - 2) (4 r / L)^(k - 2)

where P is the number of pairs of steps. This is the number of false alarms of Desolneux, Moisan and
Morel, "Meaningful alignments", International Journal of Computer Vision 40, 2000. The factor
m (m + 1) divides the chance among all m. The formula has 4 r instead of 2 r because the grid is
fitted to its steps, which about halves their largest distance r.

A grid is accepted if this number is below :data:`CHANCE` and two thirds of the steps lie on the
grid. The other steps are reported as odd. Of 6000 draws of 3 to 10 random steps, 0.1 to 1.5 % had a
grid, depending on the number of steps. Within a slot the delay drifts, because the satellite moves.
The level of a slot is its median.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from .clock import Times

#: Number of probes on each side of a step for the comparison of medians.
MEDIAN_PROBES: Final = 8
#: Minimum step of the round-trip time, in seconds.
MIN_STEP_S: Final = 1e-3
#: Minimum step of the round-trip time, as a multiple of the median difference between consecutive
#: probes.
NOISE: Final = 8
#: Maximum gap in seconds between the probes around a step. The time of a step in a longer gap is
#: not used.
MAX_GAP_S: Final = 0.5
#: Minimum length of a slot in seconds.
MIN_SLOT_S: Final = 1.0
#: Maximum distance in seconds between a slot boundary and a step that lies on the grid.
GRID_TOLERANCE_S: Final = 0.25
#: The same distance as a fraction of a slot. The smaller of both limits applies.
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
    """Steps and levels of a path's delay. Times are in seconds since the first probe."""

    #: Length of a slot in seconds; None if the steps have no grid.
    period: float | None
    #: Start of one of the slots; None if the steps have no grid.
    phase: float | None
    #: Times of the detected steps.
    steps: list[float]
    #: Start of each level, and the median round-trip time of the smallest packets in this level.
    levels: list[tuple[float, float]]
    #: Times of steps away from slot boundaries; empty without slots.
    odd: list[float] = field(default_factory=list)


def slots(time: Times, rtt: Times, size: NDArray[np.int64], quiet: NDArray[np.bool_]) -> Slots | None:
    """Returns the steps and levels of the probes that were sent without load (``quiet``), or
    ``None`` for a path without steps."""
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
    """Returns the round-trip times as if all packets had the smallest size. Larger packets take
    longer to send. This difference is estimated from consecutive packets of both sizes."""
    level, is_smallest = rtt.copy(), size == size.min(initial=2**31)
    for larger in np.unique(size[~is_smallest]):
        pairs = np.flatnonzero((size[1:] == larger) & is_smallest[:-1])
        if len(pairs):
            level[size == larger] -= float(np.median(rtt[pairs + 1] - rtt[pairs]))
    return level


def _steps(level: Times) -> NDArray[np.int64]:
    """Returns the indices of the first probes after steps."""
    medians = np.median(np.lib.stride_tricks.sliding_window_view(level, MEDIAN_PROBES), axis=1)
    change = np.abs(medians[MEDIAN_PROBES:] - medians[:-MEDIAN_PROBES])
    found = []
    large = np.flatnonzero(change > _min_step(level))
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


def _min_step(level: Times) -> float:
    """Returns the minimum change between two levels that counts as a step, in seconds."""
    return max(MIN_STEP_S, NOISE * float(np.median(np.abs(np.diff(level)))))


def _timed(at: Times, places: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Returns true for each step with a known time. The probes around such a step are close
    together, and the medians on both sides span no pause that may hide another step."""
    pauses = np.flatnonzero(np.diff(at) >= MIN_SLOT_S) + 1
    before, after = (
        np.searchsorted(pauses, places - MEDIAN_PROBES, "right"),
        np.searchsorted(pauses, places + MEDIAN_PROBES),
    )
    timed: NDArray[np.bool_] = (at[places] - at[places - 1] < MAX_GAP_S) & (before == after)
    return timed


def _lasting(at: Times, level: Times, places: NDArray[np.int64]) -> NDArray[np.int64]:
    """Returns the steps between levels that last for at least :data:`MIN_SLOT_S`. Shorter levels
    are caused by a busy host."""
    kept, least = places.tolist(), _min_step(level)
    while kept:
        edges = [0, *kept, len(at)]
        lasts = [float(at[end - 1] - at[begin]) for begin, end in itertools.pairwise(edges)]
        medians = [float(np.median(level[begin:end])) for begin, end in itertools.pairwise(edges)]
        shortest = int(np.argmin(lasts))
        small = int(np.argmin(np.abs(np.diff(medians))))
        if lasts[shortest] < MIN_SLOT_S:
            # A level that is too short is merged with the previous level; the first level is merged
            # with the next.
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
    """Fits a grid to steps by least squares. ``grid`` is a close grid that numbers the steps.
    Returns the length of the slots and the start of one slot."""
    length, begin = grid
    length, begin = np.polyfit(np.round((steps - begin) / length), steps, 1)
    return float(length), float(begin)


def _grid(steps: Times) -> tuple[float, float] | None:
    """Returns the length of the slots and the start of one slot, or ``None`` if every grid could
    have occurred by chance.

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
