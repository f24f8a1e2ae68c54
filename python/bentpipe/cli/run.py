"""``bentpipe run``: runs a command behind an emulated network."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final

import typer

from .after_dashes import CommandAfterDashes, command_of
from .common import Overrides
from .inside import HostName, Internet, Mtu, Wanted, run_inside

#: The words after ``--`` are not this program's.
COMMAND_CLASS: Final = CommandAfterDashes


def run(
    context: typer.Context,
    scenario: Wanted,
    host: HostName = None,
    internet: Internet = None,
    mtu: Mtu = 1500,
    tables: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="JSON file for the network's tables at the end of the command, for example `rtp` with the "
            "loss, jitter and opinion score of each RTP stream.",
            show_default=False,
        ),
    ] = None,
    overrides: Overrides = None,
) -> None:
    """Run a command in a host of an emulated network.

    The command keeps your terminal, files and user. Returns the exit code of the command.
    """
    command = command_of(context, f"bentpipe run {scenario} -- ping server")
    raise typer.Exit(run_inside(scenario, command, "run", host, internet, mtu, overrides or [], tables))
