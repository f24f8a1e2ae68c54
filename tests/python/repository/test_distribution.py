"""The order of test files in parallel runs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from helpers import ROOT

#: The second worker starts after another run has written durations.
CONFTEST = """
from distribution import SECONDS

def pytest_configure(config):
    if getattr(config, "workerinput", {}).get("workerid") == "gw1":
        config.cache.set(SECONDS, {"test_a.py": 1, "test_b.py": 2})
"""


def test_workers_have_the_same_order_while_another_run_writes_durations(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(CONFTEST)
    for name in "ab":
        (tmp_path / f"test_{name}.py").write_text("def test_nothing():\n    pass\n")
    words = ("-p", "distribution", "--numprocesses", "2", "--dist", "loadfile", "--no-loadscope-reorder")
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", *words, tmp_path],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT / "scripts"), "PYTEST_ADDOPTS": "", "BENTPIPE_FAILED": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0 and "2 passed" in run.stdout, run.stdout + run.stderr
