"""The playground of the site in Chromium, as people use it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import bentpipe as bp
import polars as pl
import pytest
from bentpipe.scenario.scenarios import ScenarioText, load
from helpers import ROOT
from manual import playground
from rigs import sites
from rigs.testbeds import Watched, browser

pytest.importorskip("playwright", reason="no Playwright")

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect

__all__ = ["browser"]

pytestmark = [
    pytest.mark.module,
    pytest.mark.skipif(
        not (sites.SCRIPTS / "engine.js").exists(),
        reason="the script of the site is not built: scripts/wasm --build, then scripts/web site (needs npm)",
    ),
]

GEO = (ROOT / "examples" / "geo-bulk.toml").read_text().partition("\n")[2]


@pytest.fixture(scope="module", params=["file", "http"])
def address(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The playground's address from a file and over HTTP."""
    page = sites.write_playground(tmp_path_factory.mktemp("site"))
    if request.param == "file":
        yield page.as_uri()
        return
    with sites.served(page.parent) as url:
        yield f"{url}/{page.name}"


def has_run(page: Page, events: str = "") -> None:
    """Waits for the results of a run."""
    expect(page.get_by_text(re.compile(rf"network time with {events or '[0-9,]+'} events"))).to_be_visible()


def written(page: Page, text: str) -> None:
    """Replaces the text in the editor, as a paste does."""
    page.get_by_role("textbox", name="Scenario as TOML").focus()
    page.keyboard.press("Control+a")
    page.keyboard.insert_text(text)


def goodput(page: Page) -> str:
    """The goodput of the first flow in the table."""
    return page.get_by_role("region", name="Results of the flows").locator("tbody td").first.inner_text()


def test_the_first_scenario_runs_and_equals_the_native_engine(address: str, browser: Browser) -> None:
    with Watched(browser, address) as page:
        has_run(page)
        native = bp.simulate(ROOT / "examples" / "geo-bulk.toml").flows["goodput"][0]
        assert goodput(page) == f"{native / 1e6:.4g}"
        expect(page.get_by_role("img", name="goodput over time")).to_be_visible()
        expect(page.get_by_label("host server")).to_be_visible()


def test_a_mistake_has_the_message_of_the_loader_at_its_line(address: str, browser: Browser) -> None:
    wrong = GEO.replace('"reno"', '"renno"')
    line = wrong.splitlines().index('congestion = "renno"') + 1
    with Watched(browser, address) as page:
        has_run(page)
        written(page, wrong)
        expect(page.get_by_role("status").filter(has_text=f"Line {line}")).to_contain_text(
            "did you mean reno?"
        )
        expect(page.locator(".cm-lint-marker-error")).to_be_visible()
        written(page, GEO)
        expect(page.locator(".cm-lint-marker-error")).to_be_hidden()


def test_keys_and_values_are_completed_and_described(address: str, browser: Browser) -> None:
    with Watched(browser, address) as page:
        has_run(page)
        written(page, GEO.replace('congestion = "reno"\n', ""))
        page.keyboard.type("conges")
        page.get_by_role("option", name=re.compile("^congestion")).first.click()
        page.keyboard.type('"hyb')
        page.get_by_role("option", name='"hybla"').click()
        has_run(page)
        expect(page.get_by_role("textbox", name="Scenario as TOML")).to_contain_text('congestion = "hybla"')
        page.locator(".cm-line span", has_text="duration").first.hover()
        expect(page.locator(".help-text")).to_contain_text("Units: ns, us, ms, s, min, h, d")


def test_a_pinned_run_stays_beside_the_next_one(address: str, browser: Browser) -> None:
    with Watched(browser, address) as page:
        has_run(page)
        before = goodput(page)
        page.get_by_role("button", name="Pin this run").click()
        written(page, GEO.replace('preset = "geo"', 'preset = "geo-ka"'))
        expect(page.get_by_role("region", name="Results of the flows").locator("small").first).to_have_text(
            before
        )
        expect(page.locator(".one-plot").first).to_contain_text("pinned: download")
        expect(
            page.get_by_role("region", name="Results of the flows").locator("tbody td").first
        ).not_to_contain_text(re.compile(f"^{re.escape(before)}$"))


def test_a_link_contains_the_scenario(address: str, browser: Browser) -> None:
    with Watched(browser, address) as page:
        has_run(page)
        written(page, GEO.replace("400 s", "7 s"))
        page.get_by_role("button", name="Copy link").click()
        expect(page).to_have_url(re.compile("#scenario="))
        link = page.url
    with Watched(browser, link) as other:
        expect(other.get_by_text("7 s of network time")).to_be_visible()
        expect(other.get_by_role("textbox", name="Scenario as TOML")).to_contain_text('duration = "7 s"')


def test_downloads_are_the_text_and_the_results(address: str, browser: Browser, tmp_path: Path) -> None:
    with Watched(browser, address) as page:
        has_run(page)
        with page.expect_download() as toml:
            page.get_by_role("button", name="Download TOML").click()
        assert toml.value.path().read_text() == GEO
        run = bp.simulate(toml.value.path(), out=tmp_path / "run")
        with page.expect_download() as flows:
            page.get_by_label("Download CSV").select_option("flows")
        table = pl.read_csv(flows.value.path())
        assert table["goodput"][0] == run.flows["goodput"][0]
        with page.expect_download() as trace:
            page.get_by_label("Download CSV").select_option("tcp")
        kept = pl.read_csv(trace.value.path())
        native = run.trace("tcp").with_columns(pl.col("time").round(9))
        same = kept.rename({"time (s)": "time"}).join(native, on="time", how="inner")
        assert same.height == kept.height > 100
        assert (same["cwnd (segments)"] == same["cwnd"]).all()


def test_a_run_that_is_too_large_is_declined_with_its_size(address: str, browser: Browser) -> None:
    with Watched(browser, address) as page:
        has_run(page)
        written(page, GEO.replace("400 s", "1 h"))
        expect(page.get_by_role("alert")).to_contain_text(
            re.compile(r"needs about [0-9]+ million events; a page runs at most 5 million")
        )


def test_the_picture_shows_the_entity_in_the_text(address: str, browser: Browser) -> None:
    with Watched(browser, f"{address}#geo-split") as page:
        has_run(page)
        page.get_by_label(re.compile("^proxy ")).click()
        expect(page.locator(".cm-activeLine")).to_be_visible()
        expect(page.get_by_role("textbox", name="Scenario as TOML")).to_be_focused()


def test_the_packets_of_a_flow_follow_the_scenario(tmp_path: Path, browser: Browser) -> None:
    """The diagram shows the chosen flow between the nodes of its path, and again after an edit."""
    file = sites.write_playground(tmp_path)
    with Watched(browser, f"{file.as_uri()}#geo-split") as page:
        has_run(page)
        page.get_by_text("Follow each packet of a flow").click()
        packets = page.get_by_role("group", name="The packets of the flow")
        expect(packets.locator(".packets-sentence")).to_have_text(re.compile(r"\d+ segments"))
        canvas = packets.locator("canvas")
        expect(canvas).to_have_attribute("aria-label", re.compile("between .*, .*, "))
        page.get_by_label("First seconds").fill("3")
        expect(packets.locator(".packets-sentence")).to_have_text(re.compile(r"to 3\.00 s"))
        # Preloading style sheets would need XMLHttpRequest, which files do not allow.
        found = Axe().run(page, context=".packets", options={"preload": False})
        assert found.response["violations"] == []
        written(page, GEO)
        expect(canvas).to_have_attribute("aria-label", re.compile("flow download between server, user"))
        packets.get_by_role("button", name="Play").click()
        expect(packets.locator(".packets-sentence")).to_have_text(re.compile(r"^At 0\."))


@pytest.mark.parametrize("width", [1280, 390])
def test_nothing_hinders_access(address: str, browser: Browser, width: int) -> None:
    with Watched(browser, address, viewport={"width": width, "height": 900}) as page:
        has_run(page)
        assert Axe().run(page, options={"preload": False}).response["violations"] == []
        assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_every_example_can_be_simulated() -> None:
    """Links name examples, so names are unique. The first example is the default."""
    found = playground.examples()
    for one in found:
        source = str(ROOT / "examples" / f"{one['name']}.toml")
        load(ScenarioText(one["toml"], source)).native.check_simulated()
    names = [one["name"] for one in found]
    assert len(set(names)) == len(names)
    assert names[0] == playground.FIRST
    assert {one["group"] for one in found} == {"Examples", "Gallery", "Presets"}
