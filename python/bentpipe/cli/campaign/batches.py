"""``bentpipe campaign batches``: means of one long run by batches."""

from __future__ import annotations

from typing import Annotated

import typer

from bentpipe.cli.common import Json, RunFolder
from bentpipe.errors import InputError


def batches(
    run: RunFolder,
    quantity: Annotated[
        str,
        typer.Argument(
            metavar="QUANTITY",
            help="A quantity of the run's traces, such as rtt or link.queue.",
            show_default=False,
        ),
    ],
    number: Annotated[
        int, typer.Option("--batches", min=2, metavar="NUMBER", help="Number of batches.")
    ] = 20,
    warm_up: Annotated[
        float,
        typer.Option(
            min=0, metavar="SECONDS", help="Time at the start of the run that is excluded from the batches."
        ),
    ] = 0.0,
    confidence: Annotated[
        float, typer.Option(metavar="PROBABILITY", help="Probability that the interval contains the mean.")
    ] = 0.95,
    json: Json = False,
) -> None:
    """Compute means of one long run by the method of batch means.

    Each mean has a confidence interval. The method divides the run into batches of equal length and
    assumes that the means of the batches are independent. The command tests this assumption. If the
    means are not independent, the interval is too narrow: use fewer batches or a longer run.
    """
    from bentpipe.cli.output import print_json, print_table
    from bentpipe.plots.data import trace_of
    from bentpipe.quantities import number as text
    from bentpipe.results.runs import Run
    from bentpipe.statistics import batch_means

    opened = Run(run)
    if not 0 < confidence < 1:
        raise InputError(f"--confidence {confidence:g} is out of range; allowed: more than 0 and less than 1")
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
    columns = ["entity", quantity, f"± {100 * confidence:g} %", "correlation", "independent"]
    print_table(columns, rows)
