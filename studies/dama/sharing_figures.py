"""Figures 12 to 20: fairness, utilisation and rates of flows that share a terminal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

import numpy as np
from bentpipe.plots.style import COLOURS, figure_function, panels

from .curves import CONGESTIONS, SCHEMES, Congestion, Scheme
from .sharing import JOIN_S, LEAVE_S, RANDOM_FLOW_COUNT, RETURN_S, SEEDS, Case, Sharing

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_COLOUR: Final = dict(zip(CONGESTIONS, COLOURS, strict=False))


def draw_fairness(sharing: Mapping[Case, Sharing]) -> dict[str, Figure]:
    """Draws figures 12 to 14 (five flows), 15 (active connections), and 16 and 17 (ten flows)."""
    figures = {}
    for number, scheme in enumerate(SCHEMES, start=12):
        figures[f"figure-{number}-five-flows-{scheme}"] = five(sharing, scheme)
    figures["figure-15-active-connections"] = active()
    figures["figure-16-ten-flows-cra"] = ten(sharing, "cra")
    figures["figure-17-ten-flows-vbdc"] = ten(sharing, "vbdc")
    # The paper has no figure for this scheme.
    figures["ten-flows-rbdc"] = ten(sharing, "rbdc")
    return figures


@figure_function
def five(sharing: Mapping[Case, Sharing], scheme: Scheme) -> Figure:
    """Draws Jain's fairness index of five flows, and the utilisation, against time."""
    figure, (above, below) = panels([2.3, 2.3])
    for congestion in CONGESTIONS:
        one = sharing[Case(congestion, scheme)]
        label, colour = congestion.capitalize(), _COLOUR[congestion]
        above.plot(one.fairness.time_s, one.fairness.value, color=colour, label=label)
        below.plot(one.utilisation.time_s, 100 * one.utilisation.value, color=colour, label=label)
    above.set_title(f"Five flows, {scheme.upper()}: fairness")
    _finish(above, below)
    below.set_xlim(0, 200)
    return figure


@figure_function
def ten(sharing: Mapping[Case, Sharing], scheme: Scheme) -> Figure:
    """Draws Jain's fairness index of ten flows, and the utilisation, against time. Lines: means
    over the seeds. Bands: 95 % confidence intervals. Thin lines: the first seed."""
    figure, (above, below) = panels([2.3, 2.3])
    for congestion in CONGESTIONS:
        runs = [sharing[Case(congestion, scheme, RANDOM_FLOW_COUNT, seed)] for seed in SEEDS]
        time = runs[0].utilisation.time_s
        for axes, values in (
            (above, [np.interp(time, one.fairness.time_s, one.fairness.value) for one in runs]),
            (below, [100 * one.utilisation.value for one in runs]),
        ):
            _band(axes, time, np.array(values), congestion)
    above.set_title(f"Ten flows that come and go, {scheme.upper()}: fairness")
    _finish(above, below)
    below.set_xlim(5, 120)
    return figure


@figure_function
def active() -> Figure:
    """Draws the number of active connections against time. Line: the first seed. Band: the range
    over all seeds."""
    figure, (axes,) = panels([2.6])
    time = np.arange(0.0, 200.0, 0.5)
    counts = np.array(
        [
            sum(
                (time >= start) & (time < start + lifetime)
                for start, lifetime in Case("reno", "cra", RANDOM_FLOW_COUNT, seed).times_s
            )
            for seed in SEEDS
        ]
    )
    colour = COLOURS[0]
    label = f"range of {len(SEEDS)} draws"
    axes.fill_between(
        time, counts.min(axis=0), counts.max(axis=0), step="post", color=colour, alpha=0.2, label=label
    )
    axes.step(time, counts[0], where="post", color=colour, label="first draw")
    axes.set_title("Ten flows that come and go: active connections")
    axes.set_xlabel("time (s)")
    axes.set_ylabel("active connections")
    axes.set_xlim(0, 200)
    axes.set_ylim(0, None)
    axes.legend(loc="upper right")
    return figure


def _band(axes, time, values, congestion: Congestion) -> None:  # type: ignore[no-untyped-def]
    from bentpipe.statistics import student_quantile

    colour = _COLOUR[congestion]
    middle = values.mean(axis=0)
    half = student_quantile(0.975, len(values) - 1) * values.std(axis=0, ddof=1) / np.sqrt(len(values))
    axes.fill_between(time, middle - half, middle + half, color=colour, alpha=0.2, linewidth=0)
    axes.plot(time, middle, color=colour, label=f"{congestion.capitalize()}, mean of {len(values)} draws")
    axes.plot(
        time,
        values[0],
        color=colour,
        linewidth=0.5,
        alpha=0.8,
        label=f"{congestion.capitalize()}, first draw",
    )


def _finish(above, below) -> None:  # type: ignore[no-untyped-def]
    above.set_ylabel("Jain's index")
    above.set_ylim(0.2, 1.02)
    below.set_title("Utilisation")
    below.set_ylabel("used / capacity (%)")
    below.set_ylim(0, 105)
    below.set_xlabel("time (s)")
    above.legend(loc="lower right", ncols=2)


def draw_friendliness(sharing: Mapping[Scheme, Sharing]) -> dict[str, Figure]:
    """Draws figures 18 to 20."""
    return {
        f"figure-{number}-friendliness-{scheme}": friendliness(one, scheme)
        for number, (scheme, one) in enumerate(sharing.items(), start=18)
    }


@figure_function
def friendliness(one: Sharing, scheme: Scheme) -> Figure:
    """Draws the rate of each flow, and the total rate of the flows of each congestion control."""
    figure, (axes,) = panels([3.0])
    for prefixes, congestion in ((("reno", "again"), "reno"), (("vegas",), "vegas")):
        rates = [course for name, course in one.rates_bit_s.items() if name.startswith(prefixes)]
        colour = _COLOUR[congestion]  # type: ignore[index]
        for number, course in enumerate(rates):
            label = f"each {congestion.capitalize()} flow" if number == 0 else None
            axes.plot(course.time_s, course.value / 1e3, color=colour, linewidth=0.5, alpha=0.7, label=label)
        total = np.sum([course.value for course in rates], axis=0) / 1e3
        axes.plot(
            rates[0].time_s, total, color=colour, label=f"three {congestion.capitalize()} flows together"
        )
    for moment in (JOIN_S, LEAVE_S, RETURN_S):
        axes.axvline(moment, color="#2b2b2c", linewidth=0.5, linestyle=":")
    axes.set_title(f"Reno and Vegas over {scheme.upper()}: Vegas joins, Reno leaves, Reno returns")
    axes.set_ylabel("goodput (kbit/s)")
    axes.set_xlabel("time (s)")
    axes.set_xlim(0, 400)
    axes.set_ylim(0, 2150)
    figure.legend(loc="outside lower center", ncols=2)
    return figure
