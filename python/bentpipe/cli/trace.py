"""``bentpipe trace``: series of rate, delay and loss from one format to another."""

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
        Path, typer.Argument(metavar="TO", help="What to write, by the same endings.", show_default=False)
    ],
    step: Annotated[
        int,
        typer.Option(min=1, max=60_000, help="Milliseconds over which rates of a mahimahi trace are taken."),
    ] = 10,
    duration: Annotated[
        float | None,
        typer.Option(min=0.001, help="Seconds that a mahimahi trace is to have.", show_default=False),
    ] = None,
) -> None:
    """Turn a link's trace into another format.

    Scenarios take comma-separated values: trace = { samples = { file = "lte.csv" } }.
    The columns are time (s), rate (bit/s), delay (s) and loss.
    """
    from bentpipe import series

    series.write(series.read(source, step_ms=step), to, duration_s=duration)
    typer.echo(f"written  {to}")
