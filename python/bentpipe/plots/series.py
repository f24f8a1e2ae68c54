"""Quantities over time. Every function takes one run, or several runs to overlay (by name, or as a
list with the folders as names), and returns a matplotlib figure. Predictions are dashed."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from bentpipe.errors import InputError, unknown
from bentpipe.quantities import display_unit, listed

from .bundles import bundle_panels
from .calls import call_panels
from .data import POINTS, FloatArray, bin_for, duration_s, quantiles, rate, spread, superframes
from .events import mark
from .lines import MAX_LINES, Line, Runs, draw_lines, flow_of, named_runs, starts_s
from .samples import entities_of, greatest, samples_of
from .style import PREDICTED, figure_function, grid, legend, legend_of_all, line, name_runs, panels

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from bentpipe.predict import GrowthCurve
    from bentpipe.results.runs import Run

#: Maximum number of flows for slow-start thresholds in windows, and for sent segments in overviews.
MAX_FLOWS = 3

#: A function that draws one quantity of runs into axes.
Draw: TypeAlias = Callable[[Any, Any], None]

#: Running totals of the bytes delivered to the application, by transport.
_VOLUMES = ("delivery.delivered", "datagram.received")

#: Round-trip times: of TCP's acknowledgments, and of probes.
_ROUND_TRIPS = ("rtt", "round_trip")


@figure_function
def rtt(runs: Runs, *, predictions: bool = True) -> Figure:
    """Draws round-trip time samples in ms; the predicted mean is dashed, its range from minimum to
    maximum shaded."""
    figure, (axes,) = panels([2.6])
    draw_rtt(axes, runs, predictions=predictions)
    return _finish(figure, axes, runs)


@figure_function
def throughput(runs: Runs, *, bin_s: float | None = None, predictions: bool = True) -> Figure:
    """Draws payload delivered per time, in kbit/s, over bins of ``bin_s`` seconds; predicted growth
    is dashed.

    By default, a bin is about a two-hundredth of the run. Data counts when it is delivered in
    order. After a retransmission, all data that waited for it is delivered at once, so a bin may
    exceed the rate of the link.
    """
    figure, (axes,) = panels([2.6])
    draw_throughput(axes, runs, bin_s=bin_s, predictions=predictions)
    return _finish(figure, axes, runs)


@figure_function
def window(runs: Runs, *, predictions: bool = True) -> Figure:
    """Draws the congestion window in segments, and the slow-start threshold (dotted) of up to three
    flows. The predicted growth is dashed."""
    figure, (axes,) = panels([2.6])
    draw_window(axes, runs, predictions=predictions)
    return _finish(figure, axes, runs)


@figure_function
def sent(runs: Runs) -> Figure:
    """Draws the number of segments that TCP has sent so far, without retransmissions."""
    figure, (axes,) = panels([2.6])
    draw_sent(axes, runs)
    return _finish(figure, axes, runs)


@figure_function
def queue(runs: Runs) -> Figure:
    """Draws queue lengths: packets in the queues of links, bytes in terminals."""
    drawn = _with_data(
        (draw_link_queue, "link.queue_packets"), (draw_terminal_queue, "dama.queue"), runs=runs
    )
    if not drawn:
        raise InputError("the run has no trace of a queue; add link or dama to record.traces of the scenario")
    figure, axes = panels([2.4] * len(drawn))
    for one, draw in zip(axes, drawn, strict=True):
        draw(one, runs)
    return _finish(figure, axes[-1], runs)


@figure_function
def dama(runs: Runs) -> Figure:
    """Draws slots requested, assigned and used on the return link, one panel per run: per
    superframe or, for many superframes, as mean and range over a two-hundredth of the run."""
    named = dict(named_runs(runs))
    figure, axes = panels([2.4] * len(named))
    for one, (name, run) in zip(axes, named.items(), strict=True):
        draw_dama(one, run, name)
    return _finish(figure, axes[-1], runs)


@figure_function
def efficiency(runs: Runs, *, bin_s: float | None = None) -> Figure:
    """Draws used over assigned capacity of the return link in percent (equation 15 of the DAMA
    study), over bins of ``bin_s`` seconds and all terminals."""
    figure, (axes,) = panels([2.6])
    draw_efficiency(axes, runs, bin_s=bin_s)
    return _finish(figure, axes, runs)


@figure_function
def flow(runs: Runs, name: str) -> Figure:
    """Draws one flow of all runs in the same axes, to compare instruments: throughput, round-trip
    times and congestion window, as far as recorded. Predictions are dashed. Raises
    :class:`bentpipe.InputError` if no run has this flow or recorded any of these quantities."""
    known = {one for _, run in named_runs(runs) for one in run.flow_names}
    if name not in known:
        raise unknown("flow", name, known)
    drawn = [
        draw
        for draw, *quantities in (
            (draw_throughput, *_VOLUMES),
            (draw_rtt, *_ROUND_TRIPS),
            (draw_window, "cwnd"),
        )
        if any(
            flow_of(entity) == name
            for _, run in named_runs(runs)
            for quantity in quantities
            for entity in entities_of(run, quantity)
        )
    ]
    if not drawn:
        raise InputError(f"nothing to draw: the run has no trace of flow {name}")
    figure, axes = panels([2.0] * len(drawn))
    for one, draw in zip(axes, drawn, strict=True):
        draw(one, runs, flow=name)
    legend_of_all(figure, axes)
    _finish(figure, axes[-1], runs)
    starts = [starts_s(run).get(name) for _, run in named_runs(runs)]
    axes[-1].set_xlim(left=min((start for start in starts if start is not None), default=0.0))
    return figure


@figure_function
def side_by_side(runs: Mapping[str, Run], quantity: Literal["throughput", "rtt", "window"]) -> Figure:
    """Draws one small panel per run with its prediction. All panels have the same scale."""
    figure, axes = grid(len(runs))
    draw = {"throughput": draw_throughput, "rtt": draw_rtt, "window": draw_window}[quantity]
    tops = []
    for index, (one, (name, run)) in enumerate(zip(axes, runs.items(), strict=True)):
        # The panels share an axis, and each panel sets its limits according to its own data.
        one.autoscale(axis="y")
        draw(one, run)
        tops.append(one.get_ylim()[1])
        one.set_title(name)
        one.label_outer()
        if index % 2:
            one.set_ylabel("")
        if index >= len(axes) - 2:
            one.set_xlabel("time (s)")
            one.tick_params(labelbottom=True)
    legend_of_all(figure, axes)
    axes[0].set_ylim(0, max(tops))
    axes[0].set_xlim(left=0)
    for one, run in zip(axes, runs.values(), strict=True):
        mark([one], [run], named=False)
    name_runs(figure, list(runs.values()))
    return figure


@figure_function
def overview(run: Run, *, predictions: bool = True) -> Figure:
    """Draws all recorded quantities of a run: throughput, segments sent (of few flows), round-trip
    time, window, queues, slots, the quality of calls, contacts and bundles. Dotted lines and shades
    mark events."""
    few = len(entities_of(run, "tcp.sent")) <= MAX_FLOWS
    of_bundles = bundle_panels(run)
    shown = _with_data(
        (partial(draw_throughput, predictions=predictions), *_VOLUMES),
        *([(draw_sent, "tcp.sent")] if few else []),
        (partial(draw_rtt, predictions=predictions), *_ROUND_TRIPS),
        (partial(draw_window, predictions=predictions), "cwnd"),
        # A queue with at most one packet gets no panel.
        *([(draw_link_queue, "link.queue_packets")] if greatest(run, "link.queue_packets") > 1 else []),
        (draw_terminal_queue, "dama.queue"),
        runs=run,
    )
    if run.has_trace("dama"):
        shown.append(lambda axes, _: draw_dama(axes, run))
    heights = [2.0] * len(shown)
    for height, draw in [*((1.6, draw) for draw in call_panels(run)), *of_bundles]:
        heights.append(height)
        shown.append(draw)
    if not shown:
        raise InputError(f"{run.path} has no trace to draw")
    figure, axes = panels(heights)
    for one, draw in zip(axes, shown, strict=True):
        draw(one, run)
    return _finish(figure, axes[-1], run)


def draw_rtt(axes: Axes, runs: Runs, *, predictions: bool = True, flow: str | None = None) -> None:
    """Draws round-trip times of all flows, or of one, into axes."""
    axes.set_title("Round-trip time")
    axes.set_ylabel("RTT (ms)")
    for colour, lines in draw_lines(axes, runs, *_ROUND_TRIPS, factor=1e3, flow=flow):
        trips = [known.round_trip for line in lines if predictions and (known := line.prediction)]
        if trips:
            mean, least, greatest = (
                1e3 * float(np.median(values))
                for values in zip(*((one.mean_s, one.minimum_s, one.maximum_s) for one in trips), strict=True)
            )
            axes.axhline(mean, color=colour, linestyle=PREDICTED)
            axes.axhspan(least, greatest, color=colour, alpha=0.08, linewidth=0)
    axes.set_ylim(bottom=0)
    legend(axes)


def draw_throughput(
    axes: Axes, runs: Runs, *, bin_s: float | None = None, predictions: bool = True, flow: str | None = None
) -> None:
    """Draws throughput of all flows, or of one, into axes."""
    axes.set_title("Throughput")
    unit, size = display_unit("goodput", "bit/s")
    drawn = draw_lines(axes, runs, *_VOLUMES, factor=1 / size, rate_bin_s=bin_s or 0.0, flow=flow)
    for colour, lines in drawn:
        if predictions:
            _draw_growth(axes, lines, colour, lambda curve: curve.goodput_bit_s / size)
    axes.set_ylabel(f"delivered in order ({unit})")
    axes.set_ylim(bottom=0)
    legend(axes)


def draw_window(axes: Axes, runs: Runs, *, predictions: bool = True, flow: str | None = None) -> None:
    """Draws congestion windows of all flows, or of one, into axes."""
    axes.set_title("Congestion window")
    axes.set_ylabel("cwnd (segments)")
    drawn = draw_lines(axes, runs, "cwnd", flow=flow, steps=True)
    for colour, lines in drawn:
        if predictions:
            _draw_growth(axes, lines, colour, lambda curve: curve.window_segments)
    if len(drawn) <= MAX_FLOWS:
        _draw_thresholds(axes, runs, [colour for colour, _ in drawn])
    axes.set_ylim(bottom=0)
    legend(axes)


def _draw_thresholds(axes: Axes, runs: Runs, colours: Sequence[str]) -> None:
    """Draws slow-start thresholds in the colours of the windows. The lines are steps: each value
    holds until the next sample."""
    thresholds = [
        (one.time_s, one.values)
        for _, run in named_runs(runs)
        for one in samples_of(run, "ssthresh").values()
    ]
    if len(thresholds) != len(colours):
        return
    label: str | None = "slow-start threshold"
    for (times, values), colour in zip(thresholds, colours, strict=True):
        # An infinite threshold has no line.
        if not np.isfinite(values).any():
            continue
        changed = np.flatnonzero(np.diff(values, prepend=np.nan) != 0)
        ends = np.append(times[changed], times[-1:]), np.append(values[changed], values[-1:])
        axes.plot(*ends, color=colour, linestyle=":", drawstyle="steps-post", label=label)
        label = None


def draw_sent(axes: Axes, runs: Runs) -> None:
    """Draws the segments that TCP has sent so far into axes."""
    axes.set_title("Segments sent")
    axes.set_ylabel("sent (segments)")
    draw_lines(axes, runs, "tcp.sent", steps=True)
    axes.set_ylim(bottom=0)
    legend(axes)


def draw_link_queue(axes: Axes, runs: Runs) -> None:
    """Draws the queues of links into axes."""
    axes.set_title("Queues of links")
    axes.set_ylabel("waiting (packets)")
    dropping = {
        link
        for _, run in named_runs(runs)
        for link, samples in samples_of(run, "link.dropped").items()
        if samples.values.max(initial=0) > 0
    }
    many = any(len(entities_of(run, "link.queue_packets")) > MAX_LINES for _, run in named_runs(runs))
    # If there are many links, only links that dropped packets are drawn, instead of the median of
    # all.
    few = many and 0 < len(dropping) <= MAX_LINES
    drawn = draw_lines(
        axes, runs, "link.queue_packets", steps=True, wanted=dropping.__contains__ if few else _all
    )
    axes.set_ylim(bottom=0)
    if len(drawn) <= MAX_LINES and not isinstance(runs, Sequence | Mapping):
        _draw_drops(axes, runs, drawn)
    legend(axes)


def _all(_: str) -> bool:
    return True


def _draw_drops(axes: Axes, run: Run, drawn: Sequence[tuple[str, list[Line]]]) -> None:
    """Draws a mark at the top when a queue dropped packets, in the colour of its line, and names
    the queues that dropped packets without recording their lengths."""
    losses = samples_of(run, "link.dropped")
    label: str | None = "dropped packets"
    for colour, lines in drawn:
        for one in lines if len(lines) == 1 else []:
            if (samples := losses.get(one.entity)) is None:
                continue
            times = samples.time_s[np.diff(samples.values, prepend=0.0) > 0]
            times = np.unique(np.round(times / (one.end_s or 1) * POINTS)) * (one.end_s or 1) / POINTS
            if len(times):
                place: dict[str, Any] = {"transform": axes.get_xaxis_transform(), "clip_on": False}
                axes.scatter(
                    times,
                    np.full(len(times), 1.0),
                    s=25,
                    marker="|",
                    color=colour,
                    linewidths=0.7,
                    label=label,
                    **place,
                )
                label = None
    # The queues of a multilink are those of its links. Terminals have a separate panel.
    recorded = {
        *entities_of(run, "link.queue_packets"),
        *(one["name"] for one in run.scenario.get("multilink", [])),
    }
    recorded |= {
        f"{net}.{one}" for net in run.scenario.get("network", {}) for one in entities_of(run, "dama.queue")
    }
    silent = [
        f"{drop['stage']} dropped {drop['packets']}"
        for drop in run.summary.get("drops", [])
        if drop["reason"] == "queue full" and drop["stage"] not in recorded
    ]
    if silent:
        axes.set_title(f"Queues of links; without a trace: {listed(silent, 3)}")


def draw_terminal_queue(axes: Axes, runs: Runs) -> None:
    """Draws the queues of terminals into axes."""
    axes.set_title("Queues of terminals")
    axes.set_ylabel("waiting (kB)")
    draw_lines(axes, runs, "dama.queue", factor=1e-3, steps=True)
    axes.set_ylim(bottom=0)
    legend(axes)


def draw_dama(axes: Axes, run: Run, name: str = "") -> None:
    """Draws slots requested, assigned and used into axes, summed over the terminals: for each
    superframe or, if there are many, as the mean over a bin with shaded range."""
    axes.set_title(f"Return link{': ' if name else ''}{name}")
    axes.set_ylabel("slots per frame")
    if run.has_trace("dama"):
        slots = superframes(run.trace("dama"))
        for index, what in enumerate(("requested", "assigned", "used")):
            _steps_or_spread(axes, slots["time"], slots[what], bin_for(duration_s(run)), what, index)
        # Requests for volume may exceed the capacity many times. Above the capacity, the axis is
        # then logarithmic.
        highest = max(float(slots["assigned"].max(initial=1.0)), 1.0)
        asked = float(slots["requested"].max(initial=0.0))
        if asked > 4 * highest:
            linear = 10 ** math.ceil(math.log10(highest))
            axes.set_yscale("symlog", linthresh=linear, linscale=2)
            ticks = [
                0,
                linear / 2,
                *(linear * 10**power for power in range(math.ceil(math.log10(asked / linear)) + 1)),
            ]
            axes.set_yticks(ticks, [f"{tick:g}" for tick in ticks])
            axes.minorticks_off()
            axes.set_ylim(top=1.3 * max(asked, linear))
    axes.set_ylim(bottom=0)
    legend(axes)


def _steps_or_spread(
    axes: Axes, time: FloatArray, values: FloatArray, bin_s: float, label: str, index: int
) -> None:
    if len(time) <= POINTS:
        axes.plot(time, values, label=label, drawstyle="steps-post", **line(index))
        return
    middles, mean, least, greatest = spread(time, values, bin_s)
    # A later line may cover this line, since terminals often use every assigned slot.
    axes.plot(middles, mean, label=label, linewidth=2.6 if index == 1 else 1.2, **line(index))
    axes.fill_between(middles, least, greatest, color=line(index)["color"], alpha=0.15, linewidth=0)


def draw_efficiency(axes: Axes, runs: Runs, *, bin_s: float | None = None) -> None:
    """Draws used over assigned capacity into axes."""
    axes.set_title("Efficiency of the return link")
    axes.set_ylabel("used / assigned (%)")
    for index, (name, run) in enumerate(named_runs(runs)):
        if not run.has_trace("dama"):
            continue
        slots, end = superframes(run.trace("dama")), duration_s(run)
        bins = bin_s or bin_for(end)
        used, assigned = (
            rate(slots["time"], slots[what].cumsum(), bins, end) for what in ("used", "assigned")
        )
        share = np.divide(used[1], assigned[1], out=np.full(len(used[1]), np.nan), where=assigned[1] > 0)
        axes.plot(used[0], 100 * share, label=name or "all terminals", **line(index))
    axes.set_ylim(0, 103)
    legend(axes)


def _draw_growth(
    axes: Axes, lines: Sequence[Line], colour: str, values: Callable[[GrowthCurve], FloatArray]
) -> None:
    """Draws the predicted growth of a line, or the median over several lines."""
    curves = [
        (known.curve.time_s + line.start_s, values(known.curve))
        for line in lines
        if (known := line.prediction)
    ]
    if len(curves) > 1:
        times = np.linspace(0.0, max(time[-1] for time, _ in curves), POINTS)
        grown = [np.interp(times, *curve, left=np.nan, right=np.nan) for curve in curves]
        middle, _ = quantiles(np.array(grown))
        curves = [(times, middle)]
    for curve in curves:
        axes.plot(*curve, color=colour, linestyle=PREDICTED)


def _with_data(*draws: tuple[Draw, *tuple[str, ...]], runs: Runs) -> list[Draw]:
    """Returns the functions that have data to draw. A queue that was always empty is omitted."""
    return [
        draw
        for draw, *quantities in draws
        if any(greatest(run, quantity) > 0 for _, run in named_runs(runs) for quantity in quantities)
    ]


def _finish(figure: Figure, lowest: Axes, runs: Runs) -> Figure:
    if not any(axes.lines for axes in figure.axes):
        raise InputError(
            "nothing to draw: the run has no trace of this quantity; add it to record.traces of the scenario"
        )
    lowest.set_xlabel("time (s)")
    lowest.set_xlim(left=0)
    known = [run for _, run in named_runs(runs)]
    mark(figure.axes, known)
    name_runs(figure, known)
    if not all(run.complete for run in known):
        # Predictions continue beyond the end of a stopped run.
        lowest.set_xlim(right=1.02 * max(map(duration_s, known)) or None)
    return figure
