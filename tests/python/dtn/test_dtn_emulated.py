"""Contacts and bundle agents on the real clock: emulated links that open and close, an emulated
network of agents, and ``bentpipe dtn`` in the hosts of a space link, over LTP, by MTCP from pyD3TN,
and with dtnd in both directions."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import bentpipe as bp
import pytest
from helpers import dtnd
from rigs.networks import START, Bentpipe, needs, networks, until

pytestmark = [networks, pytest.mark.quiet]

#: A link to Mars with a light time short enough for a test.
SCENARIO = """
name = "An orbiter and the Earth"
duration = "10 min"

[[link]]
name = "long-haul"
from = "orbiter"
to = "earth"
rate = "256 kbit/s"
delay = "2 s"
queue = "unlimited"
error = { kind = "packet", probability = 0.1 }
contacts = { when = { kind = "windows", windows = [["0 s", "5 s"], ["7 s", "12 s"]], repeat = "14 s" } }

[[flow]]
name = "nothing"
from = "orbiter"
to = "earth"
start = "9 min"
app = { kind = "cbr", rate = "1 kbit/s" }
transport = "udp"
"""

LIGHT_S = 2.0


@contextmanager
def running(bentpipe: Bentpipe, host: str, *command: str) -> Iterator[None]:
    """Runs a program in a host until the end of the block."""
    words = bentpipe.words("net", "exec", host, "--", *command)
    process = subprocess.Popen(words, env=bentpipe.variables(), text=True, stdout=subprocess.PIPE)
    assert process.stdout is not None
    try:
        assert "listens on" in process.stdout.readline()
        yield
    finally:
        process.kill()
        process.communicate()


@pytest.fixture
def space(bentpipe: Bentpipe, tmp_path: Path) -> Bentpipe:
    scenario = tmp_path / "space.toml"
    scenario.write_text(SCENARIO, encoding="utf-8")
    bentpipe("net", "up", str(scenario))
    return bentpipe


def test_ltp_brings_files_over_a_lossy_link_that_closes(space: Bentpipe, tmp_path: Path) -> None:
    file, inbox = tmp_path / "picture", tmp_path / "inbox"
    file.write_bytes(bytes(range(256)) * 400)
    agent = [*START, "dtn", "agent"]
    earth = [
        "dtn://earth/", "--storage", str(tmp_path / "earth"), "--listen", "ltp://0.0.0.0", "--deliver", str(inbox)
    ]  # fmt: skip
    orbiter = [
        "dtn://orbiter/", "--storage", str(tmp_path / "orbiter"), "--listen", "tcpcl://127.0.0.1",
        "--peer", "dtn://earth/=ltp://earth", "--light-time", "2 s", "--ltp-margin", "4 s", "--rate", "256 kbit/s",
    ]  # fmt: skip
    with running(space, "earth", *agent, *earth), running(space, "orbiter", *agent, *orbiter):
        begun = time.monotonic()
        space("net", "exec", "orbiter", "--", *START, "dtn", "send", str(file), "--to", "dtn://earth/in")
        until(lambda: [path.read_bytes() for path in inbox.glob("in/*")] == [file.read_bytes()], 100)
        took = time.monotonic() - begun
    # Light time and transmission; lost data takes another round trip.
    assert took > LIGHT_S + 102_400 * 8 / 256e3


SENDER = """
import sys
from pyd3tn.bundle7 import serialize_bundle7
from pyd3tn.mtcp import MTCPConnection
with MTCPConnection(sys.argv[1], 16162) as connection:
    for number in range(3):
        connection.send_bundle(serialize_bundle7("dtn://orbiter/out", "dtn://earth/in", b"%d" % number * 2000))
"""


def test_pyd3tn_sends_over_it_by_mtcp(space: Bentpipe, tmp_path: Path) -> None:
    pytest.importorskip("pyd3tn", reason="pyD3TN is not installed")
    inbox = tmp_path / "inbox"
    earth = [
        "dtn://earth/", "--storage", str(tmp_path / "earth"), "--listen", "mtcp://0.0.0.0", "--deliver", str(inbox)
    ]  # fmt: skip
    with running(space, "earth", *START, "dtn", "agent", *earth):
        begun = time.monotonic()
        space("net", "exec", "orbiter", "--", sys.executable, "-c", SENDER, "earth")
        expected = {b"%d" % number * 2000 for number in range(3)}
        until(lambda: {path.read_bytes() for path in inbox.glob("in/*")} == expected, 100)
        # The TCP handshake takes a round trip, and the bundles another light time.
        assert time.monotonic() - begun > 3 * LIGHT_S


ASK = """
import sys, urllib.request
path, *body = sys.argv[1:]
body = open(body[0], "rb").read() if body else None
sys.stdout.buffer.write(urllib.request.urlopen("http://127.0.0.1:3000/" + path, body, timeout=20).read().hex().encode())
"""


@needs("dtnd")
@pytest.mark.parametrize("layer", dtnd.LAYERS)
def test_dtnd_and_the_agent_exchange_bundles_over_it(layer: str, space: Bentpipe, tmp_path: Path) -> None:
    """The agent opens the TCPCL session, because dtnd waits for only three seconds; dtnd's bundles
    return over this session."""
    inbox, file = tmp_path / "inbox", tmp_path / "picture"
    # One packet per bundle: of the 18 packets of a larger datagram, one would be lost. dtnd ends a
    # TCPCL session on which no complete message arrives for 15 s.
    file.write_bytes(bytes(range(256)) * (100 if layer == "mtcp" else 4))
    place = {
        host: space("net", "exec", host, "--", "getent", "ahostsv4", host).split()[0]
        for host in ("earth", "orbiter")
    }

    def ask(path: str, *body: str) -> bytes:
        return bytes.fromhex(space("net", "exec", "earth", "--", sys.executable, "-c", ASK, path, *body))

    back = None if layer == "tcpcl" else f"{place['orbiter']}:4701/orbiter"
    theirs = dtnd.words("theirs", layer, 4700, 3000, back, tmp_path)
    orbiter = [
        "dtn://orbiter/", "--storage", str(tmp_path / "orbiter"), "--listen", "tcpcl://127.0.0.1",
        "--listen", f"{layer}://0.0.0.0:4701", "--peer", f"dtn://theirs/={layer}://{place['earth']}:4700",
        "--deliver", str(inbox), "--rate", "256 kbit/s",
    ]  # fmt: skip
    with (tmp_path / "dtnd.log").open("w") as log:
        daemon = space.begin("net", "exec", "earth", "--", *theirs, stdout=log, stderr=log)
        try:
            with running(space, "orbiter", *START, "dtn", "agent", *orbiter):
                begun, there = time.monotonic(), ("--to", "dtn://theirs/incoming")
                for _ in range(4):
                    space("net", "exec", "orbiter", "--", *START, "dtn", "send", str(file), *there)
                nothing = b"Nothing to receive"
                got = until(lambda: (one := ask("endpoint?incoming")) != nothing and one, 100)
                assert time.monotonic() - begun > LIGHT_S and file.read_bytes() in got
                for _ in range(4):
                    ask("send?dst=dtn://orbiter/in", str(file))
                until(lambda: any(path.read_bytes() == file.read_bytes() for path in inbox.glob("in/*")), 100)
        finally:
            daemon.kill()
            daemon.wait(20)


WINDOWS = """
name = "Contacts on the real clock"
duration = "5 s"

[[link]]
name = "hop"
from = "a"
to = "b"
rate = "1 Mbit/s"
delay = "300 ms"
queue = "unlimited"
contacts = { when = { kind = "windows", windows = [["1 s", "2 s"], ["3 s", "4 s"]] } }

[[flow]]
name = "up"
from = "a"
to = "b"
app = { kind = "cbr", rate = "160 kbit/s", datagram = "200 B" }
transport = "udp"
"""


def test_datagrams_pass_an_emulated_link_in_its_contacts_only(tmp_path: Path) -> None:
    scenario = tmp_path / "windows.toml"
    scenario.write_text(WINDOWS, encoding="utf-8")
    times = bp.emulate(scenario, out=tmp_path / "run").trace("datagram")["time"]
    # Bundles are sent during the first and the second contact, and arrive a light time later; a
    # busy machine is late.
    left = [time - 0.3 for time in times]
    late = 0.05
    assert all(1 <= time <= 2 + late or 3 <= time <= 4 + late for time in left)
    # Bundles that arrived while the link was closed have waited: all bundles of the first four
    # seconds are delivered.
    assert len(left) == pytest.approx(400, abs=3)


AGENTS = """
name = "A network of bundle agents on the real clock"
duration = "5 s"

[network.space]
kind = "bundles"
convergence = "ltp"
plan = '''
src,dst,start,end,rate_bps,owlt_s
a,b,1,2,1000000,0.3
b,a,1,4,1000000,0.3
b,c,2.5,5,1000000,0.5
c,b,2.5,5,1000000,0.5
'''

[[flow]]
name = "up"
from = "a"
to = "c"
app = { kind = "bundles", rate = "80 kbit/s", payload = "1 kB", bundles = 20, report = "0 B" }
transport = "udp"
"""


def test_datagrams_of_real_sockets_cross_an_emulated_network_of_agents(tmp_path: Path) -> None:
    scenario = tmp_path / "agents.toml"
    scenario.write_text(AGENTS, encoding="utf-8")
    run = bp.emulate(scenario, out=tmp_path / "run")
    times = run.trace("datagram")["time"]
    assert len(times) == 20
    # The second contact opens at 2.5 s, a bundle of 1.1 kB takes 9 ms, and the light 500 ms.
    assert 3.009 <= times[0] <= 3.1
    assert run.summary["tables"]["bundles"][0]["hops_mean"] == 2
