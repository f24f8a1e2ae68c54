"""Every route of the OpenAPI document, called by every kind of caller with private and shared
objects of another account. The table RIGHTS states the rights of docs/testbed.md by route; a route
without an entry fails the test."""

from __future__ import annotations

import re
import shutil
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

import pytest

pytest.importorskip("fastapi", reason="bentpipe[testbed] is not installed")

from bentpipe.testbed.tables import Configuration, Member, Run, Session, User
from helpers.beds import URL, Bed, _cheap_passwords, launched, saved
from httpx2 import Client
from rigs.testbeds import PASSWORD, SMALL
from sqlalchemy import select, update
from starlette.testclient import TestClient

__all__ = ["_cheap_passwords"]

#: The rights of a route:
#: - anyone: without a log-in;
#: - logged in: every account, and tokens with the permission that the method needs;
#: - in a browser: every account, but no token;
#: - user: accounts of the level "user" or above;
#: - reader: the owner of the object, administrators, and everybody if the object is shared;
#: - copier: readers of the level "user" or above;
#: - owner: the owner of the object and administrators;
#: - visible owner: the same, of an object that everybody sees;
#: - own: the owner only, because the object belongs to the log-in of the caller;
#: - administrator; in person: an administrator in a browser.
Right = Literal[
    "anyone",
    "logged in",
    "in a browser",
    "user",
    "reader",
    "copier",
    "owner",
    "visible owner",
    "own",
    "administrator",
    "in person",
]

RUN = "/api/runs/{run}"
CONFIGURATION = "/api/configurations/{configuration}"
ACCOUNT = "/api/accounts/{account}"

RIGHTS: Final[dict[str, Right]] = {
    "POST /api/session": "anyone",
    "POST /api/session/reset": "anyone",
    "POST /api/invitations/accept": "anyone",
    "GET /api/session": "logged in",
    "DELETE /api/session": "logged in",
    "PUT /api/session/password": "in a browser",
    "GET /api/tokens": "logged in",
    "POST /api/tokens": "in a browser",
    "DELETE /api/tokens/{token}": "own",
    "GET /api/audit": "logged in",
    "GET /api/templates": "logged in",
    "GET /api/templates/{name}": "logged in",
    "GET /api/schema": "logged in",
    "GET /api/traces": "logged in",
    "GET /api/studies": "logged in",
    "GET /api/studies/{study}/claims": "logged in",
    "GET /api/studies/{study}/figures/{figure}": "logged in",
    "GET /api/queue": "logged in",
    "GET /api/configurations": "logged in",
    "GET /api/runs": "logged in",
    "POST /api/drafts/view": "logged in",
    "POST /api/drafts/map": "logged in",
    "POST /api/drafts/edit": "logged in",
    "POST /api/drafts/points": "logged in",
    "POST /api/configurations": "user",
    "POST /api/runs": "user",
    "POST /api/studies/{study}/runs": "user",
    f"GET {CONFIGURATION}": "reader",
    f"PUT {CONFIGURATION}": "owner",
    f"DELETE {CONFIGURATION}": "owner",
    f"POST {CONFIGURATION}/fork": "copier",
    f"POST {CONFIGURATION}/reset": "owner",
    f"GET {RUN}": "reader",
    f"PATCH {RUN}": "owner",
    f"DELETE {RUN}": "owner",
    f"POST {RUN}/cancel": "owner",
    f"POST {RUN}/changes": "owner",
    f"GET {RUN}/changes": "reader",
    f"POST {RUN}/configuration": "copier",
    f"GET {RUN}/regions": "reader",
    f"GET {RUN}/marks": "reader",
    f"GET {RUN}/network": "reader",
    f"GET {RUN}/calls": "reader",
    f"GET {RUN}/speech/{{call}}": "reader",
    f"GET {RUN}/results": "reader",
    f"GET {RUN}/series/{{quantity}}": "reader",
    f"GET {RUN}/report": "reader",
    f"GET {RUN}/tables/{{table}}": "reader",
    f"GET {RUN}/files": "reader",
    f"GET {RUN}/files/{{path}}": "reader",
    "GET /api/comparison": "reader",
    "GET /api/batches/{batch}/means": "reader",
    "GET /api/runs/total": "logged in",
    "GET /api/runs/zip": "reader",
    "POST /api/runs/bulk": "user",
    f"GET {RUN}/comments": "reader",
    f"POST {RUN}/comments": "copier",
    f"DELETE {RUN}/comments/{{comment}}": "owner",
    "GET /api/views": "logged in",
    "PUT /api/views/{name}": "user",
    "DELETE /api/views/{name}": "own",
    "GET /api/courses": "logged in",
    "POST /api/courses": "user",
    "PUT /api/courses/{course}/members": "owner",
    "DELETE /api/courses/{course}": "owner",
    "GET /api/reservations": "logged in",
    "POST /api/reservations": "user",
    "DELETE /api/reservations/{reservation}": "visible owner",
    "GET /api/quotas": "logged in",
    "GET /api/laboratory": "logged in",
    "GET /api/accounts": "administrator",
    f"PATCH {ACCOUNT}": "in person",
    f"DELETE {ACCOUNT}": "in person",
    f"POST {ACCOUNT}/reset": "in person",
    "GET /api/invitations": "administrator",
    "POST /api/invitations": "in person",
    "DELETE /api/invitations/{invitation}": "in person",
}

#: Endless, and tested in test_testbed_requests.py.
STREAMS: Final = {"GET /api/events"}

#: Routes about one of Alice's objects, without its id in the path.
QUERIES: Final = {"GET /api/comparison": {"run": "run"}, "GET /api/runs/zip": {"run": "run"}}

BODIES: Final[dict[str, Any]] = {
    "POST /api/session": {"name": "alice", "password": PASSWORD},
    "POST /api/session/reset": {"reset": "{reset}", "password": PASSWORD},
    "POST /api/invitations/accept": {"invitation": "{invited}", "name": "zoe", "password": PASSWORD},
    "PUT /api/session/password": {"old": PASSWORD, "new": PASSWORD + "2"},
    "POST /api/tokens": {"name": "another"},
    "POST /api/drafts/view": {"text": SMALL},
    "POST /api/drafts/map": {"text": SMALL},
    "POST /api/drafts/points": {"text": SMALL, "instruments": ["simulate"]},
    "POST /api/drafts/edit": {"text": SMALL, "edits": [{"path": ["name"], "value": "Other"}]},
    "POST /api/configurations": {"name": "another", "text": SMALL},
    "POST /api/runs": {"text": SMALL},
    "POST /api/studies/{study}/runs": {},
    f"PUT {CONFIGURATION}": {"version": "{version}", "name": "renamed"},
    f"POST {CONFIGURATION}/fork": {"name": "copy"},
    f"PATCH {RUN}": {"baseline": True},
    f"POST {RUN}/changes": {"key": "link.wire.rate", "value": "1 Mbit/s"},
    f"POST {RUN}/configuration": {"name": "from a run"},
    "POST /api/runs/bulk": {"action": "tag", "tag": "t", "matching": {}},
    f"POST {RUN}/comments": {"text": "Why?"},
    "PUT /api/views/{name}": {"query": "state=done"},
    "POST /api/courses": {"name": "another"},
    "PUT /api/courses/{course}/members": {"members": ["bob"]},
    "POST /api/reservations": {"starts": time.time() + 86_400, "ends": time.time() + 90_000},
    f"PATCH {ACCOUNT}": {"level": "guest"},
    "POST /api/invitations": {"level": "user"},
}

#: Allowed requests that are refused for another reason: the run has ended, the scenario has no
#: satellites, the run has no calls.
REFUSED: Final = {
    f"POST {RUN}/changes": 409,
    "POST /api/drafts/map": 404,
    f"GET {RUN}/speech/{{call}}": 422,
}


@dataclass(frozen=True)
class Kind:
    """A kind of caller. Callers that are not ``known`` have no valid log-in."""

    name: str
    level: Literal["guest", "user", "administrator"] = "user"
    known: bool = True
    token: Literal["read", "write"] | None = None
    alice: bool = False

    def expected(self, route: str, right: Right, shared: bool) -> int:
        """Returns the status of the response; 200 stands for every success."""
        method = route.partition(" ")[0]
        if right == "anyone":
            return 200
        if not self.known:
            return 401
        if self.token == "read" and method != "GET":
            return 403
        is_user, is_administrator = self.level != "guest", self.level == "administrator"
        visible = self.alice or shared or is_administrator
        match right:
            case "logged in":
                return 200
            case "in a browser":
                return 403 if self.token else 200
            case "own":
                return 200 if self.alice else 404
            case "user":
                return 200 if is_user else 403
            case "reader":
                return 200 if visible else 404
            case "copier" | "owner" if not is_user:
                return 403
            case "copier":
                return 200 if visible else 404
            case "owner":
                return 200 if self.alice or is_administrator else 403 if shared else 404
            case "visible owner":
                return 200 if self.alice or is_administrator else 403
            case "administrator":
                return 200 if is_administrator else 403
            case "in person":
                return 200 if is_administrator and not self.token else 403
        raise AssertionError(right)


KINDS: Final = (
    Kind("nobody", known=False),
    Kind("made-up token", known=False),
    Kind("expired token", known=False),
    Kind("expired session", known=False),
    Kind("removed", known=False),
    Kind("deactivated", known=False),
    Kind("guest", "guest"),
    Kind("guest's token", "guest", token="write"),
    Kind("guest's read token", "guest", token="read"),
    Kind("alice", alice=True),
    Kind("alice's token", alice=True, token="write"),
    Kind("alice's read token", alice=True, token="read"),
    Kind("bob"),
    Kind("bob's token", token="write"),
    Kind("bob's read token", token="read"),
    Kind("administrator", "administrator"),
    Kind("administrator's token", "administrator", token="write"),
    Kind("administrator's read token", "administrator", token="read"),
)


class World:
    """A test bed with an account per level, objects of Alice, and a client of each kind."""

    def __init__(self, folder: Path) -> None:
        self.bed = Bed(folder / "data", real_time=True)
        bed = self.bed
        clients = {
            "administrator": bed.join("administrator", "administrator"),
            "alice": bed.join("alice"),
            "bob": bed.join("bob"),
            "guest": bed.join("guest", "guest"),
            "removed": bed.join("removed"),
            "deactivated": bed.join("deactivated"),
            "expired session": bed.join("expired"),
            "nobody": bed.visitor(),
            "made-up token": self._with_token("0" * 43),
        }
        for name in ("administrator", "alice", "bob", "guest"):
            for scope, word in (("write", "token"), ("read", "read token")):
                given = {"name": scope, "scope": scope}
                secret = clients[name].post("/api/tokens", json=given).json()["secret"]
                clients[f"{name}'s {word}"] = self._with_token(secret)
        expired = clients["expired session"].post("/api/tokens", json={"name": "t"}).json()["secret"]
        clients["expired token"] = self._with_token(expired)
        self.clients = clients
        root, alice = clients["administrator"], clients["alice"]
        self.values = self._objects(root, alice)
        numbers = {one["name"]: one["id"] for one in root.get("/api/accounts").json()}
        assert root.delete(f"/api/accounts/{numbers['removed']}").status_code == 204
        changed = root.patch(f"/api/accounts/{numbers['deactivated']}", json={"active": False})
        assert changed.status_code == 200
        self.values["account"] = str(numbers["alice"])
        with bed.store.writing() as rows:
            number = rows.scalar(select(User.id).where(User.name == "expired"))
            rows.execute(update(Session).where(Session.user_id == number).values(expires=time.time() - 1))
        self.kept = folder / "kept.sqlite", folder / "kept"
        _copy(bed.settings.file, self.kept[0])
        shutil.copytree(bed.settings.runs, self.kept[1])

    def _with_token(self, secret: str) -> Client:
        client = TestClient(self.bed.app, base_url=URL)
        client.headers["Authorization"] = f"Bearer {secret}"
        return client

    def _objects(self, root: Client, alice: Client) -> dict[str, str]:
        # Two runs, because a single run has no batch.
        short = SMALL.replace('"20 s"', '"1 s"')
        campaign = short + "\n[campaign]\nreplications = 2\n"
        runs = launched(alice, text=campaign, campaign=True)
        self.bed.execute()
        while any(one["state"] != "done" for one in alice.get("/api/runs").json()):
            time.sleep(0.05)
        self.bed.stop()
        run = runs[0]["id"]
        configuration = saved(alice)
        comment = alice.post(f"/api/runs/{run}/comments", json={"text": "Slow"}).json()
        course = alice.post("/api/courses", json={"name": "course"}).json()
        span = {"starts": time.time() + 3600, "ends": time.time() + 7200}
        reservation = alice.post("/api/reservations", json=span).json()
        alice.put("/api/views/geo", json={"query": "search=geo"})
        account = next(one["id"] for one in root.get("/api/accounts").json() if one["name"] == "alice")
        reset = root.post(f"/api/accounts/{account}/reset").json()["link"].rpartition("/")[2]
        invited = root.post("/api/invitations", json={"level": "user"}).json()["link"].rpartition("/")[2]
        pending = root.get("/api/invitations").json()
        files = [one["path"] for one in alice.get(f"/api/runs/{run}/files").json()]
        quantities = alice.get(f"/api/runs/{run}/results").json()["quantities"]
        trace, columns = next(iter(quantities.items()))
        return {
            "run": run,
            "batch": runs[0]["batch"],
            "configuration": configuration["id"],
            "version": str(configuration["version"]),
            "token": alice.get("/api/tokens").json()[0]["id"],
            "invitation": next(one["id"] for one in pending if one["resets"] is None),
            "invited": invited,
            "reset": reset,
            "quantity": f"{trace}.{columns[0]}",
            "path": files[0],
            "comment": str(comment["id"]),
            "course": str(course["id"]),
            "reservation": str(reservation["id"]),
            "table": "flows",
            "call": "up",
            "name": "geo",
            "study": "dama",
            "figure": "figure-07-throughput-forward.png",
        }

    def restore(self, shared: bool) -> None:
        """Undoes all changes, and shares or does not share Alice's objects. If shared, everybody is
        a member of Alice's course."""
        settings = self.bed.settings
        database, runs = self.kept
        _copy(database, settings.file)
        with self.bed.store.writing() as rows:
            for table in (Run, Configuration):
                rows.execute(update(table).values(shared=shared))
            course = int(self.values["course"])
            for user in rows.scalars(select(User.id)).all() if shared else ():
                rows.add(Member(course_id=course, user_id=user))
        shutil.rmtree(settings.runs)
        shutil.copytree(runs, settings.runs)

    def request(self, kind: Kind, route: str) -> int:
        """Sends a request, and returns its status; 200 for every success."""
        method, _, path = route.partition(" ")
        body = BODIES.get(route)
        if body is not None:
            body = {key: self._filled(value) for key, value in body.items()}
        query = {key: self.values[of] for key, of in QUERIES.get(route, {}).items()}
        client = self.clients[kind.name]
        cookies = dict(client.cookies)
        answer = client.request(method, path.format(**self.values), json=body, params=query)
        # A response may end the session, or start another one.
        client.cookies.clear()
        client.cookies.update(cookies)
        return 200 if 200 <= answer.status_code < 300 else answer.status_code

    def _filled(self, value: Any) -> Any:
        if not isinstance(value, str):
            return value
        filled = re.sub(r"^{(\w+)}$", lambda found: self.values[found[1]], value)
        return int(filled) if value == "{version}" else filled


def _copy(source: Path, target: Path) -> None:
    """Copies an SQLite database. Both may be open."""
    with closing(sqlite3.connect(source)) as read, closing(sqlite3.connect(target)) as written:
        read.backup(written)


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path)
    yield made
    made.bed.store.close()


def routes(bed: Bed) -> list[str]:
    """Returns the routes of the OpenAPI document."""
    paths = bed.app.openapi()["paths"]
    return [f"{method.upper()} {path}" for path, methods in paths.items() for method in methods]


def test_every_route_by_every_kind_of_caller(world: World) -> None:
    known = routes(world.bed)
    assert set(known) - STREAMS == set(RIGHTS), "RIGHTS differs from the routes of the document"
    deviations = []
    tried = 0
    for shared in (False, True):
        world.restore(shared)
        for route, right in RIGHTS.items():
            if shared and right not in ("reader", "copier", "owner"):
                continue
            for kind in KINDS:
                expected = kind.expected(route, right, shared)
                if expected == 200:
                    expected = REFUSED.get(route, 200)
                status = world.request(kind, route)
                tried += 1
                if status != expected:
                    deviations.append(f"{route}, {kind.name}, {shared=}: {status} instead of {expected}")
                if status == 200 and not route.startswith("GET"):
                    world.restore(shared)
    assert not deviations, "\n".join(deviations)
    assert tried > 1000
