"""``bentpipe machine doctor`` and ``bentpipe machine calibrate``, on the machine of the tests."""

from __future__ import annotations

import json
import subprocess
from typing import Any

import pytest
from bentpipe.cli.machine.doctor import explain
from rigs import commands

NEEDED = {"TUN device", "network namespaces", "a host's interface"}


def bentpipe(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Runs the command in a separate process, because it may enter a user namespace."""
    return commands.run(*arguments)


@pytest.fixture(scope="module")
def examination() -> dict[str, Any]:
    """The doctor's findings on this machine."""
    document: dict[str, Any] = json.loads(bentpipe("machine", "doctor", "--json").stdout)
    return document


def test_the_exit_code_says_whether_emulation_is_possible(examination: dict[str, Any]) -> None:
    needed = {finding["what"]: finding["status"] for finding in examination["findings"] if finding["needed"]}
    assert set(needed) == NEEDED
    assert examination["possible"] == all(status != "missing" for status in needed.values())
    assert bentpipe("machine", "doctor").returncode == (0 if examination["possible"] else 1)


def test_everything_that_is_not_as_it_should_be_has_a_remedy(examination: dict[str, Any]) -> None:
    for finding in examination["findings"]:
        assert finding["status"] in {"ok", "limited", "missing"}
        assert (finding["remedy"] is None) == (finding["status"] == "ok")
        assert all(len(line) <= 80 or " " not in line.strip() for line in explain(finding))


def test_what_is_found_stands_in_the_table(examination: dict[str, Any]) -> None:
    shown = bentpipe("machine", "doctor").stdout
    for finding in examination["findings"]:
        assert f"{finding['status']:<9}{finding['what']}" in shown


@pytest.mark.alone
def test_calibration_measures_the_machine(examination: dict[str, Any]) -> None:
    if not examination["possible"]:
        pytest.skip("emulation is impossible on this machine: see bentpipe machine doctor")
    done = bentpipe("machine", "calibrate", "--json")
    assert done.returncode == 0, done.stderr
    measured = json.loads(done.stdout)
    assert measured["small_packets_per_s"] > 1000
    assert measured["full_packets_per_s"] > 1000
    for name in ("lateness", "wakeups", "added_delay"):
        times = measured[name]
        assert times["count"] > 0
        assert 0 <= times["p50_s"] <= times["p99_s"] <= times["max_s"]
    # A rate is the largest valid one only if every larger one was refused with a reason.
    refused = [refusal["rate"] for refusal in measured["refused"]]
    assert refused == sorted(refused, reverse=True)
    assert all(refusal["reasons"] for refusal in measured["refused"])
    assert measured["valid_rate"] is None or all(rate > measured["valid_rate"] for rate in refused)
