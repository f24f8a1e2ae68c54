"""``bentpipe net down``: removes emulated networks."""

from __future__ import annotations

from typing import Annotated

import typer

from bentpipe.errors import InputError

from ..common import TROUBLE, Json, fail
from .naming import RunName


def down(
    run: RunName = None,
    everything: Annotated[
        bool, typer.Option("--all", help="Take all networks down, and remove the remains of killed networks.")
    ] = False,
    json: Json = False,
) -> None:
    """Take emulated networks down, and end the programs in them.

    Removes only interfaces, rules and files that bentpipe has recorded as its own.
    """
    from bentpipe.live import state, teardown

    from ..output import print_json

    if everything and run is not None:
        raise InputError("give either the name of a network or --all")
    if everything:
        state.sweep()
        wanted = teardown.in_order(state.records())
    else:
        known = state.records()
        # A single network needs no name, even if its process has ended.
        wanted = [known[0]] if run is None and len(known) == 1 else [state.find(run)]
    ended, troubles = [], []
    for record in wanted:
        try:
            teardown.down(record)
            ended.append(record.id)
        except OSError as error:
            troubles.append(str(error))
    if json:
        print_json({"down": ended, "trouble": troubles})
    else:
        typer.echo(f"down: {', '.join(ended)}" if ended else "no network was up")
    if troubles:
        fail("\n".join(troubles), TROUBLE)
