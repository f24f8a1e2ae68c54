"""``bentpipe lab``: the test bed of a group from the command line. One file per command."""

from __future__ import annotations

import typer

from bentpipe.cli.common import guarded
from bentpipe.cli.plain import PlainCommand

from .api import api
from .cancel import cancel
from .configurations import configurations
from .fetch import fetch
from .launch import launch
from .runs import runs
from .save import save

app = typer.Typer(
    name="lab",
    help="Use a test bed with the token in BENTPIPE_TOKEN.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
)

for command in (save, configurations, launch, runs, cancel, fetch, api):
    app.command(cls=PlainCommand)(guarded(command))
