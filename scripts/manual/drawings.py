"""Schematic drawings of the manual."""

from __future__ import annotations

from collections.abc import Callable

from bentpipe.plots import COLOURS
from matplotlib.axes import Axes
from matplotlib.figure import Figure

BLUE, ORANGE, GREEN, PINK, *_ = COLOURS
GREY = "#8a8a8a"


def dama() -> Figure:
    """Draws the request cycle between a terminal and the network control centre, to scale."""
    superframe, delay, cycle = 94.0, 250.0, 11
    arrival, request = 40.0, 94.0
    received = request + delay
    planned = superframe * -(-received // superframe)
    known = planned + delay
    slot = request + cycle * superframe
    figure, axes = _canvas(3.8)
    end = slot + delay + 130
    for name, height in (("terminal", 0.0), ("NCC and\ngateway", 1.0)):
        axes.plot([0, end], [height, height], color=GREY, linewidth=1)
        axes.text(-15, height, name, ha="right", va="center")
    for number in range(int(end / superframe) + 1):
        time = number * superframe
        axes.plot([time, time], [-0.03, 0.03], color=GREY, linewidth=1)
        axes.plot([time, time], [0.97, 1.03], color=GREY, linewidth=1)
    _arrow(axes, (request, 0), (received, 1), ORANGE, "request")
    _arrow(axes, (planned, 1), (known, 0), GREEN, "burst time plan")
    _arrow(axes, (slot, 0), (slot + delay, 1), BLUE, "packet")
    axes.plot([arrival], [0], "o", color=BLUE, markersize=5)
    for time, height, text, side in (
        (arrival + 15, -0.07, "packet\narrives", "right"),
        (request - 5, -0.07, "1 request\nsent", "left"),
        (known, -0.07, "4 plan\nreceived", "center"),
        (slot, -0.07, "5 packet sent\nin its slot", "center"),
        (received + 10, 1.06, "2 request\nreceived", "right"),
        (planned - 5, 1.06, "3 plan\nsent", "left"),
        (slot + delay, 1.06, "packet\nreceived", "center"),
    ):
        axes.text(time, height, text, ha=side, va="bottom" if height > 0 else "top", fontsize=8)
    axes.text(8.5 * superframe, 1.06, "ticks: superframes of 94 ms", ha="center", va="bottom", fontsize=8)
    axes.annotate(
        "", (slot, -0.42), (request, -0.42), arrowprops={"arrowstyle": "<->", "color": GREY, "linewidth": 1}
    )
    text = f"response time: L = {cycle} superframes = {cycle * superframe / 1000:.2f} s"
    axes.text((request + slot) / 2, -0.45, text, ha="center", va="top")
    axes.set(xlim=(-230, end), ylim=(-0.62, 1.35))
    return figure


def measurement() -> Figure:
    """Draws the two hosts of a measurement, and the commands that use the result."""
    figure, axes = _canvas(2.9)
    for x, width, text in (
        (0.0, 2.3, "your host\nbentpipe measure"),
        (6.2, 2.3, "another host\nbentpipe reflect"),
    ):
        _box(axes, x, 1.6, width, text, True)
    _box(axes, 3.1, 1.6, 2.3, "the path", False)
    for start, end in ((2.3, 3.1), (5.4, 6.2)):
        _between(axes, (start, 1.75), (end, 1.75))
        _between(axes, (end, 1.45), (start, 1.45))
    axes.text(4.25, 2.05, "probes, ICMP echo, loads", ha="center", va="bottom", fontsize=8)
    _box(axes, 0.0, 0.0, 2.3, "run folder\nreport, plot, compare", False)
    _box(axes, 3.1, 0.0, 2.3, "bentpipe fit", False)
    _box(axes, 6.2, 0.0, 2.3, "scenario\npredict, simulate, emulate", False)
    _between(axes, (1.15, 1.25), (1.15, 0.35))
    _between(axes, (2.3, 0.0), (3.1, 0.0))
    _between(axes, (5.4, 0.0), (6.2, 0.0))
    axes.set(xlim=(-0.1, 8.6), ylim=(-0.5, 2.5))
    return figure


def drops() -> Figure:
    """Draws the lost packets of a burst under each drop policy."""
    figure, axes = _canvas(2.6)
    packets = range(48)
    rows: tuple[tuple[str, Callable[[int], bool]], ...] = (
        ("drop-tail", lambda number: number >= 22 and number % 9 != 4),
        ("drop-front", lambda number: 3 <= number < 27 and number % 9 != 4),
        ("AQM", lambda number: number in (13, 21, 27, 32, 36, 40, 43)),
        ("fair queuing: burst", lambda number: number >= 18 and number % 9 != 4),
    )
    for row, (name, lost) in enumerate(rows):
        axes.text(-1, -row, name, ha="right", va="center", fontsize=8)
        for colour, marker, shown in ((BLUE, "s", False), (ORANGE, "x", True)):
            numbers = [number for number in packets if lost(number) == shown]
            axes.plot(numbers, [-row] * len(numbers), marker, color=colour, markersize=4)
    axes.text(-1, -4, "another port, sent later", ha="right", va="center", fontsize=8)
    axes.plot([36, 39, 42, 45], [-4] * 4, "s", color=BLUE, markersize=4)
    axes.text(0, 0.55, "first packet sent", ha="left", va="bottom", fontsize=8)
    axes.text(47, 0.55, "last packet sent", ha="right", va="bottom", fontsize=8)
    axes.plot([], [], "s", color=BLUE, markersize=4, label="arrived")
    axes.plot([], [], "x", color=ORANGE, markersize=4, label="lost")
    axes.legend(loc="lower center", ncols=2, bbox_to_anchor=(0.6, -0.16))
    axes.set(xlim=(-16, 48), ylim=(-4.9, 1.1))
    return figure


def impulses() -> Figure:
    """Draws the departures of two impulses from a terminal that requests rates, and from one that
    requests volumes."""
    figure, axes = _canvas(2.9)
    superframe, response, second = 1.0, 5, 8.4
    first = 0.5
    onset = 1 + response
    for row, (name, again) in enumerate((("RBDC", second), ("VBDC", 9.0 + response))):
        height = -1.5 * row
        axes.plot([0, 16.5], [height, height], color=GREY, linewidth=1)
        axes.text(-0.3, height, name, ha="right", va="center")
        for number in range(17):
            axes.plot([number * superframe] * 2, [height - 0.05, height + 0.05], color=GREY, linewidth=1)
        for start in (first, second):
            axes.annotate(
                "",
                (start, height + 0.04),
                (start, height + 0.5),
                arrowprops={"arrowstyle": "-|>", "color": ORANGE, "linewidth": 1.6},
            )
        for begin, fast in ((first, float(onset)), (second, again)):
            slow = [begin + 0.7 * step for step in range(20) if begin + 0.7 * step < fast]
            quick = [fast + 0.09 * step for step in range(16)]
            for place, colour in ((slow, GREEN), (quick, BLUE)):
                axes.plot(place, [height - 0.2] * len(place), "|", color=colour, markersize=9)
        if not row:
            for start, text in ((first, "first impulse"), (second, "second impulse")):
                axes.text(start, 0.54, text, ha="center", va="bottom", fontsize=8, color=ORANGE)
            axes.annotate(
                "",
                (onset, -0.52),
                (first, -0.52),
                arrowprops={"arrowstyle": "<->", "color": GREY, "linewidth": 1},
            )
            axes.text((first + onset) / 2, -0.56, "wait for capacity", ha="center", va="top", fontsize=8)
            axes.text(onset + 0.15, -0.42, "onset", ha="left", va="top", fontsize=8)
    axes.plot([], [], "|", color=GREEN, markersize=9, label="packet at the constant rate (CRA)")
    axes.plot([], [], "|", color=BLUE, markersize=9, label="packet in requested capacity")
    axes.legend(loc="lower center", ncols=2, bbox_to_anchor=(0.5, -0.16))
    axes.set(xlim=(-1.8, 16.6), ylim=(-2.4, 0.9))
    return figure


def window() -> Figure:
    """Draws two round trips of a sender with a window of four segments."""
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
    """Draws the real and the modelled parts of each instrument and its clock."""
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


def _between(axes: Axes, start: tuple[float, float], end: tuple[float, float]) -> None:
    axes.annotate("", end, start, arrowprops={"arrowstyle": "-|>", "color": GREY, "linewidth": 1.2})


def _canvas(height: float) -> tuple[Figure, Axes]:
    figure = Figure(figsize=(7.2, height), layout="constrained")
    axes = figure.subplots()
    axes.set_axis_off()
    return figure, axes
