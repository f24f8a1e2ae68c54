"""Figures 6 to 10: simulation as lines, the prediction of equations 1 to 11 dashed, the paper's values as marks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from bentpipe.plots.data import thin
from bentpipe.plots.style import COLOURS, INK, PREDICTED, figure_function, panels
from bentpipe.prediction import predict_run

from .curves import CONGESTIONS, FLOW, SCHEMES, WINDOW_S, Curve, Direction, Scheme, Series
from .measures import FULL

if TYPE_CHECKING:
    from bentpipe.predict import Prediction
    from bentpipe.studies import Statement
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: The order in which the noisy lines do not hide the quiet ones.
BACK_TO_FRONT: Final[tuple[Scheme, ...]] = ("rbdc", "vbdc", "cra")

Drawing = Callable[["Axes", Series, str], None]


def draw_all(series: Mapping[Curve, Series], statements: Sequence[Statement]) -> dict[str, Figure]:
    """The five figures by name."""
    paper = {statement.id: statement.value for statement in statements}
    return {
        "figure-06-rtt-forward": rtt(series, "forward"),
        "figure-07-throughput-forward": throughput(series, "forward", paper),
        "figure-08-rtt-return": rtt(series, "return"),
        "figure-09-throughput-return": throughput(series, "return", paper),
        "figure-10-efficiency": efficiency(series),
    }


@figure_function
def rtt(series: Mapping[Curve, Series], direction: Direction) -> Figure:
    """Round-trip times over the first 100 s; the predicted mean dashed."""

    def draw(axes: Axes, one: Series, colour: str) -> None:
        course = one.rtt_ms
        shown = course.time_s <= 100
        axes.plot(*thin(course.time_s[shown], course.value[shown]), color=colour, linewidth=0.9)
        prediction = _prediction(one)
        if prediction is not None:
            axes.axhline(1e3 * prediction.round_trip.mean_s, color=colour, linestyle=PREDICTED, linewidth=1)

    return _two_panels(series, direction, "Round-trip time", "RTT (ms)", draw, 100.0)


@figure_function
def throughput(series: Mapping[Curve, Series], direction: Direction, paper: Mapping[str, float]) -> Figure:
    """Goodput over 400 s; the predicted growth dashed, what the paper states as marks."""
    size, unit = (1e3, "Mbit/s") if direction == "forward" else (1.0, "kbit/s")

    def draw(axes: Axes, one: Series, colour: str) -> None:
        course = one.goodput_kbit_s
        axes.plot(course.time_s, course.value / size, color=colour)
        prediction = _prediction(one)
        if prediction is not None:
            curve = prediction.curve
            axes.plot(
                curve.time_s, curve.goodput_bit_s / 1e3 / size, color=colour, linestyle=PREDICTED, linewidth=1
            )
        mark = _stated(one, paper)
        if mark is not None:
            axes.plot(
                mark[0],
                mark[1] / size,
                marker="o",
                markersize=6,
                color=colour,
                markerfacecolor="white",
                zorder=4,
            )

    return _two_panels(series, direction, "Throughput", f"goodput ({unit})", draw, 400.0, marked=True)


@figure_function
def efficiency(series: Mapping[Curve, Series]) -> Figure:
    """Efficiency of the return link over 400 s, data on the return link; for CRA the prediction dashed."""

    def draw(axes: Axes, one: Series, colour: str) -> None:
        course = one.efficiency
        # VBDC, drawn before CRA, would not be seen where both are at the top.
        axes.plot(
            course.time_s, course.value, color=colour, linewidth=2.6 if one.curve.scheme == "vbdc" else 1.2
        )
        prediction = _prediction(one)
        if prediction is not None and one.curve.scheme == "cra":
            # The equations say what is sent, and with constant slots that is all there is to efficiency.
            share = 100 * prediction.curve.goodput_bit_s / 1e3 / one.ceiling_kbit_s
            axes.plot(prediction.curve.time_s, share, color=colour, linestyle=PREDICTED, linewidth=1)

    return _two_panels(series, "return", "Efficiency", "used / assigned (%)", draw, 400.0, top=105.0)


def _two_panels(
    series: Mapping[Curve, Series],
    direction: Direction,
    title: str,
    label: str,
    draw: Drawing,
    end_s: float,
    *,
    marked: bool = False,
    top: float | None = None,
) -> Figure:
    """Reno above Vegas, to one scale, one colour for each scheme."""
    from matplotlib.lines import Line2D

    figure, both = panels([2.5, 2.5])
    for axes, congestion in zip(both, CONGESTIONS, strict=True):
        for scheme in BACK_TO_FRONT:
            draw(axes, series[Curve(direction, congestion, scheme)], COLOURS[SCHEMES.index(scheme)])
        axes.set_title(f"{title}, data on the {direction} link: {congestion.capitalize()}")
        axes.set_ylabel(label)
        axes.set_xlim(0, end_s)
    highest = top or max(axes.get_ylim()[1] for axes in both)
    for axes in both:
        axes.set_ylim(0, highest)
    both[-1].set_xlabel("time (s)")
    handles = [
        Line2D([], [], color=COLOURS[index], label=scheme.upper()) for index, scheme in enumerate(SCHEMES)
    ]
    handles.append(
        Line2D([], [], color=INK, linestyle=PREDICTED, label="predicted (for Reno), equations 1 to 11")
    )
    if marked:
        handles.append(
            Line2D(
                [], [], color=INK, linestyle="", marker="o", markerfacecolor="white", label="the paper states"
            )
        )
    figure.legend(handles=handles, loc="outside lower center", ncols=len(handles))
    return figure


def _prediction(one: Series) -> Prediction | None:
    return predict_run(one.run)[FLOW].prediction


def _stated(one: Series, paper: Mapping[str, float]) -> tuple[float, float] | None:
    """Time and goodput (kbit/s) that the paper states for a curve."""
    direction, congestion, scheme = one.curve.direction, one.curve.congestion, one.curve.scheme
    short = {"forward": "fwd", "return": "ret"}[direction]
    if (full_s := paper.get(f"{short}-full-{congestion}-{scheme}")) is not None:
        return full_s, FULL * one.ceiling_kbit_s
    if (percent := paper.get(f"{short}-share-{congestion}-{scheme}")) is not None:
        # At the edge a mark would be cut in half.
        return one.duration_s - WINDOW_S, percent / 100 * one.ceiling_kbit_s
    if (rate := paper.get(f"{short}-rate-{congestion}-{scheme}")) is not None:
        return one.duration_s - WINDOW_S, rate
    return None
