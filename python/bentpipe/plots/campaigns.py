"""Figures of campaigns: lines with confidence bands, small multiples of them, heat maps, and
distribution functions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from bentpipe.campaign.variants import LABEL
from bentpipe.errors import InputError
from bentpipe.quantities import UNITS, base_value, number
from bentpipe.scenario.variation import short_names, value_labels

from .style import COLOURS, figure_function, grid, legend, legend_of_all, line, name_figure, panels, scale_x

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from bentpipe.campaign import Campaign

#: Maximum number of lines in one panel that readers can distinguish.
MAX_LINES = 24

#: Minimum ratio of the greatest to the smallest value for a logarithmic axis.
_MIN_LOG_RATIO = 99

#: Maximum number of values with ticks of their own on a logarithmic axis.
_MAX_TICKS = 8

#: Marks of lines that share a colour.
_MARKS = ("o", "s", "^", "D")


@figure_function
def campaign_lines(
    campaign: Campaign, metric: str = "goodput", *, x: str | None = None, of: str | None = None
) -> Figure:
    """Draws means against the varied key ``x`` with their confidence intervals as bands, one line
    per combination of the other keys; by default x is the key with the most numeric values. Raises
    :class:`bentpipe.InputError`."""
    return _lines(campaign, metric, x, None, of)


@figure_function
def campaign_multiples(
    campaign: Campaign,
    metric: str = "goodput",
    *,
    x: str | None = None,
    each: str | None = None,
    of: str | None = None,
) -> Figure:
    """Draws the lines of :func:`campaign_lines` in one panel per value of the key ``each``, by
    default the key with the fewest values. All panels have the same scale."""
    across = campaign.key(x) if x else _View.of(campaign, metric, of).most_numbers()
    rest = [key for key in campaign.varied if key != across]
    if not rest:
        raise InputError(f"{campaign.store.path}: small multiples need two varied keys")
    return _lines(
        campaign, metric, across, each or min(rest, key=lambda key: campaign.index[key].n_unique()), of
    )


def _lines(campaign: Campaign, metric: str, x: str | None, each: str | None, of: str | None) -> Figure:
    view = _View.of(campaign, metric, of)
    across = campaign.key(x) if x else view.most_numbers()
    if across is None:
        raise InputError(f"{campaign.store.path}: no key is varied, so the figure has no x axis")
    panel = campaign.key(each) if each else None
    if panel == across:
        raise InputError(f'"{each}" is already the x axis; choose another key for the panels')
    axis = Axis.of(view.frame[across], axis_name(across))
    series = [key for key in view.keys if key not in (across, panel)]
    parts = _parts(view.frame, [panel]) if panel else {"": view.frame}
    figure, all_axes = grid(len(parts), height=2.2) if panel else panels([3.0])
    labels = list(
        dict.fromkeys(label for part in parts.values() for label in _parts(part, series, view.names))
    )
    if len(labels) > MAX_LINES:
        raise InputError(
            f"Too many lines ({len(labels)}; at most {MAX_LINES}). Choose panels by another key, or one flow or group "
            "with --of."
        )
    for index, (axes, (title, part)) in enumerate(zip(all_axes, parts.items(), strict=True)):
        for label, points in _parts(part, series, view.names).items():
            view.line(axes, axis, points, across, label, labels.index(label))
        axes.set_title(title if panel == LABEL else f"{view.names[panel]} {title}" if panel else "")
        if index >= len(all_axes) - 2:
            axes.set_xlabel(axis.title)
            axes.tick_params(labelbottom=True)
        if index % 2 == 0 or not panel:
            axes.set_ylabel(view.title)
        axis.mark(axes)
    if view.frame["mean"].min() >= 0:  # type: ignore[operator]
        # If the means hardly differ, a margin relative to their range is too small, and marks would
        # be cut off.
        all_axes[0].set_ylim(0, 1.05 * all_axes[0].get_ylim()[1])
    if panel:
        legend_of_all(figure, all_axes)
    else:
        legend(all_axes[0])
    name_figure(figure, campaign.name)
    return figure


@figure_function
def campaign_map(
    campaign: Campaign,
    metric: str = "goodput",
    *,
    x: str | None = None,
    y: str | None = None,
    of: str | None = None,
) -> Figure:
    """Draws means over two varied keys as a heat map that shows the numbers, averaged over other
    keys. Raises :class:`bentpipe.InputError`."""
    from matplotlib.figure import Figure

    chosen = [campaign.key(name) for name in (x, y) if name]
    chosen += [key for key in campaign.varied if key not in chosen][: 2 - len(chosen)]
    if len(set(chosen)) != 2:
        raise InputError(f"{campaign.store.path}: a heat map needs two varied keys")
    view = _View.of(campaign, metric, of, chosen)
    if view.frame["entity"].n_unique() > 1:
        raise InputError(
            "a heat map shows one flow, terminal or link: choose one with --of; allowed: "
            f"{', '.join(sorted(view.frame['entity'].unique()))}"
        )
    across, up = (Axis.of(view.frame[key], axis_name(key)) for key in chosen)
    values = np.full((len(up.labels), len(across.labels)), np.nan)
    for row in view.frame.iter_rows(named=True):
        values[up.place[row[chosen[1]]], across.place[row[chosen[0]]]] = row["mean"] / view.size
    figure = Figure(
        figsize=(min(7.2, 2.4 + 0.75 * len(across.labels)), 1.4 + 0.38 * len(up.labels)), layout="constrained"
    )
    axes = figure.subplots()
    axes.grid(visible=False)
    shown = axes.imshow(values, aspect="auto", origin="lower", cmap="cividis")
    middle = (np.nanmin(values) + np.nanmax(values)) / 2
    for (row_number, column), value in np.ndenumerate(values):
        if not math.isnan(value):
            colour = "white" if value < middle else "black"
            axes.text(column, row_number, number(value), ha="center", va="center", color=colour, fontsize=8)
    axes.set_xticks(range(len(across.labels)), across.labels)
    axes.set_yticks(range(len(up.labels)), up.labels)
    axes.set_xlabel(across.title)
    axes.set_ylabel(up.title)
    figure.colorbar(shown, ax=axes, label=view.title)
    name_figure(figure, campaign.name)
    return figure


@figure_function
def campaign_cdf(
    campaign: Campaign, metric: str = "goodput", *, by: Sequence[str] | None = None, of: str | None = None
) -> Figure:
    """Draws the empirical distribution function of a metric over runs, and over flows unless ``of``
    names one: one curve per combination of the varied keys ``by``, by default of all. Raises
    :class:`bentpipe.InputError`."""
    keys = [campaign.key(name) for name in by] if by is not None else campaign.varied
    view = _View.of(campaign, metric, of, keys)
    parts = _parts(campaign.values(metric, of), keys, view.names)
    if len(parts) > MAX_LINES:
        raise InputError(
            f"Too many curves ({len(parts)}; at most {MAX_LINES}). Average over a key with --by."
        )
    figure, (axes,) = panels([3.0])
    for index, (label, part) in enumerate(parts.items()):
        values = np.sort(part["value"].to_numpy()) / view.size
        share = np.arange(1, len(values) + 1) / len(values)
        axes.step(
            np.concatenate((values[:1], values)),
            np.concatenate(([0.0], share)),
            where="post",
            label=label,
            **line(index),
        )
    axes.set_xlabel(view.title)
    axes.set_ylabel("cumulative share")
    axes.set_ylim(0, 1)
    legend(axes)
    name_figure(figure, campaign.name)
    return figure


@dataclass(frozen=True)
class Axis:
    """The values of a varied key along an axis, with positions and labels. Numbers and quantities
    are placed by value, other values side by side in the order of the campaign."""

    title: str
    labels: list[str]
    place: dict[Any, int]
    at: dict[Any, float]
    numbers: bool

    @staticmethod
    def of(values: pl.Series, name: str) -> Axis:
        """Returns the axis for these values of a key of this name."""
        unique = list(dict.fromkeys(values.to_list()))
        numbers, unit = as_numbers(unique)
        if numbers is None:
            named = value_labels(value for value in unique if value is not None)
            labels = ["-" if value is None else named[str(value)] for value in unique]
            places = {value: index for index, value in enumerate(unique)}
            return Axis(
                name, labels, places, {value: float(at) for value, at in places.items()}, numbers=False
            )
        at = dict(zip(unique, numbers, strict=True))
        order = sorted(unique, key=at.__getitem__)
        title = f"{name} ({unit})" if unit else name
        return Axis(
            title,
            [f"{at[value]:g}" for value in order],
            {value: index for index, value in enumerate(order)},
            at,
            numbers=True,
        )

    def mark(self, axes: Axes) -> None:
        """Labels values that are not numbers, and values on a logarithmic axis. Numbers over two
        decades or more have a logarithmic axis, unless another scale was chosen."""
        values = list(self.at.values())
        if not self.numbers:
            axes.set_xticks(values, self.labels)
            return
        wide = len(values) > 2 and min(values) > 0 and max(values) >= _MIN_LOG_RATIO * min(values)
        if scale_x(wide) == "log":
            if min(values) <= 0:
                raise InputError(
                    f"{self.title} has the value {min(values):g}, which a logarithmic axis cannot show"
                )
            axes.set_xscale("log")
            if len(values) <= _MAX_TICKS:
                axes.set_xticks(sorted(values), self.labels)
                axes.minorticks_off()


def axis_name(key: str) -> str:
    """Returns the title of an axis for a varied key: the last two parts of its path.

    >>> axis_name("link.sat.error.probability"), axis_name("seed")
    ('error probability', 'seed')
    """
    return " ".join(key.split(".")[-2:]).replace("_", " ")


def as_numbers(values: Sequence[Any]) -> tuple[list[float] | None, str]:
    """Returns values as numbers in the unit of the first; ``None`` if they are not numbers.

    >>> as_numbers(["500 kbit/s", "1 Mbit/s"]), as_numbers([1, 2]), as_numbers(["reno"])
    (([500.0, 1000.0], 'kbit/s'), ([1.0, 2.0], ''), (None, ''))
    """
    if all(isinstance(value, int | float) and not isinstance(value, bool) for value in values):
        return [float(value) for value in values], ""
    try:
        bases = [base_value(value) for value in values]
    except (TypeError, ValueError):
        return None, ""
    unit = str(values[0]).split(maxsplit=1)[-1].strip()
    return [base / UNITS[unit] for base in bases], unit


def most_numbers(frame: pl.DataFrame, keys: Sequence[str]) -> str | None:
    """Returns the key with the largest number of numeric values, or else the key with the most
    values; None without keys."""
    if not keys:
        return None
    counts = {key: frame[key].n_unique() for key in keys}
    numeric = [key for key in keys if as_numbers(frame[key].to_list())[0] is not None]
    return max(numeric or keys, key=counts.__getitem__)


@dataclass(frozen=True)
class _View:
    """The means of a metric in the most readable unit, with labels of the keys."""

    frame: pl.DataFrame
    keys: list[str]
    names: dict[str, str]
    title: str
    size: float

    @staticmethod
    def of(campaign: Campaign, metric: str, of: str | None, by: Sequence[str] | None = None) -> _View:
        frame = campaign.means(metric, of, by)
        if not frame.height:
            raise InputError(f'{campaign.store.path} has no value of "{metric}" yet')
        unit, size = campaign.shown_unit(metric)
        name = metric.replace("_", " ")
        several = frame["entity"].n_unique() > 1
        return _View(
            frame,
            [*(campaign.varied if by is None else by), *(["entity"] if several else [])],
            short_names(campaign.varied) | {"entity": ""},
            name if unit == "1" else f"{name} ({unit})",
            size,
        )

    def most_numbers(self) -> str | None:
        """Returns the key with the largest number of numeric values, or else the key with the most
        values."""
        return most_numbers(self.frame, [key for key in self.keys if key != "entity"])

    def line(self, axes: Axes, axis: Axis, points: pl.DataFrame, across: str, label: str, index: int) -> None:
        """Draws means with the band of their intervals."""
        at = np.array([axis.at[value] for value in points[across].to_list()])
        order = np.argsort(at)
        at = at[order]
        mean = points["mean"].to_numpy()[order] / self.size
        half = np.nan_to_num(points["half_width"].to_numpy()[order]) / self.size
        style = line(index)
        mark = _MARKS[index // len(COLOURS) % len(_MARKS)]
        axes.plot(at, mean, label=label, marker=mark, markersize=3.5, **style)
        axes.fill_between(at, mean - half, mean + half, color=style["color"], alpha=0.18, linewidth=0)


def _parts(
    frame: pl.DataFrame, keys: Sequence[str], names: dict[str, str] | None = None
) -> dict[str, pl.DataFrame]:
    """Splits a frame by the values of these keys, and labels the parts: a bare number gets the name
    of its key."""
    if not keys:
        return {"": frame}
    named = {key: value_labels(frame[key].drop_nulls()) for key in keys}

    def label(key: str, value: Any) -> str:
        text = "-" if value is None else named[key][str(value)]
        bare = names is not None and as_numbers([value])[0] is not None
        return f"{names[key]} {text}" if bare and names is not None else text

    return {
        ", ".join(label(key, value) for key, value in zip(keys, group, strict=True)): part
        for group, part in frame.group_by(keys, maintain_order=True)
    }
