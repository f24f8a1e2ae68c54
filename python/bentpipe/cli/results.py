"""The table of flows that ``simulate`` and ``emulate`` print."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from bentpipe.quantities import number
from bentpipe.results import MOST_FLOWS, over_flows

from .output import print_table

if TYPE_CHECKING:
    from bentpipe.results import FlowResult

_NUMBERS = (
    "goodput\nkbit/s",
    "predicted\nkbit/s",
    "RTT\nms",
    "p95\nms",
    "predicted\nms",
    "efficiency",
    "time-outs",
)


def print_results(runs: Sequence[tuple[dict[str, str], Sequence[FlowResult]]]) -> None:
    """Print the flows of runs, each run with its distinguishing labels; for runs with many flows, quantiles over
    the flows."""
    if max((len(flows) for _, flows in runs), default=0) > MOST_FLOWS:
        return _print_summary(runs)
    labels = list(runs[0][0]) if runs else []
    several = len({flow.flow for _, flows in runs for flow in flows}) > 1
    words = [*labels, *(["flow"] if several or not labels else [])]
    rows = [
        [
            *(own[label] for label in labels),
            *([flow.flow] if len(words) > len(labels) else []),
            *_numbers(flow),
        ]
        for own, flows in runs
        for flow in flows
    ]
    return print_table([*words, *_NUMBERS], rows, text_columns=len(words))


def _print_summary(runs: Sequence[tuple[dict[str, str], Sequence[FlowResult]]]) -> None:
    labels = list(runs[0][0])
    rows = [
        [*own.values(), one.about, *map(number, one.quantiles), str(one.count)]
        for own, flows in runs
        for one in over_flows(flows)
    ]
    words = [*labels, "over flows"]
    print_table(
        [*words, "least", "10 %", "median", "90 %", "greatest", "flows"], rows, text_columns=len(words)
    )


def _numbers(flow: FlowResult) -> list[str]:
    percent = None if flow.efficiency is None else 100 * flow.efficiency
    return [
        _scaled(flow.goodput, 1e-3),
        _scaled(flow.predicted_goodput, 1e-3),
        _scaled(flow.rtt_mean, 1e3),
        _scaled(flow.rtt_p95, 1e3),
        _scaled(flow.predicted_rtt, 1e3),
        "-" if percent is None else f"{percent:.0f} %",
        "-" if flow.timeouts is None else str(flow.timeouts),
    ]


def _scaled(value: float | None, factor: float) -> str:
    return number(None if value is None else value * factor)
