"""``bentpipe campaign table``: prints means with confidence intervals."""

from __future__ import annotations

import math

from bentpipe.cli.common import Json

from .common import Against, By, Metrics, Of, StoreFolder


def table(
    store: StoreFolder,
    metric: Metrics = None,
    of: Of = None,
    by: By = None,
    against: Against = None,
    json: Json = False,
) -> None:
    """Print means over the replications with confidence intervals.

    With --against, print differences between variants.
    """
    from bentpipe.campaign import Campaign
    from bentpipe.campaign.tabulate import tabulate
    from bentpipe.cli.output import print_json, print_note, print_table
    from bentpipe.quantities import number

    campaign = Campaign(store)
    keys = [campaign.key(name) for name in by] if by else None
    metrics = metric or ["goodput"]
    if json:
        frames = {
            name: campaign.means(name, of, keys)
            if against is None
            else campaign.differences(name, against, of, keys)
            for name in metrics
        }
        print_json({name: frame.to_dicts() for name, frame in frames.items()})
        return
    means = tabulate(campaign, metrics, of, keys, against)
    rows = []
    for row in means.rows:
        cells = []
        for one, scale in zip(row.means, means.scales, strict=True):
            value, half = one[0] if one else (math.nan, math.nan)
            cells += [number(value / scale), number(half / scale)]
        counts = [one[1] for one in row.means if one]
        rows.append([*row.labels, *cells, str(min(counts)) if counts else "0"])
    percent = f"± {100 * means.confidence:g} %"
    columns = [column for heading in means.headings for column in (_folded(heading), percent)]
    print_table([*means.words, *columns, "runs"], rows, text_columns=len(means.words))
    halves = [one[0][1] for row in means.rows for one in row.means if one]
    if halves and not any(halves) and against is None:
        print_note("note: all replications are equal: no random process of the scenario affects these values")


def _folded(heading: str) -> str:
    """Returns a heading with its unit on a second line."""
    name, bracket, unit = heading.rpartition(" (")
    return f"{name}\n({unit}" if bracket and unit.endswith(")") else heading
