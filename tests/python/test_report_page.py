"""The report in a browser: it reads at both widths with 1, 25 and 1000 flows, asks for nothing, and can be enlarged."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import bentpipe as bp
import pytest
from bentpipe.report import write_report

pytest.importorskip("playwright", reason="no Playwright")

from playwright.sync_api import Browser, Page, sync_playwright
from testbeds import browser_or_skip, launched


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        found: Any = launched(playwright, browser_or_skip())
        yield found
        found.close()


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
    # Only tables and figures scroll sideways, each in itself.
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert (page.get_by_role("rowheader", name="DSCP 46").count() > 0) == (flows > 1)
    # No legend lies over the data of a panel.
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
