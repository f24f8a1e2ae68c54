"""What is needed to start a guest."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any, Final

from . import store

#: Memory that a guest may use, in MB; what it does not use costs nothing.
MEMORY_MB: Final = 2048

#: The guest's time of day when it starts, the first second of 2020 in nanoseconds: every run has the same.
EPOCH: Final = 1_577_836_800_000_000_000


def guest_for(kernel: store.Kernel) -> dict[str, Any]:
    """What ``_native.emulate_in_guest`` is told of the guest.

    Its first process is this Python, from the machine's files, which it sees read-only; nothing has to be installed in
    it.
    """
    first = Path(__file__).with_name("first_process.py").resolve()
    return {
        "kernel": str(kernel.binary.resolve()),
        "init": [os.path.realpath(sys.executable), "-I", "-S", str(first)],
        "memory_mb": MEMORY_MB,
        "epoch": EPOCH,
        "path": os.environ.get("PATH", os.defpath),
        "about": kernel.about() | {"machine": f"{os.uname().sysname} {os.uname().release}"},
    }
