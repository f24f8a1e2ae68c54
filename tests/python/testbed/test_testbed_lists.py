"""Lists of runs: filters, orders, totals, results, notes and tags, saved views, and actions on many
runs."""

from __future__ import annotations

import io
import zipfile

import pytest

pytest.importorskip("fastapi", reason="bentpipe[testbed] is not installed")

from bentpipe.results.flows import flow_results
from bentpipe.results.runs import Run as Results
from bentpipe.testbed.executor import size
from bentpipe.testbed.summaries import checked
from bentpipe.testbed.tables import Run
from helpers.beds import Bed, _cheap_passwords, bed, launched, said
from httpx2 import Client
from rigs.testbeds import SMALL, until
from sqlalchemy import select

__all__ = ["_cheap_passwords", "bed"]


def numbers(client: Client, **given: str) -> list[int]:
    """Returns the numbers of the listed runs, and checks their total."""
    answer = client.get("/api/runs", params=given)
    assert answer.status_code == 200, answer.text
    filters = {key: value for key, value in given.items() if key not in ("sort", "descending", "offset")}
    total = client.get("/api/runs/total", params=filters).json()["total"]
    found = [one["number"] for one in answer.json()]
    assert total >= len(found) and ("offset" in given or total == len(found))
    return found


def test_an_ended_run_has_its_results_in_the_list(bed: Bed) -> None:
    """The results are those of the flows; the page reads no files for them."""
    ada = bed.join("ada")
    bed.execute()
    (run,) = launched(ada)
    assert run["goodput"] is None
    found = until(lambda: (one := ada.get("/api/runs").json()[0])["ended"] and one)
    (flow,) = flow_results(Results(bed.settings.folder(1, run["id"])))
    assert found["goodput"] == flow.goodput and found["rtt"] == flow.rtt_mean
    assert found["timeouts"] == flow.timeouts and found["mos"] is None
    assert found["bytes"] == size(bed.settings.folder(1, run["id"])) > 100_000


def test_the_summary_of_a_process_is_not_trusted() -> None:
    given = {"goodput": float("nan"), "rtt": "x", "timeouts": 1e300, "delay": 0.5, "verdict": "perfect"}
    assert checked(given | {"owner_id": 7}) == {"delay": 0.5, "verdict": ""}


def test_lists_are_filtered_and_sorted(bed: Bed) -> None:
    ada, bob = bed.join("ada"), bed.join("bob")
    for name in ("c", "a", "b"):
        launched(ada, name=name)
    (his,) = launched(bob, name="his")
    bob.patch(f"/api/runs/{his['id']}", json={"shared": True})
    with bed.store.writing() as rows:
        for run, goodput in zip(
            rows.scalars(select(Run).order_by(Run.number)), (5.0, None, 7.0), strict=False
        ):
            run.goodput, run.state, run.verdict = goodput, "done", "void" if goodput == 7.0 else ""
    assert numbers(ada) == [4, 3, 2, 1]
    assert numbers(ada, owner="ada") == [3, 2, 1]
    assert numbers(ada, owner="ada", sort="name", descending="false") == [2, 3, 1]
    # Runs without a value come last in both directions.
    assert numbers(ada, owner="ada", sort="goodput") == [3, 1, 2]
    assert numbers(ada, owner="ada", sort="goodput", descending="false") == [1, 3, 2]
    assert numbers(ada, verdict="void") == [3]
    assert numbers(ada, state="queued") == [4]
    assert numbers(ada, offset="3") == [1]
    assert ada.get("/api/runs", params={"sort": "scenario"}).status_code == 422
    assert ada.get("/api/runs/total").json()["owners"] == ["ada", "bob"]
    first = ada.get("/api/runs").json()[-1]["id"]
    assert ada.patch(f"/api/runs/{first}", json={"tags": ["two words"]}).status_code == 422
    marked = ada.patch(f"/api/runs/{first}", json={"tags": ["fig-17", "x_y"], "notes": "As printed 100%"})
    assert (marked.json()["tags"], marked.json()["notes"]) == (["fig-17", "x_y"], "As printed 100%")
    assert numbers(ada, tag="fig-17") == [1] and numbers(ada, search="0%") == [1]
    # A tag is a whole word, and an underscore is no wildcard.
    assert numbers(ada, tag="fig") == [] and numbers(ada, tag="x.y") == []
    assert ada.get("/api/runs/total").json()["tags"] == ["fig-17", "x_y"]


def test_an_action_on_many_runs_changes_only_the_callers(bed: Bed) -> None:
    ada, bob, gil = bed.join("ada"), bed.join("bob"), bed.join("gil", "guest")
    mine = [launched(ada)[0]["id"] for _ in range(3)]
    (his,) = launched(bob)
    bob.patch(f"/api/runs/{his['id']}", json={"shared": True})

    def act(client: Client, **given: object) -> dict[str, int]:
        answer = client.post("/api/runs/bulk", json=given)
        assert answer.status_code == 200, answer.text
        found: dict[str, int] = answer.json()
        return found

    ids = [*mine[:2], his["id"], "0123456789abcdef"]
    assert act(ada, action="tag", tag="t", runs=ids) == {"changed": 2, "skipped": 2}
    assert act(ada, action="remove", runs=ids) == {"changed": 0, "skipped": 4}
    assert act(ada, action="cancel", matching={"tag": "t"}) == {"changed": 2, "skipped": 0}
    assert act(ada, action="remove", matching={"state": "cancelled"}) == {"changed": 2, "skipped": 0}
    assert act(ada, action="share", matching={}) == {"changed": 1, "skipped": 1}
    assert bob.get(f"/api/runs/{mine[2]}").status_code == 200
    assert [one["id"] for one in ada.get("/api/runs").json()] == [his["id"], mine[2]]
    assert gil.post("/api/runs/bulk", json={"action": "remove", "runs": mine}).status_code == 403
    for wrong in ({}, {"runs": mine, "matching": {}}, {"matching": {"owner_id": 1}}):
        assert ada.post("/api/runs/bulk", json={"action": "cancel", **wrong}).status_code == 422
    assert "tag" in said(ada.post("/api/runs/bulk", json={"action": "tag", "runs": mine}))


def test_runs_are_downloaded_as_one_archive(bed: Bed) -> None:
    ada, bob = bed.join("ada"), bed.join("bob")
    runs = [launched(ada)[0] for _ in range(2)]
    for run in runs:
        folder = bed.settings.folder(1, run["id"]) / "traces"
        folder.mkdir(parents=True)
        (folder / "tcp.parquet").write_bytes(f"run {run['number']}".encode() * 400_000)
        (folder / "outside").symlink_to(bed.settings.file)
    params = {"run": [one["id"] for one in runs]}
    assert bob.get("/api/runs/zip", params=params).status_code == 404
    answer = ada.get("/api/runs/zip", params=params)
    assert answer.headers["content-disposition"] == 'attachment; filename="runs.zip"'
    with zipfile.ZipFile(io.BytesIO(answer.content)) as archive:
        assert archive.testzip() is None
        assert archive.namelist() == ["run-1/traces/tcp.parquet", "run-2/traces/tcp.parquet"]
        assert archive.read("run-2/traces/tcp.parquet") == b"run 2" * 400_000
    with bed.store.writing() as rows:
        for row in rows.scalars(select(Run)):
            row.bytes = 3_000_000_000
    assert ada.get("/api/runs/zip", params=params).status_code == 413
    assert ada.get("/api/runs/zip").status_code == 422


def test_views_are_saved_per_user(bed: Bed) -> None:
    ada, bob, gil = bed.join("ada"), bed.join("bob"), bed.join("gil", "guest")
    for query in ("state=done", "state=done&sort=-goodput"):
        assert ada.put("/api/views/best/x", json={"query": query}).status_code == 404
        assert ada.put("/api/views/best", json={"query": query}).status_code == 200
    assert ada.get("/api/views").json() == [{"name": "best", "query": "state=done&sort=-goodput"}]
    assert bob.get("/api/views").json() == []
    assert bob.delete("/api/views/best").status_code == 404
    assert gil.put("/api/views/best", json={"query": ""}).status_code == 403
    assert ada.delete("/api/views/best").status_code == 204
    assert ada.get("/api/views").json() == []


def test_comments_are_seen_by_those_who_see_the_run(bed: Bed) -> None:
    ada, bob, eve = bed.join("ada"), bed.join("bob"), bed.join("eve")
    gil = bed.join("gil", "guest")
    (run,) = launched(ada)
    at = f"/api/runs/{run['id']}/comments"
    assert bob.get(at).status_code == bob.post(at, json={"text": "x"}).status_code == 404
    ada.patch(f"/api/runs/{run['id']}", json={"shared": True})
    his = bob.post(at, json={"text": " Why 4 time-outs? "}).json()
    hers = eve.post(at, json={"text": "Handovers"}).json()
    assert gil.post(at, json={"text": "x"}).status_code == 403
    assert ada.post(at, json={"text": "  "}).status_code == 422
    assert [(one["user"], one["text"], one["mine"]) for one in gil.get(at).json()] == [
        ("bob", "Why 4 time-outs?", False),
        ("eve", "Handovers", False),
    ]
    # The author and the owner of the run may remove a comment.
    assert bob.delete(f"{at}/{hers['id']}").status_code == 403
    assert bob.delete(f"{at}/{his['id']}").status_code == 204
    assert ada.delete(f"{at}/{hers['id']}").status_code == 204
    assert ada.get(at).json() == []


def test_a_course_sees_what_is_shared_with_it(bed: Bed) -> None:
    ada, bob, eve = bed.join("ada"), bed.join("bob"), bed.join("eve")
    gil = bed.join("gil", "guest")
    course = ada.post("/api/courses", json={"name": "Networks 2"}).json()
    assert ada.post("/api/courses", json={"name": "Networks 2"}).status_code == 409
    assert gil.post("/api/courses", json={"name": "x"}).status_code == 403
    at = f"/api/courses/{course['id']}"
    assert "nobody" in said(ada.put(f"{at}/members", json={"members": ["nobody"]}))
    found = ada.put(f"{at}/members", json={"members": ["gil", "bob"]}).json()
    assert (found["members"], found["mine"]) == (["bob", "gil"], True)
    (run,) = launched(ada)
    one = f"/api/runs/{run['id']}"
    text = {"name": "ours", "text": SMALL}
    configuration = ada.post("/api/configurations", json=text).json()
    assert ada.patch(one, json={"course": 99}).status_code == 404
    assert ada.patch(one, json={"course": course["id"]}).json()["course"] == "Networks 2"
    changed = ada.put(
        f"/api/configurations/{configuration['id']}", json={"version": 1, "course": course["id"]}
    )
    assert changed.json()["course"] == "Networks 2"
    for client, seen in ((bob, True), (gil, True), (eve, False)):
        assert len(client.get("/api/runs").json()) == seen
        assert client.get(one).status_code == (200 if seen else 404)
        assert len(client.get("/api/configurations").json()) == seen
        assert len(client.get("/api/courses").json()) == seen
    # A member reads, and changes neither the course nor what is shared with it.
    assert bob.put(f"{at}/members", json={"members": []}).status_code == 403
    assert bob.patch(one, json={"notes": "x"}).status_code == 403
    assert eve.put(f"{at}/members", json={"members": ["eve"]}).status_code == 404
    (his,) = launched(eve)
    assert eve.patch(f"/api/runs/{his['id']}", json={"course": course["id"]}).status_code == 404
    ada.put(f"{at}/members", json={"members": ["gil"]})
    assert bob.get(one).status_code == 404
    assert ada.delete(at).status_code == 204
    assert gil.get(one).status_code == 404 and ada.get(one).json()["course"] is None
