"""``bentpipe show``: prints the resolved scenario."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .common import Json, OutFile, Overrides


def show(
    scenario: Annotated[
        Path,
        typer.Argument(
            metavar="SCENARIO|RUN", help="A scenario, or the folder of a run.", show_default=False
        ),
    ],
    overrides: Overrides = None,
    out: OutFile = None,
    json: Json = False,
) -> None:
    """Print the resolved scenario.

    The output includes the preset, the overrides and all defaults. --out writes TOML, or JSON if
    the file's name ends in .json; all commands read both formats.
    """
    from bentpipe.scenario.scenarios import load

    from .output import as_json, of_format, print_json, write_text

    ending = of_format(out, (".toml", ".json")) if out is not None else ".json" if json else ".toml"
    source = scenario / "scenario.toml" if (scenario / "provenance.json").is_file() else scenario
    loaded = load(source, overrides or [])
    if out is not None:
        write_text(out, loaded.toml if ending == ".toml" else as_json(loaded.data) + "\n")
        if json:
            print_json({"written": out})
    elif ending == ".json":
        print_json(loaded.data)
    else:
        typer.echo(loaded.toml.rstrip("\n"))
