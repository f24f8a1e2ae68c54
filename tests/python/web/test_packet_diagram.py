"""The space-time diagram of packets in Chromium, as readers operate it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from helpers import ROOT
from rigs import sites
from rigs.testbeds import Watched, browser

pytest.importorskip("playwright", reason="no Playwright")

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Locator, Page, expect

__all__ = ["browser"]

pytestmark = [
    pytest.mark.module,
    pytest.mark.skipif(
        not (sites.SCRIPTS / "engine.js").exists(),
        reason="the script of the site is not built: scripts/wasm --build, then scripts/web site (needs npm)",
    ),
]

GEO = ROOT / "docs" / "gallery" / "initial-window.md"
DAMA = ROOT / "docs" / "concepts" / "dama.md"

#: A script for the start of a page. It records the texts of the last drawn diagram in
#: `window.drawn`.
DRAWN = """
window.drawn = [];
const context = CanvasRenderingContext2D.prototype, { clearRect, fillText } = context;
const isDiagram = (canvas) => canvas.className === "packets-canvas";
context.clearRect = function (...given) {
    if (isDiagram(this.canvas)) window.drawn = [];
    return clearRect.apply(this, given);
};
context.fillText = function (...given) {
    if (isDiagram(this.canvas)) window.drawn.push(given[0]);
    return fillText.apply(this, given);
};
"""


@contextmanager
def diagram(browser: Browser, page: Path, folder: Path, **options: Any) -> Iterator[tuple[Page, Locator]]:
    """Opens the interactive figure of packets of a page of the manual, and runs it."""
    found = {title: spec for title, spec in sites.specs(page).items() if spec["capture"]}
    assert len(found) == 1
    with Watched(browser, **options) as opened:
        opened.add_init_script(DRAWN)
        opened.goto(sites.write(folder / "page", found).as_uri())
        block = opened.locator(".try")
        block.get_by_role("button", name="Run in this page").click()
        expect(block).to_have_attribute("aria-busy", "false")
        yield opened, block.locator(".packets")


def drawn(page: Page) -> list[str]:
    texts: list[str] = page.evaluate("window.drawn")
    return texts


def seek(found: Locator, seconds: float) -> None:
    found.get_by_label("Time", exact=True).evaluate(
        """(slider, time) => {
            slider.value = String(time);
            slider.dispatchEvent(new Event("input", { bubbles: true }));
        }""",
        round(seconds * 1e9),
    )


def seconds(found: Locator) -> float:
    text = found.get_by_label("Time", exact=True).get_attribute("aria-valuetext")
    assert text is not None
    return float(text.removesuffix(" s"))


def test_playing_and_scrubbing(browser: Browser, tmp_path: Path) -> None:
    with diagram(browser, GEO, tmp_path) as (page, found):
        sentence = found.locator(".packets-sentence")
        # The first view shows the start of the flow; the sentence describes the whole flow.
        expect(sentence).to_have_text(
            re.compile(r"From 0\.00 s to 3\.65 s: 206 segments and \d+ acknowledgments, no losses\.")
        )
        assert {"server", "user", "SYN", "10 segments: 1 – 14600"} <= set(drawn(page))
        found.get_by_role("button", name="Play").click()
        expect(sentence).to_have_text(re.compile(r"^At 0\.[1-9]\d s: 1 acknowledgment travels"))
        found.get_by_role("button", name="Pause").click()
        paused = seconds(found)
        page.wait_for_timeout(300)
        assert seconds(found) == paused < 2
        seek(found, 0.7)
        expect(sentence).to_have_text("At 0.70 s: 10 segments and 1 acknowledgment travel; no losses so far.")
        # The sentence is announced after a pause.
        expect(found.get_by_role("status")).to_have_text(sentence.inner_text())
        seek(found, 1.0)
        expect(sentence).to_have_text("At 1.00 s: 10 acknowledgments travel; no losses so far.")
        # Labels of the future are not written.
        assert "20 segments: 14601 – 43800" not in drawn(page)
        seek(found, 3.6)
        expect(sentence).to_have_text("At 3.60 s: 1 acknowledgment travels; no losses so far.")
        # Playing ends at the end of the flow, and starts again.
        found.get_by_label("Speed", exact=True).select_option("real time")
        found.get_by_role("button", name="Play").click()
        expect(found.get_by_role("button", name="Play")).to_be_visible()
        assert seconds(found) == pytest.approx(3.65, abs=0.01)
        found.get_by_role("button", name="Play").click()
        expect(sentence).to_have_text(re.compile(r"^At 0\."))


def test_keyboard(browser: Browser, tmp_path: Path) -> None:
    with diagram(browser, GEO, tmp_path) as (page, found):
        found.get_by_role("button", name="Play").focus()
        page.keyboard.press("Tab")
        slider = found.get_by_label("Time", exact=True)
        expect(slider).to_be_focused()
        page.keyboard.press("ArrowRight")
        step = seconds(found)
        assert 0 < step < 0.1
        page.keyboard.press("ArrowRight")
        assert seconds(found) == pytest.approx(2 * step)
        page.keyboard.press("ArrowLeft")
        assert seconds(found) == pytest.approx(step)
        page.keyboard.press("Space")
        expect(found.get_by_role("button", name="Pause")).to_be_visible()
        page.keyboard.press("Space")
        expect(found.get_by_role("button", name="Play")).to_be_visible()
        page.keyboard.press("End")
        assert seconds(found) == pytest.approx(3.65, abs=0.01)
        page.keyboard.press("Home")
        for _ in range(6):
            page.keyboard.press("+")
        assert drawn(page)[1] == "0.02 s"
        for _ in range(12):
            page.keyboard.press("-")
        assert drawn(page)[1] == "0.5 s"
        # The details of the first two packets, which are announced.
        page.keyboard.press("n")
        expect(found.locator(".packets-details strong")).to_have_text("Connection set-up")
        page.keyboard.press("n")
        page.keyboard.press("n")
        expect(found.locator(".packets-details strong")).to_have_text("Acknowledgment of the set-up")
        expect(found.get_by_role("status")).to_have_text(
            re.compile(r"^Acknowledgment of the set-up\. .*server: 0\.560")
        )
        page.keyboard.press("Escape")
        expect(found.locator(".packets-details")).to_be_hidden()


def test_the_pointer_shows_details_and_drags_the_time(browser: Browser, tmp_path: Path) -> None:
    with diagram(browser, GEO, tmp_path) as (page, found):
        canvas = found.locator("canvas")
        box = canvas.bounding_box()
        assert box is not None
        details = found.locator(".packets-details")
        # The line of the first packet begins below the name of the server.
        x, y = box["x"] + 0.35 * box["width"], box["y"]
        for step in range(30, 140, 4):
            page.mouse.move(x, y + step)
            if details.is_visible():
                break
        expect(details.locator("strong")).to_have_text("Connection set-up")
        expect(details).to_contain_text("server: 0.0000 s")
        expect(details).to_contain_text("user: 0.2800 s")
        page.mouse.move(box["x"] + 2, y + 2)
        expect(details).to_be_hidden()
        seek(found, 2.0)
        page.mouse.move(x, y + 300)
        page.mouse.down()
        page.mouse.move(x, y + 200, steps=5)
        page.mouse.up()
        assert 2.1 < seconds(found) < 2.6


def test_requests_plans_and_waits_of_a_terminal(browser: Browser, tmp_path: Path) -> None:
    with diagram(browser, DAMA, tmp_path) as (page, found):
        for text in ("capacity request", "burst time plan", "wait for a slot", "start of a superframe"):
            expect(found.get_by_text(text, exact=True)).to_be_visible()
        assert {"request: 20 slots", "plan: 20 slots"} <= set(drawn(page))
        seek(found, 1.0)
        expect(found.locator(".packets-sentence")).to_have_text(
            "At 1.00 s: 1 segment and 1 acknowledgment travel, 8 packets wait at st1; no losses so far."
        )
        # Constant slots need no request.
        block = page.locator(".try")
        block.get_by_label("Requests").select_option("CRA")
        expect(block).to_have_attribute("aria-busy", "false")
        expect(found.get_by_text("capacity request", exact=True)).to_be_hidden()
        assert seconds(found) == pytest.approx(1.0, abs=0.05)


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("colours", ["light", "dark"])
def test_accessibility_and_width(browser: Browser, tmp_path: Path, width: int, colours: Any) -> None:
    """Axe has no finding in the diagram, before and while playing, and nothing is wider than the
    screen."""
    options = {"viewport": {"width": width, "height": 900}, "color_scheme": colours}
    with diagram(browser, DAMA, tmp_path, **options) as (page, found):
        page.evaluate(
            "dark => document.body.style.cssText = dark ? 'background: #131416; color: #cfd0d0' : ''",
            colours == "dark",
        )
        for _ in range(2):
            result = Axe().run(page, context=".packets", options={"preload": False}).response["violations"]
            assert [(one["id"], one["nodes"][0]["html"]) for one in result] == []
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
            found.get_by_role("button", name=re.compile("Play|Pause")).click()


def test_reduced_motion_plays_in_steps(browser: Browser, tmp_path: Path) -> None:
    with diagram(browser, GEO, tmp_path, reduced_motion="reduce") as (page, found):
        found.get_by_role("button", name="Play").click()
        times: list[str] = page.evaluate(
            """async () => {
                const slider = document.querySelector(".packets-scrub");
                const seen = new Set();
                for (const end = performance.now() + 2500; performance.now() < end; ) {
                    seen.add(slider.ariaValueText);
                    await new Promise(requestAnimationFrame);
                }
                return [...seen];
            }"""
        )
        assert 2 <= len(times) <= 4


def test_twenty_thousand_packets_are_drawn(browser: Browser, tmp_path: Path) -> None:
    """Each position of the slider has a picture of its own, also with all packets in view."""
    ((title, spec),) = ((title, spec) for title, spec in sites.specs(GEO).items() if spec["capture"])
    large = spec["toml"].replace('size = "300 kB"', 'size = "15 MB"').replace('"8 s"', '"20 s"')
    control = {**spec["controls"][0], "name": "window"}
    spec = {**spec, "toml": large, "controls": [control]}
    with Watched(browser, sites.write(tmp_path / "page", {title: spec}).as_uri()) as page:
        page.get_by_role("button", name="Run in this page").click()
        expect(page.locator(".packets-sentence")).to_have_text(re.compile(r"1\d{4} segments"))
        wider = page.get_by_role("button", name="Show more time")
        for _ in range(12):
            wider.click()
        pictures = page.evaluate(
            """() => {
                const slider = document.querySelector(".packets-scrub");
                const canvas = document.querySelector(".packets-canvas");
                const pictures = new Set();
                for (let step = 1; step <= 5; step++) {
                    slider.value = String(step * Number(slider.max) / 5);
                    slider.dispatchEvent(new Event("input"));
                    pictures.add(canvas.toDataURL());
                }
                return pictures.size;
            }"""
        )
        assert pictures == 5
