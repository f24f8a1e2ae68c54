"""The site: built without warnings, self-contained, and readable on a wide and on a narrow
screen. The same holds for the plain pages of a clone without the site."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest
from bentpipe import documentation
from helpers import ROOT
from rigs import commands
from rigs.testbeds import browser

__all__ = ["browser"]

SITE = ROOT / "python/bentpipe/site"

#: Pages that are opened in a browser, one of each kind.
SEEN = (
    "index",
    "tutorial",
    "gallery",
    "gallery/web-page",
    "concepts/dama",
    "how-to/install",
    "signals",
    "studies",
    "performance",
    "performance/simulation",
    "reference/scenario/transport",
    "reference/results/reports",
    "reference/command-line/describe-a-network",
)


@pytest.fixture(scope="module")
def site() -> Path:
    """The site, built if a page or the engine has changed."""
    built = subprocess.run([ROOT / "scripts/docs"], capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stdout + built.stderr
    return SITE


@pytest.fixture(params=["site", "plain"])
def built(request: pytest.FixtureRequest) -> Path:
    """The site, and the plain pages that `bentpipe docs` renders in a clone without the site."""
    return request.getfixturevalue("site") if request.param == "site" else documentation.render(ROOT)


class Links(HTMLParser):
    """The files that a page loads, its links, and its anchors."""

    def __init__(self, file: Path) -> None:
        super().__init__()
        self.loads: list[str] = []
        self.links: list[str] = []
        self.places: set[str] = set()
        self.feed(file.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name in ("id", "name") and value:
                self.places.add(value)
            elif name == "src" or (name == "href" and tag == "link"):
                self.loads.append(value or "")
            elif name == "href":
                self.links.append(value or "")


def test_every_link_has_an_end_and_nothing_is_loaded_from_elsewhere(built: Path) -> None:
    pages = {file.resolve(): Links(file) for file in built.rglob("*.html")}
    assert len(pages) > 100
    wrong = []
    for file, page in pages.items():
        for target in [*page.loads, *page.links]:
            parts = urlsplit(target)
            if parts.scheme in ("http", "https", "mailto") and target in page.links:
                continue
            if parts.scheme == "data":
                continue
            if parts.scheme or parts.netloc:
                wrong.append(f"{file.relative_to(built)} loads {target}")
                continue
            end = (file.parent / unquote(parts.path)).resolve() if parts.path else file
            if not end.is_file():
                wrong.append(f"{file.relative_to(built)} links to {target}, which is no file")
            elif parts.fragment and end in pages and unquote(parts.fragment) not in pages[end].places:
                wrong.append(f"{file.relative_to(built)} links to {target}, whose place is missing")
    assert not wrong, "\n".join(sorted(set(wrong)))
    for sheet in built.rglob("*.css"):
        found = re.findall(r"url\(\s*['\"]?(?:https?:)?//|@import", sheet.read_text(encoding="utf-8"))
        assert not found, f"{sheet.name} loads something from elsewhere"


def test_every_page_of_the_folder_is_in_the_site(built: Path) -> None:
    pages = [*(ROOT / "docs").rglob("*.md"), *(ROOT / "studies").glob("*/README.md")]
    missing = [page for page in pages if not (built / page.relative_to(ROOT)).with_suffix(".html").is_file()]
    assert not missing


def test_the_command_prints_where_a_page_is(site: Path) -> None:
    def docs(*words: str) -> subprocess.CompletedProcess[str]:
        return commands.run("docs", *words)

    address = docs("--print", "reference/presets").stdout.strip()
    assert Path(unquote(urlsplit(address).path)) == site / "docs/reference/presets.html"
    refused = docs("--print", "tutoral")
    assert refused.returncode == 2 and 'did you mean "tutorial"' in refused.stderr


def test_the_command_renders_the_pages_of_a_clone_without_the_site(tmp_path: Path) -> None:
    """The clone has links to the sources of this one."""
    for name in (
        "docs",
        "studies",
        "python",
        "README.md",
        "ARCHITECTURE.md",
        "CHANGELOG.md",
        "CONTRIBUTING.md",
    ):
        (tmp_path / name).symlink_to(ROOT / name)
    (tmp_path / "python").unlink()
    shutil.copytree(ROOT / "python", tmp_path / "python", ignore=shutil.ignore_patterns("site", "static"))
    environment = {**os.environ, "PYTHONPATH": str(tmp_path / "python")}
    printed = subprocess.run(
        [
            sys.executable,
            "-c",
            "from bentpipe.cli import main; main()",
            "docs",
            "--print",
            "gallery/web-page",
        ],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()
    page = Path(unquote(urlsplit(printed).path))
    assert page == tmp_path / "build/pages/docs/gallery/web-page.html"
    assert "<h1" in page.read_text() and "pictures/gallery/web-page.png" in page.read_text()


def test_plain_pages_are_rendered_again_when_they_change(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    page, html = tmp_path / "docs/index.md", tmp_path / "build/pages/docs/index.html"
    page.write_text(
        "# One\n\n[Two](two.md#three-and-four) and ![a picture](pictures/a.png)\n\n## Three and `four`\n"
    )
    assert documentation.render(tmp_path) == tmp_path / "build/pages"
    text = html.read_text()
    assert 'href="two.html#three-and-four"' in text and 'id="three-and-four"' in text
    assert 'src="../../../docs/pictures/a.png"' in text and "<title>One - bentpipe</title>" in text
    os.utime(html, (time.time() + 60,) * 2)
    documentation.render(tmp_path)
    assert html.stat().st_mtime > time.time() + 30
    page.write_text("# Other\n")
    os.utime(page, (time.time() + 90,) * 2)
    documentation.render(tmp_path)
    assert "Other" in html.read_text()


@pytest.mark.parametrize("width", [1280, 390])
def test_pages_fit_the_screen_and_make_no_request(built: Path, browser: Any, width: int) -> None:
    context = browser.new_context(viewport={"width": width, "height": 900}, offline=True)
    page = context.new_page()
    asked: list[str] = []
    errors: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.on("pageerror", lambda error: errors.append(str(error)))
    for name in SEEN:
        page.goto((built / "docs" / f"{name}.html").as_uri())
        assert page.evaluate("document.documentElement.scrollWidth") <= width, name
        broken = "[...document.images].filter(one => one.complete && one.naturalWidth === 0).length"
        assert page.evaluate(broken) == 0, name
    context.close()
    assert not errors
    assert [url for url in asked if not url.startswith(("file:", "data:"))] == []


def test_the_search_finds_a_page_from_a_file(site: Path, browser: Any) -> None:
    page = browser.new_page()
    page.goto((site / "search.html").as_uri() + "?q=hybla")
    found = page.locator("#search-results li a").first
    found.wait_for(timeout=30_000)
    assert "hybla" in page.locator("#search-results").inner_text().lower()
    page.close()
