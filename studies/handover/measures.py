"""What is measured of a transfer: bytes, the longest pause, and the time to restart after a handover."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final

import numpy as np
from bentpipe.plots.data import FloatArray, trace_of
from bentpipe.results.captures import segments
from bentpipe.results.runs import Run

from .cases import DURATION_S, Experiment

#: A flow has started again when as much as this part of what the link carries has arrived within a second.
SHARE: Final = 0.5
WINDOW_S: Final = 1.0

_NONE: Final = np.empty(0)


@dataclass(frozen=True)
class Course:
    """Bytes that the client's application has, and the sender's window in segments, against time in seconds.

    ``arrival_*`` are the data packets that arrive at the client: when, their sequence numbers in bytes from 0, and the
    bytes of all packets so far. Real runs through the proxy have none."""

    time_s: FloatArray
    delivered: FloatArray
    window_time_s: FloatArray
    window: FloatArray
    #: Segments retransmitted so far.
    retransmission_time_s: FloatArray = field(default_factory=lambda: _NONE)
    retransmitted: FloatArray = field(default_factory=lambda: _NONE)
    arrival_time_s: FloatArray = field(default_factory=lambda: _NONE)
    arrival_sequence: FloatArray = field(default_factory=lambda: _NONE)
    arrival_bytes: FloatArray = field(default_factory=lambda: _NONE)

    def bytes_at(self, moment_s: float) -> float:
        """Bytes by a moment."""
        return _at(self.time_s, self.delivered, moment_s)

    def bytes_between(self, begin_s: float, end_s: float) -> float:
        """Bytes in a phase."""
        return self.bytes_at(end_s) - self.bytes_at(begin_s)

    def arrived_between(self, begin_s: float, end_s: float) -> float:
        """Bytes of the packets that arrived in a stretch of time, as the link carried them."""
        return _at(self.arrival_time_s, self.arrival_bytes, end_s) - _at(
            self.arrival_time_s, self.arrival_bytes, begin_s
        )

    def retransmissions_between(self, begin_s: float, end_s: float) -> float:
        """Segments that the sender retransmitted in a stretch of time."""
        return _at(self.retransmission_time_s, self.retransmitted, end_s) - _at(
            self.retransmission_time_s, self.retransmitted, begin_s
        )

    def pause_s(self, begin_s: float, end_s: float) -> float:
        """The longest time without a new byte."""
        inside = self.time_s[(self.time_s > begin_s) & (self.time_s < end_s)]
        return float(np.diff(np.concatenate(([begin_s], inside, [end_s]))).max())

    def restart_s(self, handover_s: float, rate_bit_s: float, end_s: float) -> float:
        """Time from the beginning of a handover until a second begins in which the flow has :data:`SHARE` of the link's
        rate; the whole phase if none does."""
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
    """The numbers of a transfer."""

    delivered: float
    #: By phase of 20 s.
    phases: tuple[float, ...]
    retransmissions: tuple[float, ...]
    #: After each handover, with the longest pause in the 20 s after it.
    restarts_s: tuple[float, ...]
    pauses_s: tuple[float, ...]
    #: From the end of the 60 s to the last new byte of a sender that stops then.
    tail_s: float


def course_of(run: Run) -> Course:
    """A run's transfer: what the client has, and what the sender before the client's link does, server or proxy."""
    sender = run.flows.row(-1, named=True)
    time, delivered = trace_of(run, "delivery.delivered")["transfer"]
    window_time, window = trace_of(run, "tcp.cwnd")[sender["flow"]]
    retransmission_time, retransmitted = trace_of(run, "tcp.retransmissions")[sender["flow"]]
    file = run.path / "packets.pcapng"
    data = [one for one in segments(file) if one.payload > 0] if file.is_file() else []
    first = data[0].sequence if data else 0
    # Captures of the real clock have the time of day: the first packet arrives when the application has its bytes.
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
