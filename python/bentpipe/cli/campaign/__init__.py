"""``bentpipe campaign``: runs many variants and replications of a scenario. One file per
command."""

from __future__ import annotations

import typer

from bentpipe.cli.common import guarded
from bentpipe.cli.plain import PlainCommand

from .batches import batches
from .export import export
from .plot import plot
from .run import run
from .show import show
from .table import table

app = typer.Typer(
    name="campaign",
    help="Run many variants and replications of a scenario.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
)

for command in (run, show, table, plot, export, batches):
    app.command(cls=PlainCommand)(guarded(command))
