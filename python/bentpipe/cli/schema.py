"""``bentpipe schema``: prints the JSON Schema of scenarios."""

from __future__ import annotations

from typing import Annotated

import typer

from .common import Json, OutFile


def schema(
    editor: Annotated[
        bool,
        typer.Option(
            "--editor",
            help="Print the schema for completion in editors. It requires no keys, because a preset may set "
            "them.",
        ),
    ] = False,
    out: OutFile = None,
    json: Json = False,
) -> None:
    """Print the JSON Schema of scenarios."""
    from bentpipe.scenario import scenarios

    from .output import as_json, of_format, print_json, write_text

    document = scenarios.schema(editor)
    if out is not None:
        of_format(out, (".json",))
        write_text(out, as_json(document) + "\n")
        if json:
            print_json({"written": out})
    else:
        print_json(document)
