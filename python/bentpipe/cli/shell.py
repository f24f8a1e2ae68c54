"""``bentpipe shell``: opens a shell behind an emulated network."""

from __future__ import annotations

import os
import pwd

import typer

from .common import Overrides
from .inside import HostName, Internet, Mtu, Wanted, run_inside


def shell(
    scenario: Wanted,
    host: HostName = None,
    internet: Internet = None,
    mtu: Mtu = 1500,
    overrides: Overrides = None,
) -> None:
    """Open a shell in a host of an emulated network.

    Runs $SHELL with BENTPIPE_RUN, BENTPIPE_HOST and BENTPIPE_HOSTS in its environment, which a
    prompt can show.
    """
    raise typer.Exit(run_inside(scenario, [_shell()], "shell", host, internet, mtu, overrides or []))


def _shell() -> str:
    if chosen := os.environ.get("SHELL"):
        return chosen
    try:
        return pwd.getpwuid(os.geteuid()).pw_shell or "/bin/sh"
    except KeyError:
        return "/bin/sh"
