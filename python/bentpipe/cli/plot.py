"""``bentpipe plot``: figures of runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bentpipe.errors import InputError, unknown

from .common import Json

_FIGURES = ("overview", "throughput", "rtt", "window", "queue", "dama", "efficiency")


def plot(
    runs: Annotated[
        list[Path],
        typer.Argument(help="Folders of runs, to lay over each other.", show_default=False),
    ],
    figure: Annotated[
        list[str] | None,
        typer.Option(
            help=f"Which figure; repeatable: {', '.join(_FIGURES)}.",
            show_default="overview, or throughput and rtt",
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="The folder for the figures.", show_default="that of the first run")
    ] = None,
    suffix: Annotated[str, typer.Option("--format", help="png, svg or pdf.")] = "png",
    json: Json = False,
) -> None:
    """Draw figures of one or several runs."""
    from bentpipe import plots
    from bentpipe.runs import Run

    from .output import print_json

    if suffix not in ("png", "svg", "pdf"):
        raise InputError(f'"{suffix}" is no format for figures: allowed are png, svg and pdf')
    opened = [Run(folder) for folder in runs]
    chosen = figure or (["overview"] if len(opened) == 1 else ["throughput", "rtt"])
    for name in chosen:
        if name not in _FIGURES:
            raise unknown("figure", name, _FIGURES)
    if "overview" in chosen and len(opened) > 1:
        raise InputError("the overview is of one run: choose figures with --figure, for instance rtt")
    folder = out or runs[0] / "figures"
    written = []
    for name in chosen:
        what = opened[0] if len(opened) == 1 else opened
        written.append(plots.save(getattr(plots, name)(what), folder / f"{name}.{suffix}"))
    if json:
        print_json({"figures": written})
    else:
        for file in written:
            typer.echo(f"figure   {file}")
