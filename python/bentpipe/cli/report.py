"""``bentpipe report``: writes one page about runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .common import Json


def report(
    runs: Annotated[
        list[Path],
        typer.Argument(
            metavar="RUN",
            help="Folders of runs, or a folder of such folders (as written by --vary).",
            show_default=False,
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            metavar="FILE",
            help="The HTML file to write.",
            show_default="report.html in the first folder",
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Write a report on one or several runs.

    The report is a single HTML page with tables and figures.
    """
    from bentpipe.report import write_report
    from bentpipe.results.runs import Run

    from .output import of_format, print_json, print_note

    if out is not None:
        of_format(out, (".html", ".htm"))
    opened = [Run(folder) for given in runs for folder in _folders(given)]
    file = write_report(opened, out or runs[0] / "report.html")
    if json:
        print_json({"report": file})
    else:
        typer.echo(f"report   {file}")
        for one in opened:
            if one.unfinished:
                print_note(f"note: {one.unfinished}")


def _folders(given: Path) -> list[Path]:
    """Returns the run folders directly below a folder, or the folder itself if it is a run
    folder."""
    if (given / "provenance.json").exists():
        return [given]
    return sorted(file.parent for file in given.glob("*/provenance.json")) or [given]
