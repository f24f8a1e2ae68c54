"""``bentpipe lab configurations``: lists configurations."""

from __future__ import annotations

from bentpipe.cli.common import Json

from .common import HERE, Server


def configurations(server: Server = HERE, json: Json = False) -> None:
    """List the configurations that you can see."""
    from bentpipe.cli.output import print_json, print_table
    from bentpipe.testbed.client import laboratory

    found = laboratory(server).request("GET", "/configurations")
    if json:
        print_json(found)
        return
    rows = [[one["name"], one["owner"], "yes" if one["shared"] else "no", one["id"]] for one in found]
    print_table(["name", "owner", "shared", "id"], rows, text_columns=4)
