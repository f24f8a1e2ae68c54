"""Figures 2 to 6: sequence numbers, throughput and windows of all versions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from bentpipe.plots.style import COLOURS, INK, figure_function, panels

from .cases import DURATION_S, Experiment
from .measures import Course

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SEGMENT: Final = 1448


@figure_function
def draw(experiment: Experiment, courses: Mapping[str, Course]) -> Figure:
    """Sequence number, throughput over one second, and window, by version."""
    figure, (sequence, throughput, window) = panels([2.6, 2.0, 2.0])
    seconds = np.arange(1.0, DURATION_S + 0.5, 0.5)
    for number, (version, course) in enumerate(courses.items()):
        round_of_colours, colour = divmod(number, len(COLOURS))
        style: dict[str, Any] = {
            "color": COLOURS[colour],
            "linewidth": 1.0,
            "linestyle": "-:"[round_of_colours],
        }
        sequence.step(course.time_s, course.delivered / 1e6, where="post", label=version, **style)
        rates = [course.bytes_between(moment - 1, moment) * 8e-6 for moment in seconds]
        throughput.plot(seconds, rates, **style)
        if len(course.window):
            window.step(course.window_time_s, np.maximum(course.window, 1), where="post", **style)
    for axes in (sequence, throughput, window):
        for moment in experiment.handovers_s:
            axes.axvline(moment, color=INK, linewidth=0.5, linestyle=":")
        axes.set_xlim(0, DURATION_S)
    sequence.set_title(experiment.title)
    sequence.set_ylabel("delivered (MB)")
    sequence.legend(ncols=4, fontsize="x-small")
    throughput.set_ylabel("throughput (Mbit/s)")
    window.set_ylabel("cwnd (segments)")
    window.set_yscale("log")
    window.set_xlabel("time (s)")
    return figure
