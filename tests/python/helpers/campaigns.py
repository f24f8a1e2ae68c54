"""Campaigns for tests: a scenario with loss, and its runs in separate processes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import polars as pl
from bentpipe.campaign import Campaign
from bentpipe.cli import app
from rigs import commands
from typer.testing import CliRunner

SCENARIO = """
name = "Loss"
duration = "4 s"

[[link]]
name = "sat"
from = "user"
to = "server"
rate = "10 Mbit/s"
delay = "250 ms"
queue = { kind = "drop-tail", packets = 400 }
error = { kind = "packet", probability = 0.01 }

[[flow]]
name = "down"
from = "server"
to = "user"
app = "bulk"
transport = { kind = "tcp", congestion = "reno" }

[campaign]
replications = 6
vary.flow.down.transport.congestion = ["reno", "cubic"]
vary.link.sat.delay = ["50 ms", "100 ms", "200 ms"]
"""

#: Number of runs of the whole campaign.
RUNS = 36

START = "import sys; sys.argv[0] = 'bentpipe'; from bentpipe.cli import main; main()"


def write_scenario(folder: Path, text: str = SCENARIO) -> Path:
    file = folder / "loss.toml"
    file.write_text(text)
    return file


def start(*arguments: object, folder: Path) -> subprocess.Popen[str]:
    """Starts ``bentpipe campaign`` in a separate process, below ``folder``."""
    words = [sys.executable, "-c", START, "campaign", *map(str, arguments)]
    return subprocess.Popen(
        words,
        cwd=folder,
        env=os.environ | {"COLUMNS": "80"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def call(*arguments: object, folder: Path, code: int = 0) -> str:
    """Runs ``bentpipe campaign`` to its end. Returns its output, including messages if it is
    expected to fail."""
    done = commands.run("campaign", *arguments, folder=folder, environment=os.environ | {"COLUMNS": "80"})
    assert done.returncode == code, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    return done.stdout + done.stderr if code else done.stdout


def done(store: Path) -> int:
    return len(list((store / "done").glob("*.json")))


def results(campaign: Campaign) -> pl.DataFrame:
    """Returns the results of all runs, in an order that does not depend on the workers."""
    return campaign.flows.drop("run").sort("variant", "replication")


def refused(*arguments: object) -> str:
    """Returns the message of a refused command on one line. Runs the command in this process, which
    is faster."""
    answer = CliRunner().invoke(app, ["campaign", *map(str, arguments)])
    assert answer.exit_code == 2, answer.output
    return " ".join(answer.output.split())
