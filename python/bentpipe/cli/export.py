"""``bentpipe export``: exports a table of a run for other programs and for papers."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def export(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The run's folder.", show_default=False)],
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="The file to write. Its ending selects the format: .csv, .parquet, .xlsx, .json, .md or "
            ".tex.",
            show_default=False,
        ),
    ],
    rows: Annotated[
        str,
        typer.Option(
            metavar="TABLE",
            help="The table to export: flows, or another result table or a trace, such as link or tcp.",
        ),
    ] = "flows",
) -> None:
    """Export a table of a run for other programs or papers.

    The file is CSV, Parquet, a spreadsheet, JSON, or a table in Markdown or LaTeX. Values are in
    base units: seconds, bytes and bit/s.
    """
    from bentpipe.cli.output import of_format
    from bentpipe.results.export import ENDINGS, table_of_run, write
    from bentpipe.results.runs import open_run

    of_format(file, list(ENDINGS))
    write(table_of_run(open_run(run), rows), file)
    # Print to stderr, to keep standard output clean for pipes.
    typer.echo(f"written  {file}", err=True)
