"""Handovers of a path: when its length changes, in which slots, and to which levels.

Constellations assign satellites in slots, such as Starlink's of 15 s, so the delay of a path at rest is a staircase. A
step is where the medians of the probes before and after it differ by more than they vary; its time is known to the gap
between two probes. If at least three steps lie in one grid, the longest such grid is that of the slots; a path whose
satellite stays for several slots has steps at only some of them. Delay that drifts within a slot, because the satellite
moves, is taken as its median.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
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
#: Into how many slots the shortest time between two steps may divide.
MOST_PARTS: Final = 4


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
    grid = _grid(middles[_timed(at, places)])
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
    period, phase = grid if grid is not None else (None, None)
    return Slots(period, phase, middles.tolist(), levels)


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


def _grid(steps: Times) -> tuple[float, float] | None:
    """Returns length and one begin of the longest slots at whose borders all steps lie; ``None`` without any.

    >>> length, begin = _grid(np.array([3.01, 18.0, 48.02, 63.0]))
    >>> round(length, 1), round(begin, 1)
    (15.0, 3.0)
    >>> _grid(np.array([3.0, 14.0, 51.0]))
    """
    if len(steps) < 3:
        return None
    shortest = float(np.diff(steps).min())
    for parts in range(1, MOST_PARTS + 1):
        length, begin = shortest / parts, float(steps[0])
        # By chance some steps lie in a fine grid.
        if length < LEAST_SLOT_S or len(steps) < 2 + parts:
            return None
        for _ in range(3):
            number = np.round((steps - begin) / length)
            if len(np.unique(number)) < len(steps):
                break
            length, begin = (float(value) for value in np.polyfit(number, steps, 1))
        off = float(np.abs(steps - begin - length * np.round((steps - begin) / length)).max())
        if off <= min(OFF_S, OFF * length):
            return length, begin
    return None
