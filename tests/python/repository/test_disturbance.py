"""Tests on the real clock that the machine disturbed are repeated; others fail at once."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import disturbance
import pytest
from helpers import ROOT
from rigs.networks import LINK, Bentpipe, networks

TESTS = """
import json, os, signal, time
from pathlib import Path
import disturbance, pytest

def attempt(name):
    file = Path(name)
    file.write_text(file.read_text() + "x" if file.exists() else "x")
    return len(file.read_text())

def emulated(folder, verdict, reason):
    document = {"verdict": verdict, "reasons": [reason], "lateness": {}}
    (folder / "fidelity.json").write_text(json.dumps(document))

def stand_still():
    process = disturbance._sleeper().pid
    os.kill(process, signal.SIGSTOP)
    time.sleep(1.2)
    os.kill(process, signal.SIGCONT)
    time.sleep(0.3)

@pytest.mark.quiet
def test_disturbed_once(tmp_path):
    emulated(tmp_path, "degraded", "a packet was late by 30.000 ms, tolerated: 20 ms")
    assert attempt("once") == 2, "once"

@pytest.mark.alone
def test_disturbed_always(tmp_path):
    emulated(tmp_path, "void", "a packet was late by 0.300 s, tolerated: 20 ms")
    assert attempt("always") == 0, "always"

@pytest.mark.quiet
def test_undisturbed(tmp_path):
    emulated(tmp_path, "valid", "a packet was late by nothing")
    assert attempt("undisturbed") == 0

@pytest.mark.quiet
def test_for_another_reason(tmp_path):
    emulated(tmp_path, "degraded", "rate: the kernel does not apply it")
    assert attempt("reason") == 0

@pytest.mark.quiet
def test_of_another_kind(tmp_path):
    emulated(tmp_path, "degraded", "a packet was late by 30.000 ms, tolerated: 20 ms")
    assert attempt("kind") > 0
    raise TypeError("a mistake")

@pytest.mark.quiet
def test_on_a_machine_that_always_stands_still():
    attempt("stopped")
    stand_still()
    assert attempt("stopped") == 0, "stopped"

def test_on_no_clock(tmp_path):
    emulated(tmp_path, "degraded", "a packet was late by 30.000 ms, tolerated: 20 ms")
    assert attempt("clock") == 0

@pytest.mark.quiet
def test_on_a_machine_that_stands_still():
    attempt("still")
    stand_still()
    assert attempt("still") == 4
"""


@pytest.mark.parametrize("at_a_time", ["0", "2"])
def test_only_what_the_machine_disturbed_is_repeated(tmp_path: Path, at_a_time: str) -> None:
    (tmp_path / "conftest.py").write_text(
        "import disturbance\n\ndisturbance.LATE_S = 1\n\n"
        "def pytest_configure(config):\n    config.pluginmanager.register(disturbance)\n"
        "    for mark in disturbance.MARKS:\n        config.addinivalue_line('markers', mark)\n"
    )
    (tmp_path / "test_all.py").write_text(TESTS)
    words = ["-m", "pytest", "-p", "no:cacheprovider", "-rfs", "-q", "-n", at_a_time, "--rootdir", tmp_path]
    done = subprocess.run(
        [sys.executable, *map(str, words), "test_all.py"],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(ROOT / "scripts")},
        capture_output=True,
        text=True,
        check=False,
    )
    said = done.stdout + done.stderr
    counts = {
        file.name: len(file.read_text()) for file in tmp_path.iterdir() if not file.suffix and file.is_file()
    }
    assert counts == {
        "once": 2,
        "always": disturbance.ATTEMPTS,
        "undisturbed": 1,
        "reason": 1,
        "kind": 1,
        "clock": 1,
        "still": 4,
        "stopped": 2 * disturbance.ATTEMPTS,
    }, said
    assert "5 failed, 2 passed, 1 skipped" in said
    assert "REPEATED test_all.py::test_disturbed_once: a packet was late by 30.000 ms" in said
    assert (
        "REPEATED test_all.py::test_on_a_machine_that_stands_still: a process that sleeps was woken" in said
    )
    assert "the machine disturbed all 3 attempts (a process that sleeps was woken" in said
    # Verdicts alone do not excuse a failure.
    assert "test_disturbed_always - AssertionError: always" in said


@networks
@pytest.mark.quiet
def test_networks_tell_by_how_much_packets_were_late(
    bentpipe: Bentpipe, monkeypatch: pytest.MonkeyPatch
) -> None:
    bentpipe("net", "up", "geo", *LINK)
    bentpipe("net", "exec", "user", "--", "ping", "-c", "2", "-i", "0.1", "server")
    monkeypatch.setattr(disturbance, "LATE_S", 0.0)
    (reason,) = disturbance.network_reasons(bentpipe.state)
    assert reason.startswith("a packet of ") and "was late by 0." in reason
