"""The timeline of runs on the page, in Chromium: panels, marks, zoom, files and comparisons."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from rigs.testbeds import SMALL, Served, Watched, bed, browser, log_in, until

pytest.importorskip("playwright", reason="no Playwright")
pytest.importorskip("fastapi", reason="bentpipe[testbed] is not installed")

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect

__all__ = ["bed", "browser"]

#: A rate that falls at 8 s, so that the queue overflows.
FALLING = SMALL + '\n[[change]]\nat = "8 s"\nset.link.sat.rate = "1 Mbit/s"\n'


@pytest.fixture(scope="module")
def ada(bed: Served, browser: Browser) -> Iterator[Page]:
    """The first administrator, logged in by the link of the console."""
    watched = Watched(browser, ignored="Failed to load resource", accept_downloads=True)
    log_in(watched.page, bed)
    yield watched.page
    watched.close()


@pytest.fixture(scope="module")
def runs(bed: Served, ada: Page) -> list[str]:
    """Two runs that have ended: by Reno and by CUBIC."""
    found = []
    for name in ("reno", "cubic"):
        given = {"text": FALLING.replace('"reno"', f'"{name}"'), "name": name}
        answer = ada.request.post(f"{bed.url}/api/runs", data=given, headers={"Origin": bed.url})
        found.append(answer.json()[0]["id"])
    for run in found:
        until(lambda run=run: get(ada, bed, f"/runs/{run}")["state"] == "done")
    return found


def get(page: Page, bed: Served, path: str) -> Any:
    return page.request.get(f"{bed.url}/api{path}").json()


def saved(page: Page, name: str) -> bytes:
    """Presses the button of a file and returns the downloaded bytes."""
    with page.expect_download() as download:
        page.get_by_role("button", name=f"{name} of the visible range").click()
    return Path(download.value.path()).read_bytes()


def serious(page: Page) -> list[str]:
    """Returns the serious findings of axe."""
    found = Axe().run(page, options={"runOnly": ["wcag2a", "wcag2aa"]}).response["violations"]
    return [f"{one['id']}: {one['nodes'][0]['html'][:200]}" for one in found if one["impact"] != "minor"]


def test_a_timeline_stacks_panels_with_one_cursor_and_saves_the_visible_range(
    bed: Served, ada: Page, runs: list[str]
) -> None:
    """From the whole run to one second of it, by the keyboard. The files have the points that the
    interface returns for the visible range."""
    page, run = ada, runs[0]
    page.goto(f"{bed.url}/#/runs/{run}/timeline")
    for panel in ("congestion window", "RTT", "RTO", "queue", "rate"):
        expect(page.get_by_role("img", name=f"{panel} over time").locator("canvas")).to_be_visible()
    # cwnd and ssthresh share a panel.
    legend = page.locator("figure").filter(has_text="congestion window (segments)")
    expect(legend).to_contain_text("up cwnd")
    expect(legend).to_contain_text("up ssthresh")
    # The cursor is shared: the slider shows the values of all panels at its time.
    slider = page.get_by_role("slider", name="Cursor")
    slider.press("End")
    spoken = slider.get_attribute("aria-valuetext") or ""
    assert re.match(r"(19\.\d+|20) s\. congestion window: up cwnd \d+", spoken), spoken
    assert all(unit in spoken for unit in (" segments", " packets", " kbit/s")), spoken
    for panel in ("RTT", "queue"):
        value = page.locator("figure").filter(has_text=panel).locator(".u-value").nth(1)
        expect(value).to_have_text(re.compile(r"\d"))
    # Marks have a text at the focus; arrow keys move between them.
    marks = get(page, bed, f"/runs/{run}/marks")
    drops = [one for one in marks if one["kind"] == "loss"]
    assert sum(one["count"] for one in drops) > 1 and {one["kind"] for one in marks} >= {"loss", "change"}
    change = page.get_by_role("button", name="link.sat.rate = 1 Mbit/s, at 8 s")
    change.focus()
    expect(page.locator(".lane-tip")).to_have_text("link.sat.rate = 1 Mbit/s, at 8 s")
    first = page.get_by_role("button", name=f"{drops[0]['label']}, at").first
    first.focus()
    page.keyboard.press("ArrowRight")
    expect(first).not_to_be_focused()
    assert serious(page) == []
    # One second in full detail.
    page.get_by_label("Show from (s)").fill("8")
    page.get_by_label("to (s)", exact=True).fill("9")
    with page.expect_response(lambda answer: "/series/tcp.cwnd?from=8" in answer.url) as response:
        page.get_by_label("to (s)", exact=True).press("Enter")
    series = response.value.json()
    assert not series["thinned"]
    expect(page.get_by_role("region", name="Timeline")).to_have_attribute("aria-busy", "false")
    rows = until(lambda: inside(list(csv.DictReader(io.StringIO(saved(page, "CSV").decode())))))
    (line,) = series["lines"]
    expected = [time for time in line["time"] if 8 <= time <= 9]
    assert [float(one["time (s)"]) for one in rows if one["quantity"] == "tcp.cwnd"] == expected
    assert {one["unit"] for one in rows} == {"segments", "s", "packets", "kbit/s"}
    picture = ElementTree.fromstring(saved(page, "SVG"))
    texts = [one.text for one in picture.iter("{http://www.w3.org/2000/svg}text")]
    assert {"reno 1, 8 to 9 s", "up cwnd", "up ssthresh", "queue (packets)", "time (s)"} <= set(texts)
    assert saved(page, "PNG").startswith(b"\x89PNG")
    # By buttons: out, later, all.
    page.get_by_role("button", name="Zoom out").press("Enter")
    expect(page).to_have_url(re.compile("time=7.50000-9.50000"))
    page.get_by_role("button", name="Later").press("Enter")
    expect(page).to_have_url(re.compile("time=8.50000-10.5000"))
    page.get_by_role("button", name="All times").press("Enter")
    expect(page).not_to_have_url(re.compile("time="))
    # A logarithmic axis is part of the address.
    page.get_by_text("Logarithmic axes").click()
    page.get_by_role("checkbox", name="congestion window").check()
    expect(page).to_have_url(re.compile("log=congestion"))
    page.set_viewport_size({"width": 390, "height": 800})
    until(lambda: page.evaluate("document.documentElement.scrollWidth <= 390"))
    page.set_viewport_size({"width": 1280, "height": 900})


def inside(rows: list[dict[str, str]]) -> list[dict[str, str]] | None:
    """Returns rows of the zoomed range, or None while the page still has those of the whole run."""
    return rows if rows and all(8 <= float(one["time (s)"]) <= 9 for one in rows) else None


def test_runs_are_overlaid_with_a_colour_each(bed: Served, ada: Page, runs: list[str]) -> None:
    page = ada
    page.goto(f"{bed.url}/#/compare?run={','.join(runs)}&baseline={runs[0]}")
    legend = page.get_by_role("list", name="Runs")
    expect(legend).to_contain_text("#1 reno")
    expect(legend).to_contain_text("#2 cubic")
    colours = legend.locator("span").evaluate_all("all => all.map(one => one.style.borderColor)")
    panel = page.locator("figure").filter(has_text="congestion window (segments)")
    lines = panel.locator(".u-series").filter(has_text="#")
    expect(lines).to_have_text([re.compile("#1: up"), re.compile("#2: up")])
    drawn = lines.locator(".u-marker").evaluate_all("all => all.map(one => one.style.borderTopColor)")
    assert drawn == colours and len(set(colours)) == 2
    rows = list(csv.DictReader(io.StringIO(saved(page, "CSV").decode())))
    assert {one["run"] for one in rows} == {"#1", "#2"}


def test_the_network_of_a_run_is_replayed_with_its_load(bed: Served, ada: Page, runs: list[str]) -> None:
    """The picture agrees with the traces at the time of its slider: drops, queue and goodput."""
    page = ada
    page.goto(f"{bed.url}/#/runs/{runs[0]}/picture")
    slider = page.get_by_role("slider", name="Time of the picture")
    slider.fill("0")
    queue = page.get_by_role("img", name=re.compile(r"^sat\.return: "))
    expect(queue).to_have_accessible_name(re.compile(r"^sat\.return: 0 % of 10 Mbit/s"))
    slider.press("End")
    (drops,) = [
        line["value"][-1]
        for line in get(page, bed, f"/runs/{runs[0]}/series/link.dropped")["lines"]
        if line["name"] == "sat.return"
    ]
    expect(queue).to_have_accessible_name(re.compile(rf"queue \d+ of \d+ packets; {drops:.0f} dropped; up "))
    queue.focus()
    expect(page.locator(".live-told")).to_contain_text(f"{drops:.0f} dropped")
    expect(page.get_by_role("list", name="Goodput of the flows")).to_contain_text(
        re.compile(r"up [\d.]+ [kM]bit/s")
    )
    assert serious(page) == []


def test_the_network_lives_while_a_run_is_in_progress(bed: Served, ada: Page) -> None:
    page = ada
    given = {"text": SMALL, "name": "live", "pace": 1.0}
    (run,) = page.request.post(f"{bed.url}/api/runs", data=given, headers={"Origin": bed.url}).json()
    page.goto(f"{bed.url}/#/runs/{run['id']}")
    picture = page.get_by_role("region", name="Live picture")
    expect(picture.get_by_role("list")).to_contain_text(re.compile(r"up [1-9][\d.]* [kM]bit/s"))
    expect(picture.get_by_role("img", name=re.compile(r"^sat\.return: [1-9]"))).to_be_visible()
    page.request.post(f"{bed.url}/api/runs/{run['id']}/cancel", headers={"Origin": bed.url})


def test_windows_of_tcp_and_of_quic_share_a_panel(bed: Served, ada: Page) -> None:
    second = '\n[[flow]]\nname = "second"\nfrom = "user"\nto = "server"\napp = "bulk"\ntransport = "quic"\n'
    given = {"text": SMALL + second, "name": "both"}
    answer = ada.request.post(f"{bed.url}/api/runs", data=given, headers={"Origin": bed.url})
    run = answer.json()[0]["id"]
    until(lambda: get(ada, bed, f"/runs/{run}")["state"] == "done")
    ada.goto(f"{bed.url}/#/runs/{run}/timeline")
    for panel, quantity in (("congestion window", " cwnd"), ("RTT", "")):
        legend = ada.locator("figure").filter(has_text=panel).first
        for flow in ("up", "second"):
            expect(legend).to_contain_text(f"{flow}{quantity}")
