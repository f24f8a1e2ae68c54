"""``bentpipe down``: the end of emulated networks."""

from __future__ import annotations

from typing import Annotated

import typer

from bentpipe.errors import InputError

from .common import TROUBLE, Json, fail
from .naming import RunName


def down(
    run: RunName = None,
    everything: Annotated[
        bool, typer.Option("--all", help="All networks, and what is left of those that were killed.")
    ] = False,
    json: Json = False,
) -> None:
    """Take emulated networks down, with the programs in them.

    What is recorded as ours is removed, nothing else.
    """
    from bentpipe.live import ending, state

    from .output import print_json

    if everything and run is not None:
        raise InputError("either the name of a network or --all")
    if everything:
        state.sweep()
        wanted = ending.in_order(state.records())
    else:
        known = state.records()
        # The only one that there is will do, dead or alive.
        wanted = [known[0]] if run is None and len(known) == 1 else [state.find(run)]
    ended, troubles = [], []
    for record in wanted:
        try:
            ending.down(record)
            ended.append(record.id)
        except OSError as error:
            troubles.append(str(error))
    if json:
        print_json({"down": ended, "trouble": troubles})
    else:
        typer.echo(f"down: {', '.join(ended)}" if ended else "nothing was up")
    if troubles:
        fail("\n".join(troubles), TROUBLE)
