"""``bentpipe check``: validates a scenario and summarises it."""

from __future__ import annotations

import typer

from bentpipe.errors import BAD_INPUT

from .common import Json, Overrides, ScenarioFile


def check(scenario: ScenarioFile, overrides: Overrides = None, json: Json = False) -> None:
    """Validate a scenario and summarise it."""
    from bentpipe.checks import check_campaign, examine
    from bentpipe.scenario.facts import facts
    from bentpipe.scenario.scenarios import load
    from bentpipe.scenario.summary import cautions, explain, table

    from .output import print_json, print_note, print_table

    if json:
        problems, valid, plan = examine(scenario, overrides or [])
        document: dict[str, object] = {"valid": not problems, "problems": problems}
        if valid is not None and not problems:
            known = facts(valid)
            document |= {"nodes": valid.nodes, "stages": valid.stages, "warnings": valid.warnings}
            if plan is not None:
                document["campaign"] = {"variants": len(plan.variants), "replications": plan.replications}
            flows, refused, modelled = valid.simulated_only
            document["emulation"] = {
                "refused": refused,
                "not_applied": dict(flows),
                "modelled": modelled,
            }
            document |= {"memory": valid.memory, "cautions": cautions(valid, known), "facts": known}
        print_json(document)
        if problems:
            raise typer.Exit(BAD_INPUT)
        return
    loaded = load(scenario, overrides or [])
    plan = check_campaign(loaded, scenario, overrides or [])
    known = facts(loaded)
    for line in explain(loaded, known):
        typer.echo(line)
    if plan is not None:
        typer.echo(f"  campaign  {plan.size}")
    columns, rows = table(known)
    if rows:
        print_table(columns, rows)
    for caution in cautions(loaded, known):
        print_note(f"note: {caution}")
    for warning in loaded.warnings:
        typer.echo(f"warning: {warning}", err=True)
