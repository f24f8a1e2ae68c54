"""``bentpipe check``: validates a scenario and summarises it."""

from __future__ import annotations

import typer

from .common import BAD_INPUT, Json, Overrides, ScenarioFile


def check(scenario: ScenarioFile, overrides: Overrides = None, json: Json = False) -> None:
    """Validate a scenario and summarise it."""
    from bentpipe import scenarios
    from bentpipe.facts import facts
    from bentpipe.summary import cautions, explain, table

    from .output import print_json, print_note, print_table

    if json:
        problems = scenarios.check(scenario, overrides or [])
        document: dict[str, object] = {"valid": not problems, "problems": problems}
        if not problems:
            loaded = scenarios.load(scenario, overrides or [])
            document |= {"nodes": loaded.nodes, "stages": loaded.stages, "warnings": loaded.warnings}
            known = facts(loaded)
            document |= {"memory": loaded.memory, "cautions": cautions(loaded, known), "facts": known}
        print_json(document)
        if problems:
            raise typer.Exit(BAD_INPUT)
        return
    loaded = scenarios.load(scenario, overrides or [])
    known = facts(loaded)
    for line in explain(loaded, known):
        typer.echo(line)
    columns, rows = table(known)
    if rows:
        print_table(columns, rows)
    for caution in cautions(loaded, known):
        print_note(f"note: {caution}")
    for warning in loaded.warnings:
        typer.echo(f"warning: {warning}", err=True)
