"""Keys of runs: equal if nothing can change between their results."""

from __future__ import annotations

import hashlib
import json
from functools import cache
from pathlib import Path

from bentpipe import _native
from bentpipe.scenario.prototypes import registered


def run_key(resolved: str, *more: str | int) -> str:
    """Returns a key that differs if results could: the hash of the resolved scenario as TOML (which contains the seed),
    of everything else that the run depends on, and of the engine. Programs that an emulation runs do not count."""
    classes = [token for name, token in registered.items() if f'"{name}"' in resolved]
    said = [resolved, *map(str, more), engine(), *classes]
    return hashlib.sha256(json.dumps(said).encode()).hexdigest()[:32]


@cache
def engine() -> str:
    """Identifies the engine exactly: its version and the hash of its code."""
    file = _native.__file__
    assert file is not None, "the engine is a file"
    return f"{_native.version()} {hashlib.sha256(Path(file).read_bytes()).hexdigest()[:16]}"
