"""A survey detects the restrictions of a path: rewritten marks, sizes that do not fit, and a proxy
that answers for the other host."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from bentpipe import measure
from bentpipe.measure import transport_results, transports
from bentpipe.measure.plan import plan_of
from bentpipe.measure.summary import summarise
from bentpipe.results.runs import open_run
from helpers.measuring import KEY, LINK, measure_path, path, reflecting
from hypothesis import given
from hypothesis import strategies as st
from rigs.networks import START, Bentpipe, needs, networks, until
from rigs.proxied import SERVER, Lab

SURVEY = [{"kind": "survey", "direction": direction, "pause": "0 s"} for direction in ("up", "down")]


@pytest.mark.quiet
def test_loopback_preserves_marks_and_sizes_and_has_no_proxy() -> None:
    plan = plan_of({"duration": "1 s", "train": 0, "load": SURVEY}, "plan.toml")
    with reflecting(KEY) as (port, _):
        said = summarise(measure.probe("127.0.0.1", port, plan, KEY))
    assert {one.direction for one in said.surveys} == {"up", "down"} and said.proxy == []
    for one in said.surveys:
        assert one.mtu == 1500 and all(mark.kept and mark.arrived == mark.sent == 4 for mark in one.marks)


PATH = (
    LINK
    + """
rate = "10 Mbit/s"
delay = "60 ms"
"""
)

PLAN = """
duration = "2 s"
train = 0
[[load]]
kind = "survey"
pause = "0 s"
"""

#: A middlebox that clears the mark EF and all ECN bits of packets from this host. Connections to
#: the reflector end at a proxy.
RULES = """
table ip middlebox {
  chain marks {
    type filter hook output priority 0;
    ip dscp ef ip dscp set cs0
    ip ecn ce ip ecn set ect1
  }
  chain proxy {
    type nat hook output priority -100;
    tcp dport 8620 meta mark != 7 redirect to :9000
  }
}
"""

#: A proxy that splits connections: it answers at once, and opens a separate connection to the
#: server.
PROXY = """
import socket, sys, threading
listener = socket.socket()
listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
listener.bind(("0.0.0.0", 9000))
listener.listen(16)
def copy(one, other):
    try:
        while data := one.recv(65536):
            other.sendall(data)
        other.shutdown(socket.SHUT_WR)
    except OSError:
        one.close(), other.close()
while True:
    near, _ = listener.accept()
    far = socket.socket()
    far.setsockopt(socket.SOL_SOCKET, 36, 7)
    far.connect((sys.argv[1], 8620))
    for pair in ((near, far), (far, near)):
        threading.Thread(target=copy, args=pair, daemon=True).start()
"""


@pytest.mark.quiet
@networks
@needs("nft", "ip")
def test_a_survey_detects_a_middlebox(bentpipe: Bentpipe, tmp_path: Path) -> None:
    with path(bentpipe, tmp_path, PATH, ahead_ns=0, fast_ppm=0):
        address = bentpipe("net", "exec", "user", "--", "getent", "ahostsv4", "server").split()[0]
        device = (
            bentpipe("net", "exec", "user", "--", "ip", "-o", "route", "get", address)
            .split(" dev ")[1]
            .split()[0]
        )
        (tmp_path / "rules").write_text(RULES)
        bentpipe("net", "exec", "user", "--", "nft", "-f", tmp_path / "rules")
        bentpipe("net", "exec", "user", "--", "ip", "link", "set", device, "mtu", "1450")
        words = bentpipe.words("net", "exec", "user", "--", sys.executable, "-c", PROXY, address)
        with subprocess.Popen(words, env=bentpipe.variables()) as process:
            try:
                listening = ["grep", "-q", ":2328", "/proc/net/tcp"]
                until(lambda: bentpipe.done("net", "exec", "user", "--", *listening).returncode == 0)
                text = measure_path(bentpipe, tmp_path, PLAN, "--json")
            finally:
                process.kill()
    (reason,) = json.loads(text)["fidelity"]["proxy"]
    assert "SYN-ACK" in reason and "a probe needs 12" in reason
    rows = pl.read_parquet(tmp_path / "run" / "tables" / "survey.parquet").to_dicts()
    seen = {row["sent_as"]: row["seen_as"] for row in rows}
    assert seen[0xB8] == [0] and seen[0x03] == [0x01] and seen[0x28] == [0x28] and seen[0x02] == [0x02]
    # The path carries packets of at most 1450 B, so 1420 B is the largest tested size that passes.
    assert {row["mtu"] for row in rows} == {1420}


TRANSPORTS = """
duration = "2 s"
rate = 5
train = 0
[[load]]
kind = "transports"
duration = "500 ms"
pause = "0 s"
[[load]]
kind = "transports"
direction = "down"
duration = "500 ms"
pause = "0 s"
[[load]]
kind = "tcp"
congestion = "cubic"
duration = "2 s"
pause = "500 ms"
[[load]]
kind = "tcp"
direction = "down"
congestion = "cubic"
duration = "2 s"
pause = "0 s"
"""

#: Towards the reflector, QUIC is dropped on port 443 by its long header, and other UDP there is
#: limited to 480 kbit/s. From the reflector, all large datagrams are limited to 640 kbit/s.
#: nftables may pass the quota of a second at once.
CLASSIFIER = """
table ip classifier {
  chain arriving {
    type filter hook input priority 0;
    udp dport 443 @th,64,4 12 counter drop
    udp dport 443 meta length > 1000 limit rate over 60000 bytes/second burst 8000 bytes counter drop
    udp sport { 443, 8620 } meta length > 1000 limit rate over 80000 bytes/second burst 8000 bytes counter drop
  }
}
"""


#: A reflector on a server that is reached through `bentpipe machine pep`.
FAR = """
import sys
from pathlib import Path
from bentpipe import measure
measure.reflect("0.0.0.0", 8620, Path(sys.argv[1]).read_bytes(), should_continue=lambda: True)
"""


@pytest.mark.quiet
@networks
@needs("nft", "ip", "sysctl", "setpriv")
@pytest.mark.parametrize("accept", ["late", "early"])
def test_the_hop_limit_reveals_the_proxy_of_bentpipe(tmp_path: Path, accept: str) -> None:
    """`bentpipe machine pep` keeps addresses, ports and options, but its own connection has one hop
    less."""
    (tmp_path / "key").write_bytes(KEY)
    (tmp_path / "plan.toml").write_text(PLAN)
    with contextlib.closing(Lab()) as lab:
        far = subprocess.Popen([*lab.server.inside, sys.executable, "-c", FAR, str(tmp_path / "key")])
        try:
            until(lambda: ":21AC" in lab.server("cat", "/proc/net/udp"))
            said = {}
            for name in ("without", "with"):
                if name == "with":
                    lab.start("--accept", accept)
                words = ["measure", SERVER, "--key", tmp_path / "key", "--plan", tmp_path / "plan.toml"]
                words += ["--out", tmp_path / name]
                place = [*lab.client.inside, *START, *map(str, words)]
                subprocess.run(place, check=True, capture_output=True, timeout=120)
                said[name] = open_run(tmp_path / name).fidelity["proxy"]
        finally:
            far.kill()
            far.wait()
    assert said["without"] == []
    assert "the connection arrives with a hop limit of 64, probes with 63" in said["with"]


@pytest.mark.quiet
@networks
@needs("nft")
def test_blocked_and_shaped_transports_are_detected(bentpipe: Bentpipe, tmp_path: Path) -> None:
    with path(bentpipe, tmp_path, PATH.replace("60 ms", "20 ms"), ahead_ns=0, fast_ppm=0):
        (tmp_path / "rules").write_text(CLASSIFIER)
        for host in ("user", "server"):
            bentpipe("net", "exec", host, "--", "nft", "-f", tmp_path / "rules")
        said = measure_path(bentpipe, tmp_path, TRANSPORTS)
    rows = {
        (row["direction"], row["transport"], row["port"]): row
        for row in pl.read_parquet(tmp_path / "run" / "tables" / "transports.parquet").to_dicts()
    }
    print(said)
    verdicts = {key: row["verdict"] for key, row in rows.items()}
    assert verdicts == {
        ("up", "udp", None): "open",
        ("up", "quic", None): "open",
        ("up", "udp", 443): "shaped",
        ("up", "quic", 443): "blocked",
        ("up", "tcp", None): "open",
        ("down", "udp", None): "shaped against TCP",
        ("down", "quic", None): "shaped against TCP",
        ("down", "udp", 443): "shaped against TCP",
        # The reflector receives nothing of this test, so it sends nothing.
        ("down", "quic", 443): "not tried",
        ("down", "tcp", None): "open",
    }
    # Bytes of IP packets per second, as the rules count them.
    assert rows["up", "udp", 443]["rate"] == pytest.approx(480e3, rel=0.15)
    assert rows["down", "udp", None]["rate"] == pytest.approx(640e3, rel=0.15)
    assert rows["up", "udp", None]["rate"] == pytest.approx(5e6, rel=0.05)
    assert "blocked: QUIC's Initial packets on port 443" in " ".join(said.split())


# Other measurements use port 443 too.
@pytest.mark.alone
def test_no_transport_is_blocked_or_shaped_over_loopback() -> None:
    # Each direction has two rounds of 50 ms; a host with a larger delay has not completed the test.
    load = {"kind": "transports", "duration": "500 ms", "pause": "0 s"}
    loads = [load, load | {"direction": "down"}]
    plan = plan_of({"duration": "2 s", "train": 0, "load": loads}, "plan.toml")
    with reflecting(KEY) as (port, _):
        said = summarise(measure.probe("127.0.0.1", port, plan, KEY))
    # Port 443 needs privileges.
    allowed = {"open", "not tried"} if os.geteuid() else {"open"}
    assert [len(own) for own in said.ways] == [5, 5] and not said.notes
    assert {way.verdict for own in said.ways for way in own} <= allowed, said.ways


@pytest.mark.quiet
def test_delays_of_the_sending_host_do_not_count_as_shaping() -> None:
    """In both rounds of a direction, a host sends the last quarter 50 ms late; or the path delays
    each packet more than the one before, so that packets arrive at a third of their rate."""
    load = {"kind": "transports", "duration": "100 ms", "pause": "0 s"}
    with reflecting(KEY) as (port, _):
        seen = measure.probe(
            "127.0.0.1", port, plan_of({"train": 0, "load": [load]} | {"duration": "1 s"}, "p"), KEY
        )
    (one,) = (one for one in summarise(seen).loads if one.outcome.item.load.kind == "transports")
    own = np.flatnonzero((one.outcome.pattern["lane"] == 0) & (one.outcome.sent > 0))
    rounds = np.split(own, np.flatnonzero(np.diff(one.time[own]) > transports.GAP_S / 2) + 1)
    assert len(rounds) == 2
    late, held = np.zeros(len(one.time)), np.zeros(len(one.time))
    for part in rounds:
        late[part[3 * len(part) // 4 :]] = 0.05
        held[part] = np.linspace(0, 0.2, len(part))
    verdicts = {}
    for name, changed in (
        ("late", replace(one, time=one.time + late)),
        ("held", replace(one, low=one.low + held, high=one.high + held)),
    ):
        verdicts[name] = {
            way.verdict
            for way in transport_results.ways(changed, [])
            if way.port is None and way.name == "UDP"
        }
    assert verdicts == {"late": {"open"}, "held": {"shaped"}}


@given(st.binary(max_size=60), st.integers(0, 2**32 - 1), st.integers(0, 89), st.integers(1, 255))
def test_a_packet_that_looks_like_quic_survives_a_round_trip(
    payload: bytes, number: int, place: int, flip: int
) -> None:
    packet = transports.initial(bytes(range(16)), number, payload)
    # RFC 9000, section 17.2: long header, fixed bit, type Initial, version 1; sections 17.2.2 and
    # 16: lengths.
    assert packet[0] >> 4 == 0b1100 and packet[1:5] == b"\0\0\0\1" and packet[5] == packet[14] == 8
    assert int.from_bytes(packet[24:26]) & 0x3FFF == len(packet) - 26
    assert transports.unwrapped(packet) == payload
    changed = bytearray(packet)
    changed[place % len(changed)] ^= flip
    for data in (bytes(changed), packet[:place]):
        assert transports.unwrapped(data) in (data, data[30:])


@pytest.mark.parametrize("answer", [{}, {"options": "many"}])
def test_an_invalid_answer_is_refused(answer: dict[str, object], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bentpipe.measure.load_server.handshake", lambda _: answer)
    plan = plan_of({"duration": "1 s", "train": 0, "load": SURVEY[:1]}, "plan.toml")
    with reflecting(KEY) as (port, _):
        said = summarise(measure.probe("127.0.0.1", port, plan, KEY))
    assert any("cannot be read" in note for note in said.notes)
