"""The image of the Containerfile and the test bed of compose.yaml, without an image registry:
scripts/container."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "scripts/container"


@pytest.fixture(scope="module")
def said() -> Iterator[str]:
    """The output of the script."""
    reason = subprocess.check_output([SCRIPT, "--reason"], text=True).strip()
    if reason:
        pytest.skip(reason)
    done = subprocess.run([SCRIPT], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    print(done.stdout)
    assert done.returncode == 0, done.stdout
    yield done.stdout


def test_the_image_runs_commands(said: str) -> None:
    assert re.search(r"^bentpipe \d+\.\d+\.\d+$", said, re.MULTILINE)
    assert "work/mine/flows.parquet" in said
    assert "site/docs/index.html" in said


@pytest.mark.parametrize("database", ["a file", "PostgreSQL"])
def test_an_account_logs_in_and_runs_a_simulation_through_tls(said: str, database: str) -> None:
    _, first, second = said.split("== test bed: ")
    part = first if database == "a file" else second
    assert ("compose.postgresql.yaml" in part.splitlines()[0]) == (database == "PostgreSQL")
    for line in (
        "without login: 401",
        "without TLS: 308 https://localhost/",
        "health: good",
        "account: 201",
        "login: 200",
        "logged in as: ada",
        "<title>bentpipe test bed</title>",
        "run 1  mine  done",
    ):
        assert line in part.splitlines(), line
