"""Keys of runs. Runs with equal keys have identical results."""

from __future__ import annotations

import hashlib
import json
from functools import cache
from pathlib import Path

from bentpipe import _native
from bentpipe.scenario.prototypes import registered


def run_key(resolved: str, *more: str | int) -> str:
    """Returns a key that differs whenever results may differ. It is a hash of the resolved scenario
    as TOML (including the seed), of all other inputs of the run, and of the engine. The programs
    that an emulation runs are not included."""
    classes = [token for name, token in registered.items() if f'"{name}"' in resolved]
    parts = [resolved, *map(str, more), engine(), *classes]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:32]


@cache
def engine() -> str:
    """Returns the exact identity of the engine: its version and the hash of its code."""
    file = _native.__file__
    assert file is not None, "the engine is a file"
    return f"{_native.version()} {hashlib.sha256(Path(file).read_bytes()).hexdigest()[:16]}"
