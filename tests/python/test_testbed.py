"""The test bed's interface: accounts, ownership, scenarios as attacks, the queue. Numbers in names are those of the
abuse cases in docs/decisions/0045-testbed.md."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi", reason="bentpipe[testbed] is not installed")
pytest.importorskip("argon2", reason="bentpipe[testbed] is not installed")

from argon2 import PasswordHasher
from bentpipe.errors import InputError
from bentpipe.testbed import accounts, queue, rules
from bentpipe.testbed.accounts import Refused
from bentpipe.testbed.api import application
from bentpipe.testbed.api.application import openapi
from bentpipe.testbed.drafts import edit, view
from bentpipe.testbed.executor import Executor
from bentpipe.testbed.settings import Settings
from bentpipe.testbed.store import Store, migrate
from bentpipe.testbed.tables import Attempt, Run, Session
from guests import guests
from httpx2 import Client, Response
from sqlalchemy import select, text
from starlette.testclient import TestClient
from testbeds import PASSWORD, SMALL, serving, until

#: As browsers see it: the log-in's cookie is for encrypted connections.
URL = "https://127.0.0.1"


@pytest.fixture(autouse=True)
def _cheap_passwords(monkeypatch: pytest.MonkeyPatch) -> None:
    cheap = PasswordHasher(time_cost=1, memory_cost=64, parallelism=1)
    monkeypatch.setattr(accounts, "_hasher", cheap)
    monkeypatch.setattr(accounts, "_NOBODY", cheap.hash("nobody"))


class Bed:
    """A test bed in this process, with an executor if wanted."""

    def __init__(self, data: Path, url: str = "") -> None:
        self.settings = Settings(data, url, slots=1)
        data.mkdir(exist_ok=True)
        self.settings.runs.mkdir(exist_ok=True)
        self.store = Store(self.settings.url)
        migrate(self.store)
        self.app = application(self.settings, self.store)
        self.executor: Executor | None = None

    def visitor(self) -> Client:
        """Returns a browser without a log-in."""
        client = TestClient(self.app, base_url=URL)
        client.headers["Origin"] = URL
        return client

    def join(self, name: str, level: str = "user") -> Client:
        """Returns the browser of a new account."""
        client = self.visitor()
        given = {"invitation": accounts.invite(self.store, level), "name": name, "password": PASSWORD}
        assert client.post("/api/invitations/accept", json=given).status_code == 201
        return client

    def execute(self) -> None:
        """Start an executor."""
        self.executor = Executor(self.settings, self.store)
        self.thread = threading.Thread(target=self.executor.loop)
        self.thread.start()

    def stop(self) -> None:
        if self.executor is not None:
            self.executor.stop()
            self.thread.join()
            self.executor = None


@pytest.fixture
def bed(tmp_path: Path) -> Iterator[Bed]:
    bed = Bed(tmp_path / "data")
    yield bed
    bed.stop()
    bed.store.close()


def said(answer: Response) -> str:
    return str(answer.json()["detail"])


def saved(client: Client, name: str = "mine", scenario: str = SMALL) -> dict[str, Any]:
    answer = client.post("/api/configurations", json={"name": name, "text": scenario})
    assert answer.status_code == 201, answer.text
    found: dict[str, Any] = answer.json()
    return found


def launched(client: Client, **given: Any) -> list[dict[str, Any]]:
    answer = client.post("/api/runs", json={"text": SMALL, **given})
    assert answer.status_code == 201, answer.text
    found: list[dict[str, Any]] = answer.json()
    return found


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
    # 11: the report contains what users wrote, so it is in a sandbox; 30: files are saved, not shown.
    report = ada.get(f"/api/runs/{run['id']}/report")
    assert "<svg" in report.text and report.headers["content-security-policy"].startswith("sandbox;")
    assert str(bed.settings.data) not in report.text
    files = {one["path"] for one in ada.get(f"/api/runs/{run['id']}/files").json()}
    assert {"flows.parquet", "scenario.toml", "report.html", "traces/tcp.parquet"} <= files
    file = ada.get(f"/api/runs/{run['id']}/files/report.html")
    assert file.headers["content-disposition"].startswith("attachment")
    assert file.headers["content-security-policy"].startswith("sandbox;")
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


@guests
def test_a_real_kernel_runs_within_the_limits_of_a_user(bed: Bed) -> None:
    ada = bed.join("ada")
    (run,) = launched(ada, text=SMALL.replace("20 s", "2 s"), instruments=["kernel"])
    bed.execute()
    ended = until(lambda: (one := ada.get(f"/api/runs/{run['id']}").json())["ended"] and one)
    assert (ended["state"], ended["reason"]) == ("done", "")


def test_01_nobody_reaches_what_is_someone_elses(bed: Bed) -> None:
    """Every route of the document with an id of someone else's, as a user and as a guest: it is not there."""
    ada = bed.join("ada")
    run = launched(ada)[0]["id"]
    values = {
        "configuration": saved(ada)["id"],
        "run": run,
        "token": ada.post("/api/tokens", json={"name": "t"}).json()["id"],
        "account": "1",
        "quantity": "tcp.cwnd",
        "path": "report.html",
        "name": "geo",
    }
    bodies = {
        ("put", "/api/configurations/{configuration}"): {"version": 1, "name": "theirs"},
        ("post", "/api/configurations/{configuration}/fork"): {"name": "copy"},
        ("patch", "/api/runs/{run}"): {"shared": True},
        ("patch", "/api/accounts/{account}"): {"level": "guest"},
    }
    before = _state(bed)
    tried = 0
    for intruder, level in (("bob", "user"), ("gil", "guest")):
        client = bed.join(intruder, level)
        for path, methods in openapi()["paths"].items():
            names = re.findall(r"{(\w+)}", path)
            if not set(names) & {"configuration", "run", "token", "account"}:
                continue
            for method in methods:
                answer = client.request(method, path.format(**values), json=bodies.get((method, path)))
                assert answer.status_code in (403, 404), (
                    level,
                    method,
                    path,
                    answer.status_code,
                    answer.text,
                )
                tried += 1
        assert client.get("/api/comparison", params={"run": [run]}).status_code == 404
        assert client.post("/api/runs", json={"configuration": values["configuration"]}).status_code in (
            403,
            404,
        )
        assert client.get("/api/configurations").json() == []
        assert client.get("/api/runs").json() == []
        (entry,) = client.get("/api/queue").json()["entries"]
        assert (entry["id"], entry["owner"], entry["name"]) == ("", "", "someone's run")
    assert tried >= 30
    assert _state(bed) == before
    # Without a log-in there is nothing at all, on any route but those that log in.
    visitor = bed.visitor()
    for path, methods in openapi()["paths"].items():
        for method in methods:
            if (method, path) not in {("post", "/api/session"), ("post", "/api/invitations/accept")}:
                answer = visitor.request(method, path.format(**values))
                assert answer.status_code == 401, (method, path, answer.status_code)


def _state(bed: Bed) -> list[Any]:
    with bed.store.reading() as rows:
        tables = ("configuration", "run", "session where user_id = 1", "account where id = 1")
        return [[tuple(row)[:8] for row in rows.execute(text(f"select * from {table}"))] for table in tables]


def test_02_unknown_keys_are_refused_so_nobody_raises_her_own_level(bed: Bed) -> None:
    ada = bed.join("ada")
    for level in ("level", "user_id", "owner_id", "id"):
        body = {"name": "x", "text": SMALL, level: "administrator"}
        assert ada.post("/api/configurations", json=body).status_code == 422
    assert ada.patch("/api/accounts/1", json={"level": "administrator"}).status_code == 403
    given = {"invitation": accounts.invite(bed.store, "guest"), "name": "eve", "password": PASSWORD}
    answer = bed.visitor().post("/api/invitations/accept", json=given | {"level": "administrator"})
    assert answer.status_code == 422
    assert ada.get("/api/session").json()["level"] == "user"


def test_03_the_last_administrator_stays(bed: Bed) -> None:
    root = bed.join("root", "administrator")
    assert "last administrator" in said(root.patch("/api/accounts/1", json={"level": "user"}))
    assert root.delete("/api/accounts/1").status_code == 409
    bed.join("other", "administrator")
    assert root.patch("/api/accounts/1", json={"level": "user"}).status_code == 200


def test_04_log_ins_end(bed: Bed) -> None:
    """After logging out, a changed password, a changed level, and by time; a log-in that was given is never kept."""
    ada = bed.join("ada")
    fixed = "chosen-by-someone-else"
    ada.cookies.set("__Host-bentpipe", fixed, domain="127.0.0.1")
    ada.cookies.clear()
    ada.headers["Cookie"] = f"__Host-bentpipe={fixed}"
    answer = ada.post("/api/session", json={"name": "ada", "password": PASSWORD})
    secret = answer.cookies["__Host-bentpipe"]
    assert secret != fixed
    cookie = answer.headers["set-cookie"].lower()
    assert all(word in cookie for word in ("httponly", "secure", "samesite=lax", "path=/"))
    assert "domain" not in cookie

    def works(secret: str) -> bool:
        client = bed.visitor()
        client.headers["Cookie"] = f"__Host-bentpipe={secret}"
        return client.get("/api/session").status_code == 200

    def fresh() -> str:
        answer = bed.visitor().post("/api/session", json={"name": "ada", "password": PASSWORD})
        return str(answer.cookies["__Host-bentpipe"])

    del ada.headers["Cookie"]
    ada.cookies.clear()
    mine, other = fresh(), fresh()
    ada.headers["Cookie"] = f"__Host-bentpipe={mine}"
    assert ada.delete("/api/session").status_code == 204
    assert not works(mine) and works(other)
    mine = fresh()
    ada.headers["Cookie"] = f"__Host-bentpipe={mine}"
    body = {"old": PASSWORD, "new": PASSWORD + " 2"}
    assert ada.put("/api/session/password", json=body | {"old": "wrong"}).status_code == 403
    assert ada.put("/api/session/password", json=body).status_code == 204
    assert works(mine) and not works(other) and not works(secret)
    root = bed.join("root", "administrator")
    root.patch("/api/accounts/1", json={"level": "guest"})
    assert not works(mine)
    # 26: by either clock, and a clock that is set back ends nothing and extends nothing.
    with bed.store.writing() as rows:
        session = rows.scalars(select(Session)).first()
        assert session is not None
        session.expires = time.time() - 1
        rows.flush()
    assert root.get("/api/session").status_code == 401


def test_05_guessing_is_limited_and_tells_nothing(bed: Bed) -> None:
    bed.join("ada")
    client = bed.visitor()

    def guess(name: str, password: str) -> Response:
        return client.post("/api/session", json={"name": name, "password": password})

    unknown, wrong = guess("nobody", "wrong password"), guess("ada", "wrong password")
    assert (unknown.status_code, unknown.text) == (wrong.status_code, wrong.text) == (401, wrong.text)
    for _ in range(accounts.MOST_OF_ACCOUNT - 1):
        assert guess("ada", "wrong password").status_code == 401
    # Also with the right one: otherwise the answer would tell.
    assert guess("ada", PASSWORD).status_code == 429
    with bed.store.writing() as rows:
        for row in rows.scalars(select(Attempt)):
            row.at -= accounts.WINDOW_S + 1
    assert guess("ada", PASSWORD).status_code == 200


def test_06_long_passwords_are_refused_before_they_are_hashed(
    bed: Bed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(accounts, "matches", lambda *_: pytest.fail("hashed"))
    client = bed.visitor()
    assert client.post("/api/session", json={"name": "ada", "password": "x" * 1_000_000}).status_code == 422
    assert client.post("/api/session", content=b"x" * 3_000_000).status_code == 413


def test_06_many_log_ins_at_once_do_not_stop_the_others(bed: Bed, monkeypatch: pytest.MonkeyPatch) -> None:
    """Hashes are computed one at a time, few wait, and who is logged in already notices nothing."""
    ada = bed.join("ada")
    hashing = threading.Event()
    release = threading.Event()

    def slow(*_: object) -> bool:
        hashing.set()
        release.wait(60)
        return False

    monkeypatch.setattr(accounts, "matches", slow)
    statuses: list[int] = []

    def guess(name: str) -> None:
        answer = bed.visitor().post("/api/session", json={"name": name, "password": PASSWORD})
        statuses.append(answer.status_code)

    threads = [threading.Thread(target=guess, args=(f"n{place}",)) for place in range(30)]
    for thread in threads:
        thread.start()
    hashing.wait(60)
    until(lambda: len(statuses) == 10)
    assert statuses == [503] * 10
    assert ada.get("/api/runs").status_code == 200
    release.set()
    for thread in threads:
        thread.join()
    assert sorted(statuses) == [401] * 20 + [503] * 10


def test_07_the_first_administrator_comes_by_a_link_that_works_once(bed: Bed) -> None:
    first = accounts.first_invitation(bed.store)
    second = accounts.first_invitation(bed.store)
    assert first and second
    client = bed.visitor()
    given = {"name": "root", "password": PASSWORD}
    # A second start replaces the link of the first.
    assert client.post("/api/invitations/accept", json=given | {"invitation": first}).status_code == 403
    assert client.post("/api/invitations/accept", json=given | {"invitation": second}).status_code == 201
    assert client.get("/api/session").json()["level"] == "administrator"
    assert client.post("/api/invitations/accept", json=given | {"invitation": second}).status_code == 403
    assert accounts.first_invitation(bed.store) is None


def test_08_tokens_are_hashed_scoped_and_end_at_once(bed: Bed) -> None:
    ada = bed.join("ada")
    made = ada.post("/api/tokens", json={"name": "reader", "scope": "read"}).json()
    program = TestClient(bed.app, base_url=URL, headers={"Authorization": f"Bearer {made['secret']}"})
    assert program.get("/api/session").json()["name"] == "ada"
    assert program.post("/api/runs", json={"text": SMALL}).status_code == 403
    assert program.post("/api/tokens", json={"name": "more"}).status_code == 403
    # A token is no cookie, and is shown once.
    cookie = TestClient(bed.app, base_url=URL, headers={"Cookie": f"__Host-bentpipe={made['secret']}"})
    assert cookie.get("/api/session").status_code == 401
    assert made["secret"] not in ada.get("/api/tokens").text
    with bed.store.reading() as rows:
        dumped = json.dumps(
            [[str(value) for value in row] for row in rows.execute(text("select * from session"))]
        )
    assert made["secret"] not in dumped and PASSWORD not in dumped
    assert ada.delete(f"/api/tokens/{made['id']}").status_code == 204
    assert program.get("/api/session").status_code == 401


@pytest.mark.parametrize(
    "headers, status",
    [
        ({"Origin": "https://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "http://127.0.0.1.evil.example"}, 403),
        ({"Origin": ""}, 403),
        ({"Origin": URL, "Content-Type": "text/plain"}, 415),
        ({"Origin": URL, "Content-Type": "application/x-www-form-urlencoded"}, 415),
        ({"Origin": URL, "Host": "evil.example"}, 421),
        ({"Origin": "http://evil.example:80", "Host": "evil.example:80"}, 421),
        ({"Origin": URL, "X-Forwarded-Host": "evil.example", "Content-Type": "application/json"}, 201),
    ],
)
def test_09_10_13_requests_of_other_sites_are_refused(bed: Bed, headers: dict[str, str], status: int) -> None:
    ada = bed.join("ada")
    del ada.headers["Origin"]
    body = json.dumps({"name": "x", "text": SMALL})
    answer = ada.post("/api/configurations", content=body, headers=headers)
    assert answer.status_code == status
    if "Content-Type" not in headers and headers["Origin"]:
        assert ada.get("/api/events", headers=headers).status_code in (403, 421)
    if status == 201:
        # Without any Origin, which only programs have, and these use a token.
        assert ada.post("/api/configurations", content=body).status_code == 403


def test_12_headers_of_every_answer(bed: Bed) -> None:
    client = bed.visitor()
    for path in ("/", "/api/session", "/api/openapi.json", "/nothing"):
        headers = client.get(path).headers
        policy = headers["content-security-policy"]
        assert "script-src 'self';" in policy and "frame-ancestors 'none'" in policy
        assert "unsafe-eval" not in policy and "script-src 'self' 'unsafe-inline'" not in policy
        assert headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize(
    "path",
    [
        "//evil.example",
        "/?next=https://evil.example",
        "/api/session/",
        "/api/session?next=//evil.example",
        "/assets",
    ],
)
def test_14_nothing_redirects(bed: Bed, path: str) -> None:
    answer = bed.visitor().get(URL + path, follow_redirects=False)
    assert not 300 <= answer.status_code < 400 and "location" not in answer.headers


ATTACKS: dict[str, str] = {
    # 15: paths
    "trace": '[[link]]\nname = "sat"\ntrace = { samples = { file = "/etc/passwd" } }',
    "up": '[[link]]\nname = "sat"\ntrace = { samples.file = "../../secret" }',
    "quoted": '[[link]]\nname = "sat"\n"trace" = { "samples" = { "fi\\u006ce" = "/proc/self/environ" } }',
    "elements": '[network.x]\nkind = "constellation"\nshell = [{ elements = { file = "/dev/zero" } }]',
    "varied": '[campaign]\nvary."link.sat.trace.samples.file" = ["/etc/shadow"]',
    "varied table": "[campaign]\nlist = [{ 'link.sat.trace' = { samples = { file = '/etc/shadow' } } }]",
    # 16: programs
    "command": '[[flow]]\nname = "x"\nfrom = "user"\nto = "server"\ntransport = { kind = "udp" }\n'
    'app = { kind = "command", run = "id" }',
    "varied command": '[campaign]\nvary."flow.up.app" = [{ kind = "command", run = "id" }]',
    "varied kind": '[campaign]\nvary."flow.up.app.kind" = ["command"]',
    "varied program": '[campaign]\nvary."flow.up.app.run" = ["id"]',
    # 18: bombs
    "terminals": '[network.x]\nkind = "dvb-rcs"\nterminals = [{ prefix = "t", count = 65000 }]\ngateway = "g"',
    "deep": "x = " + "[" * 200 + "]" * 200,
    "deeper": "x = " + "[" * 100_000 + "]" * 100_000,
    "long": "# " + "x" * 300_000,
    "many": "x = [" + "1," * 60_000 + "]",
}


@pytest.mark.parametrize("attack", ATTACKS)
def test_15_16_18_scenarios_as_attacks(bed: Bed, attack: str) -> None:
    """Refused where they are written, viewed and launched, with a reason and without a trace of this machine."""
    ada = bed.join("ada")
    scenario = f"{SMALL}\n{ATTACKS[attack]}\n"
    started = time.monotonic()
    for answer in (
        ada.post("/api/runs", json={"text": scenario}),
        ada.post("/api/runs", json={"text": scenario, "campaign": True}),
        ada.post("/api/configurations", json={"name": "x", "text": scenario}),
        ada.post("/api/drafts/edit", json={"text": scenario, "edits": []}),
    ):
        assert answer.status_code in (413, 422), answer.text
        assert "root:" not in answer.text
    seen = ada.post("/api/drafts/view", json={"text": scenario}).json()
    assert not seen["valid"] and "root:" not in json.dumps(seen)
    assert time.monotonic() - started < 10


def test_15_16_a_change_of_one_value_adds_no_path_and_no_program(bed: Bed) -> None:
    ada = bed.join("ada")
    for path, value in (
        (["link", "sat", "trace", "samples"], {"file": "/etc/passwd"}),
        (["flow", "up", "app"], {"kind": "command", "run": "id"}),
    ):
        made = ada.post("/api/drafts/edit", json={"text": SMALL, "edits": [{"path": path, "value": value}]})
        assert not ada.post("/api/drafts/view", json={"text": made.json()["text"]}).json()["valid"]
        assert ada.post("/api/runs", json={"text": made.json()["text"]}).status_code == 422


def test_16_the_executor_checks_again(bed: Bed) -> None:
    """A scenario that reached the database by other means is refused there too."""
    ada = bed.join("ada")
    launched(ada)
    with bed.store.writing() as rows:
        row = rows.scalars(select(Run)).one()
        row.scenario = SMALL.replace('"bulk" ', '{ kind = "command", run = "touch /tmp/bentpipe-was-here" }')
    bed.execute()
    ended = until(
        lambda: [one for one in ada.get("/api/runs").json() if one["state"] not in ("queued", "leased")]
    )
    assert ended[0]["state"] == "failed" and "program" in ended[0]["reason"]
    assert not Path("/tmp/bentpipe-was-here").exists()


def test_17_names_are_only_names(bed: Bed) -> None:
    """Folders are named by the test bed; what users call things is stored as it is, or refused if it would deceive."""
    ada = bed.join("ada")
    for name in ("../../x", "; rm -rf ~", "CON", "a'b\"c", "<script>alert(1)</script>", "ü" * 100):
        assert saved(ada, name)["name"] == name
    for name in ("", "a\nb", "a\x00b", "x" * 121, "abc\u202edef"):
        assert ada.post("/api/configurations", json={"name": name, "text": SMALL}).status_code == 422
    for name in ("../x", "a b", "", "a" * 40, "a\u202eb"):
        with pytest.raises(Refused):
            accounts.named(name)
    launched(ada, name="../../escape")
    with bed.store.reading() as rows:
        run = rows.scalars(select(Run)).one()
    assert re.fullmatch("[0-9a-f]{16}", run.id)
    assert bed.settings.folder(run.owner_id, run.id).parent.parent == bed.settings.runs


@pytest.mark.parametrize(
    "change, word",
    [
        ({"20 s": "1000000000 s"}, "30 days"),
        ({"20 s": "29 d"}, "events"),
        (
            {
                'preset = "geo"': 'preset = "geo"\nlink = [{ name = "sat", rate = "900 Gbit/s" }]',
                "20 s": "1000 s",
            },
            "events",
        ),
    ],
)
def test_18_runs_that_would_cost_too_much_are_refused_with_the_reason(
    bed: Bed, change: dict[str, str], word: str
) -> None:
    scenario = SMALL
    for old, new in change.items():
        scenario = scenario.replace(old, new)
    answer = bed.join("ada").post("/api/runs", json={"text": scenario})
    assert answer.status_code == 422 and word in said(answer), answer.text


@pytest.mark.parametrize(
    "limit, word", [({"seconds": 0.01}, "longer than"), ({"bytes": 2_000}, "File too large|MB that")]
)
def test_18_a_run_that_exceeds_a_limit_ends_with_the_reason(
    bed: Bed, monkeypatch: pytest.MonkeyPatch, limit: dict[str, Any], word: str
) -> None:
    ada = bed.join("ada")
    launched(ada)
    from dataclasses import replace

    monkeypatch.setitem(rules.OF_LEVEL, "user", replace(rules.OF_LEVEL["user"], **limit))
    bed.execute()
    found = until(lambda: [one for one in ada.get("/api/runs").json() if one["state"] == "failed"])
    assert re.search(word, found[0]["reason"]), found[0]["reason"]


def test_campaigns_and_several_instruments_are_batches(bed: Bed) -> None:
    ada = bed.join("ada")
    campaign = (
        SMALL + '\n[campaign]\nreplications = 2\nvary."flow.up.transport.congestion" = ["reno", "hybla"]\n'
    )
    runs = launched(ada, text=campaign, campaign=True, instruments=["simulate", "kernel"])
    assert len(runs) == 8 and len({run["batch"] for run in runs}) == 1
    assert [run["label"] for run in runs[:3]] == [
        "reno, simulate, replication 0",
        "reno, simulate, replication 1",
        "reno, kernel, replication 0",
    ]
    listed = ada.get("/api/runs", params={"batch": runs[0]["batch"], "search": "HYBLA"}).json()
    assert len(listed) == 4
    big = SMALL + "\n[campaign]\nreplications = 1000\n"
    assert "200 runs" in said(ada.post("/api/runs", json={"text": big, "campaign": True}))
    # 18: a product that would fill the memory before anyone counts it.
    keys = "\n".join(f'vary."flow.up.k{key}" = [{", ".join(map(str, range(1000)))}]' for key in range(4))
    huge = f"{SMALL}\n[campaign]\n{keys}\n"
    assert ada.post("/api/runs", json={"text": huge, "campaign": True}).status_code == 422


def test_configurations_are_forked_reset_and_shared(bed: Bed) -> None:
    ada, bob = bed.join("ada"), bed.join("bob")
    mine = saved(ada)
    assert said(ada.post("/api/configurations", json={"name": "mine", "text": SMALL})).startswith("there is")
    changed = ada.put(
        f"/api/configurations/{mine['id']}", json={"version": 1, "text": SMALL + "# more\n"}
    ).json()
    # Two windows: the second one does not overwrite what the first has saved.
    lost = ada.put(f"/api/configurations/{mine['id']}", json={"version": 1, "text": SMALL})
    assert lost.status_code == 409 and "elsewhere" in said(lost)
    assert bob.get(f"/api/configurations/{mine['id']}").status_code == 404
    ada.put(f"/api/configurations/{mine['id']}", json={"version": changed["version"], "shared": True})
    assert bob.get(f"/api/configurations/{mine['id']}").json()["text"] == SMALL + "# more\n"
    assert bob.put(f"/api/configurations/{mine['id']}", json={"version": 3, "name": "his"}).status_code == 403
    copy = bob.post(f"/api/configurations/{mine['id']}/fork", json={"name": "copy"}).json()
    assert copy["owner"] == "bob" and not copy["shared"]
    reset = ada.post(f"/api/configurations/{mine['id']}/reset").json()
    assert (reset["id"], reset["text"]) == (mine["id"], SMALL)


def test_22_24_a_launch_that_is_sent_twice_is_one_run(bed: Bed) -> None:
    ada, bob = bed.join("ada"), bed.join("bob")
    first, again = (launched(ada, once="the same") for _ in range(2))
    assert first[0]["id"] == again[0]["id"]
    assert launched(bob, once="the same")[0]["id"] != first[0]["id"]
    found: list[str] = []
    threads = [
        threading.Thread(target=lambda: found.extend(run["id"] for run in launched(ada, once="at once")))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(ada.get("/api/runs").json()) == 2


def test_22_many_workers_claim_every_run_once(bed: Bed) -> None:
    ada = bed.join("ada")
    campaign = SMALL + "\n[campaign]\nreplications = 60\n"
    launched(ada, text=campaign, campaign=True)
    claimed: list[int] = []

    def work(name: str) -> None:
        while True:
            with bed.store.writing() as rows:
                run = queue.claim(rows, name, ["simulate"])
            if run is None:
                return
            claimed.append(run.number)

    threads = [threading.Thread(target=work, args=(f"w{place}",)) for place in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(claimed) == list(range(1, 61))


def test_23_leases_that_run_out_are_reclaimed(bed: Bed) -> None:
    """One that had not started is queued again, one that had is incomplete; its worker can no longer finish it."""
    ada = bed.join("ada")
    launched(ada)
    launched(ada)
    with bed.store.writing() as rows:
        first, second = (queue.claim(rows, "dead", ["simulate"]) for _ in range(2))
        assert first and second
        assert queue.renew(rows, second.number, "dead", 0.5)
        for run in (first, second):
            run.lease = time.time() - 1
        rows.flush()
        assert queue.reclaim(rows) == 2
        assert not queue.renew(rows, second.number, "dead", 0.6)
        assert not queue.finish(rows, second.number, "dead", "done")
    states = {run["number"]: run["state"] for run in ada.get("/api/runs").json()}
    assert states == {first.number: "queued", second.number: "incomplete"}


def test_24_cancelling_before_and_while_it_runs(bed: Bed) -> None:
    ada = bed.join("ada")
    (waiting,) = launched(ada)
    assert ada.post(f"/api/runs/{waiting['id']}/cancel").json()["state"] == "cancelled"
    slow = SMALL.replace("20 s", "3 h")
    (running,) = launched(ada, text=slow)
    bed.execute()
    until(lambda: ada.get(f"/api/runs/{running['id']}").json()["state"] == "running")
    assert ada.delete(f"/api/runs/{running['id']}").status_code == 409
    ada.post(f"/api/runs/{running['id']}/cancel")
    ended = until(lambda: (one := ada.get(f"/api/runs/{running['id']}").json())["ended"] and one)
    assert (ended["state"], ended["reason"]) == ("cancelled", "cancelled while it was running")


def test_25_users_take_turns(bed: Bed) -> None:
    ada, bob = bed.join("ada"), bed.join("bob")
    launched(ada, text=SMALL + "\n[campaign]\nreplications = 200\n", campaign=True)
    (his,) = launched(bob)
    assert said(ada.post("/api/runs", json={"text": SMALL})).startswith("200 of your runs")
    assert bob.get(f"/api/runs/{his['id']}").json()["position"] == 2
    with bed.store.writing() as rows:
        owners = [run.owner_id for _ in range(4) if (run := queue.claim(rows, "w", ["simulate"]))]
    assert owners == [1, 2, 1, 1]


def test_27_a_database_that_cannot_be_written_is_an_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While another process holds the lock, pages that only read work, and the others say what is wrong."""
    import sqlite3

    from bentpipe.testbed import store

    monkeypatch.setattr(store, "BUSY_S", 0.1)
    bed = Bed(tmp_path / "data")
    ada = bed.join("ada")
    saved(ada)
    holder = sqlite3.connect(tmp_path / "data" / "testbed.sqlite", isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    assert [one["name"] for one in ada.get("/api/configurations").json()] == ["mine"]
    answer = ada.post("/api/configurations", json={"name": "other", "text": SMALL})
    assert answer.status_code == 503 and "try again" in said(answer)
    holder.execute("ROLLBACK")
    holder.close()
    assert saved(ada, "other")["name"] == "other"
    bed.store.close()


def test_28_streams_tell_only_what_one_may_see(bed: Bed) -> None:
    """Last-Event-ID of someone else's run repeats nothing of it."""
    import asyncio

    from bentpipe.testbed.accounts import Caller

    ada, bob = bed.join("ada"), bed.join("bob")
    (hers,), (his,) = launched(ada), launched(bob)
    with bed.store.reading() as rows:
        sessions = {row.user_id: row.id for row in rows.scalars(select(Session))}
    broadcast = bed.app.state.broadcast

    async def read(user: int, name: str, last: int) -> str:
        stream = broadcast.follow(Caller(user, name, "user", sessions[user], "browser", "write"), last)
        found = ""
        async with broadcast.running():
            for _ in range(2):
                found += await anext(stream)
        await stream.aclose()
        return found

    first = asyncio.run(read(1, "ada", 0))
    assert hers["id"] in first and his["id"] not in first
    second = asyncio.run(read(2, "bob", 0))
    assert his["id"] in second and hers["id"] not in second


def test_29_every_change_is_in_the_audit_log_without_secrets(bed: Bed) -> None:
    ada = bed.join("ada")
    mine = saved(ada)
    secret = ada.post("/api/tokens", json={"name": "t"}).json()["secret"]
    launched(ada)
    ada.delete(f"/api/configurations/{mine['id']}")
    lines = ada.get("/api/audit").json()
    assert [line["action"] for line in lines] == [
        "remove configuration",
        "launch",
        "create token",
        "save configuration",
        "join",
    ]
    assert secret not in json.dumps(lines) and PASSWORD not in json.dumps(lines)
    for method in ("put", "patch", "post", "delete"):
        assert ada.request(method, "/api/audit", json={}).status_code == 405
    assert [line["user"] for line in bed.join("bob").get("/api/audit").json()] == ["bob"]


@pytest.mark.parametrize(
    "path",
    [
        "../../../testbed.sqlite",
        "..%2f..%2f..%2ftestbed.sqlite",
        "%2e%2e/%2e%2e/%2e%2e/testbed.sqlite",
        "/etc/passwd",
        "%2fetc%2fpasswd",
        "traces/../../../../testbed.sqlite",
        "link",
    ],
)
def test_30_downloads_stay_in_the_run(bed: Bed, path: str) -> None:
    ada = bed.join("ada")
    (run,) = launched(ada)
    folder = bed.settings.folder(1, run["id"])
    folder.mkdir(parents=True)
    (folder / "provenance.json").write_text("{}")
    (folder / "link").symlink_to("/etc/passwd")
    answer = ada.get(f"/api/runs/{run['id']}/files/{path}")
    assert answer.status_code == 404
    assert ada.get(f"/assets/{path}").status_code == 404
    whole = ada.get(
        f"/api/runs/{run['id']}/files/provenance.json", headers={"Range": "bytes=" + ",".join(["0-1"] * 2000)}
    )
    assert len(whole.content) < 1000


@pytest.mark.parametrize("search", ["%", "_", "' or 1=1 --", '"; drop table run; --', "\\"])
def test_31_searches_are_only_texts(bed: Bed, search: str) -> None:
    ada = bed.join("ada")
    launched(ada)
    assert ada.get("/api/runs", params={"search": search}).json() == []
    assert ada.get("/api/runs", params={"state": search}).status_code == 422
    assert len(ada.get("/api/runs").json()) == 1


def test_32_a_database_of_a_newer_version_is_refused_unchanged(tmp_path: Path) -> None:
    store = Store(f"sqlite:///{tmp_path / 'a.sqlite'}")
    migrate(store)
    migrate(store)
    with store.writing() as rows:
        rows.execute(text("update alembic_version set version_num = '9999'"))
    with pytest.raises(InputError, match="newer version"):
        migrate(store)
    with store.reading() as rows:
        assert rows.scalar(text("select version_num from alembic_version")) == "9999"
    store.close()


def test_the_tables_are_those_of_the_migrations(tmp_path: Path) -> None:
    from alembic.autogenerate import compare_metadata
    from alembic.migration import MigrationContext
    from bentpipe.testbed.tables import Base

    store = Store(f"sqlite:///{tmp_path / 'a.sqlite'}")
    migrate(store)
    with store.engine.connect() as connection:
        assert compare_metadata(MigrationContext.configure(connection), Base.metadata) == []
    store.close()


@pytest.mark.parametrize(
    "path, value, expected",
    [
        (["duration"], "30 s", 'duration = "30 s"'),
        (["flow", "up", "transport", "congestion"], "hybla", 'congestion = "hybla"'),
        (["flow", "up", "app", "size"], "2 MB", 'app = {kind = "bulk", size = "2 MB"}'),
        (["link", "sat", "rate"], "5 Mbit/s", '[[link]]\nname = "sat"\nrate = "5 Mbit/s"'),
        (["campaign", "vary", "seed"], [1, 2], "[campaign]\nvary = {seed = [1, 2]}"),
    ],
)
def test_a_change_of_one_value_keeps_the_text(path: list[str], value: object, expected: str) -> None:
    changed = edit(SMALL, path, value)
    assert expected in changed
    assert view(changed, "user")["valid"], changed
    before, after = SMALL.splitlines(), changed.splitlines()
    if path[0] not in ("flow", "duration"):
        assert after[: len(before)] == before


def test_an_entity_is_added_and_removed() -> None:
    added = edit(
        SMALL,
        ["flow", "other"],
        {"from": "user", "to": "server", "app": {"kind": "bulk"}, "transport": {"kind": "tcp"}},
    )
    assert [flow["name"] for flow in view(added, "user")["resolved"]["flow"]] == ["up", "other"]
    removed = edit(added, ["flow", "other"], None)
    assert view(removed, "user")["resolved"] == view(SMALL, "user")["resolved"]
    assert edit(SMALL, ["link", "none", "rate"], None) == SMALL


def test_every_preset_and_template_has_a_picture(bed: Bed) -> None:
    """In which every edge joins two drawn nodes, and every part has a panel."""
    ada = bed.join("ada")
    for template in ada.get("/api/templates").json():
        scenario = ada.get(f"/api/templates/{template['name']}").json()["text"]
        seen = view(scenario, "administrator")
        if template["name"] == "blank":
            continue
        assert seen["valid"], (template["name"], seen["problems"])
        nodes = {node["id"] for node in seen["picture"]["nodes"]}
        assert len(nodes) >= 2
        assert all({edge["from"], edge["to"]} <= nodes for edge in seen["picture"]["edges"]), template["name"]
        assert seen["picture"]["edges"]


def test_the_command_line_does_what_the_page_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A test bed as its user starts it, and `bentpipe lab` with a token: save, launch, wait, list, fetch, any
    request."""
    from bentpipe.cli import app
    from typer.testing import CliRunner

    file = tmp_path / "small.toml"
    file.write_text(SMALL.replace("20 s", "5 s"))
    monkeypatch.chdir(tmp_path)

    def lab(*words: str, code: int = 0) -> str:
        done = CliRunner().invoke(app, ["lab", *words])
        assert done.exit_code == code, done.output
        return done.output

    with serving(tmp_path / "data") as served:
        client = Client(base_url=served.url, headers={"Origin": served.url})
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
        assert "allowed: DELETE, GET" in lab("api", "LOOK", "/audit", code=2)
        assert "did you mean" in lab("launch", "smal", code=2)
        monkeypatch.setenv("BENTPIPE_TOKEN", "wrong")
        assert "log in first" in lab("runs", code=2)
        # The web process and its executor end together, and leave nothing running.
        assert served.stop() == 0
    assert not subprocess.run(
        ["pgrep", "-f", str(tmp_path / "data")], check=False, capture_output=True
    ).stdout


def test_19_nothing_is_uploaded_but_texts(bed: Bed) -> None:
    """No route takes an archive or a table, so there is nothing to unpack."""
    for methods in openapi()["paths"].values():
        for operation in methods.values():
            assert set(operation.get("requestBody", {}).get("content", {})) <= {"application/json"}


def test_20_emulation_in_real_time_is_off_unless_the_administrator_allows_it(bed: Bed) -> None:
    root = bed.join("root", "administrator")
    answer = root.post("/api/runs", json={"text": SMALL, "instruments": ["emulate"]})
    assert answer.status_code == 409 and "--real-time" in said(answer)


def test_28_hundreds_of_streams_and_one_that_does_not_read(bed: Bed) -> None:
    """Each gets every event of its user; what waits for a slow one is bounded, and it is told to load again."""
    import asyncio

    from bentpipe.testbed.accounts import Caller
    from bentpipe.testbed.api import events

    ada = bed.join("ada")
    launched(ada)
    with bed.store.reading() as rows:
        session = rows.scalars(select(Session.id)).one()
    broadcast = events.Broadcast(bed.store)

    async def stream_all() -> tuple[int, str]:
        callers = [Caller(1, f"ada{place}", "user", session, "browser", "write") for place in range(500)]
        async with broadcast.running():
            streams = [broadcast.follow(one, None) for one in callers]
            for stream in streams:
                assert (await anext(stream)).startswith("retry")
            slow = broadcast.follow(Caller(1, "slow", "user", session, "browser", "write"), None)
            await anext(slow)
            waiting = [asyncio.ensure_future(anext(stream)) for stream in streams]
            # They follow as soon as they wait.
            await asyncio.sleep(0)
            with bed.store.writing() as rows:
                run = rows.scalars(select(Run)).one()
                for _ in range(events.MOST_WAITING + 10):
                    queue.tell(rows, run)
            first = await asyncio.gather(*waiting)
            kept = max(one.qsize() for one in broadcast.followers)
            assert kept <= events.MOST_WAITING + 1
            told = ""
            while "reload" not in told:
                told = await anext(slow)
            for stream in [*streams, slow]:
                await stream.aclose()
        return sum("event: run" in one for one in first), told

    got, told = asyncio.run(stream_all())
    assert got == 500 and "reload" in told
    assert broadcast.followers == {}


def test_every_route_survives_nonsense(bed: Bed) -> None:
    """Wrong types, extremes and control characters in every parameter and body of the document: never a fault of the
    server."""
    import random

    chance = random.Random(1)
    root = bed.join("root", "administrator")
    (run,) = launched(root)
    real = {"run": run["id"], "configuration": saved(root)["id"], "account": "1", "quantity": "tcp.cwnd"}
    nonsense: list[Any] = [
        None,
        "",
        "\x00",
        "\ud800",
        "x" * 5000,
        -1,
        2**70,
        1e308,
        True,
        [],
        {},
        [[]],
        {"a": {"b": []}},
        "🛰",
    ]
    document = openapi()

    def body(schema: dict[str, Any]) -> Any:
        if "$ref" in schema:
            schema = document["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
        if chance.random() < 0.3 or "properties" not in schema:
            return SMALL if chance.random() < 0.3 else chance.choice(nonsense)
        return {key: body(inner) for key, inner in schema["properties"].items() if chance.random() < 0.8}

    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            if path in ("/api/events", "/api/session") or (method, path) == (
                "delete",
                "/api/accounts/{account}",
            ):
                continue
            schema = (
                operation.get("requestBody", {})
                .get("content", {})
                .get("application/json", {})
                .get("schema", {})
            )
            for _ in range(6):
                names = {
                    name: real[name]
                    if name in real and chance.random() < 0.6
                    else chance.choice(["0", "%00", "%ff", "a" * 300, "-1", "%F0%9F"])
                    for name in re.findall(r"{(\w+)}", path)
                }
                query = {
                    one["name"]: chance.choice(["", "-1", "9" * 30, "\x00", "ü", "a" * 500])
                    for one in operation.get("parameters", [])
                    if one["in"] == "query" and chance.random() < 0.5
                }
                content = json.dumps(body(schema)) if schema else None
                answer = root.request(method, path.format(**names), params=query, content=content)
                assert answer.status_code < 500, (method, path, names, query, content, answer.text)


def test_the_package_contains_the_page(tmp_path: Path) -> None:
    """The built page is in what users install, with every file that it names, although git ignores it."""
    import tarfile

    from testbeds import PAGE, ROOT

    maturin = Path(sys.executable).parent / "maturin"
    if not PAGE.is_file() or not maturin.is_file():
        pytest.skip("the page of the test bed is not built, or there is no maturin")
    subprocess.run([maturin, "sdist", "--out", tmp_path], cwd=ROOT, check=True, capture_output=True)
    (file,) = tmp_path.glob("*.tar.gz")
    with tarfile.open(file) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    static = "python/bentpipe/testbed/static/"
    assets = re.findall(r'(?:src|href)="/(assets/[^"]+)"', PAGE.read_text())
    assert len(assets) >= 2
    assert {f"{static}index.html", *(static + asset for asset in assets)} <= names


def test_passwords_travel_encrypted_or_not_at_all(bed: Bed) -> None:
    """Over plain HTTP only on this machine itself, whatever a header claims; behind a proxy's socket it is the
    proxy's task."""
    from bentpipe.testbed.api.security import is_encrypted

    def scope(scheme: str, host: str) -> dict[str, Any]:
        return {
            "type": "http",
            "scheme": scheme,
            "headers": [(b"host", host.encode()), (b"x-forwarded-proto", b"https")],
        }

    assert is_encrypted(scope("http", "127.0.0.1:8470"), bed.settings)
    assert is_encrypted(scope("https", "lab.example.org"), bed.settings)
    assert not is_encrypted(scope("http", "lab.example.org"), bed.settings)
    assert is_encrypted(scope("http", "lab.example.org"), Settings(bed.settings.data, insecure=True))
