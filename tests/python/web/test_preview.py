"""The preview of the test bed: the engine in the page checks and runs a draft while you edit."""

from __future__ import annotations

import re
from collections.abc import Iterator

import bentpipe as bp
import pytest
from rigs.testbeds import SMALL, Served, Watched, bed, browser, create, log_in

pytest.importorskip("playwright", reason="no Playwright")
pytest.importorskip("fastapi", reason="bentpipe[testbed] is not installed")

from bentpipe.scenario.scenarios import ScenarioText
from bentpipe.testbed.api.application import ENGINES
from playwright.sync_api import Browser, Page, expect

__all__ = ["bed", "browser"]

pytestmark = [
    pytest.mark.module,
    pytest.mark.skipif(
        not any(file.is_file() for file in ENGINES),
        reason="the engine for pages is not built: scripts/wasm --build, then scripts/web site (needs npm)",
    ),
]


@pytest.fixture(scope="module")
def editor(bed: Served, browser: Browser) -> Iterator[Page]:
    """The editor of a configuration with an open preview and a visible text."""
    # A check without an answer of the server is possible, so a refused request is no error.
    watched = Watched(browser, ignored="Failed to load resource")
    page = watched.page
    log_in(page, bed)
    create(page, bed, "laboratory")
    page.get_by_label("Scenario", exact=True).fill(SMALL)
    page.get_by_text("Preview: simulate the draft").click()
    yield page
    watched.close()


def goodput(text: str) -> str:
    """The goodput of the first flow in Mbit/s, from the native engine, as the page prints it."""
    value: float = bp.simulate(ScenarioText(text, "scenario")).flows["goodput"][0] / 1e6
    return f"{value:.4g}"


def test_the_preview_follows_the_draft(editor: Page) -> None:
    cells = editor.get_by_role("region", name="Results of the flows").locator("tbody td")
    expect(cells.first).to_have_text(goodput(SMALL))
    changed = SMALL.replace('preset = "geo"', 'preset = "geo-ka"')
    editor.get_by_label("Scenario", exact=True).fill(changed)
    expect(cells.first).to_have_text(goodput(changed))


def test_a_mistake_is_found_without_the_server(editor: Page) -> None:
    editor.route("**/api/drafts/view", lambda route: route.abort())
    editor.get_by_label("Scenario", exact=True).fill(SMALL.replace('"reno"', '"renno"'))
    expect(editor.get_by_role("alert").filter(has_text="did you mean")).to_contain_text("reno")
    editor.unroute("**/api/drafts/view")
    editor.get_by_label("Scenario", exact=True).fill(SMALL)
    expect(editor.get_by_role("alert")).to_have_count(0)


def test_a_large_draft_is_declined_with_an_estimate(editor: Page) -> None:
    editor.get_by_label("Scenario", exact=True).fill(SMALL.replace("20 s", "3 h"))
    expect(editor.get_by_role("region", name="Preview")).to_contain_text(
        re.compile(r"needs about [0-9]+ million events; a page runs at most 5 million")
    )


def test_the_policy_allows_the_engine_and_nothing_else(bed: Served, editor: Page) -> None:
    policy = editor.request.get(bed.url).headers["content-security-policy"]
    assert "script-src 'self' 'wasm-unsafe-eval';" in policy
    assert "'unsafe-eval'" not in policy.replace("'wasm-unsafe-eval'", "")
