"""Emulation of a scenario with real hosts and the kernel's TCP, in real time or in a guest."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, Literal, get_args

from . import _native
from .errors import BAD_INPUT, InputError, unknown
from .guest import current, guest_for
from .results.runs import Run
from .scenario.scenarios import Overrides, ScenarioLike, load, override_texts, seeded
from .simulation import Progress, Watch, alone, claimed, guarded, run_folder

#: The clocks on which an emulation can run.
Clock = Literal["real", "kernel"]

CLOCKS: Final = get_args(Clock)


def emulate(
    scenario: ScenarioLike,
    *,
    seed: int | None = None,
    overrides: Overrides = (),
    out: str | Path | None = None,
    progress: Progress | None = None,
    run: int = 0,
    command: Sequence[str] = (),
    allow_commands: bool = False,
    in_memory: bool = False,
    clock: Clock = "real",
    kernel: str | None = None,
    watch: Watch | None = None,
) -> Run:
    """Emulates a scenario and returns its results. The emulation runs in real time on this machine,
    or with ``clock="kernel"`` in virtual time in a guest, a Linux kernel that runs as a process.

    Each node with real flows becomes a separate host on this machine, with the kernel's TCP. Flows
    with ``endpoints = "model"`` are simulated in the same network. The run takes the scenario's
    duration. Arguments and run folder are those of :func:`bentpipe.simulate`. The folder also
    contains ``fidelity.json`` with the accuracy of the run. Flows with the app ``command`` run
    programs of this machine as the current user, and only with ``allow_commands``.

    With ``in_memory``, models connected by in-memory ports replace the hosts. The clock and the
    engine are those of an emulation. This mode needs no privileges and writes no traces of flows
    and no captures.

    A guest needs no root privileges and runs faster than real time.
    :func:`bentpipe.guest.build.build` builds its kernel once. ``kernel`` selects one of several
    kernels by its version, or by the first numbers of the version.

    ``watch`` is called on the real clock only. Without root, real time needs a user namespace and
    therefore a separate process, in which neither ``progress`` nor ``watch`` is called. Raises
    :class:`bentpipe.ScenarioError`, :class:`bentpipe.InputError` for an unusable folder and for
    commands that were not allowed, which it lists, and ``OSError`` with a remedy if this machine
    lacks a requirement.
    """
    if clock not in CLOCKS:
        raise unknown("clock", clock, CLOCKS)
    if clock == "kernel" and in_memory:
        raise InputError("in_memory uses no kernel; choose either in_memory or clock='kernel'")
    if kernel and clock != "kernel":
        raise InputError(
            f"kernel = {kernel} needs the clock kernel; the clock {clock} uses the kernel of this machine"
        )
    if clock == "real" and os.geteuid() != 0 and not command and not in_memory:
        return _in_a_process(scenario, seed, overrides, out, run, allow_commands)
    resolved = load(scenario, [*override_texts(overrides), *seeded(seed)])
    folder = run_folder(out, lambda: resolved.name)
    options = {
        "command": list(command),
        "allow_commands": allow_commands,
        "in_memory": in_memory,
        "started": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
    }
    look_at = watch if clock == "real" else None
    with claimed(folder), alone(folder), guarded(progress, look_at) as (tell, look):
        if clock == "real":
            _native.emulate(resolved.native, run, str(folder), json.dumps(options), tell, look)
        else:
            guest = json.dumps(guest_for(current(kernel)))
            _native.emulate_in_guest(resolved.native, run, str(folder), json.dumps(options), guest, tell)
    return Run(folder, resolved)


def _in_a_process(
    scenario: ScenarioLike,
    seed: int | None,
    overrides: Overrides,
    out: str | Path | None,
    run: int,
    allow_commands: bool,
) -> Run:
    resolved = load(scenario, overrides)
    folder = run_folder(out, lambda: resolved.name)
    with claimed(folder):
        with tempfile.NamedTemporaryFile("w", suffix=".toml", encoding="utf-8") as file:
            file.write(resolved.toml)
            file.flush()
            words = ["emulate", file.name, "--out", str(folder), "--replication", str(run)]
            words += [] if seed is None else ["--seed", str(seed)]
            words += ["--allow-commands"] if allow_commands else []
            start = [sys.executable, "-c", "from bentpipe.cli import main; main()"]
            done = subprocess.run([*start, *words], capture_output=True, text=True, check=False)
        if done.returncode:
            message = done.stderr.strip().removeprefix("bentpipe: ")
            raise InputError(message) if done.returncode == BAD_INPUT else OSError(message)
    return Run(folder)
