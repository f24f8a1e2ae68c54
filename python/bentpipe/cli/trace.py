"""``bentpipe trace``: converts series of rate, delay and loss between formats."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def trace(
    source: Annotated[
        Path,
        typer.Argument(
            metavar="FROM",
            help="A file that ends in .csv or .parquet, or a mahimahi trace.",
            show_default=False,
        ),
    ],
    to: Annotated[
        Path,
        typer.Argument(
            metavar="TO",
            help="The file to write; its ending chooses the format in the same way.",
            show_default=False,
        ),
    ],
    step: Annotated[
        int,
        typer.Option(
            min=1,
            max=60_000,
            metavar="MILLISECONDS",
            help="Interval over which the rates of a mahimahi trace are averaged.",
        ),
    ] = 10,
    duration: Annotated[
        float | None,
        typer.Option(
            min=0.001, metavar="SECONDS", help="Length of a mahimahi trace to write.", show_default=False
        ),
    ] = None,
) -> None:
    """Convert a link's trace to another format.

    Scenarios read comma-separated values: trace = { samples = { file = "lte.csv" } }. The columns are time (s), rate
    (bit/s), delay (s) and loss (probability).
    """
    from bentpipe import series

    series.write(series.read(source, step_ms=step), to, duration_s=duration)
    typer.echo(f"written  {to}")
