"""``bentpipe matrix quic``: downloads between implementations of QUIC."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..common import Jobs, Json
from .common import (
    Build,
    KeepRuns,
    Loads,
    OutMatrix,
    Paths,
    build_stacks,
    chosen_loads,
    chosen_paths,
    run_and_tell,
)


def quic(
    stack: Annotated[
        list[str] | None,
        typer.Option(
            "--stack",
            metavar="NAME",
            help="Implementation as client and as server, such as quinn, or with a congestion control of the "
            "server, such as quinn:bbr. Repeatable.",
            show_default="all",
        ),
    ] = None,
    client: Annotated[
        list[str] | None,
        typer.Option(
            "--client-stack",
            metavar="NAME",
            help="Implementation as client. Repeatable.",
            show_default="those of --stack",
        ),
    ] = None,
    server: Annotated[
        list[str] | None,
        typer.Option(
            "--server-stack",
            metavar="NAME",
            help="Implementation as server, such as quinn:bbr. Repeatable.",
            show_default="those of --stack",
        ),
    ] = None,
    same: Annotated[
        bool, typer.Option("--same", help="Only pairs of a client and a server of one implementation.")
    ] = False,
    path: Paths = None,
    load: Loads = None,
    build: Build = False,
    stacks: Annotated[
        Path | None,
        typer.Option(
            "--stacks",
            metavar="FOLDER",
            help="Folder with your own implementations.",
            show_default="those of bentpipe",
        ),
    ] = None,
    jobs: Jobs = None,
    keep_runs: KeepRuns = False,
    out: OutMatrix = None,
    json: Json = False,
) -> None:
    """Download between implementations of QUIC.

    Each client downloads from each server: the implementations' own code on a Linux kernel in
    virtual time (`bentpipe machine kernel build`). --build builds the programs from package
    registries, with the tools of their languages. Cells whose inputs have not changed are kept, so
    repeat the command to resume.
    """
    from bentpipe.matrix.cells import quic_cells
    from bentpipe.matrix.findings import findings
    from bentpipe.matrix.stacks import FOLDER, chosen
    from bentpipe.matrix.stacks import stacks as read

    known = read(stacks or FOLDER)
    clients, servers = (chosen(names or stack or (), known) for names in (client, server))
    paths, loads = chosen_paths(path), chosen_loads(load)
    every = [*{one.label: one for one in (*clients, *servers)}.values()]
    if build:
        build_stacks(every)
    cells = [
        cell for cell in quic_cells(clients, servers, paths, loads) if not same or cell.row == cell.column
    ]
    run_and_tell(
        cells,
        out or Path("runs/matrix-quic"),
        jobs=jobs,
        keep_runs=keep_runs,
        json=json,
        find=lambda outcomes: findings(outcomes, {one.label: one.congestion for one in every}),
        title="QUIC over satellites",
        rows="client",
        columns="server",
        stacks=[
            ["stack", "package", "version", "language", "congestion control", "windows of the client"],
            *([s.label, s.package, s.version, s.language, s.congestion, s.windows] for s in every),
        ],
    )
