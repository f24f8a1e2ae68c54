"""``bentpipe lab save``: saves a scenario as a named configuration."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bentpipe.cli.common import Json

from .common import HERE, Server


def save(
    scenario: Annotated[
        Path, typer.Argument(metavar="SCENARIO", help="The scenario: a TOML file.", show_default=False)
    ],
    name: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Name of the configuration.", show_default="the file's name"),
    ] = None,
    server: Server = HERE,
    json: Json = False,
) -> None:
    """Save a scenario as a named configuration.

    Updates the configuration of this name if it exists.
    """
    from bentpipe.cli.output import print_json
    from bentpipe.errors import text_of
    from bentpipe.testbed.client import laboratory

    lab = laboratory(server)
    text, wanted = text_of(scenario), name or scenario.stem
    there = [one for one in lab.request("GET", "/configurations") if one["mine"] and one["name"] == wanted]
    if there:
        (found,) = there
        body = {"version": found["version"], "text": text}
        saved = lab.request("PUT", f"/configurations/{found['id']}", body)
    else:
        saved = lab.request("POST", "/configurations", {"name": wanted, "text": text})
    if json:
        print_json(saved)
    else:
        typer.echo(f"{'changed' if there else 'saved'}   {saved['name']} ({saved['id']})")
