"""A pytest plug-in that runs the docstring examples, and the blocks of the README and the manual.

Docstring examples run in a folder that contains only the repository's ``examples``. Blocks run as
described in :mod:`manual.blocks`.
"""

from __future__ import annotations

import functools
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from rigs.guests import reason_to_skip

from . import blocks, pictures

# In an outdated environment without Sybil, all other tests can still run.
try:
    from sybil import Document, Example, Region, Sybil
except ModuleNotFoundError:
    Sybil = None  # type: ignore[assignment, misc]

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def _place_for_doctests(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if isinstance(request.node, pytest.DoctestItem):
        (tmp_path / "examples").symlink_to(ROOT / "examples")
        monkeypatch.chdir(tmp_path)


def _regions(document: Document) -> Iterator[Region]:
    for block in blocks.read(document.text):
        if block.runs:
            yield Region(block.start, block.end, block, _run)


def _run(example: Example) -> None:
    block: blocks.Block = example.parsed
    if block.language == "sh":
        if blocks.GUEST.search(block.text):
            if (reason := reason_to_skip()) is not None:
                pytest.skip(reason)
        elif blocks.REAL.search(block.text) and (reason := _cannot_emulate()):
            pytest.skip(reason)
    session: blocks.Session = example.namespace["session"]
    session.run(block)
    if block.picture:
        page = Path(example.document.path)
        kept = pictures.place(page, block)
        before = [one for one in blocks.read(example.document.text) if one.start < block.start]
        wrong = "" if pictures.timed(before, block) else pictures.differs(session.pictures / kept.name, kept)
        if wrong or not kept.is_file():
            name = page.relative_to(ROOT)
            raise AssertionError(f"{kept.relative_to(ROOT)} {wrong or 'is missing'}: scripts/pictures {name}")


@functools.cache
def _cannot_emulate() -> str:
    """Returns the reason why this machine cannot emulate; empty if it can."""
    doctor = subprocess.run(
        [ROOT / ".venv/bin/bentpipe", "machine", "doctor"], capture_output=True, text=True, check=False
    )
    return f"this machine cannot emulate: {doctor.stdout}" if doctor.returncode else ""


def _begin(namespace: dict[str, Any]) -> None:
    folder = namespace["folder"] = tempfile.TemporaryDirectory()
    place = Path(folder.name)
    namespace["session"] = blocks.Session(place, place / "pictures")


def _end(namespace: dict[str, Any]) -> None:
    """Takes down the networks that a page has left up."""
    with namespace["folder"]:
        namespace["session"].close()


if Sybil is None:

    def pytest_ignore_collect(collection_path: Path) -> bool | None:
        """Excludes these modules from collection, because Sybil is not installed."""
        return True if collection_path.parent == Path(__file__).parent else None

else:
    pytest_collect_file = Sybil(
        path=str(ROOT),
        parsers=[_regions],
        patterns=["README.md", "docs/*.md", "docs/**/*.md", "studies/*/README.md", "CONTRIBUTING.md"],
        setup=_begin,
        teardown=_end,
    ).pytest()
