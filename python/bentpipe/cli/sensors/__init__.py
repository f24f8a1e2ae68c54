"""``bentpipe sensors``: queries of sensor networks. One file per command."""

from __future__ import annotations

import typer

from ..common import guarded
from ..plain import PlainCommand
from .explain import explain
from .serve import serve

app = typer.Typer(
    name="sensors",
    help="Explain queries in sensor networks, or serve their results.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
)

for command in (explain, serve):
    app.command(cls=PlainCommand)(guarded(command))
