"""``bentpipe net set``: changes parameters of a network that is up."""

from __future__ import annotations

from typing import Annotated

import typer

from bentpipe.errors import InputError

from ..common import Json


def set_(
    words: Annotated[
        list[str],
        typer.Argument(
            metavar="[RUN] KEY.PATH=VALUE",
            help="The change, such as link.sat.rate='1 Mbit/s', preceded by the network's id if several are up.",
            show_default=False,
        ),
    ],
    json: Json = False,
) -> None:
    """Change parameters of a network that is up.

    The change itself drops no packets. docs/reference/scenario.md marks the keys that can change.
    """
    from bentpipe.live import state
    from bentpipe.live.control import ask

    from ..output import print_json

    run = None if "=" in words[0] else words[0]
    changes = words if run is None else words[1:]
    for change in changes:
        if "=" not in change:
            raise InputError(f'"{change}" is not a change; allowed: KEY.PATH=VALUE')
    if not changes:
        raise InputError("nothing to change; allowed: KEY.PATH=VALUE")
    record = state.find(run)
    changed = {}
    for change in changes:
        key, _, value = (part.strip() for part in change.partition("="))
        ask(record, "change", key=key, value=value)
        changed[key] = value
    if json:
        print_json({"run": record.id, "changed": changed})
