"""``bentpipe export``: exports a table of a run for other programs and for papers, or the path of a
scenario for other tools."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from . import completion
from .common import TROUBLE, Json, Overrides

if TYPE_CHECKING:
    from bentpipe.results.runs import Run

#: Ending of NetPIPE's own file.
_NP_OUT = ".out"

#: Ending of a qlog of a QUIC connection.
_QLOG = ".sqlog"


def export(
    run: Annotated[
        str,
        typer.Argument(
            metavar="RUN|SCENARIO",
            help="The run's folder. With --to, a scenario file, or the name of a profile or preset.",
            show_default=False,
        ),
    ],
    file: Annotated[
        Path | None,
        typer.Argument(
            metavar="FILE",
            help="The file to write. Its ending selects the format: .csv, .parquet, .xlsx, .json, .md, "
            ".tex, .out for the results of NetPIPE, or .sqlog for the qlog of a QUIC flow. With --to, the folder "
            "to write.",
            show_default="with --to SCENARIO-TOOL, otherwise required",
        ),
    ] = None,
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
            metavar="NAME",
            help="The flow for a .out or .sqlog file, if several run NetPIPE or use QUIC. For a .sqlog file, "
            "NAME.destination is its server.",
            show_default=False,
        ),
    ] = None,
    to: Annotated[
        str | None,
        typer.Option(
            metavar="TOOL",
            help="The tool for which a scenario's path is exported: netem, mahimahi, containerlab, netlab, "
            "toxiproxy, quic-network-simulator, leoreplayer, netsatbench or devtools.",
            autocompletion=completion.tools,
            show_default=False,
        ),
    ] = None,
    client: Annotated[
        str | None,
        typer.Option(
            "--client",
            metavar="NAME",
            help="The client's end of the path, for --to. If unset, as for `bentpipe run`.",
            show_default=False,
        ),
    ] = None,
    overrides: Overrides = None,
    json: Json = False,
) -> None:
    """Export a table of a run, or the path of a scenario.

    The file is CSV, Parquet, a spreadsheet, JSON, or a table in Markdown or LaTeX. Values are in
    base units: seconds, bytes and bit/s.

    A .out file has the format of NetPIPE's np.out. Each line has the size of the block in bytes,
    the throughput in units of 2^20 bit/s, and the time in seconds. The exit code is 1 if the run
    ended before NetPIPE finished.

    A .sqlog file has the packets, metrics and congestion states of one end of a QUIC flow, for qvis
    (qlog 0.3). The run must have been recorded with record.details = true.

    With --to, imposes the path of a scenario by another tool: its rates, delays, losses and queues,
    over time if the tool can. The path is observed in simulations without the scenario's flows. The
    files name the losses of fidelity.
    """
    if to is not None:
        _export_path(run, to, file, client, overrides or [], json=json, table=rows or flow)
        return
    from bentpipe.cli.output import of_format, print_json
    from bentpipe.errors import InputError
    from bentpipe.results.export import ENDINGS, table_of_run, write
    from bentpipe.results.runs import open_run

    for option, value in (("--client", client), ("--set", overrides[0] if overrides else None)):
        if value is not None:
            raise InputError(f"{option} {value}: allowed only with --to")
    if file is None:
        raise InputError("FILE is missing: name the file to write, or the tool by --to")
    ending = of_format(file, [*ENDINGS, _NP_OUT, _QLOG])
    of_one_flow = {_NP_OUT: "the results of NetPIPE", _QLOG: "the events of a QUIC flow"}
    if rows is not None and ending in of_one_flow:
        raise InputError(f"--rows {rows}: not allowed for a {ending} file, which has {of_one_flow[ending]}")
    if flow is not None and ending not in of_one_flow:
        raise InputError(
            f"--flow {flow}: allowed only for a {_NP_OUT} or {_QLOG} file; other files have all flows"
        )
    opened = open_run(Path(run))
    pending = 0
    if ending == _NP_OUT:
        pending = _write_np_out(opened, flow, file)
    elif ending == _QLOG:
        from bentpipe.results.qlog import qlog

        _write_text(qlog(opened, flow), file)
    else:
        write(table_of_run(opened, rows or "flows"), file)
    if json:
        print_json({"written": file} | ({"pending_bytes": pending} if ending == _NP_OUT else {}))
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

    _write_text(np_out(blocks(run, flow)), file)
    return pending(run, flow)


def _write_text(text: str, file: Path) -> None:
    """Writes a file, and creates its folder if it is missing."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")


def _export_path(
    scenario: str,
    tool: str,
    folder: Path | None,
    client: str | None,
    overrides: list[str],
    *,
    json: bool,
    table: str | None,
) -> None:
    """Exports the path of a scenario, and prints the written files and the losses of fidelity."""
    from bentpipe.cli.output import print_json
    from bentpipe.errors import InputError, unknown
    from bentpipe.live.target import target
    from bentpipe.tools import TOOLS, export
    from bentpipe.tools.course import course

    if table is not None:
        raise InputError(f"--rows and --flow ({table}): not allowed with --to, which exports a path")
    if tool not in TOOLS:
        raise unknown("tool", tool, TOOLS)
    wanted = target(scenario, overrides, client)
    folder = folder or Path(f"{wanted.label}-{tool}")
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder}: is a file; allowed: a folder")
    written = export(course(wanted.scenario, wanted.near, wanted.far), tool, folder)
    if json:
        print_json({"tool": tool, "client": wanted.near, "server": wanted.far, "written": written})
        return
    for file in written if len(written) < 10 else [folder]:
        typer.echo(f"written  {file}", err=True)
    typer.echo("note     comments in the files, or FIDELITY.txt, name the losses of fidelity", err=True)
