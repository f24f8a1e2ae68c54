"""A campaign's means as a table: for the terminal, and as files."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bentpipe.quantities import number
from bentpipe.results.export import NOTHING, Cell, Table
from bentpipe.scenario.variation import short_names, value_labels
from bentpipe.statistics import Mean

if TYPE_CHECKING:
    import polars as pl

    from .results import Campaign


@dataclass(frozen=True)
class Row:
    """A row: its varied values, entity (flow, terminal or link) and labels, and the mean and the
    number of replications of each metric; ``None`` if missing."""

    values: list[object]
    entity: str
    labels: list[str]
    means: list[tuple[Mean, int] | None]


@dataclass(frozen=True)
class Means:
    """Means of several metrics over the same variants. ``words`` are the headings of the labels.
    ``units`` are the units of the metrics, and ``scales`` the sizes of these units."""

    words: list[str]
    metrics: list[str]
    units: list[str]
    scales: list[float]
    rows: list[Row]
    confidence: float
    against: str | None = None

    @property
    def headings(self) -> list[str]:
        """The metrics with their units."""
        more = "" if self.against is None else f": difference from {self.against}"
        named = [name.replace("_", " ") + more for name in self.metrics]
        return [
            name if unit == "1" else f"{name} ({unit})" for name, unit in zip(named, self.units, strict=True)
        ]


def tabulate(
    campaign: Campaign,
    metrics: Sequence[str],
    of: str | None = None,
    by: Sequence[str] | None = None,
    against: str | None = None,
) -> Means:
    """Returns the table of these metrics; see :meth:`Campaign.means`, and
    :meth:`Campaign.differences` for ``against``. Raises :class:`bentpipe.InputError`."""
    keys = list(campaign.varied if by is None else by)
    frames = [
        campaign.means(metric, of, keys)
        if against is None
        else campaign.differences(metric, against, of, keys).drop("base")
        for metric in metrics
    ]
    found: dict[tuple[object, ...], list[tuple[Mean, int] | None]] = {}
    for index, frame in enumerate(frames):
        for *group, count, mean, half in frame.iter_rows():
            empty: list[tuple[Mean, int] | None] = [None] * len(frames)
            found.setdefault(tuple(group), empty)[index] = (Mean(mean, half), count)
    several = len({group[-1] for group in found}) > 1 or not keys
    named = [
        value_labels(key[index] for key in found if key[index] is not None) for index in range(len(keys))
    ]
    units, scales = [], []
    for metric in metrics:
        unit, scale = campaign.shown_unit(metric)
        units.append(unit)
        scales.append(scale)
    names = short_names(campaign.varied)
    rows = [
        Row(
            list(group[:-1]),
            str(group[-1]),
            [
                *(
                    "-" if value is None else named[index][str(value)]
                    for index, value in enumerate(group[:-1])
                ),
                *([str(group[-1])] if several else []),
            ],
            means,
        )
        for group, means in found.items()
    ]
    words = [*(names[key] for key in keys), *(["of"] if several else [])]
    return Means(words, list(metrics), units, scales, rows, float(campaign.settings["confidence"]), against)


def exported(means: Means) -> Table:
    """Returns the means as a table to export, with the half widths of their intervals."""
    rows = [[*row.labels, *map(_cell, row.means, means.scales)] for row in means.rows]
    remark = f"Means with {100 * means.confidence:g} % confidence intervals over replications."
    return Table(_frame(means), [*means.words, *means.headings], rows, len(means.words), remark)


def _frame(means: Means) -> pl.DataFrame:
    """Returns a data frame of the rows: the labels, and the mean, the half width of the interval
    and the number of replications of each metric, in the units of the headings. Missing values are
    null."""
    import polars as pl

    columns: dict[str, list[object]] = {
        word: [row.labels[index] for row in means.rows] for index, word in enumerate(means.words)
    }
    for index, (heading, scale) in enumerate(zip(means.headings, means.scales, strict=True)):
        name, unit, rest = heading.rpartition(" (") if heading.endswith(")") else (heading, "", "")
        found = [row.means[index] for row in means.rows]
        columns[heading] = [None if one is None else one[0].value / scale for one in found]
        columns[f"{name} half width{unit}{rest}"] = [
            None if one is None or math.isnan(one[0].half_width) else one[0].half_width / scale
            for one in found
        ]
        columns[f"{name} replications"] = [0 if one is None else one[1] for one in found]
    return pl.DataFrame(columns, strict=False)


def plus_minus(mean: Mean) -> tuple[str, str]:
    """Returns a mean and its half width, both rounded to the second digit of the half width. The
    half width is empty for a single value and for values that do not differ.

    >>> plus_minus(Mean(8.2069, 0.0343)), plus_minus(Mean(813.6, 32.0)), plus_minus(Mean(3968.2, 533.4))
    (('8.207', '0.034'), ('814', '32'), ('3970', '530'))
    >>> plus_minus(Mean(2.5, float("nan"))), plus_minus(Mean(9125.78, 0.0))
    (('2.5', ''), ('9126', ''))
    """
    value, half = mean
    if math.isnan(half) or half == 0:
        return number(value, 4), ""
    decimals = 1 - math.floor(math.log10(half))
    shown = max(0, decimals)
    return f"{round(value, decimals):.{shown}f}", f"{round(half, decimals):.{shown}f}"


def _cell(one: tuple[Mean, int] | None, scale: float) -> Cell:
    return NOTHING if one is None else plus_minus(Mean(one[0].value / scale, one[0].half_width / scale))
