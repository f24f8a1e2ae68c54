"""The configuration that starts a guest."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any, Final

from . import store

#: Maximum memory of a guest in MB. Unused memory costs nothing.
MEMORY_MB: Final = 2048

#: The guest's time of day at its start in nanoseconds: the beginning of 2020, identical for all
#: runs.
EPOCH: Final = 1_577_836_800_000_000_000


def guest_for(kernel: store.Kernel) -> dict[str, Any]:
    """Returns the description of the guest for ``_native.emulate_in_guest``.

    The guest's first process is this Python interpreter. The guest sees the machine's files
    read-only and needs no installation.
    """
    first = Path(__file__).with_name("first_process.py").resolve()
    return {
        "kernel": str(kernel.binary.resolve()),
        # A guest's behaviour depends on its kernel's command line, so its names must not depend on
        # the machine.
        "init": ["python", "-I", "-S", "first_process.py"],
        "files": {"python": os.path.realpath(sys.executable), "first_process.py": str(first)},
        "memory_mb": MEMORY_MB,
        "parameters": kernel.parameters,
        "epoch": EPOCH,
        "path": os.environ.get("PATH", os.defpath),
        "about": kernel.about() | {"machine": f"{os.uname().sysname} {os.uname().release}"},
    }
