"""The session of the SatNEx study's test bed by two users in Chromium, without TOML: RED with the
printed values on Router 1, a split on Router 2, Hybla over the satellite, and a competing flow.

The session is saved as "personal RED_default", run, shared and compared. It takes at most 15 clicks
in addition to typed values."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from rigs.networks import needs, networks
from rigs.testbeds import PASSWORD, Served, browser, log_in, serving, until

pytest.importorskip("playwright", reason="no Playwright")
pytest.importorskip("fastapi", reason="bentpipe[testbed] is not installed")

from playwright.sync_api import Browser, Locator, Page, expect

__all__ = ["browser"]

#: The RED panel of the study.
RED = {
    "limit": "75 kB",
    "min": "7.5 kB",
    "max": "22.5 kB",
    "probability": "0.1",
    "typical": "1.5 kB",
    "burst": "12",
}
#: Most clicks of the session.
MAX_CLICKS = 15


@pytest.fixture
def bed(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Served]:
    with serving(tmp_path / "data", *getattr(request, "param", ())) as served:
        yield served


class Hand:
    """A user who clicks, or who uses the keyboard only. Selections count as clicks."""

    def __init__(self, page: Page, *, keyboard: bool) -> None:
        self.page, self.keyboard = page, keyboard
        self.clicks = 0

    def click(self, target: Locator) -> None:
        """Activates a button, a link, a check box or a part of the picture."""
        self.clicks += 1
        if self.keyboard:
            target.press("Space" if target.get_attribute("type") == "checkbox" else "Enter")
        else:
            target.click()

    def button(self, name: str, *, exact: bool = True) -> None:
        """Activates the button with a name."""
        self.click(self.page.get_by_role("button", name=name, exact=exact))

    def link(self, name: str) -> None:
        """Activates the link with a name."""
        self.click(self.page.get_by_role("link", name=name, exact=True))

    def select(self, label: str, value: str) -> None:
        """Chooses a value of a list."""
        self.clicks += 1
        self.page.get_by_label(label, exact=True).select_option(value)

    def open(self, node: str, kind: str) -> None:
        """Opens the panel of a node: in the picture, or by the keyboard in the list of parts."""
        if self.keyboard:
            self.button(f"{kind} {node}")
        else:
            self.click(self.page.locator(".react-flow__node").filter(has_text=re.compile(f"^{node}$")))


def session(hand: Hand, duration: str, instruments: list[str]) -> list[int]:
    """Sets the session up and launches it. Returns the number of each run."""
    page = hand.page
    hand.button("Use template Laboratory")
    hand.open("router1", "router")
    expect(page.get_by_role("heading", name="Router router1")).to_be_visible()
    for key, value in RED.items():
        page.get_by_label(key, exact=True).fill(value)
    expect(page.get_by_role("slider", name="max threshold")).to_be_visible()
    hand.open("router2", "proxy")
    hand.select("Mechanism", "split")
    expect(page.get_by_label("buffer", exact=True)).to_be_visible()
    hand.open("sender1", "host")
    hand.select("congestion", "hybla")
    hand.link("3 Test")
    page.get_by_label("Duration", exact=True).fill(duration)
    for instrument in instruments:
        if instrument != "simulate":
            hand.click(page.get_by_role("checkbox", name=re.compile(f"^{instrument}")))
    hand.button("Save as…")
    page.get_by_label("Name", exact=True).fill("personal RED_default")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="personal RED_default")).to_be_visible()
    hand.link("4 Launch")
    expect(page.get_by_label("Summary of the scenario")).to_contain_text(duration)
    expect(page.get_by_label("Summary of the scenario")).to_contain_text("split at router2")
    hand.button("Launch")
    page.wait_for_url(re.compile("#/(runs|configuration/[^/]+/report)"))
    runs: list[int] = page.evaluate(
        "fetch('/api/runs').then(r => r.json()).then(all => all.map(one => one.number))"
    )
    assert len(runs) == len(instruments)
    return runs


def ended(page: Page) -> None:
    """Waits until all runs are done."""
    every = "fetch('/api/runs').then(r => r.json()).then(all => all.map(one => one.state))"
    until(lambda: set(page.evaluate(every)) == {"done"}, 900)


@pytest.mark.parametrize(("keyboard", "width"), [(False, 1280), (True, 1280), (False, 390)])
def test_the_session_takes_at_most_15_clicks(
    bed: Served, browser: Browser, keyboard: bool, width: int
) -> None:
    """With the mouse, by the keyboard and on a phone. A second user sees the shared report."""
    page = browser.new_context(viewport={"width": width, "height": 900}).new_page()
    page.set_default_timeout(120_000)
    log_in(page, bed)
    hand = Hand(page, keyboard=keyboard)
    (number,) = session(hand, "200 s", ["simulate"])
    ended(page)
    page.goto(f"{bed.url}/#/runs")
    hand.click(page.get_by_role("link", name=re.compile(f"^{number} personal RED_default")))
    flows = page.get_by_role("region", name="Flows")
    expect(flows.get_by_role("row", name=re.compile("^satellite "))).to_be_visible()
    hand.click(page.get_by_text("Full report with all figures"))
    report = page.frame_locator("iframe")
    expect(report.get_by_role("heading", name="Laboratory")).to_be_visible()
    # The paper's figure 17: the congestion window and the threshold over the time of the run.
    hand.link("timeline")
    expect(page.get_by_text("satellite@accelerator ssthresh")).to_be_visible()
    hand.button("Share")
    assert hand.clicks <= MAX_CLICKS, hand.clicks
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    bob = joined(page, browser, bed, "bob")
    bob.goto(page.url)
    expect(bob.get_by_role("heading", name=f"Run {number}: personal RED_default")).to_be_visible()
    expect(bob.get_by_text("satellite@accelerator ssthresh")).to_be_visible()
    for one in (page, bob):
        one.context.close()


@networks
@needs("ip")
@pytest.mark.slow
@pytest.mark.parametrize("bed", [("--real-time",)], indirect=True)
def test_the_session_runs_on_three_clocks(bed: Served, browser: Browser) -> None:
    """200 s as a simulation, with a kernel in virtual time and in real time, and compared."""
    page = browser.new_context(viewport={"width": 1280, "height": 900}).new_page()
    page.set_default_timeout(120_000)
    log_in(page, bed)
    hand = Hand(page, keyboard=False)
    session(hand, "200 s", ["simulate", "kernel", "emulate"])
    ended(page)
    page.goto(f"{bed.url}/#/runs")
    hand.click(page.get_by_role("checkbox", name="Choose all runs of this page"))
    hand.button("Compare")
    expect(page.get_by_role("heading", name="Compare")).to_be_visible()
    # The first run is the baseline, which a list shows.
    expect(page.get_by_label("Baseline", exact=True)).to_contain_text("simulate")
    for instrument in ("kernel", "emulate"):
        expect(page.get_by_text(instrument).first).to_be_visible()
    assert hand.clicks <= MAX_CLICKS, hand.clicks
    page.context.close()


def joined(page: Page, browser: Browser, bed: Served, name: str) -> Page:
    """Returns the page of a second user, invited by the first."""
    made = page.evaluate(
        """() => fetch('/api/invitations', {method: 'POST', body: '{"level": "user"}',
           headers: {'Content-Type': 'application/json'}}).then(r => r.json())"""
    )
    second = browser.new_context(viewport={"width": 1280, "height": 900}).new_page()
    second.set_default_timeout(120_000)
    second.goto(f"{bed.url}/{made['link'].lstrip('/')}")
    second.get_by_label("Name").fill(name)
    second.get_by_label("Password").fill(PASSWORD)
    second.get_by_role("button", name="Create account").click()
    expect(second.get_by_role("heading", name="Configurations")).to_be_visible()
    return second
