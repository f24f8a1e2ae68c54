"""``bentpipe lab cancel``: cancels a run."""

from __future__ import annotations

import typer

from .common import HERE, RunName, Server, run_id


def cancel(run: RunName, server: Server = HERE) -> None:
    """Cancel a run that waits or runs."""
    from bentpipe.testbed.client import laboratory

    found = laboratory(server).request("POST", f"/runs/{run_id(server, run)}/cancel", {})
    typer.echo(
        f"run {found['number']}  {found['name']}  {'cancelled' if found['ended'] else 'is being cancelled'}"
    )
