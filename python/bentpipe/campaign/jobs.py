"""Many runs without a store, for studies and variations: in parallel, reusing runs whose inputs have not changed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from bentpipe.emulation import Clock, emulate
from bentpipe.results.runs import Run
from bentpipe.scenario.scenarios import (
    Override,
    Overrides,
    Scenario,
    ScenarioLike,
    load,
    override_texts,
    seeded,
)
from bentpipe.scenario.variation import Variation, folder_names
from bentpipe.simulation import simulate

from .keys import run_key
from .parallel import Progress, Tell, in_threads


@dataclass(frozen=True)
class Job:
    """One run: a scenario with overrides and a seed (None for the scenario's own), simulated on the clock ``virtual``
    and emulated on the others. ``name`` names its folder. ``allow_commands`` lets an emulation run the programs of the
    scenario."""

    name: str
    scenario: ScenarioLike = field(hash=False)
    overrides: tuple[Override, ...] = ()
    seed: int | None = 1
    clock: Literal["virtual"] | Clock = "virtual"
    allow_commands: bool = False

    @property
    def key(self) -> str:
        """The key by which an identical run is found again."""
        return run_key(self.resolved.toml, *([] if self.clock == "virtual" else [self.clock]))

    @cached_property
    def resolved(self) -> Scenario:
        """The scenario with overrides and seed."""
        return load(self.scenario, [*self.overrides, *seeded(self.seed)])


def jobs_of(
    scenario: ScenarioLike,
    variations: Sequence[Variation],
    *,
    seed: int | None = None,
    overrides: Overrides = (),
) -> list[Job]:
    """Returns a job for each variation of a scenario, in their order, all of them validated. Raises what
    :func:`bentpipe.load` raises."""
    given = [*override_texts(overrides), *seeded(seed)]
    jobs = [
        Job(name, scenario, (*given, *(("--vary", text) for text in variation.overrides)), seed=None)
        for name, variation in zip(folder_names(variations), variations, strict=True)
    ]
    for job in jobs:
        _ = job.resolved
    return jobs


def run_all(
    jobs: Sequence[Job],
    out: Path,
    progress: Progress | None,
    threads: int = 2,
    *,
    keep: bool = True,
    command: Sequence[str] = (),
) -> dict[Job, Run]:
    """Does the runs, each in a folder of its name below ``out``. Returns them in the order of the jobs.

    With ``keep``, a complete run whose key, in the file beside it, has not changed is reused, so an interrupted study
    resumes where it stopped. ``progress`` is called with the fraction of the whole, from several threads, and stops
    everything by returning False: jobs that had not begun are then missing from the result. ``command`` is the command
    line for the provenance, if any. Raises what :func:`bentpipe.simulate` and :func:`bentpipe.emulate` raise.
    """
    out.mkdir(parents=True, exist_ok=True)

    def one(job: Job, tell: Tell) -> Run:
        folder, note = out / job.name, out / f"{job.name}.key"
        if keep and note.is_file() and note.read_text(encoding="utf-8") == job.key:
            run = Run(folder)
            if run.complete:
                return run
        note.unlink(missing_ok=True)
        said: dict[str, Any] = {"out": folder, "progress": tell, "command": command}
        if job.clock == "virtual":
            run = simulate(job.resolved, **said)
        else:
            run = emulate(job.resolved, **said, clock=job.clock, allow_commands=job.allow_commands)
        if keep and run.complete:
            note.write_text(job.key, encoding="utf-8")
        return run

    runs = in_threads(one, jobs, threads, progress)
    return {job: run for job, run in zip(jobs, runs, strict=True) if run is not None}
