"""Runs that were killed before they wrote their results: their readable parts, and the reports of
missing ones."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from bentpipe.results.runs import Run
from rigs import commands

SCENARIO = """name = "Killed"
duration = "1000000 s"
preset = "geo"

[[flow]]
name = "up"
from = "user"
to = "server"
app = "bulk"
transport = { kind = "tcp", congestion = "reno" }
"""
START = "import sys; sys.argv[0] = 'bentpipe'; from bentpipe.cli import main; main()"


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a simulation that was killed after some of its traces had been written."""
    folder = tmp_path_factory.mktemp("killed")
    (folder / "killed.toml").write_text(SCENARIO)
    words = [sys.executable, "-c", START, "simulate", "killed.toml", "--out", "run"]
    with subprocess.Popen(words, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        end = time.monotonic() + 60
        while not recorded(folder / "run"):
            assert process.poll() is None and time.monotonic() < end, "nothing was written"
            time.sleep(0.05)
        process.send_signal(signal.SIGKILL)
        assert process.wait(10) == -signal.SIGKILL
    return folder / "run"


def recorded(run: Path) -> bool:
    """Returns true if a row group of a trace is in the folder."""
    return any(file.stat().st_size > 100_000 for file in (run / "traces").glob("*.parquet"))


def test_its_report_has_what_is_there_and_says_what_is_missing(killed: Path) -> None:
    assert not (killed / "flows.parquet").exists()
    said = commands.run("report", killed)
    assert said.returncode == 0, said.stderr
    text = " ".join(said.stdout.split())
    missing = "lacks flows.parquet, tables, summary.json, written at the end of a run"
    assert missing in text and "bentpipe simulate killed.toml --out run" in text
    page = (killed / "report.html").read_text(encoding="utf-8")
    assert "is incomplete (killed, or still running)" in page and missing in page
    # Predictions, and the figure of the recorded part.
    assert "<svg" in page and "up" in page
    row = page.partition("<tbody>")[2].partition("</tbody>")[0]
    # Without results only the predictions.
    assert (
        row.count("<td") == row.count('class="words"') + row.count('class="soft"') and 'class="soft">9' in row
    )


def test_it_stands_beside_runs_that_reached_their_end(killed: Path, tmp_path: Path) -> None:
    done = commands.run(
        *("simulate", killed.parent / "killed.toml", "--set", "duration=20 s", "--out", tmp_path / "whole")
    )
    assert done.returncode == 0, done.stderr
    said = commands.run("report", tmp_path / "whole", killed, "--out", tmp_path / "both.html")
    assert said.returncode == 0, said.stderr
    page = (tmp_path / "both.html").read_text(encoding="utf-8")
    assert page.count("is incomplete") == 1 and "<svg" in page
    assert Run(tmp_path / "whole").unfinished == ""


def test_what_needs_the_results_says_in_a_sentence_what_is_missing_and_what_to_do(killed: Path) -> None:
    said = commands.run("compare", killed, killed)
    assert said.returncode == 2
    text = " ".join(said.stderr.split())
    assert "was killed or still runs, and lacks flows.parquet" in text and "to repeat the run:" in text
