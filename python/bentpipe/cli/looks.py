"""Options of figures: title, labels and scales of the axes, and width."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from typing import Annotated

import typer


class Scale(StrEnum):
    """The scales of an axis."""

    linear = "linear"
    log = "log"


Title = Annotated[
    str | None, typer.Option(metavar="TITLE", help="Title above the figure.", show_default=False)
]
XLabel = Annotated[str | None, typer.Option(metavar="LABEL", help="Label of the x axis.", show_default=False)]
YLabel = Annotated[str | None, typer.Option(metavar="LABEL", help="Label of the y axis.", show_default=False)]
XScale = Annotated[
    Scale | None,
    typer.Option(
        help="Scale of the x axis.", show_default="linear; of a campaign log for values over two decades"
    ),
]
YScale = Annotated[Scale | None, typer.Option(help="Scale of the y axis.", show_default="linear")]
Width = Annotated[
    float,
    typer.Option(
        min=2, max=40, metavar="INCHES", help="Width of the figure; 3.5 fits one of two columns of a paper."
    ),
]


@contextmanager
def chosen_look(
    title: str | None,
    x_label: str | None,
    y_label: str | None,
    x_scale: Scale | None,
    y_scale: Scale | None,
    width: float,
) -> Iterator[None]:
    """Context manager in which figures have the looks that the options choose."""
    from bentpipe import plots

    scales = {"x_scale": x_scale and x_scale.value, "y_scale": y_scale and y_scale.value}
    with plots.look(title=title, x_label=x_label, y_label=y_label, width=width, **scales):
        yield
