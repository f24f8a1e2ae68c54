"""Runs side by side: one bar per run or flow, with the prediction as a mark."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from .style import COLOURS, INK, figure_function

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from bentpipe.results.flows import FlowResult

#: Maximum number of flows with rows of their own. With more flows, each run has one row.
MAX_ROWS: Final = 60


@figure_function
def comparison(results: Mapping[str, Sequence[FlowResult]]) -> Figure:
    """Draws goodput, round-trip time (mean, and a line to the 95th percentile) and efficiency of
    each flow in each run, with the runs of a flow below each other. Diamonds are predictions. The
    efficiency panel is omitted if no run has an efficiency. With more than :data:`MAX_ROWS` flows
    in all, each run has one row, the medians over its flows."""
    from matplotlib.figure import Figure

    whole = {name: len(flows) for name, flows in results.items()}
    if sum(whole.values()) > MAX_ROWS:
        results = {name: [_median(flows)] for name, flows in results.items() if flows}
    # The runs of a flow are adjacent.
    flow_names = list(dict.fromkeys(flow.flow for flows in results.values() for flow in flows))
    rows = sorted(
        (
            (name if whole[name] == 1 else f"{name}, {flow.flow}", flow)
            for name, flows in results.items()
            for flow in flows
        ),
        key=lambda row: flow_names.index(row[1].flow),
    )
    panels = [_goodput, _rtt]
    if any(flow.efficiency is not None for _, flow in rows):
        panels.append(_efficiency)
    figure = Figure(figsize=(7.2, 0.9 + 0.28 * max(2, len(rows))), layout="constrained")
    all_axes = figure.subplots(1, len(panels), sharey=True, squeeze=False)[0]
    flows = [flow for _, flow in rows]
    for axes, draw in zip(all_axes, panels, strict=True):
        draw(axes, flows)
        axes.grid(visible=False, axis="y")
        axes.tick_params(axis="y", length=0)
        axes.set_xlim(left=0)
    all_axes[0].set_yticks(range(len(rows)), [label for label, _ in rows])
    all_axes[0].invert_yaxis()
    handles, labels = all_axes[0].get_legend_handles_labels()
    if len(handles) > 1:
        figure.legend(handles, labels, loc="outside upper right", ncols=2)
    return figure


def _median(flows: Sequence[FlowResult]) -> FlowResult:
    """Returns a flow whose numbers are medians over the flows that have them."""
    if len(flows) == 1:
        return flows[0]
    known = {
        quantity: [value for flow in flows if (value := getattr(flow, quantity)) is not None]
        for quantity in ("goodput", "rtt_mean", "rtt_p95", "efficiency", "predicted_goodput", "predicted_rtt")
    }
    medians: dict[str, Any] = {
        quantity: statistics.median(values) if values else None for quantity, values in known.items()
    }
    return replace(flows[0], flow=f"median of {len(flows)} flows", **medians)


def _goodput(axes: Axes, flows: Sequence[FlowResult]) -> None:
    axes.set_title("Goodput (kbit/s)")
    _bars(axes, [_scaled(flow.goodput, 1e-3) for flow in flows], COLOURS[0], "in the run")
    _marks(axes, [_scaled(flow.predicted_goodput, 1e-3) for flow in flows])


def _rtt(axes: Axes, flows: Sequence[FlowResult]) -> None:
    axes.set_title("RTT, mean to 95 % (ms)")
    _bars(axes, [_scaled(flow.rtt_mean, 1e3) for flow in flows], COLOURS[1])
    for place, flow in enumerate(flows):
        if flow.rtt_mean is not None and flow.rtt_p95 is not None:
            axes.plot([1e3 * flow.rtt_mean, 1e3 * flow.rtt_p95], [place, place], color=INK, linewidth=1)
            axes.plot([1e3 * flow.rtt_p95], [place], color=INK, marker="|", markersize=7)
    _marks(axes, [_scaled(flow.predicted_rtt, 1e3) for flow in flows])


def _efficiency(axes: Axes, flows: Sequence[FlowResult]) -> None:
    axes.set_title("Efficiency (%)")
    _bars(axes, [_scaled(flow.efficiency, 100) for flow in flows], COLOURS[2])


def _bars(axes: Axes, values: Sequence[float | None], colour: str, label: str | None = None) -> None:
    axes.barh(range(len(values)), [value or 0.0 for value in values], height=0.62, color=colour, label=label)


def _marks(axes: Axes, values: Sequence[float | None]) -> None:
    present = [(value, place) for place, value in enumerate(values) if value is not None]
    if present:
        across, down = zip(*present, strict=True)
        style = {
            "facecolors": "white",
            "edgecolors": INK,
            "marker": "D",
            "s": 22,
            "linewidths": 1.0,
            "zorder": 3,
        }
        axes.scatter(across, down, label="predicted", **style)  # type: ignore[arg-type]


def _scaled(value: float | None, factor: float) -> float | None:
    return None if value is None else value * factor
