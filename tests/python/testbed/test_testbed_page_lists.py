"""The workbench and the table of runs in Chromium."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from rigs.testbeds import PASSWORD, SMALL, Served, Watched, bed, browser, create, log_in, until

pytest.importorskip("playwright", reason="no Playwright")
pytest.importorskip("fastapi", reason="bentpipe[testbed] is not installed")

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect

__all__ = ["bed", "browser"]


@pytest.fixture(scope="module")
def ada(bed: Served, browser: Browser) -> Iterator[Page]:
    """The first administrator, with three ended runs."""
    watched = Watched(browser, ignored="Failed to load resource")
    log_in(watched.page, bed)
    for name in ("reno", "cubic", "hybla"):
        post(watched.page, bed, "/runs", name=name, text=SMALL.replace('"reno"', f'"{name}"'))
    at = f"{bed.url}/api/runs"
    until(lambda: all(one["state"] == "done" for one in watched.page.request.get(at).json()))
    yield watched.page
    watched.close()


def post(page: Page, bed: Served, path: str, **body: Any) -> Any:
    answer = page.request.post(f"{bed.url}/api{path}", data=body, headers={"Origin": bed.url})
    assert answer.ok, answer.text()
    return answer.json()


def accessible(page: Page) -> None:
    """Checks the page with axe, light and dark."""
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        found = Axe().run(page, options={"runOnly": ["wcag2a", "wcag2aa"], "iframes": False}).response
        assert found["violations"] == [], json.dumps(found["violations"])[:2000]
    page.emulate_media(color_scheme="light")


def names(page: Page) -> list[str]:
    return [re.sub(r"^\d+ ", "", one) for one in page.locator("tbody th > a").all_inner_texts()]


def test_runs_are_sorted_filtered_annotated_and_saved_as_a_view(bed: Served, ada: Page) -> None:
    page = ada
    page.goto(f"{bed.url}/#/runs")
    expect(page.get_by_role("row")).to_have_count(4)
    found = page.request.get(f"{bed.url}/api/runs").json()
    best = [one["name"] for one in sorted(found, key=lambda one: -one["goodput"])]
    head = page.get_by_role("columnheader", name="Goodput (kbit/s)")
    head.get_by_role("button").click()
    expect(head).to_have_attribute("aria-sort", re.compile("descending|ascending"))
    wanted = best if head.get_attribute("aria-sort") == "descending" else best[::-1]
    until(lambda: names(page) == wanted)
    page.get_by_label("Actions of run 2").click()
    page.get_by_role("button", name="Notes and tags…").click()
    page.get_by_label("Tags", exact=True).fill("figure-17")
    page.get_by_role("textbox", name="Notes").fill("As printed")
    page.get_by_role("button", name="Save", exact=True).click()
    page.get_by_label("Tag", exact=True).select_option("figure-17")
    expect(page.get_by_text("1 run", exact=True)).to_be_visible()
    page.get_by_role("button", name="Save this view").click()
    page.get_by_label("Name of the view").fill("The figure")
    page.get_by_role("button", name="Save", exact=True).click()
    page.get_by_role("link", name="All runs").click()
    expect(page.get_by_role("row")).to_have_count(4)
    page.get_by_role("button", name="The figure", exact=True).click()
    expect(page.get_by_role("row")).to_have_count(2)
    expect(page).to_have_url(re.compile("tag=figure-17&sort="))
    page.get_by_label("Columns", exact=True).click()
    page.get_by_role("checkbox", name="Notes").check()
    expect(page.get_by_role("cell", name="As printed")).to_be_visible()
    accessible(page)


def test_actions_on_chosen_runs(bed: Served, ada: Page) -> None:
    page = ada
    page.goto(f"{bed.url}/#/runs?search=o")
    expect(page.get_by_role("row")).to_have_count(2)
    page.goto(f"{bed.url}/#/runs")
    page.get_by_label("Choose all runs of this page").check()
    bar = page.get_by_role("region", name="Chosen runs")
    with page.expect_download() as download:
        bar.get_by_role("link", name="Download ZIP").click()
    assert download.value.suggested_filename == "runs.zip"
    bar.get_by_role("button", name="Tag…", exact=True).click()
    page.get_by_label("Tag", exact=True).last.fill("keep")
    page.get_by_role("button", name="Tag", exact=True).click()
    expect(page.get_by_text("3 runs tagged keep.")).to_be_visible()
    page.get_by_label("Choose run 2").uncheck()
    page.get_by_label("Choose run 3").uncheck()
    bar.get_by_role("button", name="Remove").click()
    page.get_by_role("button", name="Remove runs").click()
    expect(page.get_by_text("1 run removed.")).to_be_visible()
    expect(page.get_by_role("row")).to_have_count(3)


def test_a_changed_configuration_is_saved_under_another_name(bed: Served, ada: Page) -> None:
    """Change, Save as, done. The card of the copy has the picture, and its last result."""
    page = ada
    create(page, bed, "laboratory")
    page.get_by_role("button", name="link bottleneck: router1 → router2").click()
    page.get_by_label("probability", exact=True).fill("0.2")
    expect(page.get_by_text("unapplied changes")).to_be_visible()
    page.get_by_role("button", name="Save as…").click()
    page.get_by_label("Name", exact=True).fill("personal RED_default")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_role("heading", name="personal RED_default")).to_be_visible()
    expect(page.get_by_text("unapplied changes")).to_have_count(0)
    saved = {one["name"]: one for one in page.request.get(f"{bed.url}/api/configurations").json()}
    text = page.request.get(f"{bed.url}/api/configurations/{saved['personal RED_default']['id']}").json()[
        "text"
    ]
    assert "probability = 0.2" in text
    run = post(page, bed, "/runs", configuration=saved["personal RED_default"]["id"])[0]["id"]
    until(lambda: page.request.get(f"{bed.url}/api/runs/{run}").json()["state"] == "done")
    page.goto(f"{bed.url}/#/?search=personal")
    page.reload()
    card = page.get_by_role("list", name="Configurations").get_by_role("listitem")
    expect(card).to_have_count(1)
    expect(card.locator("svg.thumbnail")).to_be_visible()
    expect(card).to_contain_text("The laboratory of the SatNEx study")
    expect(card.get_by_role("link", name="bit/s goodput")).to_have_attribute("href", f"#/runs/{run}")
    page.get_by_label("Actions of personal RED_default").click()
    page.get_by_role("button", name="Rename…").click()
    page.get_by_label("New name").fill("personal RED")
    page.get_by_role("button", name="Rename", exact=True).click()
    expect(page.get_by_role("link", name="personal RED", exact=True)).to_be_visible()
    page.get_by_label("Search configurations and templates").fill("")
    page.get_by_role("button", name="Deep space").click()
    expect(page.get_by_role("button", name="Use template Mars orbiter with bundles")).to_be_visible()
    accessible(page)
    page.set_viewport_size({"width": 390, "height": 800})
    for view in ("", "runs"):
        page.goto(f"{bed.url}/#/{view}")
        page.wait_for_timeout(500)
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.set_viewport_size({"width": 1280, "height": 900})


def test_a_notice_tells_the_end_of_a_run_which_others_comment(
    bed: Served, ada: Page, browser: Browser
) -> None:
    """The notice links to the run. A member of a course sees the run that is shared with it, and
    comments on it."""
    page = ada
    page.goto(f"{bed.url}/#/courses")
    page.get_by_label("Name of a new course").fill("Networks 2")
    page.get_by_role("button", name="Create course").click()
    link = post(page, bed, "/invitations", level="user")["link"]
    watched = Watched(browser, ignored="Failed to load resource")
    bob = watched.page
    bob.goto(bed.url + link)
    bob.get_by_label("Name").fill("bob")
    bob.get_by_label("Password").fill(PASSWORD)
    bob.get_by_role("button", name="Create account").click()
    expect(bob.get_by_role("heading", name="Configurations")).to_be_visible()
    page.get_by_label("Add members to Networks 2").fill("bob")
    page.get_by_role("button", name="Add", exact=True).click()
    expect(page.get_by_role("list", name="Members of Networks 2")).to_contain_text("bob")
    accessible(page)
    number = post(page, bed, "/runs", name="shared", text=SMALL)[0]["number"]
    page.get_by_role("status").get_by_role("link", name=f"Run {number}: shared").click()
    expect(page.get_by_role("heading", name=f"Run {number}: shared")).to_be_visible()
    page.goto(f"{bed.url}/#/runs")
    page.get_by_label(f"Choose run {number}").check()
    page.get_by_label("Share chosen runs with").select_option("Networks 2")
    page.get_by_role("button", name="Share chosen runs").click()
    expect(page.get_by_text("1 run shared with the course.")).to_be_visible()
    expect(page.get_by_text("shared with Networks 2").first).to_be_visible()
    bob.get_by_role("link", name="Runs").click()
    bob.get_by_role("link", name=f"{number} shared").click()
    # The response with the comments so far arrives after the comment is stored.
    held: list[Any] = []
    bob.route("**/comments", lambda route: held.append((route, route.fetch())), times=1)
    bob.get_by_role("link", name="notes", exact=True).click()
    bob.get_by_label("New comment").fill("Why no time-outs?")
    # Routes are handled only while the library waits for the browser.
    until(lambda: bob.wait_for_function("true") and held)
    with bob.expect_response(lambda one: one.request.method == "POST"):
        bob.get_by_role("button", name="Comment", exact=True).click()
    held[0][0].fulfill(response=held[0][1])
    expect(bob.get_by_role("listitem").filter(has_text="Why no time-outs?")).to_contain_text("bob")
    accessible(bob)
    bob.goto(f"{bed.url}/#/laboratory")
    expect(bob.get_by_role("row", name=re.compile("TUN device"))).to_be_visible()
    accessible(bob)
    bob.goto(f"{bed.url}/#/account")
    expect(bob.get_by_label("Stored runs")).to_be_visible()
    accessible(bob)
    watched.close()


def test_a_study_has_a_card_with_its_verdicts_and_a_page_with_its_claims(bed: Served, ada: Page) -> None:
    """The numbers are those of the recorded verdicts, and the figures are drawn."""
    page = ada
    listed = {one["name"]: one for one in page.request.get(f"{bed.url}/api/studies").json()}
    page.goto(f"{bed.url}/#/studies")
    cards = page.get_by_role("list", name="Studies").get_by_role("listitem")
    expect(cards).to_have_count(len(listed))
    dama = listed["dama"]
    holding, claims = dama["outcomes"]["holds"], sum(dama["outcomes"].values())
    card = cards.filter(has_text=dama["title"])
    expect(card).to_contain_text(f"{holding} of {claims} claims hold")
    until(lambda: card.locator("img").evaluate("one => one.naturalWidth > 0"))
    card.get_by_role("link").click()
    expect(page.get_by_role("heading", level=1)).to_have_text(dama["title"])
    page.locator("summary").filter(has_text="transfer times of web pages").click()
    of_test = page.get_by_role("region", name="Claims of T_V").get_by_role("row")
    found = [
        one
        for one in page.request.get(f"{bed.url}/api/studies/dama/claims").json()
        if one["test"] == "T_V" and one["role"] == "claim"
    ]
    expect(of_test).to_have_count(len(found) + 1)
    for row, one in zip(of_test.all()[1:], found, strict=True):
        expect(row.locator(".mark")).to_have_text(one["outcome"])
        expect(row).to_contain_text(one["reason"])
    accessible(page)
