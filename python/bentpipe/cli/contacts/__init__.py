"""``bentpipe contacts``: contact plans and the routes of bundles through them. One file per
command."""

from __future__ import annotations

import typer

from ..common import guarded
from ..plain import PlainCommand
from .geometry import geometry
from .route import route
from .show import show

app = typer.Typer(
    name="contacts",
    help="Read contact plans, and find the routes of bundles through them.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
)

for command in (route, show, geometry):
    app.command(cls=PlainCommand)(guarded(command))
