"""``bentpipe matrix tcp``: downloads with the congestion controls of Linux, with and without a
proxy."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bentpipe.errors import unknown

from ..common import Jobs, Json
from .common import KeepRuns, Loads, OutMatrix, Paths, chosen_loads, chosen_paths, run_and_tell


def tcp(
    control: Annotated[
        list[str] | None,
        typer.Option(
            "--control",
            metavar="NAME",
            help="Congestion control of Linux, such as cubic. Repeatable.",
            show_default="reno, cubic, bbr and hybla",
        ),
    ] = None,
    path: Paths = None,
    load: Loads = None,
    jobs: Jobs = None,
    keep_runs: KeepRuns = False,
    out: OutMatrix = None,
    json: Json = False,
) -> None:
    """Download over TCP, with and without a splitting proxy.

    Compares the congestion controls of Linux over the paths and loads of `bentpipe matrix quic`,
    with the TCP of a Linux kernel in virtual time (`bentpipe machine kernel build`). Cells whose
    inputs have not changed are kept, so repeat the command to resume.
    """
    from bentpipe.matrix.cells import CONTROLS, tcp_cells

    for name in control or ():
        if name not in CONTROLS:
            raise unknown("congestion control", name, CONTROLS)
    controls = [*dict.fromkeys(control or CONTROLS[:4])]
    run_and_tell(
        [*tcp_cells(controls, chosen_paths(path), chosen_loads(load))],
        out or Path("runs/matrix-tcp"),
        jobs=jobs,
        keep_runs=keep_runs,
        json=json,
        title="TCP over satellites",
        rows="control",
        columns="mode",
        stacks=[],
    )
