"""``bentpipe campaign export``: exports a campaign's results for other programs and for papers."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bentpipe.errors import InputError

from .common import By, Metrics, Of, StoreFolder

_ENDINGS = (".csv", ".tex")


def export(
    store: StoreFolder,
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE", help="The file to write; its name ends in .csv or .tex.", show_default=False
        ),
    ],
    metric: Metrics = None,
    of: Of = None,
    by: By = None,
    rows: Annotated[
        str | None,
        typer.Option(
            metavar="TABLE",
            help="Export every row of this table of every run as CSV instead of means: flows, link, ...",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Export means with confidence intervals as CSV, in base units, or as a LaTeX table."""
    from bentpipe.campaign import Campaign
    from bentpipe.campaign.tabulate import as_csv, as_latex, tabulate
    from bentpipe.cli.output import of_format, write_text

    of_format(file, _ENDINGS)
    campaign = Campaign(store)
    if rows is not None:
        if metric or of or by or file.suffix != ".csv":
            raise InputError(
                "--rows exports complete tables as CSV, so it cannot be combined with --metric, --of or --by"
            )
        return write_text(file, campaign.table(rows).write_csv())
    keys = [campaign.key(name) for name in by] if by else None
    means = tabulate(campaign, metric or ["goodput"], of, keys)
    return write_text(file, as_csv(means) if file.suffix == ".csv" else as_latex(means))
