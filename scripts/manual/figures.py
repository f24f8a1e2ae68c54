"""Stores the figures of pages in ``build/figures`` for the site.

Both the site's build and the tests of pages run all blocks of a page, and then store its figures.
Stored figures are current until the page or bentpipe changes.
"""

from __future__ import annotations

import functools
import hashlib
import shutil
import tempfile
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]

#: The folder of the figures, relative to the repository.
FOLDER: Final = Path("build/figures")


def current(name: str, page: str) -> bool:
    """Returns true if the stored figures of a page belong to this text and this version of
    bentpipe.

    ``name`` is the page's path without suffix.
    """
    key = ROOT / FOLDER / name / "key"
    return key.is_file() and key.read_text() == _key(page)


def keep(name: str, page: str, drawn: Path) -> None:
    """Stores the figures of a page, all of which are in the folder ``drawn``, in one atomic
    step."""
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
