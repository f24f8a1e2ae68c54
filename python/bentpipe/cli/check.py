"""``bentpipe check``: is a scenario valid, and what is it."""

from __future__ import annotations

import typer

from .common import BAD_INPUT, Json, Overrides, ScenarioFile


def check(scenario: ScenarioFile, overrides: Overrides = None, json: Json = False) -> None:
    """Validate a scenario and explain it."""
    from bentpipe import scenarios

    from .output import print_json

    if json:
        problems = scenarios.check(scenario, overrides or [])
        document: dict[str, object] = {"valid": not problems, "problems": problems}
        if not problems:
            loaded = scenarios.load(scenario, overrides or [])
            document |= {"nodes": loaded.nodes, "stages": loaded.stages, "warnings": loaded.warnings}
        print_json(document)
        if problems:
            raise typer.Exit(BAD_INPUT)
        return
    loaded = scenarios.load(scenario, overrides or [])
    for line in explain(loaded):
        typer.echo(line)
    for warning in loaded.warnings:
        typer.echo(f"warning: {warning}", err=True)


def explain(scenario: object) -> list[str]:
    """What a scenario describes, line by line."""
    from bentpipe.scenarios import Scenario

    assert isinstance(scenario, Scenario)
    data = scenario.data
    lines = [f"valid: {scenario.name or scenario.source}"]
    facts = {
        "duration": str(data.get("duration", "-")),
        "seed": str(data.get("seed", "-")),
        "nodes": f"{len(scenario.nodes)} ({_listed(scenario.nodes)})",
        "stages": str(scenario.stages),
        "networks": _listed(
            [f"{name} ({network['kind']})" for name, network in data.get("network", {}).items()]
        ),
    }
    lines += [f"  {name:<10}{text}" for name, text in facts.items()]
    for flow in data.get("flow", []):
        transport = flow["transport"]
        how = " ".join(filter(None, [transport["kind"], transport.get("congestion")]))
        lines.append(
            f"  {'flow':<10}{flow['name']}: {flow['app']['kind']} over {how}, {flow['from']} -> {flow['to']}"
        )
    return lines


def _listed(names: list[str], most: int = 6) -> str:
    shown = ", ".join(names[:most])
    return f"{shown}, ..." if len(names) > most else shown or "none"
