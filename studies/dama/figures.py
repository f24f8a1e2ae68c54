"""Figures 6 to 11. Lines with markers: simulation. Dotted lines: equations 1 to 11. Circles: the
paper's values."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from bentpipe.plots.data import thin, trace_of
from bentpipe.plots.style import COLOURS, DASHES, INK, figure_function, panels
from bentpipe.results.predictions import predict_run

from .curves import CONGESTIONS, FLOW, SCHEMES, WINDOW_S, Curve, Direction, Scheme, Series
from .measures import FULL, onset_s

if TYPE_CHECKING:
    from bentpipe.predict import Prediction
    from bentpipe.studies import Statement
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Drawing order: smooth lines are drawn over noisy lines.
BACK_TO_FRONT: Final[tuple[Scheme, ...]] = ("rbdc", "vbdc", "cra")

#: Curves to which the equations apply. The equations have one access delay per round trip. It is
#: zero with CRA, and the delay of a burst with VBDC on the return link.
EQUATIONS: Final = {("forward", "reno", "cra"), ("return", "reno", "cra"), ("return", "reno", "vbdc")}

#: Marker of each scheme. Each scheme also has a colour. Reno has solid lines and filled markers,
#: Vegas dashed lines and hollow markers.
MARKS: Final[dict[Scheme, str]] = {"cra": "o", "rbdc": "s", "vbdc": "^"}

#: Lower limit of the axis of round-trip times. The paper's RTT_0, the minimum, is about 500 ms.
_SHORTEST_MS: Final = 450.0

Drawing = Callable[["Axes", Series, dict[str, Any]], None]


def draw_all(series: Mapping[Curve, Series], statements: Sequence[Statement]) -> dict[str, Figure]:
    """Returns the six figures by name."""
    paper = {statement.id: statement.value for statement in statements}
    return {
        "figure-06-rtt-forward": rtt(series, "forward"),
        "figure-07-throughput-forward": throughput(series, "forward", paper),
        "figure-08-rtt-return": rtt(series, "return"),
        "figure-09-throughput-return": throughput(series, "return", paper),
        "figure-10-efficiency": efficiency(series),
        "figure-11-ack-instants": instants(series[Curve("forward", "reno", "rbdc")]),
    }


@figure_function
def rtt(series: Mapping[Curve, Series], direction: Direction) -> Figure:
    """Draws round-trip times over the first 100 s. The predicted mean is a dotted line."""

    def draw(axes: Axes, one: Series, style: dict[str, Any]) -> None:
        course = one.rtt_ms
        shown = course.time_s <= 100
        time, value = thin(course.time_s[shown], course.value[shown])
        axes.plot(time, value, **style, markevery=max(1, len(time) // 12))
        if (prediction := _prediction(one)) is not None:
            axes.axhline(1e3 * prediction.round_trip.mean_s, color=INK, linestyle=":", linewidth=0.9)

    return _six_curves(series, direction, "Round-trip time", "RTT (ms)", draw, 100.0, bottom=_SHORTEST_MS)


@figure_function
def throughput(series: Mapping[Curve, Series], direction: Direction, paper: Mapping[str, float]) -> Figure:
    """Draws goodput over 400 s. The predicted growth is a dotted line, the paper's values are large
    circles."""
    size, unit = (1e3, "Mbit/s") if direction == "forward" else (1.0, "kbit/s")

    def draw(axes: Axes, one: Series, style: dict[str, Any]) -> None:
        course = one.goodput_kbit_s
        axes.plot(course.time_s, course.value / size, **style, markevery=(20, 70))
        if (prediction := _prediction(one)) is not None:
            curve = prediction.curve
            axes.plot(curve.time_s, curve.goodput_bit_s / 1e3 / size, color=INK, linestyle=":", linewidth=0.9)
        if (mark := _stated(one, paper)) is not None:
            x, y = mark[0], mark[1] / size
            axes.plot(x, y, "o", markersize=9, color=style["color"], markerfacecolor="none", zorder=4)

    return _six_curves(series, direction, "Throughput", f"goodput ({unit})", draw, 400.0, marked=True)


@figure_function
def efficiency(series: Mapping[Curve, Series]) -> Figure:
    """Draws the efficiency of the return link over 400 s, with data on the return link."""

    def draw(axes: Axes, one: Series, style: dict[str, Any]) -> None:
        axes.plot(one.efficiency.time_s, one.efficiency.value, **style, markevery=(20, 70))

    return _six_curves(series, "return", "Efficiency", "used / assigned (%)", draw, 400.0, top=105.0)


@figure_function
def instants(one: Series) -> Figure:
    """Draws sent packets and received acknowledgments over 3 s, after the RTT begins to include the
    DAMA delay. The acknowledgments arrive in bursts."""
    figure, (axes,) = panels([3.2])
    begin = onset_s(one) or 0.0
    time, acknowledged = trace_of(one.run, "tcp.acknowledged")[FLOW]
    sent_time, sent = trace_of(one.run, "tcp.sent")[FLOW]
    segment = float(one.run.scenario["flow"][0]["transport"]["segment_size"])
    for times, values, mark, colour, label in (
        (sent_time, sent, "+", COLOURS[0], "packets sent up to"),
        (time, acknowledged, ".", COLOURS[1], "acknowledgments up to"),
    ):
        shown = (times >= begin + 5) & (times <= begin + 8)
        axes.plot(times[shown], values[shown] / segment, mark, color=colour, markersize=4, label=label)
    axes.set_title("Reno over RBDC, data on the forward link: packets sent and acknowledgments received")
    axes.set_xlabel("time (s)")
    axes.set_ylabel("segment")
    axes.legend(loc="upper left")
    return figure


def _six_curves(
    series: Mapping[Curve, Series],
    direction: Direction,
    title: str,
    label: str,
    draw: Drawing,
    end_s: float,
    *,
    marked: bool = False,
    bottom: float = 0.0,
    top: float | None = None,
) -> Figure:
    """Draws Reno and Vegas with each scheme in one panel, as the paper does."""
    from matplotlib.lines import Line2D

    figure, (axes,) = panels([4.2])
    handles = {}
    for congestion in CONGESTIONS:
        for scheme in BACK_TO_FRONT:
            hollow = congestion == "vegas"
            style: dict[str, Any] = {
                "color": COLOURS[SCHEMES.index(scheme)],
                "marker": MARKS[scheme],
                "linestyle": DASHES[1] if hollow else "-",
                "markerfacecolor": "white" if hollow else None,
                "markersize": 5,
                "linewidth": 1.0,
            }
            draw(axes, series[Curve(direction, congestion, scheme)], style)
            name = f"{congestion.capitalize()}/{scheme.upper()}"
            handles[congestion, scheme] = Line2D([], [], **style, label=name)
    # Legends are filled by columns: one column per scheme, Reno above Vegas.
    named = [handles[congestion, scheme] for scheme in SCHEMES for congestion in CONGESTIONS]
    if direction == "forward" or top is None:
        named.append(Line2D([], [], color=INK, linestyle=":", label="equations 1 to 11"))
    if marked:
        named.append(
            Line2D(
                [],
                [],
                color=INK,
                linestyle="",
                marker="o",
                markersize=9,
                markerfacecolor="none",
                label="the paper states",
            )
        )
    axes.set_title(f"{title}, data on the {direction} link")
    axes.set_ylabel(label)
    axes.set_xlabel("time (s)")
    axes.set_xlim(0, end_s)
    axes.set_ylim(bottom, top)
    figure.legend(handles=named, loc="outside lower center", ncols=4)
    return figure


def _prediction(one: Series) -> Prediction | None:
    curve = one.curve
    if (curve.direction, curve.congestion, curve.scheme) not in EQUATIONS:
        return None
    return predict_run(one.run)[FLOW].prediction


def _stated(one: Series, paper: Mapping[str, float]) -> tuple[float, float] | None:
    """Returns the time and the goodput (kbit/s) that the paper states for a curve."""
    direction, congestion, scheme = one.curve.direction, one.curve.congestion, one.curve.scheme
    short = {"forward": "fwd", "return": "ret"}[direction]
    if (full_s := paper.get(f"{short}-full-{congestion}-{scheme}")) is not None:
        return full_s, FULL * one.ceiling_kbit_s
    if (percent := paper.get(f"{short}-share-{congestion}-{scheme}")) is not None:
        # A marker at the edge of the axes would be clipped.
        return one.duration_s - WINDOW_S, percent / 100 * one.ceiling_kbit_s
    if (rate := paper.get(f"{short}-rate-{congestion}-{scheme}")) is not None:
        return one.duration_s - WINDOW_S, rate
    return None
