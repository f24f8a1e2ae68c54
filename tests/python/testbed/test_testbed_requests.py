"""The test bed's responses to requests of other sites and to nonsense, and its streams of events.
Numbers in the names of tests refer to the abuse cases in docs/notes/abuse-cases.md."""

from __future__ import annotations

import asyncio
import json
import re
import socket
import sys
from typing import Any

import pytest
from bentpipe.testbed import queue
from bentpipe.testbed.api.application import openapi
from bentpipe.testbed.serving import Address, bind
from bentpipe.testbed.tables import Run, Session
from helpers.beds import URL, Bed, _cheap_passwords, bed, launched, saved
from rigs.testbeds import SMALL
from sqlalchemy import select

__all__ = ["_cheap_passwords", "bed"]


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
        # Requests without any Origin come only from programs, which use a token.
        assert ada.post("/api/configurations", content=body).status_code == 403


def test_12_headers_of_every_response(bed: Bed) -> None:
    client = bed.visitor()
    for path in ("/", "/api/session", "/api/openapi.json", "/nothing"):
        headers = client.get(path).headers
        policy = headers["content-security-policy"]
        assert "script-src 'self' 'wasm-unsafe-eval';" in policy and "frame-ancestors 'none'" in policy
        assert "'unsafe-eval'" not in policy and "script-src 'self' 'unsafe-inline'" not in policy
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


def test_19_nothing_is_uploaded_but_texts(bed: Bed) -> None:
    """No route accepts an archive or a table, so there is nothing to unpack."""
    for methods in openapi()["paths"].values():
        for operation in methods.values():
            assert set(operation.get("requestBody", {}).get("content", {})) <= {"application/json"}


def test_28_streams_contain_only_events_that_the_user_may_see(bed: Bed) -> None:
    """Last-Event-ID of another account's run repeats none of its events."""
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


def test_28_hundreds_of_streams_and_one_that_does_not_read(bed: Bed) -> None:
    """Each stream receives every event of its user. The backlog of a slow stream is limited; beyond
    the limit, its browser must reload."""
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
            # The events follow as soon as the streams wait.
            await asyncio.sleep(0)
            with bed.store.writing() as rows:
                run = rows.scalars(select(Run)).one()
                for _ in range(events.MAX_WAITING + 10):
                    queue.record_event(rows, run)
            first = await asyncio.gather(*waiting)
            kept = max(one.qsize() for one in broadcast.followers)
            assert kept <= events.MAX_WAITING + 1
            told = ""
            while "reload" not in told:
                told = await anext(slow)
            for stream in [*streams, slow]:
                await stream.aclose()
        return sum("event: run" in one for one in first), told

    got, told = asyncio.run(stream_all())
    assert got == 500 and "reload" in told
    assert broadcast.followers == {}


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


def test_every_route_survives_nonsense(bed: Bed) -> None:
    """Wrong types, extremes and control characters in every parameter and body of the document
    never cause a fault of the server."""
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


def test_a_response_is_not_delayed() -> None:
    """Without TCP_NODELAY, the kernel would delay the body of a response until the header is
    acknowledged, 40 ms later."""
    here = bind(Address("127.0.0.1", 0))
    options: list[int] = []

    async def connected(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        options.append(writer.get_extra_info("socket").getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
        writer.close()

    async def connect() -> None:
        server = await asyncio.start_server(connected, sock=here)
        async with server:
            reader, writer = await asyncio.open_connection(*here.getsockname())
            await reader.read()
            writer.close()

    asyncio.run(connect())
    assert options == [1]


def test_assets_are_sent_compressed(bed: Bed, monkeypatch: pytest.MonkeyPatch) -> None:
    """A browser gets the smallest form that it accepts. The forms have the type of the asset."""
    page = bed.settings.data / "static"
    (page / "assets").mkdir(parents=True)
    for ending, content in (("", b"plain"), (".br", b"brotli"), (".gz", b"gzip")):
        (page / "assets" / f"index-1.js{ending}").write_bytes(content)
    monkeypatch.setattr(sys.modules["bentpipe.testbed.api.application"], "PAGE", page)
    visitor = bed.visitor()
    for accepted, coding, length in (
        ("gzip, deflate, br", "br", 6),
        ("gzip;q=0.5", "gzip", 4),
        ("identity", None, 5),
    ):
        # The client would decode the content.
        with visitor.stream("GET", "/assets/index-1.js", headers={"Accept-Encoding": accepted}) as answer:
            assert answer.headers.get("content-encoding") == coding
            assert answer.headers["content-length"] == str(length)
            assert answer.headers["content-type"].startswith("text/javascript")
            assert answer.headers["vary"] == "Accept-Encoding"
