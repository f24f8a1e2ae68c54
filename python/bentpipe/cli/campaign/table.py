"""``bentpipe campaign table``: means with confidence intervals."""

from __future__ import annotations

import math
from typing import Annotated

import typer

from bentpipe.cli.common import Json

from .common import Metrics, Of, StoreFolder, row_labels


def table(
    store: StoreFolder,
    metric: Metrics = None,
    of: Of = None,
    by: Annotated[
        list[str] | None,
        typer.Option(
            help="One row for each value of this varied key, over everything else; repeatable.",
            show_default="all that is varied",
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Show means over replications with their confidence intervals."""
    from bentpipe.campaign import Campaign
    from bentpipe.cli.output import print_json, print_table
    from bentpipe.quantities import number
    from bentpipe.variation import short_names

    campaign = Campaign(store)
    keys = [campaign.key(name) for name in by] if by else campaign.varied
    names = short_names(campaign.varied)
    metrics = metric or ["goodput"]
    frames = [campaign.means(one, of, keys) for one in metrics]
    if json:
        print_json({name: frame.to_dicts() for name, frame in zip(metrics, frames, strict=True)})
        return
    for name, frame in zip(metrics, frames, strict=True):
        several = frame["entity"].n_unique() > 1
        rows = []
        for values, row in zip(row_labels(frame, keys), frame.iter_rows(named=True), strict=True):
            half = "-" if math.isnan(row["half_width"]) else number(row["half_width"])
            rows.append(
                [
                    *values,
                    *([row["entity"]] if several or not keys else []),
                    number(row["mean"]),
                    half,
                    str(row["count"]),
                ]
            )
        words = [*(names[key] for key in keys), *(["of"] if several or not keys else [])]
        percent = f"{100 * float(campaign.settings['confidence']):g} %"
        print_table([*words, name, f"± ({percent})", "runs"], rows, text_columns=len(words))
