"""Simulation of a scenario in virtual time, which writes a run folder."""

from __future__ import annotations

import fcntl
import itertools
import json
import math
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from . import _native
from .errors import InputError
from .results.runs import Run
from .scenario.scenarios import Overrides, ScenarioLike, load, override_texts, seeded, slug

#: Called with the completed fraction, 0 to 1, about ten times a second. Returning False stops the
#: run.
Progress = Callable[[float], "bool | None"]

#: Called about ten times a second with the news of a run since the last call. ``rows`` are rows of
#: its traces by table and entity, each with the time in seconds and the table's columns, thinned to
#: some thousand per entity and run. ``dropped`` is the number of rows that did not fit. ``changes``
#: are the outcomes of the changes that the last call requested. Returns the changes of the scenario
#: to make now, as keys and values of overrides.
Watch = Callable[[dict[str, Any]], Sequence[tuple[str, str]]]

#: The folder for runs without ``out``, below the current folder.
RUNS: Final = Path("runs")


def simulate(
    scenario: ScenarioLike,
    *,
    seed: int | None = None,
    overrides: Overrides = (),
    out: str | Path | None = None,
    progress: Progress | None = None,
    run: int = 0,
    command: Sequence[str] = (),
    watch: Watch | None = None,
    pace: float | None = None,
) -> Run:
    """Simulates a scenario and returns its results.

    ``seed`` replaces the scenario's seed. ``run`` is the number of a replication; replications of
    one seed have independent random streams. ``overrides`` are ``"key.path=value"``, or a
    dictionary of values by key path. The results are written to the folder ``out``, or to a new one
    below ``runs/``. The folder of an earlier run is overwritten; a folder with other contents is
    refused. ``progress`` is called with the completed fraction and stops the run by returning
    False. The folder of a stopped run is readable and marked incomplete. ``command`` is the command
    line for the provenance, if any. ``watch`` receives rows of the traces during the run and may
    change the keys that can change; such changes are listed in the provenance. ``pace`` limits the
    run to this many seconds of the scenario per second.

    The engine releases the GIL, so threads simulate in parallel. Raises
    :class:`bentpipe.ScenarioError`, :class:`bentpipe.InputError` for an unusable folder or one to
    which another run is writing, and ``OSError`` for errors of the disk.

    >>> run = simulate("examples/dvb-rcs-upload.toml", seed=7, overrides=["duration=20 s"], out="runs/short")
    >>> run.complete, run.provenance["seed"], run.flows.height
    (True, 7, 1)
    """
    if run < 0:
        raise InputError(f"run = {run} is out of range; allowed: whole numbers from 0")
    # As an override, the seed is also in the resolved scenario, which then reproduces the run.
    resolved = load(scenario, [*override_texts(overrides), *seeded(seed)])
    folder = run_folder(out, lambda: resolved.name)
    if pace is not None and not 0 < pace < math.inf:
        raise InputError(f"pace = {pace} is out of range; allowed: numbers above 0")
    options = {
        "command": list(command),
        "started": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "pace": pace,
    }
    with claimed(folder), alone(folder), guarded(progress, watch) as (tell, look):
        _native.simulate(resolved.native, run, str(folder), json.dumps(options), tell, look)
    return Run(folder, resolved)


@contextmanager
def guarded(
    progress: Progress | None, watch: Watch | None = None
) -> Iterator[tuple[Callable[[float], bool], Callable[[str], list[tuple[str, str]]] | None]]:
    """Yields the functions that the engine calls instead of ``progress`` and ``watch``. Exceptions,
    including Ctrl-C, must not pass through the engine, which first closes the folder. They are
    raised at the end."""
    raised: BaseException | None = None

    def tell(fraction: float) -> bool:
        nonlocal raised
        try:
            return raised is None and (progress is None or progress(fraction) is not False)
        except BaseException as error:  # noqa: BLE001 - raised again below
            raised = error
            return False

    def look(seen: str) -> list[tuple[str, str]]:
        nonlocal raised
        try:
            return [] if watch is None or raised is not None else list(watch(json.loads(seen)))
        except BaseException as error:  # noqa: BLE001 - raised again below
            raised = error
            return []

    yield tell, None if watch is None else look
    if raised is not None:
        raise raised


def run_folder(out: str | Path | None, name: Callable[[], str]) -> Path:
    """Returns the folder to write to: ``out`` if given, or else the first free one of
    ``runs/NAME``, ``runs/NAME-2``, ..., where NAME is the scenario's. The folder is created
    immediately, so that no other thread or process takes its name."""
    if out is not None:
        folder = Path(out)
        if folder.is_dir() and any(folder.iterdir()) and not (folder / "provenance.json").is_file():
            raise InputError(
                f"{folder} is not empty and is not the folder of a run; it was not changed. Choose another "
                "folder"
            )
        if folder.exists() and not folder.is_dir():
            raise InputError(f"{folder} is a file; allowed: a folder for the results")
        return folder
    stem = slug(name())
    if RUNS.exists() and not RUNS.is_dir():
        raise InputError(
            f"{RUNS} is a file, so results cannot be written into a folder of this name; choose another "
            "folder with --out"
        )
    RUNS.mkdir(parents=True, exist_ok=True)
    for count in itertools.count(1):
        folder = RUNS / (stem if count == 1 else f"{stem}-{count}")
        with suppress(FileExistsError):
            folder.mkdir()
            break
    return folder


@contextmanager
def claimed(folder: Path) -> Iterator[None]:
    """Context manager that removes the folder of a run that fails before it writes anything."""
    missing = [one for one in folder.parents if not one.exists()]
    try:
        yield
    except BaseException:
        # A folder with files stays.
        with suppress(OSError):
            for one in (folder, *missing):
                one.rmdir()
        raise


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Context manager in which no other run writes to ``folder``, which is created if it is
    missing. Raises :class:`bentpipe.InputError` if another run writes to it. The kernel releases
    the folder when the process ends."""
    folder.mkdir(parents=True, exist_ok=True)
    held = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise InputError(
                f"another run is writing to {folder}; choose another folder, or wait until that run has ended"
            ) from None
        except OSError:
            # The file system has no locks.
            pass
        yield
    finally:
        # Processes forked in the meantime share the lock.
        with suppress(OSError):
            fcntl.flock(held, fcntl.LOCK_UN)
        os.close(held)
