"""Fixtures of all tests: a scenario, and handmade run folders."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest
from helpers.folders import SCENARIO, write_run
from hypothesis import HealthCheck, settings
from rigs.networks import bentpipe, machine

__all__ = ["bentpipe", "machine"]

# The time that an input takes depends on the machine's load, not on the tested code.
settings.register_profile("bentpipe", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("bentpipe")

# nohup ignores SIGHUP, and programs that tests start would inherit this setting.
signal.signal(signal.SIGHUP, signal.SIG_DFL)


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    """A small scenario: one upload over a DVB-RCS return link."""
    file = tmp_path / "upload.toml"
    file.write_text(SCENARIO.format(name="Upload", scheme="rbdc", congestion="reno"))
    return file


@pytest.fixture
def run_folder(tmp_path: Path) -> Path:
    """A handmade run folder with results."""
    return write_run(tmp_path / "run")
