"""Figures 2 to 5: delay, jitter, loss and throughput against arrivals; 6: throughput against loss, with models."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
from bentpipe.plots.style import COLOURS, DASHES, INK, PREDICTED, figure_function, legend, panels

from .measures import approximate, triple_duplicate
from .points import Points

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Figure by figure: measure, label, factor to the label's unit, and whether on a logarithmic scale.
_CURVES: Final = {
    "figure-2-delay": ("delay_s", "mean delay (ms)", 1e3, False),
    "figure-3-jitter": ("jitter_absolute_s", "mean absolute jitter (ms)", 1e3, False),
    "figure-4-loss": ("loss", "loss ratio", 1.0, True),
    "figure-5-throughput": ("throughput_bit_s", "throughput of completed files (kbit/s)", 1e-3, False),
}


def draw(points: Points) -> dict[str, Figure]:
    """All figures by their names."""
    figures = {name: curves(points, *what) for name, what in _CURVES.items()}
    figures["figure-6-models"] = models(points)
    return figures


@figure_function
def curves(points: Points, measure: str, label: str, factor: float, logarithmic: bool) -> Figure:
    """A measure against the arrival rate: colours are file sizes, dashes bit error rates, bands 95 %."""
    figure, both = panels([2.9, 2.9])
    sizes = sorted({place.size_kb for place in points})
    rates = sorted({place.ber for place in points})
    for axes, constellation in zip(both, ("LEO", "GEO"), strict=True):
        for size, colour in zip(sizes, COLOURS, strict=False):
            for ber, dash in zip(rates, DASHES, strict=False):
                own = {
                    p.per_minute: of[measure]
                    for p, of in points.items()
                    if p[:2] == (constellation, size) and p.ber == ber
                }
                x = sorted(own)
                mean = np.array([own[at].value for at in x]) * factor
                half = np.nan_to_num([own[at].half_width for at in x]) * factor
                axes.plot(x, mean, color=colour, linestyle=dash, label=f"{size:g} kB, BER {ber:.0e}")
                if half.any():
                    axes.fill_between(x, mean - half, mean + half, color=colour, alpha=0.12, linewidth=0)
        axes.set_title(constellation)
        axes.set_ylabel(label)
        if logarithmic:
            axes.set_yscale("log")
        else:
            axes.set_ylim(0, None)
    both[-1].set_xlabel("connections per minute")
    handles, labels = both[0].get_legend_handles_labels()
    figure.legend(handles, labels, ncols=3, loc="outside lower center", fontsize=7)
    return figure


@figure_function
def models(points: Points) -> Figure:
    """Throughput against the loss ratio, a point for each run, with both models of Padhye dashed."""
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
