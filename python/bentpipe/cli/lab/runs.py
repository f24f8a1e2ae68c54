"""``bentpipe lab runs``: lists runs."""

from __future__ import annotations

from typing import Annotated

import typer

from bentpipe.cli.common import Json

from .common import HERE, Server


def runs(
    search: Annotated[
        str,
        typer.Option(
            metavar="WORDS", help="List only runs whose name contains this text.", show_default=False
        ),
    ] = "",
    server: Server = HERE,
    json: Json = False,
) -> None:
    """List the newest runs, with their place in the queue."""
    from urllib.parse import quote

    from bentpipe.cli.output import print_json, print_table
    from bentpipe.testbed.client import laboratory

    found = laboratory(server).request("GET", f"/runs?search={quote(search)}")
    if json:
        print_json(found)
        return
    rows = []
    for one in found:
        state = one["state"]
        if state == "running":
            state += f" {100 * one['progress']:.0f} %"
        elif one["position"] is not None:
            state += f", place {one['position']}"
        rows.append([str(one["number"]), one["name"], one["label"], one["owner"], one["instrument"], state])
    print_table(["run", "name", "variant", "owner", "instrument", "state"], rows, text_columns=6)
