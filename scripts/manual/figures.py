"""Figures of the pages, kept below ``build/figures`` for the site. What runs all blocks of a page keeps its figures, as
the tests of the pages do. They are current as long as neither the page nor bentpipe changes."""

from __future__ import annotations

import functools
import hashlib
import shutil
import tempfile
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]

#: Where they are, below the repository.
FOLDER: Final = Path("build/figures")


def current(name: str, page: str) -> bool:
    """Whether the figures of the page ``name``, a path without suffix, are those of this text and this bentpipe."""
    key = ROOT / FOLDER / name / "key"
    return key.is_file() and key.read_text() == _key(page)


def keep(name: str, page: str, drawn: Path) -> None:
    """Keep the figures in a folder, which are all that the blocks of a page leave. Others see all of them, or none."""
    place = ROOT / FOLDER / name
    place.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=place.parent) as folder:
        new, old = Path(folder) / "new", Path(folder) / "old"
        shutil.copytree(drawn, new)
        (new / "key").write_text(_key(page))
        if place.is_dir():
            place.rename(old)
        new.rename(place)


def _key(page: str) -> str:
    return hashlib.sha256((_base() + page).encode()).hexdigest()


@functools.cache
def _base() -> str:
    from bentpipe import _native

    engine = Path(_native.__file__)
    python = [*Path(__file__).parent.glob("*.py"), *engine.parent.rglob("*.py")]
    return hashlib.sha256(b"".join(file.read_bytes() for file in [engine, *sorted(python)])).hexdigest()
