"""The report in a browser: readable at both widths with 1, 25 and 1000 flows, without requests, and
with zoom."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import bentpipe as bp
import pytest
from bentpipe.report import write_report

pytest.importorskip("playwright", reason="no Playwright")

from playwright.sync_api import Browser, Page
from rigs.testbeds import browser

__all__ = ["browser"]


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[int, Path]:
    """Reports of runs with this many flows, by their number."""
    folder = tmp_path_factory.mktemp("reports")
    reports = {}
    for web, voice in ((1, 0), (15, 10), (700, 300)):
        flows = [
            {"name": "web", "count": web, "app": {"kind": "http", "object": "8 kB"}, "transport": "tcp"},
            {
                "name": "voice",
                "count": voice,
                "dscp": "ef",
                "app": {"kind": "cbr", "rate": "8 kbit/s", "datagram": "20 B"},
                "transport": "udp",
            },
        ]
        scenario = {
            "name": f"{web + voice} flows",
            "duration": "3 s",
            "preset": "dvb-rcs",
            "record": {"traces": ["transaction", "datagram"]},
            "network": {
                "sat": {
                    "terminals": [{"name": "st", "count": max(web, voice)}],
                    "forward": {"rate": "60 Mbit/s"},
                    "return": {
                        "carriers": [{"rate": "2048 kbit/s", "count": 1 + web // 15}],
                        "dama": {"scheme": {"kind": "mix", "vbdc": {"max": "512 kbit/s"}}},
                    },
                }
            },
            "flow": [flow | {"from": "st*", "to": "gw"} for flow in flows if flow["count"]],
        }
        run = bp.simulate(scenario, out=folder / str(web + voice))
        reports[web + voice] = write_report([run], run.path / "report.html")
    return reports


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("flows", [1, 25, 1000])
def test_it_reads_at_every_width_and_asks_for_nothing(
    browser: Browser, pages: dict[int, Path], flows: int, width: int
) -> None:
    page = browser.new_page(viewport={"width": width, "height": 900})
    asked, errors = [], []
    page.on("request", lambda request: asked.append(request.url))
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(pages[flows].as_uri())
    assert asked == [pages[flows].as_uri()] and errors == []
    # Only tables and figures scroll sideways, each on its own.
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert (page.get_by_role("rowheader", name="DSCP 46").count() > 0) == (flows > 1)
    # No legend overlaps the data of a panel.
    assert page.evaluate(_COVERED) == []
    page.close()


#: Names of the legends that overlap the background of a panel.
_COVERED = """[...document.querySelectorAll('g[id*="legend"]')].filter((legend) => {
  const box = legend.getBoundingClientRect();
  return [...legend.closest("svg").querySelectorAll('g[id*="axes_"]')].some((axes) => {
    const panel = axes.querySelector('g[id*="patch_"] path').getBoundingClientRect();
    return box.bottom > panel.top + 1 && box.top < panel.bottom && box.right > panel.left && box.left < panel.right;
  });
}).map((legend) => legend.id)"""


def drag(page: Page, box: Mapping[str, Any], across: tuple[float, float]) -> None:
    """Drags over a part of the width of a panel, at half its height."""
    start, end = (box["x"] + share * box["width"] for share in across)
    page.mouse.move(start, box["y"] + box["height"] / 2)
    page.mouse.down()
    page.mouse.move(end, box["y"] + box["height"] / 2)
    page.mouse.up()


def test_a_part_of_a_figure_is_enlarged_and_the_whole_comes_back(
    browser: Browser, pages: dict[int, Path]
) -> None:
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.goto(pages[25].as_uri())
    figure = page.locator("figure svg").last
    figure.scroll_into_view_if_needed()
    panel = figure.locator('g[id*="axes_1"] g[id*="patch_"] path').first
    box = panel.bounding_box()
    assert box is not None
    ticks = figure.locator('g[id*="axes_1"] text.tick')
    assert ticks.count() == 0
    drag(page, dict(box), (0.5, 0.75))
    moved = figure.locator("g[transform^='matrix(']").count()
    labels = [float(text) for text in ticks.all_text_contents()]
    # The time axis of 3 s begins at 0 s: its third quarter is from 1.5 s to 2.25 s.
    times = [label for label in labels if 1.4 < label < 2.3]
    assert moved > 0 and len(times) >= 2, labels
    panel.dblclick(force=True)
    assert ticks.count() == 0 and figure.locator("g[transform^='matrix(']").count() == 0
    page.close()


def test_fingers_enlarge_and_move_a_figure(browser: Browser, pages: dict[int, Path]) -> None:
    context = browser.new_context(viewport={"width": 1000, "height": 844}, has_touch=True)
    page = context.new_page()
    page.goto(pages[25].as_uri())
    figure = page.locator("figure").last
    whole = figure.get_by_role("button", name="Show the whole figure")
    panel = figure.locator('g[id*="axes_1"] g[id*="patch_"] path').first
    panel.scroll_into_view_if_needed()
    box = panel.bounding_box()
    assert box is not None and not whole.is_visible()
    session = context.new_cdp_session(page)

    def touch(kind: str, *shares: float) -> None:
        points = [
            {"x": box["x"] + share * box["width"], "y": box["y"] + box["height"] / 2, "id": place}
            for place, share in enumerate(shares)
        ]
        session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})
        # Moves arrive with the next frame.
        page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def times() -> list[float]:
        """Returns the labels of the time axis, which belongs to the lowest panel."""
        texts = figure.locator('text.tick[text-anchor="middle"]').all_text_contents()
        return [float(text) for text in texts]

    # Two fingers move apart to three times their distance.
    touch("touchStart", 0.3)
    touch("touchStart", 0.3, 0.5)
    for step in (0.25, 0.5, 0.75, 1.0):
        touch("touchMove", 0.3 - 0.2 * step, 0.5 + 0.2 * step)
    touch("touchEnd")
    # 0.3 and 0.5 of the axis are at 0.1 and 0.7 of the visible part.
    start, end, _ = json.loads(figure.locator("svg").get_attribute("data-axes") or "")[-1]["x"]
    assert start == 0 and 3 <= end < 3.3
    least, most = end * (0.3 - 0.1 / 3), end * (0.3 - 0.1 / 3 + 1 / 3)
    found = times()
    assert len(found) >= 3 and least <= min(found) and max(found) <= most, found
    # One finger moves it to the left by half of the visible part.
    touch("touchStart", 0.75)
    for share in (0.6, 0.4, 0.25):
        touch("touchMove", share)
    touch("touchEnd")
    least, most, moved = least + end / 6, most + end / 6, times()
    assert len(moved) >= 3 and least <= min(moved) and max(moved) <= most, moved
    whole.tap()
    assert times() == [] and not whole.is_visible()
    context.close()


def test_one_finger_scrolls_the_page_over_a_figure_that_is_whole(
    browser: Browser, pages: dict[int, Path]
) -> None:
    context = browser.new_context(viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    page = context.new_page()
    page.goto(pages[25].as_uri())
    figure = page.locator("figure svg").first
    page.evaluate("document.querySelector('figure').scrollIntoView()")
    box = figure.bounding_box()
    assert box is not None
    session = context.new_cdp_session(page)
    before = page.evaluate("scrollY")
    x, y = 150, box["y"] + 400
    for kind, moved in [
        ("touchStart", 0),
        *(("touchMove", 20 * step) for step in range(1, 11)),
        ("touchEnd", None),
    ]:
        points = [] if moved is None else [{"x": x, "y": y - moved, "id": 0}]
        session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})
        page.evaluate("new Promise((done) => requestAnimationFrame(done))")
    page.wait_for_function(f"scrollY > {before} + 100")
    assert page.locator("figure g[transform^='matrix(']").count() == 0
    context.close()
