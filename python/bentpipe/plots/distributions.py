"""Distribution functions of runs: delays, transaction times, goodput and loss, with a line per
group or traffic class."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

import numpy as np

from bentpipe.errors import InputError
from bentpipe.quantities import number
from bentpipe.results.flows import flow_results
from bentpipe.results.groups import OTHERS, by_class, by_group

from .data import POINTS, FloatArray
from .lines import MAX_LINES, Runs, named_runs
from .style import figure_function, legend_of_all, line, name_runs

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from bentpipe.results.flows import FlowResult
    from bentpipe.results.runs import Run

#: Minimum ratio of values for a logarithmic axis.
MIN_LOG_RATIO: Final = 50.0

#: Minimum number of values of a distribution.
_MIN_VALUES: Final = 5


class _Panel(NamedTuple):
    """A quantity: title of its panel, label of its axis, and its values for the flows of a
    group."""

    title: str
    label: str
    values: Callable[[Run, Sequence[FlowResult]], FloatArray]


@figure_function
def cdf(runs: Runs, *, by: Literal["group", "class"] = "group") -> Figure:
    """Draws distribution functions, a line per group of flows, or per traffic class: of goodput,
    loss and mean delay over the flows, and of transaction times and one-way delays over the
    recorded transactions and packets. Quantities that no flow has are omitted. If values differ by
    more than a factor of 50, the axis is logarithmic. Raises :class:`bentpipe.InputError` if no
    flow has any quantity."""
    from matplotlib.figure import Figure

    parted = list(_parted(runs, by))
    drawn = []
    for panel in _PANELS:
        lines = [(label, values) for label, run, flows in parted if len(values := panel.values(run, flows))]
        if (
            any(values.max() > 0 for _, values in lines)
            and sum(len(values) for _, values in lines) >= _MIN_VALUES
        ):
            drawn.append((panel, lines))
    if not drawn:
        raise InputError(
            f"nothing to draw: a distribution needs {_MIN_VALUES} values of a quantity, such as the goodput of "
            f"{_MIN_VALUES} flows"
        )
    columns = min(2, len(drawn))
    rows = -(-len(drawn) // columns)
    figure = Figure(figsize=(7.2, 2.3 * rows + 0.5), layout="constrained")
    places_of = figure.add_gridspec(rows, columns)
    all_axes = [
        figure.add_subplot(places_of[index // columns, index % columns]) for index in range(len(drawn))
    ]
    if len(drawn) % columns:
        # The last panel of an odd number has the width of the figure.
        all_axes[-1].set_subplotspec(places_of[-1, :])
    places = {label: index for index, label in enumerate(dict.fromkeys(label for label, _, _ in parted))}
    for axes, (panel, lines) in zip(all_axes, drawn, strict=True):
        _draw(axes, panel, lines, places)
    legend_of_all(figure, all_axes)
    name_runs(figure, [run for _, run in named_runs(runs)])
    return figure


def _parted(runs: Runs, by: str) -> list[tuple[str, Run, Sequence[FlowResult]]]:
    """Returns the lines: the groups, or classes, of each run, with their labels."""
    parts: list[tuple[str, Run, Sequence[FlowResult]]] = []
    for name, run in named_runs(runs):
        flows = flow_results(run)
        if by == "class":
            members = by_class(flows) or {"all flows": flows}
        else:
            members, single = by_group(flows)
            if single:
                members[OTHERS if members else "all flows"] = single
        parts += [(", ".join(filter(None, (name, part))), run, found) for part, found in members.items()]
    if len(parts) > MAX_LINES:
        raise InputError(
            f"Too many lines ({len(parts)}; at most {MAX_LINES} groups or classes of all runs together)."
        )
    return parts


def _draw(axes: Axes, panel: _Panel, lines: Sequence[tuple[str, FloatArray]], places: dict[str, int]) -> None:
    axes.set_title(panel.title)
    axes.set_xlabel(panel.label)
    axes.set_ylabel("cumulative fraction")
    if is_wide(np.concatenate([values for _, values in lines])):
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter(lambda value, _: number(value))
    else:
        # Keep the labels of large numbers apart.
        axes.locator_params(axis="x", nbins=5)
    for label, values in lines:
        ranked = np.sort(values)
        shares = np.arange(1, len(ranked) + 1) / len(ranked)
        if len(ranked) > POINTS:
            kept = np.unique(np.linspace(0, len(ranked) - 1, POINTS).astype(int))
            ranked, shares = ranked[kept], shares[kept]
        axes.step(
            np.insert(ranked, 0, ranked[0]),
            np.insert(shares, 0, 0.0),
            where="post",
            label=label,
            **line(places[label]),
        )
    axes.set_ylim(0, 1.02)


def is_wide(values: FloatArray) -> bool:
    """Returns true for values to draw on a logarithmic axis: their 2nd and 98th percentile differ
    by a factor of 50.

    >>> is_wide(np.array([1.0, 2.0, 60.0])), is_wide(np.array([0.0, 1.0, 60.0])), is_wide(np.array([10.0, 20.0]))
    (True, False, False)
    """
    if len(values) == 0 or values.min() <= 0:
        return False
    low, high = np.quantile(values, (0.02, 0.98))
    return bool(high > MIN_LOG_RATIO * low * 0.98)


def _of_flows(field: str, factor: float) -> Callable[[Run, Sequence[FlowResult]], FloatArray]:
    def values(_run: Run, flows: Sequence[FlowResult]) -> FloatArray:
        known = (getattr(flow, field) for flow in flows)
        return factor * np.array([value for value in known if value is not None], dtype=float)

    return values


def _of_trace(quantity: str, factor: float) -> Callable[[Run, Sequence[FlowResult]], FloatArray]:
    def values(run: Run, flows: Sequence[FlowResult]) -> FloatArray:
        if not run.has_trace(quantity):
            return np.zeros(0)
        import polars as pl

        trace = run.scan(quantity)
        _, who, column = trace.collect_schema().names()
        chosen = trace.filter(pl.col(who).is_in([flow.flow for flow in flows])).select(column).drop_nulls()
        found: FloatArray = factor * chosen.collect(engine="streaming")[column].to_numpy().astype(float)
        return found

    return values


_PANELS: Final = (
    _Panel("Goodput per flow", "kbit/s", _of_flows("goodput", 1e-3)),
    _Panel("Transaction times", "ms", _of_trace("transaction.took", 1e3)),
    _Panel("Mean one-way delay per flow", "ms", _of_flows("delay_mean", 1e3)),
    _Panel("95th percentile of the delay per flow", "ms", _of_flows("delay_p95", 1e3)),
    _Panel("Delay of datagrams, one way", "ms", _of_trace("datagram.delay", 1e3)),
    _Panel("Loss per flow", "%", _of_flows("loss", 1e2)),
)
