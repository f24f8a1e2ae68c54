"""Bundle agents as processes on loopback."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from rigs import commands

BENTPIPE = (sys.executable, "-c", "from bentpipe.cli import main; main()")


@contextmanager
def agent(node: str, folder: Path, *options: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Runs an agent; yields its process and its listening address."""
    command = [*BENTPIPE, "dtn", "agent", node, "--storage", str(folder), "--json", *options]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        line = process.stdout.readline()
        yield process, json.loads(line)["listening"][0]
    finally:
        process.kill()
        process.wait(20)
        process.stdout.close()


def counts(process: subprocess.Popen[str]) -> dict[str, int]:
    """Terminates an agent and returns its counts."""
    process.send_signal(signal.SIGTERM)
    out, _ = process.communicate(timeout=20)
    found: dict[str, int] = json.loads(out)
    return found


def wait_for(done: Callable[[], bool]) -> None:
    end = time.monotonic() + 30
    while not done():
        assert time.monotonic() < end, "it did not happen in 30 s"
        time.sleep(0.05)


def send(*options: str) -> str:
    result = commands.run("dtn", "send", *options, limit_s=60)
    assert result.returncode == 0, result.stderr
    return result.stdout
