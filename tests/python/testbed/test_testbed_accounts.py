"""The test bed's accounts: sessions, passwords, levels, tokens, ownership, and the audit log.
Numbers in the names of tests refer to the abuse cases in docs/notes/abuse-cases.md."""

from __future__ import annotations

import json
import re
import threading
import time
from typing import Any

import pytest
from bentpipe.testbed import accounts, drafts
from bentpipe.testbed.api.application import openapi
from bentpipe.testbed.refused import Refused
from bentpipe.testbed.settings import Settings
from bentpipe.testbed.tables import Attempt, Run, Session
from helpers.beds import URL, Bed, _cheap_passwords, bed, launched, said, saved
from httpx2 import Response
from rigs.testbeds import PASSWORD, SMALL, until
from sqlalchemy import select, text, update
from starlette.testclient import TestClient

__all__ = ["_cheap_passwords", "bed"]


#: The routes that need no log-in.
WITHOUT_LOG_IN = {
    ("post", "/api/session"),
    ("post", "/api/session/reset"),
    ("post", "/api/invitations/accept"),
}


def test_01_objects_of_other_accounts_are_not_found(bed: Bed) -> None:
    """Requests every route with the id of another account's object, as a user and as a guest: the
    response is always "not found"."""
    ada = bed.join("ada")
    # Two runs, because a single run has no batch.
    launches = launched(ada, instruments=["simulate", "kernel"])
    run = launches[0]["id"]
    values = {
        "configuration": saved(ada)["id"],
        "run": run,
        "batch": launches[0]["batch"],
        "token": ada.post("/api/tokens", json={"name": "t"}).json()["id"],
        "account": "1",
        "comment": str(ada.post(f"/api/runs/{run}/comments", json={"text": "Hers"}).json()["id"]),
        "course": str(ada.post("/api/courses", json={"name": "hers"}).json()["id"]),
        "invitation": "0123456789abcdef",
        "quantity": "tcp.cwnd",
        "path": "report.html",
        "table": "flows",
        "name": "geo",
        "study": "dama",
        "call": "0",
        "reservation": "1",
        "figure": "1",
    }
    bodies = {
        ("put", "/api/configurations/{configuration}"): {"version": 1, "name": "theirs"},
        ("post", "/api/configurations/{configuration}/fork"): {"name": "copy"},
        ("patch", "/api/runs/{run}"): {"shared": True},
        ("post", "/api/runs/{run}/changes"): {"key": "link.sat.rate", "value": "1 Mbit/s"},
        ("post", "/api/runs/{run}/configuration"): {"name": "mine now"},
        ("patch", "/api/accounts/{account}"): {"level": "guest"},
        ("post", "/api/runs/{run}/comments"): {"text": "Mine"},
        ("put", "/api/courses/{course}/members"): {"members": ["bob"]},
    }
    before = _state(bed)
    tried = 0
    for intruder, level in (("bob", "user"), ("gil", "guest")):
        client = bed.join(intruder, level)
        for path, methods in openapi()["paths"].items():
            names = re.findall(r"{(\w+)}", path)
            if not set(names) & {"configuration", "run", "batch", "token", "account", "course"}:
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
        assert client.get("/api/runs/total").json() == {"total": 0, "owners": [], "tags": []}
        assert client.get("/api/runs/zip", params={"run": [run]}).status_code == 404
        assert client.get("/api/courses").json() == []
        answer = client.post("/api/runs/bulk", json={"action": "remove", "runs": [run]})
        assert answer.status_code == 403 or answer.json() == {"changed": 0, "skipped": 1}
        entries = client.get("/api/queue").json()["entries"]
        assert [(one["id"], one["owner"], one["name"]) for one in entries] == [
            ("", "", "run of another user")
        ] * 2
    assert tried >= 30
    assert _state(bed) == before
    # Without a session, only the routes to log in respond.
    visitor = bed.visitor()
    for path, methods in openapi()["paths"].items():
        for method in methods:
            if (method, path) not in WITHOUT_LOG_IN:
                answer = visitor.request(method, path.format(**values))
                assert answer.status_code == 401, (method, path, answer.status_code)


def _state(bed: Bed) -> list[Any]:
    with bed.store.reading() as rows:
        tables = (
            "configuration",
            "run",
            "session where user_id = 1",
            "account where id = 1",
            "comment",
            "course",
            "member",
        )
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


def test_data_and_numbers_of_a_removed_account_are_not_reused(bed: Bed) -> None:
    """The account's results are removed unless a run is in progress, and its number and those of
    its runs are never reused."""
    root = bed.join("root", "administrator")
    ada = bed.join("ada")
    account = ada.get("/api/session").json()["id"]
    (run,) = launched(ada)
    folder = bed.settings.folder(account, run["id"])
    folder.mkdir(parents=True)
    (folder / "flows.parquet").write_text("results")
    with bed.store.writing() as rows:
        rows.execute(update(Run).values(state="running"))
    assert "in progress" in said(root.delete(f"/api/accounts/{account}"))
    assert folder.exists()
    with bed.store.writing() as rows:
        rows.execute(update(Run).values(state="done"))
    assert root.delete(f"/api/accounts/{account}").status_code == 204
    assert list(bed.settings.runs.rglob("*")) == []
    bob = bed.join("bob")
    assert bob.get("/api/session").json()["id"] > account
    assert [line["user"] for line in bob.get("/api/audit").json()] == ["bob"]
    (other,) = launched(bob)
    assert other["number"] > run["number"]


def test_04_sessions_end(bed: Bed) -> None:
    """A session ends after logging out, a changed password, a changed level, and a time limit. A
    secret chosen by the client is never accepted."""
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
    # 26: a clock that is set back neither ends nor extends a session.
    with bed.store.writing() as rows:
        session = rows.scalars(select(Session)).first()
        assert session is not None
        session.expires = time.time() - 1
        rows.flush()
    assert root.get("/api/session").status_code == 401


def test_05_guessing_is_limited_and_reveals_nothing(bed: Bed) -> None:
    bed.join("ada")
    client = bed.visitor()

    def guess(name: str, password: str) -> Response:
        return client.post("/api/session", json={"name": name, "password": password})

    unknown, wrong = guess("nobody", "wrong password"), guess("ada", "wrong password")
    assert (unknown.status_code, unknown.text) == (wrong.status_code, wrong.text) == (401, wrong.text)
    for _ in range(accounts.MAX_FAILURES_OF_ACCOUNT - 1):
        assert guess("ada", "wrong password").status_code == 401
    # The correct password is refused too; otherwise the response would reveal it.
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


def test_06_many_simultaneous_log_ins_do_not_delay_other_requests(
    bed: Bed, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Hashes are computed one at a time, few requests wait, and logged-in users are not
    affected."""
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
    # A token is no cookie, and is shown only once.
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


def test_passwords_travel_encrypted_or_not_at_all(bed: Bed) -> None:
    """Plain HTTP is limited to this machine, regardless of headers. Behind the socket of a proxy,
    the proxy is responsible for encryption."""
    from bentpipe.testbed.api.callers import cookie_of
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
    # A proxy that encrypts forwards the log-in, and the cookie is for encrypted connections.
    behind_proxy = Settings(bed.settings.data, proxied=True)
    assert is_encrypted(scope("http", "lab.example.org"), behind_proxy)
    assert cookie_of(behind_proxy) == cookie_of(bed.settings) == "__Host-bentpipe"


def test_05_guessing_many_names_from_one_address_is_limited(bed: Bed) -> None:
    """The limit does not lock out users at other addresses."""
    for number in range(accounts.MAX_FAILURES_OF_ADDRESS):
        with pytest.raises(Refused, match="is wrong"):
            accounts.log_in(bed.store, f"nobody{number}", "wrong password", "192.0.2.1")
    bed.join("ada")
    with pytest.raises(Refused, match="too many"):
        accounts.log_in(bed.store, "ada", PASSWORD, "192.0.2.1")
    accounts.log_in(bed.store, "ada", PASSWORD, "192.0.2.2")


def test_a_stranger_does_not_lock_an_account_for_its_owner(bed: Bed) -> None:
    """Failures count per account and address: those of a stranger, also behind a proxy, leave the
    owner's log-in alone. Entries of X-Forwarded-For that a client sends itself do not count."""
    bed.join("ada")
    bed.app.state.settings = Settings(bed.settings.data, proxied=True)

    def guess(password: str, *addresses: str) -> int:
        client = bed.visitor()
        client.headers["X-Forwarded-For"] = ", ".join(addresses)
        answer = client.post("/api/session", json={"name": "ada", "password": password})
        return int(answer.status_code)

    for number in range(accounts.MAX_FAILURES_OF_ACCOUNT):
        assert guess("wrong password", f"203.0.113.{number}", "192.0.2.1") == 401
    assert guess(PASSWORD, "203.0.113.99", "192.0.2.1") == 429
    assert guess(PASSWORD, "192.0.2.2") == 200


def test_a_token_changes_no_account(bed: Bed) -> None:
    """A leaked token of an administrator creates no account and no administrator."""
    root = bed.join("root", "administrator")
    bed.join("ada")
    token = root.post("/api/tokens", json={"name": "t"}).json()["secret"]
    program = bed.visitor()
    program.headers["Authorization"] = f"Bearer {token}"
    assert program.get("/api/accounts").status_code == 200
    for method, path, body in (
        ("post", "/api/invitations", {"level": "administrator"}),
        ("patch", "/api/accounts/2", {"level": "administrator"}),
        ("post", "/api/accounts/2/reset", None),
        ("delete", "/api/accounts/2", None),
    ):
        answer = program.request(method, path, json=body)
        assert (answer.status_code, "log in" in said(answer)) == (403, True), path
    assert [one["level"] for one in root.get("/api/accounts").json()] == ["user", "administrator"]


def test_a_forgotten_password_is_reset_by_a_link_that_works_once(bed: Bed) -> None:
    root, ada = bed.join("root", "administrator"), bed.join("ada")
    token = ada.post("/api/tokens", json={"name": "t"}).json()["secret"]
    first, second = (root.post("/api/accounts/2/reset").json()["link"] for _ in range(2))
    assert first.startswith("/#/reset/")
    visitor = bed.visitor()

    def reset(link: str, password: str = PASSWORD + " new") -> Response:
        body = {"reset": link.rpartition("/")[2], "password": password}
        return visitor.post("/api/session/reset", json=body)

    # A second link ends the first, and a reset link is no invitation.
    assert reset(first).status_code == 403
    given = {"invitation": second.rpartition("/")[2], "name": "eve", "password": PASSWORD}
    assert bed.visitor().post("/api/invitations/accept", json=given).status_code == 403
    assert reset(second, "short").status_code == 422
    assert ada.get("/api/session").status_code == 200
    assert reset(second).json()["name"] == "ada"
    assert visitor.get("/api/session").json()["name"] == "ada"
    assert reset(second).status_code == 403
    assert ada.get("/api/session").status_code == 401
    ada.headers["Authorization"] = f"Bearer {token}"
    assert ada.get("/api/session").status_code == 401
    with pytest.raises(Refused, match="is wrong"):
        accounts.log_in(bed.store, "ada", PASSWORD, "")
    accounts.log_in(bed.store, "ada", PASSWORD + " new", "")


def test_an_inactive_account_keeps_its_data(bed: Bed) -> None:
    root, ada = bed.join("root", "administrator"), bed.join("ada")
    kept = saved(ada)["id"]
    link = root.post("/api/accounts/2/reset").json()["link"]
    assert root.patch("/api/accounts/2", json={"active": False}).json()["active"] is False
    assert ada.get("/api/session").status_code == 401
    with pytest.raises(Refused, match="inactive"):
        accounts.log_in(bed.store, "ada", PASSWORD, "")
    with pytest.raises(Refused, match="is wrong"):
        accounts.log_in(bed.store, "ada", "wrong password", "")
    with pytest.raises(Refused, match="inactive"):
        accounts.set_password(bed.store, link.rpartition("/")[2], PASSWORD)
    assert root.patch("/api/accounts/1", json={"active": False}).status_code == 409
    assert root.patch("/api/accounts/2", json={"active": True}).status_code == 200
    answer = ada.post("/api/session", json={"name": "ada", "password": PASSWORD})
    assert answer.status_code == 200
    assert [one["id"] for one in ada.get("/api/configurations").json()] == [kept]


def test_invitations_are_listed_and_revoked(bed: Bed) -> None:
    root = bed.join("root", "administrator")
    bed.join("ada")
    secret = root.post("/api/invitations", json={"level": "user"}).json()["link"].rpartition("/")[2]
    root.post("/api/accounts/2/reset")
    listed = root.get("/api/invitations").json()
    assert [(one["level"], one["resets"], one["by"]) for one in listed] == [
        ("user", "ada", "root"),
        ("user", None, "root"),
    ]
    assert secret not in json.dumps(listed)
    assert root.delete(f"/api/invitations/{listed[1]['id']}").status_code == 204
    given = {"invitation": secret, "name": "bob", "password": PASSWORD}
    assert bed.visitor().post("/api/invitations/accept", json=given).status_code == 403
    assert [one["resets"] for one in root.get("/api/invitations").json()] == ["ada"]


@pytest.mark.parametrize("idle", [True, False])
def test_streams_end_with_their_log_in(bed: Bed, idle: bool) -> None:
    bed.join("ada")
    secret, who = accounts.log_in(bed.store, "ada", PASSWORD, "")
    broadcast = bed.app.state.broadcast
    assert broadcast._since(0, {who.session})[1] == set()
    with bed.store.writing() as rows:
        session = rows.get_one(Session, accounts.digest(secret))
        if idle:
            session.used = time.time() - accounts.IDLE_S - 1
        else:
            session.expires = time.time() - 1
    assert broadcast._since(0, {who.session})[1] == {who.session}


def test_previews_of_one_user_do_not_delay_other_requests(bed: Bed, monkeypatch: pytest.MonkeyPatch) -> None:
    """Previews and launches have their own threads, and a limit per user."""
    gil, ada = bed.join("gil", "guest"), bed.join("ada")
    release = threading.Event()
    monkeypatch.setattr(drafts, "view", lambda *_: release.wait(60) and {"valid": True})
    statuses: list[int] = []

    def preview() -> None:
        client = bed.visitor()
        client.cookies = gil.cookies
        statuses.append(client.post("/api/drafts/view", json={"text": SMALL}).status_code)

    threads = [threading.Thread(target=preview) for _ in range(10)]
    for thread in threads:
        thread.start()
    until(lambda: len(statuses) == 6)
    assert statuses == [429] * 6
    assert ada.get("/api/runs").status_code == 200
    release.set()
    for thread in threads:
        thread.join()
    assert sorted(statuses) == [200] * 4 + [429] * 6
