"""What is measured of a transfer: bytes, the longest pause, and how long it takes to start again after a handover."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np
from bentpipe.plots.data import FloatArray, trace_of
from bentpipe.runs import Run

from .cases import DURATION_S, Experiment

#: A flow has started again when as much as this part of what the link carries has arrived within a second.
SHARE: Final = 0.5
WINDOW_S: Final = 1.0


@dataclass(frozen=True)
class Course:
    """Bytes that the client's application has, and the sender's window in segments, against time in seconds."""

    time_s: FloatArray
    delivered: FloatArray
    window_time_s: FloatArray
    window: FloatArray
    retransmissions: float = float("nan")

    def bytes_at(self, moment_s: float) -> float:
        """Bytes by a moment."""
        place = int(np.searchsorted(self.time_s, moment_s, side="right"))
        return float(self.delivered[place - 1]) if place else 0.0

    def bytes_between(self, begin_s: float, end_s: float) -> float:
        """Bytes in a phase."""
        return self.bytes_at(end_s) - self.bytes_at(begin_s)

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


@dataclass(frozen=True)
class Outcome:
    """The numbers of a transfer."""

    delivered: float
    #: By phase of 20 s.
    phases: tuple[float, ...]
    #: After each handover, with the longest pause in the 20 s after it.
    restarts_s: tuple[float, ...]
    pauses_s: tuple[float, ...]
    retransmissions: float


def course_of(run: Run) -> Course:
    """A run's transfer: what the client has, and what the sender before the client's links does, server or proxy."""
    sender = run.flows.row(-1, named=True)
    time, delivered = trace_of(run, "delivery.delivered")["transfer"]
    window_time, window = trace_of(run, "tcp.cwnd")[sender["flow"]]
    return Course(time, delivered, window_time, window, float(sender["retransmissions"] or 0))


def outcome_of(course: Course, experiment: Experiment) -> Outcome:
    """Its numbers."""
    edges = (0.0, 20.0, 40.0, DURATION_S)
    after = [
        (at, rate, at + 20.0) for at, rate in zip(experiment.handovers_s, experiment.rates[1:], strict=False)
    ]
    return Outcome(
        course.bytes_at(DURATION_S),
        tuple(course.bytes_between(begin, end) for begin, end in pairwise(edges)),
        tuple(course.restart_s(at, rate, end) for at, rate, end in after),
        tuple(course.pause_s(at, end) for at, _, end in after),
        course.retransmissions,
    )
