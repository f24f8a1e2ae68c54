"""Builds of stacks, in the user's cache. A failed build is a result with its reason."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bentpipe.cache import cache_folder
from bentpipe.guest.build import BuildStopped

from .stacks import DESCRIPTION, Stack

#: Called with the current step. Returning False ends the build.
Tell = Callable[[str], bool]

#: Files in the folder of a build: its outcome, and the output of its commands.
OUTCOME: Final = "outcome.json"
LOG: Final = "build.log"


@dataclass(frozen=True)
class Built:
    """The outcome of a build: its folder, and the reason of its failure, or None. ``lock`` is the
    content of the stack's file of dependencies."""

    folder: Path
    failure: str | None
    seconds: float
    lock: str


def place() -> Path:
    """Returns the folder of builds in the user's cache."""
    return cache_folder("stacks")


def folder_of(stack: Stack) -> Path:
    """Returns the folder of a stack's build, which differs for each version of its files."""
    return place() / f"{stack.name}-{stack.version}-{stack.hash}"


def built(stack: Stack) -> Built | None:
    """Returns the outcome of a stack's build, None if it has not been built."""
    folder = folder_of(stack)
    try:
        outcome = json.loads((folder / OUTCOME).read_text(encoding="utf-8"))
        return Built(folder, outcome["failure"], outcome["seconds"], outcome["lock"])
    except (OSError, ValueError, KeyError):
        return None


def build(stack: Stack, tell: Tell) -> Built:
    """Builds a stack, unless it is built. Raises :class:`BuildStopped` if ``tell`` returned False;
    the next call resumes the build."""
    if (done := built(stack)) and done.failure is None:
        return done
    folder, began = folder_of(stack), time.monotonic()
    shutil.copytree(stack.folder, folder, dirs_exist_ok=True)
    (folder / LOG).unlink(missing_ok=True)
    failure = None
    for words in stack.build:
        command = [_filled(word, stack) for word in words]
        if (failure := _run(command, folder, stack.name, tell)) is not None:
            break
    lock = ""
    if failure is None:
        try:
            lock = (folder / stack.lock).read_text(encoding="utf-8")
        except OSError:
            failure = f"{stack.folder / DESCRIPTION}: lock: the build wrote no {stack.lock}"
    done = Built(folder, failure, round(time.monotonic() - began, 1), lock)
    outcome = {"failure": failure, "seconds": done.seconds, "lock": lock}
    unfinished = folder / f"{OUTCOME}.new"
    unfinished.write_text(json.dumps(outcome, indent=2) + "\n", encoding="utf-8")
    unfinished.rename(folder / OUTCOME)
    return done


def _filled(word: str, stack: Stack) -> str:
    shared = place() / "shared"
    places = {"{version}": stack.version, "{python}": sys.executable, "{shared}": str(shared)}
    for name, value in places.items():
        word = word.replace(name, value)
    return word


def _run(command: list[str], folder: Path, name: str, tell: Tell) -> str | None:
    """Runs one command. Returns the reason of its failure, None if it succeeds."""
    doing = f"building {name}: {' '.join(command[:2])}"
    log = folder / LOG
    try:
        with (
            log.open("ab") as file,
            subprocess.Popen(
                command,
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.STDOUT,
                # Ctrl-C ends the command through `tell`.
                process_group=0,
            ) as process,
        ):
            while process.poll() is None:
                if not tell(doing):
                    os.killpg(process.pid, signal.SIGTERM)
                    raise BuildStopped
                time.sleep(0.1)
    except OSError as error:
        return f"{command[0]}: {(error.strerror or str(error)).lower()}"
    if process.returncode == 0:
        return None
    lines = [line.strip() for line in log.read_text(encoding="utf-8", errors="replace").splitlines()]
    wrong = [line for line in lines if "error" in line.lower()] or [line for line in lines if line]
    code = process.returncode
    ended = f"exit code {code}" if code > 0 else f"killed by signal {-code}"
    return f"{' '.join(command[:2])} failed: {(wrong or [ended])[0]}"
