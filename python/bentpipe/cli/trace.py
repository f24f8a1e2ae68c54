"""``bentpipe trace``: converts time series of links, and traces of frame outcomes, between
formats."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .common import Json


def trace(
    source: Annotated[
        Path,
        typer.Argument(
            metavar="FROM",
            help="A .csv or .parquet file, a mahimahi trace, or a .toml file with error = { ... }.",
            show_default=False,
        ),
    ],
    to: Annotated[
        Path,
        typer.Argument(
            metavar="TO",
            help="The file to write. Its ending selects the format in the same way.",
            show_default=False,
        ),
    ],
    bin_s: Annotated[
        float,
        typer.Option(
            "--bin",
            min=0.001,
            max=60,
            metavar="SECONDS",
            help="Interval over which the rates of a mahimahi trace are averaged.",
        ),
    ] = 0.01,
    fade: Annotated[
        bool, typer.Option("--fade", help="Read and write the columns of a fade: time, and names of nodes.")
    ] = False,
    duration: Annotated[
        float | None,
        typer.Option(
            min=0.001, metavar="SECONDS", help="Duration of the mahimahi trace to write.", show_default=False
        ),
    ] = None,
    runs: Annotated[
        bool,
        typer.Option("--run-lengths", help="Write frames as run lengths, with the columns lost and frames."),
    ] = False,
    frames: Annotated[
        int,
        typer.Option(
            min=2, max=1_000_000_000, metavar="NUMBER", help="Number of frames to draw from an error process."
        ),
    ] = 400_000,
    interval: Annotated[
        float, typer.Option(min=0.0, metavar="SECONDS", help="Time between drawn frames.")
    ] = 0.005,
    size: Annotated[str, typer.Option(metavar="SIZE", help="Size of drawn frames.")] = "1 kB",
    seed: Annotated[int, typer.Option(min=0, metavar="NUMBER", help="Seed of drawn frames.")] = 1,
    json: Json = False,
) -> None:
    """Convert time series and traces of lost frames.

    A time series has the columns time (s), rate (bit/s), delay (s) and loss (probability), for
    trace = { samples = { file = "lte.csv" } } in a scenario. A trace of frames has the column lost,
    0 or 1 for each frame, for error = { kind = "trace", outcomes = { file = "office.csv" } }. From
    the error process of a .toml file, the command draws frames. With --fade, a series has the
    column time and, for each node, one column in dB.
    """
    from bentpipe import frames as outcomes
    from bentpipe import series

    from .amounts import size_bytes
    from .output import print_json

    period = None

    if source.suffix == ".toml":
        drawn = outcomes.draw(
            source, frames, interval_s=interval, frame_bytes=size_bytes(size, "--size", 65_535), seed=seed
        )
        outcomes.write(drawn, to, runs=runs)
    elif outcomes.is_frame_trace(source):
        outcomes.write(outcomes.read(source), to, runs=runs)
    else:
        series.write(series.read(source, step_ms=round(1000 * bin_s), fade=fade), to, duration_s=duration)
        period = series.period_ms(source)
    if json:
        print_json({"written": to, "repeat_ms": period})
        return
    if period is not None:
        typer.echo(f'repeats  set repeat = "{period} ms" next to samples to repeat the series like the trace')
    typer.echo(f"written  {to}")
