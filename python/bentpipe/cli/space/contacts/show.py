"""``bentpipe space contacts show``: draws a contact plan."""

from __future__ import annotations

import shutil
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ...common import FIGURES, Json
from .route import PlanFile, SkipImpossible
from .route import read as read_plan

if TYPE_CHECKING:
    from bentpipe.dtn.contacts import Contact, Plan

#: Width of the time axis in a terminal of 80 characters.
_WIDTH = 44


def show(
    plan: PlanFile,
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
    skip_impossible: SkipImpossible = False,
    json: Json = False,
) -> None:
    """List the contacts between nodes, and draw their times.

    Prints the number, total time and capacity of the contacts of each pair of nodes.
    """
    from ...output import of_format, print_json, print_table

    read = read_plan(plan, skip_impossible)
    if out is not None:
        from bentpipe import plots

        of_format(out, FIGURES)
        plots.save(plots.contact_plan(read), out)
    if json:
        print_json({**asdict(read), "figure": out})
        return
    first = min(contact.start for contact in read.contacts)
    last = max(contact.end for contact in read.contacts)
    title = f"{read.name}: {len(read.contacts)} contacts, {first:g} s to {last:g} s"
    heads = ("Nodes", "Open", "Contacts", "Open\ns", "Volume\nMB")
    print_table(heads, _rows(read, first, last), text_columns=2, title=title)
    if out is not None:
        typer.echo(f"written  {out}")


def _rows(plan: Plan, first: float, last: float) -> list[tuple[str, ...]]:
    pairs: dict[tuple[str, str], list[Contact]] = {}
    for contact in plan.contacts:
        pairs.setdefault((str(contact.src), str(contact.dst)), []).append(contact)
    # The width that the names and the three columns of numbers leave, so that no bar is folded.
    longest = max(len(f"{source} to {destination}") for source, destination in pairs)
    width = max(10, min(_WIDTH, shutil.get_terminal_size().columns - longest - 34))
    rows: list[tuple[str, ...]] = []
    for (source, destination), found in pairs.items():
        bar = ["."] * width
        for contact in found:
            begin, end = ((time - first) / (last - first) * width for time in (contact.start, contact.end))
            for place in range(int(begin), min(width, max(int(begin) + 1, round(end)))):
                bar[place] = "#"
        seconds = sum(contact.end - contact.start for contact in found)
        volume = sum((contact.end - contact.start) * contact.rate_bps / 8e6 for contact in found)
        nodes = f"{source} to {destination}"
        rows.append((nodes, "".join(bar), str(len(found)), f"{seconds:g}", f"{volume:.4g}"))
    return rows
