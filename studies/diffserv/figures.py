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

#: Measure, label, factor to the label's unit, and scale of each figure. The scale "range" shows
#: only the range of the curves, because all delays over GEO exceed 0.25 s.
_CURVES: Final = {
    "figure-2-delay": ("delay_s", "mean delay (ms)", 1e3, "range"),
    "figure-3-jitter": ("jitter_absolute_s", "mean absolute jitter (ms)", 1e3, "zero"),
    "figure-4-loss": ("loss", "loss ratio", 1.0, "log"),
    "figure-5-throughput": ("throughput_bit_s", "throughput of completed files (kbit/s)", 1e-3, "range"),
}

#: Values that the paper states, by figure and constellation: connections per minute, and the value
#: in the figure's unit.
_STATED: Final = {
    "figure-2-delay": {"LEO": [(10, 272.4)], "GEO": [(10, 365.1)]},
    "figure-4-loss": {"LEO": [(1, 0.000326), (10, 0.05885)], "GEO": [(1, 0.000332), (10, 0.060652)]},
}

#: Markers, one per file size. The colours of curves are bit error rates.
_MARKS: Final = ("o", "s", "^", "D")


def draw(points: Points) -> dict[str, Figure]:
    """Returns all figures by name."""
    figures = {name: curves(points, name, *what) for name, what in _CURVES.items()}
    figures["figure-6-models"] = models(points)
    return figures


@figure_function
def curves(points: Points, name: str, measure: str, label: str, factor: float, scale: str) -> Figure:
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
    """Draws throughput against the loss ratio, with one marker per point. Dashed and dotted lines:
    the two models of Padhye."""
    figure, both = panels([2.9, 2.9])
    rates = sorted({key.ber for key in points})
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
        axes.set_xscale("log")
        axes.set_ylim(0, None)
        axes.set_title(constellation)
        axes.set_ylabel("throughput (kbit/s)")
        legend(axes)
    both[-1].set_xlabel("loss ratio")
    return figure
