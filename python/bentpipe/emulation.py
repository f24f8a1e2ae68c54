"""Emulating in real time: from a scenario to a run folder, with real hosts and the kernel's TCP."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from . import _native
from .runs import Run
from .scenarios import ScenarioLike, load, source_and_text
from .simulation import Progress, guarded_progress, run_folder


def emulate(
    scenario: ScenarioLike,
    *,
    seed: int | None = None,
    overrides: Sequence[str] = (),
    out: str | Path | None = None,
    progress: Progress | None = None,
    run: int = 0,
    command: Sequence[str] = (),
) -> Run:
    """Emulate a scenario in real time and return its results.

    Each node with real flows becomes a host of its own on this machine, with the kernel's TCP; flows whose
    ``endpoints`` are ``"model"`` are simulated beside them. It takes as long as the scenario says. Arguments and the
    run folder are those of :func:`bentpipe.simulate`; the folder also holds ``fidelity.json``, which says how exact
    the run was.

    Without root this starts a process of its own, since a user namespace is needed, and ``progress`` is not told.
    Raises :class:`bentpipe.ScenarioError`, :class:`bentpipe.InputError` for a folder that cannot be used, and
    ``OSError`` with a remedy for what this machine does not give.
    """
    if os.geteuid() != 0 and not command:
        return _in_a_process(scenario, seed, overrides, out, run)
    source, text = source_and_text(scenario)
    folder = run_folder(out, lambda: load(scenario, overrides).name)
    options = {
        "command": list(command),
        "started": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
    }
    replaced = [*overrides, *([] if seed is None else [f"seed={seed}"])]
    with guarded_progress(progress) as tell:
        _native.emulate(source, text, replaced, run, str(folder), json.dumps(options), tell)
    return Run(folder)


def _in_a_process(
    scenario: ScenarioLike,
    seed: int | None,
    overrides: Sequence[str],
    out: str | Path | None,
    run: int,
) -> Run:
    resolved = load(scenario, overrides)
    folder = run_folder(out, lambda: resolved.name)
    with tempfile.NamedTemporaryFile("w", suffix=".toml", encoding="utf-8") as file:
        file.write(resolved.toml)
        file.flush()
        words = ["emulate", file.name, "--out", str(folder), "--replication", str(run), "--no-report"]
        words += [] if seed is None else ["--seed", str(seed)]
        start = [sys.executable, "-c", "from bentpipe.cli import main; main()"]
        done = subprocess.run([*start, *words], capture_output=True, text=True, check=False)
    if done.returncode:
        raise OSError(done.stderr.strip().removeprefix("bentpipe: "))
    return Run(folder)
