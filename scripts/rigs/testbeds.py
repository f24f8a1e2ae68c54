"""Test beds for tests, started by the command `bentpipe serve` as users start them."""

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
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, ConsoleMessage, Page

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "python/bentpipe/testbed/static/index.html"
#: prctl(2): the signal that a process gets when its parent ends.
PR_SET_PDEATHSIG = 1
#: The command of this Python's bentpipe. Its process ends when the test's process ends for any
#: reason.
BENTPIPE = (
    sys.executable,
    "-c",
    f"import ctypes; ctypes.CDLL(None).prctl({PR_SET_PDEATHSIG}, {int(signal.SIGTERM)}); "
    "from bentpipe.cli import main; main()",
)
PASSWORD = "correct horse battery"

#: A script for the start of a page. It records the texts of the last drawn plot in `window.drawn`,
#: since plots are pixels.
DRAWN = """
window.drawn = [];
const context = CanvasRenderingContext2D.prototype, { clearRect, fillText } = context;
context.clearRect = function (...given) { window.drawn = []; return clearRect.apply(this, given); };
context.fillText = function (...given) { window.drawn.push(given[0]); return fillText.apply(this, given); };
"""

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
    """A running test bed, with the invitation of its first administrator."""

    url: str
    data: Path
    process: subprocess.Popen[str]
    invitation: str | None

    def stop(self, number: int = signal.SIGTERM) -> int:
        self.process.send_signal(number)
        return self.process.wait(30)


@contextmanager
def serving(data: Path, *more: str, port: int | None = None) -> Iterator[Served]:
    """Runs a test bed until the end of the block."""
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
        line = process.stdout.readline()
        assert f"http://127.0.0.1:{port}" in line, line
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
                process.wait()
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


@contextmanager
def chromium() -> Iterator[Browser]:
    """Starts Chromium without features that need privileges, and with a time limit for busy
    machines."""
    playwright = pytest.importorskip("playwright.sync_api", reason="no Playwright")
    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if program is None:
        pytest.skip("no Chromium")
    playwright.expect.set_options(timeout=120_000)
    # `lab.test` is a name of this machine that is not a loopback name.
    arguments = ["--host-resolver-rules=MAP lab.test 127.0.0.1"]
    arguments += ["--no-sandbox"] if os.geteuid() == 0 else []
    with playwright.sync_playwright() as running:
        found = running.chromium.launch(executable_path=program, args=arguments)
        yield found
        found.close()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Provides Chromium to the tests of a file."""
    with chromium() as found:
        yield found


class Watched:
    """A page whose test fails after a script error or an error on the console, such as a violation
    of the content security policy.

    Errors on the console that contain ``ignored`` are expected. ``options`` are those of a browser
    context.
    """

    def __init__(self, browser: Browser, address: str = "", ignored: str = "", **options: Any) -> None:
        options.setdefault("viewport", {"width": 1280, "height": 900})
        self.context = browser.new_context(**options)
        self.page = self.context.new_page()
        self.page.set_default_timeout(120_000)
        self.wrong: list[str] = []
        self.page.on("pageerror", lambda error: self.wrong.append(str(error)))

        def said(message: ConsoleMessage) -> None:
            if message.type == "error" and not (ignored and ignored in message.text):
                self.wrong.append(message.text)

        self.page.on("console", said)
        if address:
            self.page.goto(address)

    def __enter__(self) -> Page:
        return self.page

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Closes the page. Raises :class:`AssertionError` after an error."""
        self.context.close()
        assert self.wrong == [], self.wrong


@pytest.fixture(scope="module")
def bed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Provides a test bed with a built page to the tests of a file."""
    if not PAGE.is_file():
        pytest.skip("the page of the test bed is not built: make web (needs Node)")
    with serving(tmp_path_factory.mktemp("bed") / "data") as served:
        yield served


def log_in(page: Page, bed: Served) -> None:
    """Opens the test bed's page as its first administrator.

    The administrator joins by the link that the test bed has printed, or logs in if already joined.
    """
    from playwright.sync_api import expect

    page.set_default_timeout(120_000)
    invitation, bed.invitation = bed.invitation, None
    page.goto(f"{bed.url}/#/join/{invitation}" if invitation else bed.url)
    page.get_by_label("Name").fill("ada")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Create account" if invitation else "Log in").click()
    expect(page.get_by_role("heading", name="Configurations")).to_be_visible()


def scenario_text(page: Page) -> str:
    """Returns the text of the scenario in the page's editor, which renders only the visible
    lines."""
    editor = page.get_by_label("Scenario", exact=True)
    text: str = editor.evaluate("one => one.cmTile.view.state.doc.toString()")
    return text


def expect_scenario(page: Page, expected: str | re.Pattern[str]) -> None:
    """Waits until the text in the page's editor equals a text, or contains a match of a pattern."""

    def fits() -> bool:
        text = scenario_text(page)
        return text == expected if isinstance(expected, str) else bool(expected.search(text))

    until(fits)


def create(page: Page, bed: Served, template: str) -> None:
    """Creates a configuration from a template on the first view, and opens the configuration."""
    page.goto(f"{bed.url}/#/")
    if template == "blank":
        page.get_by_role("button", name="New blank").click()
    else:
        listed = page.request.get(f"{bed.url}/api/templates").json()
        (title,) = (one["title"] for one in listed if one["name"] == template)
        page.get_by_label("Search configurations and templates").fill(template)
        page.get_by_role("button", name=f"Use template {title}", exact=True).click()
    page.wait_for_url(re.compile("#/configuration/"))


def until(condition: Any, seconds: float = 120.0) -> Any:
    """Waits until ``condition()`` returns a true value, and returns the value; fails after so many
    seconds."""
    end = time.monotonic() + seconds
    while True:
        found = condition()
        if found:
            return found
        assert time.monotonic() < end, f"the condition did not become true within {seconds} s"
        time.sleep(0.1)
