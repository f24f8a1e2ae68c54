"""Figures 2 to 6: sequence numbers, throughput and congestion windows of all versions, end to end
and through the proxy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from bentpipe.plots.style import COLOURS, INK, figure_function, panels

from .cases import DURATION_S, VERSIONS, Experiment
from .measures import Course

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Marker of each version.
_MARKS: Final = dict(zip(VERSIONS, "osD^v", strict=True))
#: Colour of each version.
_COLOURS: Final = dict(zip(VERSIONS, COLOURS, strict=False))
#: Interval of a curve's markers. The curves have different offsets, so overlapping curves can be
#: distinguished.
_EVERY_S: Final = 4.0
#: Dashes of the proxy's curve. It often overlaps the curve of Hybla end to end, which is visible in
#: the gaps.
_DASHES: Final = (0, (3, 5))


@figure_function
def draw(experiment: Experiment, courses: Mapping[str, Course], proxied: Course | None = None) -> Figure:
    """Draws the sequence numbers of arriving packets, their rate, and the congestion windows, by
    version. The curve of the proxy is dashed."""
    figure, (sequence, throughput, window) = panels([3.2, 2.2, 2.0])
    seconds = np.arange(1.0, DURATION_S + 0.25, 0.5)
    lines: list[tuple[str, Course, float, dict[str, Any]]] = []
    for number, (version, course) in enumerate(courses.items()):
        begin = number * _EVERY_S / len(courses)
        style: dict[str, Any] = {"color": _COLOURS[version], "marker": _MARKS[version], "linestyle": "-"}
        lines.append((version.capitalize(), course, begin, style))
    if proxied is not None:
        style = {"color": INK, "marker": "x", "linestyle": _DASHES}
        lines.append(("proxy with Hybla", proxied, 2.0, style))
    highest = max(experiment.rates) / 1e6
    for label, course, begin, style in lines:
        line: dict[str, Any] = {**style, "linewidth": 1.0, "markersize": 4}
        time, numbers = _arrivals(course)
        at = np.searchsorted(time, np.arange(begin, DURATION_S, _EVERY_S))
        # New data is a line; retransmissions are points below the line.
        newest = np.maximum.accumulate(numbers) if len(numbers) else numbers
        sequence.plot(time, newest / 1e6, label=label, markevery=list(np.unique(at[at < len(time)])), **line)
        old = numbers < newest
        sequence.plot(time[old], numbers[old] / 1e6, ".", color=style["color"], markersize=1.5)
        rates = np.array([_arrived(course, moment) * 8e-6 for moment in seconds])
        highest = max(highest, rates.max(initial=0))
        throughput.plot(seconds, rates, markevery=(int(2 * begin), int(2 * _EVERY_S)), **line)
        if len(course.window):
            line.pop("marker")
            window.step(course.window_time_s, np.maximum(course.window, 1), where="post", **line)
    for axes in (sequence, throughput, window):
        for moment in experiment.handovers_s:
            axes.axvline(moment, color=INK, linewidth=0.5, linestyle=":")
        axes.set_xlim(0, DURATION_S)
        axes.set_ylim(0, None)
    rates_of_links = [rate / 1e6 for rate in experiment.rates]
    throughput.step(
        [0, 20, 40, 60], [*rates_of_links, rates_of_links[-1]], where="post", color=INK, linewidth=0.6
    )
    throughput.set_ylim(0, 1.15 * highest)
    sequence.set_title(experiment.title)
    sequence.set_ylabel("sequence number (MB)")
    sequence.legend(ncols=2, fontsize="small", loc="upper left")
    throughput.set_ylabel("arrivals (Mbit/s)")
    window.set_ylabel("cwnd (segments)")
    window.set_yscale("log")
    window.set_ylim(1, None)
    window.set_xlabel("time (s)")
    return figure


def _arrivals(course: Course) -> tuple[Any, Any]:
    if len(course.arrival_time_s):
        return course.arrival_time_s, course.arrival_sequence
    return course.time_s, course.delivered


def _arrived(course: Course, until_s: float) -> float:
    if len(course.arrival_time_s):
        return course.arrived_between(until_s - 1, until_s)
    return course.bytes_between(until_s - 1, until_s)
