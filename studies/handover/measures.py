"""Measures of a transfer: bytes, the longest pause, and the time to restart after a handover."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final

import numpy as np
from bentpipe.plots.data import FloatArray, trace_of
from bentpipe.results.captures import segments
from bentpipe.results.runs import Run

from .cases import DURATION_S, Experiment

#: A flow has restarted once this fraction of the link's capacity arrives within a second.
SHARE: Final = 0.5
WINDOW_S: Final = 1.0

_NONE: Final = np.empty(0)


@dataclass(frozen=True)
class Course:
    """Bytes received by the client's application, and the sender's window in segments, against time
    in seconds.

    ``arrival_*`` are the data packets that arrive at the client: their times, their sequence
    numbers in bytes from 0, and the total bytes of all packets up to each. Real runs through the
    proxy have no arrivals."""

    time_s: FloatArray
    delivered: FloatArray
    window_time_s: FloatArray
    window: FloatArray
    #: Total of retransmitted segments.
    retransmission_time_s: FloatArray = field(default_factory=lambda: _NONE)
    retransmitted: FloatArray = field(default_factory=lambda: _NONE)
    arrival_time_s: FloatArray = field(default_factory=lambda: _NONE)
    arrival_sequence: FloatArray = field(default_factory=lambda: _NONE)
    arrival_bytes: FloatArray = field(default_factory=lambda: _NONE)

    def bytes_at(self, moment_s: float) -> float:
        """Returns the bytes received up to a moment."""
        return _at(self.time_s, self.delivered, moment_s)

    def bytes_between(self, begin_s: float, end_s: float) -> float:
        """Returns the bytes received in a phase."""
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
        """Returns the longest time without a new byte."""
        inside = self.time_s[(self.time_s > begin_s) & (self.time_s < end_s)]
        return float(np.diff(np.concatenate(([begin_s], inside, [end_s]))).max())

    def restart_s(self, handover_s: float, rate_bit_s: float, end_s: float) -> float:
        """Returns the time from the start of a handover to the first second in which the flow has
        :data:`SHARE` of the link's rate; the whole phase if there is none."""
        needed = SHARE * rate_bit_s / 8 * WINDOW_S
        for moment in np.arange(handover_s + WINDOW_S, end_s, 0.05):
            if self.bytes_between(moment - WINDOW_S, moment) >= needed:
                return round(float(moment - handover_s - WINDOW_S), 3)
        return end_s - handover_s


def _at(time_s: FloatArray, total: FloatArray, moment_s: float) -> float:
    place = int(np.searchsorted(time_s, moment_s, side="right"))
    return float(total[place - 1]) if place else 0.0


@dataclass(frozen=True)
class Outcome:
    """The measures of a transfer."""

    delivered: float
    #: Bytes by phase of 20 s.
    phases: tuple[float, ...]
    retransmissions: tuple[float, ...]
    #: Restart time after each handover, and the longest pause in the 20 s after it.
    restarts_s: tuple[float, ...]
    pauses_s: tuple[float, ...]
    #: Time from the end of the 60 s to the last new byte of a sender that stops then.
    tail_s: float


def course_of(run: Run) -> Course:
    """Returns the course of a run's transfer: the client's bytes, and the window of the sender
    before the client's link, the server or the proxy."""
    sender = run.flows.row(-1, named=True)
    time, delivered = trace_of(run, "delivery.delivered")["transfer"]
    window_time, window = trace_of(run, "tcp.cwnd")[sender["flow"]]
    retransmission_time, retransmitted = trace_of(run, "tcp.retransmissions")[sender["flow"]]
    file = run.path / "packets.pcapng"
    data = [one for one in segments(file) if one.payload > 0] if file.is_file() else []
    first = data[0].sequence if data else 0
    # Captures of the real clock use the time of day. The first packet arrives when the application
    # has its bytes.
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
    """Returns the numbers that the study reports of one run."""
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
        max(0.0, float(course.time_s[-1]) - DURATION_S),
    )
