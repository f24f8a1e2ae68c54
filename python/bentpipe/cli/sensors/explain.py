"""``bentpipe sensors explain``: the plan of a query."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from dataclasses import asdict
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bentpipe.scenario.topology import ranges

from ..common import FIGURES, Json, Overrides

if TYPE_CHECKING:
    from bentpipe.sensors import Cost, Node, Plan

#: Width of an operator's detail in a terminal of 80 characters.
_WIDTH = 38

ScenarioFile = Annotated[
    Path,
    typer.Argument(
        metavar="FILE", help="A scenario with a flow with an app of the kind sensors.", show_default=False
    ),
]
FlowName = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="The flow with the sensor network, if several flows have one.",
        show_default=False,
    ),
]


def explain(
    source: ScenarioFile,
    overrides: Overrides = None,
    flow: FlowName = None,
    query: Annotated[
        str | None,
        typer.Option(
            metavar="SQL",
            help="A query to explain instead of the scenario's query, for the same motes.",
            show_default=False,
        ),
    ] = None,
    placement: Annotated[
        str | None,
        typer.Option(
            metavar="nodes|sink",
            help="A placement to use instead of the scenario's placement.",
            show_default=False,
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            metavar="FILE",
            help="The figure to write (.png, .svg or .pdf).",
            show_default=False,
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Print the operators of a query on the nodes, and their cost.

    Nodes with identical operators share a row. Costs are expected values without collisions and
    losses, under the assumption that each condition holds for half of the measurements. For
    comparison, the last table also has the cost of sending all measurements to the sink.
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
    typer.echo(textwrap.fill(" ".join(plan.query.split()), 80, subsequent_indent="  ") + "\n")
    print_table(
        ("Node", "Operator", "Operation", "Rows\nper s"),
        list(_operators(plan)),
        text_columns=3,
        title="Location of each part of the query",
    )
    print_table(
        ("From -> to", "Size of\na row, B", "Rows\nper s"),
        [(" -> ".join(one.path), f"{one.tuple_bytes}", f"{one.rows_per_s:.4g}") for one in plan.channels],
        text_columns=1,
        title="Data sent between nodes",
    )
    print_table(
        ("Plan", "Messages\nper s", "Bytes\nper s", "Transceivers\nmW"),
        [_cost("this plan", plan.cost), _cost("all measurements to the sink", plan.shipped)],
        text_columns=1,
        title="Expected cost on the motes' channel",
    )
    if out is not None:
        typer.echo(f"written  {out}")


def _operators(plan: Plan) -> Iterator[tuple[str, ...]]:
    """Yields rows of the table of operators. Adjacent nodes with identical operators share a
    row."""

    def of_node(node: Node) -> list[tuple[str, str, str]]:
        own = [one for one in plan.operators if one.node == node.name]
        return [(one.kind, one.detail, f"{one.rows_per_s:.4g}") for one in own]

    for operators, nodes in groupby(plan.nodes, key=of_node):
        name = ranges([node.name for node in nodes])
        for kind, detail, rate in operators:
            first, *others = textwrap.wrap(detail, _WIDTH) or [""]
            yield name, kind, first, rate
            yield from (("", "", line, "") for line in others)
            name = ""


def _cost(name: str, cost: Cost) -> tuple[str, ...]:
    return name, f"{cost.messages_per_s:.4g}", f"{cost.bytes_per_s:.4g}", f"{cost.power_w * 1e3:.4g}"
