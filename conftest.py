"""Docstring examples run in an empty folder that contains the repository's examples."""

from __future__ import annotations

from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parent / "examples"


@pytest.fixture(autouse=True)
def _place_for_doctests(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if isinstance(request.node, pytest.DoctestItem):
        (tmp_path / "examples").symlink_to(EXAMPLES)
        monkeypatch.chdir(tmp_path)
