"""Matrices: `bentpipe matrix` with a stack of this test, and with Linux' TCP.

The protocol of the stack has no handshake and no congestion control: the client asks with one
datagram, and the server answers with datagrams at a constant rate. So its times follow from the
path: a datagram of N bytes takes (N + 28) x 8 / rate on each link, and the delay of each link.
"""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from bentpipe.matrix import cells
from bentpipe.matrix.findings import findings
from bentpipe.matrix.loads import LOADS
from bentpipe.matrix.outcomes import Outcome
from bentpipe.matrix.paths import paths
from bentpipe.matrix.stacks import chosen
from bentpipe.matrix.stacks import stacks as described
from rigs import commands
from rigs.guests import guests

#: Bytes of a datagram, and the time between two in seconds. 1000 bytes and headers per 2 ms are
#: 4.1 Mbit/s, less than the rate of every path.
DATAGRAM, INTERVAL = 1000, 0.002
PROGRAM = f"""
import json, socket, sys, time
role, *words = sys.argv[1:]
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
    if role == "server":
        sock.bind(("0.0.0.0", int(words[0])))
        request, client = sock.recvfrom(100)
        left, began, number = int(request), time.monotonic(), 0
        while left > 0:
            time.sleep(max(0, began + {INTERVAL} * number - time.monotonic()))
            sock.sendto(bytes(min(left, {DATAGRAM})), client)
            left, number = left - {DATAGRAM}, number + 1
    else:
        began, got, size = time.monotonic(), 0, int(words[2])
        sock.sendto(str(size).encode(), (words[0], int(words[1])))
        while got < size:
            got += len(sock.recv(2000))
        took = time.monotonic() - began
        print(json.dumps({{"handshake_s": 0, "completion_s": took, "bytes": got}}))
"""
STACK = """# {name}
package = "{name}"
version = "1"
registry = "none"
language = "Python"
congestion = "none"
windows = "none"
build = [{build}]
lock = "lock"
server = "python3 {{folder}}/program server {{port}}"
client = "python3 {{folder}}/program client {{to}} {{port}} {{bytes}}"
"""
BUILD = '["cp", "program", "lock"]'


@pytest.fixture
def stacks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with a stack that works, one that exits, and one that cannot be built."""
    from bentpipe.guest import store

    folder = tmp_path / "stacks"
    exits = "import sys; print('no route', file=sys.stderr); sys.exit(3)"
    for name, program, build in (
        ("steady", PROGRAM, BUILD),
        ("exits", exits, BUILD),
        ("broken", PROGRAM, '["sh", "-c", "echo error: no such header; exit 1"]'),
    ):
        (folder / name).mkdir(parents=True)
        (folder / name / "program").write_text(program)
        (folder / name / "stack.toml").write_text(STACK.format(name=name, build=build))
    # Builds belong to this test, kernels to the user.
    cache = tmp_path / "cache" / "bentpipe"
    cache.mkdir(parents=True)
    (cache / "kernels").symlink_to(store.place())
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    yield folder


def matrix(*words: object) -> dict[tuple[str, str], dict[str, Any]]:
    """Runs a matrix over the path of 20 and 2 Mbit/s. Returns its cells by row and column."""
    done = commands.run("matrix", *words, "--path", "geo", "--load", "1 MiB", "--json", "--jobs", 1)
    cells = json.loads(done.stdout)["cells"]
    # The exit code is 1 if no cell is complete.
    assert done.returncode == all(one["verdict"] != "complete" for one in cells), done.stderr
    return {(one["row"], one["column"]): one for one in cells}


@guests
def test_a_stack_is_built_and_measured_and_its_reruns_are_identical(stacks: Path, tmp_path: Path) -> None:
    words = ("quic", "--stacks", stacks, "--server-stack", "steady")
    unbuilt = matrix(*words, "--out", tmp_path / "one")[("steady", "steady")]
    assert unbuilt["verdict"] == "not run" and unbuilt["reason"] == "steady is not built: add --build"

    cells = matrix(*words, "--out", tmp_path / "one", "--build")
    broken, exits = cells[("broken", "steady")], cells[("exits", "steady")]
    assert broken["verdict"] == "not run"
    assert broken["reason"] == "broken could not be built: sh -c failed: error: no such header"
    assert exits["verdict"] == "failed" and exits["reason"] == "client: exit code 3: no route"

    steady = cells[("steady", "steady")]
    datagrams, last = divmod(1 << 20, DATAGRAM)
    assert steady["verdict"] == "complete" and steady["fidelity"] == "valid"
    assert steady["sent_packets"] == datagrams + 1 and steady["lost_packets"] == 0
    assert steady["sent_bytes"] == (1 << 20) + 28 * (datagrams + 1)
    # The request passes 1 Gbit/s and 2 Mbit/s, the last datagram 1 Gbit/s and 20 Mbit/s.
    request, answer = (len(str(1 << 20)) + 28) * 8, (last + 28) * 8
    expected = 0.6 + datagrams * INTERVAL + request / 2e6 + answer / 20e6 + (request + answer) / 1e9
    assert steady["completion_s"] == pytest.approx(expected, abs=1e-3)
    assert steady["goodput"] == pytest.approx(8 * (1 << 20) / steady["completion_s"])
    assert steady["offsets"][-1][1] == 1 << 20

    files = {file: file.stat().st_mtime_ns for file in (tmp_path / "one" / "cells").iterdir()}
    assert len(files) == 2
    assert matrix(*words, "--out", tmp_path / "one") == cells
    assert files == {file: file.stat().st_mtime_ns for file in (tmp_path / "one" / "cells").iterdir()}

    again = matrix("quic", "--stacks", stacks, "--stack", "steady", "--out", tmp_path / "two")
    assert list(again) == [("steady", "steady")]
    # Compared alone, so that a failure names the fields that differ.
    assert again["steady", "steady"] == steady
    assert len(steady["packets_hash"]) == 16

    # Changed inputs repeat the run: half the rate takes another second.
    program = stacks / "steady" / "program"
    program.write_text(program.read_text().replace(str(INTERVAL), str(2 * INTERVAL)))
    slow = matrix("quic", "--stacks", stacks, "--stack", "steady", "--out", tmp_path / "two", "--build")
    slower = slow[("steady", "steady")]["completion_s"] - steady["completion_s"]
    assert slower == pytest.approx(datagrams * INTERVAL, abs=1e-3)
    assert slow[("steady", "steady")]["packets_hash"] != steady["packets_hash"]

    page = _Page()
    page.feed((tmp_path / "one" / "matrix.html").read_text())
    assert f"{steady['completion_s']:.2f} s" in page.texts and "client: exit code 3: no route" in page.titles
    assert not page.links


@guests
def test_a_proxy_shortens_a_download_over_tcp(tmp_path: Path) -> None:
    cells = matrix("tcp", "--control", "cubic", "--out", tmp_path / "tcp")
    direct, proxy = (cells[("cubic", mode)] for mode in ("direct", "proxy"))
    assert direct["verdict"] == proxy["verdict"] == "complete"
    # An initial window of 10 segments, doubled per round trip, needs 7 round trips of data after
    # the handshake for 1 MiB, of which the last takes half.
    rounds = direct["completion_s"] / 0.6
    assert 6 < rounds < 9
    assert direct["lost_packets"] == 0 and proxy["lost_packets"] is None
    assert proxy["completion_s"] <= direct["completion_s"] + 0.05


def test_every_path_is_a_valid_scenario_for_every_load() -> None:
    import bentpipe as bp

    for path in paths().values():
        for load in path.limits:
            flow = {"from": path.client, "to": path.server, "app": "bulk", "transport": "tcp"}
            scenario = bp.load(path.with_flow(load, flow))
            assert not scenario.warnings and path.proxy in scenario.nodes


def test_only_programs_of_one_protocol_share_a_cell(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cells, "certificate", lambda: (Path("cert"), Path("key")))
    some = chosen(["quinn", "noq:bbr3", "chromium"], described())
    made = cells.quic_cells(some, some, [paths()["geo"]], ["page"])
    pairs = {(one.row, one.column) for one in made}
    transfer = {"quinn", "noq:bbr3"}
    assert pairs == {*itertools.product(transfer, transfer), ("chromium", "chromium")}


def test_every_load_over_tcp_is_a_valid_scenario() -> None:
    for cell in cells.tcp_cells(["cubic"], paths().values(), LOADS):
        assert not cell.resolved().warnings


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("quic", "--stack", "quin"), 'unknown stack "quin", did you mean "quinn"? allowed: '),
        (("quic", "--stack", "quinn:vegas"), 'unknown congestion control of quinn "vegas"; allowed: bbr'),
        (("quic", "--path", "mars"), 'unknown path "mars"; allowed: '),
        (("tcp", "--load", "2 MiB"), 'unknown load "2 MiB"'),
        (("tcp", "--control", "qubic"), 'unknown congestion control "qubic", did you mean "cubic"?'),
    ],
)
def test_wrong_names_are_refused_with_the_allowed_ones(words: tuple[str, ...], said: str) -> None:
    done = commands.run("matrix", *words)
    assert done.returncode == 2 and said in done.stderr


def test_a_wrong_description_is_refused_with_its_key(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    file = tmp_path / "mine" / "stack.toml"
    for text, said in (
        ("packages = 1", 'unknown key "packages", did you mean "package"?'),
        ('package = "x"\nversion = 1', "version = 1; allowed: text"),
        ("package = ", "is not TOML"),
    ):
        file.write_text(text)
        done = commands.run("matrix", "quic", "--stacks", tmp_path)
        assert done.returncode == 2 and str(file) in done.stderr and said in done.stderr


class _Page(HTMLParser):
    """The texts of a page, the titles of its elements, and the files that it loads."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []
        self.titles: list[str] = []
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name == "title" and value:
                self.titles.append(value)
            elif name in ("src", "href"):
                self.links.append(f"{tag} {value}")

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def test_findings_follow_from_the_cells() -> None:
    """Two clients and two servers: the server decides, and a transfer with loss fails."""

    def cell(row: str, column: str, path: str, load: str, time: float | None) -> Outcome:
        goodput = None if time is None else 8 * LOADS[load].bytes / time
        verdict = "not in time" if time is None else "complete"
        return Outcome(row, column, path, load, verdict, completion_s=time, goodput=goodput)

    times = {("a", "a"): 7.2, ("b", "a"): 7.4, ("a", "b"): 14.0, ("b", "b"): 15.0}
    cells = [cell(*pair, "geo", "10 MiB", time) for pair, time in times.items()]
    cells += [cell(*pair, "geo-loss", "10 MiB", time and 3 * time) for pair, time in times.items()]
    cells[-1] = cell("b", "b", "geo-loss", "10 MiB", None)
    cells += [cell(one, one, "picoquic", "100 MB", time) for one, time in (("a", 6.4), ("b", 7.1))]
    found = findings(cells, {"a": "cubic", "b": "bbr"})
    values = [(one.value, one.holds) for one in found]
    assert values[0] == ("2 of 4", False)
    assert values[1][1] and values[2] == ("1 of 8", True)
    # The standard deviations of the logarithms are half of their differences.
    servers, clients = math.sqrt(14 * 15 / (7.2 * 7.4)), math.sqrt(7.4 * 15 / (7.2 * 14))
    assert f"factors of {math.sqrt(servers):.2f} between servers" in values[3][0]
    assert f"{math.sqrt(clients):.2f} between clients" in values[3][0] and values[3][1]
    assert values[4:] == [("7.20 s", True), ("6.40 s", True), ("7.10 s", False)]
