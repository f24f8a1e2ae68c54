"""Plans of queries: operators in the boxes of nodes, and stream channels between the boxes."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from .style import COLOURS, INK, figure_function

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from bentpipe.sensors import Plan

#: Characters of a line in a node's box.
_WIDTH = 38
#: Width of a character and height of a line in inches, the figure's unit.
_CHARACTER, _LINE = 0.066, 0.17


@figure_function
def query_plan(plan: Plan) -> Figure:
    """Draws each node as a box with its operators, the sink at the top, and the rows that travel on
    each hop."""
    from matplotlib.figure import Figure
    from matplotlib.patches import Rectangle

    depth = _depths(plan)
    column = _columns(plan)
    lines = {node.name: _lines(plan, node.name) for node in plan.nodes}
    width = _WIDTH * _CHARACTER
    heights = {name: (len(text) + 2) * _LINE for name, text in lines.items()}
    rows = [
        max(heights[name] for name in depth if depth[name] == level)
        for level in range(max(depth.values()) + 1)
    ]
    tops = [-sum(row + 0.75 for row in rows[:level]) for level in range(len(rows))]
    across = (max(column.values()) + 1) * (width + 0.5)
    down = sum(rows) + 0.75 * (len(rows) - 1)
    figure = Figure(figsize=(across + 0.3, down + 1.2), layout="constrained")
    axes = figure.subplots()
    for node in plan.nodes:
        left, top = column[node.name] * (width + 0.5), tops[depth[node.name]]
        height = heights[node.name]
        corner = (left, top - height)
        axes.add_patch(
            Rectangle(corner, width, height, facecolor="#F4F5F6", edgecolor="#9AA0A6", linewidth=1)
        )
        axes.text(
            left + width / 2,
            top - 0.75 * _LINE,
            node.name,
            ha="center",
            va="center",
            weight="bold",
            color=INK,
        )
        for number, line in enumerate(lines[node.name]):
            axes.text(
                left + 0.08,
                top - (number + 2) * _LINE,
                line,
                va="center",
                fontsize=7,
                family="monospace",
                color=INK,
            )
    for (source, target), (messages, size) in _hops(plan).items():
        upwards = depth[source] > depth[target]
        lower, upper = (source, target) if upwards else (target, source)
        # Downward channels are drawn next to upward channels.
        aside = 0.0 if upwards else 0.3
        start = (column[lower] * (width + 0.5) + width / 2 + aside, tops[depth[lower]])
        end = (column[upper] * (width + 0.5) + width / 2 + aside, tops[depth[upper]] - heights[upper])
        points = (start, end) if upwards else (end, start)
        axes.annotate(
            "",
            xy=points[1],
            xytext=points[0],
            arrowprops={"arrowstyle": "->", "color": COLOURS[0], "linewidth": 1.5},
        )
        # Upward labels are closer to the upper node, so that two labels do not overlap.
        share = 0.6 if upwards else 0.25
        middle = tuple(low + share * (high - low) for low, high in zip(start, end, strict=True))
        axes.text(
            middle[0] + 0.06,
            middle[1],
            f"{messages:.3g} rows/s, {size:.3g} B/s",
            fontsize=7,
            va="center",
            color=INK,
            bbox={"facecolor": "white", "edgecolor": "none", "pad": 1},
        )
    axes.set_xlim(-0.1, across)
    axes.set_ylim(-down - 0.1, 0.1)
    axes.set_aspect("equal")
    axes.axis("off")
    cost, shipped = plan.cost, plan.shipped
    axes.set_title(
        "\n".join(textwrap.wrap(" ".join(plan.query.split()), max(40, int(across / 0.085))))
        + f"\n{cost.messages_per_s:.3g} messages/s, {cost.bytes_per_s:.3g} B/s, {cost.power_w * 1e3:.3g} mW"
        + f" (shipping all: {shipped.messages_per_s:.3g}, {shipped.bytes_per_s:.3g} B/s,"
        + f" {shipped.power_w * 1e3:.3g} mW)",
        fontsize=8,
    )
    return figure


def _depths(plan: Plan) -> dict[str, int]:
    """Returns the number of hops of each node from the sink."""
    parent = {node.name: node.parent for node in plan.nodes}

    def depth(name: str) -> int:
        above = parent[name]
        return 0 if above is None else 1 + depth(above)

    return {name: depth(name) for name in parent}


def _columns(plan: Plan) -> dict[str, float]:
    """Returns the horizontal position of each node. Leaves are placed side by side, and other nodes
    above the middle of their children."""
    children: dict[str | None, list[str]] = {}
    for node in plan.nodes:
        children.setdefault(node.parent, []).append(node.name)
    column: dict[str, float] = {}
    leaves = 0

    def place(name: str) -> None:
        nonlocal leaves
        below = children.get(name, [])
        for child in below:
            place(child)
        if below:
            column[name] = sum(column[child] for child in below) / len(below)
        else:
            column[name] = leaves
            leaves += 1

    for name in children.get(None, []):
        place(name)
    return column


def _lines(plan: Plan, node: str) -> list[str]:
    """Returns the operators of a node as lines."""
    lines: list[str] = []
    for operator in plan.operators:
        if operator.node == node:
            text = f"{operator.kind}: {operator.detail}"
            wrapped = textwrap.wrap(text, _WIDTH - 2, subsequent_indent="  ")
            lines += wrapped if len(wrapped) <= 4 else [*wrapped[:3], "  ..."]
    return lines


def _hops(plan: Plan) -> dict[tuple[str, str], tuple[float, float]]:
    """Returns the rows and the bytes of tuples per second on each hop."""
    hops: dict[tuple[str, str], tuple[float, float]] = {}
    for channel in plan.channels:
        for pair in zip(channel.path, channel.path[1:], strict=False):
            rows, size = hops.get(pair, (0.0, 0.0))
            hops[pair] = (rows + channel.rows_per_s, size + channel.rows_per_s * channel.tuple_bytes)
    return hops
