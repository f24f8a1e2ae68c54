"""The life of a group: quotas, the abilities of the laboratory, reservations of the real clock, and
cards of configurations."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("fastapi", reason="bentpipe[testbed] is not installed")

from bentpipe import _native
from bentpipe.testbed import instruments, queue, rules
from bentpipe.testbed.api.drafts import _files, templates
from bentpipe.testbed.tables import Run
from helpers.beds import Bed, _cheap_passwords, bed, launched, said, saved
from httpx2 import Client, Response
from rigs.testbeds import SMALL
from sqlalchemy import select

__all__ = ["_cheap_passwords", "bed"]

SERVED = ("simulate", "kernel", "emulate")


def test_quotas_are_seen_by_the_user_and_by_administrators(bed: Bed, monkeypatch: pytest.MonkeyPatch) -> None:
    root, ada = bed.join("root", "administrator"), bed.join("ada")
    saved(ada)
    launched(ada)
    with bed.store.writing() as rows:
        run = rows.scalars(select(Run)).one()
        run.state, run.bytes = "done", 5_000_000
    launched(ada)
    found = {one["name"]: (one["used"], one["limit"]) for one in ada.get("/api/quotas").json()}
    limits = rules.OF_LEVEL["user"]
    assert found == {
        "queued": (1, limits.queued),
        "runs": (2, limits.runs),
        "configurations": (1, limits.configurations),
        "stored": (5_000_000, limits.stored),
    }
    of_ada = next(one for one in root.get("/api/accounts").json() if one["name"] == "ada")
    assert {one["name"]: (one["used"], one["limit"]) for one in of_ada["quotas"]} == found
    assert ada.get("/api/accounts").status_code == 403
    small = replace(limits, stored=4_000_000)
    monkeypatch.setitem(rules.OF_LEVEL, "user", small)
    answer = ada.post("/api/runs", json={"text": SMALL})
    assert (answer.status_code, "5 MB" in said(answer)) == (409, True)


def test_the_laboratory_names_its_abilities_without_paths(bed: Bed, monkeypatch: pytest.MonkeyPatch) -> None:
    found = {"what": "TUN device", "status": "ok", "needed": True, "remedy": "see /usr/share/doc/x"}
    report = {"findings": [found | {"found": "/dev/net/tun can be opened"}]}
    monkeypatch.setattr(_native, "examine", lambda: json.dumps(report))
    ada, gil = bed.join("ada"), bed.join("gil", "guest")
    assert ada.get("/api/laboratory").json()["findings"] == []
    instruments.write_checks(bed.settings)
    instruments.write(bed.settings, {"kernel": f"no kernel in {bed.settings.data}/kernels/x"})
    seen = ada.get("/api/laboratory").json()
    assert [(one["what"], one["found"]) for one in seen["findings"]] == [("TUN device", "tun can be opened")]
    reasons = {one["name"]: one["reason"] for one in seen["instruments"]}
    assert reasons["simulate"] is None and reasons["kernel"] == "no kernel in x"
    assert "disabled" in reasons["emulate"]
    assert seen["limits"]["queued"] == rules.OF_LEVEL["user"].queued
    assert str(bed.settings.data) not in json.dumps(seen)
    of_guest = gil.get("/api/laboratory").json()["instruments"]
    assert all("guest" in one["reason"] for one in of_guest)


def reserve(client: Client, now: float, starts: float, ends: float, **more: str) -> Response:
    return client.post("/api/reservations", json={"starts": now + starts, "ends": now + ends, **more})


def test_reservations_do_not_overlap_and_belong_to_their_owner(tmp_path: Path) -> None:
    bed = Bed(tmp_path / "data", real_time=True)
    ada, bob = bed.join("ada"), bed.join("bob")
    gil, root = bed.join("gil", "guest"), bed.join("root", "administrator")
    now = time.time()
    made = reserve(ada, now, 600, 1200, note="Figure 17").json()
    assert (made["user"], made["mine"], made["note"]) == ("ada", True, "Figure 17")
    for starts, ends in ((0, 601), (700, 800), (1199, 2000), (0, 3000)):
        answer = reserve(bob, now, starts, ends)
        assert (answer.status_code, "ada" in said(answer)) == (409, True)
    assert reserve(bob, now, 1200, 1300).status_code == 201
    for starts, ends in ((50, 50), (-100, -50), (2000, 2000 + 13 * 3600), (61 * 86_400, 61 * 86_400 + 60)):
        assert reserve(bob, now, starts, ends).status_code == 422
    assert reserve(gil, now, 5000, 5100).status_code == 403
    assert [(one["user"], one["mine"]) for one in bob.get("/api/reservations").json()] == [
        ("ada", False),
        ("bob", True),
    ]
    at = f"/api/reservations/{made['id']}"
    assert bob.delete(at).status_code == 403 and gil.delete(at).status_code == 403
    assert root.delete(at).status_code == 204
    assert ada.delete(at).status_code == 404
    bed.store.close()
    off = Bed(tmp_path / "off")
    assert reserve(off.join("ada"), now, 600, 1200).status_code == 409
    off.store.close()


def test_a_reservation_keeps_others_from_the_real_clock(tmp_path: Path) -> None:
    """Only runs in real time of the owner start during a reservation, and no other run in real time
    starts that would last into it."""
    bed = Bed(tmp_path / "data", real_time=True)
    ada, bob = bed.join("ada"), bed.join("bob")
    launched(bob, name="real")
    launched(ada, name="hers")
    with bed.store.writing() as rows:
        for run in rows.scalars(select(Run)):
            run.instrument, run.duration = "emulate", 100.0

    def claimed() -> str | None:
        with bed.store.writing() as rows:
            run = queue.claim(rows, "w", SERVED)
            name = None if run is None else run.name
            if run is not None:
                run.state, run.started = "queued", None
        return name

    assert claimed() == "real"
    now = time.time()
    made = reserve(ada, now, 60, 3600).json()
    assert claimed() == "hers"
    with bed.store.writing() as rows:
        for run in rows.scalars(select(Run).where(Run.name == "real")):
            run.duration = 20.0
    # It ends before the reservation.
    assert claimed() == "real"
    ada.delete(f"/api/reservations/{made['id']}")
    reserve(bob, now, -10, 3600)
    with bed.store.writing() as rows:
        rows.delete(rows.scalars(select(Run).where(Run.name == "real")).one())
    assert claimed() is None
    launched(ada, name="simulated")
    assert claimed() == "simulated"
    bed.store.close()


def test_every_template_belongs_to_one_group(bed: Bed) -> None:
    found = templates(None)  # type: ignore[arg-type]
    names = [one.name for one in found]
    assert len(set(names)) == len(names)
    files = {file.stem for file in _files()}
    assert set(names) == {"blank"} | files | {name for name, _, _ in _native.presets()}
    assert [one.name for one in found if not one.group or not one.about or not one.picture] == ["blank"]


def test_a_configuration_shows_its_purpose_picture_and_last_result(bed: Bed) -> None:
    ada, bob = bed.join("ada"), bed.join("bob")
    made = saved(ada, scenario='description = "An upload"\n' + SMALL)
    assert (made["about"], made["last"]) == ("An upload", None)
    kinds = [one["kind"] for one in made["picture"]["nodes"]]
    assert kinds == ["host", "host"] and made["picture"]["edges"] == [[0, 1, True]]
    at = f"/api/configurations/{made['id']}"
    changed = ada.put(at, json={"version": 1, "text": "name =", "tags": ["a", "b"], "shared": True}).json()
    assert (changed["about"], changed["picture"], changed["tags"]) == ("", None, ["a", "b"])
    restored = ada.post(f"{at}/reset").json()
    assert (restored["about"], restored["picture"]) == ("An upload", made["picture"])
    (run,) = launched(ada, configuration=made["id"])
    with bed.store.writing() as rows:
        row = rows.scalars(select(Run)).one()
        row.state, row.goodput, row.ended = "done", 2e6, time.time()
    assert ada.get("/api/configurations").json()[0]["last"]["id"] == run["id"]
    # The run is private, although the configuration is shared.
    assert bob.get("/api/configurations").json()[0]["last"] is None
    fork = bob.post(f"{at}/fork", json={"name": "copy"}).json()
    assert (fork["about"], fork["picture"], fork["tags"]) == ("An upload", made["picture"], [])
