"""The plug-in, inside a pytest of its own, without root."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from networks import needs, networks

TESTS = """
import pytest

@pytest.mark.bentpipe("geo-ka", overrides={"link.sat.delay": "60 ms", "link.sat.return.delay": "60 ms"})
def test_programs_run_behind_the_link_and_a_change_reaches_them(satellite):
    far = next(host for host in satellite.hosts if host != satellite.near)
    def rtt():
        done = satellite.run("ping", "-c", "1", "-q", satellite.hosts[far]["ipv4"])
        return float(done.stdout.rpartition(" = ")[2].split("/")[0])
    assert 120 <= rtt() < 140
    satellite.set(**{"link.sat.delay": "160 ms"})
    assert 220 <= rtt() < 240
    satellite.popen("sleep", "1000", host=far)

@pytest.mark.bentpipe("geo-ka", overrides={"link.sat.rate": "fast"})
def test_of_a_wrong_value(satellite):
    pass

@pytest.mark.bentpipe("geo-ka", host="nobody")
def test_of_a_host_that_is_missing(satellite):
    pass

def test_without_a_mark(satellite):
    pass
"""


@networks
@needs("ping")
def test_a_pytest_of_its_own_runs_programs_behind_a_preset(tmp_path: Path) -> None:
    """One test passes, three fail with a message instead of a traceback, and nothing is left."""
    (tmp_path / "test_one.py").write_text(TESTS)
    state = {"BENTPIPE_STATE": str(tmp_path / "state")}
    words = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "test_one.py",
    ]
    kept = {
        name: value for name, value in os.environ.items() if not name.startswith(("BENTPIPE_", "PYTEST_"))
    }
    done = subprocess.run(words, cwd=tmp_path, env=kept | state, capture_output=True, text=True, check=False)
    assert "1 passed, 3 errors" in done.stdout, done.stdout + done.stderr
    for message in ("link.sat.rate", "host nobody is unknown; allowed: ", "needs a mark with one scenario"):
        assert message in done.stdout, message
    assert "Traceback" not in done.stdout
    assert [file.name for file in (tmp_path / "state").iterdir() if file.name != "lock"] == []
