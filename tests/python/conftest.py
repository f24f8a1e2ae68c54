"""What all tests share: the engine, or its stand-in where it is not built, and run folders."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

if importlib.util.find_spec("bentpipe._native") is None:
    import fake_native

    sys.modules["bentpipe._native"] = fake_native

from folders import SCENARIO, write_run


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    """A small scenario: one upload over a DVB-RCS return link."""
    file = tmp_path / "upload.toml"
    file.write_text(SCENARIO.format(name="Upload", scheme="rbdc", congestion="reno"))
    return file


@pytest.fixture
def run_folder(tmp_path: Path) -> Path:
    """A run made by hand."""
    return write_run(tmp_path / "run")
