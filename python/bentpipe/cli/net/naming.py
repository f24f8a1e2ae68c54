"""The argument by which commands name a network that is up."""

from __future__ import annotations

from typing import Annotated

import typer

RunName = Annotated[
    str | None,
    typer.Argument(metavar="RUN", help="The network's id; not needed if only one is up.", show_default=False),
]
