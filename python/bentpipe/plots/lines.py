"""Lines of many flows in one panel: one line per flow for few flows, quantiles for many."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np

from bentpipe.quantities import base_value
from bentpipe.results.predictions import predict_run
from bentpipe.results.runs import by_folder

from .data import FloatArray, bin_for, duration_s, on_grid, quantiles, rate, thin, with_gaps
from .samples import Samples, entities_of, samples_of
from .style import line

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from bentpipe.predict import Prediction
    from bentpipe.results.runs import Run

Runs: TypeAlias = "Run | Sequence[Run] | Mapping[str, Run]"

#: Maximum number of lines that readers can distinguish. For more entities, quantiles are drawn.
MAX_LINES: Final = 12


@dataclass(frozen=True)
class Line:
    """An entity of a run: its samples, and for a flow its start and prediction."""

    label: str
    entity: str
    group: str
    samples: Samples
    end_s: float
    start_s: float
    prediction: Prediction | None


def draw_lines(
    axes: Axes,
    runs: Runs,
    *quantities: str,
    factor: float = 1.0,
    rate_bin_s: float | None = None,
    flow: str | None = None,
    steps: bool = False,
    wanted: Callable[[str], bool] = lambda _: True,
) -> list[tuple[str, list[Line]]]:
    """Draws the quantities of all entities, or of one flow, times ``factor``. Running totals of
    bytes are drawn as rates over bins of ``rate_bin_s`` seconds (0: automatic).

    Up to :data:`MAX_LINES` entities have a line each. For more, one line per run and group of
    flows shows the median over its entities; with too many groups, one line shows the median over
    all entities. Shading shows the range from the 10th to the 90th percentile and, lighter, from
    minimum to maximum. Only ``wanted`` entities are drawn. With ``steps``, a value holds until the
    next sample. Lines do not cross gaps. Returns the colour and meaning of each line.
    """
    lines = [
        one for one in _lines(runs, *quantities, flow=flow, bin_s=rate_bin_s or 0.0) if wanted(one.entity)
    ]
    if len(lines) > MAX_LINES:
        return _draw_quantiles(axes, lines, factor, rate_bin_s)
    drawn = []
    for index, one in enumerate(lines):
        if rate_bin_s is None:
            data = with_gaps(*thin(one.samples.time_s, one.samples.values), one.end_s)
            _draw_single(axes, data, factor, str(line(index)["color"]))
        else:
            bins = rate_bin_s or bin_for(one.end_s)
            data = rate(one.samples.time_s, one.samples.values, bins, one.end_s)
        style: dict[str, Any] = line(index) | ({"drawstyle": "steps-post"} if steps else {})
        axes.plot(data[0], factor * data[1], label=one.label, **style)
        drawn.append((str(line(index)["color"]), [one]))
    return drawn


def _draw_single(axes: Axes, data: tuple[FloatArray, FloatArray], factor: float, colour: str) -> None:
    """Draws dots for single samples between two gaps, which have no line."""
    missing = np.concatenate(([True], np.isnan(data[1]), [True]))
    single = ~missing[1:-1] & missing[:-2] & missing[2:]
    if single.any():
        axes.scatter(data[0][single], factor * data[1][single], s=4, color=colour, linewidths=0)


def named_runs(runs: Runs) -> Iterator[tuple[str, Run]]:
    """Yields the runs with their names. A single run has an empty name."""
    if isinstance(runs, Mapping):
        yield from runs.items()
    elif isinstance(runs, Sequence):
        yield from by_folder(runs).items()
    else:
        yield "", runs


def _draw_quantiles(
    axes: Axes, lines: Sequence[Line], factor: float, rate_bin_s: float | None
) -> list[tuple[str, list[Line]]]:
    groups: dict[str, list[Line]] = {}
    for one in lines:
        groups.setdefault(one.group, []).append(one)
    if len(groups) > MAX_LINES:
        groups = {"": list(lines)}
    drawn, highest = [], 0.0
    for index, (name, members) in enumerate(groups.items()):
        end_s = max(one.end_s for one in members)
        if rate_bin_s is None:
            bins = bin_for(end_s)
            found = [one.samples for one in members]
            rows = [on_grid(one.time_s, one.values, bins, end_s, one.weights) for one in found]
        else:
            bins = rate_bin_s or bin_for(end_s)
            rows = [rate(one.samples.time_s, one.samples.values, bins, end_s)[1] for one in members]
        middle, ((tenth, ninetieth), (least, greatest)) = quantiles(factor * np.array(rows))
        middles = (np.arange(len(middle)) + 0.5) * bins
        count = f"median of {len(members)}"
        label, single = f"{name}, {count}" if name else count, len(groups) == 1
        axes.plot(middles, middle, label=label, **line(index))
        colour = str(line(index)["color"])
        for low, high, alpha, about in (
            (tenth, ninetieth, 0.3, "10 % to 90 %"),
            (least, greatest, 0.12, "all"),
        ):
            shown = about if single else None
            axes.fill_between(middles, low, high, color=colour, alpha=alpha, linewidth=0, label=shown)
        highest = max(highest, float(np.nanmax(greatest, initial=0.0)))
        drawn.append((colour, members))
    # The prediction may be much larger than the share of each flow, and must not compress the rest
    # of the panel.
    axes.set_ylim(0, 1.1 * highest or None)
    return drawn


def _lines(runs: Runs, *quantities: str, flow: str | None, bin_s: float) -> Iterator[Line]:
    """Yields a line per entity, or per connection of one flow. The labels distinguish the lines."""
    for name, run in named_runs(runs):
        traces = [
            trace
            for quantity in quantities
            for trace in samples_of(run, quantity, bin_s=bin_s, wanted=partial(_is_of, flow)).items()
        ]
        if "delivery.delivered" in quantities:
            recorded = {entity for quantity in quantities for entity in entities_of(run, quantity)}
            starved = _starved(run, recorded) if recorded else []
            traces += [(entity, samples) for entity, samples in starved if _is_of(flow, entity)]
        if "tcp.sent" in quantities:
            traces = [
                (one, replace(sent, values=sent.values / segment_bytes(run, one))) for one, sent in traces
            ]
        starts, groups = starts_s(run), _groups(run)
        for entity, samples in traces:
            label = entity if not name else name if len(traces) == 1 else f"{name}, {entity}"
            known = predict_run(run).get(entity)
            yield Line(
                label,
                entity,
                ", ".join(filter(None, (name, groups.get(entity) or groups.get(flow_of(entity))))),
                samples,
                end_s=duration_s(run),
                start_s=starts.get(entity) or 0.0,
                prediction=None if known is None else known.prediction,
            )


def _is_of(flow: str | None, connection: str) -> bool:
    return flow is None or flow_of(connection) == flow


def flow_of(connection: str) -> str:
    """Returns the flow of a connection. Further connections of a flow have its name and a number.

    >>> flow_of("web1"), flow_of("web1.2"), flow_of("web1.2.reverse")
    ('web1', 'web1', 'web1.reverse')
    """
    return re.sub(r"\.\d+(?=\.reverse$|$)", "", connection)


def starts_s(run: Run) -> dict[str, float]:
    """Returns the start times of flows; for a killed run, the start times in its scenario without
    random ones."""
    if run.has_flows:
        return dict(run.flows.select("flow", "start").iter_rows())
    starts = {flow["name"]: flow.get("start") for flow in run.flow_tables}
    return {name: base_value(start) for name, start in starts.items() if isinstance(start, str)}


def _groups(run: Run) -> dict[str, str]:
    """Returns the group of each flow that has a group."""
    if not run.has_flows:
        return {flow["name"]: flow["group"] for flow in run.flow_tables if flow.get("group")}
    return dict(run.flows.select("flow", "group").iter_rows()) if "group" in run.flows.columns else {}


def segment_bytes(run: Run, flow: str) -> int:
    """Returns the payload of a full segment of a TCP flow, or of a member of a group."""
    groups = _groups(run)
    transports = {one["name"]: one["transport"] for one in run.scenario.get("flow", [])}
    own = flow_of(flow)
    names = (own, own.removesuffix(".reverse"), (groups.get(own) or "").removesuffix(".reverse"))
    found: Any = next((transports[name] for name in names if name in transports), {})
    return int(found.get("segment_size", 1460)) if isinstance(found, Mapping) else 1460


def _starved(run: Run, recorded: set[str]) -> Iterator[tuple[str, Samples]]:
    """Yields the flows without any delivery, which have no rows in traces."""
    nothing = np.zeros(0)
    if not run.has_flows or "delivered_bytes" not in run.flows.columns:
        return
    for flow, delivered in run.flows.select("flow", "delivered_bytes").iter_rows():
        if not delivered and flow not in recorded:
            yield flow, Samples(nothing, nothing)
