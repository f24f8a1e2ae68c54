"""What a path lets through is found: marks that are rewritten, sizes that do not fit, and a proxy that answers for the
other host."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest
from bentpipe import measure
from bentpipe.measure.plan import plan_of
from bentpipe.measure.summary import summarise
from measuring import KEY, measure_path, path, reflecting
from networks import Bentpipe, needs, networks, until

SURVEY = [{"kind": "survey", "direction": direction, "pause": "0 s"} for direction in ("up", "down")]


def test_loopback_keeps_everything_and_has_no_proxy() -> None:
    plan = plan_of({"duration": "1 s", "train": 0, "load": SURVEY}, "plan.toml")
    with reflecting(KEY) as (port, _):
        said = summarise(measure.probe("127.0.0.1", port, plan, KEY))
    assert {one.direction for one in said.surveys} == {"up", "down"} and said.proxy == []
    for one in said.surveys:
        assert one.mtu == 1500 and all(mark.kept and mark.arrived == mark.sent == 4 for mark in one.marks)


PATH = """
name = "path"
duration = "1 h"
[[link]]
name = "sat"
from = "user"
to = "server"
rate = "10 Mbit/s"
delay = "60 ms"
"""

PLAN = """
duration = "2 s"
train = 0
[[load]]
kind = "survey"
pause = "0 s"
"""

#: What leaves this host loses its mark EF and all of ECN; connections to the reflector end at a proxy.
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

#: Splits connections: answers at once, and connects to the server by itself.
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


@networks
@needs("nft", "ip")
def test_a_middlebox_is_seen(bentpipe: Bentpipe, tmp_path: Path) -> None:
    with path(bentpipe, tmp_path, PATH, ahead_ns=0, fast_ppm=0):
        address = bentpipe("exec", "user", "--", "getent", "ahostsv4", "server").split()[0]
        device = (
            bentpipe("exec", "user", "--", "ip", "-o", "route", "get", address).split(" dev ")[1].split()[0]
        )
        (tmp_path / "rules").write_text(RULES)
        bentpipe("exec", "user", "--", "nft", "-f", tmp_path / "rules")
        bentpipe("exec", "user", "--", "ip", "link", "set", device, "mtu", "1450")
        words = bentpipe.words("exec", "user", "--", sys.executable, "-c", PROXY, address)
        with subprocess.Popen(words, env=bentpipe.variables()) as process:
            try:
                listening = ["grep", "-q", ":2328", "/proc/net/tcp"]
                until(lambda: bentpipe.done("exec", "user", "--", *listening).returncode == 0)
                text = measure_path(bentpipe, tmp_path, PLAN, "--json")
            finally:
                process.kill()
    (reason,) = json.loads(text)["fidelity"]["proxy"]
    assert "SYN-ACK" in reason and "a probe needs 12" in reason
    rows = pl.read_parquet(tmp_path / "run" / "tables" / "survey.parquet").to_dicts()
    seen = {row["sent_as"]: row["seen_as"] for row in rows}
    assert seen[0xB8] == [0] and seen[0x03] == [0x01] and seen[0x28] == [0x28] and seen[0x02] == [0x02]
    # 1450 B do not fit 1460, so the largest of the sizes that are tried is 1420.
    assert {row["mtu"] for row in rows} == {1420}


@pytest.mark.parametrize("answer", [{}, {"options": "many"}])
def test_a_strange_answer_is_refused(answer: dict[str, object], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bentpipe.measure.serving.handshake", lambda _: answer)
    plan = plan_of({"duration": "1 s", "train": 0, "load": SURVEY[:1]}, "plan.toml")
    with reflecting(KEY) as (port, _):
        said = summarise(measure.probe("127.0.0.1", port, plan, KEY))
    assert any("cannot be read" in note for note in said.notes)
