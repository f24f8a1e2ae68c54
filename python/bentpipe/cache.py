"""The folder of the user's cache, for everything that is built on demand."""

from __future__ import annotations

import os
from pathlib import Path


def cache_folder(name: str) -> Path:
    """Returns a folder of the cache: ``$XDG_CACHE_HOME/bentpipe/NAME``, or below ``~/.cache``."""
    cache = os.environ.get("XDG_CACHE_HOME", "")
    home = Path(cache) if Path(cache).is_absolute() else Path.home() / ".cache"
    return home / "bentpipe" / name
