"""``bentpipe lab launch``: puts runs into the queue, and optionally waits for them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from bentpipe.cli.common import TROUBLE, Json

from .common import HERE, Server


def launch(
    scenario: Annotated[
        str,
        typer.Argument(
            metavar="SCENARIO", help="A TOML file, or the name or id of a configuration.", show_default=False
        ),
    ],
    instruments: Annotated[
        list[str] | None,
        typer.Option(
            "--instrument",
            metavar="NAME",
            help="simulate, kernel or emulate. Repeat it to compare runs of several instruments.",
            show_default="simulate",
        ),
    ] = None,
    campaign: Annotated[
        bool, typer.Option("--campaign", help="Run the campaign of the scenario ([campaign]).")
    ] = False,
    wait: Annotated[bool, typer.Option("--wait", help="Wait until all runs have ended.")] = False,
    server: Server = HERE,
    json: Json = False,
) -> None:
    """Put runs into the queue of a test bed."""
    from bentpipe.cli.output import print_json
    from bentpipe.errors import text_of
    from bentpipe.testbed.client import laboratory, named

    lab = laboratory(server)
    body: dict[str, Any] = {"instruments": instruments or ["simulate"], "campaign": campaign}
    file = Path(scenario)
    if file.is_file():
        body |= {"text": text_of(file), "name": file.stem}
    else:
        body["configuration"] = named(lab.request("GET", "/configurations"), scenario, "configuration")["id"]
    made = lab.request("POST", "/runs", body)
    if wait:
        # Print the runs first, so that a user who interrupts the wait knows the queued runs.
        for one in made:
            typer.echo(line(one), err=True)
    ended = [lab.wait(one["id"], lambda _: None) for one in made] if wait else made
    if json:
        print_json(ended)
    else:
        for one in ended:
            typer.echo(line(one))
    if wait and any(one["state"] != "done" for one in ended):
        raise typer.Exit(TROUBLE)


def line(run: dict[str, Any]) -> str:
    """Returns number, name and state of a run."""
    label = f" ({run['label']})" if run["label"] else ""
    reason = f": {run['reason']}" if run["reason"] else ""
    return f"run {run['number']}  {run['name']}{label}  {run['state']}{reason}"
