"""The window of CUBIC: its constants, its equation, and the losses that start a curve."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from bentpipe.conform.exceptions import Missing
from bentpipe.conform.lab import Lab
from bentpipe.conform.observation import Observation
from bentpipe.conform.path import Path

BETA: Final = 0.7
C: Final = 0.4

#: A path on which the window is the only limit.
FAST: Final = Path(rate=1e9, rtt=0.1)

#: States of the trace `tcp` from which on the window is being reduced: Recovery and Loss.
_RECOVERY: Final = 3


@dataclass(frozen=True)
class Epoch:
    """A reduction and the stage of congestion avoidance after it: window before the reduction,
    threshold after it, and time and window at the start of the stage."""

    before: float
    ssthresh: float
    begin: float
    window: float

    def k(self, w_max: float | None = None) -> float:
        """Returns K of the RFC in s. ``w_max`` is W_max, by default the window before the
        reduction."""
        return float(np.cbrt(((w_max or self.before) - self.window) / C))

    def curve(self, times: NDArray[np.float64], w_max: float | None = None) -> NDArray[np.float64]:
        """Returns W_cubic at these times."""
        curve: NDArray[np.float64] = C * (times - self.begin - self.k(w_max)) ** 3 + (w_max or self.before)
        return curve


def lossy(lab: Lab, packets: Sequence[int], duration: float, path: Path = FAST, **more: Any) -> Observation:
    """Runs a transfer that loses the packets with these numbers."""
    link: Mapping[str, Any] = {"error": {"kind": "list", "packets": list(packets)}}
    return lab.run(path, duration, link=link, **more)


def epochs(seen: Observation) -> list[Epoch]:
    """Returns the reductions of a run. Raises :class:`Missing` without one."""
    reducing = seen.column("ca_state") >= _RECOVERY
    edges = np.flatnonzero(np.diff(reducing.astype(int), prepend=0, append=0))
    window, ssthresh = seen.column("cwnd"), seen.column("ssthresh")
    found = []
    for first, last in zip(edges[::2], edges[1::2], strict=True):
        if first and last < seen.time.size and window[last] < window[first - 1]:
            found.append(
                Epoch(
                    float(window[first - 1]),
                    float(ssthresh[last]),
                    float(seen.time[last]),
                    float(window[last]),
                )
            )
    if not found:
        raise Missing("the window was never reduced, although packets were lost")
    return found


def deviation(seen: Observation, epoch: Epoch, end: float, w_max: float | None = None) -> float:
    """Returns the largest deviation of the window from the curve, relative to W_max."""
    inside = (seen.time >= epoch.begin) & (seen.time <= end)
    if not inside.any():
        raise Missing("nothing was acknowledged after the reduction")
    curve = epoch.curve(seen.time[inside], w_max)
    return float(np.abs(seen.column("cwnd")[inside] - curve).max()) / (w_max or epoch.before)
