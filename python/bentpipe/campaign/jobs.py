"""Many runs for studies: in parallel, and reusing runs whose inputs have not changed."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any, Literal

from .. import _native
from ..emulation import Clock, emulate
from ..results.runs import Run
from ..scenario.scenarios import Override, Overrides, Scenario, ScenarioLike, load, override_texts, seeded
from ..scenario.variation import Variation, folder_names
from ..simulation import simulate
from .parallel import Progress as Reached
from .parallel import Tell, in_threads

#: Called with the fraction done of all runs.
Progress = Callable[[float], None]


def run_key(resolved: str, *more: str | int) -> str:
    """Returns a key that differs if results could: the hash of the resolved scenario as TOML (which contains the seed),
    of everything else that the run depends on, and of the engine."""
    said = [resolved, *map(str, more), engine()]
    return hashlib.sha256(json.dumps(said).encode()).hexdigest()[:32]


@cache
def engine() -> str:
    """Identifies the engine exactly: its version and the hash of its code."""
    file = _native.__file__
    assert file is not None, "the engine is a file"
    return f"{_native.version()} {hashlib.sha256(Path(file).read_bytes()).hexdigest()[:16]}"


@dataclass(frozen=True)
class Job:
    """One run: a scenario with overrides and a seed, simulated on the clock ``virtual`` and emulated on the others.
    ``name`` names its folder. ``allow_commands`` lets an emulation run the programs of the scenario."""

    name: str
    scenario: Path
    overrides: tuple[str, ...] = ()
    seed: int = 1
    clock: Literal["virtual"] | Clock = "virtual"
    allow_commands: bool = False

    @property
    def key(self) -> str:
        """The key by which an identical run is found again (:func:`run_key`)."""
        return run_key(self.resolved.toml, *([] if self.clock == "virtual" else [self.clock]))

    @cached_property
    def resolved(self) -> Scenario:
        """The scenario with overrides and seed."""
        return load(self.scenario, [*self.overrides, f"seed={self.seed}"])


def run_all(jobs: Sequence[Job], out: Path, progress: Progress, threads: int = 2) -> dict[Job, Run]:
    """Does the runs, each in a folder of its name below ``out``.

    A complete run whose key, in the file beside it, has not changed is reused, so an interrupted study resumes where it
    stopped.
    """
    out.mkdir(parents=True, exist_ok=True)

    def one(job: Job, tell: Tell) -> Run:
        folder, note, key = out / job.name, out / f"{job.name}.key", job.key
        if note.is_file() and note.read_text(encoding="utf-8") == key:
            run = Run(folder)
            if run.complete:
                return run
        note.unlink(missing_ok=True)
        said: dict[str, Any] = {"out": folder, "progress": tell}
        if job.clock == "virtual":
            run = simulate(job.resolved, **said)
        else:
            run = emulate(job.resolved, **said, clock=job.clock, allow_commands=job.allow_commands)
        if run.complete:
            note.write_text(key, encoding="utf-8")
        return run

    def shown(fraction: float) -> bool:
        progress(fraction)
        return True

    runs = in_threads(one, jobs, threads, shown)
    return {job: run for job, run in zip(jobs, runs, strict=True) if run is not None}


def simulate_all(
    scenario: ScenarioLike,
    variations: Sequence[Variation],
    *,
    out: Path,
    seed: int | None = None,
    overrides: Overrides = (),
    jobs: int = 2,
    progress: Reached | None = None,
    command: Sequence[str] = (),
) -> list[Run]:
    """Simulate each variation into its own folder below ``out``; returns the runs in the order of the variations.

    Every variation is validated before the first one starts. ``progress`` is called with the fraction of the whole,
    from several threads, and stops everything by returning False: variations that had not begun are then missing from
    the result. Raises what :func:`bentpipe.simulate` raises.
    """
    given = [*override_texts(overrides), *seeded(seed)]
    resolved = [load(scenario, [*given, *_named(variation)]) for variation in variations]

    def one(planned: tuple[Scenario, str], tell: Tell) -> Run:
        valid, name = planned
        return simulate(valid, out=out / name, progress=tell, command=command)

    planned = list(zip(resolved, folder_names(variations), strict=True))
    runs = in_threads(one, planned, jobs, progress)
    return [run for run in runs if run is not None]


def _named(variation: Variation) -> list[Override]:
    return [("--vary", text) for text in variation.overrides]
