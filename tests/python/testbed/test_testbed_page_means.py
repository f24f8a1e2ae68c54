"""The page's means over the runs of one launch, in Chromium."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from helpers.campaigns import SCENARIO
from rigs.testbeds import DRAWN, Served, bed, browser, log_in, until

pytest.importorskip("playwright", reason="no Playwright")
pytest.importorskip("fastapi", reason="bentpipe[testbed] is not installed")

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect

__all__ = ["bed", "browser"]

#: Two congestion controls at two delays, twice each.
CAMPAIGN = SCENARIO.replace("replications = 6", "replications = 2").replace('"50 ms", ', "")


@pytest.fixture(scope="module")
def ada(bed: Served, browser: Browser) -> Iterator[Page]:
    """The first administrator, logged in by the link of the console."""
    context = browser.new_context(viewport={"width": 1280, "height": 900}, accept_downloads=True)
    page = context.new_page()
    log_in(page, bed)
    yield page
    context.close()


def started(bed: Served, page: Page, text: str) -> list[dict[str, Any]]:
    """Launches a campaign and returns its runs."""
    given = {"text": text, "campaign": True, "name": "Loss"}
    answer = page.request.post(f"{bed.url}/api/runs", data=given, headers={"Origin": bed.url})
    assert answer.ok, answer.text()
    found: list[dict[str, Any]] = answer.json()
    return found


def cells(page: Page) -> list[list[str]]:
    """Returns the rows of the table of means."""
    found: list[list[str]] = page.get_by_role("region", name="Means").evaluate(
        "region => [...region.querySelectorAll('tbody tr')].map(row => [...row.cells].map(cell => cell.textContent))"
    )
    return found


def test_the_means_of_a_campaign(bed: Served, ada: Page, browser: Browser) -> None:
    """From the runs of a launch to their means, which are updated as runs end: by keyboard, as
    files, on a phone."""
    page = ada
    runs = started(bed, page, CAMPAIGN)
    cancelled = page.request.post(f"{bed.url}/api/runs/{runs[-1]['id']}/cancel", headers={"Origin": bed.url})
    assert cancelled.ok
    page.goto(f"{bed.url}/#/runs/{runs[-1]['id']}")
    page.get_by_role("link", name="all runs").click()
    expect(page.get_by_role("heading", level=1, name="Runs of one launch")).to_be_visible()
    page.get_by_role("link", name="means", exact=True).click()
    # The page reloads its data as runs end.
    expect(page.get_by_role("status").filter(has_text="Means of Loss over 7 of 8 runs")).to_be_visible()
    left = page.get_by_role("listitem").filter(has_text="cubic 200 ms, replication 1")
    expect(left).to_contain_text("cancelled before it started")
    # The page shows the numbers of the REST interface, in the units of other tables.
    path = f"{bed.url}/api/batches/{runs[0]['batch']}/means"
    answer = page.request.get(path).json()
    assert cells(page) == [
        [*one["labels"], one["means"][0]["text"], "1 of 2" if one["means"][0]["count"] == 1 else "2"]
        for one in answer["points"]
    ]
    assert [row[:2] for row in cells(page)] == [
        ["reno", "100 ms"],
        ["reno", "200 ms"],
        ["cubic", "100 ms"],
        ["cubic", "200 ms"],
    ]
    assert ["±" in row[2] for row in cells(page)] == [True, True, True, False]
    expect(page.get_by_role("columnheader", name="goodput (kbit/s)")).to_be_visible()
    expect(page.get_by_role("img", name="goodput by delay").locator("canvas")).to_be_visible()
    # By the keyboard alone: another quantity, another axis, one of the links.
    page.get_by_text("Quantities", exact=True).focus()
    page.keyboard.press("Enter")
    page.get_by_role("checkbox", name="link.packets").focus()
    page.keyboard.press("Space")
    expect(page.get_by_role("columnheader", name="link.packets")).to_be_visible()
    expect(page.get_by_role("checkbox", name="link.packets")).to_be_focused()
    page.get_by_role("checkbox", name="goodput").focus()
    page.keyboard.press("Space")
    expect(page.get_by_role("columnheader", name="goodput")).to_have_count(0)
    page.get_by_label("Horizontal axis").select_option("congestion")
    expect(page.get_by_role("img", name="link.packets by congestion").locator("canvas")).to_be_visible()
    page.get_by_label("Flow, terminal or link").focus()
    page.keyboard.type("sta")
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert")).to_contain_text('did you mean "sat"')
    page.get_by_label("Flow, terminal or link").fill("sat")
    page.keyboard.press("Enter")
    # The previous rows stay until the response arrives.
    expect(page.get_by_role("row").filter(has_text="sat.return")).to_have_count(0)
    expect(page.get_by_role("alert")).to_have_count(0)
    assert len(cells(page)) == 4
    # As files.
    with page.expect_download() as download:
        page.get_by_role("button", name="CSV").click()
    lines = Path(download.value.path()).read_text().splitlines()
    unit = page.request.get(f"{path}?metric=link.packets").json()["metrics"][0]["shown_unit"]
    heading = f"link.packets ({unit})" if unit != "1" else "link.packets"
    assert lines[0].startswith(f'"congestion","delay","of","{heading}"')
    assert lines[1].startswith('"reno","100 ms","sat",')
    with page.expect_download() as download:
        page.get_by_role("button", name="LaTeX").click()
    assert "\\begin{tabular}" in Path(download.value.path()).read_text()
    # The address opens the same view on a phone and in dark mode, too.
    for scheme in ("light", "dark"):
        context = browser.new_context(
            viewport={"width": 390, "height": 800},
            storage_state=page.context.storage_state(),
            color_scheme=scheme,
        )
        phone = context.new_page()
        phone.goto(page.url)
        expect(phone.get_by_role("img", name="link.packets by congestion").locator("canvas")).to_be_visible()
        assert cells(phone) == cells(page)
        assert phone.evaluate("document.documentElement.scrollWidth") <= 390
        found = Axe().run(phone, options={"runOnly": ["wcag2a", "wcag2aa"]}).response["violations"]
        serious = [one["id"] for one in found if one["impact"] in ("serious", "critical")]
        assert not serious, json.dumps(found, indent=1)
        context.close()


def test_a_launch_without_means_shows_the_reason(bed: Served, ada: Page) -> None:
    """The reasons: no run has ended; each point has a single run; the launch belongs to another
    account."""
    page = ada
    headers = {"Origin": bed.url}

    def rest_cancelled(runs: list[dict[str, Any]], first: int) -> None:
        """Cancels all runs from this one on, and waits until all have ended."""
        for one in runs[first:]:
            page.request.post(f"{bed.url}/api/runs/{one['id']}/cancel", headers=headers)
        batch = f"{bed.url}/api/runs?batch={runs[0]['batch']}"
        until(lambda: all(one["ended"] for one in page.request.get(batch).json()))

    def means_of(batch: str) -> None:
        # Another view first, because the table of the last batch stays until the new one is loaded.
        page.goto(f"{bed.url}/#/")
        expect(page.get_by_role("heading", name="Configurations")).to_be_visible()
        page.goto(f"{bed.url}/#/runs?batch={batch}&part=means")

    said = page.get_by_role("status")
    single = started(bed, page, CAMPAIGN.replace("replications = 2", "replications = 1"))
    rest_cancelled(single, 1)
    means_of(single[0]["batch"])
    expect(said.filter(has_text="A mean over one run has no interval")).to_be_visible()
    assert cells(page) and all("±" not in cell for row in cells(page) for cell in row)
    # So long that no run ends before it is cancelled.
    long = started(bed, page, CAMPAIGN.replace('"4 s"', '"4000 s"'))
    rest_cancelled(long, 0)
    means_of(long[0]["batch"])
    expect(said.filter(has_text="None of the 8 runs has results, so there are no means")).to_be_visible()
    expect(page.get_by_text("8 runs are not included in the means")).to_be_visible()
    expect(page.get_by_role("table")).to_have_count(0)
    means_of("nothing")
    expect(page.get_by_role("alert")).to_contain_text("there is no such run")


def test_axes_of_values_over_decades(bed: Served, ada: Page) -> None:
    """Each tick of a figure has a distinct text; values over decades are at equal distances."""
    page = ada
    varied = "vary.link.sat.error.probability = [0.0001, 0.001, 0.01, 0.1]"
    text = CAMPAIGN.partition("[campaign]")[0].replace("4 s", "1 s") + f"[campaign]\n{varied}\n"
    runs = started(bed, page, text)
    page.add_init_script(DRAWN)
    page.goto(f"{bed.url}/#/runs?batch={runs[0]['batch']}&part=means")
    page.reload()
    expect(page.get_by_role("status").filter(has_text="over all 4 runs")).to_be_visible()
    expect(page.get_by_role("img", name="goodput by probability").locator("canvas")).to_be_visible()
    drawn = page.evaluate("window.drawn")
    assert {"0.0001", "0.001", "0.01", "0.1"} <= set(drawn)
    assert len(set(drawn)) == len(drawn)
