"""``bentpipe dtn``: a bundle agent for real hosts. One file per command."""

from __future__ import annotations

import typer

from ..common import guarded
from ..plain import PlainCommand
from .agent import agent
from .proxy import proxy
from .send import send

app = typer.Typer(
    name="dtn",
    help="Run a bundle agent (BPv7) on this host, and send bundles to one.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
)

for command in (agent, send, proxy):
    app.command(cls=PlainCommand)(guarded(command))
