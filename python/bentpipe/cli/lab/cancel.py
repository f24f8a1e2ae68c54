"""``bentpipe lab cancel``: cancels a run."""

from __future__ import annotations

import typer

from bentpipe.cli.common import Json

from .common import HERE, RunName, Server, run_id


def cancel(run: RunName, server: Server = HERE, json: Json = False) -> None:
    """Cancel a waiting or running run."""
    from urllib.parse import quote

    from bentpipe.cli.output import print_json
    from bentpipe.testbed.client import laboratory

    lab = laboratory(server)
    path = f"/runs/{quote(run_id(server, run))}"
    before = lab.request("GET", path)
    found = before if before["ended"] else lab.request("POST", f"{path}/cancel", {})
    if json:
        print_json(found)
        return
    if before["ended"]:
        typer.echo(f"run {before['number']}  {before['name']}  had already ended: {before['state']}")
        return
    typer.echo(
        f"run {found['number']}  {found['name']}  {found['state'] if found['ended'] else 'is being cancelled'}"
    )
