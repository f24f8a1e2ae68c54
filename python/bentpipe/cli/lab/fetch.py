"""``bentpipe lab fetch``: saves the results of a run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bentpipe.cli.common import Json

from .common import HERE, RunName, Server, run_id


def fetch(
    run: RunName,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", metavar="FOLDER", help="The folder to write.", show_default="runs/run-NUMBER"
        ),
    ] = None,
    server: Server = HERE,
    json: Json = False,
) -> None:
    """Save the results of a run.

    Writes a run's folder, which every other command reads.
    """
    from bentpipe.cli.output import print_json
    from bentpipe.testbed.client import laboratory

    folder = out or Path("runs") / f"run-{run}"
    files = laboratory(server).fetch(run_id(server, run), folder)
    if json:
        print_json({"run": folder, "files": files})
    else:
        typer.echo(f"{len(files)} files in {folder}")
