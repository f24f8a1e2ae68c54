"""``bentpipe report``: one page with everything about runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .common import Json


def report(
    runs: Annotated[
        list[Path],
        typer.Argument(help="Folders of runs, for one page.", show_default=False),
    ],
    out: Annotated[
        Path | None,
        typer.Option(help="The file to write.", show_default="report.html in the first run's folder"),
    ] = None,
    json: Json = False,
) -> None:
    """Write report.html of one or several runs."""
    from bentpipe.report import write_report
    from bentpipe.runs import Run

    from .output import of_format, print_json

    if out is not None:
        of_format(out, (".html", ".htm"))
    file = write_report([Run(folder) for folder in runs], out or runs[0] / "report.html")
    if json:
        print_json({"report": file})
    else:
        typer.echo(f"report   {file}")
