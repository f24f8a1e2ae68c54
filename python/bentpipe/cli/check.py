"""``bentpipe check``: validates a scenario and summarises it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from .common import BAD_INPUT, Json, Overrides, ScenarioFile

if TYPE_CHECKING:
    from bentpipe._native import Problem


def check(scenario: ScenarioFile, overrides: Overrides = None, json: Json = False) -> None:
    """Validate a scenario and summarise it."""
    from bentpipe import scenarios
    from bentpipe._native import ScenarioError
    from bentpipe.summary import cautions, explain, table

    from .output import print_json, print_note, print_table

    if json:
        problems: list[Problem] = []
        document: dict[str, object] = {}
        try:
            loaded = scenarios.load(scenario, overrides or [])
        except ScenarioError as error:
            problems = error.problems
        else:
            document |= {"nodes": loaded.nodes, "stages": loaded.stages, "warnings": loaded.warnings}
            known = loaded.facts
            document |= {"memory": loaded.memory, "cautions": cautions(loaded, known), "facts": known}
        print_json({"valid": not problems, "problems": problems} | document)
        if problems:
            raise typer.Exit(BAD_INPUT)
        return
    loaded = scenarios.load(scenario, overrides or [])
    known = loaded.facts
    for line in explain(loaded, known):
        typer.echo(line)
    columns, rows = table(known)
    if rows:
        print_table(columns, rows)
    for caution in cautions(loaded, known):
        print_note(f"note: {caution}")
    for warning in loaded.warnings:
        typer.echo(f"warning: {warning}", err=True)
