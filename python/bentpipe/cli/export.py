"""``bentpipe export``: exports a table of a run for other programs and for papers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .common import TROUBLE, Json

if TYPE_CHECKING:
    from bentpipe.results.runs import Run

#: Ending of NetPIPE's own file.
_NP_OUT = ".out"


def export(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The run's folder.", show_default=False)],
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="The file to write. Its ending selects the format: .csv, .parquet, .xlsx, .json, .md, "
            ".tex, or .out for the results of NetPIPE.",
            show_default=False,
        ),
    ],
    rows: Annotated[
        str | None,
        typer.Option(
            metavar="TABLE",
            help="The table to export: flows, or another result table or a trace, such as link or tcp.",
            show_default="flows",
        ),
    ] = None,
    flow: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="The flow for a .out file, if several run NetPIPE.", show_default=False
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Export a table of a run for other programs or papers.

    The file is CSV, Parquet, a spreadsheet, JSON, or a table in Markdown or LaTeX. Values are in
    base units: seconds, bytes and bit/s.

    A .out file has the format of NetPIPE's np.out. Each line has the size of the block in bytes,
    the throughput in units of 2^20 bit/s, and the time in seconds. The exit code is 1 if the run
    ended before NetPIPE finished.
    """
    from bentpipe.cli.output import of_format, print_json
    from bentpipe.errors import InputError
    from bentpipe.results.export import ENDINGS, table_of_run, write
    from bentpipe.results.runs import open_run

    np_out = of_format(file, [*ENDINGS, _NP_OUT]) == _NP_OUT
    if np_out and rows is not None:
        raise InputError(f"--rows {rows}: not allowed for a {_NP_OUT} file, which has the results of NetPIPE")
    if flow is not None and not np_out:
        raise InputError(f"--flow {flow}: allowed only for a {_NP_OUT} file; other files have all flows")
    opened = open_run(run)
    pending = _write_np_out(opened, flow, file) if np_out else 0
    if not np_out:
        write(table_of_run(opened, rows or "flows"), file)
    if json:
        print_json({"written": file} | ({"pending_bytes": pending} if np_out else {}))
    else:
        # Print to stderr, to keep standard output clean for pipes.
        typer.echo(f"written  {file}", err=True)
    if pending:
        typer.echo(
            f"the run ended before NetPIPE finished: during the trials of the block of {pending} bytes",
            err=True,
        )
        raise typer.Exit(TROUBLE)


def _write_np_out(run: Run, flow: str | None, file: Path) -> int:
    """Writes NetPIPE's file np.out. Returns the size of the unfinished
    block, or 0."""
    from bentpipe.results.netpipe import blocks, np_out, pending

    text = np_out(blocks(run, flow))
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
    return pending(run, flow)
