"""``bentpipe simulate``: simulates a scenario, or each combination of varied values."""

from __future__ import annotations

import os
import shlex
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from bentpipe.errors import trouble

from .common import (
    TROUBLE,
    AllFlows,
    DrawReport,
    Jobs,
    Json,
    Labels,
    OutFolder,
    Overrides,
    ScenarioFile,
    Seed,
    Vary,
)
from .progress import Bar
from .stopping import stoppable

if TYPE_CHECKING:
    from bentpipe.results.runs import Run
    from bentpipe.scenario.variation import Variation


def simulate(
    scenario: ScenarioFile,
    vary: Vary = None,
    label: Labels = None,
    overrides: Overrides = None,
    seed: Seed = None,
    out: OutFolder = None,
    jobs: Jobs = None,
    report: DrawReport = False,
    flows: AllFlows = False,
    json: Json = False,
) -> None:
    """Simulate a scenario, or variations of it, in virtual time.

    With --vary, complete runs in the folder are reused if their scenario and engine have not
    changed, so the same command resumes after an interruption.
    """
    from bentpipe.scenario.scenarios import load, seeded
    from bentpipe.scenario.variation import combinations
    from bentpipe.simulation import run_folder
    from bentpipe.simulation import simulate as simulate_one

    variations = combinations(vary or [], label or [])
    loaded = load(scenario, [*(overrides or []), *seeded(seed)])
    for warning in loaded.warnings:
        typer.echo(f"warning: {warning}", err=True)
    name = loaded.name
    folder = _folder_of_all(out, name) if vary else run_folder(out, lambda: name)
    command = [Path(sys.argv[0]).name, *sys.argv[1:]]
    runs: list[Run | None]
    failed: dict[str, Exception] = {}
    reused = 0
    with stoppable() as stop, Bar("simulating", stop) as bar:
        if vary:
            from bentpipe.campaign.jobs import jobs_of, run_jobs

            planned = jobs_of(scenario, variations, seed=seed, overrides=overrides or [])
            results = run_jobs(planned, folder, bar.advance, jobs or os.cpu_count() or 1, command=command)
            if not results.runs:
                results.check(folder)
            runs = [results.runs.get(job) for job in planned]
            failed = {job.name: error for job, error in results.failed.items()}
            reused = results.reused
        else:
            runs = [simulate_one(loaded, out=folder, progress=bar.advance, command=command)]
    if reused:
        typer.echo(f"reused {reused} of {len(runs)} runs: scenario and engine have not changed", err=True)
    drawn = report and any(runs) and not stop.wanted
    tell(runs, variations, folder, report=drawn, json=json, all_flows=flows)
    for name, error in failed.items():
        message = trouble(error) if isinstance(error, OSError) else error
        typer.echo(f"failed: {name}: {message}", err=True)
    if stop.wanted:
        resumes = "; the same command resumes from here" if vary else ""
        typer.echo(f"interrupted: partial results are in {folder} (marked incomplete){resumes}", err=True)
        raise typer.Exit(stop.exit_code)
    if failed:
        raise typer.Exit(TROUBLE)


def _folder_of_all(out: Path | None, name: str) -> Path:
    """Returns the folder for the variations' folders, each of which is checked separately."""
    from bentpipe.errors import InputError
    from bentpipe.scenario.scenarios import slug
    from bentpipe.simulation import RUNS

    folder = out or RUNS / f"{slug(name)}-varied"
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder} is a file; allowed: a folder for the results")
    return folder


def tell(
    given: Sequence[Run | None],
    variations: list[Variation],
    folder: Path,
    *,
    report: bool,
    json: bool,
    all_flows: bool = False,
) -> None:
    """Prints the table of flows and groups, and the folder of the results, or JSON. ``given`` has a
    run for each variation, or None for one without results. With ``report``, also writes the
    report, which may take longer than a run; JSON output names the report before it is written.
    Without ``report``, names the command that writes it."""
    from bentpipe.quantities import listed
    from bentpipe.results.flows import flow_results
    from bentpipe.results.groups import by_group, summarise
    from bentpipe.results.predictions import outages
    from bentpipe.results.programs import program_results
    from bentpipe.scenario.variation import labels_of, short_names

    from .output import print_json, print_note
    from .results import print_programs, print_results

    names = short_names(variations[0].columns)
    labelled = [
        (run, {names[key]: label for key, label in labels.items()})
        for run, labels in zip(given, labels_of(variations), strict=True)
        if run is not None
    ]
    runs = [run for run in given if run is not None]
    variations = [one for run, one in zip(given, variations, strict=True) if run is not None]
    results = [(run, labels, flow_results(run)) for run, labels in labelled]
    if json:
        documents = [
            {
                "path": run.path,
                "labels": labels,
                "status": run.provenance.get("status"),
                "seed": run.provenance.get("seed"),
                "outages": [outage.as_dict() for outage in outages(run)],
                "groups": [summarise(*group).as_dict() for group in by_group(flows)[0].items()],
                "flows": [flow.as_dict() for flow in flows],
                "programs": [program.as_dict() for program in program_results(run)],
            }
            for run, labels, flows in results
        ]
        print_json({"runs": documents, "report": _page(folder) if report else None})
        if report:
            _report(runs, variations, folder)
        return
    print_results([(labels, flows) for _, labels, flows in results], all_flows=all_flows)
    for run, _, _ in results:
        print_programs(program_results(run))
    for _, labels, flows in results:
        failed: dict[str, list[str]] = {}
        for flow in flows:
            if flow.failure is not None:
                failed.setdefault(flow.failure, []).append(flow.flow)
        for failure, flows_of in failed.items():
            typer.echo(f"failed   {', '.join([*labels.values(), listed(flows_of)])}: {failure}")
    for run, labels, _ in results:
        for outage in outages(run):
            print_note(f"outage   {', '.join([*labels.values(), str(outage)])}", 9)
        for line in _drops(run):
            typer.echo(f"dropped  {', '.join([*labels.values(), line])}")
    typer.echo(f"results  {folder}")
    if report:
        typer.echo(f"report   {_report(runs, variations, folder)}")
    elif runs:
        typer.echo(f"report   {shlex.join(['bentpipe', 'report', str(folder)])}")


def _drops(run: Run) -> list[str]:
    """Returns a sentence per reason of dropped packets: number, reason and place, the largest
    number first."""
    from bentpipe.quantities import listed

    packets: Counter[str] = Counter()
    stages: dict[str, list[str]] = {}
    for drop in sorted(run.summary.get("drops", []), key=lambda one: -one["packets"]):
        packets[drop["reason"]] += drop["packets"]
        stages.setdefault(drop["reason"], []).append(drop["stage"])
    return [
        f"{count} packet{'' if count == 1 else 's'}: {reason} ({listed(stages[reason])})"
        for reason, count in packets.most_common()
    ]


def _page(folder: Path) -> Path:
    """Returns the file of the report on runs in a folder."""
    return folder / "report.html"


def _report(runs: list[Run], variations: list[Variation], folder: Path) -> Path:
    """Writes the report on completed runs. Prints a message if writing is interrupted."""
    from bentpipe.report import write_report

    try:
        return write_report(runs, _page(folder), variations)
    except KeyboardInterrupt:
        typer.echo(f"interrupted: the results in {folder} are complete, but no report was written", err=True)
        raise
