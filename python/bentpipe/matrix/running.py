"""Runs the cells of a matrix, several at a time. Outcomes are kept in a folder, and reused while
nothing that determines a cell's packets has changed."""

from __future__ import annotations

import json
import shutil
import tempfile
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bentpipe.emulation import emulate
from bentpipe.errors import trouble
from bentpipe.guest import current
from bentpipe.scenario.scenarios import slug
from bentpipe.simulation import alone

from .cells import Cell
from .outcomes import FAILED, MISSING, Outcome, of_cell, of_run

#: Folders of outcomes and of kept runs.
CELLS: Final = "cells"
RUNS: Final = "runs"


@dataclass(frozen=True)
class Standing:
    """The progress of a matrix: numbers of cells, of reused outcomes and of new outcomes, and the
    name of a cell that runs, or an empty text."""

    cells: int
    kept: int
    done: int
    last: str

    @property
    def fraction(self) -> float:
        """The finished fraction of the cells."""
        return (self.kept + self.done) / max(self.cells, 1)

    @property
    def about(self) -> str:
        """Numbers of finished and of all cells, and a running cell, as text."""
        counts = f"{self.kept + self.done} of {self.cells} cells"
        return f"{counts}, now {self.last}" if self.last else counts


#: Called at the start and after each cell. Returning False ends the matrix.
Tell = Callable[[Standing], bool]


class _Stopped(Exception):  # noqa: N818 - it is no error
    """The run of a cell was interrupted."""


def run_cells(
    cells: Sequence[Cell], out: Path, tell: Tell, *, jobs: int = 1, keep_runs: bool = False
) -> list[Outcome]:
    """Runs all cells without a kept outcome, ``jobs`` at a time, and returns the outcomes in the
    order of the cells, up to an interruption. ``keep_runs`` keeps the runs in the folder. Raises
    :class:`bentpipe.InputError` without a kernel or if another process uses the folder."""
    kernel = current()
    identity = json.dumps(kernel.about(), sort_keys=True)
    found: dict[str, Outcome] = {}
    with alone(out):
        (out / CELLS).mkdir(exist_ok=True)
        missing: list[tuple[Cell, str]] = []
        for cell in cells:
            if cell.reason is not None:
                found[cell.name] = of_cell(cell, MISSING, cell.reason)
                continue
            key = cell.key(identity)
            if (kept := _kept(cell, out, key)) and not (keep_runs and not _run_folder(cell, out).is_dir()):
                found[cell.name] = kept
            else:
                missing.append((cell, key))
        reused, stop = len(found), threading.Event()

        def tell_of(cell: Cell | None) -> None:
            last = "" if cell is None else cell.name
            if not tell(Standing(len(cells), reused, len(found) - reused, last)):
                stop.set()

        tell_of(None)
        left = list(reversed(missing))
        under_way: dict[Future[Outcome], Cell] = {}
        with ThreadPoolExecutor(jobs, thread_name_prefix="matrix") as pool:
            try:
                while (left and not stop.is_set()) or under_way:
                    while left and not stop.is_set() and len(under_way) < jobs:
                        cell, key = left.pop()
                        under_way[pool.submit(_run, cell, out, key, keep_runs, stop)] = cell
                    done, _ = wait(under_way, timeout=0.2, return_when=FIRST_COMPLETED)
                    for future in done:
                        cell = under_way.pop(future)
                        if not isinstance(future.exception(), _Stopped):
                            found[cell.name] = future.result()
                    tell_of(next(iter(under_way.values()), None))
            except BaseException:
                stop.set()
                raise
    return [found[cell.name] for cell in cells if cell.name in found]


def _file(cell: Cell, out: Path) -> Path:
    return out / CELLS / f"{slug(cell.name)}.json"


def _run_folder(cell: Cell, out: Path) -> Path:
    return out / RUNS / slug(cell.name)


def _kept(cell: Cell, out: Path, key: str) -> Outcome | None:
    """Returns the kept outcome of a cell, None if there is none or its inputs have changed."""
    try:
        outcome = Outcome(**json.loads(_file(cell, out).read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return None
    return outcome if outcome.key == key else None


def _run(cell: Cell, out: Path, key: str, keep_run: bool, stop: threading.Event) -> Outcome:
    """Runs a cell and keeps its outcome. The failure of a run is an outcome that is not kept, so
    that the next call repeats the run."""
    with tempfile.TemporaryDirectory(prefix="run-", dir=out) as temporary:
        folder = Path(temporary) / "run"
        try:
            run = emulate(
                cell.resolved(),
                out=folder,
                clock="kernel",
                allow_commands=True,
                progress=lambda _: not stop.is_set(),
            )
        except (OSError, ValueError) as error:
            return of_cell(cell, FAILED, trouble(error) if isinstance(error, OSError) else str(error))
        if not run.complete:
            raise _Stopped
        outcome = of_run(cell, run, key)
        if keep_run:
            kept = _run_folder(cell, out)
            shutil.rmtree(kept, ignore_errors=True)
            kept.parent.mkdir(exist_ok=True)
            shutil.move(folder, kept)
    file = _file(cell, out)
    unfinished = file.with_suffix(".new")
    unfinished.write_text(json.dumps(outcome.as_dict()) + "\n", encoding="utf-8")
    unfinished.rename(file)
    return outcome
