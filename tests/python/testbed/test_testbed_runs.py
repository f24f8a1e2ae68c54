"""A run in the test bed from its launch to its results, through the REST interface and the command
line."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from bentpipe.errors import InputError
from bentpipe.results.runs import Run
from bentpipe.testbed.client import Laboratory
from helpers.beds import Bed, _cheap_passwords, bed, launched, said, saved
from httpx2 import Client
from rigs.guests import guests
from rigs.testbeds import PASSWORD, SMALL, serving, until

__all__ = ["_cheap_passwords", "bed"]


def test_a_run_from_its_launch_to_its_results(bed: Bed) -> None:
    ada = bed.join("ada")
    configuration = saved(ada)
    bed.execute()
    (run,) = launched(ada, text=None, configuration=configuration["id"])
    assert (run["state"], run["position"]) == ("queued", None)
    until(lambda: ada.get(f"/api/runs/{run['id']}").json()["state"] == "done")
    results = ada.get(f"/api/runs/{run['id']}/results").json()
    assert [flow["flow"] for flow in results["flows"]] == ["up"]
    # Of 10 Mbit/s with 20 ms of slow start per doubling and 20 s.
    assert 2e6 < results["flows"][0]["goodput"] < 1e7
    series = ada.get(f"/api/runs/{run['id']}/series/tcp.cwnd").json()
    assert (series["unit"], [line["name"] for line in series["lines"]]) == ("segments", ["up"])
    assert len(series["lines"][0]["time"]) == len(series["lines"][0]["value"]) > 10
    zoomed_and_labelled(ada, f"/api/runs/{run['id']}", Run(bed.settings.folder(1, run["id"])))
    # 11: the report contains user input, so it is in a sandbox; 30: files are saved, not shown.
    report = ada.get(f"/api/runs/{run['id']}/report")
    assert "<svg" in report.text and report.headers["content-security-policy"].startswith("sandbox;")
    assert str(bed.settings.data) not in report.text
    files = {one["path"] for one in ada.get(f"/api/runs/{run['id']}/files").json()}
    assert {"flows.parquet", "scenario.toml", "report.html", "traces/tcp.parquet"} <= files
    file = ada.get(f"/api/runs/{run['id']}/files/report.html")
    assert file.headers["content-disposition"].startswith("attachment")
    assert file.headers["content-security-policy"].startswith("sandbox;")
    table = ada.get(f"/api/runs/{run['id']}/tables/flows", params={"format": "csv"})
    assert table.text.startswith("flow,from,to,") and table.headers["content-disposition"].endswith(
        'flows.csv"'
    )
    assert "| up |" in ada.get(f"/api/runs/{run['id']}/tables/flows", params={"format": "md"}).text
    assert ada.get(f"/api/runs/{run['id']}/tables/flows", params={"format": "doc"}).status_code == 422
    assert ada.get(f"/api/runs/{run['id']}/tables/tcp").status_code == 404
    # The same with another congestion control, compared with the first one as pinned baseline.
    (other,) = launched(ada, text=SMALL.replace("reno", "cubic"))
    until(lambda: ada.get(f"/api/runs/{other['id']}").json()["state"] == "done")
    assert ada.patch(f"/api/runs/{run['id']}", json={"baseline": True}).json()["baseline"]
    compared = ada.get("/api/comparison", params={"run": [other["id"]]}).json()
    assert compared["baseline"] == run["id"]
    assert compared["others"][0]["scenario"] == [
        {"key": "flow.up.transport.congestion", "a": "reno", "b": "cubic"}
    ]
    assert ada.delete(f"/api/runs/{other['id']}").status_code == 204
    assert not bed.settings.folder(1, other["id"]).exists()


def zoomed_and_labelled(ada: Client, at: str, run: Run) -> None:
    """Checks units, which differ between tables for columns of the same name, and the detail of a
    time range."""
    units = {name: ada.get(f"{at}/series/{name}").json()["unit"] for name in ("tcp.sent", "tcp.acknowledged")}
    assert units == {"tcp.sent": "bytes", "tcp.acknowledged": "bytes"}
    whole = ada.get(f"{at}/series/link.queue_packets").json()
    part = ada.get(f"{at}/series/link.queue_packets", params={"from": 5, "to": 5.5}).json()
    assert whole["thinned"] and not part["thinned"]
    for coarse, fine in zip(whole["lines"], part["lines"], strict=True):
        assert len(coarse["time"]) <= 2002
        inside = [time for time in fine["time"] if 5 <= time <= 5.5]
        assert len(inside) > 2 * sum(5 <= time <= 5.5 for time in coarse["time"])
        # One further sample on either side, so that the line reaches the edges.
        assert len(fine["time"]) == len(inside) + 2 and fine["time"][0] < 5 and fine["time"][-1] > 5.5
        # Thinning keeps the extremes.
        complete = run.trace("link.queue_packets", coarse["name"])["queue_packets"]
        assert (min(coarse["value"]), max(coarse["value"])) == (complete.min(), complete.max())
    assert "not before" in said(ada.get(f"{at}/series/link.queue_packets", params={"from": 5, "to": 5}))
    unknown = ada.get(f"{at}/series/tcp.nothing")
    assert unknown.status_code == 422 and "trace or quantity" in said(unknown) and "/" not in said(unknown)


@guests
def test_a_real_kernel_runs_within_the_limits_of_a_user(bed: Bed) -> None:
    ada = bed.join("ada")
    (run,) = launched(ada, text=SMALL.replace("20 s", "2 s"), instruments=["kernel"])
    bed.execute()
    ended = until(lambda: (one := ada.get(f"/api/runs/{run['id']}").json())["ended"] and one)
    assert (ended["state"], ended["reason"]) == ("done", "")


def test_the_command_line_does_what_the_page_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A test bed as its user starts it, and `bentpipe lab` with a token: save, launch, wait, list,
    fetch, any request."""
    from bentpipe.cli import app
    from typer.testing import CliRunner

    file = tmp_path / "small.toml"
    file.write_text(SMALL.replace("20 s", "5 s"))
    monkeypatch.chdir(tmp_path)

    def lab(*words: str, code: int = 0) -> str:
        done = CliRunner().invoke(app, ["lab", *words])
        assert done.exit_code == code, done.output
        return done.output

    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    with serving(tmp_path / "data") as served:
        client = Client(base_url=served.url, headers={"Origin": served.url}, timeout=60)
        given = {"invitation": served.invitation, "name": "ada", "password": PASSWORD}
        answer = client.post("/api/invitations/accept", json=given)
        cookie = {"Cookie": f"__Host-bentpipe={answer.cookies['__Host-bentpipe']}"}
        token = client.post("/api/tokens", json={"name": "t"}, headers=cookie).json()["secret"]
        client.close()
        monkeypatch.setenv("BENTPIPE_SERVER", served.url)
        monkeypatch.setenv("BENTPIPE_TOKEN", token)
        assert lab("save", str(file)).startswith("saved")
        assert "done" in lab("launch", "small", "--wait")
        assert "small" in lab("runs")
        assert "files in" in lab("fetch", "1", "--out", "got")
        assert {"flows.parquet", "scenario.toml", "report.html"} <= {
            one.name for one in Path("got").iterdir()
        }
        assert json.loads(lab("api", "GET", "/audit"))[0]["action"] == "launch"
        # With --json, each command prints one document.
        assert json.loads(lab("save", str(file), "--json"))["name"] == "small"
        assert json.loads(lab("configurations", "--json"))[0]["name"] == "small"
        assert json.loads(lab("runs", "--json"))[0]["number"] == 1
        fetched = json.loads(lab("fetch", "1", "--out", "again", "--json"))["files"]
        assert {"flows.parquet", "scenario.toml"} <= {Path(file).name for file in fetched}
        assert json.loads(lab("cancel", "1", "--json"))["state"] == "done"
        assert lab("api", "GET", "/audit", "--json") == lab("api", "GET", "/audit")
        assert "allowed: DELETE, GET" in lab("api", "LOOK", "/audit", code=2)
        assert "did you mean" in lab("launch", "smal", code=2)
        assert "no file nofile.toml" in lab("launch", "nofile.toml", code=2)
        assert "had already ended: done" in lab("cancel", "1")
        with monkeypatch.context() as interrupted:
            interrupted.setattr(Laboratory, "wait", interrupt)
            assert "run 2  small  queued" in lab("launch", "small", "--wait", code=130)
        assert json.loads(lab("launch", "small", "--json"))[0]["number"] == 3
        for words in (("cancel", "7"), ("fetch", "7"), ("cancel", "small one")):
            assert "there is no" in lab(*words, code=2)
        monkeypatch.setenv("BENTPIPE_TOKEN", "wrong")
        assert "log in first" in lab("runs", code=2)
        # The web process and its executor end together, and leave no process running.
        assert served.stop() == 0
    assert not subprocess.run(
        ["pgrep", "-f", str(tmp_path / "data")], check=False, capture_output=True
    ).stdout


def test_a_fetch_that_is_interrupted_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither the leftovers of a killed fetch nor an empty folder prevent the next one."""
    files = ["scenario.toml", "flows.parquet", "traces/tcp.parquet"]
    troubles: list[BaseException] = [KeyboardInterrupt(), InputError("the server does not answer")]

    def opened(_lab: Laboratory, _method: str, path: str, _body: Any = None) -> bytes:
        if path.endswith("/files"):
            return json.dumps([{"path": file} for file in files]).encode()
        if path.endswith("tcp.parquet") and troubles:
            raise troubles.pop(0)
        return path.encode()

    monkeypatch.setattr(Laboratory, "_open", opened)
    lab = Laboratory("http://127.0.0.1:9", "token")
    out = tmp_path / "runs" / "got"
    for kind in (KeyboardInterrupt, InputError):
        with pytest.raises(kind):
            lab.fetch("r1", out)
        assert list(out.parent.iterdir()) == []
    (out.parent / ".got-killed").mkdir()
    (out.parent / ".got-killed" / "flows.parquet").touch()
    out.mkdir()
    assert lab.fetch("r1", out) == [out / file for file in files]
    assert sorted(str(one.relative_to(out)) for one in out.rglob("*") if one.is_file()) == sorted(files)
    assert (out / "flows.parquet").read_text() == "/runs/r1/files/flows.parquet"
    assert sorted(one.name for one in out.parent.iterdir()) == [".got-killed", "got"]
    with pytest.raises(InputError, match="not empty"):
        lab.fetch("r1", out)
