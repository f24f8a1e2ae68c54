"""Runs in progress in the test bed: rows of their traces, manual changes, regions. Numbers in
the names of tests refer to the abuse cases in docs/notes/abuse-cases.md."""

from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path
from typing import Any

import bentpipe as bp
import pytest
from bentpipe.scenario.scenarios import ScenarioText
from bentpipe.testbed import live, regions
from bentpipe.testbed.accounts import Caller
from bentpipe.testbed.api.events import MAX_PARTS, WatchedRun
from bentpipe.testbed.drafts import with_changes
from bentpipe.testbed.tables import Run, Session
from helpers import ROOT
from helpers.beds import Bed, _cheap_passwords, bed, launched, said
from rigs.testbeds import SMALL, until
from sqlalchemy import select

__all__ = ["_cheap_passwords", "bed"]


def test_a_run_is_watched_changed_and_repeated(bed: Bed) -> None:
    ada, bob = bed.join("ada"), bed.join("bob")
    (run,) = launched(ada, pace=4.0)
    at = f"/api/runs/{run['id']}"
    change = {"key": "link.sat.rate", "value": "1 Mbit/s"}
    assert "not started" in said(ada.post(f"{at}/changes", json=change))
    bed.execute()
    file = live.live_file(bed.settings.folder(1, run["id"]))
    until(lambda: any("tcp" in part["rows"] for part in live.read_all(file)))
    # 1: other accounts get neither the rows nor the changes of the run.
    assert bob.get("/api/events", params={"run": run["id"]}).status_code == 404
    assert bob.get(f"{at}/regions").status_code == bob.post(f"{at}/changes", json=change).status_code == 404
    assert ada.post(f"{at}/changes", json=change).status_code == 201
    assert ada.post(f"{at}/changes", json=change | {"value": "much"}).status_code == 201
    done, refused = until(
        lambda: (
            [one for one in found if one["done"] or one["refused"]]
            if len(found := ada.get(f"{at}/changes").json()) == 2
            and all(one["done"] or one["refused"] for one in found)
            else None
        )
    )
    assert 0 < done["done"] < 20 and done["refused"] is None and done["user"] == "ada"
    assert refused["done"] is None and "rate" in refused["refused"]
    shown = ada.get(f"{at}/regions").json()
    assert [(one["kind"], one["label"], one["start"]) for one in shown] == [
        ("change", "link.sat.rate = 1 Mbit/s", done["done"])
    ]
    until(lambda: ada.get(at).json()["state"] == "done")
    assert "ended" in said(ada.post(f"{at}/changes", json=change))
    assert ada.get(f"{at}/regions").json() == shown
    assert not file.exists()
    # The run is repeated from a configuration that contains the change.
    saved = ada.post(f"{at}/configuration", json={"name": "again"}).json()
    (again,) = launched(ada, text=None, configuration=saved["id"])
    until(lambda: ada.get(f"/api/runs/{again['id']}").json()["state"] == "done")
    compared = ada.get("/api/comparison", params={"run": [run["id"], again["id"]]}).json()
    assert all(flow["a"] == flow["b"] for flow in compared["others"][0]["flows"])
    # Every comparison marks the manually changed run, with the key and the value.
    assert [(one["id"], one["changed"]) for one in compared["runs"]] == [(run["id"], 1), (again["id"], 0)]
    assert not compared["pinned"]
    assert [one for one in compared["others"][0]["scenario"] if "by_hand" in one] == [
        {"key": "link.sat.rate", "a": f"1 Mbit/s at {done['done']:.2f} s", "b": None, "by_hand": True}
    ]
    assert [one["changed"] for one in ada.get("/api/runs").json()] == [0, 1]
    assert ada.get("/api/audit").json()[-1]["action"] == "join"
    assert "change run" in {line["action"] for line in ada.get("/api/audit").json()}


@pytest.mark.parametrize(
    "key, value",
    [
        ("duration", "1 s"),
        ("flow.up.app", "command"),
        ("link.sat.trace", '{ samples = { file = "/etc/passwd" } }'),
        ("link.sat.error", '{ kind = "trace", samples.file = "/etc/passwd" }'),
        ("link.sat.error", '{ "fi\\u006ce" = "x" }'),
        ("link.sat.rate", "1\nMbit/s"),
        ("link.sat.rate\x00", "1 Mbit/s"),
        ("link", "1"),
        ("link.sat", "x" * 501),
        ("", "1"),
    ],
)
def test_21_only_changeable_keys_reach_a_run(bed: Bed, key: str, value: str) -> None:
    ada = bed.join("ada")
    (run,) = launched(ada)
    with bed.store.writing() as rows:
        rows.scalars(select(Run)).one().state = "running"
    answer = ada.post(f"/api/runs/{run['id']}/changes", json={"key": key, "value": value})
    assert answer.status_code == 422 and "root:" not in answer.text


def test_21_keys_that_bypass_the_page_are_refused_by_the_engine(tmp_path: Path) -> None:
    """Keys of a link that name a file, sent directly to a run."""
    parts: list[dict[str, Any]] = []

    def watch(seen: dict[str, Any]) -> list[tuple[str, str]]:
        parts.append(seen)
        return [("link.sat.trace", '{ samples = { file = "/etc/passwd" } }')] if len(parts) == 1 else []

    bp.simulate(ScenarioText(SMALL, "small"), out=tmp_path / "run", watch=watch, pace=50.0)
    assert "cannot change while" in parts[1]["changes"][0]["refused"]


def test_rows_reach_all_viewers_of_a_run_and_nobody_else(bed: Bed, tmp_path: Path) -> None:
    """A slow reader receives all rows late, and the server does not keep them in memory."""
    ada = bed.join("ada")
    launched(ada)
    with bed.store.reading() as rows:
        session = rows.scalars(select(Session.id)).one()
    file = tmp_path / "one.live"
    writer = live.Writer(file)

    def add(number: int) -> None:
        writer.add({"rows": {"tcp": {"up": [[number, 1.0]]}}, "dropped": 0, "changes": []})

    broadcast = bed.app.state.broadcast
    caller = Caller(1, "ada", "user", session, "browser", "write")

    async def read() -> tuple[list[float], int, str]:
        async with broadcast.running():
            watching, other = (
                broadcast.follow(caller, None, WatchedRun("one", file)),
                broadcast.follow(caller, None),
            )
            await anext(watching)
            await anext(other)
            waiting = asyncio.ensure_future(anext(other))
            first = asyncio.ensure_future(anext(watching))
            add(0)
            texts = [await first]
            most = 0
            for number in range(1, 40):
                add(number)
                await asyncio.sleep(0.05)
                most = max(most, *(one.qsize() for one in broadcast.watched))
            while '"tcp":{"up":[[39,' not in texts[-1]:
                texts.append(await anext(watching))
            nothing = "" if not waiting.done() else waiting.result()
            waiting.cancel()
            await asyncio.gather(waiting, return_exceptions=True)
            await watching.aclose()
            await other.aclose()
            writer.close()
        data = [json.loads(text.partition("data: ")[2]) for text in texts]
        assert [one["begins"] for one in data] == [True] + [False] * (len(data) - 1)
        return (
            [part["rows"]["tcp"]["up"][0][0] for one in data for part in one["parts"]],
            most,
            nothing,
        )

    seen, most, nothing = asyncio.run(read())
    assert seen == list(range(40)) and most <= MAX_PARTS
    assert "rows" not in nothing


def test_the_file_of_rows_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "MAX_BYTES", 1000)
    writer = live.Writer(tmp_path / "x.live")
    change = {"key": "link.sat.rate", "value": "1 Mbit/s", "time": 1.0, "refused": None}
    for number in range(100):
        writer.add({"rows": {"tcp": {"up": [[number, 1.0]]}}, "dropped": 0, "changes": []})
    writer.add({"rows": {}, "dropped": 0, "changes": [change]})
    assert (tmp_path / "x.live").stat().st_size < 1400
    writer.close()
    *rows, last = live.read_all(tmp_path / "x.live")
    assert len(rows) + last["dropped"] == 100 and last["changes"] == [change]


def test_regions_are_those_of_the_traces(tmp_path: Path) -> None:
    """The regions of a constellation's handovers, of a multilink's selections and of the scenario's
    own changes equal those observed while the run was in progress."""
    for example, kinds in (
        ("leo-handovers", {"handover"}),
        ("satellite-to-wifi", {"selection"}),
        ("rate-change", {"change"}),
    ):
        parts: list[dict[str, Any]] = []

        def watch(seen: dict[str, Any], parts: list[dict[str, Any]] = parts) -> list[tuple[str, str]]:
            parts.append(seen)
            return []

        run = bp.simulate(ROOT / f"examples/{example}.toml", out=tmp_path / example, watch=watch)
        text = (run.path / "scenario.toml").read_text()
        found = regions.of_folder(text, [], run.path)
        assert {one.kind for one in found} == kinds
        for kind in kinds - {"change"}:
            assert len(found) == run.trace(kind).height
        last: dict[str, regions.Region] = {}
        for one in found:
            before = last.get(one.of)
            assert before is None or before.end == one.start
            last[one.of] = one
        seen = regions.of_live(text, [], parts)
        assert {(one.of, one.label, one.start) for one in seen} <= {
            (one.of, one.label, one.start) for one in found
        }
        if example == "leo-handovers":
            # Planes and slots of Iridium.
            assert all(re.fullmatch(r"P[1-6]S\d+|no satellite", one.label) for one in found)
    assert "link.sat.rate = 3 Mbit/s" in {one.label for one in found}


def test_manual_changes_become_changes_of_the_scenario() -> None:
    text = with_changes(
        SMALL,
        [
            (1.000000001, "link.sat.error", '{ kind = "packet", probability = 0.5 }'),
            (2, "link.sat.rate", "1 Mbit/s"),
        ],
    )
    loaded = bp.load(ScenarioText(text, "x"))
    assert [change["at"] for change in loaded.data["change"]] == ["1.000000001 s", "2 s"]
    assert loaded.data["change"][1]["set"]["link"]["sat"]["rate"] == "1 Mbit/s"
