"""Schematic drawings of the concept pages."""

from __future__ import annotations

from bentpipe.plots import COLOURS
from matplotlib.axes import Axes
from matplotlib.figure import Figure

BLUE, ORANGE, GREEN, PINK, *_ = COLOURS
GREY = "#8a8a8a"


def dama() -> Figure:
    """Draws the way of a request and its plan between terminal and network control centre, to scale."""
    superframe, way, cycle = 94.0, 250.0, 11
    arrives, asks = 40.0, 94.0
    at_ncc = asks + way
    plans = superframe * -(-at_ncc // superframe)
    planned = plans + way
    slot = asks + cycle * superframe
    figure, axes = _canvas(3.6)
    end = slot + way + 120
    for name, height in (("terminal", 0.0), ("NCC and gateway", 1.0)):
        axes.plot([0, end], [height, height], color=GREY, linewidth=1)
        axes.text(-15, height, name, ha="right", va="center")
    for number in range(int(end / superframe) + 1):
        time = number * superframe
        axes.plot([time, time], [-0.03, 0.03], color=GREY, linewidth=1)
        axes.plot([time, time], [0.97, 1.03], color=GREY, linewidth=1)
    _arrow(axes, (asks, 0), (at_ncc, 1), ORANGE, "request")
    _arrow(axes, (plans, 1), (planned, 0), GREEN, "plan")
    _arrow(axes, (slot, 0), (slot + way, 1), BLUE, "packet")
    for time, height, text in (
        (arrives - 30, -0.08, "packet\narrives"),
        (asks + 35, -0.08, "1 asks"),
        (slot, -0.08, "5 its slot"),
        (planned, -0.08, "4 plan\nread"),
    ):
        axes.text(time, height, text, ha="center", va="top", fontsize=8)
    axes.text(at_ncc + 5, 1.06, "2 request\nthere", ha="right", va="bottom", fontsize=8)
    axes.text(plans + 25, 1.06, "3 divides\nthe slots", ha="left", va="bottom", fontsize=8)
    axes.text(slot + way, 1.06, "packet\nthere", ha="center", va="bottom", fontsize=8)
    axes.plot([arrives], [0], "o", color=BLUE, markersize=5)
    axes.annotate(
        "", (slot, -0.42), (asks, -0.42), arrowprops={"arrowstyle": "<->", "color": GREY, "linewidth": 1}
    )
    axes.text(
        (asks + slot) / 2,
        -0.45,
        f"L = {cycle} superframes, {cycle * superframe / 1000:.2f} s",
        ha="center",
        va="top",
    )
    axes.set(xlim=(-230, end), ylim=(-0.62, 1.35))
    return figure


def window() -> Figure:
    """Draws a sender that may have four segments on the way."""
    figure, axes = _canvas(2.8)
    trip, segment = 500.0, 30.0
    for name, height in (("sender", 0.0), ("receiver", 1.0)):
        axes.plot([0, 2.4 * trip], [height, height], color=GREY, linewidth=1)
        axes.text(-15, height, name, ha="right", va="center")
    for round_ in range(2):
        for number in range(4):
            begin = round_ * trip + number * segment
            axes.plot([begin, begin + trip / 2], [0, 1], color=BLUE)
            axes.plot([begin + trip / 2, begin + trip], [1, 0], color=GREEN, linestyle="--", linewidth=0.9)
        busy, idle = (round_ * trip, round_ * trip + 4 * segment), (round_ + 1) * trip
        axes.plot(busy, [-0.06, -0.06], color=BLUE, linewidth=5, solid_capstyle="butt")
        axes.text(sum(busy) / 2, -0.13, "sends", ha="center", va="top", fontsize=8)
        axes.text((busy[1] + idle) / 2, -0.13, "waits", ha="center", va="top", fontsize=8, color=ORANGE)
        axes.plot([busy[1], idle], [-0.06, -0.06], color=ORANGE, linewidth=1.5)
    axes.text(trip / 4 - 20, 0.62, "segments", rotation=0, ha="right", fontsize=8, color=BLUE)
    axes.text(trip * 0.84, 0.76, "acknowledgments", ha="left", fontsize=8, color=GREEN)
    axes.set(xlim=(-200, 2.4 * trip), ylim=(-0.3, 1.12))
    return figure


def clocks() -> Figure:
    """Draws what is real and what is a model on each clock."""
    figure, axes = _canvas(3.0)
    rows = (
        ("predict", "equations", "equations", "", False, False),
        (
            "simulate",
            "models of TCP and applications",
            "models of links, queues, satellites",
            "virtual time",
            False,
            False,
        ),
        ("emulate", "Linux sockets, real programs", "the same models", "real time", True, True),
        (
            "emulate --clock kernel",
            "sockets of a Linux kernel",
            "the same models",
            "virtual time",
            True,
            False,
        ),
    )
    for number, (command, ends, network, time, real, real_time) in enumerate(rows):
        y = -number
        axes.text(-0.1, y, command, ha="right", va="center", family="monospace", fontsize=8)
        _box(axes, 0.0, y, 3.1, ends, real)
        _box(axes, 3.25, y, 3.4, network, False)
        if time:
            _box(axes, 6.8, y, 1.5, time, real_time)
    for x, text in ((1.55, "ends"), (4.95, "network"), (7.55, "clock")):
        axes.text(x, 0.6, text, ha="center", va="bottom", fontsize=9)
    axes.set(xlim=(-2.6, 8.4), ylim=(-3.5, 1.0))
    return figure


def _box(axes: Axes, x: float, y: float, width: float, text: str, real: bool) -> None:
    colour = BLUE if real else GREY
    axes.fill(
        [x, x + width, x + width, x], [y - 0.35, y - 0.35, y + 0.35, y + 0.35], color=colour, alpha=0.22
    )
    axes.text(x + width / 2, y, text, ha="center", va="center", fontsize=7.5)


def _arrow(axes: Axes, start: tuple[float, float], end: tuple[float, float], colour: str, text: str) -> None:
    axes.annotate("", end, start, arrowprops={"arrowstyle": "-|>", "color": colour, "linewidth": 1.6})
    x, y = (start[0] + end[0]) / 2, (start[1] + end[1]) / 2
    axes.text(x + 22, y, text, color=colour, ha="left", va="center", fontsize=9)


def _canvas(height: float) -> tuple[Figure, Axes]:
    figure = Figure(figsize=(7.2, height), layout="constrained")
    axes = figure.subplots()
    axes.set_axis_off()
    return figure, axes
