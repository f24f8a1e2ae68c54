"""Marks of the values that a paper states, in figures of studies.

A mark has the shape of the statement's relation: a circle for a value, a triangle that points to
larger values for "at least", and a triangle that points to smaller values for "at most". The
tolerance of the statement is a bar or a band. The legend has each shape once, as "paper".
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol

import numpy as np

from .style import INK, NOT_PREDICTED

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D
    from numpy.typing import ArrayLike

    from bentpipe.plots.data import FloatArray

Direction = Literal["x", "y"]


class Published(Protocol):
    """The value of a statement: see :class:`bentpipe.studies.Statement`."""

    @property
    def value(self) -> float:
        """The paper's value, in the statement's unit."""

    @property
    def tolerance(self) -> float:
        """Maximum difference of a value that agrees."""

    @property
    def relation(self) -> str:
        """The relation: "about", "at least" or "at most"."""


#: Marker and label of each relation, by the axis of the value.
_MARKERS: Final[Mapping[Direction, Mapping[str, str]]] = {
    "x": {"about": "o", "at least": ">", "at most": "<"},
    "y": {"about": "o", "at least": "^", "at most": "v"},
}
_LABELS: Final[Mapping[str, str]] = {
    "about": "paper",
    "at least": "paper: at least",
    "at most": "paper: at most",
}
#: Drawn over curves.
_ORDER: Final = 5
_DASHES: Final[Any] = (0, (7, 2))


def mark_value(
    axes: Axes,
    of: Published,
    at: float,
    *,
    along: Direction = "y",
    colour: str = INK,
    scale: float = 1.0,
    base: float = 0.0,
    face: str = "none",
) -> None:
    """Marks a value that the paper states. ``along`` is the axis of the value, and ``at`` the
    position on the other axis. The mark is at ``base + scale * value``. ``colour`` is the colour of
    the curve that the paper speaks of. ``face`` is the colour inside the mark.

    >>> from bentpipe.plots.style import panels
    >>> from bentpipe.studies import Statement
    >>> figure, (axes,) = panels([2.0])
    >>> mark_value(axes, Statement("a", "rate", 1500.0, "kbit/s", 100.0), 20.0, scale=1e-3)
    >>> mark_value(axes, Statement("b", "rate", 400.0, "kbit/s", 100.0), 40.0, scale=1e-3)
    >>> [handle.get_label() for handle in paper_handles(figure)]
    ['paper']
    """
    low, middle, high = (base + scale * one for one in _range(of))
    marker = _name(axes, of, along)
    if of.tolerance:
        bar: Any = {"color": colour, "linewidth": 1.2, "zorder": _ORDER, "clip_on": False}
        _plot(axes, *_ordered(along, [low, high], [at, at]), marker="_|"[along == "x"], markersize=5, **bar)
    style: Any = {"markersize": 8.0, "markerfacecolor": face, "markeredgewidth": 1.4}
    _plot(
        axes,
        *_ordered(along, [middle], [at]),
        linestyle="",
        marker=marker,
        color=colour,
        zorder=_ORDER + 0.1,
        clip_on=False,
        **style,
    )


def mark_level(
    axes: Axes,
    of: Published,
    between: tuple[float, float] | None = None,
    *,
    along: Direction = "y",
    colour: str = INK,
    scale: float = 1.0,
    base: float = 0.0,
    note: str = "",
    below: bool = False,
) -> None:
    """Draws a value that the paper states as a dashed line with markers, and its tolerance as a
    band. The line is ``between`` two positions on the other axis. Without ``between``, it spans the
    whole axis, whose limits must be set before. ``note`` is a text at the line, under the line if
    ``below`` is true. The other arguments are those of :func:`mark_value`."""
    low, middle, high = (base + scale * one for one in _range(of))
    limits, is_log = (
        (axes.get_xlim(), axes.get_xscale() == "log")
        if along == "y"
        else (axes.get_ylim(), axes.get_yscale() == "log")
    )
    begin, end = between or limits
    positions = np.geomspace(begin, end, 5) if is_log else np.linspace(begin, end, 5)
    _line(axes, of, positions, np.full(5, middle), np.full(5, low), np.full(5, high), along, colour)
    if note:
        x, y = (positions[-1], middle) if along == "y" else (middle, positions[-1])
        axes.annotate(
            note,
            (x, y),
            (-2, -4 if below else 4) if along == "y" else (4, -2),
            textcoords="offset points",
            horizontalalignment="right" if along == "y" else "left",
            verticalalignment="top" if below or along == "x" else "bottom",
            fontsize=7.5,
            color=colour,
            zorder=_ORDER,
        )
    if between is None:
        (axes.set_xlim if along == "y" else axes.set_ylim)(*limits)


def mark_curve(
    axes: Axes, of: Published, at: FloatArray, reference: FloatArray, *, colour: str = INK
) -> None:
    """Draws the product of a value that the paper states and a curve ``reference`` at the positions
    ``at`` on the x axis, as a dashed line with markers, and a band for the tolerance."""
    low, middle, high = (one * reference for one in _range(of))
    _line(axes, of, at, middle, low, high, "y", colour)


def mark_words(
    axes: Axes, between: tuple[float, float], words: str, *, height: float = 0.05, colour: str = INK
) -> None:
    """Writes a shape that the paper describes in words above a line over the part of the x axis to
    which the words apply. ``height`` is the position of the line on the y axis, from 0 to 1."""
    axes.annotate(
        "",
        (between[0], height),
        (between[1], height),
        xycoords=axes.get_xaxis_transform(),
        textcoords=axes.get_xaxis_transform(),
        arrowprops={"arrowstyle": "|-|,widthA=0.25,widthB=0.25", "color": colour, "linewidth": 0.9},
        zorder=_ORDER,
    )
    middle = math.sqrt(between[0] * between[1]) if axes.get_xscale() == "log" else sum(between) / 2
    axes.text(
        middle,
        height + 0.015,
        f"paper: {words}",
        transform=axes.get_xaxis_transform(),
        horizontalalignment="center",
        verticalalignment="bottom",
        fontsize=7.5,
        color=colour,
        zorder=_ORDER,
    )


def legend_entries(axes: Axes) -> list[Any]:
    """Returns the entries of a legend: the curves of ``axes``, and then the marks of the paper in
    all panels of the figure."""
    figure: Any = axes.figure
    marks = paper_handles(figure)
    own, _ = axes.get_legend_handles_labels()
    return [*(one for one in own if one not in marks), *marks]


def paper_handles(figure: Figure) -> list[Line2D]:
    """Returns the entries of a figure's legend for the marks of the paper, which legends with
    ``handles`` of their own need."""
    found = {str(one.get_label()): one for axes in figure.axes for one in axes.lines}
    return [found[label] for label in _LABELS.values() if label in found]


def _line(
    axes: Axes,
    of: Published,
    positions: FloatArray,
    middle: FloatArray,
    low: FloatArray,
    high: FloatArray,
    along: Direction,
    colour: str,
) -> None:
    """Draws a dashed line with two markers, and a band."""
    marker = _name(axes, of, along)
    fill = axes.fill_between if along == "y" else axes.fill_betweenx
    if of.tolerance:
        fill(positions, low, high, color=colour, alpha=0.1, linewidth=0, zorder=1.5)
    last = len(positions) - 1
    style: Any = {"markersize": 5, "markerfacecolor": "white", "markeredgewidth": 1.1}
    _plot(
        axes,
        *((middle, positions) if along == "x" else (positions, middle)),
        color=colour,
        linestyle=_DASHES,
        linewidth=1.1,
        marker=marker,
        markevery=[last // 4, 3 * last // 4],
        zorder=_ORDER,
        **style,
    )


def _plot(axes: Axes, x: ArrayLike, y: ArrayLike, **style: Any) -> None:
    """Draws a line without an entry in the legend."""
    NOT_PREDICTED.update(axes.plot(x, y, **style))


def _range(of: Published) -> tuple[float, float, float]:
    """Returns the smallest value that agrees, the value, and the greatest value that agrees. The
    side that the relation leaves open ends at the value."""
    return (
        of.value if of.relation == "at most" else of.value - of.tolerance,
        of.value,
        of.value if of.relation == "at least" else of.value + of.tolerance,
    )


def _name(axes: Axes, of: Published, along: Direction) -> str:
    """Adds the statement's shape to the legend, unless the figure already has it. Returns the
    marker."""
    marker, label = _MARKERS[along][of.relation], _LABELS[of.relation]
    figure: Any = axes.figure
    if label not in [one.get_label() for one in paper_handles(figure)]:
        style: Any = {"markerfacecolor": "white", "markeredgewidth": 1.3, "linestyle": ""}
        axes.plot([], [], marker=marker, color=INK, markersize=7, label=label, **style)
    return marker


def _ordered(along: Direction, values: list[float], at: list[float]) -> tuple[list[float], list[float]]:
    return (values, at) if along == "x" else (at, values)
