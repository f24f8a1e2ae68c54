"""``bentpipe campaign plot``: draws figures of a campaign."""

from __future__ import annotations

import re
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from bentpipe.cli.common import Json, figures_folder
from bentpipe.cli.plot import FORMATS, tell
from bentpipe.errors import unknown

from .common import By, Metrics, Of, StoreFolder


class Kind(StrEnum):
    """The kinds of figures that a campaign can be drawn as."""

    lines = "lines"
    multiples = "multiples"
    heat_map = "heat-map"
    cdf = "cdf"


def plot(
    store: StoreFolder,
    kind: Annotated[
        Kind,
        typer.Option(
            help="lines with confidence bands, small multiples of them, a heat map, or a cumulative distribution."
        ),
    ] = Kind.lines,
    metric: Metrics = None,
    of: Of = None,
    x: Annotated[
        str | None,
        typer.Option(
            metavar="KEY", help="The varied key on the x axis.", show_default="the one with most numbers"
        ),
    ] = None,
    y: Annotated[
        str | None,
        typer.Option(
            metavar="KEY", help="The varied key on the y axis of a heat map.", show_default="the next"
        ),
    ] = None,
    each: Annotated[
        str | None,
        typer.Option(
            metavar="KEY",
            help="The varied key with a panel per value.",
            show_default="the one with fewest values",
        ),
    ] = None,
    by: By = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", metavar="FOLDER", help="The folder for the figures.", show_default="STORE/figures"
        ),
    ] = None,
    suffix: Annotated[
        str, typer.Option("--format", metavar="FORMAT", help="File format: png, svg or pdf.")
    ] = "png",
    json: Json = False,
) -> None:
    """Draw a campaign's metrics against the varied keys."""
    from bentpipe import plots
    from bentpipe.campaign import Campaign

    if suffix not in FORMATS:
        raise unknown("format", suffix, FORMATS)
    campaign = Campaign(store)
    written = []
    for name in metric or ["goodput"]:
        if kind is Kind.heat_map:
            figure = plots.campaign_map(campaign, name, x=x, y=y, of=of)
        elif kind is Kind.cdf:
            figure = plots.campaign_cdf(campaign, name, by=by, of=of)
        elif kind is Kind.multiples or each is not None:
            figure = plots.campaign_multiples(campaign, name, x=x, each=each, of=of)
        else:
            figure = plots.campaign_lines(campaign, name, x=x, of=of)
        # Figures of several flows stand side by side. A sign of a pattern is an underscore there.
        parts = [name, *([re.sub(r"[^\w.-]", "_", of)] if of else []), kind.value]
        file = (figures_folder(out) or store / "figures") / f"{'-'.join(parts)}.{suffix}"
        written.append(plots.save(figure, file))
    tell(written, json)
