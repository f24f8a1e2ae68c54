"""Shared by the commands of ``bentpipe lab``."""

from __future__ import annotations

from typing import Annotated

import typer

Server = Annotated[
    str,
    typer.Option(metavar="URL", envvar="BENTPIPE_SERVER", help="The test bed's address.", show_envvar=False),
]
#: Default address of ``bentpipe serve``.
HERE = "http://127.0.0.1:8470"
RunName = Annotated[str, typer.Argument(metavar="RUN", help="The number or id of a run.", show_default=False)]


def run_id(server: str, name: str) -> str:
    """Returns the id of a run, given by its id or number. Raises :class:`bentpipe.InputError`."""
    from bentpipe.errors import InputError
    from bentpipe.testbed.client import laboratory

    if not name.isdecimal():
        return name
    rows = laboratory(server).request("GET", f"/runs?limit=1&before={int(name) + 1}")
    if not rows or rows[0]["number"] != int(name):
        raise InputError(
            f"there is no run {name}; allowed: a number or id (`bentpipe lab runs` lists the newest runs)"
        )
    return str(rows[0]["id"])
