"""The editor of the test bed's page as a laboratory: panels of things, the menu that adds things,
the layered picture, and the history of a draft."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from typing import Any

import pytest
from bentpipe.quantities import base_value
from rigs.testbeds import (
    SMALL,
    Served,
    Watched,
    bed,
    browser,
    expect_scenario,
    log_in,
    scenario_text,
    until,
)

pytest.importorskip("playwright", reason="no Playwright")
pytest.importorskip("fastapi", reason="bentpipe[testbed] is not installed")

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect

__all__ = ["bed", "browser"]

#: The browser logs missing objects, which the page also reports to the user.
MISSING = "Failed to load resource"

#: An expression for the stored text of a draft.
STORED = "sessionStorage.getItem(`draft ${location.hash.split('/')[2]}`)"

#: A router between two hosts, with the RED queue of the study.
ROUTED = """name = "Routed"
duration = "20 s"

[[link]]
name = "in"
from = "sender"
to = "router"
rate = "100 Mbit/s"
delay = "1 ms"

[[link]]
name = "out"
from = "router"
to = "receiver"
rate = "10 Mbit/s"
delay = "250 ms"
queue = { kind = "red", min = 5, max = 15, packets = 60 }

[[flow]]
name = "up"
from = "sender"
to = "receiver"
app = "bulk"
transport = { kind = "tcp", congestion = "reno" }
"""


@pytest.fixture(scope="module")
def ada(bed: Served, browser: Browser) -> Iterator[Page]:
    """The first administrator, logged in by the link of the console."""
    watched = Watched(browser, ignored=MISSING)
    log_in(watched.page, bed)
    yield watched.page
    watched.close()


def configuration(page: Page, bed: Served, name: str, text: str) -> str:
    """Creates a configuration, and returns the address of its system."""
    given = {"name": name, "text": text}
    made = page.request.post(f"{bed.url}/api/configurations", data=given, headers={"Origin": bed.url})
    return f"{bed.url}/#/configuration/{made.json()['id']}/system"


def laboratory(page: Page, bed: Served) -> str:
    template: str = page.request.get(f"{bed.url}/api/templates/laboratory").json()["text"]
    return template


def draft(page: Page) -> dict[str, Any]:
    """Returns the scenario of the draft, which the page stores while it differs from the applied
    scenario."""
    until(lambda: page.evaluate(STORED) is not None)
    return tomllib.loads(page.evaluate(STORED))


@pytest.mark.parametrize("width", [1280, 390])
def test_the_session_of_the_paper_is_set_up_in_the_panels(
    bed: Served, ada: Page, browser: Browser, width: int
) -> None:
    """RED on Router 1, a split on Router 2, another TCP variant and a competing flow, without TOML:
    each panel opens from the picture and contains its thing."""
    context = browser.new_context(
        viewport={"width": width, "height": 900}, storage_state=ada.context.storage_state()
    )
    page = context.new_page()
    page.goto(configuration(ada, bed, f"session {width}", laboratory(ada, bed)))
    page.locator(".react-flow__node").filter(has_text="router1").click()
    # On a phone, the panel is below the picture.
    expect(page.get_by_role("heading", name="Router router1")).to_be_in_viewport()
    queue = page.get_by_role("region", name="Queue towards router2")
    queue.get_by_label("kind").select_option("drop-tail")
    expect(queue.get_by_label("packets", exact=True)).to_be_visible()
    queue.get_by_label("kind").select_option("red-bytes")
    queue.get_by_label("min", exact=True).fill("7.5")
    queue.get_by_label("max", exact=True).fill("22.5 kB")
    queue.get_by_label("probability", exact=True).fill("0.1")
    page.get_by_role("button", name="Add a competing sender").click()
    expect(page.get_by_role("heading", name="Flow flow1: sender3 → wired-receiver")).to_be_visible()
    page.locator(".react-flow__node").filter(has_text="router2").click()
    page.get_by_label("Mechanism", exact=True).select_option("split")
    expect(page.get_by_label("buffer", exact=True)).to_be_visible()
    page.locator(".react-flow__node").filter(has_text="sender1").click()
    page.get_by_label("congestion", exact=True).select_option("westwood")
    until(lambda: draft(page)["flow"][0]["transport"]["congestion"] == "westwood")
    made = draft(page)
    (bottleneck,) = [one for one in made["link"] if one["name"] == "bottleneck"]
    red = bottleneck["queue"]
    assert (red["kind"], red["probability"]) == ("red-bytes", 0.1)
    assert [base_value(red[key]) for key in ("min", "max")] == [7500, 22500]
    assert made["proxy"][0].get("enabled", True)
    assert [one["from"] for one in made["flow"]] == ["sender1", "sender2", "sender3"]
    assert [(one["from"], one["to"]) for one in made["link"]][-1] == ("sender3", "router1")
    expect(page.get_by_text("The scenario is not valid")).to_have_count(0)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    context.close()


def test_the_drop_curve_is_changed_by_pointer_and_keyboard(bed: Served, ada: Page) -> None:
    """Handles of the curve are sliders (ARIA practices): arrow keys move them, and dragging sets
    the value under the pointer. `min` stays below `max`."""
    page = ada
    page.goto(f"{configuration(page, bed, 'curve', ROUTED)}?of=node.router")
    low, high = (page.get_by_role("slider", name=f"{one} threshold") for one in ("min", "max"))
    expect(low).to_have_attribute("aria-valuenow", "5")
    low.press("ArrowRight")
    expect(page.get_by_label("min", exact=True)).to_have_value("6")
    for _ in range(3):
        low.press("PageUp")
    expect(low).to_have_attribute("aria-valuenow", "14")
    probability = page.get_by_role("slider", name="probability at max")
    probability.press("ArrowUp")
    expect(page.get_by_label("probability", exact=True)).to_have_value("0.11")
    dot = high.locator(".dot")
    before = dot.bounding_box()
    start = low.locator(".dot").bounding_box()
    assert before is not None
    assert start is not None
    page.mouse.move(before["x"] + 7, before["y"] + 7)
    page.mouse.down()
    # The distance between 14 and 15 packets, ten times.
    page.mouse.move(before["x"] + 7 + 10 * (before["x"] - start["x"]), before["y"] + 7, steps=4)
    page.mouse.up()
    expect(high).to_have_attribute("aria-valuenow", re.compile("^2[0-9]$"))
    until(lambda: draft(page)["link"][1]["queue"]["max"] >= 20)
    assert draft(page)["link"][1]["queue"]["min"] == 14


def test_everything_that_the_menu_adds_is_valid(bed: Served, ada: Page) -> None:
    """Each item opens the panel of a new thing, and the scenario stays valid. The menu is operated
    by the keyboard."""
    page = ada
    page.goto(configuration(page, bed, "added", ROUTED))
    menu = page.get_by_role("button", name="+ Add", exact=True)
    opened = {
        "dvb-rcs": "Satellite network dvbrcs1",
        "skyplex": "Satellite network skyplex1",
        "constellation": "Satellite network constellation1",
        "atm": "Satellite network atm1",
        "wifi": "Network wifi1",
        "bundles": "Satellite network bundles1",
        "Proxy": "Proxy proxy1 at router",
        "Service": "Service service1 at",
        "Change": "Change at 10 s",
        "Handover": "Handover at 10 s",
    }
    for item, heading in opened.items():
        menu.press("Enter")
        wanted = page.get_by_role("menuitem", name=re.compile(f"^{item}"))
        for _ in range(20):
            if wanted.evaluate("one => one === document.activeElement"):
                break
            page.keyboard.press("ArrowDown")
        page.keyboard.press("Enter")
        title = page.get_by_role("heading", level=2, name=heading)
        expect(title).to_be_visible()
        expect(title).to_be_focused()
        expect(page.get_by_text("The scenario is not valid")).to_have_count(0)
    made = draft(page)
    assert len(made["network"]) == 6
    assert made["change"][0]["set"] == {"link": {"out": {"rate": "5 Mbit/s"}}}
    assert made["handover"][0]["to"] in made["multilink"][0]["links"]
    # The new value of a change has its own field.
    page.get_by_role("button", name="change at 10 s").click()
    page.get_by_label("link out rate (required)").fill("2")
    until(lambda: draft(page)["change"][0]["set"]["link"]["out"]["rate"] == "2 Mbit/s")
    menu.click()
    page.keyboard.press("Escape")
    expect(page.get_by_role("menu")).to_have_count(0)
    expect(menu).to_be_focused()


def test_an_empty_scenario_and_a_host_without_a_link(bed: Served, ada: Page) -> None:
    """A host is drawn before its first link. Without hosts, a link has new hosts as its ends."""
    page = ada
    page.goto(configuration(page, bed, "empty", 'name = "Empty"\nduration = "10 s"\n'))
    expect(page.get_by_text("The scenario is empty")).to_be_visible()
    menu = page.get_by_role("button", name="+ Add", exact=True)
    menu.click()
    page.get_by_role("menuitem", name=re.compile("^Host")).click()
    page.get_by_role("dialog").get_by_label("Name").fill("alone")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Host alone")).to_be_visible()
    expect(page.locator(".react-flow__node")).to_have_text(["alone"])
    menu.click()
    page.get_by_role("menuitem", name=re.compile("^Link")).click()
    page.get_by_role("dialog").get_by_role("button", name="Add", exact=True).click()
    expect(page.get_by_role("heading", name="Link link1: alone → host1")).to_be_visible()
    expect(page.locator(".react-flow__node")).to_have_count(2)
    expect(page.get_by_text("The scenario is not valid")).to_have_count(0)


def test_senders_are_at_the_left_and_the_satellite_is_above(bed: Served, ada: Page) -> None:
    """The layout is layered by the flows, and labels have at least 12 pixels."""
    page = ada
    page.goto(configuration(page, bed, "layers", laboratory(page, bed)))
    expect(page.locator(".react-flow__node")).to_have_count(7)
    page.wait_for_timeout(500)

    def place(name: str) -> tuple[float, float]:
        box = page.locator(".react-flow__node").filter(has_text=re.compile(f"^{name}")).first.bounding_box()
        assert box is not None
        return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2

    layers = ["sender", "router1", "router2", "wired-receiver"]
    columns = [place(one)[0] for one in layers]
    assert columns == sorted(columns)
    assert place("sender2")[0] < place("router1")[0]
    assert place("satellite-receiver")[0] > place("router2")[0]
    satellite = page.locator(".part.satellite").bounding_box()
    assert satellite is not None
    assert satellite["y"] + satellite["height"] < min(place(one)[1] for one in layers)
    sizes = page.evaluate("""() => {
        const viewport = document.querySelector(".react-flow__viewport");
        const zoom = new DOMMatrix(getComputedStyle(viewport).transform).a;
        return [...viewport.querySelectorAll(".label, .label small, .link-label, .link-label small")].map(
            (one) => parseFloat(getComputedStyle(one).fontSize) * zoom);
    }""")
    assert min(sizes) >= 12


def test_one_history_of_picture_forms_and_text(bed: Served, ada: Page) -> None:
    """Ctrl+Z undoes the last step, wherever it was made; Ctrl+Shift+Z repeats it."""
    page = ada
    page.goto(configuration(page, bed, "history", ROUTED))
    node = page.locator(".react-flow__node").filter(has_text="router")
    expect(node).to_be_visible()
    page.wait_for_timeout(500)
    undo, redo = (page.get_by_role("button", name=one, exact=True) for one in ("Undo", "Redo"))
    expect(undo).to_be_disabled()

    def place() -> tuple[int, int]:
        box = node.bounding_box()
        assert box is not None
        return round(box["x"]), round(box["y"])

    start = place()
    # The text.
    page.get_by_label("Scenario", exact=True).click()
    page.keyboard.press("Control+End")
    page.keyboard.type("# typed")
    expect_scenario(page, ROUTED + "# typed")
    # The picture.
    page.mouse.move(start[0] + 30, start[1] + 8)
    page.mouse.down()
    page.mouse.move(start[0] + 60, start[1] + 68, steps=5)
    page.mouse.up()
    until(lambda: place()[1] > start[1] + 40)
    moved = place()
    # A form, whose input has not been sent yet when it is undone.
    page.get_by_role("button", name="link in: sender → router").click()
    field = page.get_by_label("rate (required)")
    field.fill("50")
    page.keyboard.press("Control+z")
    expect(field).to_have_value("100")
    expect(field).to_be_focused()
    page.keyboard.press("Control+z")
    until(lambda: abs(place()[1] - start[1]) <= 2)
    undo.click()
    expect(undo).to_be_disabled()
    page.get_by_role("button", name="Show TOML").click()
    expect_scenario(page, ROUTED)
    for _ in range(3):
        page.keyboard.press("Control+Shift+Z")
    expect(redo).to_be_disabled()
    until(lambda: abs(place()[1] - moved[1]) <= 2)
    assert "# typed" in scenario_text(page)
    assert 'rate = "50 Mbit/s"' in scenario_text(page)
    # The position was stored.
    stored = page.evaluate("location.hash.split('/')[2]")
    until(lambda: "router" in page.request.get(f"{bed.url}/api/configurations/{stored}").json()["positions"])


def test_the_text_has_completion_help_and_problems(bed: Served, ada: Page) -> None:
    page = ada
    page.goto(configuration(page, bed, "completed", SMALL))
    text = page.get_by_label("Scenario", exact=True)
    page.locator(".cm-line").filter(has_text=re.compile("^duration")).locator("span").first.hover()
    expect(page.locator(".help-text")).to_contain_text("Duration of the run")
    text.click()
    page.keyboard.press("Control+End")
    page.keyboard.type("dsc")
    page.get_by_role("option", name=re.compile("^dscp")).click()
    expect_scenario(page, SMALL + "dscp = ")
    text.fill(SMALL.replace('"reno"', '"renno"'))
    mistake = page.locator(".cm-lintRange-error").first
    expect(mistake).to_have_text(re.compile("renno"))
    text.fill(SMALL)
    expect(page.locator(".cm-lintRange-error")).to_have_count(0)


def test_traces_are_check_boxes_and_units_are_choices(bed: Served, ada: Page) -> None:
    page = ada
    page.goto(f"{configuration(page, bed, 'traces', ROUTED)}?of=record")
    expect(page.get_by_role("checkbox", name="tcp", exact=True)).to_be_checked()
    page.get_by_role("button", name="None", exact=True).click()
    page.get_by_role("checkbox", name="link", exact=True).check()
    until(lambda: draft(page).get("record") == {"traces": ["link"]})
    page.get_by_role("button", name="link in: sender → router").click()
    expect(page.get_by_label("rate (required)")).to_have_value("100")
    page.get_by_label("Unit of rate").select_option("kbit/s")
    until(lambda: draft(page)["link"][0]["rate"] == "100 kbit/s")
    # Keys that are used rarely are folded.
    expect(page.get_by_label("quick start")).to_have_count(0)
    page.get_by_text("Copies and signalling").click()
    expect(page.get_by_label("count", exact=True)).to_be_visible()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_panels_are_accessible(bed: Served, ada: Page, scheme: Any) -> None:
    """axe has no findings on the panels, in both colour schemes."""
    page = ada
    page.emulate_media(color_scheme=scheme)
    at = configuration(page, bed, f"axe {scheme}", laboratory(page, bed))
    for of in ("", "node.router1", "node.router2", "node.sender1", "link.satellite", "record"):
        page.goto(f"{at}?of={of}")
        page.reload()
        expect(page.locator(".react-flow__node")).to_have_count(7)
        panel = page.get_by_role("region", name="Panel")
        expect(panel.locator(".cm-content, .keys, .thing").first).to_be_visible()
        page.get_by_role("button", name="+ Add", exact=True).click()
        found = Axe().run(page, options={"runOnly": ["wcag2a", "wcag2aa"]}).response["violations"]
        assert [(one["id"], [node["html"][:200] for node in one["nodes"][:3]]) for one in found] == [], of
    page.emulate_media(color_scheme="light")
