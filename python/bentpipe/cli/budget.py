"""``bentpipe budget``: prints link budgets line by line."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .common import Json, Overrides


def budget(
    source: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="A scenario, or a link budget as comma-separated rows (a file that ends in .csv).",
            show_default=False,
        ),
    ],
    overrides: Overrides = None,
    margin: Annotated[
        float,
        typer.Option(
            min=0.0,
            max=60.0,
            metavar="DB",
            help="Margin over the most robust MODCOD of DVB-S2 that a .csv budget needs, unless it has a "
            "required_esn0_db.",
        ),
    ] = 1.0,
    json: Json = False,
) -> None:
    """Print link budgets line by line.

    A scenario has them under acm.budget of a link, and under forward.acm.budget and return.acm.budget of a star
    network. A warning is printed when the margin is gone.
    """
    from bentpipe.scenario import budgets

    from .output import print_json, print_table

    sheets = budgets.of(source, overrides or [], margin_db=margin)
    if json:
        print_json([sheet.document() for sheet in sheets])
        return
    for sheet in sheets:
        rows = [(name, f"{round(value, 2) + 0:.2f}", unit) for name, value, unit, _ in sheet.lines]
        modcod = sheet.modcod or "none: outage"
        rows += [
            ("Required Es/N0", f"{sheet.required_db:.2f}", "dB"),
            ("Margin", f"{sheet.margin_db:.2f}", "dB"),
            ("MODCOD", modcod, ""),
        ]
        print_table(("line", "value", "unit"), rows, title=sheet.name)
    for sheet in sheets:
        if sheet.margin_db < 0:
            typer.echo(
                f"warning: {sheet.name}: the margin is gone, {-sheet.margin_db:.2f} dB are missing", err=True
            )
