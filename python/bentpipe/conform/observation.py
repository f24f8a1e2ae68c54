"""The visible behaviour of a control: times of packets on the path, and the sender's trace.

No state of the control is read, so the same checks apply to every stack. A phase is a stretch of
time with a certain sending rate. Packets are counted in full packets of the path, so that stacks
with smaller packets have the same rates.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from .exceptions import Missing, NotApplicable
from .path import PAYLOAD, Path

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

    from bentpipe.results.runs import Run


#: Variables of a sender that only its own trace shows.
_HIDDEN: Final = {
    "cwnd": "the congestion window",
    "ssthresh": "the slow start threshold",
    "ca_state": "the beginning of a recovery",
    "timeouts": "the number of time-outs",
}


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

    ``sends`` are the times at which packets of the sender reach the bottleneck's queue, ``volume``
    are the full packets up to each of them, and ``dropped`` the packets that the queue had dropped.
    ``first`` is the index of the first packet after the handshake. Packets whose distance is below
    ``burst`` s leave as one, so that rates of a pacer that sends bursts are exact, and ``window``
    is the time in round trips over which rates are measured. The other arrays are columns of the
    trace `tcp`, at the times ``time``; a stack without this trace has those that follow from the
    packets.
    """

    def __init__(
        self,
        path: Path,
        link: pl.DataFrame,
        time: NDArray[np.float64],
        columns: Mapping[str, NDArray[np.float64]],
        *,
        volume: NDArray[np.float64] | None = None,
        first: int = 2,
        burst: float = 0.0,
        window: float = 0.2,
    ) -> None:
        self.path = path
        self.sends: NDArray[np.float64] = link["time"].to_numpy()
        self.dropped: NDArray[np.int64] = link["dropped"].to_numpy()
        self.volume = np.arange(1.0, self.sends.size + 1) if volume is None else volume
        self.first = first
        self._window = window
        starts = np.diff(self.sends, prepend=-np.inf) >= burst
        self._bursts = self.sends[starts]
        self._before = np.concatenate(([0.0], self.volume))[:-1][starts]
        self.time = time
        self._columns = columns
        if not self.time.size:
            raise Missing("no data was acknowledged")

    def column(self, name: str) -> NDArray[np.float64]:
        """Returns a column of the trace `tcp`. Raises :class:`NotApplicable` if the stack does not
        show the variable."""
        if name not in self._columns:
            raise NotApplicable(f"packets of this stack do not show {_HIDDEN[name]}")
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
        first, last = np.searchsorted(self._bursts, (begin, end))
        if last - first < 2:
            return 0.0
        volume = self._before[last - 1] - self._before[first]
        return float(volume / (self._bursts[last - 1] - self._bursts[first]))

    def delivery_rate(self, begin: float, end: float) -> float:
        """Returns the acknowledged packets per second in a stretch of time."""
        return (self.at("acknowledged", end) - self.at("acknowledged", begin)) / PAYLOAD / (end - begin)

    def stretches(
        self, low: float, high: float, *, after: float = 0.0, least: float, window: int | None = None
    ) -> list[Stretch]:
        """Returns the stretches of time after ``after`` in which the sending rate is ``low`` to
        ``high`` packets per second for at least ``least`` seconds. The rate is measured over
        ``window`` packets, by default the window of this stack."""
        size = window or 2 * max(round(self._window / 2 * self.path.bdp), 4)
        since = np.searchsorted(self._bursts, after)
        times, volume = self._bursts[since:], self._before[since:]
        ends = np.searchsorted(volume, volume + size)
        ends = ends[ends < times.size]
        if not ends.size:
            return []
        rates = (volume[ends] - volume[: ends.size]) / np.maximum(times[ends] - times[: ends.size], 1e-12)
        inside = np.concatenate(([False], (rates >= low) & (rates <= high), [False]))
        edges = np.flatnonzero(inside[1:] != inside[:-1])
        found = []
        for first, last in zip(edges[::2], edges[1::2], strict=True):
            begin, end = float(times[first]), float(times[ends[last - 1]])
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
            answers = self.volume[last - 1] - self.volume[first - 1] if last > first else 0
            before = sent[index] - PAYLOAD * answers
            # `acknowledged` never falls.
            index = max(int(np.searchsorted(acknowledged, before, "right")), index + 1)
            if index >= self.time.size or self.time[index] > end:
                break
            ends.append(self.time[index])
        return np.array(ends)


def of_trace(run: Run, path: Path) -> Observation:
    """Returns the observation of a run whose sender has the trace `tcp`."""
    import polars as pl

    trace = run.trace("tcp", "flow")
    columns = {name: trace[name].cast(pl.Float64).fill_null(np.nan).to_numpy() for name in trace.columns[2:]}
    return Observation(path, run.trace("link", "path"), trace["time"].to_numpy(), columns)
