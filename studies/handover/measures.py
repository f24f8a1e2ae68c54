"""Measures of a transfer: delivered bytes, maximum pause, and restart time after a handover."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final

import numpy as np
from bentpipe.plots.data import FloatArray, trace_of
from bentpipe.results.captures import segments
from bentpipe.results.runs import Run

from .cases import DURATION_S, Experiment

#: Minimum rate of a flow that has restarted, as a fraction of the link's rate.
SHARE: Final = 0.5
#: Interval over which this rate is measured.
WINDOW_S: Final = 1.0

_NONE: Final = np.empty(0)


@dataclass(frozen=True)
class Course:
    """The time series of a transfer. Times are in seconds from the start of the transfer.

    Real runs through the proxy have no retransmissions and no arrivals."""

    #: Times of ``delivered``.
    time_s: FloatArray
    #: Total bytes received by the client's application.
    delivered: FloatArray
    #: Times of ``window``.
    window_time_s: FloatArray
    #: Congestion window in segments.
    window: FloatArray
    #: Times of ``retransmitted``.
    retransmission_time_s: FloatArray = field(default_factory=lambda: _NONE)
    #: Total number of retransmitted segments.
    retransmitted: FloatArray = field(default_factory=lambda: _NONE)
    #: Arrival times of data packets at the client.
    arrival_time_s: FloatArray = field(default_factory=lambda: _NONE)
    #: Sequence numbers of the arriving packets in bytes, from 0.
    arrival_sequence: FloatArray = field(default_factory=lambda: _NONE)
    #: Total bytes of the packets that have arrived, headers included.
    arrival_bytes: FloatArray = field(default_factory=lambda: _NONE)

    def bytes_at(self, moment_s: float) -> float:
        """Returns the bytes received up to a time."""
        return _at(self.time_s, self.delivered, moment_s)

    def bytes_between(self, begin_s: float, end_s: float) -> float:
        """Returns the bytes received in an interval."""
        return self.bytes_at(end_s) - self.bytes_at(begin_s)

    def arrived_between(self, begin_s: float, end_s: float) -> float:
        """Returns the bytes of the packets that arrived in an interval, headers included."""
        return _at(self.arrival_time_s, self.arrival_bytes, end_s) - _at(
            self.arrival_time_s, self.arrival_bytes, begin_s
        )

    def retransmissions_between(self, begin_s: float, end_s: float) -> float:
        """Returns the number of segments that the sender retransmitted in an interval."""
        return _at(self.retransmission_time_s, self.retransmitted, end_s) - _at(
            self.retransmission_time_s, self.retransmitted, begin_s
        )

    def pause_s(self, begin_s: float, end_s: float) -> float:
        """Returns the maximum time without a new byte in an interval."""
        return self._longest_pause(begin_s, end_s)[1]

    def cut_s(self, begin_s: float, end_s: float) -> float:
        """Returns the time at which the longest pause in an interval starts."""
        return self._longest_pause(begin_s, end_s)[0]

    def _longest_pause(self, begin_s: float, end_s: float) -> tuple[float, float]:
        """Returns the start and the duration of the maximum time without a new byte in an
        interval."""
        inside = self.time_s[(self.time_s > begin_s) & (self.time_s < end_s)]
        edges = np.concatenate(([begin_s], inside, [end_s]))
        number = int(np.diff(edges).argmax())
        return float(edges[number]), float(edges[number + 1] - edges[number])

    def restart_s(self, handover_s: float, rate_bit_s: float, end_s: float) -> float:
        """Returns the time from the start of a handover to the first interval of :data:`WINDOW_S`
        in which the flow has :data:`SHARE` of the link's rate. Returns the duration of the phase if
        the flow does not restart."""
        needed = SHARE * rate_bit_s / 8 * WINDOW_S
        for moment in np.arange(handover_s + WINDOW_S, end_s, 0.05):
            if self.bytes_between(moment - WINDOW_S, moment) >= needed:
                return round(float(moment - handover_s - WINDOW_S), 3)
        return end_s - handover_s


def _at(time_s: FloatArray, total: FloatArray, moment_s: float) -> float:
    count = int(np.searchsorted(time_s, moment_s, side="right"))
    return float(total[count - 1]) if count else 0.0


@dataclass(frozen=True)
class Outcome:
    """The measures of a transfer."""

    #: Bytes received in 60 s.
    delivered: float
    #: Bytes received in each phase of 20 s.
    phases: tuple[float, ...]
    #: Retransmitted segments in each phase.
    retransmissions: tuple[float, ...]
    #: Restart time after each handover.
    restarts_s: tuple[float, ...]
    #: Maximum pause in the 20 s after each handover.
    pauses_s: tuple[float, ...]
    #: Start of the maximum pause from the first handover on.
    cut_s: float
    #: Time from the end of the 60 s to the last new byte.
    tail_s: float


def course_of(run: Run) -> Course:
    """Returns the course of a run's transfer. The window and the retransmissions are those of the
    sender on the client's link: the server, or the proxy if there is one."""
    sender = run.flows.row(-1, named=True)
    time, delivered = trace_of(run, "delivery.delivered")["transfer"]
    window_time, window = trace_of(run, "tcp.cwnd")[sender["flow"]]
    retransmission_time, retransmitted = trace_of(run, "tcp.retransmissions")[sender["flow"]]
    file = run.path / "packets.pcapng"
    data = [one for one in segments(file) if one.payload > 0] if file.is_file() else []
    first = data[0].sequence if data else 0
    # Captures of the real clock have the time of day. It is converted to the time of the run: the
    # first packet arrives when the application receives its first bytes.
    start_s = data[0].time_s - float(time[0]) if data else 0.0
    return Course(
        time,
        delivered,
        window_time,
        window,
        retransmission_time,
        retransmitted,
        np.array([one.time_s - start_s for one in data]),
        np.array([(one.sequence - first) % 2**32 for one in data], dtype=np.float64),
        np.cumsum([one.size for one in data], dtype=np.float64),
    )


def outcome_of(course: Course, experiment: Experiment) -> Outcome:
    """Returns the measures of a run."""
    edges = (0.0, 20.0, 40.0, DURATION_S)
    after = [
        (at, rate, at + 20.0) for at, rate in zip(experiment.handovers_s, experiment.rates[1:], strict=False)
    ]
    return Outcome(
        course.bytes_at(DURATION_S),
        tuple(course.bytes_between(begin, end) for begin, end in pairwise(edges)),
        tuple(course.retransmissions_between(begin, end) for begin, end in pairwise(edges)),
        tuple(course.restart_s(at, rate, end) for at, rate, end in after),
        tuple(course.pause_s(at, end) for at, _, end in after),
        course.cut_s(edges[1], DURATION_S),
        max(0.0, float(course.time_s[-1]) - DURATION_S),
    )
