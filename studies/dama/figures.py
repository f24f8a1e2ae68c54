"""Figures 6 to 11. Lines with markers: simulation. Dotted lines: equations 1 to 11. Hollow circles
and triangles: values of the paper."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from bentpipe.plots.data import thin, trace_of
from bentpipe.plots.published import mark_level, mark_value, paper_handles
from bentpipe.plots.style import COLOURS, DASHES, INK, figure_function, panels
from bentpipe.results.predictions import predict_run

from .curves import CONGESTIONS, FLOW, SCHEMES, SECTIONS, Change, Curve, Direction, Scheme, Series
from .measures import (
    AFTER_FIT_S,
    FIT_S,
    FULL,
    RTT0_MS,
    SETTLED_RTT_S,
    SHOWN_S,
    START_S,
    STEADY_S,
    SUPERFRAME_MS,
    mean,
    onset_s,
    percentile,
    time_to_full_s,
)

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
    return {
        "figure-06-rtt-forward": rtt(series, "forward", statements),
        "figure-07-throughput-forward": throughput(series, "forward", statements),
        "figure-08-rtt-return": rtt(series, "return", statements),
        "figure-09-throughput-return": throughput(series, "return", statements),
        "figure-10-efficiency": efficiency(series, statements),
        "figure-11-ack-instants": instants(series[Curve("forward", "reno", "rbdc")]),
    }


def draw_sections(series: Mapping[Curve, Series], statements: Sequence[Statement]) -> dict[str, Figure]:
    """Returns figure 6 with larger acknowledgments, by name. ``series`` are those of the change
    :data:`~.curves.SECTIONS`, which the statements whose ids begin with "acks-" are about."""
    return {
        "figure-06-mpe-rtt-forward": rtt(
            series,
            "forward",
            statements,
            SECTIONS,
            "Acknowledgments of 64 bytes (MPE, LLC/SNAP): round-trip time",
        )
    }


@figure_function
def rtt(
    series: Mapping[Curve, Series],
    direction: Direction,
    statements: Sequence[Statement],
    change: Change | None = None,
    title: str = "Round-trip time",
) -> Figure:
    """Draws round-trip times over the first 100 s. The predicted mean is a dotted line."""

    def draw(axes: Axes, one: Series, style: dict[str, Any]) -> None:
        course = one.rtt_ms
        shown = course.time_s <= 100
        time, value = thin(course.time_s[shown], course.value[shown])
        axes.plot(time, value, **style, markevery=max(1, len(time) // 12))
        if (prediction := _prediction(one)) is not None:
            axes.axhline(1e3 * prediction.round_trip.mean_s, color=INK, linestyle=":", linewidth=0.9)

    of = {curve: one for curve, one in series.items() if curve.direction == direction}

    def mark(axes: Axes) -> None:
        for statement in statements:
            _mark_rtt(axes, statement, of)

    return _six_curves(
        series,
        direction,
        title,
        "RTT (ms)",
        draw,
        100.0,
        mark,
        bottom=_SHORTEST_MS if direction == "return" else _SHORTEST_MS - 60,
        change=change,
    )


@figure_function
def throughput(
    series: Mapping[Curve, Series], direction: Direction, statements: Sequence[Statement]
) -> Figure:
    """Draws goodput over 400 s. The predicted growth is a dotted line."""
    size, unit = (1e3, "Mbit/s") if direction == "forward" else (1.0, "kbit/s")

    def draw(axes: Axes, one: Series, style: dict[str, Any]) -> None:
        course = one.goodput_kbit_s
        axes.plot(course.time_s, course.value / size, **style, markevery=(20, 70))
        if (prediction := _prediction(one)) is not None:
            curve = prediction.curve
            axes.plot(curve.time_s, curve.goodput_bit_s / 1e3 / size, color=INK, linestyle=":", linewidth=0.9)

    of = {curve: one for curve, one in series.items() if curve.direction == direction}

    def mark(axes: Axes) -> None:
        for statement in statements:
            _mark_goodput(axes, statement, of, size)

    return _six_curves(series, direction, "Throughput", f"goodput ({unit})", draw, 400.0, mark)


@figure_function
def efficiency(series: Mapping[Curve, Series], statements: Sequence[Statement]) -> Figure:
    """Draws the efficiency of the return link over 400 s, with data on the return link."""

    def draw(axes: Axes, one: Series, style: dict[str, Any]) -> None:
        axes.plot(one.efficiency.time_s, one.efficiency.value, **style, markevery=(20, 70))

    def mark(axes: Axes) -> None:
        for statement in statements:
            match _words(statement, series):
                case "eff", "start", one:
                    # Ten seconds are too short for a line.
                    mark_value(axes, statement, sum(START_S) / 2, colour=_colour(one.curve))
                case "eff", "", one:
                    mark_level(axes, statement, STEADY_S, colour=_colour(one.curve))
                case "eff", "later", one:
                    other = series[replace(one.curve, scheme="vbdc")]
                    base = mean(other.efficiency, STEADY_S)
                    mark_level(axes, statement, STEADY_S, base=base, colour=_colour(one.curve))

    return _six_curves(series, "return", "Efficiency", "used / assigned (%)", draw, 400.0, mark, top=105.0)


def _words(statement: Statement, series: Mapping[Curve, Series]) -> tuple[str, str, Series] | None:
    """Returns the first word of a statement's id, the quantity, and the curve that the id names:
    ("ret", "rtt-low", ...) for "ret-rtt-low-reno-rbdc". The word "fwd" is about data on the forward
    link, and "acks" about this link with :data:`~.curves.SECTIONS`."""
    parts = statement.id.split("-")
    if len(parts) < 3:
        return None
    first, *middle, congestion, scheme = parts
    for curve, one in series.items():
        direction = "return" if first in ("ret", "eff") else "forward"
        change = SECTIONS if first == "acks" else None
        if (curve.direction, curve.congestion, curve.scheme, curve.change) == (
            direction,
            congestion,
            scheme,
            change,
        ):
            return first, "-".join(middle), one
    return None


def _colour(curve: Curve) -> str:
    return COLOURS[SCHEMES.index(curve.scheme)]


def _mark_rtt(axes: Axes, statement: Statement, series: Mapping[Curve, Series]) -> None:
    """Marks a statement about a round-trip time."""
    found = _words(statement, series)
    if found is None:
        return
    first, quantity, one = found
    colour = _colour(one.curve)
    match quantity:
        case "rtt-first":
            mark_level(axes, statement, FIT_S, colour=colour)
        case "onset":
            # Marks of two schemes at the same time do not hide each other.
            apart_ms = 20.0 * SCHEMES.index(one.curve.scheme)
            mark_value(axes, statement, RTT0_MS + SUPERFRAME_MS + apart_ms, along="x", colour=colour)
        case "access":
            mark_level(axes, statement, AFTER_FIT_S, base=RTT0_MS, colour=colour, note="paper: maximum")
        case "rtt-oscillates":
            lowest = percentile(one.rtt_ms.between(*AFTER_FIT_S), 5)
            mark_value(axes, statement, AFTER_FIT_S[1], base=lowest, colour=colour)
        case "rtt" if one.curve.congestion == "reno":
            mark_level(axes, statement, AFTER_FIT_S, colour=colour)
        case "rtt" if first == "ret":
            mark_level(axes, statement, SETTLED_RTT_S, colour=colour)
        case "rtt-low" | "rtt-high":
            mark_level(axes, statement, (0.0, time_to_full_s(one)), colour=colour)
        case "rtt" | "rtt-shown":
            mark_level(axes, statement, SHOWN_S, colour=colour)


def _mark_goodput(axes: Axes, statement: Statement, series: Mapping[Curve, Series], kbit_s: float) -> None:
    """Marks a statement about a goodput. ``kbit_s`` is the unit of the axis."""
    found = _words(statement, series)
    if found is None:
        return
    _, quantity, one = found
    colour, ceiling = _colour(one.curve), one.ceiling_kbit_s / kbit_s
    if quantity == "full":
        mark_value(axes, statement, FULL * ceiling, along="x", colour=colour)
    elif quantity == "share" and one.curve.congestion == "reno":
        mark_value(axes, statement, one.duration_s, colour=colour, scale=ceiling / 100)
    elif quantity == "share":
        mark_level(axes, statement, STEADY_S, colour=colour, scale=ceiling / 100)
    elif quantity == "rate":
        mark_level(axes, statement, STEADY_S, colour=colour, scale=1 / kbit_s)


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
    mark: Callable[[Axes], None],
    *,
    bottom: float = 0.0,
    top: float | None = None,
    change: Change | None = None,
) -> Figure:
    """Draws Reno and Vegas with each scheme in one panel, as the paper does. Curves without a run
    are left out. ``mark`` adds the marks of the paper."""
    from matplotlib.lines import Line2D

    figure, (axes,) = panels([4.2])
    handles = {}
    for congestion in CONGESTIONS:
        for scheme in BACK_TO_FRONT:
            curve = Curve(direction, congestion, scheme, change)
            if curve not in series:
                continue
            hollow = congestion == "vegas"
            style: dict[str, Any] = {
                "color": COLOURS[SCHEMES.index(scheme)],
                "marker": MARKS[scheme],
                "linestyle": DASHES[1] if hollow else "-",
                "markerfacecolor": "white" if hollow else None,
                "markersize": 5,
                "linewidth": 1.0,
            }
            draw(axes, series[curve], style)
            name = f"{congestion.capitalize()}/{scheme.upper()}"
            handles[congestion, scheme] = Line2D([], [], **style, label=name)
    # Legends are filled by columns: one column per scheme, Reno above Vegas.
    named = [
        handles[congestion, scheme]
        for scheme in SCHEMES
        for congestion in CONGESTIONS
        if (congestion, scheme) in handles
    ]
    if change is None and top is None:
        named.append(Line2D([], [], color=INK, linestyle=":", label="equations 1 to 11"))
    axes.set_title(f"{title}, data on the {direction} link")
    axes.set_ylabel(label)
    axes.set_xlabel("time (s)")
    axes.set_xlim(0, end_s)
    mark(axes)
    axes.set_ylim(bottom, top)
    named += paper_handles(figure)
    figure.legend(handles=named, loc="outside lower center", ncols=4)
    return figure


def _prediction(one: Series) -> Prediction | None:
    curve = one.curve
    if (curve.direction, curve.congestion, curve.scheme) not in EQUATIONS:
        return None
    return predict_run(one.run)[FLOW].prediction
