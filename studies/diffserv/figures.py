"""Figures 2 to 5: delay, jitter, loss and throughput against the arrival rate. Figure 6: throughput
against loss, with models."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
from bentpipe.plots.style import COLOURS, INK, PREDICTED, figure_function, legend, panels

from .measures import approximate, triple_duplicate
from .points import Points

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Per figure: measure, label, factor to the label's unit, and scale. The scale "range" shows only
#: the range of the curves, which separates the curves of GEO, all above a quarter of a second.
_CURVES: Final = {
    "figure-2-delay": ("delay_s", "mean delay (ms)", 1e3, "range"),
    "figure-3-jitter": ("jitter_absolute_s", "mean absolute jitter (ms)", 1e3, "zero"),
    "figure-4-loss": ("loss", "loss ratio", 1.0, "log"),
    "figure-5-throughput": ("throughput_bit_s", "throughput of completed files (kbit/s)", 1e-3, "range"),
}

#: Values that the paper states: figure, constellation, connections per minute, value in the
#: figure's unit.
_STATED: Final = {
    "figure-2-delay": {"LEO": [(10, 272.4)], "GEO": [(10, 365.1)]},
    "figure-4-loss": {"LEO": [(1, 0.000326), (10, 0.05885)], "GEO": [(1, 0.000332), (10, 0.060652)]},
}

#: One marker per file size; colours are bit error rates.
_MARKS: Final = ("o", "s", "^", "D")


def draw(points: Points) -> dict[str, Figure]:
    """Returns all figures by name."""
    figures = {name: curves(points, name, *what) for name, what in _CURVES.items()}
    figures["figure-6-models"] = models(points)
    return figures


@figure_function
def curves(points: Points, name: str, measure: str, label: str, factor: float, scale: str) -> Figure:
    """Draws a measure against the arrival rate: colours are bit error rates, markers file sizes,
    bands 95 %."""
    figure, both = panels([3.2, 3.2])
    sizes = sorted({place.size_kb for place in points})
    rates = sorted({place.ber for place in points})
    for axes, constellation in zip(both, ("LEO", "GEO"), strict=True):
        for ber, colour in zip(rates, COLOURS, strict=False):
            for size, mark in zip(sizes, _MARKS, strict=False):
                own = {
                    p.per_minute: of[measure]
                    for p, of in points.items()
                    if p[:2] == (constellation, size) and p.ber == ber
                }
                x = sorted(own)
                mean = np.array([own[at].value for at in x]) * factor
                half = np.nan_to_num([own[at].half_width for at in x]) * factor
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
        for number, (x_of, y_of) in enumerate(_STATED.get(name, {}).get(constellation, [])):
            axes.plot(
                x_of,
                y_of,
                linestyle="",
                marker="o",
                markersize=8,
                markerfacecolor="none",
                color=INK,
                label=None if number else "the paper states",
            )
        axes.set_title(constellation)
        axes.set_ylabel(label)
        if scale == "log":
            axes.set_yscale("log")
        elif scale == "zero":
            axes.set_ylim(0, None)
    both[-1].set_xlabel("connections per minute")
    handles, labels = both[0].get_legend_handles_labels()
    figure.legend(handles, labels, ncols=4, loc="outside lower center", fontsize=7, title="BER, file size")
    return figure


@figure_function
def models(points: Points) -> Figure:
    """Draws throughput against the loss ratio, one point per run, with both models of Padhye
    dashed."""
    figure, both = panels([2.9, 2.9])
    rates = sorted({place.ber for place in points})
    for axes, constellation in zip(both, ("LEO", "GEO"), strict=True):
        own = {place: of for place, of in points.items() if place.constellation == constellation}
        for ber, colour in zip(rates, COLOURS, strict=False):
            of = [measures for place, measures in own.items() if place.ber == ber]
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
        axes.set_xscale("log")
        axes.set_ylim(0, None)
        axes.set_title(constellation)
        axes.set_ylabel("throughput (kbit/s)")
        legend(axes)
    both[-1].set_xlabel("loss ratio")
    return figure
