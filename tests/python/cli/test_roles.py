"""Sessions of four users, as they type them: a doctoral student, a satcom engineer, an application
developer, and the administrator of a shared lab."""

from __future__ import annotations

import csv
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import bentpipe as bp
import pytest
from bentpipe.scenario.facts import acm_of
from helpers import ROOT
from rigs import commands
from rigs.networks import needs, networks
from rigs.testbeds import PASSWORD, SMALL, serving

#: Calls bentpipe in its own folder and returns the printed text.
Call = Callable[..., str]


@pytest.fixture
def call(tmp_path: Path) -> Call:
    def run(*words: object, code: int | None = 0) -> str:
        done = commands.run(*words, folder=tmp_path)
        assert code is None or done.returncode == code, done.stdout + done.stderr
        assert "Traceback" not in done.stderr
        return done.stdout

    return run


def test_a_doctoral_student_reproduces_a_study_and_varies_it(call: Call, tmp_path: Path) -> None:
    """A study with its verdicts; one of its runs as a scenario; a campaign over that scenario,
    whose tables agree; the causes of one slow moment; the student's own congestion control."""
    found = json.loads(call("reproduce", "dama", "--test", "T_III", "--out", "study", "--json"))
    assert found["successful"] and [one["id"] for one in found["statements"] if one["outcome"] == "holds"]
    folder = tmp_path / "study" / "runs" / "friendliness-rbdc"
    scenario = tmp_path / "mine.toml"
    shutil.copy(folder / "scenario.toml", scenario)
    # Without the preset's comments it remains a scenario that describes itself.
    assert "valid: " in call("check", scenario)
    flow = bp.load(scenario).flows[0]["name"]
    key = f"flow.{flow}.transport.congestion"
    vary = ("--vary", f"{key}=reno,cubic", "--set", "duration=40 s", "--replications", "2")
    call("campaign", "run", scenario, *vary, "--out", "campaign")
    of = ("--metric", "goodput", "--of", flow)
    shown = call("campaign", "table", "campaign", *of)
    call("campaign", "export", "campaign", "means.csv", *of)
    call("campaign", "export", "campaign", "means.tex", *of)
    rows = list(csv.DictReader((tmp_path / "means.csv").read_text().splitlines()))
    assert [row["congestion"] for row in rows] == ["reno", "cubic"]
    latex = (tmp_path / "means.tex").read_text()
    assert "goodput (kbit/s)" in latex and "goodput" in shown and "kbit/s" in shown
    for row in rows:
        mean = float(row["goodput (kbit/s)"])
        printed = [float(word) for word in re.findall(r"(?<![\w.])\d+(?:\.\d+)?(?![\w.])", shown)]
        assert any(one == pytest.approx(mean, rel=0.01) for one in printed), (mean, shown)
    call("campaign", "plot", "campaign", "--metric", "goodput", "--out", "figures")
    assert list((tmp_path / "figures").glob("*.png"))
    # A detailed view of one variant.
    detail = ("--set", "duration=20 s", "--set", 'record.traces=["tcp","waits"]')
    call("simulate", scenario, *detail, "--out", "one")
    assert "superframe" in call("explain", "one", "--at", "10 s")
    # A variant of her own, which is compiled only with her consent.
    shutil.copy(ROOT / "crates/congestion/variants/reno.c", tmp_path / "mine.c")
    own = ("--set", f'{key}={{file="./mine.c"}}', *detail, "--out", "own", "--no-report")
    call("simulate", scenario, *own, code=2)
    call("--allow-code", "simulate", scenario, *own)
    same = json.loads(call("compare", "one", "own", "--figure", "none", "--json"))
    assert [one["key"] for one in same["scenario"]] in ([key], [])
    # The equations cover only congestion controls that they know; the simulated result is identical
    # to the last digit.
    differing = {one["quantity"] for one in same["flows"] if one["a"] != one["b"]}
    assert flow_congestion(tmp_path / "one", flow) == "reno"
    assert differing == {"predicted_goodput", "predicted_rtt"}
    # A notebook displays a run by itself.
    assert flow in bp.open_run(tmp_path / "one")._repr_html_()


def flow_congestion(folder: Path, name: str) -> str:
    """Returns the congestion control of a run's flow."""
    flows = {flow["name"]: flow for flow in bp.open_run(folder).scenario["flow"]}
    return str(flows[name]["transport"]["congestion"])


def test_a_satcom_engineer_sizes_a_hub_for_200_terminals(call: Call, tmp_path: Path) -> None:
    """The check lists each part with its MODCOD; a campaign finds a sufficient number of carriers;
    the report names the worst terminals of each class."""
    hub = ROOT / "examples" / "hub.toml"
    acm = (
        "network.sat.return.acm={burst=1616,esn0_db=12.0}",
        'network.sat.forward.acm={esn0_db=12.0,fade={samples="time,st1,gw\\n0,0,0\\n5,14,0\\n"}}',
        "duration=20 s",
    )
    changes = [word for change in acm for word in ("--set", change)]
    shown = call("check", hub, *changes)
    assert "MODCOD" in shown and "Es/N0" in shown
    known = json.loads(call("check", hub, *changes, "--json"))["facts"]["flows"]
    hops = [hop for flow in known for hop in (*flow["there"], *flow["back"])]
    assert all(acm_of(hop) for hop in hops)
    adaptive = {hop["part"]: own for hop in hops if (own := acm_of(hop))}
    # 12 dB less the margin of 1 dB: the most efficient MODCOD of DVB-S2 within 11 dB is 16APSK 3/4
    # (10.21 dB).
    assert {one["modcod"] for part, one in adaptive.items() if part == "sat.forward"} == {"16APSK 3/4"}
    assert all(one["esn0_db"]["start"] == 12.0 for one in adaptive.values())
    assert "16APSK 3/4" in shown and "12 dB" in shown
    for count in (8, 12):
        call(
            "simulate",
            hub,
            "--set",
            f"network.sat.return.carriers=[{{rate='2048 kbit/s',count={count}}}]",
            "--set",
            "duration=20 s",
            "--out",
            f"with-{count}",
        )
        call("report", f"with-{count}")
    groups = {count: bp.group_table(bp.open_run(tmp_path / f"with-{count}")) for count in (8, 12)}
    waits = {
        count: table.filter(
            (table["group"] == "web.reverse") & table["quantity"].str.starts_with("transaction mean")
        )["mean"]
        for count, table in groups.items()
    }
    assert all(len(one) <= 1 for one in waits.values())
    page = (tmp_path / "with-12" / "report.html").read_text()
    assert "Nodes whose flows get least" in page and "class voice" in page
    assert page.count("the equations describe bulk transfers") == 1


#: Her test: a page behind a geostationary satellite, and the effect of a slower link on it.
PAGE = """
import time
import pytest

@pytest.mark.bentpipe("geo-ka")
def test_the_page_arrives(satellite, tmp_path):
    (tmp_path / "page.html").write_text("<h1>hello</h1>")
    server = next(host for host in satellite.hosts if host != satellite.near)
    address = satellite.hosts[server]["ipv4"]
    satellite.popen("python3", "-m", "http.server", "8000", "--directory", str(tmp_path), host=server)
    for _ in range(50):
        words = ("curl", "-s", "-o", "got", "-w", "%{time_total}", f"http://{address}:8000/page.html")
        got = satellite.run(*words, cwd=tmp_path)
        if got.returncode == 0:
            break
        time.sleep(0.2)
    assert (tmp_path / "got").read_text() == "<h1>hello</h1>"
    # A handshake and a request, a round trip of half a second each.
    assert 0.9 < float(got.stdout) < 5
"""


@networks
@needs("curl")
def test_an_application_developer_tests_her_program_behind_a_satellite(tmp_path: Path) -> None:
    """Her unchanged server and client, in a test of her own project."""
    (tmp_path / "test_page.py").write_text(PAGE)
    kept = {
        name: value for name, value in os.environ.items() if not name.startswith(("BENTPIPE_", "PYTEST_"))
    }
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_page.py"],
        cwd=tmp_path,
        env=kept | {"BENTPIPE_STATE": str(tmp_path / "state")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "1 passed" in done.stdout, done.stdout + done.stderr


def test_an_administrator_runs_a_lab_for_a_group(call: Call, tmp_path: Path) -> None:
    """She starts the test bed and follows the link on the console, invites people of two levels,
    sees their actions, limits them, and ends actions that are no longer allowed. A copy of the
    folder is a backup."""
    httpx = pytest.importorskip("httpx2", reason="bentpipe[testbed] is not installed")
    assert json.loads(call("machine", "doctor", "--json", code=None))
    data = tmp_path / "data"
    with serving(data) as served:

        def browser(invitation: str, name: str) -> Any:
            client = httpx.Client(base_url=served.url, headers={"Origin": served.url}, timeout=60)
            given = {"invitation": invitation, "name": name, "password": PASSWORD}
            answer = client.post("/api/invitations/accept", json=given)
            assert answer.status_code == 201, answer.text
            client.headers["Cookie"] = f"__Host-bentpipe={answer.cookies['__Host-bentpipe']}"
            return client

        assert served.invitation is not None
        boss = browser(served.invitation, "boss")
        people = {}
        for name, level in (("ada", "user"), ("guest", "guest")):
            link = boss.post("/api/invitations", json={"level": level}).json()["link"]
            people[name] = browser(link.rpartition("/")[2], name)
        ada, guest = people["ada"], people["guest"]
        # An observer cannot launch; a user launches within limits, and a refusal states the limit.
        assert guest.post("/api/runs", json={"text": SMALL}).status_code == 403
        long = SMALL.replace("20 s", "29 d")
        refused = ada.post("/api/runs", json={"text": long})
        assert refused.status_code in (409, 422) and "allow" in refused.json()["detail"]
        (run,) = ada.post("/api/runs", json={"text": SMALL.replace("20 s", "2 s")}).json()
        assert guest.get(f"/api/runs/{run['id']}").status_code == 404
        # She sees everything, and the log records who did what.
        assert [one["owner"] for one in boss.get("/api/runs").json()] == ["ada"]
        actions = [(one["user"], one["action"]) for one in boss.get("/api/audit").json()]
        assert ("ada", "launch") in actions and ("boss", "invite") in actions
        # Ada leaves the group: as a guest she is logged out and cannot launch.
        account = {one["name"]: one["id"] for one in boss.get("/api/accounts").json()}["ada"]
        assert boss.patch(f"/api/accounts/{account}", json={"level": "guest"}).status_code == 200
        assert ada.get("/api/runs").status_code == 401
        # No account can take over: an account of another level cannot invite, and the last
        # administrator stays.
        assert guest.post("/api/invitations", json={"level": "administrator"}).status_code == 403
        own = {one["name"]: one["id"] for one in boss.get("/api/accounts").json()}["boss"]
        assert boss.patch(f"/api/accounts/{own}", json={"level": "guest"}).status_code == 409
        for client in (boss, ada, guest):
            client.close()
        assert served.stop() == 0
    shutil.copytree(data, tmp_path / "backup")
    shutil.rmtree(data)
    with serving(tmp_path / "backup") as served, httpx.Client(base_url=served.url, timeout=60) as client:
        answer = client.post(
            "/api/session", json={"name": "boss", "password": PASSWORD}, headers={"Origin": served.url}
        )
        cookie = {"Cookie": f"__Host-bentpipe={answer.cookies['__Host-bentpipe']}"}
        assert [one["owner"] for one in client.get("/api/runs", headers=cookie).json()] == ["ada"]
