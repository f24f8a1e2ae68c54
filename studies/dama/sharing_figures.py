"""Figures 12 to 20: fairness, utilisation and rates of flows that share a terminal. Hollow circles
and triangles: values of the paper."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

import numpy as np
from bentpipe.plots.published import legend_entries, mark_level, mark_value, mark_words
from bentpipe.plots.style import COLOURS, INK, figure_function, panels

from .curves import CONGESTIONS, SCHEMES, Congestion, Scheme
from .sharing import (
    CEILING_BIT_S,
    END_S,
    JOIN_S,
    LEAVE_S,
    RANDOM_FLOW_COUNT,
    RETURN_S,
    SEEDS,
    Case,
    Sharing,
)
from .sharing_measures import (
    AFTERWARDS_S,
    FAIR,
    FIVE_FLOWS_S,
    FULL,
    OSCILLATION_S,
    SETTLE_S,
    SHOWN_S,
    STOPPING_FROM_S,
    TRANSIENT_S,
    mean,
    reached_s,
)

if TYPE_CHECKING:
    from bentpipe.studies import Statement
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_COLOUR: Final = dict(zip(CONGESTIONS, COLOURS, strict=False))


def draw_fairness(sharing: Mapping[Case, Sharing], statements: Sequence[Statement]) -> dict[str, Figure]:
    """Draws figures 12 to 14 (five flows), 15 (active connections), and 16 and 17 (ten flows)."""
    figures = {}
    for number, scheme in enumerate(SCHEMES, start=12):
        figures[f"figure-{number}-five-flows-{scheme}"] = five(sharing, scheme, statements)
    figures["figure-15-active-connections"] = active()
    figures["figure-16-ten-flows-cra"] = ten(sharing, "cra", statements)
    figures["figure-17-ten-flows-vbdc"] = ten(sharing, "vbdc", statements)
    # The paper has no figure for this scheme.
    figures["ten-flows-rbdc"] = ten(sharing, "rbdc", statements)
    return figures


@figure_function
def five(sharing: Mapping[Case, Sharing], scheme: Scheme, statements: Sequence[Statement]) -> Figure:
    """Draws Jain's fairness index of five flows, and the utilisation, against time."""
    figure, (above, below) = panels([2.3, 2.3])
    for congestion in CONGESTIONS:
        one = sharing[Case(congestion, scheme)]
        label, colour = congestion.capitalize(), _COLOUR[congestion]
        above.plot(one.fairness.time_s, one.fairness.value, color=colour, label=label)
        below.plot(one.utilisation.time_s, 100 * one.utilisation.value, color=colour, label=label)
    above.set_title(f"Five flows, {scheme.upper()}: fairness")
    below.set_xlim(0, 200)
    for statement in statements:
        if statement.id.endswith(f"-{scheme}"):
            _mark_five(above, below, statement, sharing, scheme)
    _finish(above, below)
    return figure


def _mark_five(
    above: Axes, below: Axes, statement: Statement, sharing: Mapping[Case, Sharing], scheme: Scheme
) -> None:
    """Marks a statement about five flows."""
    flows = {congestion: sharing[Case(congestion, scheme)] for congestion in CONGESTIONS}
    quantity, *of = statement.id.removesuffix(f"-{scheme}").rsplit("-", 1)
    colour = _COLOUR.get(of[0], INK) if of else INK  # type: ignore[call-overload]
    name = statement.id.removesuffix(f"-{scheme}")
    if name == "fair-lead":
        part = FIVE_FLOWS_S if scheme == "rbdc" else TRANSIENT_S
        base = mean(flows["reno"].fairness, part)
        mark_level(above, statement, part, colour=_COLOUR["vegas"], scale=0.01, base=base)
    elif quantity in ("fair-later", "fair-level"):
        mark_level(above, statement, AFTERWARDS_S, colour=colour)
    elif quantity == "fair-transient":
        mark_level(above, statement, TRANSIENT_S, colour=colour)
    elif quantity == "fair-wait":
        full_s = reached_s(flows[of[0]].utilisation, FULL)  # type: ignore[index]
        if full_s is not None:
            mark_value(above, statement, FAIR, along="x", base=full_s, colour=colour)
    elif quantity == "use":
        mark_level(below, statement, AFTERWARDS_S, colour=colour, note=_USE_NOTES.get(scheme, ""), below=True)
    elif quantity.startswith("full-"):
        # Vegas is later than Reno over CRA. Reno over VBDC is later than over another scheme.
        earlier: Scheme = "cra" if scheme == "cra" or quantity.endswith("-cra") else "rbdc"
        full_s = reached_s(sharing[Case("reno", earlier)].utilisation, FULL)
        colour = _COLOUR["vegas" if scheme == "cra" else "reno"]
        if full_s is not None:
            height = 100 * FULL - (8 if quantity.endswith("-cra") else 0)
            mark_value(below, statement, height, along="x", base=full_s, colour=colour)


#: The paper's words about the utilisation of Vegas, by scheme.
_USE_NOTES: Final[Mapping[Scheme, str]] = {
    "rbdc": "paper: does not reach 70 %",
    "vbdc": "paper: always 10 %",
}


@figure_function
def ten(sharing: Mapping[Case, Sharing], scheme: Scheme, statements: Sequence[Statement]) -> Figure:
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
    below.set_xlim(5, 120)
    _mark_ten(above, scheme, {one.id: one for one in statements})
    _finish(above, below)
    return figure


def _mark_ten(axes: Axes, scheme: Scheme, statements: Mapping[str, Statement]) -> None:
    """Marks the statements about ten flows."""
    starts = np.array(
        [[start for start, _ in Case("reno", scheme, RANDOM_FLOW_COUNT, seed).times_s] for seed in SEEDS]
    )
    joining = (float(starts[:, 1].mean()), float(starts[:, -1].mean()))
    for name in ("ten-low", "ten-high"):
        # The paper has one value for both congestion controls.
        if (statement := statements.get(f"{name}-{scheme}")) is not None:
            mark_level(axes, statement, joining)
    for name, between, words, height in (
        ("ten-lower", SHOWN_S, "Vegas always below Reno", 0.12),
        ("ten-damped-reno", OSCILLATION_S[1], "oscillates less", 0.03),
        ("ten-converge", (STOPPING_FROM_S, 120.0), "Reno converges first", 0.03),
    ):
        if f"{name}-{scheme}" in statements:
            mark_words(axes, between, words, height=height)


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
    above.set_ylim(0.2, 1.04)
    below.set_title("Utilisation")
    below.set_ylabel("used / capacity (%)")
    below.set_ylim(0, 105)
    below.set_xlabel("time (s)")
    above.figure.legend(handles=legend_entries(above), loc="outside lower center", ncols=3)


def draw_friendliness(
    sharing: Mapping[Scheme, Sharing], statements: Sequence[Statement]
) -> dict[str, Figure]:
    """Draws figures 18 to 20."""
    return {
        f"figure-{number}-friendliness-{scheme}": friendliness(one, scheme, statements)
        for number, (scheme, one) in enumerate(sharing.items(), start=18)
    }


@figure_function
def friendliness(one: Sharing, scheme: Scheme, statements: Sequence[Statement]) -> Figure:
    """Draws the rate of each flow, and the total rate of the flows of each congestion control."""
    figure, (axes,) = panels([3.4])
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
        axes.axvline(moment, color=INK, linewidth=0.5, linestyle=":")
    axes.set_title(f"Reno and Vegas over {scheme.upper()}: Vegas joins, Reno leaves, Reno returns")
    axes.set_ylabel("goodput (kbit/s)")
    axes.set_xlabel("time (s)")
    axes.set_xlim(0, 400)
    axes.set_ylim(0, 2150)
    for statement in statements:
        if statement.id.endswith(f"-{scheme}"):
            _mark_friendliness(axes, statement, one)
    figure.legend(handles=legend_entries(axes), loc="outside lower center", ncols=3)
    return figure


def _mark_friendliness(axes: Axes, statement: Statement, one: Sharing) -> None:
    """Marks a statement about Reno and Vegas, in kbit/s."""
    quantity = statement.id.rsplit("-", 1)[0]
    reno, vegas = _COLOUR["reno"], _COLOUR["vegas"]
    after_join, after_return = (JOIN_S + SETTLE_S, LEAVE_S), (RETURN_S + SETTLE_S, END_S)
    if quantity in ("yield-first", "yield-again"):
        part = after_join if quantity == "yield-first" else after_return
        total = CEILING_BIT_S * mean(one.utilisation, part) / 1e3
        mark_level(axes, statement, part, colour=vegas, scale=total / 100)
    elif quantity == "alone":
        part = (LEAVE_S + SETTLE_S, RETURN_S)
        mark_level(axes, statement, part, colour=vegas, scale=CEILING_BIT_S / 1e5)
    elif quantity == "reno-unchanged":
        before = _rate_kbit_s(one, "reno", (JOIN_S - 20, JOIN_S))
        mark_level(axes, statement, after_join, colour=reno, scale=before)
    elif quantity == "reno-returns":
        first = _rate_kbit_s(one, "reno", (0.0, JOIN_S))
        mark_level(
            axes,
            statement,
            (RETURN_S, RETURN_S + JOIN_S),
            colour=reno,
            scale=first,
            note="paper: mean of this interval",
            below=True,
        )


def _rate_kbit_s(one: Sharing, prefix: str, interval_s: tuple[float, float]) -> float:
    """Returns the mean total rate of the flows with this prefix."""
    rates = [course for name, course in one.rates_bit_s.items() if name.startswith(prefix)]
    return sum(mean(course, interval_s) for course in rates) / 1e3
