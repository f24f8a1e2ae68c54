"""A test bed for tests: started by its command, as a user does."""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "python/bentpipe/testbed/static/index.html"
#: The command line of this Python.
BENTPIPE = (sys.executable, "-c", "from bentpipe.cli import main; main()")
PASSWORD = "correct horse battery"

SMALL = """name = "Small"
duration = "20 s"
preset = "geo"

[[flow]]
name = "up"
from = "user"
to = "server"
app = "bulk"                     # without end
transport = { kind = "tcp", congestion = "reno" }
"""


@dataclass
class Served:
    """A running test bed."""

    url: str
    data: Path
    process: subprocess.Popen[str]
    invitation: str | None

    def stop(self, how: int = signal.SIGTERM) -> int:
        self.process.send_signal(how)
        return self.process.wait(30)


@contextmanager
def serving(data: Path, *more: str, port: int | None = None) -> Iterator[Served]:
    """Context manager: a test bed until the end of the block."""
    port = port or free_port()
    process = subprocess.Popen(
        [
            *BENTPIPE,
            "serve",
            *("--data", str(data), "--port", str(port), *more),
        ],
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    )
    try:
        assert process.stdout is not None
        said = process.stdout.readline()
        assert f"http://127.0.0.1:{port}" in said, said
        invitation = None
        with_link = (data / "testbed.sqlite").exists() and _without_administrator(data)
        if with_link:
            process.stdout.readline()
            found = re.search(r"/#/join/(\S+)", process.stdout.readline())
            invitation = found[1] if found else None
        yield Served(f"http://127.0.0.1:{port}", data, process, invitation)
    finally:
        if process.poll() is None:
            process.terminate()
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
        assert process.stdout is not None
        process.stdout.close()


def _without_administrator(data: Path) -> bool:
    import sqlite3

    with sqlite3.connect(data / "testbed.sqlite") as rows:
        found: int = rows.execute("select count(*) from account where level = 'administrator'").fetchone()[0]
    return found == 0


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port


def browser_or_skip() -> str:
    """Returns the path of Chromium. Skips the test, with the reason, if it or the built page is missing."""
    found = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if found is None:
        pytest.skip("no Chromium")
    if not PAGE.is_file():
        pytest.skip("the page of the test bed is not built: make web (needs Node)")
    return found


def launched(playwright: Any, program: str) -> Any:
    """Returns a browser without what needs privileges."""
    arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
    return playwright.chromium.launch(executable_path=program, args=arguments)


def until(what: Any, seconds: float = 120.0) -> Any:
    """Returns the first true value of ``what()``; fails after so many seconds."""
    end = time.monotonic() + seconds
    while True:
        found = what()
        if found:
            return found
        assert time.monotonic() < end, f"not within {seconds} s"
        time.sleep(0.1)
