"""``bentpipe campaign export``: exports a campaign's results for other programs and for papers."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bentpipe.cli.common import Json
from bentpipe.errors import InputError

from .common import Against, By, Metrics, Of, StoreFolder


def export(
    store: StoreFolder,
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="The file to write. Its ending selects the format: .csv, .parquet, .xlsx, .json, .md or "
            ".tex.",
            show_default=False,
        ),
    ],
    metric: Metrics = None,
    of: Of = None,
    by: By = None,
    against: Against = None,
    rows: Annotated[
        str | None,
        typer.Option(
            metavar="TABLE",
            help="The table to export with all rows of all runs, in base units, such as flows or link. If "
            "unset, means.",
            show_default=False,
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Export means for other programs or papers.

    The file is CSV, Parquet, a spreadsheet, JSON, or a table in Markdown or LaTeX. It contains the
    mean over the replications of each variant, with its confidence interval.
    """
    from bentpipe.campaign import Campaign
    from bentpipe.campaign.tabulate import exported, tabulate
    from bentpipe.cli.output import of_format, print_json
    from bentpipe.results.export import ENDINGS, table_of, write

    of_format(file, list(ENDINGS))
    campaign = Campaign(store)
    if rows is not None:
        if metric or of or by or against:
            raise InputError(
                "--rows exports complete tables, so it cannot be combined with --metric, --of, --by or --against"
            )
        table = table_of(campaign.table(rows))
    else:
        keys = [campaign.key(name) for name in by] if by else None
        table = exported(tabulate(campaign, metric or ["goodput"], of, keys, against))
    write(table, file)
    if json:
        print_json({"written": file})
    else:
        # Print to stderr, to keep standard output clean for pipes.
        typer.echo(f"written  {file}", err=True)
