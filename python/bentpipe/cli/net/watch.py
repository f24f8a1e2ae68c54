"""``bentpipe net watch``: shows the state of a network that is up."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..common import Json
from .naming import RunName

if TYPE_CHECKING:
    from rich.console import Group

    from bentpipe.live.state import Record
    from bentpipe.live.tables import Status


def watch(
    run: RunName = None,
    once: Annotated[
        bool, typer.Option("--once", help="Print the state once instead of updating it continuously.")
    ] = False,
    interval: Annotated[float, typer.Option(min=0.1, metavar="SECONDS", help="Time between updates.")] = 1.0,
    json: Json = False,
) -> None:
    """Show rates, queues, drops and capacity of a network that is up.

    Rates are averages since the last update. All other numbers are counted since the start of the
    network.
    """
    from bentpipe.live import state
    from bentpipe.live.control import ask

    from ..output import console_of_tables, print_json, print_json_line

    record = state.find(run)
    first: Status = ask(record, "status")
    if once:
        if json:
            print_json({"run": record.id, **first})
        else:
            console = console_of_tables()
            console.print(_shown(first, None, console.width))
        return
    if json:
        for now in _statuses(record, first, interval):
            print_json_line({"run": record.id, **now})
        return
    from rich.live import Live

    console = console_of_tables()
    with Live(_shown(first, None, console.width), console=console, auto_refresh=False) as live:
        for before, now in itertools.pairwise(_statuses(record, first, interval)):
            live.update(_shown(now, before, console.width), refresh=True)
            if not console.is_terminal:
                console.print(_shown(now, before, console.width))
    typer.echo(f"{record.id} has ended")


def _statuses(record: Record, first: Status, interval: float) -> Iterator[Status]:
    """Yields the network's state repeatedly until the network has ended."""
    from bentpipe.live.control import ask

    now = first
    while True:
        yield now
        time.sleep(interval)
        try:
            now = ask(record, "status")
        except OSError:
            if record.ends(within_s=5.0):
                return
            raise


def _shown(now: Status, before: Status | None, width: int) -> Group:
    from rich.console import Group
    from rich.text import Text

    from bentpipe.live import tables

    from ..folding import Sheet

    parts: list[Any] = []
    for columns, rows in (tables.links(now, before), tables.terminals(now, before)):
        if rows:
            shown = rows[:_SHOWN]
            parts.extend(Sheet(columns, shown).folded(width))
            if len(rows) > len(shown):
                parts.append(Text(f"and {len(rows) - len(shown)} more"))
    return Group(*parts, Text(tables.state(now)))


#: Maximum number of rows of a table, so that it fits into a terminal.
_SHOWN = 20
