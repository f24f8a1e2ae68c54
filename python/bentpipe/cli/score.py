"""``bentpipe score``: scores a scenario against the trace of a real access."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .common import Json, Overrides, ScenarioFile


def score(
    scenario: ScenarioFile,
    trace: Annotated[
        Path,
        typer.Argument(
            metavar="TRACE",
            help="A trace of mahimahi or LeoReplayer (bw_1.txt, with delay_1.txt in the same folder).",
            show_default=False,
        ),
    ],
    overrides: Overrides = None,
    flow: Annotated[
        str,
        typer.Option(metavar="NAME", help="The flow whose path is scored.", show_default="the first one"),
    ] = "",
    json: Json = False,
) -> None:
    """Score a scenario against the trace of a real access.

    Simulates the path of a flow ten times for the duration of the trace, with a load above its rate
    and with small packets alone. Compares rate, autocorrelation, delay and holes of the trace with
    the spread of the scenario: 95 % prediction intervals.
    """
    from bentpipe.measure import scheduled
    from bentpipe.measure import score as scores
    from bentpipe.quantities import number
    from bentpipe.scenario.scenarios import load

    from .output import print_json, print_table
    from .progress import Bar
    from .stopping import Stop

    given = load(scenario, overrides or [])
    observed = scheduled.read(trace)
    ends = scores.ends_of(given, flow)
    seen = []
    with Bar(f"simulating {given.name}", Stop()) as bar:
        for run in range(scores.REPLICATIONS):
            seen.append(scores.observe(given, ends, observed.end_ms / 1e3, run))
            bar.advance((run + 1) / scores.REPLICATIONS)
    lines = scores.score(observed, seen)
    inside = sum(line.inside for line in lines)
    if json:
        lines_json = [line.as_dict() for line in lines]
        print_json({"inside": inside, "of": len(lines), "lines": lines_json})
        return
    rows = [
        [
            line.name,
            line.unit,
            number(line.trace),
            number(line.scenario),
            f"{number(line.low)} to {number(line.high)}",
            "yes" if line.inside else "no",
        ]
        for line in lines
    ]
    print_table(("property", "unit", "trace", "scenario", "95 % interval", "inside"), rows)
    typer.echo(f"the trace is inside {inside} of {len(lines)} intervals of the scenario")
