"""``bentpipe netpipe``: prints the results of NetPIPE in a run in the format of the real
program."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .common import TROUBLE, Json


def netpipe(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The run's folder.", show_default=False)],
    flow: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="The flow, if several run NetPIPE.", show_default=False),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            metavar="FILE",
            help="Write np.out to this file instead of printing it.",
            show_default=False,
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Print the results of NetPIPE in a run, as in its file np.out.

    Each line has the size of the block in bytes, the throughput in units of 2^20 bit/s, and the
    time in seconds. --json adds the throughput in bit/s. The exit code is 1 if the run ended before
    NetPIPE did.
    """
    from bentpipe.results.netpipe import MEGABIT, blocks, np_out, pending
    from bentpipe.results.runs import open_run

    from .output import print_json

    opened = open_run(run)
    measured = blocks(opened, flow)
    text = np_out(measured)
    if json:
        both = [
            vars(block) | {"bit_s": block.bit_s, "program_mbps": block.bit_s / MEGABIT} for block in measured
        ]
        print_json({"blocks": both, "pending": pending(opened, flow)})
    elif out is None:
        typer.echo(text, nl=False)
    else:
        out.write_text(text, encoding="utf-8")
        typer.echo(f"written  {out}")
    if cut := pending(opened, flow):
        typer.echo(
            f"the run ended before NetPIPE finished: during the trials of the block of {cut} bytes", err=True
        )
        raise typer.Exit(TROUBLE)
