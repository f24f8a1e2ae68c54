"""The interactive figures of the manual, in Chromium, as readers operate them."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import bentpipe as bp
import pytest
from helpers import ROOT
from manual import tries
from rigs import sites
from rigs.testbeds import Watched, browser

pytest.importorskip("playwright", reason="no Playwright")

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Locator, expect

__all__ = ["browser"]

pytestmark = [
    pytest.mark.module,
    pytest.mark.skipif(
        not (sites.SCRIPTS / "engine.js").exists(),
        reason="the script of the site is not built: scripts/wasm --build, then scripts/web site (needs npm)",
    ),
]

GALLERY = sorted(file for file in (ROOT / "docs" / "gallery").glob("*.md"))
PAGES = [
    *GALLERY,
    ROOT / "docs/tutorial.md",
    ROOT / "docs/concepts/dama.md",
    ROOT / "docs/concepts/windows.md",
]
QUEUE = ROOT / "docs" / "gallery" / "queue-length.md"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of one gallery scenario, without the rest of the site."""
    place = tmp_path_factory.mktemp("pages") / "queue"
    sites.write(place, sites.specs(QUEUE))
    return place


@pytest.fixture(scope="module", params=["file", "http"])
def address(request: pytest.FixtureRequest, folder: Path) -> Iterator[str]:
    """The page's address from a file and over HTTP."""
    if request.param == "file":
        yield (folder / "page.html").as_uri()
        return

    with sites.served(folder) as url:
        yield f"{url}/page.html"


def sentence_of(kilobytes: float, congestion: str) -> re.Pattern[str]:
    """The sentence of the page for these settings, from the native engine."""
    spec = next(iter(sites.specs(QUEUE).values()))
    changes = [
        f"link.sat.return.queue.bytes={kilobytes:g} kB",
        f"flow.upload.transport.congestion={congestion}",
    ]
    file = Path(spec["name"])
    file.write_text(spec["toml"])
    goodput = bp.simulate(file, overrides=changes).flows["goodput"][0]
    return re.compile(re.escape(f"delivers {float(f'{goodput / 1e6:.3g}'):g} Mbit/s"))


def answered(block: Locator) -> None:
    """Waits until a block shows the results of its settings."""
    expect(block).to_have_attribute("aria-busy", "false")


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_page_answers(page: Path, browser: Browser, tmp_path: Path) -> None:
    """Each block answers with its sentence, first with the page's settings, then after a move of
    each control to its end."""
    found = sites.specs(page)
    assert found
    with Watched(browser, sites.write(tmp_path / page.stem, found).as_uri()) as opened:
        for title, spec in found.items():
            block = opened.get_by_role("group", name=title)
            block.get_by_role("button", name="Run in this page").click()
            for control in [None, *spec["controls"]]:
                if control is not None and control["kind"] == "slider":
                    block.get_by_label(control["label"], exact=True).press("End")
                elif control is not None:
                    last = control["positions"][-1]["label"]
                    block.get_by_label(control["label"], exact=True).select_option(last)
                answered(block)
                expect(block.locator(".try-message")).to_be_hidden()
                expect(block.locator(".try-sentence span")).to_have_count(max(1, len(spec["each"])))
            assert block.locator("canvas, .try-bar").count() >= len(spec["figures"])


def test_keyboard(address: str, browser: Browser) -> None:
    """A reader reaches the controls by the tab key, changes them by arrow keys, and hears the
    sentence."""
    with Watched(browser, address) as page:
        page.keyboard.press("Tab")
        slider = page.get_by_label("Queue of the modem")
        expect(slider).to_be_focused()
        expect(slider).to_have_attribute("aria-valuetext", "350 kB")
        page.keyboard.press("Home")
        expect(slider).to_have_attribute("aria-valuetext", "20 kB")
        expect(page.locator(".try-sentence")).to_have_text(sentence_of(20, "reno"))
        page.keyboard.press("Tab")
        page.keyboard.press("ArrowDown")
        expect(page.get_by_label("Congestion control")).to_have_value("1")
        expect(page.locator(".try-sentence")).to_have_text(sentence_of(20, "cubic"))
        expect(page.get_by_role("status")).to_have_text(sentence_of(20, "cubic"))


def test_dragging_redraws_and_ends_with_the_last_value(address: str, browser: Browser) -> None:
    with Watched(browser, address) as page:
        slider = page.get_by_label("Queue of the modem")
        box = slider.bounding_box()
        assert box is not None
        y = box["y"] + box["height"] / 2
        sentence = page.locator(".try-sentence")
        page.mouse.move(box["x"] + box["width"] / 2, y)
        page.mouse.down()
        seen = set()
        # The pointer stays down; each new sentence is a drawing during the drag.
        for step in range(1, 4):
            page.mouse.move(box["x"] + box["width"] * (0.5 - step / 8), y, steps=5)
            answered(page.locator(".try"))
            expect(sentence).not_to_have_text("")
            seen.add(sentence.inner_text())
        assert len(seen) == 3
        page.mouse.move(box["x"] + 1, y, steps=10)
        page.mouse.up()
        expect(slider).to_have_attribute("aria-valuetext", "20 kB")
        expect(sentence).to_have_text(sentence_of(20, "reno"))


def test_moves_during_the_load_of_the_engine(folder: Path, browser: Browser) -> None:
    """The first answer is that of the last move, also if the moves precede the engine."""
    with Watched(browser, (folder / "page.html").as_uri()) as page:
        page.get_by_label("Queue of the modem").evaluate(
            """async (slider) => {
                for (let position = 10; position <= 20; position++) {
                    slider.value = String(position);
                    slider.dispatchEvent(new Event("input", { bubbles: true }));
                    await new Promise((resolve) => setTimeout(resolve, 5));
                }
            }"""
        )
        answered(page.locator(".try"))
        size = page.get_by_label("Queue of the modem").get_attribute("aria-valuetext")
        assert size is not None
        expect(page.locator(".try-sentence")).to_have_text(sentence_of(float(size.split()[0]), "reno"))


def test_a_long_run_is_cancelled_by_a_move(browser: Browser, tmp_path: Path) -> None:
    """The first run would take a minute; the answer of the second appears without it."""
    (title, spec), *_ = sites.specs(QUEUE).items()
    slow = spec["toml"].replace('"60 s"', '"4000 s"')
    choices = [
        {"label": "long", "number": None, "overrides": []},
        {"label": "short", "number": None, "overrides": ["duration=60 s"]},
    ]
    spec = {**spec, "toml": slow, "traces": [], "controls": [{**spec["controls"][1], "positions": choices}]}
    with Watched(browser, sites.write(tmp_path / "page", {title: spec}).as_uri()) as page:
        page.get_by_role("button", name="Run in this page").click()
        page.wait_for_timeout(1500)
        page.get_by_label("Congestion control").select_option("short")
        expect(page.locator(".try-sentence")).to_have_text(sentence_of(350, "reno"))


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("colours", ["light", "dark"])
def test_accessibility_and_width(browser: Browser, tmp_path: Path, width: int, colours: Any) -> None:
    """In the site's theme axe has no finding in a block, and nothing is wider than the screen."""
    site = built(tmp_path, "dama-schemes.md", "split-proxy.md")
    options = {"viewport": {"width": width, "height": 900}, "color_scheme": colours}
    for name in ("dama-schemes", "split-proxy"):
        with Watched(browser, (site / f"{name}.html").as_uri(), **options) as page:
            block = page.locator(".try")
            block.get_by_role("button", name="Run in this page").click()
            answered(block)
            # Preloading style sheets would need XMLHttpRequest, which files do not allow.
            found = Axe().run(page, context=".try", options={"preload": False}).response["violations"]
            assert [(one["id"], one["nodes"][0]["html"]) for one in found] == []
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_memory_after_a_hundred_drags(folder: Path, browser: Browser) -> None:
    with Watched(browser, (folder / "page.html").as_uri()) as page:
        slider = page.get_by_label("Queue of the modem")
        for drag in range(100):
            slider.evaluate(
                """(slider, drag) => {
                    for (let step = 0; step < 10; step++) {
                        slider.value = String((drag * 7 + step * 3) % Number(slider.max));
                        slider.dispatchEvent(new Event("input", { bubbles: true }));
                    }
                }""",
                drag,
            )
            answered(page.locator(".try"))
        assert sites.private_bytes(browser) < 200e6


def test_a_trap_leaves_a_working_page(browser: Browser, tmp_path: Path) -> None:
    module = sites.module(sites.TRAP, "index out of bounds")
    file = sites.write(tmp_path / "page", sites.specs(QUEUE), module)
    with Watched(browser, file.as_uri()) as page:
        page.get_by_role("button", name="Run in this page").click()
        message = page.locator(".try-message")
        expect(message).to_have_text(re.compile("The run failed: index out of bounds"))
        expect(page.get_by_role("status")).to_have_text(re.compile("index out of bounds"))
        # The next move runs in another instance.
        message.evaluate("message => message.textContent = ''")
        page.get_by_label("Queue of the modem").press("ArrowRight")
        expect(message).to_have_text(re.compile("index out of bounds"))


def test_a_run_that_never_returns_leaves_a_working_page(browser: Browser, tmp_path: Path) -> None:
    file = sites.write(tmp_path / "page", sites.specs(QUEUE), sites.module(sites.LOOP, ""))
    with Watched(browser, file.as_uri()) as page:
        page.get_by_role("button", name="Run in this page").click()
        message = page.locator(".try-message")
        expect(message).to_have_text(re.compile("did not respond"))
        message.evaluate("message => message.textContent = ''")
        page.get_by_label("Queue of the modem").press("ArrowRight")
        expect(message).to_have_text(re.compile("did not respond"))


def test_an_exhausted_memory_leaves_a_working_page(browser: Browser, tmp_path: Path) -> None:
    file = sites.write(tmp_path / "page", sites.specs(QUEUE), sites.module(sites.EXHAUST, ""))
    with Watched(browser, file.as_uri()) as page:
        page.get_by_role("button", name="Run in this page").click()
        message = page.locator(".try-message")
        expect(message).to_have_text(re.compile("needs too much memory"))
        message.evaluate("message => message.textContent = ''")
        page.get_by_label("Queue of the modem").press("ArrowRight")
        expect(message).to_have_text(re.compile("needs too much memory"))


def test_too_many_events_are_declined(browser: Browser, tmp_path: Path) -> None:
    (title, spec), *_ = sites.specs(QUEUE).items()
    spec = {**spec, "toml": spec["toml"].replace('"60 s"', '"20000 s"'), "traces": []}
    with Watched(browser, sites.write(tmp_path / "page", {title: spec}).as_uri()) as page:
        page.get_by_role("button", name="Run in this page").click()
        expect(page.locator(".try-message")).to_have_text(re.compile(r"needs about \d+ million events"))


def test_a_refused_setting_names_its_key(browser: Browser, tmp_path: Path) -> None:
    (title, spec), *_ = sites.specs(QUEUE).items()
    places = tries.positions([350, -1], "kB", ["link.sat.return.queue.bytes"])
    slider = {**spec["controls"][0], "positions": places, "start": 0}
    spec = {**spec, "controls": [slider]}
    with Watched(browser, sites.write(tmp_path / "page", {title: spec}).as_uri()) as page:
        page.get_by_label("Queue of the modem").press("End")
        expect(page.locator(".try-message")).to_have_text(re.compile(r"link\.sat\.return\.queue\.bytes"))
        page.get_by_label("Queue of the modem").press("Home")
        expect(page.locator(".try-sentence")).to_have_text(sentence_of(350, "reno"))
        expect(page.locator(".try-message")).to_be_hidden()


CONF = f"""import sys
sys.path.insert(0, {str(ROOT / "scripts")!r})
extensions = ["myst_nb", "manual.extension"]
html_theme = "furo"
has_site_script = {{script}}
html_static_path = [{str(sites.SCRIPTS)!r}] if has_site_script else []
"""


def without_pictures(page: str) -> str:
    return re.sub(r"!\[[^]]*\]\([^)]*\)\n", "", page)


def built(folder: Path, *pages: str, script: bool = True, status: int = 0) -> Path:
    """Builds a site of pages of the gallery, without their static figures."""
    source = folder / "source"
    source.mkdir()
    (source / "conf.py").write_text(CONF.format(script=script))
    (source / "index.md").write_text("# Index\n\n```{toctree}\n" + "\n".join(pages) + "\n```\n")
    for name in pages:
        text = (ROOT / "docs" / "gallery" / name).read_text() if "\n" not in name else name
        (source / name).write_text(without_pictures(text))
    assert sphinx(source, folder / "site").returncode == status
    return folder / "site"


def sphinx(source: Path, site: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "sphinx", "--quiet", "--builder", "html", "--doctree-dir"]
    return subprocess.run(
        [*command, str(site.parent / "doctrees"), str(source), str(site)],
        capture_output=True,
        text=True,
        check=False,
    )


def test_without_the_script_pages_show_no_block(browser: Browser, tmp_path: Path) -> None:
    site = built(tmp_path, "queue-length.md", script=False)
    with Watched(browser, (site / "queue-length.html").as_uri()) as page:
        expect(page.locator(".try")).to_be_hidden()
        assert page.locator("script[src*='try.js']").count() == 0
        expect(page.get_by_text("350 kB").first).to_be_visible()


def test_only_pages_with_blocks_load_the_script(tmp_path: Path) -> None:
    site = built(tmp_path, "queue-length.md")
    assert "try.js" in (site / "queue-length.html").read_text()
    assert "try.js" not in (site / "index.html").read_text()
