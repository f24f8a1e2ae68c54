"""Reno's estimated window on a path of 10 ms, on which it exceeds the cubic one."""

from __future__ import annotations

from typing import Final

import numpy as np

from bentpipe.conform.exceptions import Missing
from bentpipe.conform.lab import Lab
from bentpipe.conform.observation import Observation
from bentpipe.conform.path import Path

from . import windows

ALPHA: Final = 3 * (1 - windows.BETA) / (1 + windows.BETA)

_SHORT: Final = Path(rate=1e9, rtt=0.01)


def run(lab: Lab) -> tuple[Observation, windows.Epoch]:
    """Runs a transfer that loses a packet at a window of about 100 segments."""
    seen = windows.lossy(lab, [100], 3, _SHORT)
    return seen, windows.epochs(seen)[0]


def growth(seen: Observation, after: float, low: float, high: float) -> float:
    """Returns the growth from one window to another in segments per round trip."""
    window = seen.column("cwnd")
    inside = np.flatnonzero((seen.time >= after) & (window >= low) & (window <= high))
    if inside.size < 2 or window[inside[-1]] < 0.95 * high:
        raise Missing(f"the window did not grow from {low:.0f} to {high:.0f} segments")
    first, last = inside[0], inside[-1]
    trips = (seen.time[last] - seen.time[first]) / seen.path.min_rtt
    return float((window[last] - window[first]) / trips)
