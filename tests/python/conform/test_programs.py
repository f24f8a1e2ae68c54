"""Programs as senders: what packets show of a server that sends at a constant rate.

The server sends a full packet each 2 ms, and the client answers each. So the sending rate is 500
packets/s, and at each answer, the packets of one round trip are in flight.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from bentpipe.conform import Lab
from bentpipe.conform import programs as module
from bentpipe.conform.exceptions import NotApplicable
from bentpipe.conform.lab import writing
from bentpipe.conform.path import Path as ConformPath
from bentpipe.errors import InputError
from bentpipe.matrix.stacks import Stack
from rigs.guests import guests

INTERVAL = 0.002
PROGRAM = f"""
import socket, sys, time
role, *words = sys.argv[1:]
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
    if role == "server":
        sock.bind(("0.0.0.0", int(words[0])))
        _, client = sock.recvfrom(100)
        sock.sendto(b"hello", client)
        began = time.monotonic() + 0.1
        for number in range(1000):
            time.sleep(max(0, began + {INTERVAL} * number - time.monotonic()))
            sock.sendto(bytes(1472), client)
    else:
        server = (words[0], int(words[1]))
        sock.sendto(b"hello", server)
        while True:
            sock.recv(2000)
            sock.sendto(b"answer", server)
"""


@guests
def test_rate_rounds_and_data_in_flight_follow_from_the_packets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "certificate", lambda: (tmp_path / "cert", tmp_path / "key"))
    program = tmp_path / "program"
    program.write_text(PROGRAM)
    run = f"{sys.executable} {program}"
    stack = Stack(
        name="steady",
        folder=tmp_path,
        about="",
        package="none",
        version="1",
        registry="none",
        language="Python",
        congestion="none",
        windows="none",
        build=[],
        lock="lock",
        server=f"{run} server {{port}}",
        client=f"{run} client {{to}} {{port}}",
    )
    lab, path = Lab("none", module.Programs(stack, stack)), ConformPath()
    seen = lab.run(path, 2)
    assert seen.first == 1
    assert seen.rate(0.5, 1.5) == pytest.approx(1 / INTERVAL, rel=0.01)
    assert seen.delivery_rate(0.5, 1.5) == pytest.approx(1 / INTERVAL, rel=0.01)
    (stretch,) = seen.stretches(0.98 / INTERVAL, 1.02 / INTERVAL, least=0.5)
    assert stretch.rate == pytest.approx(1 / INTERVAL, rel=0.01)
    # The answer to a packet arrives after a round trip. The packets since are in flight.
    expected = int(path.min_rtt / INTERVAL)
    flight = seen.between("inflight", 0.5, 1.5)
    assert np.abs(flight - expected).max() <= 1
    # A round lasts until a packet that was sent after its start is answered.
    rounds = np.diff(seen.rounds(0.5, 1.5))
    assert rounds == pytest.approx(path.min_rtt, abs=INTERVAL)
    with pytest.raises(NotApplicable, match="do not show the congestion window"):
        seen.column("cwnd")
    with pytest.raises(NotApplicable, match="an application that pauses"):
        lab.run(path, 2, app=writing(10, every=1))


def test_the_control_that_is_closest_to_the_standard_is_the_default() -> None:
    assert module.sender("noq", "bbr3", None).control == "bbr3"
    assert module.sender("quinn", "bbr3", None).control == "bbr"
    assert module.sender("quinn", "cubic", None).server.endswith(" --congestion cubic")
    for words, said in (
        (("quin", "bbr3", None), 'unknown stack "quin", did you mean "quinn"?'),
        (
            ("aioquic", "cubic", None),
            'unknown stack "aioquic", did you mean "tquic"? allowed: engine, linux, noq',
        ),
        (
            ("quinn", "cubic", "vegas"),
            'unknown congestion control of quinn "vegas"; allowed: bbr, cubic, reno',
        ),
    ):
        with pytest.raises(InputError, match=said.replace("?", "[?]")):
            module.sender(*words)
