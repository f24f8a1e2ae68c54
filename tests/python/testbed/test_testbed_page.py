"""The test bed's page in Chromium, as users operate it."""

from __future__ import annotations

import contextlib
import json
import re
import sqlite3
from collections.abc import Iterator
from typing import Any

import pytest
from rigs.networks import until
from rigs.testbeds import (
    DRAWN,
    PASSWORD,
    SMALL,
    Served,
    Watched,
    bed,
    browser,
    create,
    expect_scenario,
    log_in,
    scenario_text,
)

pytest.importorskip("playwright", reason="no Playwright")
pytest.importorskip("fastapi", reason="bentpipe[testbed] is not installed")

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect
from playwright.sync_api import TimeoutError as NeverIdle

__all__ = ["bed", "browser"]

#: The browser logs missing objects, which the page also reports to the user.
MISSING = "Failed to load resource"


@pytest.fixture(scope="module")
def ada(bed: Served, browser: Browser) -> Iterator[Page]:
    """The first administrator, logged in by the link of the console."""
    watched = Watched(browser, ignored=MISSING)
    log_in(watched.page, bed)
    yield watched.page
    watched.close()


def test_the_five_steps(bed: Served, ada: Page) -> None:
    """From the laboratory of the study to its report, in ten clicks; steps survive a reload and the
    back button."""
    page = ada
    clicks = 0

    def click(role: Any, name: str, **more: Any) -> None:
        nonlocal clicks
        clicks += 1
        page.get_by_role(role, name=name, **more).click()

    page.goto(f"{bed.url}/#/")
    click("button", "Use template Laboratory", exact=True)
    # 1. The system: the panel of the router's queue, as the study prints it.
    click("button", "link bottleneck: router1 → router2")
    expect(page.get_by_label("probability", exact=True)).to_be_visible()
    printed = {
        "limit": "75 kB",
        "min": "7.5 kB",
        "max": "22.5 kB",
        "probability": "0.1",
        "typical": "1.5 kB",
        "burst": "12",
        "bandwidth": "10 Mbit/s",
    }

    def shown(key: str) -> str:
        unit = page.get_by_label(f"Unit of {key}", exact=True)
        number = page.get_by_label(key, exact=True).input_value()
        return f"{number} {unit.input_value()}" if unit.count() else number

    assert {key: shown(key) for key in printed} == printed
    expect(page.get_by_text("unapplied changes")).to_have_count(0)
    page.get_by_label("probability", exact=True).fill("0.2")
    expect(page.get_by_text("unapplied changes")).to_be_visible()
    page.reload()
    expect(page.get_by_text("unapplied changes")).to_be_visible()
    click("button", "Show TOML")
    text = page.get_by_label("Scenario", exact=True)
    expect_scenario(page, re.compile("probability = 0.2"))
    expect_scenario(page, re.compile('typical = "1500 B"'))
    # Comments keep their positions.
    expect_scenario(page, re.compile("# Over wires only, competing at the bottleneck."))
    # An error is shown with line, key and allowed values; the picture stays.
    kept = scenario_text(page)
    text.fill(kept.replace("60 s", "60 parsec"))
    expect(page.get_by_role("alert")).to_contain_text("duration")
    text.fill(kept.replace("60 s", "20 s"))
    expect(page.get_by_role("alert")).to_have_count(0)
    # 2. Connections.
    click("link", "2 Connections")
    page.get_by_label("congestion", exact=True).select_option("cubic")
    expect(page.get_by_role("cell", name="tcp cubic")).to_be_visible()
    # 3. The test.
    click("link", "3 Test")
    expect(page.get_by_label("simulate")).to_be_checked()
    # An unavailable instrument is marked before the launch.
    expect(page.get_by_role("checkbox", name="emulate")).to_be_disabled()
    expect(page.get_by_text("emulation in real time is disabled on this test bed")).to_be_visible()
    # 4. Launch, after the preview.
    click("link", "4 Launch")
    expect(page.get_by_label("Summary of the scenario")).to_contain_text("20 s")
    expect(page.get_by_text("Predicted by the equations")).to_be_visible()
    page.go_back()
    expect(page.get_by_label("simulate")).to_be_checked()
    page.go_forward()
    click("button", "Apply and launch")
    # 5. The report.
    page.get_by_role("link", name="report", exact=True).wait_for(timeout=120_000)
    expect(page.get_by_role("columnheader", name="Goodput (kbit/s)")).to_be_visible()
    flows = page.get_by_role("region", name="Flows")
    expect(flows.get_by_role("row").filter(has_text="satellite")).to_be_visible()
    run = page.url.split("/")[-1]
    results = page.request.get(f"{bed.url}/api/runs/{run}/results").json()
    page.reload()
    check_report(page, results)
    page.get_by_text("Full report with all figures").click()
    report = page.frame_locator("iframe")
    expect(report.get_by_role("heading", name="Laboratory")).to_be_visible()
    click("link", "timeline", exact=True)
    expect(
        page.get_by_role("img", name="congestion window over time").first.locator("canvas")
    ).to_be_visible()
    assert clicks <= 10


def check_report(page: Page, results: dict[str, Any]) -> None:
    """The headline numbers are the totals of the flows, and each value that differs from its
    prediction by more than 20 % is marked, with the note of the equations."""
    whole = [one for one in results["flows"] if one["leg"] is None]
    total = sum(one["goodput"] for one in whole)
    tiles = page.get_by_role("list", name="Results").get_by_role("listitem")
    expect(tiles.filter(has_text="Goodput")).to_contain_text(f"{total / 1e6:.3g} Mbit/s")
    resent = sum(one["retransmissions"] for one in whole)
    expect(tiles.filter(has_text="Packet loss")).to_contain_text(f"{resent:,} retransmissions")
    expect(tiles.filter(has_text="Verdict")).to_contain_text("exact")
    pairs = [("goodput", "predicted_goodput"), ("rtt_mean", "predicted_rtt")]
    deviations = [
        one[value] / one[predicted] - 1
        for one in results["flows"]
        for value, predicted in pairs
        if one[value] is not None and one[predicted]
    ]
    marked = sum(abs(one) > 0.2 for one in deviations)
    assert 0 < marked < len(deviations)
    expect(tiles.filter(has_text="Predictions")).to_contain_text(f"{marked} of {len(deviations)} differ")
    marks = page.get_by_role("region", name="Flows").get_by_role("note")
    expect(marks).to_have_count(marked)
    marks.first.focus()
    notes = [note for note in results["notes"].values() if note]
    assert any(note in (marks.first.text_content() or "") for note in notes)
    expect(
        page.get_by_role("img", name=re.compile("^rate over time")).first.locator("canvas")
    ).to_be_visible()


def test_a_link_opens_the_whole_view(bed: Served, ada: Page, browser: Browser) -> None:
    """The address contains filters and chosen rows of a list, the quantities of plots and the
    visible part of the time: another window opens the same view."""
    page = ada
    page.goto(f"{bed.url}/#/runs")
    page.get_by_label("Search").fill("labor")
    page.get_by_label("State").select_option("done")
    box = page.get_by_role("checkbox", name=re.compile("Choose run")).first
    box.check()
    expect(page).to_have_url(re.compile("search=labor&state=done&chosen="))
    context = browser.new_context(
        viewport={"width": 1280, "height": 900}, storage_state=ada.context.storage_state()
    )
    other = context.new_page()
    other.goto(page.url)
    expect(other.get_by_label("Search")).to_have_value("labor")
    expect(other.get_by_label("State")).to_have_value("done")
    expect(other.get_by_role("checkbox", name=re.compile("Choose run")).first).to_be_checked()
    page.get_by_label("Search").fill("nothing like that")
    expect(page.get_by_text("No matching runs")).to_be_visible()
    run = page.request.get(f"{bed.url}/api/runs").json()[0]["id"]
    page.goto(f"{bed.url}/#/runs/{run}/timeline?show=tcp.cwnd")
    plot = page.get_by_role("img", name="tcp.cwnd over time")
    expect(plot.locator("canvas")).to_be_visible()
    inner = plot.locator(".u-over").bounding_box()
    assert inner is not None
    y = inner["y"] + inner["height"] / 2
    page.mouse.move(inner["x"] + 0.25 * inner["width"], y)
    page.mouse.down()
    page.mouse.move(inner["x"] + 0.5 * inner["width"], y, steps=5)
    # The page requests the detail of this part.
    with page.expect_response(lambda answer: "/series/tcp.cwnd?from=" in answer.url):
        page.mouse.up()
    expect(page).to_have_url(re.compile("time=[0-9.]+-[0-9.]+"))
    other.goto(page.url)
    expect(other.get_by_role("button", name="All times")).to_be_enabled()
    other.get_by_role("button", name="All times").click()
    expect(other).not_to_have_url(re.compile("time="))
    context.close()


def test_a_group_of_flows_is_one_row_of_forms_and_results(bed: Served, ada: Page) -> None:
    page = ada
    given = {"name": "grouped", "text": SMALL.replace("20 s", "10 s")}
    made = page.request.post(f"{bed.url}/api/configurations", data=given, headers={"Origin": bed.url}).json()
    page.goto(f"{bed.url}/#/configuration/{made['id']}/connections")
    page.get_by_role("button", name="Add a group of 5").click()
    expect(page.get_by_role("row").filter(has_text="5 flows").filter(has_text="poisson, 1 s")).to_be_visible()
    count = page.get_by_label("count", exact=True)
    expect(count).to_have_value("5")
    count.fill("7")
    expect(page.get_by_role("row").filter(has_text="7 flows")).to_be_visible()
    page.get_by_role("link", name="4 Launch").click()
    page.get_by_role("button", name="Apply and launch").click()
    page.get_by_role("link", name="report", exact=True).wait_for(timeout=120_000)
    group = page.get_by_role("region", name=re.compile("Group group"))
    expect(group).to_contain_text("7 flows")
    expect(group.get_by_role("row").filter(has_text="goodput, kbit/s")).to_be_visible()


def test_a_launch_shows_warnings_and_the_number_of_runs(bed: Served, ada: Page) -> None:
    """The warnings are those of `bentpipe check`, before a campaign fills the queue."""
    page = ada
    campaign = '[campaign]\nreplications = 3\nvary."flow.up.transport.congestion" = ["reno", "vegas"]\n'
    text = SMALL + '[[link]]\nname = "idle"\nfrom = "user"\nto = "server"\nrate = "1 Mbit/s"\ndelay = "9 s"\n'
    given = {"name": "cautious", "text": f"{text}\n{campaign}"}
    made = page.request.post(f"{bed.url}/api/configurations", data=given, headers={"Origin": bed.url}).json()
    page.goto(f"{bed.url}/#/configuration/{made['id']}/launch")
    expect(page.get_by_text("idle: no flow uses this part of the network")).to_be_visible()
    cost = page.get_by_role("list", name="Cost of the launch").get_by_role("listitem")
    expect(cost.first).to_contain_text("Runs6")
    # An unknown key is refused in its field, and can be undone there.
    page.get_by_role("link", name="3 Test").click()
    page.get_by_label("Key to vary").fill("loss")
    page.get_by_label("Values").fill("1, 2")
    page.get_by_role("button", name="Vary", exact=True).click()
    expect(page.get_by_role("alert")).to_contain_text("campaign.vary.loss: unknown key")
    page.get_by_role("button", name="Stop varying loss").click()
    expect(page.get_by_role("alert")).to_have_count(0)


def test_a_key_is_found_in_a_long_form_by_a_word_of_its_name_or_description(bed: Served, ada: Page) -> None:
    """TCP has about seventy keys."""
    page = ada
    given = {"name": "long", "text": SMALL}
    made = page.request.post(f"{bed.url}/api/configurations", data=given, headers={"Origin": bed.url}).json()
    page.goto(f"{bed.url}/#/configuration/{made['id']}/connections")
    sought = page.get_by_label(re.compile(r"Search \d\d keys"))
    sought.fill("selective ack")
    expect(page.get_by_label("sack", exact=True)).to_be_visible()
    expect(page.get_by_label("congestion", exact=True)).to_have_count(0)
    sought.fill("initial_win")
    page.get_by_label("initial window", exact=True).fill("4")
    expect(page.get_by_role("button", name="Apply")).to_be_enabled()
    sought.fill("no such key")
    expect(page.get_by_text("No matching key.")).to_be_visible()
    sought.fill("")
    expect(page.get_by_label("congestion", exact=True)).to_be_visible()


def test_runs_without_tcp_are_plotted_and_compared(bed: Served, ada: Page) -> None:
    """Runs without TCP are plotted by the quantities that were recorded."""
    page, origin = ada, {"Origin": bed.url}
    text = SMALL.replace('"bulk" ', '{ kind = "cbr", rate = "1 Mbit/s" } ').replace(
        '{ kind = "tcp", congestion = "reno" }', '"udp"'
    )
    runs = []
    for seed in (1, 2):
        asked = {"text": f"seed = {seed}\n{text}", "name": "cbr"}
        (run,) = page.request.post(f"{bed.url}/api/runs", data=asked, headers=origin).json()
        runs.append(run["id"])
        page.goto(f"{bed.url}/#/runs/{run['id']}")
        page.get_by_role("link", name="timeline", exact=True).click(timeout=120_000)
        expect(page.get_by_role("img", name="packet delay over time").locator("canvas")).to_be_visible()
    page.goto(f"{bed.url}/#/compare?run={','.join(runs)}")
    expect(page.get_by_role("img", name="packet delay over time").locator("canvas")).to_be_visible()


def test_a_run_states_its_outages_before_its_numbers(bed: Served, ada: Page) -> None:
    """Flows have no results if their path had no capacity, and the report lists the outages. A run
    without outages has no such list."""
    page, origin = ada, {"Origin": bed.url}
    windows = 'when = { kind = "windows", windows = [["0 s", "1 h"]] }'
    hidden = f'contacts = {{ {windows}, outages = [{{ start = "2 s", end = "4 s" }}] }}'
    dead = 'trace = { samples = "time,rate\\n0,0\\n" }'
    text = 'name = "dark"\nduration = "6 s"\n'
    for name, end, state in (("moon", "base", hidden), ("down", "dead", dead), ("fine", "server", "")):
        text += f"""
[[link]]
name = "{name}"
from = "user"
to = "{end}"
rate = "1 Mbit/s"
delay = "10 ms"
{state}
[[flow]]
name = "over-{name}"
from = "user"
to = "{end}"
app = "bulk"
transport = "tcp"
"""
    for given, expected in (
        (
            text,
            [
                "down, down.return: no capacity for the whole run. Flows affected: over-down.",
                "moon: no capacity from 2 s to 4 s. Flows affected: over-moon.",
            ],
        ),
        (SMALL, []),
    ):
        asked = {"text": given, "name": "dark"}
        (run,) = page.request.post(f"{bed.url}/api/runs", data=asked, headers=origin).json()
        page.goto(f"{bed.url}/#/runs/{run['id']}")
        page.get_by_role("region", name="Flows").wait_for(timeout=120_000)
        assert (
            page.get_by_role("list", name="Outages").get_by_role("listitem").all_text_contents() == expected
        )
        before = page.locator("main table").first.locator("xpath=preceding::ul[@aria-labelledby='outages']")
        expect(before).to_have_count(1 if expected else 0)


def test_a_network_is_drawn_and_carries_voice(bed: Served, ada: Page) -> None:
    """From a blank page: nodes and links, all in view, and a call."""
    page = ada
    create(page, bed, "blank")
    for node in ("alice", "router", "bob"):
        page.get_by_role("button", name="+ Add", exact=True).click()
        page.get_by_role("menuitem", name=re.compile("^Host")).click()
        dialog = page.get_by_role("dialog", name="Add a host")
        dialog.get_by_label("Name").fill(node)
        dialog.get_by_label("Link to").select_option("")
        dialog.get_by_role("button", name="Add", exact=True).click()
        # Hosts without a link are drawn.
        expect(page.get_by_role("heading", name=f"Host {node}")).to_be_visible()
    for start, end in (("alice", "router"), ("router", "bob")):
        page.get_by_role("button", name="+ Add", exact=True).click()
        page.get_by_role("menuitem", name=re.compile("^Link")).click()
        dialog = page.get_by_role("dialog", name="Add a link")
        dialog.get_by_label("From").select_option(start)
        dialog.get_by_label("To").select_option(end)
        dialog.get_by_role("button", name="Add", exact=True).click()
        expect(page.get_by_role("button", name=f"{start} → {end}")).to_be_visible()
    expect(page.locator(".react-flow__node")).to_have_count(3)
    for drawn in page.locator(".react-flow__node").all():
        expect(drawn).to_be_in_viewport(ratio=0.99)
    page.get_by_role("link", name="2 Connections").click()
    page.get_by_label("Application").select_option("voice")
    page.get_by_role("button", name="Add a connection").click()
    expect(page.get_by_role("row").filter(has_text="voice").filter(has_text="udp")).to_be_visible()
    page.get_by_label("codec", exact=True).fill("G.729")
    # Another application gets the transport that carries it.
    page.get_by_label("kind", exact=True).first.select_option("http")
    expect(page.get_by_role("row").filter(has_text="http").filter(has_text="tcp cubic")).to_be_visible()
    page.get_by_label("kind", exact=True).first.select_option("calls")
    expect(page.get_by_role("row").filter(has_text="calls").filter(has_text="sip")).to_be_visible()
    # Every offered application can be added unchanged.
    offered = page.get_by_label("Application").locator("option").all_text_contents()
    assert {"bulk", "netpipe", "sensors"} <= set(offered)
    assert "command" not in offered
    for number, app in enumerate(offered, 2):
        page.get_by_label("Application").select_option(app)
        page.get_by_role("button", name="Add a connection").click()
        expect(page.get_by_role("row").filter(has_text=f"flow{number}").filter(has_text=app)).to_be_visible()
    expect(page.get_by_text("The scenario is not valid")).to_have_count(0)
    page.get_by_role("link", name="4 Launch").click()
    expect(page.get_by_label("Summary of the scenario")).to_contain_text("calls over sip, alice -> bob")


def test_wifi_and_bundles_have_panels(bed: Served, ada: Page) -> None:
    """A Wi-Fi network and a network of bundles whose contact plan keeps its lines."""
    page = ada

    def start(template: str, part: str) -> None:
        create(page, bed, template)
        page.get_by_role("button", name=part).click()

    start("wifi-behind-geo", "network wlan (wifi)")
    # The link over the satellite has two edges.
    expect(page.locator(".react-flow__edge")).to_have_count(4)
    page.get_by_label("standard (required)").select_option("802.11b")
    page.get_by_role("button", name="Show TOML").click()
    expect_scenario(page, re.compile('standard = "802.11b"'))
    start("bundles", "network space (bundles)")
    plan = page.get_by_label("plan (required)")
    expect(plan).to_have_value(re.compile("id,src,dst.*\n1,rover,orbiter"))
    plan.fill(plan.input_value().replace("64000", "32000"))
    page.get_by_role("button", name="Show TOML").click()
    expect_scenario(page, re.compile("5,orbiter,earth,3600,9000,32000"))
    expect(page.get_by_role("alert")).to_have_count(0)


def test_runs_are_compared_and_downloaded(bed: Served, ada: Page) -> None:
    """Only differences, from a pinned baseline, as CSV and LaTeX; traces as Parquet, packets as
    pcapng."""
    page = ada
    runs = []
    for congestion in ("reno", "cubic"):
        text = SMALL.replace("reno", congestion).replace("[[flow]]", 'record.capture = ["user"]\n\n[[flow]]')
        made = page.request.post(
            f"{bed.url}/api/runs", data={"name": congestion, "text": text}, headers={"Origin": bed.url}
        )
        runs.append(made.json()[0]["id"])
    for run in runs:
        page.goto(f"{bed.url}/#/runs/{run}")
        page.get_by_role("link", name="report", exact=True).wait_for(timeout=120_000)
    page.goto(f"{bed.url}/#/runs/{runs[0]}")
    page.get_by_role("heading", name=re.compile("^Run .*: reno$")).wait_for()
    page.get_by_role("button", name="Pin as baseline").click()
    # The server has accepted it.
    page.get_by_role("button", name="Unpin baseline").wait_for()
    page.goto(f"{bed.url}/#/compare?run={runs[1]}")
    scenario = page.get_by_role("table", name="Differences in the scenario")
    expect(scenario.get_by_role("row").filter(has_text="congestion")).to_contain_text("cubic")
    expect(scenario.get_by_role("row")).to_have_count(2)
    results = page.get_by_role("table", name="Differences in the results")
    expect(results.get_by_role("row").nth(1)).to_be_visible()
    # A change is coloured by its direction: more goodput is better, a longer delay is worse.
    compared = page.request.get(f"{bed.url}/api/comparison?run={runs[1]}&baseline={runs[0]}").json()
    for one in compared["others"][0]["flows"]:
        if one["quantity"] in ("goodput", "rtt_mean") and one["relative"]:
            better = (one["quantity"] == "goodput") == (one["relative"] > 0)
            row = results.get_by_role("row").filter(has_text=one["quantity"].replace("rtt_mean", "RTT mean"))
            expect(row.locator(".better" if better else ".worse")).to_have_count(1)

    def download(button: Any) -> bytes:
        with page.expect_download() as found:
            button.click()
        return found.value.path().read_bytes()

    assert download(page.get_by_role("button", name="CSV", exact=True)).startswith(
        b'"run","flow","quantity",'
    )
    assert b"\\begin{tabular}" in download(page.get_by_role("button", name="LaTeX"))
    page.goto(f"{bed.url}/#/runs/{runs[1]}/files")
    assert download(page.get_by_role("link", name="traces/tcp.parquet"))[:4] == b"PAR1"
    assert download(page.get_by_role("link", name=re.compile("pcapng")).first)[:4] == b"\x0a\x0d\x0d\x0a"


def test_a_run_shows_its_fidelity_wherever_it_has_numbers(bed: Served, ada: Page) -> None:
    """Fidelity is in lists, above the results, over plots and in comparisons, with the reason for
    pointer and keyboard. No run is needed for it: an existing run gets the fidelity of an emulation
    on a busy machine."""
    page = ada
    found = page.request.get(f"{bed.url}/api/runs?state=done&limit=50").json()
    void, other = (next(one for one in found if one["name"] == name) for name in ("cubic", "reno"))
    lateness = {"count": 9, "p50_s": 0.01, "p99_s": 0.02, "max_s": 0.03}
    file = next(bed.data.glob(f"runs/*/{void['id']}")) / "fidelity.json"
    file.write_text(json.dumps({"verdict": "void", "lateness": lateness, "lost": 0, "reasons": ["busy"]}))
    with sqlite3.connect(bed.data / "testbed.sqlite") as rows:
        rows.execute("update run set instrument = 'emulate' where id = ?", (void["id"],))
    page.goto(f"{bed.url}/#/runs?search=cubic")
    mark = page.get_by_role("note", name="void")
    mark.first.hover()
    expect(page.get_by_role("tooltip").first).to_contain_text("do not use its numbers. 9 packets reached")
    expect(page.get_by_role("tooltip").first).to_be_in_viewport()
    page.goto(f"{bed.url}/#/runs/{void['id']}/report")
    expect(mark).to_have_count(2)
    mark.first.focus()
    expect(page.get_by_role("tooltip").first).to_be_in_viewport()
    page.keyboard.press("Escape")
    expect(page.locator(".tip")).to_have_count(0)
    page.goto(f"{bed.url}/#/runs/{void['id']}/timeline?show=tcp.cwnd")
    expect(mark).to_have_count(2)
    page.goto(f"{bed.url}/#/compare?run={other['id']},{void['id']}&baseline={other['id']}")
    expect(mark).to_have_count(2)
    expect(page.get_by_text(f"#{void['number']} cubic [void]")).to_be_visible()
    expect(page.get_by_text("Your pinned run")).to_have_count(0)
    serious(page, "comparison")


def test_every_view_is_accessible_and_fits(bed: Served, ada: Page, browser: Browser) -> None:
    """axe has no serious findings, and no view is wider than a phone."""
    axe = Axe()
    state = ada.context.storage_state()
    configuration, run = (
        next(
            one["id"]
            for one in ada.request.get(f"{bed.url}/api/{kind}").json()
            if one["name"] == "Laboratory"
        )
        for kind in ("configurations", "runs")
    )
    views = {
        "": "Configurations",
        f"configuration/{configuration}/system?of=link.bottleneck": "Laboratory",
        f"configuration/{configuration}/connections": "Laboratory",
        f"configuration/{configuration}/test": "Laboratory",
        f"configuration/{configuration}/launch": "Laboratory",
        f"configuration/{configuration}/report": "Laboratory",
        "runs": "Runs",
        f"runs/{run}/report": "Laboratory",
        f"runs/{run}/timeline": "Laboratory",
        f"runs/{run}/files": "Laboratory",
        f"runs/{run}/scenario": "Laboratory",
        f"runs/{run}/notes": "Laboratory",
        "studies": "Studies",
        "studies/dama": "Performance evaluation of TCP-based applications",
        "nowhere": "Page not found",
        "queue/nowhere": "Page not found",
        f"runs/{run}/nowhere": "Page not found",
        "queue": "Queue",
        f"compare?run={run}": "Compare",
        "courses": "Courses",
        "laboratory": "What this laboratory can do",
        "people": "People",
        "account": "ada",
    }
    context = browser.new_context(viewport={"width": 390, "height": 800}, storage_state=state)
    page = context.new_page()
    wrong = []
    for view, heading in views.items():
        page.goto(f"{bed.url}/#/{view}")
        expect(page.get_by_role("heading", level=1, name=re.compile(heading))).to_be_visible()
        # A view with an event stream, opened in a new document, never becomes idle.
        with contextlib.suppress(NeverIdle):
            page.wait_for_load_state("networkidle", timeout=5000)
        width = page.evaluate("document.documentElement.scrollWidth")
        if width > 390:
            wrong.append(f"{view}: {width} pixels wide")
        found = axe.run(page, options={"runOnly": ["wcag2a", "wcag2aa"], "iframes": False}).response[
            "violations"
        ]
        serious = [one for one in found if one["impact"] in ("serious", "critical")]
        wrong += [
            f"{view}: {one['id']}: {[node['html'][:200] for node in one['nodes'][:3]]}" for one in serious
        ]
    context.close()
    assert not wrong, "\n".join(wrong)


def test_the_picture_fits_a_page_that_becomes_narrower(bed: Served, ada: Page, browser: Browser) -> None:
    """All nodes stay within the picture after a change of its size, such as the rotation of a
    phone."""
    configuration = next(
        one["id"]
        for one in ada.request.get(f"{bed.url}/api/configurations").json()
        if one["name"] == "Laboratory"
    )
    context = browser.new_context(
        viewport={"width": 1280, "height": 900}, storage_state=ada.context.storage_state()
    )
    page = context.new_page()
    page.goto(f"{bed.url}/#/configuration/{configuration}/system")
    # The nodes, and the satellite above its link.
    expect(page.locator(".react-flow__node")).to_have_count(7)
    outside = """() => {
        const frame = document.querySelector(".picture").getBoundingClientRect();
        return [...document.querySelectorAll(".react-flow__node")].filter((node) => {
            const place = node.getBoundingClientRect();
            return place.left < frame.left || place.right > frame.right || frame.right > window.innerWidth;
        }).length;
    }"""
    for width in (1280, 390, 800):
        page.set_viewport_size({"width": width, "height": 800})
        until(lambda: page.evaluate(outside) == 0)
    context.close()


def test_with_the_keyboard_alone(bed: Served, browser: Browser, ada: Page) -> None:
    """From logging in to a launched run without a mouse."""
    watched = Watched(browser, ignored=MISSING)
    page = watched.page
    invitation = ada.request.post(
        f"{bed.url}/api/invitations", data={"level": "user"}, headers={"Origin": bed.url}
    ).json()["link"]
    page.goto(bed.url + invitation)
    page.get_by_label("Name").wait_for()

    def to(role: Any, name: str) -> None:
        """Presses Tab until an element has the focus."""
        wanted = page.get_by_role(role, name=name, exact=True)
        wanted.first.wait_for()
        for _ in range(120):
            if wanted.first.evaluate("one => one === document.activeElement"):
                return
            page.keyboard.press("Tab")
        raise AssertionError(f"Tab does not reach {name}")

    page.keyboard.type("bob")
    page.keyboard.press("Tab")
    page.keyboard.type(PASSWORD)
    page.keyboard.press("Enter")
    to("searchbox", "Search configurations and templates")
    page.keyboard.type("hybla")
    to("button", "Use template Hybla over a lossy satellite")
    page.keyboard.press("Enter")
    to("button", "link satellite: sender → receiver")
    page.keyboard.press("Enter")
    to("textbox", "rate (required)")
    page.keyboard.press("Control+A")
    page.keyboard.type("5 Mbit/s")
    expect(page.get_by_text("unapplied changes")).to_be_visible()
    to("link", "4 Launch")
    page.keyboard.press("Enter")
    to("button", "Apply and launch")
    page.keyboard.press("Enter")
    expect(
        page.get_by_role("heading", name=re.compile("Run .*: Hybla over a lossy satellite"))
    ).to_be_visible()
    # Ada's objects are not in Bob's lists.
    page.get_by_role("link", name="Configurations").press("Enter")
    expect(page.get_by_role("link", name="Hybla over a lossy satellite", exact=True)).to_be_visible()
    own = page.get_by_role("list", name="Configurations")
    expect(own.get_by_role("link", name="Laboratory", exact=True)).to_have_count(0)
    watched.close()


def test_two_users_at_once(bed: Served, browser: Browser, ada: Page) -> None:
    """Shared objects can be seen, forked and run by the other user; an outdated window overwrites
    nothing."""
    watched = Watched(browser, ignored=MISSING)
    bob = watched.page
    origin = {"Origin": bed.url}
    link = ada.request.post(f"{bed.url}/api/invitations", data={"level": "user"}, headers=origin).json()[
        "link"
    ]
    bob.goto(bed.url + link)
    bob.get_by_label("Name").fill("carol")
    bob.get_by_label("Password").fill(PASSWORD)
    bob.get_by_role("button", name="Create account").click()
    expect(bob.get_by_role("heading", name="Configurations")).to_be_visible()
    # A view for a higher level has no link, and its address names the level that may open it.
    expect(bob.get_by_role("navigation").get_by_role("link", name="Queue")).to_be_visible()
    expect(bob.get_by_role("link", name="People")).to_have_count(0)
    bob.goto(f"{bed.url}/#/people")
    expect(bob.get_by_role("alert")).to_have_text('This page requires the level "administrator".')
    expect(bob.get_by_role("button", name="Create an invitation")).to_have_count(0)
    body = {"name": "ours", "text": SMALL}
    made = ada.request.post(f"{bed.url}/api/configurations", data=body, headers=origin).json()
    bob.goto(f"{bed.url}/#/configuration/{made['id']}/system")
    expect(bob.get_by_text("there is no such configuration")).to_be_visible()
    ada.goto(f"{bed.url}/#/")
    ada.reload()
    ada.get_by_label("Actions of ours").click()
    ada.get_by_label("Share ours with").select_option("everybody")
    ada.get_by_role("button", name="Share ours", exact=True).click()
    expect(ada.get_by_text("ours is shared with everybody")).to_be_visible()
    bob.reload()
    expect(bob.get_by_text("shared by ada")).to_be_visible()
    expect(bob.get_by_role("button", name="Apply")).to_have_count(0)
    expect(bob.get_by_label("Scenario", exact=True)).not_to_be_editable()
    bob.goto(f"{bed.url}/#/")
    bob.get_by_label("Actions of ours").click()
    bob.get_by_role("button", name="Save as…").click()
    bob.get_by_label("Name of the copy").fill("mine")
    bob.get_by_role("button", name="Save", exact=True).click()
    expect(bob.get_by_role("heading", name="mine")).to_be_visible()
    # Ada in two windows: the second one to apply is informed, and keeps its typed text.
    other = ada.context.new_page()
    for page in (ada, other):
        page.goto(f"{bed.url}/#/configuration/{made['id']}/system")
        page.get_by_label("Scenario", exact=True).fill(SMALL + "# changed\n")
    ada.get_by_role("button", name="Apply").click()
    expect(ada.get_by_text("Applied.")).to_be_visible()
    other.get_by_role("button", name="Apply").click()
    expect(other.get_by_role("alert")).to_contain_text("changed elsewhere")
    expect_scenario(other, SMALL + "# changed\n")
    other.close()
    # 11: user input is displayed as text everywhere.
    evil = "<img src=x onerror=alert(1)>"
    scenario = SMALL.replace('name = "Small"', f'name = "{evil}"\ndescription = "{evil}"').replace(
        '"20 s"', '"1 s"'
    )
    (run,) = bob.request.post(
        f"{bed.url}/api/runs", data={"name": evil, "text": scenario}, headers=origin
    ).json()
    bob.goto(f"{bed.url}/#/runs/{run['id']}")
    expect(bob.get_by_role("heading", name=evil)).to_be_visible()
    bob.get_by_text("Full report with all figures").click(timeout=120_000)
    expect(bob.frame_locator("iframe").get_by_role("heading", name=evil)).to_be_visible()
    bob.goto(f"{bed.url}/api/runs/{run['id']}/report")
    expect(bob.get_by_role("heading", name=evil)).to_be_visible()
    watched.close()


def test_a_run_is_watched_and_changed_while_it_runs(bed: Served, ada: Page) -> None:
    """Plots appear, and a slider that is moved by the keyboard changes the run; the changes can be
    saved."""
    page = ada
    origin = {"Origin": bed.url}
    made = ada.request.post(
        f"{bed.url}/api/configurations", data={"name": "watched", "text": SMALL}, headers=origin
    ).json()
    page.add_init_script(DRAWN)
    page.goto(f"{bed.url}/#/configuration/{made['id']}/launch")
    page.reload()
    page.get_by_label("slow down").check()
    page.get_by_label("Pace").fill("0.5")
    page.get_by_role("button", name="Launch").click()
    for quantity in ("goodput", "RTT", "congestion window", "queue"):
        canvas = page.get_by_role("img", name=f"{quantity} over time").locator("canvas")
        expect(canvas).to_be_visible()
    slider = page.get_by_role("slider", name="link.sat.rate")
    expect(slider).to_have_attribute("aria-valuetext", "10 Mbit/s")
    slider.focus()
    slider.press("Home")
    expect(slider).to_have_attribute("aria-valuetext", "1 Mbit/s")
    row = page.get_by_role("row").filter(has_text="link.sat.rate")
    expect(row).to_contain_text(re.compile(r"\d+\.\d\d s"))
    serious(page, "live view")
    # Fast key strokes: changes are sent one at a time, in order, and the last value is kept.
    for _ in range(8):
        slider.press("ArrowRight")
    wanted = slider.get_attribute("aria-valuetext")
    run = page.url.rpartition("/")[2]
    found = f"{bed.url}/api/runs/{run}/changes"
    until(lambda: (last := page.request.get(found).json()[-1])["value"] == wanted and last["done"])
    made = [one for one in page.request.get(found).json() if one["key"] == "link.sat.rate"]
    rates = [float(one["value"].split()[0]) for one in made]
    assert rates == sorted(rates) and len(rates) < 8, made
    assert sorted(one["done"] for one in made) == [one["done"] for one in made]
    expect(page.get_by_text(re.compile(f"^{wanted} set at "))).to_be_visible()
    # The label in the plots shows the current value.
    until(lambda: f"link.sat.rate = {wanted}" in page.evaluate("window.drawn"))
    # A value in another unit moves the slider, which keeps its own unit.
    page.get_by_text("Any key").click()
    page.get_by_label("Key", exact=True).fill("link.sat.rate")
    page.get_by_label("New value").fill("2500 kbit/s")
    page.get_by_role("button", name="Change", exact=True).click()
    expect(page.get_by_text(re.compile("^2.5 Mbit/s set at "))).to_be_visible()
    page.set_viewport_size({"width": 390, "height": 800})
    # Plots follow a change of the window after its event.
    until(lambda: page.evaluate("document.documentElement.scrollWidth <= 390"))
    page.set_viewport_size({"width": 1280, "height": 900})
    page.get_by_role("button", name="Cancel").click()
    expect(page.get_by_text("cancelled while the run was in progress")).to_be_visible()
    page.get_by_role("link", name="scenario", exact=True).click()
    page.get_by_role("button", name="Open as a configuration").click()
    expect_scenario(page, re.compile(r'set\."link"\."sat"\."rate" = "1 Mbit/s"'))


def test_a_constellation_is_on_a_map(bed: Served, ada: Page) -> None:
    """66 satellites, with footprints for those that serve the sites; time moves them."""
    page = ada
    text = ada.request.get(f"{bed.url}/api/templates/leo-handovers").json()["text"]
    made = ada.request.post(
        f"{bed.url}/api/configurations", data={"name": "sky", "text": text}, headers={"Origin": bed.url}
    ).json()
    page.goto(f"{bed.url}/#/configuration/{made['id']}/system")
    satellites = page.locator("svg.map circle.satellite")
    expect(satellites).to_have_count(66)
    expect(page.locator("svg.map path.footprint")).to_have_count(2)
    before = satellites.first.get_attribute("cx")
    page.get_by_role("slider", name="Time").press("PageUp")
    expect(satellites.first).not_to_have_attribute("cx", before or "")
    serious(page, "map")
    page.set_viewport_size({"width": 390, "height": 800})
    # Plots follow a change of the window after its event.
    until(lambda: page.evaluate("document.documentElement.scrollWidth <= 390"))
    page.set_viewport_size({"width": 1280, "height": 900})


def serious(page: Page, view: str) -> None:
    """Fails if axe has serious findings."""
    found = (
        Axe().run(page, options={"runOnly": ["wcag2a", "wcag2aa"], "iframes": False}).response["violations"]
    )
    wrong = [
        f"{view}: {one['id']}: {[node['html'][:200] for node in one['nodes'][:3]]}"
        for one in found
        if one["impact"] in ("serious", "critical")
    ]
    assert not wrong, "\n".join(wrong)
