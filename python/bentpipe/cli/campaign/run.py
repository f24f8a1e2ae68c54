"""``bentpipe campaign run``: runs a campaign, or its missing runs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bentpipe.cli.common import TROUBLE, Jobs, Json, Labels, Overrides, ScenarioFile, Seed, Vary
from bentpipe.errors import InputError

from .common import failures, imprecise, planned

if TYPE_CHECKING:
    from bentpipe.campaign import ExecutionStatus
    from bentpipe.scenario.scenarios import Override


def run(
    scenario: ScenarioFile,
    vary: Vary = None,
    label: Labels = None,
    overrides: Overrides = None,
    replications: Annotated[
        int | None,
        typer.Option(
            min=1, metavar="NUMBER", help="Number of runs of each variant.", show_default="the scenario's"
        ),
    ] = None,
    seed: Seed = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", metavar="FOLDER", help="The campaign's folder.", show_default="runs/NAME-campaign"
        ),
    ] = None,
    jobs: Jobs = None,
    dask: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS", help="Run on the Dask cluster with this scheduler.", show_default=False
        ),
    ] = None,
    retry_failed: Annotated[bool, typer.Option("--retry-failed", help="Repeat the failed runs.")] = False,
    json: Json = False,
) -> None:
    """Run the campaign that a scenario describes under [campaign].

    The campaign reuses the runs in its folder, so repeat the command to resume after an
    interruption. The exit code is 1 if a run has failed.
    """
    from bentpipe import campaign
    from bentpipe.cli.output import print_json, print_note
    from bentpipe.cli.progress import Bar
    from bentpipe.cli.stopping import stoppable

    if jobs is not None and dask is not None:
        raise InputError("--jobs is for this machine and --dask for a cluster: give only one of them")
    given: list[Override] = [*(overrides or []), *([] if seed is None else [("--seed", f"seed={seed}")])]
    plan = planned(scenario, given, vary, replications, label)
    for warning in plan.base.warnings:
        typer.echo(f"warning: {warning}", err=True)
    last: ExecutionStatus | None = None
    with stoppable() as stop, Bar("running", stop) as bar:

        def tell(standing: ExecutionStatus) -> bool:
            nonlocal last
            last = standing
            failed = f", {standing.failed} failed" if standing.failed else ""
            return bar.describe(
                standing.fraction, f"{standing.kept + standing.done} of {standing.runs} runs{failed}"
            )

        results = campaign.run(
            plan, out, workers=jobs, cluster=dask, progress=tell, retry_failed=retry_failed
        )
    assert last is not None, "the end is told"
    counts = dict(results.index["status"].value_counts().iter_rows())
    if json:
        print_json(
            {
                "store": results.store.path,
                "variants": len(plan.variants),
                "runs": results.index.height,
                "new": last.done,
                **{status: counts.get(status, 0) for status in ("complete", "failed", "waiting")},
            }
        )
    else:
        complete, failed = (counts.get(status, 0) for status in ("complete", "failed"))
        typer.echo(
            f"runs     {complete} complete, {failed} failed ({last.done} run just now, {last.kept} reused)"
        )
        for sentence in [*failures(results), *imprecise(results)]:
            print_note(sentence, indent=9)
        typer.echo(f"results  {results.store.path}")
    if stop.wanted:
        typer.echo("interrupted; repeat the command to resume", err=True)
        raise typer.Exit(stop.exit_code)
    if counts.get("failed"):
        raise typer.Exit(TROUBLE)
