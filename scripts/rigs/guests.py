"""Runs scripts in guests of the clock `kernel`, and skips tests on machines that cannot."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from bentpipe.errors import InputError
from bentpipe.guest import current


def reason_to_skip() -> str | None:
    """Returns the reason why guests cannot run on this machine; None if they can."""
    try:
        current()
    except InputError as error:
        return str(error)
    return None


#: Mark of tests that start a guest.
guests = pytest.mark.skipif(reason_to_skip() is not None, reason=str(reason_to_skip()))


def run_in_guest(*words: object) -> str:
    """Runs a script of Python, with its arguments, as the first process of a guest in virtual time.
    Returns its output."""
    command: list[str | os.PathLike[str]] = [
        current().binary,
        *("mem=1024M", "root=/dev/root", "rootfstype=hostfs", "rootflags=/", "ro"),
        *("con=null", "con0=fd:0,fd:1", "quiet"),
        *("time-travel=inf-cpu", f"init={os.path.realpath(sys.executable)}", "--", "-I", "-S"),
        *map(str, words),
    ]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    return done.stdout
