"""Shared by the campaign commands."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl

    from bentpipe.campaign import Campaign, Plan
    from bentpipe.scenario.scenarios import Override

StoreFolder = Annotated[
    Path, typer.Argument(metavar="CAMPAIGN", help="The campaign's folder.", show_default=False)
]
Metrics = Annotated[
    list[str] | None,
    typer.Option(
        "--metric",
        metavar="COLUMN",
        help="A column of the table flows, TABLE.COLUMN of another result table, or the share of flows per "
        "group with a value below or above a threshold, such as 'share(goodput < 2 Mbit/s)'. "
        "Repeatable.",
        show_default="goodput",
    ),
]
Against = Annotated[
    str | None,
    typer.Option(
        "--against",
        metavar="VALUE",
        help="Print differences instead of means: from the variant with this value or label of a varied key "
        "(or KEY=VALUE), paired by replication.",
        show_default=False,
    ),
]
By = Annotated[
    list[str] | None,
    typer.Option(
        metavar="KEY",
        help="Group by this varied key, and average over the other keys. Repeatable.",
        show_default="all varied keys",
    ),
]
Of = Annotated[
    str | None,
    typer.Option(
        "--of",
        metavar="NAME",
        help="Select one flow, terminal or link, or the mean over a group of flows or a pattern such as "
        "'st*'.",
        show_default=False,
    ),
]


def planned(
    scenario: Path,
    overrides: Sequence[Override] | None,
    vary: list[str] | None,
    replications: int | None,
    label: list[str] | None = None,
) -> Plan:
    """Returns the plan that a command's options describe. Raises what
    :func:`bentpipe.campaign.plan` raises."""
    from bentpipe.campaign import plan
    from bentpipe.scenario.scenarios import toml_value
    from bentpipe.scenario.variation import given_labels, given_lists, parsed_value

    given = given_lists(vary or [])
    labels = {key: list(names.values()) for key, names in given_labels(label or [], given).items()}
    lists = {key: [parsed_value(one) for one in values] for key, values in given.items()}
    more: list[Override] = [
        ("--vary", f"campaign.vary.{toml_value(key)}={toml_value(values)}") for key, values in lists.items()
    ]
    more += [] if replications is None else [("--replications", f"campaign.replications={replications}")]
    return plan(scenario, [*(overrides or []), *more], labels)


def row_labels(frame: pl.DataFrame, keys: list[str]) -> list[list[str]]:
    """Returns labels for the values of the varied keys in each row."""
    from bentpipe.scenario.variation import value_labels

    named = {key: value_labels(frame[key].drop_nulls()) for key in keys}
    return [
        ["-" if value is None else named[key][str(value)] for key, value in zip(keys, row, strict=True)]
        for row in frame.select(keys).rows()
    ]


def failures(campaign: Campaign) -> list[str]:
    """Returns the failed runs, one sentence per kind of error."""
    import polars as pl

    from bentpipe.scenario.variation import short_names

    failed = campaign.index.filter(status="failed")
    names = short_names(campaign.varied)
    sentences = []
    for (error,), runs in failed.group_by(pl.col("error"), maintain_order=True):
        first = runs.row(0, named=True)
        values = [f"{names[key]} {first[key]}" for key in campaign.varied if first[key] is not None]
        where = ", ".join([*values, f"replication {first['replication']}"])
        further = f" and {runs.height - 1} more" if runs.height > 1 else ""
        sentences.append(f"failed   {where}{further}: {error}")
    return sentences


def imprecise(campaign: Campaign) -> list[str]:
    """Returns a sentence if variants have reached the maximum number of runs without the requested
    precision."""
    from bentpipe.scenario.variation import short_names

    wanted = campaign.settings.get("precision")
    if wanted is None or not campaign.index.filter(status="complete").height:
        return []
    means = campaign.means(wanted["metric"], wanted.get("of"))
    # A mean of 0 never reaches a relative precision.
    short = [
        (row["half_width"] / abs(row["mean"]) if row["mean"] else float("inf"), row)
        for row in means.filter(count=wanted["at_most"]).iter_rows(named=True)
    ]
    short = [(relative, row) for relative, row in short if not relative <= wanted["relative_half_width"]]
    if not short:
        return []
    keys, names = campaign.varied, short_names(campaign.varied)
    variants, of = (
        len({tuple(row[key] for key in keys) for row in rows})
        for rows in ([row for _, row in short], means.iter_rows(named=True))
    )
    relative, worst = max(short, key=lambda one: one[0])
    where = ", ".join(
        [*(f"{names[key]} {worst[key]}" for key in keys if worst[key] is not None), worst["entity"]]
    )
    return [
        f"note     {variants} of {of} variant{'s' * (of > 1)} did not reach the precision of "
        f"{100 * wanted['relative_half_width']:g} % within {wanted['at_most']} runs (precision.at_most); the worst is "
        f"{wanted['metric'].replace('_', ' ')} of {where}: ± {100 * relative:.3g} %"
    ]
