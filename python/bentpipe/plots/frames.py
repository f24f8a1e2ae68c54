"""Figures of traces of frame outcomes: bursts, gaps and autocorrelation, compared with fitted
processes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from bentpipe.frames.fitting import lags_of
from bentpipe.frames.outcomes import chosen, survival

from .style import INK, figure_function, line

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from bentpipe.frames import Fit, Outcomes


@figure_function
def frame_fits(outcomes: Outcomes, fits: Sequence[Fit]) -> Figure:
    """Draws the distributions of the lengths of bursts and gaps, the autocorrelation of losses, and
    the distance of each process's distributions from those of the trace. The trace is drawn as
    dots, and each process as a line."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.0, 6.2), layout="constrained")
    ((bursts, gaps), (correlation, distances)) = figure.subplots(2, 2)
    for axes, lengths, lost, label in (
        (bursts, outcomes.bursts, True, "consecutive lost frames (burst)"),
        (gaps, outcomes.gaps, False, "consecutive received frames (gap)"),
    ):
        values, part = survival(lengths)
        some = chosen(len(values), 60)
        axes.loglog(values[some], part[some], ".", color=INK, markersize=5, label="trace")
        grid = np.unique(np.geomspace(1, max(2, values[-1]), 120).astype(np.int64))
        for number, fit in enumerate(fits):
            axes.loglog(grid, fit.chain.run_survival(grid, lost=lost), label=fit.process, **line(number))
        axes.set_ylim(0.5 / len(lengths), 1.5)
        axes.set_xlabel(label)
        axes.set_ylabel("fraction at least this long")
    lags = lags_of(outcomes.frames)
    correlation.semilogx(lags, outcomes.autocorrelation(lags), ".", color=INK, markersize=5)
    for number, fit in enumerate(fits):
        correlation.semilogx(lags, fit.chain.autocorrelation(lags), **line(number))
    correlation.set_xlabel("distance (frames)")
    correlation.set_ylabel("autocorrelation of losses")
    places = np.arange(len(fits))
    for shift, off, label, alpha in (
        (-0.2, [fit.burst_distance for fit in fits], "bursts", 1.0),
        (0.2, [fit.gap_distance for fit in fits], "gaps", 0.45),
    ):
        distances.barh(places + shift, off, 0.38, color=INK, alpha=alpha, label=label)
    distances.set_yticks(places, [fit.process for fit in fits])
    distances.invert_yaxis()
    distances.set_xlabel("largest difference of the distributions")
    distances.legend(loc="lower right")
    handles, labels = bursts.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=len(labels))
    return figure
