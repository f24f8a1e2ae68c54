"""Shared by the commands of ``bentpipe lab``."""

from __future__ import annotations

from typing import Annotated

import typer

Server = Annotated[
    str,
    typer.Option(metavar="URL", envvar="BENTPIPE_SERVER", help="The test bed's address.", show_envvar=False),
]
#: Where ``bentpipe serve`` listens by default.
HERE = "http://127.0.0.1:8470"
RunName = Annotated[str, typer.Argument(metavar="RUN", help="The number or id of a run.", show_default=False)]


def run_id(server: str, name: str) -> str:
    """Returns the id of a run, which may be given by its number."""
    from bentpipe.testbed.client import laboratory, named

    if not name.isdigit():
        return name
    rows = laboratory(server).request("GET", f"/runs?limit=1&before={int(name) + 1}")
    return str(named(rows, name, "run")["id"])
