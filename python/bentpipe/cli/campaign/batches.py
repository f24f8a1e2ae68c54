"""``bentpipe campaign batches``: the mean of one long run, by batches."""

from __future__ import annotations

from typing import Annotated

import typer

from bentpipe.cli.common import Json, RunFolder
from bentpipe.errors import InputError


def batches(
    run: RunFolder,
    quantity: Annotated[
        str, typer.Argument(help="A quantity of its traces, such as rtt, or link.queue.", show_default=False)
    ],
    number: Annotated[int, typer.Option("--batches", min=2, help="How many.")] = 20,
    warm_up: Annotated[float, typer.Option(min=0, help="What is left out at the beginning, in s.")] = 0.0,
    confidence: Annotated[
        float, typer.Option(help="Probability with which the interval holds the mean.")
    ] = 0.95,
    json: Json = False,
) -> None:
    """Show means of one long run with confidence intervals, by batch means.

    The run is cut into batches of equal time whose means are taken for independent. Where they are not, which is
    tested, the interval is too narrow: fewer batches are needed, or a longer run.
    """
    from bentpipe.cli.output import print_json, print_table
    from bentpipe.plots.data import trace_of
    from bentpipe.quantities import number as text
    from bentpipe.runs import Run
    from bentpipe.statistics import batch_means

    opened = Run(run)
    if not 0 < confidence < 1:
        raise InputError(f"--confidence {confidence:g}: allowed is more than 0 and less than 1")
    opened.trace(quantity)
    found = {}
    for entity, (time, values) in trace_of(opened, quantity).items():
        try:
            found[entity] = batch_means(
                time, values, batches=number, warm_up_s=warm_up, confidence=confidence
            )
        except ValueError as error:
            raise InputError(f"{entity}: {error}") from error
    if json:
        print_json({entity: {**one._asdict(), "mean": one.mean._asdict()} for entity, one in found.items()})
        return
    rows = [
        [
            entity,
            text(one.mean.value),
            text(one.mean.half_width),
            f"{one.correlation:+.2f}",
            "yes" if one.independent else "no",
        ]
        for entity, one in found.items()
    ]
    columns = ["of", quantity, f"± {100 * confidence:g} %", "corre-\nlation", "inde-\npendent"]
    print_table(columns, rows)
