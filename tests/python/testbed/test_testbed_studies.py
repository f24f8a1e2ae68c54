"""Studies in the test bed: chosen by name, reproduced as a run, with a report of verdicts."""

from __future__ import annotations

import json
from typing import Any

import pytest
from bentpipe import studies as repository
from bentpipe.errors import InputError
from bentpipe.testbed import instruments, reproducing
from bentpipe.testbed.refused import Refused
from helpers.beds import Bed, _cheap_passwords, bed, said
from httpx2 import Client
from rigs.testbeds import until

__all__ = ["_cheap_passwords", "bed"]


def test_a_study_is_reproduced(bed: Bed) -> None:
    ada = bed.join("ada")
    studies = {one["name"]: one for one in ada.get("/api/studies").json()}
    assert {"dama", "handover", "satnex"} <= set(studies)
    # The text of the study's README.
    assert studies["dama"]["title"].startswith("Performance evaluation of TCP-based applications")
    assert studies["dama"]["about"].startswith("How do TCP Reno and TCP Vegas perform")
    tests = {one["name"]: one["about"] for one in studies["dama"]["tests"]}
    assert tests["T_I"] == "RTT, throughput and efficiency of one transfer per direction (figures 6 to 11)"
    assert all(one["title"] and len(one["about"]) > 50 for one in studies.values())
    assert all(test["about"] for one in studies.values() for test in one["tests"])
    check_record(ada, studies["dama"])
    at = "/api/studies/dama/runs"
    run = ada.post(at, json={"test": "T_I", "once": "x"}).json()
    assert ada.post(at, json={"test": "T_I", "once": "x"}).json()["id"] == run["id"]
    assert (run["instrument"], run["name"], run["label"]) == ("study", "Study dama", "T_I")
    bed.execute()
    of = f"/api/runs/{run['id']}"
    ended = until(lambda: (one := ada.get(of).json())["ended"] and one, 300)
    assert (ended["state"], ended["reason"]) == ("done", "")
    report = ada.get(f"{of}/report").text
    folder = bed.settings.folder(1, run["id"])
    verdicts = json.loads((folder / "verdicts.json").read_text())
    assert len(verdicts) > 3 and all(f'<tr id="{one["id"]}">' in report for one in verdicts)
    assert "data:image/" in report and str(bed.settings.data) not in report
    assert ada.get(f"{of}/results").json()["flows"] == []
    assert "launch it again" in said(ada.post(f"{of}/configuration", json={"name": "x"}))


def check_record(ada: Client, dama: dict[str, Any]) -> None:
    """The recorded verdicts are those that the study's README lists, and figures are PNG files."""
    claims = ada.get("/api/studies/dama/claims").json()
    counted = [one for one in claims if one["role"] == "claim"]
    assert dama["outcomes"] == {
        outcome: sum(one["outcome"] == outcome for one in counted)
        for outcome in {one["outcome"] for one in counted}
    }
    readme = (repository.known()["dama"] / "README.md").read_text(encoding="utf-8")
    differing = [one for one in claims if one["outcome"] == "differs" and one["test"] == "T_V"]
    assert differing and all(one["text"] in readme and one["reason"] for one in differing)
    at = "/api/studies/dama/figures"
    assert ada.get(f"{at}/{dama['figures'][0]}").content.startswith(b"\x89PNG")
    assert ada.get(f"{at}/study.py").status_code == ada.get(f"{at}/..%2Fstudy.py").status_code == 404
    assert ada.get("/api/studies/nothing/claims").status_code == 404


def test_a_missing_kernel_is_reported_for_studies_that_need_one(bed: Bed) -> None:
    """A missing kernel is reported in the list and at the launch, for tests that need a kernel and
    for the whole study."""
    ada = bed.join("ada")
    instruments.write(bed.settings, {"kernel": instruments.NO_KERNEL})
    (satnex,) = (one for one in ada.get("/api/studies").json() if one["name"] == "satnex")
    reasons = {one["name"]: one["impossible"] for one in satnex["tests"]} | {None: satnex["impossible"]}
    needing = {name for name, reason in reasons.items() if reason}
    assert needing == {"eggs-tcp", "ucit-kernel", "wichmo-kernel", None}
    for test, reason in reasons.items():
        if reason:
            assert said(ada.post("/api/studies/satnex/runs", json={"test": test})) == reason
    assert ada.post("/api/studies/satnex/runs", json={"test": "ucit"}).status_code == 201


@pytest.mark.parametrize("study", ["nothing", "../../etc", "dama; id"])
def test_16_a_study_is_a_name_and_nothing_else(bed: Bed, study: str) -> None:
    ada, gil = bed.join("ada"), bed.join("gil", "guest")
    assert ada.post(f"/api/studies/{study}/runs", json={}).status_code == 404
    assert ada.post("/api/studies/dama/runs", json={"test": "T_99"}).status_code == 422
    assert gil.post("/api/studies/dama/runs", json={}).status_code == 403
    with pytest.raises((Refused, InputError)):
        reproducing.check(f'study = "{study}"\n')
