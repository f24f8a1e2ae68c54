"""``bentpipe space contacts route``: the best route of a bundle."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ...common import TROUBLE, Json

if TYPE_CHECKING:
    from bentpipe.dtn.contacts import Plan

PlanFile = Annotated[
    Path,
    typer.Argument(
        metavar="PLAN",
        help="The contact plan: JSON, HDTN's JSON, ION's commands, CSV or TOML.",
        show_default=False,
    ),
]

SkipImpossible = Annotated[
    bool,
    typer.Option(
        "--skip-impossible",
        help="Skip contacts that do not end after their start. By default, such contacts are refused.",
    ),
]


def read(plan: Path, skip_impossible: bool) -> Plan:
    """Reads a plan, and reports the number of skipped contacts on standard error."""
    from bentpipe.dtn import contacts

    found = contacts.read_plan(plan, skip_impossible=skip_impossible)
    if found.skipped:
        typer.echo(f"bentpipe: {plan}: skipped {found.skipped} impossible contacts", err=True)
    return found


def route(
    plan: PlanFile,
    source: Annotated[
        str, typer.Option("--from", metavar="NODE", help="Source of the bundle.", show_default=False)
    ],
    destination: Annotated[
        str, typer.Option("--to", metavar="NODE", help="Destination of the bundle.", show_default=False)
    ],
    at: Annotated[
        str,
        typer.Option(
            metavar="TIME", help="A time of the plan at which the bundle is at the source, such as 12.3s."
        ),
    ] = "0s",
    size: Annotated[
        str | None, typer.Option(metavar="SIZE", help="Size of the bundle.", show_default=False)
    ] = None,
    most: Annotated[
        int,
        typer.Option(
            "--routes", min=1, max=1000, metavar="NUMBER", help="Number of routes to find, best first."
        ),
    ] = 1,
    without: Annotated[
        list[str] | None,
        typer.Option(metavar="NODE", help="A node to avoid. Repeatable.", show_default=False),
    ] = None,
    skip_impossible: SkipImpossible = False,
    json: Json = False,
) -> None:
    """Find the route with the earliest arrival of a bundle.

    Routes are those of contact graph routing (CCSDS 734.3).

    The arrival is the arrival of the last bit. A node starts to send the bundle when it has
    received the whole bundle and the contact is open, and must finish before the contact ends. Each
    transmission takes the size divided by the rate, plus the light time. Among routes with equal
    arrival, the route with fewer contacts is better, then the route whose contacts end later. A
    bundle that is already at its destination arrives at once. The exit code is 1 if no route
    exists.
    """
    from bentpipe.dtn import contacts

    from ...amounts import exact_moment, size_bytes
    from ...output import print_json, print_table

    size_b = 0 if size is None else size_bytes(size, "--size")
    # Nanoseconds of the present time have more digits than a float.
    time = exact_moment(at)
    found = contacts.routes(
        read(plan, skip_impossible),
        source,
        destination,
        at=time,
        size=size_b,
        most=most,
        without=tuple(without or ()),
    )
    if json:
        best = asdict(found[0]) if found else {"contacts": [], "arrival": None}
        question = {"from": source, "to": destination, "at": float(time), "bytes": size_b}
        others = {"routes": [asdict(route) for route in found]} if most > 1 else {}
        print_json({**question, **best, **others})
    if not found:
        text = (
            f"bentpipe: no route from {source} to {destination} for {size_b} bytes at {time.normalize():f} s"
        )
        typer.echo(text, err=True)
        raise typer.Exit(TROUBLE)
    if json:
        return
    for one in found:
        title = f"Arrival at {destination}: {one.arrival:.10g} s"
        if not one.contacts:
            typer.echo(f"{title}, where the bundle is")
            continue
        rows = [
            (
                str(passage.id),
                f"{passage.src} to {passage.dst}",
                *(f"{value:.10g}" for value in (passage.start, passage.end)),
                *(f"{value:.10g}" for value in (passage.first_bit, passage.last_bit, passage.arrival)),
            )
            for passage in one.contacts
        ]
        heads = ("Contact", "Nodes", "Start\ns", "End\ns", "First bit\ns", "Last bit\ns", "Arrival\ns")
        print_table(heads, rows, text_columns=2, title=title)
