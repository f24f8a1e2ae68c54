"""The builder of campaigns on the page, in Chromium: keys, ranges, points and the figure."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from rigs.testbeds import SMALL, Served, Watched, bed, browser, log_in, until

pytest.importorskip("playwright", reason="no Playwright")
pytest.importorskip("fastapi", reason="bentpipe[testbed] is not installed")

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect

__all__ = ["bed", "browser"]


@pytest.fixture(scope="module")
def ada(bed: Served, browser: Browser) -> Iterator[Page]:
    """The first administrator, logged in by the link of the console."""
    watched = Watched(browser, ignored="Failed to load resource", accept_downloads=True)
    log_in(watched.page, bed)
    yield watched.page
    watched.close()


def test_a_campaign_is_built_from_the_keys_of_the_scenario(bed: Served, ada: Page) -> None:
    """A key of a form, and a key of the list, over a logarithmic range and over choices. The table
    of points is the product of the values, and the figure is one click from the launch."""
    page = ada
    given = {"name": "built", "text": SMALL.replace("20 s", "2 s")}
    made = page.request.post(f"{bed.url}/api/configurations", data=given, headers={"Origin": bed.url}).json()
    page.goto(f"{bed.url}/#/configuration/{made['id']}/connections")
    page.get_by_label(re.compile(r"Search \d\d keys")).fill("initial_window")
    page.get_by_role("button", name="Vary flow.up.transport.initial_window in a campaign").press("Enter")
    key = page.get_by_label("Key to vary")
    expect(key).to_have_value("flow.up.transport.initial_window")
    expect(key).to_have_accessible_description(re.compile("^Now 10"))
    # Whole numbers in equal ratios, without repetitions.
    page.get_by_label("From").fill("1")
    page.get_by_label("To", exact=True).fill("16")
    page.get_by_label("Scale").select_option("log")
    expect(page.get_by_text("5 values: 1, 2, 4, 8, 16")).to_be_visible()
    page.get_by_label("From").fill("0")
    expect(page.get_by_text("needs values greater than zero")).to_be_visible()
    expect(page.get_by_role("button", name="Vary", exact=True)).to_be_disabled()
    page.get_by_label("From").fill("1")
    page.get_by_role("textbox", name="Steps").fill("3")
    page.get_by_role("button", name="Vary", exact=True).press("Enter")
    expect(page.get_by_role("button", name="Stop varying flow.up.transport.initial_window")).to_be_visible()
    # The keys of presets too: the rate of the satellite link, with its unit.
    expect(key).to_have_value("")
    key.fill("link.sat.rate")
    page.get_by_label("Unit").select_option("kbit/s")
    page.get_by_label("From").fill("500")
    page.get_by_label("To", exact=True).fill("1000")
    page.get_by_role("textbox", name="Steps").fill("2")
    page.get_by_role("button", name="Vary", exact=True).press("Enter")
    expect(key).to_have_value("")
    # A text has its choices.
    key.fill("flow.up.transport.congestion")
    for name in ("reno", "cubic"):
        page.get_by_role("checkbox", name=name, exact=True).check()
    page.get_by_role("button", name="Vary", exact=True).press("Enter")
    replications = page.get_by_label("Replications")
    replications.fill("2")
    replications.press("Enter")
    summary = page.get_by_text("12 points × 2 replications × 1 instrument")
    expect(summary).to_contain_text(re.compile(r"24 runs: .* about \d+ s if they run one after the other"))
    points = page.get_by_role("region", name="Points of the campaign").get_by_role("row")
    expect(points).to_have_count(13)
    expect(points.nth(1)).to_have_text(re.compile(r"^1500 kbit/sreno[\d.]+[\d.]+ s$"))
    expect(points.nth(12)).to_have_text(re.compile(r"^161000 kbit/scubic"))
    found = Axe().run(page, options={"runOnly": ["wcag2a", "wcag2aa"]}).response["violations"]
    assert [one["id"] for one in found if one["impact"] in ("serious", "critical")] == []
    # A removed key divides the campaign.
    page.get_by_role("button", name="Stop varying flow.up.transport.congestion").press("Enter")
    expect(points).to_have_count(7)
    page.get_by_role("button", name="Stop varying link.sat.rate").press("Enter")
    expect(points).to_have_count(4)
    page.set_viewport_size({"width": 390, "height": 800})
    page.wait_for_timeout(200)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.set_viewport_size({"width": 1280, "height": 900})
    page.get_by_role("link", name="4 Launch").click()
    cost = page.get_by_role("list", name="Cost of the launch").get_by_role("listitem")
    expect(cost.first).to_have_text("Runs63 points × 2 replications × simulate")
    quotas = {one["name"]: one for one in page.request.get(f"{bed.url}/api/quotas").json()}
    free = quotas["queued"]["limit"] - quotas["queued"]["used"]
    expect(cost.filter(has_text="Places in the queue")).to_contain_text(f"6 of {free}")
    expect(cost.filter(has_text="Expected time")).to_contain_text(re.compile(r"\d+ s"))
    page.get_by_role("button", name="Apply and launch").click()
    page.get_by_role("link", name="means", exact=True).click()
    expect(page.get_by_role("status").filter(has_text="over all 6 runs")).to_be_visible()
    expect(page.get_by_role("img", name=re.compile("^goodput by ")).locator("canvas")).to_be_visible()
    page.get_by_label("Axes").select_option("log")
    with page.expect_download() as download:
        page.get_by_role("button", name="SVG of goodput").click()
    text = Path(download.value.path()).read_text(encoding="utf-8")
    assert "goodput (kbit/s)" in text and text.count("<circle") == 3
    saved = page.request.get(f"{bed.url}/api/configurations/{made['id']}").json()["text"]
    assert tomllib.loads(saved)["campaign"] == {
        "vary": {"flow.up.transport.initial_window": [1, 4, 16]},
        "replications": 2,
    }
    check_group(page, bed)


def check_group(page: Page, bed: Served) -> None:
    """In the list of runs, the runs of the launch are one row with the ranges of their results. On
    a phone, the rows are cards within the window."""
    page.goto(f"{bed.url}/#/runs")
    runs = page.request.get(f"{bed.url}/api/runs?limit=6").json()
    assert len({one["batch"] for one in runs}) == 1
    group = page.get_by_role("row").filter(has_text="6 runs")
    least, most = (f"{pick(one['goodput'] for one in runs) / 1e3:.4g}" for pick in (min, max))
    expect(group).to_contain_text("6 done")
    expect(group).to_contain_text(least if least == most else f"{least} – {most}")
    single = page.get_by_role("checkbox", name=re.compile(r"^Choose run \d+$"))
    before = single.count()
    group.get_by_role("button").click()
    expect(single).to_have_count(before + 6)
    page.set_viewport_size({"width": 390, "height": 800})
    until(lambda: page.evaluate("document.documentElement.scrollWidth <= 390"))
    expect(group.get_by_role("link", name="Means")).to_be_in_viewport()
    group.get_by_role("checkbox").check()
    expect(page.get_by_role("region", name="Chosen runs")).to_contain_text("6 runs")
