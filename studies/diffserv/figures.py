"""Figures 2 to 5: delay, jitter, loss and throughput against the arrival rate. Figure 6: throughput
against loss, with models. Hollow circles and triangles: values of the paper."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

import numpy as np
from bentpipe.plots.published import legend_entries, mark_curve, mark_level, mark_value, mark_words
from bentpipe.plots.style import COLOURS, INK, PREDICTED, figure_function, legend, panels

from .measures import NEAR, approximate, triple_duplicate
from .points import Points

if TYPE_CHECKING:
    from bentpipe.studies import Statement
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Measure, label, factor to the label's unit, and scale of each figure. The scale "range" shows
#: only the range of the curves, because all delays over GEO exceed 0.25 s.
_CURVES: Final = {
    "figure-2-delay": ("delay_s", "mean delay (ms)", 1e3, "range"),
    "figure-3-jitter": ("jitter_absolute_s", "mean absolute jitter (ms)", 1e3, "zero"),
    "figure-4-loss": ("loss", "loss ratio", 1.0, "log"),
    "figure-5-throughput": ("throughput_bit_s", "throughput of completed files (kbit/s)", 1e-3, "range"),
}

#: Values that the paper states, by figure: the begin of a statement's id, and the connections per
#: minute, or ``None`` for a level.
_VALUES: Final[dict[str, dict[str, float | None]]] = {
    "figure-2-delay": {"worst-delay": 10.0},
    "figure-4-loss": {"loss-low": 1.0, "loss-high": 10.0, "loss-most": None},
}

#: Shapes that the paper describes, by figure: the begin of a statement's id, the range of
#: connections per minute, and the words.
_SHAPES: Final[dict[str, dict[str, tuple[float, float, str]]]] = {
    "figure-2-delay": {"delay-divergence": (6, 10, "curves diverge")},
    "figure-3-jitter": {
        "bends-jitter": (6, 10, "1e-7 and 1e-6 grow rapidly"),
        "jitter-gap": (1, 6, "larger gap to 1e-5"),
    },
    "figure-5-throughput": {
        "throughput-size": (1, 2, "larger files\nfaster"),
        "throughput-falls": (2, 6, "falls"),
        "throughput-rapidly": (6, 10, "falls rapidly"),
    },
}

#: Markers, one per file size. The colours of curves are bit error rates.
_MARKS: Final = ("o", "s", "^", "D")


def draw(points: Points, statements: Sequence[Statement]) -> dict[str, Figure]:
    """Returns all figures by name."""
    paper = {statement.id: statement for statement in statements}
    figures = {name: curves(points, paper, name, *what) for name, what in _CURVES.items()}
    figures["figure-6-models"] = models(points, paper)
    return figures


@figure_function
def curves(
    points: Points,
    paper: Mapping[str, Statement],
    name: str,
    measure: str,
    label: str,
    factor: float,
    scale: str,
) -> Figure:
    """Draws a measure against the arrival rate. Colours: bit error rates. Markers: file sizes.
    Bands: 95 % confidence intervals."""
    figure, both = panels([3.2, 3.2])
    sizes = sorted({key.size_kb for key in points})
    rates = sorted({key.ber for key in points})
    for axes, constellation in zip(both, ("LEO", "GEO"), strict=True):
        for ber, colour in zip(rates, COLOURS, strict=False):
            for size, mark in zip(sizes, _MARKS, strict=False):
                at_rate = {
                    p.per_minute: of[measure]
                    for p, of in points.items()
                    if p[:2] == (constellation, size) and p.ber == ber
                }
                x = sorted(at_rate)
                mean = np.array([at_rate[at].value for at in x]) * factor
                half = np.nan_to_num([at_rate[at].half_width for at in x]) * factor
                axes.plot(
                    x,
                    mean,
                    color=colour,
                    marker=mark,
                    markersize=3.5,
                    linewidth=0.9,
                    label=f"{ber:.0e}, {size:g} kB",
                )
                if half.any():
                    axes.fill_between(x, mean - half, mean + half, color=colour, alpha=0.12, linewidth=0)
        axes.set_title(constellation)
        axes.set_ylabel(label)
        if scale == "log":
            axes.set_yscale("log")
        elif scale == "zero":
            axes.set_ylim(0, None)
        _mark(axes, paper, name, constellation.lower(), factor)
    both[-1].set_xlabel("connections per minute")
    figure.legend(
        handles=legend_entries(both[0]),
        ncols=4,
        loc="outside lower center",
        fontsize=7,
        title="BER, file size",
    )
    return figure


def _mark(axes: Axes, paper: Mapping[str, Statement], name: str, constellation: str, factor: float) -> None:
    """Marks the statements about a figure and a constellation."""
    for begin, at in _VALUES.get(name, {}).items():
        if (statement := paper.get(f"{begin}-{constellation}")) is None:
            continue
        if at is None:
            mark_level(axes, statement, scale=factor)
        else:
            mark_value(axes, statement, at, scale=factor)
    shapes = _SHAPES.get(name, {})
    low, high = axes.get_ylim()
    if shapes and low > 0:
        # Space for the words below the curves.
        axes.set_ylim(low - 0.15 * (high - low), high)
    for begin, (first, last, words) in shapes.items():
        if f"{begin}-{constellation}" in paper:
            mark_words(axes, (first, last), words)


@figure_function
def models(points: Points, paper: Mapping[str, Statement]) -> Figure:
    """Draws throughput against the loss ratio, with one marker per point. Dashed and dotted lines:
    the two models of Padhye. Band: distances from the approximate model that count as a fit."""
    figure, both = panels([2.9, 2.9])
    rates, sizes = sorted({key.ber for key in points}), {key.size_kb for key in points}
    for axes, constellation in zip(both, ("LEO", "GEO"), strict=True):
        own = {key: of for key, of in points.items() if key.constellation == constellation}
        for ber, colour in zip(rates, COLOURS, strict=False):
            of = [measures for key, measures in own.items() if key.ber == ber]
            x, y = [one["loss"].value for one in of], [one["throughput_bit_s"].value / 1e3 for one in of]
            axes.plot(x, y, ".", color=colour, markersize=4, label=f"BER {ber:.0e}")
        losses = [one["loss"].value for one in own.values() if one["loss"].value > 0]
        p = np.geomspace(min(losses), max(losses), 100)
        for model, dash, name in (
            (approximate, PREDICTED, "approximate"),
            (triple_duplicate, (0, (1, 1)), "TD only"),
        ):
            y = [model(points, constellation, float(at)) / 1e3 for at in p]
            axes.plot(p, y, color=INK, linestyle=dash, label=name)
            if model is approximate and f"model-most-{constellation.lower()}" in paper:
                near = np.array(y)
                low, high = (1 - NEAR) * near, (1 + NEAR) * near
                axes.fill_between(
                    p, low, high, color=INK, alpha=0.1, linewidth=0, label="paper: most points are near"
                )
        axes.set_xscale("log")
        axes.set_ylim(0, None)
        if (short := paper.get(f"model-short-{constellation.lower()}")) is not None:
            files = [of for key, of in own.items() if key.size_kb == min(sizes) and key.ber == rates[-1]]
            at = np.sort([one["loss"].value for one in files])
            model_of = np.array([approximate(points, constellation, float(p)) / 1e3 for p in at])
            mark_curve(axes, short, at, model_of, colour=COLOURS[len(rates) - 1])
        if f"model-td-low-{constellation.lower()}" in paper:
            lowest = [of["loss"].value for key, of in own.items() if key.ber == rates[0]]
            mark_words(axes, (min(losses), max(lowest)), "TD only is too high", height=0.04)
        axes.set_title(constellation)
        axes.set_ylabel("throughput (kbit/s)")
        legend(axes)
    both[-1].set_xlabel("loss ratio")
    return figure
