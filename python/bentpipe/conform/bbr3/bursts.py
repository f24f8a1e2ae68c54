"""Applications that write in bursts: the spacing of packets within a burst shows the pacing rate,
although the application limits the mean rate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from bentpipe.conform.exceptions import Missing
from bentpipe.conform.lab import Lab, change, writing
from bentpipe.conform.observation import Observation
from bentpipe.conform.path import Path

_RATE, _FAST = 2e6, 100e6
_PERIOD, _PACKETS = 0.2, 40
#: Time in s at which the path becomes wide.
_WIDE = 3.0


def pacing_rate(seen: Observation, begin: float, end: float) -> float:
    """Returns the median over bursts of the rate within a burst, in packets per second."""
    sends = seen.sends[(seen.sends >= begin) & (seen.sends < end)]
    if sends.size < 20:
        raise Missing(f"almost nothing was sent from {begin:.3g} to {end:.3g} s")
    starts = np.flatnonzero(np.diff(sends, prepend=-np.inf) > 0.02)
    rates = []
    for first, last in zip(starts, [*starts[1:], sends.size], strict=True):
        # Without the first packets, which use credit of the pacer.
        burst = sends[first + 4 : last]
        if burst.size >= 12:
            rates.append((burst.size - 1) / max(burst[-1] - burst[0], 1e-9))
    if not rates:
        raise Missing(f"no burst of the application is visible from {begin:.3g} to {end:.3g} s")
    return float(np.median(rates))


def run(lab: Lab, duration: float, changes: Sequence[Mapping[str, Any]]) -> Observation:
    """Runs a flow of bursts over a path that limits it until it becomes wide, so that the flow
    has left STARTUP and is application-limited."""
    path = Path(rate=_RATE, rtt=0.1, queue=2000)
    wide = change(_WIDE, rate=f"{_FAST:.0f} bit/s")
    return lab.run(path, duration, app=writing(_PACKETS, _PERIOD), changes=[wide, *changes])


def probing(lab: Lab) -> tuple[float, float]:
    """Returns the time in s in ProbeBW_UP of :func:`run` at which the flow becomes
    application-limited, and the end of an observation."""
    seen = run(lab, 20, ())
    idle = seen.time[(seen.time > _WIDE + 0.2) & (seen.column("inflight") == 0)]
    if not idle.size:
        raise Missing("the application never limited the rate: the bandwidth was not found")
    at = float(idle[0])
    return at, at + 9
