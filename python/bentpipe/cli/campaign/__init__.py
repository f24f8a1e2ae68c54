"""``bentpipe campaign``: many runs of a scenario, and what they say together. One file per command."""

from __future__ import annotations

import typer

from bentpipe.cli.common import guarded

from .batches import batches
from .export import export
from .plot import plot
from .run import run
from .show import show
from .table import table

app = typer.Typer(
    name="campaign",
    help="Many runs of a scenario: values varied, seeds replicated, with confidence intervals.",
    no_args_is_help=True,
)

for command in (run, show, table, plot, export, batches):
    app.command()(guarded(command))
