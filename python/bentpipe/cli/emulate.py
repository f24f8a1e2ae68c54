"""``bentpipe emulate``: runs a scenario with real hosts and the kernel's TCP."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from .common import AllFlows, DrawReport, Json, OutFolder, Overrides, ScenarioFile, Seed
from .progress import Bar
from .simulate import tell
from .stopping import stoppable


class Clock(StrEnum):
    """The clocks of an emulation, as in :data:`bentpipe.emulation.Clock`."""

    real = "real"
    kernel = "kernel"


def emulate(
    scenario: ScenarioFile,
    overrides: Overrides = None,
    seed: Seed = None,
    out: OutFolder = None,
    replication: Annotated[
        int,
        typer.Option(
            min=0,
            metavar="NUMBER",
            help="Number of the replication. Each replication has its own random numbers.",
        ),
    ] = 0,
    clock: Annotated[
        Clock,
        typer.Option(
            metavar="CLOCK",
            help="The clock: real (real time on this machine), or kernel (virtual time in a separate Linux kernel, "
            "built by `bentpipe machine kernel build`).",
        ),
    ] = Clock.real,
    kernel: Annotated[
        str | None,
        typer.Option(
            metavar="VERSION",
            help="Version of the kernel for --clock kernel, such as 6.12, if several kernels exist.",
            show_default="the kernel of `bentpipe machine kernel use`, or the newest build",
        ),
    ] = None,
    allow_commands: Annotated[
        bool, typer.Option("--allow-commands", help="Allow the scenario to run programs.")
    ] = False,
    report: DrawReport = False,
    flows: AllFlows = False,
    json: Json = False,
) -> None:
    """Run a scenario with real TCP stacks and applications.

    Runs in real time on this machine, or in virtual time in a separate Linux kernel (--clock
    kernel).
    """
    from bentpipe import _native
    from bentpipe.emulation import emulate as emulate_one
    from bentpipe.results.fidelity import fidelity_text
    from bentpipe.results.programs import command_texts
    from bentpipe.scenario.scenarios import load, seeded
    from bentpipe.scenario.variation import combinations
    from bentpipe.simulation import run_folder

    # Call this before a second thread starts, since a process with several threads cannot change
    # its user namespace.
    if clock is Clock.real:
        _native.enter_user_namespace()
    loaded = load(scenario, [*(overrides or []), *seeded(seed)])
    folder = run_folder(out, lambda: loaded.name)
    command = [Path(sys.argv[0]).name, *sys.argv[1:]]
    with stoppable() as stop, Bar("emulating", stop) as bar:
        run = emulate_one(
            loaded,
            out=folder,
            progress=bar.advance,
            run=replication,
            command=command,
            allow_commands=allow_commands,
            clock=clock.value,
            kernel=kernel,
        )
    drawn = report and not stop.wanted
    tell([run], combinations([]), folder, report=drawn, json=json, all_flows=flows)
    for sentence in command_texts(run):
        typer.echo(f"command  {sentence}", err=json)
    if text := fidelity_text(run):
        typer.echo(f"fidelity {text}", err=json)
    if stop.wanted:
        typer.echo(f"interrupted: partial results are in {folder} (marked incomplete)", err=True)
        raise typer.Exit(stop.exit_code)
