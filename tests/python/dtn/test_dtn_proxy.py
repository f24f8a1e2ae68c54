"""``bentpipe dtn proxy``: TCP over bundles."""

from __future__ import annotations

import json
import socket
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from bentpipe.cli import app
from bentpipe.dtn.proxy import HEADER, Egress
from helpers.agents import BENTPIPE, agent, counts, wait_for
from typer.testing import CliRunner


class Destination:
    """A TCP server that stores the data of each connection."""

    def __init__(self, port: int = 0) -> None:
        self.socket = socket.create_server(("127.0.0.1", port))
        self.address = self.socket.getsockname()[:2]
        self.received: list[bytearray] = []
        self.ended = 0
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self) -> None:
        while True:
            try:
                connection, _ = self.socket.accept()
            except OSError:
                return
            self.received.append(bytearray())
            with connection:
                while part := connection.recv(65536):
                    self.received[-1] += part
            self.ended += 1

    def close(self) -> None:
        self.socket.shutdown(socket.SHUT_RDWR)
        self.socket.close()
        self.thread.join(10)


@contextmanager
def proxy(*options: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    process = subprocess.Popen(
        [*BENTPIPE, "dtn", "proxy", "--json", *options], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    try:
        yield process, json.loads(process.stdout.readline())["listening"][0]
    finally:
        process.kill()
        process.wait(20)
        process.stdout.close()


def test_measures_of_a_sink_cross_two_agents_in_order(tmp_path: Path) -> None:
    inbox, destination = tmp_path / "delivered", Destination()
    (host, port), listen = destination.address, ("--listen", "tcpcl://127.0.0.1:0")
    measures = [f"node=1 number={number} light={number % 97:06}\n".encode() for number in range(5000)]
    with (
        agent("dtn://earth/", tmp_path / "earth", *listen, "--deliver", str(inbox)) as (_, far),
        agent("dtn://orbiter/", tmp_path / "orbiter", *listen, "--peer", f"dtn://earth/=tcpcl://{far}") as (
            orbiter,
            near,
        ),
        proxy("--inbox", str(inbox / "in"), "--connect", f"{host}:{port}"),
        proxy(
            "--listen", "127.0.0.1:0", "--to", "dtn://earth/in", "--via", f"tcpcl://{near}", "--block", "5 kB"
        ) as (entrance, where),
    ):
        entry, number = where.rsplit(":", 1)
        with socket.create_connection((entry, int(number))) as sink:
            for measure in measures:
                sink.sendall(measure)
        wait_for(lambda: destination.ended == 1)
        assert [bytes(one) for one in destination.received] == [b"".join(measures)]
        made = counts(entrance)
        sent = counts(orbiter)
    destination.close()
    assert (made["streams"], made["bytes"]) == (1, sum(map(len, measures)))
    assert sent["received"] == made["payloads"] >= made["bytes"] // 5000
    assert list((inbox / "in").glob("[!s]*")) == [], "what was written is removed"


def test_an_exit_orders_payloads_and_waits_for_its_destination(tmp_path: Path) -> None:
    probe = Destination()
    (host, port), stream = probe.address, b"stream00"
    probe.close()
    parts = [b"one ", b"two ", b"three"]
    places = [0, 4, 8]
    names = ["c", "a", "b"]
    payloads = {
        name: HEADER.pack(stream, place, place == 8) + part
        for name, place, part in zip(names, places, parts, strict=True)
    }
    inbox = tmp_path / "in"
    first = Egress(inbox, (host, port))
    for name in ("a", "b"):
        (inbox / name).write_bytes(payloads[name])
    (inbox / "c.part").write_bytes(payloads["c"][:5])
    assert not first.step(), "the beginning is missing"
    (inbox / "c.part").unlink()
    (inbox / "c").write_bytes(payloads["c"])
    assert not first.step(), "nobody is there"
    assert len(list(inbox.iterdir())) == 3
    destination = Destination(port)
    # A new proxy resumes with the stored data of the first one.
    second = Egress(inbox, (host, port))
    assert second.step()
    wait_for(lambda: destination.ended == 1)
    # Duplicates are not written again.
    (inbox / "again").write_bytes(payloads["a"])
    third = Egress(inbox, (host, port))
    assert not third.step()
    destination.close()
    assert [bytes(one) for one in destination.received] == [b"one two three"]
    assert [path.name for path in inbox.iterdir()] == ["streams.json"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "the options do not match; allowed: --listen with --to, or --inbox with --connect"),
        (["--listen", "127.0.0.1:0"], "the options do not match"),
        (
            ["--listen", "nowhere", "--to", "dtn://e/in"],
            "--listen nowhere: not an address; allowed: HOST:PORT",
        ),
        (["--listen", "127.0.0.1:0", "--to", "earth"], '"earth" is not an endpoint identifier'),
        (["--listen", "127.0.0.1:0", "--to", "dtn://e/in", "--via", "udp://h"], "allowed: tcpcl://HOST"),
    ],
)
def test_what_is_wrong_is_named(
    arguments: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(app, ["dtn", "proxy", *arguments])
    assert result.exit_code == 2
    assert message in " ".join(result.output.split())
    assert not list(tmp_path.iterdir())
