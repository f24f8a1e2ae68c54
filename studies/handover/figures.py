"""Figures 2 to 6: sequence numbers, throughput and congestion windows of all versions, end to end
and through the proxy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from bentpipe.plots.published import legend_entries, mark_value, paper_handles
from bentpipe.plots.style import COLOURS, INK, figure_function, panels

from .cases import DURATION_S, TAIL_UNTIL_S, VERSIONS, Experiment
from .measures import Course
from .stated import PROXY, mark_bytes, mark_times

if TYPE_CHECKING:
    from bentpipe.studies import Statement
    from matplotlib.figure import Figure

#: Marker of each flow.
_MARKS: Final = dict(zip((*VERSIONS, PROXY), "osD^vx", strict=True))
#: Colour of each flow.
_COLOURS: Final = {**dict(zip(VERSIONS, COLOURS, strict=False)), PROXY: INK}
#: Interval of a curve's markers. The curves have different offsets, so overlapping curves can be
#: distinguished.
_EVERY_S: Final = 4.0
#: Dashes of the proxy's curve.
_DASHES: Final = (0, (3, 5))
#: Flows whose curves are wide and light, so that they remain visible below the curves of Westwood
#: and of the proxy, which often overlap them.
_WIDE: Final = ("reno", "hybla")


@figure_function
def draw(
    experiment: Experiment,
    courses: Mapping[str, Course],
    proxied: Course | None = None,
    statements: Sequence[Statement] = (),
) -> Figure:
    """Draws the sequence numbers of arriving packets, their rate, and the congestion windows, by
    version. The curve of the proxy is dashed. If the link changes, a further panel has the rate at
    which the application receives data, in order, over the second that follows. Marks: the
    ``statements`` of the paper about this figure."""
    heights = [3.4, 2.0, 2.0, 2.0] if experiment.handovers_s else [3.4, 2.2, 2.0]
    figure, panels_of = panels(heights)
    sequence, throughput, *between, window = panels_of
    flows = dict(courses) if proxied is None else {**courses, PROXY: proxied}
    seconds = np.arange(1.0, DURATION_S + 0.25, 0.5)
    highest = max(experiment.rates) / 1e6
    for number, (name, course) in enumerate(flows.items()):
        begin = number * _EVERY_S / len(flows)
        colour = _COLOURS[name]
        line: dict[str, Any] = {"color": colour, "marker": _MARKS[name], "markersize": 4, "linewidth": 1.0}
        if name in _WIDE:
            line |= {"linewidth": 3.2, "alpha": 0.5, "zorder": 1.8}
        if name == PROXY:
            line["linestyle"] = _DASHES
        time, numbers = _arrivals(course)
        at = np.searchsorted(time, np.arange(begin, DURATION_S, _EVERY_S))
        # New data is a line; retransmissions are points below the line.
        newest = np.maximum.accumulate(numbers) if len(numbers) else numbers
        sequence.plot(
            time, newest / 1e6, label=_LABELS[name], markevery=list(np.unique(at[at < len(time)])), **line
        )
        old = numbers < newest
        sequence.plot(time[old], numbers[old] / 1e6, ".", color=colour, markersize=1.5)
        every = (int(2 * begin), int(2 * _EVERY_S))
        rates = np.array([_arrived(course, moment) * 8e-6 for moment in seconds])
        highest = max(highest, rates.max(initial=0))
        throughput.plot(seconds, rates, markevery=every, **line)
        for axes in between:
            in_order = [course.bytes_between(moment - 1, moment) * 8e-6 for moment in seconds]
            axes.plot(seconds - 1, in_order, markevery=every, **line)
        if len(course.window):
            line.pop("marker")
            window.step(course.window_time_s, np.maximum(course.window, 1), where="post", **line)
    for axes in panels_of:
        for moment in experiment.handovers_s:
            axes.axvline(moment, color=INK, linewidth=0.5, linestyle=":")
        axes.set_xlim(0, DURATION_S)
        axes.set_ylim(0, None)
    rates_of_links = [rate / 1e6 for rate in experiment.rates]
    for axes in (throughput, *between):
        axes.step(
            [0, 20, 40, 60], [*rates_of_links, rates_of_links[-1]], where="post", color=INK, linewidth=0.6
        )
    throughput.set_ylim(0, 1.15 * highest)
    mark_bytes(sequence, statements, flows, _COLOURS)
    for axes in between:
        # Data that was waiting for a retransmission exceeds the rate of the link.
        axes.set_ylim(0, 1.25 * max(rates_of_links))
        mark_times(axes, experiment, statements, _COLOURS)
        axes.set_ylabel("in order (Mbit/s)")
    sequence.set_title(experiment.title)
    sequence.set_ylabel("sequence number (MB)")
    sequence.legend(handles=legend_entries(sequence), ncols=2, fontsize="small", loc="upper left")
    throughput.set_ylabel("arrivals (Mbit/s)")
    window.set_ylabel("cwnd (segments)")
    window.set_yscale("log")
    window.set_ylim(1, None)
    window.set_xlabel("time (s)")
    return figure


@figure_function
def draw_tail(courses: Mapping[str, Course], statements: Sequence[Statement]) -> Figure:
    """Draws figure 2b: the rate of arriving packets with each version, when the sender stops after
    60 s. Marks: the end of the tails of Hybla and Cubic if the statement about them is true."""
    figure, rows = panels([1.1] * len(courses))
    for axes, (name, course) in zip(rows, courses.items(), strict=True):
        seconds = np.arange(1.0, TAIL_UNTIL_S + 0.25, 0.5)
        rates = [_arrived(course, moment) * 8e-6 for moment in seconds]
        axes.plot(seconds, rates, color=_COLOURS[name])
        axes.axvline(DURATION_S, color=INK, linewidth=0.5, linestyle=":")
        axes.set_title(_LABELS[name])
        axes.set_ylabel("Mbit/s")
        axes.set_ylim(0, None)
        for statement in statements:
            if statement.id == "fig2-tail-length" and name in ("hybla", "cubic"):
                end_s = float(courses["compound"].time_s[-1])
                mark_value(axes, statement, 0.1, along="x", base=end_s, colour=_COLOURS[name])
    rows[-1].set_xlabel("time (s)")
    rows[-1].set_xlim(0, TAIL_UNTIL_S + 3)
    figure.legend(handles=paper_handles(figure), loc="outside upper right")
    return figure


#: Entry of each flow in the legend.
_LABELS: Final = {**{name: name.capitalize() for name in VERSIONS}, PROXY: "proxy with Hybla"}


def _arrivals(course: Course) -> tuple[Any, Any]:
    if len(course.arrival_time_s):
        return course.arrival_time_s, course.arrival_sequence
    return course.time_s, course.delivered


def _arrived(course: Course, until_s: float) -> float:
    if len(course.arrival_time_s):
        return course.arrived_between(until_s - 1, until_s)
    return course.bytes_between(until_s - 1, until_s)
