"""One run of a campaign on a worker: the task for the worker, and the outcome that it returns."""

from __future__ import annotations

import io
import os
import socket
import tarfile
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from bentpipe.errors import trouble
from bentpipe.scenario.scenarios import Scenario, ScenarioText

from .keys import engine
from .metrics import identified

if TYPE_CHECKING:
    from bentpipe.results.runs import Run


@dataclass(frozen=True)
class Task:
    """A run to execute. It is self-contained: the scenario is resolved and needs no other file.

    If ``tables`` is true, the outcome contains the run's tables. ``command`` is the command line
    for the provenance.
    """

    key: str
    scenario: Scenario | ScenarioText
    replication: int
    clock: Literal["virtual", "kernel", "real"]
    kernel: str | None
    keep_run: bool
    engine: str
    tables: bool = True
    command: Sequence[str] = ()
    allow_commands: bool = False


@dataclass(frozen=True)
class Outcome:
    """The outcome of a task. ``tables`` are Parquet data by name, including the flows; ``folder``
    is the run's folder as a tar archive, if the folder is kept and was written on another machine.
    The status ``"stopped"`` means interrupted, without results. ``cause`` is the exception of a
    failed run, if the run was executed in this process."""

    key: str
    status: Literal["complete", "failed", "stopped"]
    seconds: float
    place: str
    error: str = ""
    tables: dict[str, bytes] = field(default_factory=dict)
    folder: bytes = b""
    cause: Exception | None = None


def perform(
    task: Task,
    folder: Path | None = None,
    tell: Callable[[float], bool] | None = None,
    *,
    scratch: str | Path | None = None,
) -> Outcome:
    """Runs a task. An error of the run is part of the outcome. Raises ``OSError`` if this worker
    cannot run any task.

    The run is written to ``folder``, or to a temporary folder in ``scratch``, which remains if the
    process is killed. ``tell`` is called with the completed fraction and interrupts the run by
    returning False.
    """
    started = time.monotonic()
    place = f"{socket.gethostname()} {os.getpid()}"

    def outcome(status: Literal["complete", "failed", "stopped"], **more: Any) -> Outcome:
        return Outcome(task.key, status, time.monotonic() - started, place, **more)

    if task.engine != engine():
        raise OSError(f"the worker {place} has another engine: {engine()}, not {task.engine}")
    own = tempfile.TemporaryDirectory(prefix="run-", dir=scratch) if folder is None else nullcontext("")
    with own as temporary:
        out = folder or Path(temporary) / "run"
        try:
            run = _run(task, out, tell)
            if not run.complete:
                return outcome("stopped")
            packed = _packed(out) if task.keep_run and folder is None else b""
            return outcome("complete", tables=_tables(run, task) if task.tables else {}, folder=packed)
        except Exception as error:  # noqa: BLE001 - a run that fails must not end the others
            text = trouble(error) if isinstance(error, OSError) else f"{type(error).__name__}: {error}"
            return outcome("failed", error=text, cause=error)


def _run(task: Task, out: Path, tell: Callable[[float], bool] | None) -> Run:
    from bentpipe.emulation import emulate
    from bentpipe.simulation import simulate

    run, command = task.replication, task.command
    if task.clock == "virtual":
        return simulate(task.scenario, run=run, out=out, progress=tell, command=command)
    return emulate(
        task.scenario,
        run=run,
        out=out,
        progress=tell,
        command=command,
        allow_commands=task.allow_commands,
        clock=task.clock,
        kernel=task.kernel,
    )


def _tables(run: Run, task: Task) -> dict[str, bytes]:
    files = {"flows": run.path / "flows.parquet"}
    return {name: _labelled(file, task) for name, file in (files | run.table_files).items()}


def _labelled(file: Path, task: Task) -> bytes:
    """Returns a table with its metadata, and with the columns that identify the run in front."""
    import polars as pl

    table = pl.read_parquet(file, glob=False, hive_partitioning=False)
    labelled = identified(table, task.key, task.replication)
    about = pl.read_parquet_metadata(file)
    buffer = io.BytesIO()
    labelled.write_parquet(
        buffer, metadata={name: text for name, text in about.items() if name == "bentpipe"}
    )
    return buffer.getvalue()


def _packed(folder: Path) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        tar.add(folder, arcname=".")
    return buffer.getvalue()
