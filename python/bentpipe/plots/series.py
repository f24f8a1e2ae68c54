"""Quantities against time. Every function takes one run, or several to lay over each other (by name, or in a list,
whose names are then those of their folders), and returns a matplotlib figure; predictions are dashed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from bentpipe.errors import InputError
from bentpipe.prediction import predict_resolved
from bentpipe.runs import by_folder

from .data import POINTS, FloatArray, bin_for, duration_s, rate, round_up, spread, superframes, thin, trace_of
from .style import PREDICTED, figure_function, grid, legend, line, panels

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from bentpipe.predict import Prediction
    from bentpipe.runs import Run

Runs: TypeAlias = "Run | Sequence[Run] | Mapping[str, Run]"

#: Running totals of what reached the application, by transport.
_VOLUMES = ("delivery.delivered", "datagram.received")


@figure_function
def rtt(runs: Runs, *, predictions: bool = True) -> Figure:
    """Round-trip time samples in ms; the predicted mean dashed, its range from least to greatest shaded."""
    figure, (axes,) = panels([2.6])
    draw_rtt(axes, runs, predictions=predictions)
    return _finish(figure, axes)


@figure_function
def throughput(runs: Runs, *, bin_s: float | None = None, predictions: bool = True) -> Figure:
    """Payload delivered per time, in kbit/s or Mbit/s, over bins of ``bin_s`` seconds; the predicted growth dashed.

    If it is not given, a bin is about a two-hundredth of the run, but no less than the mean round-trip time: a window
    that does not fill the pipe comes in one burst per round trip.
    """
    figure, (axes,) = panels([2.6])
    draw_throughput(axes, runs, bin_s=bin_s, predictions=predictions)
    return _finish(figure, axes)


@figure_function
def window(runs: Runs, *, predictions: bool = True) -> Figure:
    """Congestion window in segments; the predicted growth dashed."""
    figure, (axes,) = panels([2.6])
    draw_window(axes, runs, predictions=predictions)
    return _finish(figure, axes)


@figure_function
def queue(runs: Runs) -> Figure:
    """What waits: packets in the queues of links, bytes in terminals."""
    drawn = [draw for draw in (draw_link_queue, draw_terminal_queue) if _draws(draw, runs)]
    if not drawn:
        raise InputError("no queue was recorded: add the traces link or dama to the scenario")
    figure, axes = panels([2.4] * len(drawn))
    for one, draw in zip(axes, drawn, strict=True):
        draw(one, runs)
    return _finish(figure, axes[-1])


@figure_function
def dama(runs: Runs) -> Figure:
    """Slots requested, assigned and used on the return link, one panel per run: superframe by superframe, or, where
    there are many, mean and range over a two-hundredth of the run."""
    named = dict(_named(runs))
    figure, axes = panels([2.4] * len(named))
    for one, (name, run) in zip(axes, named.items(), strict=True):
        draw_dama(one, run, name)
    return _finish(figure, axes[-1])


@figure_function
def efficiency(runs: Runs, *, bin_s: float | None = None) -> Figure:
    """Used over assigned capacity of the return link in percent (equation 15 of the DAMA study), over bins of
    ``bin_s`` seconds and all terminals."""
    figure, (axes,) = panels([2.6])
    draw_efficiency(axes, runs, bin_s=bin_s)
    return _finish(figure, axes)


@figure_function
def side_by_side(runs: Mapping[str, Run], quantity: Literal["throughput", "rtt", "window"]) -> Figure:
    """One small panel per run, all to one scale, each with its prediction."""
    figure, axes = grid(len(runs))
    draw = {"throughput": draw_throughput, "rtt": draw_rtt, "window": draw_window}[quantity]
    unit = _rate_unit(runs) if quantity == "throughput" else None
    for index, (one, (name, run)) in enumerate(zip(axes, runs.items(), strict=True)):
        if unit is None:
            draw(one, run)
        else:
            draw_throughput(one, run, unit=unit)
        one.set_title(name)
        one.label_outer()
        if index % 2:
            one.set_ylabel("")
        below = one.get_legend()
        if index and below is not None:
            below.remove()
        if index >= len(axes) - 2:
            one.set_xlabel("time (s)")
            one.tick_params(labelbottom=True)
    # The panels share their axis, but each has fixed it at what it shows.
    axes[0].autoscale(axis="y")
    axes[0].set_ylim(bottom=0)
    axes[0].set_xlim(left=0)
    return figure


@figure_function
def overview(run: Run, *, predictions: bool = True) -> Figure:
    """Everything that was recorded of one run: throughput, round-trip time, window, queues, slots."""
    draws: list[Callable[[Axes, Runs], None]] = [
        lambda axes, runs: draw_throughput(axes, runs, predictions=predictions),
        lambda axes, runs: draw_rtt(axes, runs, predictions=predictions),
        lambda axes, runs: draw_window(axes, runs, predictions=predictions),
        draw_link_queue,
        draw_terminal_queue,
        lambda axes, _: draw_dama(axes, run),
    ]
    shown = [draw for draw in draws if _draws(draw, run)]
    if not shown:
        raise InputError(f"{run.path} has no trace to draw")
    figure, axes = panels([2.0] * len(shown))
    for one, draw in zip(axes, shown, strict=True):
        draw(one, run)
    return _finish(figure, axes[-1])


def draw_rtt(axes: Axes, runs: Runs, *, predictions: bool = True) -> None:
    """Draw round-trip times into axes."""
    axes.set_title("Round-trip time")
    axes.set_ylabel("RTT (ms)")
    for index, (label, run, flow, (time, value)) in enumerate(_lines(runs, "rtt")):
        axes.plot(*_scaled(thin(time, value), 1e3), label=label, **line(index))
        prediction = _prediction(run, flow) if predictions else None
        if prediction is not None:
            trip, colour = prediction.round_trip, line(index)["color"]
            axes.axhline(1e3 * trip.mean_s, color=colour, linestyle=PREDICTED)
            axes.axhspan(1e3 * trip.minimum_s, 1e3 * trip.maximum_s, color=colour, alpha=0.08, linewidth=0)
    axes.set_ylim(bottom=0)
    legend(axes)


def draw_throughput(
    axes: Axes, runs: Runs, *, bin_s: float | None = None, predictions: bool = True, unit: str | None = None
) -> None:
    """Draw throughput into axes, in ``unit`` or in the one in which it reads best."""
    axes.set_title("Throughput")
    unit = unit or _rate_unit(runs)
    size = {"kbit/s": 1e3, "Mbit/s": 1e6}[unit]
    for index, (label, run, flow, (time, volume)) in enumerate(_lines(runs, *_VOLUMES)):
        end = duration_s(run)
        bins = bin_s or max(bin_for(end), _round_trip(run, flow))
        axes.plot(*_scaled(rate(time, volume, bins, end), 1 / size), label=label, **line(index))
        prediction = _prediction(run, flow) if predictions else None
        if prediction is not None:
            curve = prediction.curve
            data = curve.time_s + _start(run, flow), curve.goodput_bit_s / size
            axes.plot(*data, color=line(index)["color"], linestyle=PREDICTED)
    axes.set_ylabel(f"delivered ({unit})")
    axes.set_ylim(bottom=0)
    legend(axes)


def draw_window(axes: Axes, runs: Runs, *, predictions: bool = True) -> None:
    """Draw congestion windows into axes."""
    axes.set_title("Congestion window")
    axes.set_ylabel("cwnd (segments)")
    for index, (label, run, flow, data) in enumerate(_lines(runs, "cwnd")):
        axes.plot(*thin(*data), label=label, **line(index))
        prediction = _prediction(run, flow) if predictions else None
        if prediction is not None:
            data = prediction.curve.time_s + _start(run, flow), prediction.curve.window_segments
            axes.plot(*data, color=line(index)["color"], linestyle=PREDICTED)
    axes.set_ylim(bottom=0)
    legend(axes)


def draw_link_queue(axes: Axes, runs: Runs) -> None:
    """Draw the queues of links into axes."""
    axes.set_title("Queues of links")
    axes.set_ylabel("waiting (packets)")
    for index, (label, _, _, data) in enumerate(_lines(runs, "link.queue_packets")):
        axes.plot(*thin(*data), label=label, **line(index))
    axes.set_ylim(bottom=0)
    legend(axes)


def draw_terminal_queue(axes: Axes, runs: Runs) -> None:
    """Draw what waits in terminals into axes."""
    axes.set_title("Queues of terminals")
    axes.set_ylabel("waiting (kB)")
    for index, (label, _, _, data) in enumerate(_lines(runs, "dama.queue")):
        axes.plot(*_scaled(thin(*data), 1e-3), label=label, **line(index))
    axes.set_ylim(bottom=0)
    legend(axes)


def draw_dama(axes: Axes, run: Run, name: str = "") -> None:
    """Draw slots requested, assigned and used into axes, summed over the terminals: the mean over a bin, and shaded
    its range, where there are many superframes; every superframe where there are few."""
    axes.set_title(f"Return link{': ' if name else ''}{name}")
    axes.set_ylabel("slots per frame")
    if run.has_trace("dama"):
        slots = superframes(run.trace("dama"))
        # Requests for volume may be many times what there is; they must not press the rest to the floor.
        most = 2 * max(slots["assigned"].max(initial=1.0), 1.0)
        asked = float(slots["requested"].max(initial=0.0))
        for index, what in enumerate(("requested", "assigned", "used")):
            label = f"requested (up to {asked:.0f})" if what == "requested" and asked > most else what
            _steps_or_spread(axes, slots["time"], slots[what], bin_for(duration_s(run)), label, index)
        if asked > most:
            axes.set_ylim(top=most)
    axes.set_ylim(bottom=0)
    legend(axes)


def _steps_or_spread(
    axes: Axes, time: FloatArray, values: FloatArray, bin_s: float, label: str, index: int
) -> None:
    if len(time) <= POINTS:
        axes.plot(time, values, label=label, drawstyle="steps-post", **line(index))
        return
    middles, mean, least, greatest = spread(time, values, bin_s)
    # A later line may cover this one: what is assigned is often used to the last slot.
    axes.plot(middles, mean, label=label, linewidth=2.6 if index == 1 else 1.2, **line(index))
    axes.fill_between(middles, least, greatest, color=line(index)["color"], alpha=0.15, linewidth=0)


def draw_efficiency(axes: Axes, runs: Runs, *, bin_s: float | None = None) -> None:
    """Draw used over assigned capacity into axes."""
    axes.set_title("Efficiency of the return link")
    axes.set_ylabel("used / assigned (%)")
    for index, (name, run) in enumerate(_named(runs)):
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


def _named(runs: Runs) -> Iterator[tuple[str, Run]]:
    if isinstance(runs, Mapping):
        yield from runs.items()
    elif isinstance(runs, Sequence):
        yield from by_folder(runs).items()
    else:
        yield "", runs


def _lines(runs: Runs, *quantities: str) -> Iterator[tuple[str, Run, str, tuple[FloatArray, FloatArray]]]:
    """Label, run, entity and data of each line; the label says what tells the lines apart."""
    for name, run in _named(runs):
        traces = [trace for quantity in quantities for trace in trace_of(run, quantity).items()]
        for entity, data in traces:
            label = entity if not name else name if len(traces) == 1 else f"{name}, {entity}"
            yield label, run, entity, data


def _prediction(run: Run, flow: str) -> Prediction | None:
    known = predict_resolved(run.scenario).get(flow)
    return None if known is None else known.prediction


def _round_trip(run: Run, flow: str) -> float:
    """Mean round-trip time of a flow in seconds, rounded up to a round number; 0 where there is none."""
    mean = next((row["rtt_mean"] for row in run.flows.iter_rows(named=True) if row["flow"] == flow), None)
    return round_up(mean) if mean else 0.0


def _rate_unit(runs: Runs) -> str:
    goodputs = [value for _, run in _named(runs) for value in run.flows["goodput"] if value is not None]
    return "Mbit/s" if max(goodputs, default=0.0) >= 5e6 else "kbit/s"


def _start(run: Run, flow: str) -> float:
    from bentpipe.quantities import base_value

    return next(
        (
            base_value(one["start"])
            for one in run.scenario.get("flow", [])
            if one["name"] == flow and "start" in one
        ),
        0.0,
    )


def _scaled(data: tuple[FloatArray, FloatArray], factor: float) -> tuple[FloatArray, FloatArray]:
    return data[0], data[1] * factor


def _draws(draw: Callable[[Axes, Runs], None], runs: Runs) -> bool:
    """Whether there is anything for this panel: a queue in which nothing ever waited is none."""
    _, (axes,) = panels([1])
    draw(axes, runs)
    return any(np.any(line.get_ydata()) for line in axes.lines)


def _finish(figure: Figure, lowest: Axes) -> Figure:
    if not any(axes.lines for axes in figure.axes):
        raise InputError(
            "nothing to draw: what this figure shows was not recorded (record.traces of the scenario)"
        )
    lowest.set_xlabel("time (s)")
    lowest.set_xlim(left=0)
    return figure
