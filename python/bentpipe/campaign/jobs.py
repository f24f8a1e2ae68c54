"""Many runs, each in its own folder, for variations and studies. Runs whose inputs have not changed
are reused."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Final, Literal

from bentpipe.emulation import Clock
from bentpipe.guest import Kernel, current
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
from bentpipe.simulation import Progress

from .executor import ExecutionStatus, execute
from .keys import engine, run_key
from .work import Outcome, Task
from .workers import on_threads

#: The file that identifies the run in a folder, for reuse. Written last.
NOTE: Final = ".reuse.json"


@dataclass(frozen=True)
class Job:
    """One run: a scenario with overrides and a seed (None: the scenario's seed). It is simulated on
    the clock ``virtual`` and emulated on the other clocks. ``name`` is the name of its folder.
    ``allow_commands`` permits an emulation to run the programs of the scenario."""

    name: str
    scenario: ScenarioLike = field(hash=False)
    overrides: tuple[Override, ...] = ()
    seed: int | None = 1
    clock: Literal["virtual"] | Clock = "virtual"
    allow_commands: bool = False

    @cached_property
    def key(self) -> str:
        """The key that identical runs share. Raises :class:`bentpipe.InputError` for the clock
        ``kernel`` if no kernel is built."""
        clock = [] if self.clock == "virtual" else [self.clock]
        return run_key(self.resolved.toml, *clock, *([self.kernel.folder.name] if self.kernel else []))

    @cached_property
    def kernel(self) -> Kernel | None:
        """The kernel of the clock ``kernel``; None on another clock."""
        return current() if self.clock == "kernel" else None

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
    """Returns a validated job for each variation of a scenario, in order. Raises what
    :func:`bentpipe.load` raises."""
    given = [*override_texts(overrides), *seeded(seed)]
    jobs = [
        Job(name, scenario, (*given, *(("--vary", text) for text in variation.overrides)), seed=None)
        for name, variation in zip(folder_names(variations), variations, strict=True)
    ]
    for job in jobs:
        _ = job.resolved
    return jobs


@dataclass
class Results:
    """The results of many runs, in the order of the jobs. ``runs`` contains complete and
    interrupted runs, but no run that had not begun. ``reused`` is the number of runs that were
    already complete."""

    runs: dict[Job, Run] = field(default_factory=dict)
    failed: dict[Job, Exception] = field(default_factory=dict)
    reused: int = 0

    def check(self, out: Path) -> None:
        """Raises the exception of the first failed run, with a note that names it."""
        for job, error in self.failed.items():
            more = f" and {len(self.failed) - 1} more" if len(self.failed) > 1 else ""
            error.add_note(f"failed: {out / job.name}{more}; complete runs are kept and reused")
            raise error


def run_jobs(
    jobs: Sequence[Job],
    out: Path,
    progress: Progress | None = None,
    workers: int = 2,
    *,
    command: Sequence[str] = (),
) -> Results:
    """Executes the runs, each in a folder with its name below ``out``.

    A complete run is reused if its key has not changed, so the same call resumes after an
    interruption. A failed run does not stop the others. ``progress`` is called with the completed
    fraction of the runs that are not reused, and stops all runs by returning False. ``command`` is
    the command line for the provenance, if any. Raises what :func:`bentpipe.load` raises, before
    the first run, and ``OSError`` for a folder that cannot be written.
    """
    for job in jobs:
        _ = job.key
    out.mkdir(parents=True, exist_ok=True)
    runs = _Runs(jobs, out, command)

    def tell(standing: ExecutionStatus) -> bool:
        return progress is None or progress(standing.fraction) is not False

    with on_threads(max(1, workers), out) as team:
        standing = execute(runs, team, tell)
    found = runs.results
    return Results(
        {job: found.runs[job] for job in jobs if job in found.runs},
        {job: found.failed[job] for job in jobs if job in found.failed},
        standing.kept,
    )


def run_all(jobs: Sequence[Job], out: Path, progress: Progress | None, workers: int = 2) -> dict[Job, Run]:
    """Executes the runs like :func:`run_jobs`, and returns them. Raises the exception of the first
    failed run after all others have ended."""
    results = run_jobs(jobs, out, progress, workers)
    results.check(out)
    return results.runs


class _Runs:
    """Jobs that store their results in folders with their names."""

    def __init__(self, jobs: Sequence[Job], out: Path, command: Sequence[str]) -> None:
        self._jobs = jobs
        self._out = out
        self._command = command
        self.results = Results()

    def first(self) -> Sequence[Job]:
        return self._jobs

    def more(self, at_once: int) -> Sequence[Job]:
        del at_once
        return ()

    def kept(self, run: Job) -> Literal["complete"] | None:
        folder = self._out / run.name
        if not _is_kept(folder, run.key):
            return None
        self.results.runs[run] = Run(folder, run.resolved)
        return "complete"

    def begin(self, run: Job) -> tuple[Task, Path]:
        folder = self._out / run.name
        # A file at the folder's path makes the run fail.
        with suppress(NotADirectoryError):
            (folder / NOTE).unlink(missing_ok=True)
        task = Task(
            run.key,
            run.resolved,
            0,
            run.clock,
            run.kernel.version if run.kernel else None,
            keep_run=True,
            engine=engine(),
            tables=False,
            command=self._command,
            allow_commands=run.allow_commands,
        )
        return task, folder

    def end(self, run: Job, outcome: Outcome) -> None:
        folder = self._out / run.name
        if outcome.status == "failed":
            self.results.failed[run] = outcome.cause or OSError(outcome.error)
            return
        self.results.runs[run] = Run(folder, run.resolved)
        if outcome.status == "complete":
            _keep(folder, run.key)

    def save(self) -> None:
        """Does nothing, since jobs have no summary besides their folders."""


def _keep(folder: Path, key: str) -> None:
    """Writes the note of a complete run: its key, the hash of its provenance, and the sizes of its
    files."""
    sizes = {
        str(file.relative_to(folder)): file.stat().st_size
        for file in sorted(folder.rglob("*"))
        if file.is_file()
    }
    note = {"key": key, "provenance": _hash_of_provenance(folder), "files": sizes}
    (folder / NOTE).write_text(json.dumps(note), encoding="utf-8")


def _is_kept(folder: Path, key: str) -> bool:
    """Returns true if a folder holds the complete run of this key, unchanged since its end: no
    other run was written there, and no file was removed."""
    try:
        note = json.loads((folder / NOTE).read_text(encoding="utf-8"))
        return bool(
            note["key"] == key
            and note["provenance"] == _hash_of_provenance(folder)
            and all((folder / name).stat().st_size == size for name, size in note["files"].items())
        )
    except (OSError, ValueError, KeyError):
        return False


def _hash_of_provenance(folder: Path) -> str:
    return hashlib.sha256((folder / "provenance.json").read_bytes()).hexdigest()
