"""``bentpipe campaign plot``: draws figures of a campaign."""

from __future__ import annotations

import re
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bentpipe.cli.common import FileFormat, Json, figures_folder
from bentpipe.cli.looks import Title, Width, XLabel, XScale, YLabel, YScale, chosen_look
from bentpipe.cli.plot import FORMATS, tell
from bentpipe.errors import unknown

from .common import By, Metrics, Of, StoreFolder

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from bentpipe.campaign import Campaign


class Kind(StrEnum):
    """The kinds of figures of a campaign."""

    lines = "lines"
    multiples = "multiples"
    heat_map = "heat-map"
    cdf = "cdf"


def plot(
    store: StoreFolder,
    kind: Annotated[
        Kind,
        typer.Option(
            "--figure",
            metavar="NAME",
            help="The figure: lines (with confidence bands), multiples (small multiples of lines), heat-map, or cdf "
            "(cumulative distribution).",
        ),
    ] = Kind.lines,
    metric: Metrics = None,
    of: Of = None,
    x: Annotated[
        str | None,
        typer.Option(
            metavar="KEY", help="The varied key on the x axis.", show_default="the key with the most numbers"
        ),
    ] = None,
    y: Annotated[
        str | None,
        typer.Option(
            metavar="KEY", help="The varied key on the y axis of a heat map.", show_default="the next key"
        ),
    ] = None,
    each: Annotated[
        str | None,
        typer.Option(
            metavar="KEY",
            help="The varied key with one panel per value.",
            show_default="the key with the fewest values",
        ),
    ] = None,
    by: By = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            metavar="FOLDER",
            help="The folder for the figures.",
            show_default="CAMPAIGN/figures",
        ),
    ] = None,
    suffix: FileFormat = "png",
    title: Title = None,
    x_label: XLabel = None,
    y_label: YLabel = None,
    x_scale: XScale = None,
    y_scale: YScale = None,
    width: Width = 7.2,
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
        with chosen_look(title, x_label, y_label, x_scale, y_scale, width):
            figure = _drawn(campaign, kind, name, x=x, y=y, each=each, by=by, of=of)
        # Several flows have one file each. Special characters of patterns and shares become
        # underscores in file names.
        parts = [re.sub(r"[^\w.-]+", "_", part) for part in (name, of or "", kind.value) if part]
        file = (figures_folder(out) or store / "figures") / f"{'-'.join(parts)}.{suffix}"
        written.append(plots.save(figure, file))
    tell(written, json)


def _drawn(
    campaign: Campaign,
    kind: Kind,
    name: str,
    *,
    x: str | None,
    y: str | None,
    each: str | None,
    by: list[str] | None,
    of: str | None,
) -> Figure:
    """Returns the figure of a metric."""
    from bentpipe import plots

    if kind is Kind.heat_map:
        return plots.campaign_map(campaign, name, x=x, y=y, of=of)
    if kind is Kind.cdf:
        return plots.campaign_cdf(campaign, name, by=by, of=of)
    if kind is Kind.multiples or each is not None:
        return plots.campaign_multiples(campaign, name, x=x, each=each, of=of)
    return plots.campaign_lines(campaign, name, x=x, of=of)
