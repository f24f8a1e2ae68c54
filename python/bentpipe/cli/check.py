"""``bentpipe check``: validates a scenario and summarises it."""

from __future__ import annotations

import typer

from .common import BAD_INPUT, Json, Overrides, ScenarioFile


def check(scenario: ScenarioFile, overrides: Overrides = None, json: Json = False) -> None:
    """Validate a scenario and summarise it."""
    from bentpipe import scenarios
    from bentpipe.facts import facts
    from bentpipe.summary import explain

    from .output import print_json

    if json:
        problems = scenarios.check(scenario, overrides or [])
        document: dict[str, object] = {"valid": not problems, "problems": problems}
        if not problems:
            loaded = scenarios.load(scenario, overrides or [])
            document |= {"nodes": loaded.nodes, "stages": loaded.stages, "warnings": loaded.warnings}
            document |= {"memory": loaded.memory, "facts": facts(loaded)}
        print_json(document)
        if problems:
            raise typer.Exit(BAD_INPUT)
        return
    loaded = scenarios.load(scenario, overrides or [])
    for line in explain(loaded, facts(loaded)):
        typer.echo(line)
    for warning in loaded.warnings:
        typer.echo(f"warning: {warning}", err=True)
