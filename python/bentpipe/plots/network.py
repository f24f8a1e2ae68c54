"""Figures of networks: the nodes and links of a scenario."""

from __future__ import annotations

from collections import defaultdict, deque
from typing import TYPE_CHECKING, Any, Final

from bentpipe.scenario.scenarios import Overrides, ScenarioLike, load

from .style import COLOURS, INK, figure_function

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Colours by kind of node.
_FILL: Final = {
    "host": "#E8F1F8",
    "router": "#F3F3F3",
    "proxy": "#FBEADF",
    "network": "#E3F3EE",
    "group": "#E8F1F8",
}
_EDGE: Final = {
    "host": COLOURS[0],
    "router": INK,
    "proxy": COLOURS[1],
    "network": COLOURS[2],
    "group": COLOURS[0],
}

#: Distance of columns and of rows in inches.
_COLUMN: Final = 2.1
_ROW: Final = 0.75


@figure_function
def network(scenario: ScenarioLike, overrides: Overrides = ()) -> Figure:
    """Draws the nodes and links of a scenario, from the sender of the first flow on the left.
    ``scenario`` and ``overrides`` are as in :func:`bentpipe.load`, which raises the errors.

    >>> figure = network("examples/geo-upload.toml")
    >>> sorted(text.get_text() for text in figure.axes[0].texts)[-2:]
    ['server', 'user']
    """
    from matplotlib.figure import Figure

    picture = load(scenario, overrides).picture
    places = _places(picture)
    columns = 1 + max(x for x, _ in places.values())
    rows = max(abs(y) for _, y in places.values()) * 2 + 1
    figure = Figure(figsize=(max(3.5, _COLUMN * columns), max(1.1, _ROW * rows + 0.3)), layout="constrained")
    axes = figure.subplots()
    axes.set_axis_off()
    axes.set_xlim(-0.5, columns - 0.5)
    axes.set_ylim(-rows / 2 - 0.1, rows / 2 + 0.1)
    for node in picture["nodes"]:
        x, y = places[node["id"]]
        axes.text(
            x,
            -y,
            _wrapped(node["label"]),
            ha="center",
            va="center",
            fontsize=9,
            zorder=3,
            bbox={
                "boxstyle": "round,pad=0.45",
                "facecolor": _FILL.get(node["kind"], "white"),
                "edgecolor": _EDGE.get(node["kind"], INK),
                "linewidth": 1.0,
            },
            # On a dark page, boxes stay light.
            color="#1d1f21",
        )
    for edge in picture["edges"]:
        (x0, y0), (x1, y1) = places[edge["from"]], places[edge["to"]]
        axes.plot([x0, x1], [-y0, -y1], color=INK, linewidth=1.0, zorder=1)
        # Labels of edges that leave a node in several directions are on different sides.
        above = y0 == y1 or y0 + y1 < 0
        # The distance keeps the line clear over the width of the text.
        distance = 0.1 + 0.25 * abs(y1 - y0)
        axes.text(
            (x0 + x1) / 2,
            -(y0 + y1) / 2 + (distance if above else -distance),
            _wrapped(edge["label"]),
            ha="center",
            va="bottom" if above else "top",
            fontsize=7,
            color=INK,
            zorder=2,
        )
    return figure


def _wrapped(label: str) -> str:
    return label.replace(", ", "\n", 1) if len(label) > 16 else label


def _places(picture: dict[str, Any]) -> dict[str, tuple[float, float]]:
    """Returns column and row of each node. The column is the number of edges from the first sender;
    the rows of a column are centred and ordered by the rows of the neighbours before."""
    near: dict[str, list[str]] = defaultdict(list)
    for edge in picture["edges"]:
        near[edge["from"]].append(edge["to"])
        near[edge["to"]].append(edge["from"])
    names = [node["id"] for node in picture["nodes"]]
    column: dict[str, int] = {}
    for start in [picture["first"], *names]:
        if start is None or start in column:
            continue
        column[start] = 0
        waiting = deque([start])
        while waiting:
            at = waiting.popleft()
            for other in near[at]:
                if other not in column:
                    column[other] = column[at] + 1
                    waiting.append(other)
    places: dict[str, tuple[float, float]] = {}
    for number in range(max(column.values()) + 1):
        of = [name for name in names if column[name] == number]
        before = {name: [places[other][1] for other in near[name] if other in places] for name in of}
        of.sort(key=lambda name: sum(before[name]) / len(before[name]) if before[name] else 0.0)
        for index, name in enumerate(of):
            places[name] = (float(number), index - (len(of) - 1) / 2)
    return places
