"""``bentpipe space budget``: prints link budgets line by line."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..common import Json, Overrides


def budget(
    source: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="A scenario, or a link budget as comma-separated rows (a .csv file).",
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
            help="Required margin over the most robust MODCOD of DVB-S2, for a .csv budget without "
            "required_esn0_db.",
        ),
    ] = 1.0,
    json: Json = False,
) -> None:
    """Print link budgets line by line.

    Link budgets are the key acm.budget of a link, and the keys forward.acm.budget and
    return.acm.budget of a star network. A link budget without margin causes a warning.
    """
    from bentpipe.scenario import budgets

    from ..output import print_json, print_table

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
                f"warning: {sheet.name}: the link has no margin; {-sheet.margin_db:.2f} dB are missing",
                err=True,
            )
