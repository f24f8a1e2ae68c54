"""``bentpipe campaign show``: shows the contents and the progress of a campaign."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bentpipe.cli.common import Json, Overrides

from .common import failures, imprecise, planned, row_labels

if TYPE_CHECKING:
    import polars as pl


def show(
    what: Annotated[
        Path,
        typer.Argument(
            metavar="SCENARIO|CAMPAIGN", help="A scenario, or the campaign's folder.", show_default=False
        ),
    ],
    overrides: Overrides = None,
    json: Json = False,
) -> None:
    """Show what a campaign varies, and its progress.

    Without a folder, shows the runs that the campaign of a scenario would make.
    """
    from bentpipe.campaign import Campaign, Store, store_folder
    from bentpipe.campaign.store import index_of
    from bentpipe.cli.output import print_json, print_note

    if what.is_dir():
        campaign = Campaign(what)
        index, varied, place = campaign.index, campaign.varied, what
        sentences = [*failures(campaign), *imprecise(campaign)]
    else:
        plan = planned(what, overrides, None, None)
        place = store_folder(plan)
        runs = [plan.run(one, number) for one in plan.variants for number in range(plan.replications)]
        index, varied, sentences = index_of(Store(place), plan, runs), plan.varied, []
    if json:
        print_json({"store": place, "varied": varied, "runs": index.to_dicts()})
        return
    _print(index, varied)
    for sentence in sentences:
        print_note(sentence, indent=9)
    typer.echo(f"store    {place}{'' if place.is_dir() else ' (does not exist yet)'}")


def _print(index: pl.DataFrame, varied: list[str]) -> None:
    import polars as pl

    from bentpipe.cli.output import print_table
    from bentpipe.quantities import span_text
    from bentpipe.scenario.variation import short_names

    names = short_names(varied)
    rows = []
    labels = row_labels(index.unique("variant", keep="first", maintain_order=True), varied)
    for values, (_, runs) in zip(labels, index.group_by("variant", maintain_order=True), strict=True):
        counts = [runs.filter(status=status).height for status in ("complete", "failed", "waiting")]
        seconds = runs.select(pl.col("seconds").mean()).item()
        rows.append([*(values or ["all"]), *map(str, counts), span_text(seconds)])
    columns = [*(names[key] for key in varied)] or ["variant"]
    print_table(
        [*columns, "complete", "failed", "waiting", "mean\nduration"], rows, text_columns=len(columns)
    )
    failed, complete = (index.filter(status=status).height for status in ("failed", "complete"))
    typer.echo(
        f"runs     {index.height}: {complete} complete, {failed} failed, {index.height - complete - failed} waiting"
    )
