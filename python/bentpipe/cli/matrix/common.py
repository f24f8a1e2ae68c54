"""Options and output that the commands of a matrix share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bentpipe.errors import unknown

from ..common import TROUBLE

if TYPE_CHECKING:
    from bentpipe.matrix.cells import Cell
    from bentpipe.matrix.findings import Finding
    from bentpipe.matrix.outcomes import Outcome
    from bentpipe.matrix.paths import MatrixPath
    from bentpipe.matrix.stacks import Stack

Paths = Annotated[
    list[str] | None,
    typer.Option(
        "--path",
        metavar="NAME",
        help="Path: geo, geo-loss, picoquic, dvb-rcs, leo or moon. Repeatable.",
        show_default="all",
    ),
]
Loads = Annotated[
    list[str] | None,
    typer.Option(
        "--load",
        metavar="LOAD",
        help='Download: "1 MiB", "10 MiB", page (a document and 30 objects of 40 kB), or "100 MB", which only '
        "the path picoquic carries. Repeatable.",
        show_default="1 MiB and 10 MiB",
    ),
]
Build = Annotated[
    bool,
    typer.Option("--build", help="Build missing implementations first, and those that failed to build."),
]
KeepRuns = Annotated[
    bool, typer.Option("--keep-runs", help="Keep the run of each cell, with its capture, in the folder.")
]
OutMatrix = Annotated[
    Path | None,
    typer.Option(
        "--out", "-o", metavar="FOLDER", help="The folder of the results.", show_default="runs/matrix-NAME"
    ),
]


def chosen_paths(names: Sequence[str] | None) -> list[MatrixPath]:
    """Returns the named paths. Raises :class:`bentpipe.InputError` for an unknown name."""
    from bentpipe.matrix.paths import paths

    known = paths()
    for name in names or ():
        if name not in known:
            raise unknown("path", name, known)
    return [known[name] for name in dict.fromkeys(names or known)]


def chosen_loads(names: Sequence[str] | None) -> list[str]:
    """Returns the named loads. Raises :class:`bentpipe.InputError` for an unknown name."""
    from bentpipe.matrix.loads import LOADS

    # The name is a quantity, so that a space is optional.
    meant = {name.replace(" ", ""): name for name in LOADS}
    for name in names or ():
        if name.replace(" ", "") not in meant:
            raise unknown("load", name, LOADS)
    return [meant[name.replace(" ", "")] for name in dict.fromkeys(names or [*LOADS][:2])]


def build_stacks(stacks: Iterable[Stack]) -> None:
    """Builds stacks one after the other, and prints the failures."""
    from bentpipe.guest.build import BuildStopped
    from bentpipe.matrix.building import LOG, build

    from ..progress import shown
    from ..stopping import stoppable

    stacks = list(stacks)
    with stoppable() as stop, shown("building", stop) as bar:
        for number, one in enumerate(stacks):
            try:
                done = build(one, lambda doing, at=number: bar.describe(at / len(stacks), doing))  # type: ignore[misc]
            except BuildStopped:
                typer.echo("interrupted; repeat the command to resume", err=True)
                raise typer.Exit(stop.exit_code) from None
            if done.failure:
                typer.echo(f"failed: {one.name}: {done.failure}; see {done.folder / LOG}", err=True)


def run_and_tell(
    cells: Sequence[Cell],
    out: Path,
    *,
    jobs: int | None,
    keep_runs: bool,
    json: bool,
    find: Callable[[Sequence[Outcome]], Sequence[Finding]] = lambda _: (),
    **about: Any,
) -> None:
    """Runs the cells, writes ``matrix.json`` and ``matrix.html``, and prints the grids, and the
    published findings that ``find`` decides."""
    import os

    from bentpipe.guest import current
    from bentpipe.matrix.page import write_page
    from bentpipe.matrix.running import run_cells

    from ..output import as_json, print_json, write_text
    from ..progress import shown
    from ..stopping import stoppable

    with stoppable() as stop, shown("running", stop) as bar:
        outcomes = run_cells(
            cells,
            out,
            lambda now: bar.describe(now.fraction, now.about),
            jobs=jobs or os.cpu_count() or 1,
            keep_runs=keep_runs,
        )
    findings, kernel = find(outcomes), current().version
    page = write_page(outcomes, out / "matrix.html", kernel=kernel, findings=findings, **about)
    document = {
        "page": page,
        "kernel": kernel,
        "cells": [one.as_dict() for one in outcomes],
        "findings": [one.as_dict() for one in findings],
    }
    write_text(out / "matrix.json", as_json(document) + "\n")
    if json:
        print_json(document)
    else:
        _print(outcomes, f"{about['rows']} / {about['columns']}")
        _print_findings(findings)
        typer.echo(f"results  {out / 'matrix.json'}")
        typer.echo(f"page     {page}")
    if stop.wanted:
        typer.echo("interrupted; repeat the command to resume", err=True)
        raise typer.Exit(stop.exit_code)
    if all(one.completion_s is None for one in outcomes):
        raise typer.Exit(TROUBLE)


def _print(outcomes: Sequence[Outcome], corner: str) -> None:
    """Prints a table of completion times per path and load, with the reasons of missing times."""
    from bentpipe.matrix.tables import completion, grids

    from ..output import print_note, print_table

    for grid in grids(outcomes):
        typer.echo()
        print_note(f"{grid.title}; completion in s", indent=0)
        print_table([corner, *grid.columns], grid.texts(completion))
        for reason in grid.reasons:
            print_note(reason)


def _print_findings(findings: Sequence[Finding]) -> None:
    """Prints published findings, each with the value of this matrix."""
    from ..output import print_table

    if findings:
        typer.echo()
        rows = [
            [one.statement, one.source, one.value, "holds" if one.holds else "does not hold"]
            for one in findings
        ]
        print_table(["published", "source", "here", "verdict"], rows, text_columns=4)
