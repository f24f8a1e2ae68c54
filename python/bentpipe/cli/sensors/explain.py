"""``bentpipe sensors explain``: the plan of a query."""

from __future__ import annotations

import textwrap
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..common import FIGURES, Json, Overrides

if TYPE_CHECKING:
    from bentpipe.sensors import Cost, Node

#: Characters of an operator's detail in a terminal of 80.
_WIDTH = 38

ScenarioFile = Annotated[
    Path,
    typer.Argument(
        metavar="FILE", help="A scenario with a flow whose app is of the kind sensors.", show_default=False
    ),
]
FlowName = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="The flow, if several have a sensor network.", show_default=False),
]


def explain(
    source: ScenarioFile,
    overrides: Overrides = None,
    flow: FlowName = None,
    query: Annotated[
        str | None,
        typer.Option(
            metavar="SQL", help="Another query than the scenario's, over the same motes.", show_default=False
        ),
    ] = None,
    placement: Annotated[
        str | None,
        typer.Option(metavar="nodes|sink", help="Another placement than the scenario's.", show_default=False),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", metavar="FILE", help="Write a figure: PNG, SVG or PDF.", show_default=False
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Print a query's operators on the nodes, and what they cost.

    Costs are expectations without contention and losses: a condition holds for half of the measures. They stand
    beside those of a plan that ships every measure to the sink.
    """
    from bentpipe import sensors

    from ..output import of_format, print_json, print_table

    plan = sensors.explain(source, overrides or [], flow=flow, query=query, placement=placement)
    if out is not None:
        from bentpipe import plots

        of_format(out, FIGURES)
        plots.save(plots.query_plan(plan), out)
    if json:
        print_json({**asdict(plan), "figure": out})
        return
    rows = []
    for one in sorted(plan.operators, key=lambda one: (_place(plan.nodes, one.node), one.id)):
        first, *others = textwrap.wrap(one.detail, _WIDTH) or [""]
        rows.append((one.node, one.kind, first, f"{one.rows_per_s:.4g}"))
        rows += [("", "", line, "") for line in others]
    print_table(("Node", "Operator", "Detail", "Rows/s"), rows, text_columns=3, title="Operators")
    channels = [
        (" - ".join(one.path), f"{one.tuple_bytes}", f"{one.rows_per_s:.4g}") for one in plan.channels
    ]
    print_table(("Channel", "Bytes", "Rows/s"), channels, text_columns=1, title="Stream channels")
    costs = [_cost("this plan", plan.cost), _cost("shipping all", plan.shipped)]
    print_table(("Plan", "Messages/s", "Bytes/s", "Power (mW)"), costs, text_columns=1, title="Cost")
    if out is not None:
        typer.echo(f"written  {out}")


def _place(nodes: list[Node], name: str) -> int:
    return [node.name for node in nodes].index(name)


def _cost(name: str, cost: Cost) -> tuple[str, ...]:
    return name, f"{cost.messages_per_s:.4g}", f"{cost.bytes_per_s:.4g}", f"{cost.power_w * 1e3:.4g}"
