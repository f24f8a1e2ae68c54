"""Means over the runs of one launch equal those of the command line. Omitted runs are listed."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi", reason="bentpipe[testbed] is not installed")

from bentpipe.cli import app
from bentpipe.statistics import student_quantile
from bentpipe.testbed.tables import Change, Run
from helpers.beds import Bed, _cheap_passwords, bed, launched, said
from helpers.campaigns import SCENARIO
from httpx2 import Client
from rigs.testbeds import SMALL, until
from sqlalchemy import select
from typer.testing import CliRunner

__all__ = ["_cheap_passwords", "bed"]

#: Two congestion controls at two delays, with three replications each.
CAMPAIGN = SCENARIO.replace("replications = 6", "replications = 3").replace('"50 ms", ', "")
#: The same at one delay.
ONE_DELAY = CAMPAIGN.replace('["100 ms", "200 ms"]', '["100 ms"]')
CONGESTION, DELAY = "flow.down.transport.congestion", "link.sat.delay"


def ended(client: Client, runs: list[dict[str, Any]]) -> None:
    """Waits for the end of all runs."""
    batch = {"batch": runs[0]["batch"], "limit": 200}
    until(lambda: all(one["ended"] for one in client.get("/api/runs", params=batch).json()))


def means(client: Client, batch: str, *metrics: str, **more: str) -> dict[str, Any]:
    answer = client.get(f"/api/batches/{batch}/means", params={"metric": list(metrics), **more})
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def on_the_command_line(folder: Path, text: str, *metrics: str) -> dict[str, list[dict[str, Any]]]:
    """Returns the means that the command line gives for a campaign."""
    (folder / "campaign.toml").write_text(text)
    store = str(folder / "store")
    chosen = [word for name in metrics for word in ("--metric", name)]
    for words in (
        ["run", str(folder / "campaign.toml"), "--out", store],
        ["table", store, *chosen, "--json"],
    ):
        done = CliRunner().invoke(app, ["campaign", *words])
        assert done.exit_code == 0, done.output
    found: dict[str, list[dict[str, Any]]] = json.loads(done.stdout)
    return found


def test_the_means_are_those_of_the_command_line(bed: Bed, tmp_path: Path) -> None:
    """The means of columns of the flows and of a report, at every point: the number of runs, mean
    and half width."""
    ada = bed.join("ada")
    bed.execute()
    runs = launched(ada, text=CAMPAIGN, campaign=True)
    ended(ada, runs)
    metrics = ("goodput", "rtt_mean", "link.error_drops")
    found = means(ada, runs[0]["batch"], *metrics)
    expected = on_the_command_line(tmp_path, CAMPAIGN, *metrics)
    assert (found["runs"], found["complete"], found["missing"]) == (12, 12, [])
    assert {one["metric"]: one["unit"] for one in found["metrics"]} == {
        "goodput": "bit/s",
        "rtt_mean": "s",
        "link.error_drops": "packets",
    }
    assert [(one["shown_unit"], one["size"]) for one in found["metrics"]][:2] == [
        ("kbit/s", 1e3),
        ("ms", 1e-3),
    ]
    for place, name in enumerate(metrics):
        ours = [
            {
                CONGESTION: row["labels"][0],
                DELAY: row["labels"][1],
                "entity": row["of"],
                "count": one["count"],
                "mean": one["mean"],
                "half_width": one["half_width"],
            }
            for row in found["points"]
            if (one := row["means"][place]) is not None
        ]
        assert ours == expected[name]
        assert len(ours) == (4 if place < 2 else 8)
        assert all(one["count"] == 3 and one["half_width"] >= 0 for one in ours)
    # Computed by hand: Student's interval over the three runs of one point.
    first = [one["id"] for one in runs if one["label"].startswith("reno 100 ms")]
    goodputs = [ada.get(f"/api/runs/{one}/results").json()["flows"][0]["goodput"] for one in first]
    mean = sum(goodputs) / 3
    deviation = math.sqrt(sum((one - mean) ** 2 for one in goodputs) / 2)
    row = next(row for row in found["points"] if row["labels"] == ["reno", "100 ms"] and row["of"] == "down")
    assert row["means"][0]["mean"] == pytest.approx(mean)
    half = student_quantile(0.975, 2) * deviation / math.sqrt(3)
    assert row["means"][0]["half_width"] == pytest.approx(half)
    shown, _, width = row["means"][0]["text"].partition(" ± ")
    # Both are rounded to the second digit of the half width.
    assert abs(float(shown) - mean / 1e3) <= 0.06 * float(width)
    assert float(width) == pytest.approx(half / 1e3, rel=0.1)
    # The figure: over the delays, by value, with a line for each congestion control.
    assert found["across"] == DELAY
    congestion, delay = found["keys"]
    assert (congestion["name"], congestion["numbers"], congestion["labels"]) == (
        "congestion",
        False,
        ["reno", "cubic"],
    )
    assert (delay["title"], delay["ticks"]) == ("delay (ms)", [100.0, 200.0])
    assert row["at"] == [0.0, 100.0]
    # Restricted to one link; an unknown quantity is refused with the known ones.
    alone = means(ada, runs[0]["batch"], "link.packets", of="sat")
    assert {row["of"] for row in alone["points"]} == {"sat"}
    path = f"/api/batches/{runs[0]['batch']}/means"
    for query, words in (
        ({"metric": "goodputt"}, 'did you mean "goodput"'),
        ({"of": "up"}, "down"),
        ({"metric": "../runs.x"}, "flows"),
    ):
        answer = ada.get(path, params=query)
        assert answer.status_code == 422 and words in said(answer)
        assert str(bed.settings.data) not in answer.text


def test_the_confidence_is_the_campaigns(bed: Bed, tmp_path: Path) -> None:
    text = CAMPAIGN.partition("vary.")[0] + "confidence = 0.8\n"
    ada = bed.join("ada")
    bed.execute()
    runs = launched(ada, text=text, campaign=True)
    ended(ada, runs)
    found = means(ada, runs[0]["batch"])
    (expected,) = on_the_command_line(tmp_path, text, "goodput")["goodput"]
    (row,) = found["points"]
    assert (found["confidence"], found["keys"], found["across"]) == (0.8, [], None)
    assert row["means"][0]["half_width"] == expected["half_width"]
    assert (row["means"][0]["count"], row["runs"], row["of"]) == (3, 3, "down")


def test_omitted_runs_are_listed(bed: Bed) -> None:
    """Runs that failed, were cancelled, wait, or were changed manually; a point with a single run
    has no interval."""
    ada = bed.join("ada")
    runs = launched(ada, text=ONE_DELAY, campaign=True)
    batch = runs[0]["batch"]
    waiting = means(ada, batch)
    assert (waiting["complete"], waiting["runs"], waiting["points"], waiting["available"]) == (0, 6, [], [])
    assert [(one["number"], one["state"]) for one in waiting["missing"]] == [
        (one["number"], "queued") for one in runs
    ]
    reno = [one for one in runs if one["label"].startswith("reno")]
    cubic = [one for one in runs if one["label"].startswith("cubic")]
    assert ada.post(f"/api/runs/{reno[0]['id']}/cancel").status_code == 200
    bed.execute()
    ended(ada, runs)
    with bed.store.writing() as rows:
        failed = rows.scalars(select(Run).where(Run.id == reno[1]["id"])).one()
        failed.state, failed.reason = "failed", "it needed more memory"
        rows.add(
            Change(run_number=cubic[0]["number"], user="ada", key="link.sat.rate", value="1 Mbit/s", done=1.0)
        )
        refused = {"key": "link.sat.rate", "value": "x", "done": 1.0, "refused": "not a rate"}
        rows.add(Change(run_number=cubic[1]["number"], user="ada", **refused))
    found = means(ada, batch)
    assert (found["complete"], found["runs"]) == (3, 6)
    assert [(one["id"], one["state"], one["reason"]) for one in found["missing"]] == [
        (reno[0]["id"], "cancelled", "cancelled before it started"),
        (reno[1]["id"], "failed", "it needed more memory"),
        (cubic[0]["id"], "done", "changed manually during the run"),
    ]
    assert found["missing"][0]["label"] == "reno 100 ms, replication 0"
    by_point = {tuple(row["labels"]): row for row in found["points"]}
    single = by_point["reno", "100 ms"]
    assert (single["runs"], single["means"][0]["count"], single["means"][0]["half_width"]) == (3, 1, None)
    assert "±" not in single["means"][0]["text"]
    assert by_point["cubic", "100 ms"]["means"][0]["count"] == 2


def test_runs_that_a_user_may_not_see_give_no_means(bed: Bed) -> None:
    """Means are as private as runs. If single runs are shared, the means cover only these runs."""
    ada, eve, guest, root = (
        bed.join("ada"),
        bed.join("eve"),
        bed.join("guest", "guest"),
        bed.join("root", "administrator"),
    )
    bed.execute()
    runs = launched(ada, text=ONE_DELAY, campaign=True)
    ended(ada, runs)
    path = f"/api/batches/{runs[0]['batch']}/means"
    for client in (eve, guest, bed.visitor()):
        answer, of_run = client.get(path), client.get(f"/api/runs/{runs[0]['id']}")
        assert (answer.status_code, said(answer)) == (of_run.status_code, said(of_run))
        assert answer.status_code in (401, 404)
    assert ada.get("/api/batches/nothing/means").status_code == 404
    everything = means(ada, runs[0]["batch"])
    assert means(root, runs[0]["batch"]) == everything
    for one in runs[:2]:
        assert ada.patch(f"/api/runs/{one['id']}", json={"shared": True}).status_code == 200
    for client in (eve, guest):
        found = means(client, runs[0]["batch"])
        assert (found["runs"], found["complete"], found["missing"]) == (2, 2, [])
        (row,) = found["points"]
        assert row["means"][0]["count"] == 2
    # They know the runs, but not the outcomes of the others.
    assert everything["runs"] == 6


def test_instruments_are_points_of_their_own(bed: Bed) -> None:
    """One scenario by several instruments is a launch, too; nothing ran, so the answer contains
    only the names."""
    ada = bed.join("ada")
    runs = launched(ada, text=SMALL, instruments=["simulate", "kernel"])
    found = means(ada, runs[0]["batch"])
    assert [(key["key"], key["labels"]) for key in found["keys"]] == [("instrument", ["simulate", "kernel"])]
    assert [one["label"] for one in found["missing"]] == ["simulate", "kernel"]


def test_runs_of_an_older_version_are_reported(bed: Bed) -> None:
    """Launches of an older version have no recorded varied keys."""
    ada = bed.join("ada")
    runs = launched(ada, text=CAMPAIGN, campaign=True)
    with bed.store.writing() as rows:
        rows.scalars(select(Run).where(Run.id == runs[0]["id"])).one().variation = None
    answer = ada.get(f"/api/batches/{runs[0]['batch']}/means")
    assert answer.status_code == 409 and "older version" in said(answer)


def test_fidelity_is_next_to_every_number_of_a_run(bed: Bed) -> None:
    """Lists, runs and comparisons show the fidelity. A mean over runs has the fidelity of the least
    accurate run."""
    ada = bed.join("ada")
    bed.execute()
    text = SMALL.replace("20 s", "1 s") + "\n[campaign]\nreplications = 3\n"
    runs = launched(ada, text=text, campaign=True)
    ended(ada, runs)
    assert all(one["fidelity"] is None for one in ada.get("/api/runs").json())
    assert means(ada, runs[0]["batch"])["points"][0]["fidelity"] is None
    # Pretends that a real kernel executed the runs.
    lateness = {"count": 9, "p50_s": 0.01, "p99_s": 0.02, "max_s": 0.03}
    expected = dict(zip((one["id"] for one in runs), ("valid", "void", "void"), strict=True))
    with bed.store.writing() as rows:
        for row in rows.scalars(select(Run)):
            row.instrument = "emulate"
            written = {"verdict": expected[row.id], "lateness": lateness, "lost": 0, "reasons": ["too late"]}
            file = bed.settings.folder(row.owner_id, row.id) / "fidelity.json"
            file.write_text(json.dumps(written))
    listed = {one["id"]: one["fidelity"]["verdict"] for one in ada.get("/api/runs").json()}
    compared = ada.get("/api/comparison", params={"run": list(expected)}).json()["runs"]
    alone = {one: ada.get(f"/api/runs/{one}").json()["fidelity"]["verdict"] for one in expected}
    assert listed == alone == {one["id"]: one["fidelity"]["verdict"] for one in compared} == expected
    (point,) = means(ada, runs[0]["batch"])["points"]
    number = runs[1]["number"]
    assert point["fidelity"]["verdict"] == "void"
    assert point["fidelity"]["text"].startswith(
        f"2 of 3 runs; run {number}: 9 packets reached their hosts 10 ms late"
    )
    assert point["fidelity"]["text"].endswith("too late")
