"""The test bed's page in Chromium under errors, and for people who use a keyboard, a screen reader
or a phone: WCAG 2.2 AA, by the numbers of its success criteria, and the ARIA authoring
practices."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from rigs.testbeds import (
    PASSWORD,
    SMALL,
    Served,
    bed,
    browser,
    expect_scenario,
    free_port,
    log_in,
    serving,
)

pytest.importorskip("playwright", reason="no Playwright")
pytest.importorskip("fastapi", reason="bentpipe[testbed] is not installed")

from playwright.sync_api import Browser, Page, expect

__all__ = ["bed", "browser"]


def joined(browser: Browser, bed: Served, width: int = 1280) -> Page:
    """Returns a page of the first administrator."""
    page = browser.new_context(viewport={"width": width, "height": 900}).new_page()
    log_in(page, bed)
    return page


@pytest.fixture
def ada(bed: Served, browser: Browser) -> Iterator[Page]:
    page = joined(browser, bed)
    yield page
    page.context.close()


def configuration(page: Page, bed: Served, name: str, text: str = SMALL) -> str:
    """Returns the address of a new configuration."""
    made = page.request.post(
        f"{bed.url}/api/configurations", data={"name": name, "text": text}, headers={"Origin": bed.url}
    ).json()
    return f"{bed.url}/#/configuration/{made['id']}"


LINK = """
[[link]]
name = "wire"
from = "user"
to = "server"
rate = "5 Mbit/s"
delay = "10 ms"
"""


def test_an_expired_session_loses_no_input(bed: Served, ada: Page) -> None:
    """2.2.5: after logging in again, the user continues without loss. A modal dialog takes the
    focus, keeps it, closes with Escape and gives the focus back (ARIA practices, dialog)."""
    page = ada
    page.goto(configuration(page, bed, "expiring", SMALL + LINK) + "/system?of=link.wire")
    field = page.get_by_label("rate (required)")
    expect(field).to_have_value("5")
    expect(page.get_by_label("Unit of rate")).to_have_value("Mbit/s")
    page.context.clear_cookies()
    field.fill("7 Mbit/s")
    dialog = page.get_by_role("dialog", name="Log in again")
    expect(dialog).to_be_visible()
    expect(dialog).to_contain_text("Your session has expired")
    expect(dialog.get_by_label("Name")).to_have_value("ada")
    expect(dialog.get_by_label("Password")).to_be_focused()
    for _ in range(6):
        page.keyboard.press("Tab")
        # Chromium moves the focus to its own toolbar, never to the page behind the dialog.
        assert page.evaluate(
            "document.activeElement === document.body || !!document.activeElement.closest('dialog')"
        )
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    expect(field).to_be_focused()
    expect(field).to_have_value("7")
    expect(page.get_by_label("Unit of rate")).to_have_value("Mbit/s")
    page.get_by_role("button", name="Log in again").click()
    dialog.get_by_label("Password").fill("not the right one")
    page.keyboard.press("Enter")
    expect(dialog.get_by_role("alert")).to_contain_text("wrong")
    expect(dialog.get_by_label("Password")).to_be_focused()
    dialog.get_by_label("Password").fill(PASSWORD)
    page.keyboard.press("Enter")
    expect(dialog).to_have_count(0)
    expect(field).to_have_value("7")
    expect(page.get_by_label("Unit of rate")).to_have_value("Mbit/s")
    page.get_by_role("button", name="Apply").click()
    expect(page.get_by_text("Applied.")).to_be_visible()
    page.get_by_role("button", name="Show TOML").click()
    expect_scenario(page, re.compile('rate = "7 Mbit/s"'))


def test_a_lost_connection_loses_no_input(bed: Served, ada: Page) -> None:
    """The page reports the lost connection (4.1.3) with a remedy, and sends the typed text when the
    test bed responds again."""
    page = ada
    page.goto(configuration(page, bed, "unplugged", SMALL + LINK) + "/system?of=link.wire")
    field = page.get_by_label("rate (required)")
    expect(field).to_have_value("5")
    expect(page.get_by_label("Unit of rate")).to_have_value("Mbit/s")
    page.context.set_offline(True)
    field.fill("6 Mbit/s")
    said = page.get_by_role("status").filter(has_text="does not respond")
    expect(said).to_contain_text("Your input is kept")
    page.get_by_label("delay (required)").fill("20 ms")
    page.context.set_offline(False)
    expect(page.get_by_role("status").filter(has_text="is restored")).to_be_visible()
    expect(page.get_by_text("unapplied changes")).to_be_visible()
    page.get_by_role("button", name="Show TOML").click()
    expect_scenario(page, re.compile('rate = "6 Mbit/s"'))
    expect_scenario(page, re.compile('delay = "20 ms"'))


def test_a_slow_test_bed_loses_no_input(bed: Served, ada: Page) -> None:
    """Changes of a form are not lost if they are made before the response to the previous
    change."""
    page = ada
    page.goto(configuration(page, bed, "slow", SMALL + LINK) + "/system?of=link.wire")
    field = page.get_by_label("rate (required)")
    expect(field).to_have_value("5")
    expect(page.get_by_label("Unit of rate")).to_have_value("Mbit/s")
    held: list[Any] = []
    holding = True
    page.route("**/api/drafts/edit", lambda route: held.append(route) if holding else route.continue_())
    with page.expect_request("**/api/drafts/edit"):
        field.fill("6 Mbit/s")
    # Typed before the response to the first change, and after a pause in which it was sent.
    field.fill("8 Mbit/s")
    page.wait_for_timeout(1000)
    holding = False
    held[0].continue_()
    # The text contains the first change.
    expect(page.get_by_text("unapplied changes")).to_be_visible()
    for one in held[1:]:
        one.continue_()
    page.get_by_role("button", name="Show TOML").click()
    expect_scenario(page, re.compile('rate = "8 Mbit/s"'))


def test_an_error_is_shown_at_its_field_and_can_be_undone(bed: Served, ada: Page) -> None:
    """3.3.1 and 3.3.3: the field is marked, and described by the error and the allowed values; the
    list of all errors leads to it. The previous value makes the scenario valid again."""
    page = ada
    at = configuration(page, bed, "wrong", SMALL + LINK)
    page.goto(at + "/system?of=link.wire")
    field = page.get_by_label("rate (required)")
    expect(field).to_have_value("5")
    expect(page.get_by_label("Unit of rate")).to_have_value("Mbit/s")
    field.fill("5 parsec")
    expect(field).to_have_attribute("aria-invalid", "true")
    expect(field).to_have_accessible_description(re.compile("parsec.*Mbit/s"))
    field.fill("5 Mbit/s")
    expect(page.get_by_role("alert")).to_have_count(0)
    expect(field).not_to_have_attribute("aria-invalid", "true")
    page.goto(at + "/test")
    duration = page.get_by_label("Duration")
    expect(duration).to_have_value("20 s")
    duration.fill("20 parsec")
    duration.press("Enter")
    expect(duration).to_have_accessible_description(re.compile("parsec"))
    expect(duration).to_have_value("20 parsec")
    duration.fill("20 s")
    duration.press("Enter")
    expect(page.get_by_role("alert")).to_have_count(0)
    replications = page.get_by_label("Replications")
    replications.press("Control+A")
    replications.press_sequentially("25")
    replications.press("Tab")
    page.get_by_role("link", name="1 System").click()
    text = page.get_by_label("Scenario", exact=True)
    expect_scenario(page, re.compile("replications = 25"))
    text.fill((SMALL + LINK).replace("5 Mbit/s", "5 parsec"))
    page.get_by_role("alert").get_by_role("link", name="link.wire.rate").click()
    expect(page.get_by_role("heading", name="link wire")).to_be_visible()


def test_a_launch_whose_response_is_lost_is_not_repeated(bed: Served, ada: Page) -> None:
    page = ada
    page.goto(configuration(page, bed, "once") + "/launch")
    launch = page.get_by_role("button", name="Launch")
    expect(launch).to_be_enabled()

    def lost(route: Any) -> None:
        route.fetch()
        route.abort()

    page.route("**/api/runs", lost)
    launch.click()
    expect(page.get_by_role("alert").filter(has_text="try again")).to_be_visible()
    page.unroute("**/api/runs")
    launch.click()
    expect(page.get_by_role("heading", level=1, name=re.compile("Run .*: once"))).to_be_visible()
    runs = page.request.get(f"{bed.url}/api/runs?search=once").json()
    assert len(runs) == 1


def test_a_run_survives_a_restart_of_the_server_on_the_page(tmp_path: Path, browser: Browser) -> None:
    """The view stays while the server is down. Afterwards, it reports the end of the run and the
    remedy."""
    port = free_port()
    with serving(tmp_path / "data", port=port) as bed:
        page = joined(browser, bed)
        asked = {"name": "long", "text": SMALL.replace('"20 s"', '"600 s"'), "pace": 1}
        (run,) = page.request.post(f"{bed.url}/api/runs", data=asked, headers={"Origin": bed.url}).json()
        page.goto(f"{bed.url}/#/runs/{run['id']}")
        expect(page.get_by_role("slider", name="link.sat.rate")).to_be_visible()
        page.get_by_text("Any key").click()
        page.get_by_label("New value").fill("typed before")
        bed.stop()
        expect(page.get_by_role("status").filter(has_text="does not respond")).to_be_visible()
        expect(page.get_by_role("heading", level=1, name=re.compile("Run .*: long"))).to_be_visible()
        expect(page.get_by_label("New value")).to_have_value("typed before")
    with serving(tmp_path / "data", port=port):
        expect(page.get_by_role("status").filter(has_text="incomplete")).to_contain_text("launch it again")
        page.context.close()


def test_every_page_has_its_own_title(bed: Served, ada: Page) -> None:
    """2.4.2: the title names the page, also for a page that does not exist."""
    page = ada
    at = configuration(page, bed, "titled")
    for address, title in (
        (f"{bed.url}/#/", "Configurations"),
        (f"{at}/system", "System – titled"),
        (f"{at}/launch", "Launch – titled"),
        (f"{bed.url}/#/people", "People"),
        (f"{bed.url}/#/runs/none", "Run"),
        (f"{bed.url}/#/elsewhere", "Page not found"),
    ):
        page.goto(address)
        expect(page).to_have_title(f"{title} – bentpipe test bed")
        expect(page.get_by_role("heading", level=1)).to_have_count(1)


def test_the_focus_is_never_lost(bed: Served, ada: Page) -> None:
    """2.4.3 and 2.4.7: if a button is removed or disabled by its own action, the focus moves to the
    surrounding element; a link of the navigation leads to the heading of the view."""
    page = ada
    at = configuration(page, bed, "focused", SMALL + LINK)

    def focused() -> str:
        one = "document.activeElement"
        return str(
            page.evaluate(f"{one}.tagName + ' ' + ({one}.getAttribute('aria-label') ?? {one}.textContent)")
        )

    page.goto(f"{at}/system")
    page.get_by_label("Scenario", exact=True).fill(SMALL + LINK + "# changed\n")
    page.get_by_role("button", name="Apply").press("Enter")
    expect(page.get_by_text("Applied.")).to_be_visible()
    expect(page.get_by_role("heading", level=1, name="focused")).to_be_focused()
    # The form of a part, which may be far from the list.
    page.get_by_role("button", name="link wire: user → server").press("Enter")
    expect(page.get_by_role("heading", name="link wire")).to_be_focused()
    page.get_by_role("button", name="Show TOML").press("Enter")
    expect(page.get_by_role("heading", name="TOML")).to_be_focused()
    page.get_by_role("link", name="Configurations").press("Enter")
    expect(page.get_by_role("heading", level=1, name="Configurations")).to_be_focused()
    page.get_by_label("Actions of focused").press("Enter")
    page.get_by_role("button", name="Remove…").press("Enter")
    expect(page.get_by_role("button", name="Remove", exact=True)).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_text("focused was removed.")).to_be_visible()
    expect(page.get_by_label("Actions of focused")).to_have_count(0)
    expect(page.locator(":focus")).to_have_count(1)
    assert focused() == "H1 Configurations"


def test_a_choice_in_a_list_does_nothing_by_itself(bed: Served, ada: Page) -> None:
    """3.2.2: the arrow keys move through a list's values, so no value may grant rights or add a run
    by itself. 2.1.1: a secret can be selected by the keyboard."""
    page = ada
    page.goto(f"{bed.url}/#/people")
    page.get_by_role("button", name="Create an invitation").press("Enter")
    given = page.get_by_label("Link", exact=True)
    given.focus()
    assert page.evaluate("getSelection().toString()") == given.input_value()
    other = page.context.browser.new_context().new_page()  # type: ignore[union-attr]
    other.goto(given.input_value())
    other.get_by_label("Name").fill("eve")
    other.get_by_label("Password").fill(PASSWORD)
    other.get_by_role("button", name="Create account").click()
    expect(other.get_by_role("heading", name="Configurations")).to_be_visible()
    page.reload()
    levels = page.get_by_label("Level of eve", exact=True)
    levels.select_option("administrator")
    page.get_by_role("button", name="Create an invitation").press("Enter")
    given.wait_for()
    accounts = {one["name"]: one["level"] for one in page.request.get(f"{bed.url}/api/accounts").json()}
    assert accounts["eve"] == "user"
    page.get_by_role("button", name="Set the level of eve").press("Enter")
    expect(page.get_by_role("status").filter(has_text="eve now has the level administrator")).to_be_visible()
    other.context.close()
    (run,) = page.request.post(
        f"{bed.url}/api/runs", data={"name": "added", "text": SMALL}, headers={"Origin": bed.url}
    ).json()
    page.goto(f"{bed.url}/#/runs/{run['id']}")
    page.get_by_role("link", name="timeline", exact=True).wait_for()
    page.goto(f"{bed.url}/#/compare")
    page.get_by_label("Add a run").select_option(label=f"{run['number']} added")
    expect(page).to_have_url(re.compile("compare$"))
    page.get_by_role("button", name="Add", exact=True).press("Enter")
    expect(page).to_have_url(re.compile(run["id"]))


def test_a_time_range_is_chosen_by_the_keyboard(bed: Served, ada: Page) -> None:
    """2.1.1 and 2.5.7: two fields offer the same as dragging over a plot."""
    page = ada
    (run,) = page.request.post(
        f"{bed.url}/api/runs", data={"name": "zoomed", "text": SMALL}, headers={"Origin": bed.url}
    ).json()
    page.goto(f"{bed.url}/#/runs/{run['id']}")
    page.get_by_role("link", name="timeline", exact=True).click()
    end = page.get_by_label("to (s)")
    page.get_by_label("Show from (s)").fill("5")
    end.fill("2")
    end.press("Enter")
    expect(end).to_have_accessible_description(re.compile("greater than the start"))
    end.fill("8")
    end.press("Enter")
    expect(page).to_have_url(re.compile(r"time=5\.0+-8\.0+"))
    page.get_by_role("button", name="All times").first.press("Enter")
    expect(page).not_to_have_url(re.compile("time="))


def test_a_conflict_between_windows_is_reported_with_the_remedy(bed: Served, ada: Page) -> None:
    """Nothing is overwritten silently, and both texts remain available."""
    page = ada
    at = configuration(page, bed, "contended")
    other = page.context.new_page()
    for one, comment in ((page, "# first\n"), (other, "# second\n")):
        one.goto(f"{at}/system")
        one.get_by_label("Scenario", exact=True).fill(SMALL + comment)
    page.get_by_role("button", name="Apply").click()
    expect(page.get_by_text("Applied.")).to_be_visible()
    other.get_by_role("button", name="Apply").click()
    expect(other.get_by_role("alert")).to_contain_text("Discard changes loads the other version")
    expect_scenario(other, SMALL + "# second\n")
    other.get_by_role("button", name="Discard changes").click()
    other.get_by_role("button", name="Discard", exact=True).click()
    expect_scenario(other, SMALL + "# first\n")
    other.close()


def test_a_session_over_plain_http_survives_a_reload(browser: Browser, tmp_path: Path) -> None:
    """With --insecure, at a name that is not loopback, where browsers refuse Secure cookies. The
    log-in survives a reload, may make changes, and ends when the user logs out."""
    with serving(tmp_path / "data", "--insecure", "--name", "lab.test") as plain:
        plain.url = plain.url.replace("127.0.0.1", "lab.test")
        page = joined(browser, plain)
        page.reload()
        expect(page.get_by_role("heading", name="Configurations")).to_be_visible()
        page.get_by_role("button", name="New blank").click()
        expect(page.get_by_role("link", name="4 Launch")).to_be_visible()
        page.goto(f"{plain.url}/#/account")
        page.get_by_role("button", name="Log out").click()
        expect(page.get_by_role("button", name="Log in")).to_be_visible()
        page.reload()
        log_in(page, plain)
        page.context.close()
