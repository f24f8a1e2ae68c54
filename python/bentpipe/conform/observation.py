"""The visible behaviour of a control: times of packets on the path, and the sender's trace.

No state of the control is read, so the same checks apply to every stack. A phase is a stretch of
time with a certain sending rate.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from .exceptions import Missing
from .path import PAYLOAD, Path

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bentpipe.results.runs import Run


@dataclass(frozen=True)
class Stretch:
    """A stretch of time in s, and the median sending rate in it in packets per second."""

    begin: float
    end: float
    rate: float

    @property
    def length(self) -> float:
        """The length of the stretch in s."""
        return self.end - self.begin


class Observation:
    """A run of a case.

    ``sends`` are the times at which packets of the sender reach the bottleneck's queue. The other
    arrays are columns of the trace `tcp`, at the times ``time``.
    """

    def __init__(self, run: Run, path: Path) -> None:
        import polars as pl

        self.path = path
        link = run.trace("link", "path")
        self.sends: NDArray[np.float64] = link["time"].to_numpy()
        self.dropped: NDArray[np.int64] = link["dropped"].to_numpy()
        trace = run.trace("tcp", "flow")
        self.time: NDArray[np.float64] = trace["time"].to_numpy()
        self._columns = {
            name: trace[name].cast(pl.Float64).fill_null(np.nan).to_numpy() for name in trace.columns[2:]
        }
        if not self.time.size:
            raise Missing("no data was acknowledged")

    def column(self, name: str) -> NDArray[np.float64]:
        """Returns a column of the trace `tcp`."""
        return self._columns[name]

    def at(self, name: str, time: float) -> float:
        """Returns the last value of a column up to a time."""
        index = max(int(np.searchsorted(self.time, time, "right")) - 1, 0)
        return float(self.column(name)[index])

    def between(self, name: str, begin: float, end: float) -> NDArray[np.float64]:
        """Returns the values of a column in a stretch of time. Raises :class:`Missing` if there are
        none."""
        first, last = np.searchsorted(self.time, (begin, end))
        if first == last:
            raise Missing(f"nothing was acknowledged from {begin:.3g} to {end:.3g} s")
        return self.column(name)[first:last]

    def rate(self, begin: float, end: float) -> float:
        """Returns the mean sending rate in packets per second, from the first to the last packet of
        a stretch of time."""
        first, last = np.searchsorted(self.sends, (begin, end))
        if last - first < 2:
            return 0.0
        return float((last - first - 1) / (self.sends[last - 1] - self.sends[first]))

    def delivery_rate(self, begin: float, end: float) -> float:
        """Returns the acknowledged packets per second in a stretch of time."""
        return (self.at("acknowledged", end) - self.at("acknowledged", begin)) / PAYLOAD / (end - begin)

    def stretches(
        self, low: float, high: float, *, after: float = 0.0, least: float, window: int | None = None
    ) -> list[Stretch]:
        """Returns the stretches of time after ``after`` in which the sending rate is ``low`` to
        ``high`` packets per second for at least ``least`` seconds. The rate is measured over
        ``window`` packets, by default a fifth of a round trip."""
        size = window or 2 * max(round(self.path.bdp / 10), 4)
        sends = self.sends[np.searchsorted(self.sends, after) :]
        if sends.size <= size:
            return []
        rates = size / np.maximum(sends[size:] - sends[:-size], 1e-12)
        inside = np.concatenate(([False], (rates >= low) & (rates <= high), [False]))
        edges = np.flatnonzero(inside[1:] != inside[:-1])
        found = []
        for first, last in zip(edges[::2], edges[1::2], strict=True):
            begin, end = float(sends[first]), float(sends[last - 1 + size])
            if end - begin >= least:
                found.append(Stretch(begin, end, float(np.median(rates[first:last]))))
        return found

    def rounds(self, begin: float, end: float) -> NDArray[np.float64]:
        """Returns the ends of the packet-timed round trips that start at ``begin`` and are complete
        at ``end``: each lasts until data that was sent after its start is acknowledged."""
        acknowledged, sent = self.column("acknowledged"), self.column("sent")
        ends = []
        index = int(np.searchsorted(self.time, begin))
        while index < self.time.size:
            # Packets that answer this acknowledgment belong to the new round trip.
            first, last = np.searchsorted(self.sends, self.time[index] + np.array([-1e-9, 1e-9]))
            before = sent[index] - PAYLOAD * (last - first)
            # `acknowledged` never falls.
            index = max(int(np.searchsorted(acknowledged, before, "right")), index + 1)
            if index >= self.time.size or self.time[index] > end:
                break
            ends.append(self.time[index])
        return np.array(ends)
