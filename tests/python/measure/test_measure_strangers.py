"""A reflector under a flood of forged packets, mutated input for every parser, and irtt over the
same path."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from bentpipe import measure
from bentpipe.errors import InputError
from bentpipe.measure import call, echo, handshake, load_server, resuming, stamp, transports
from bentpipe.measure.channel import ChannelError
from bentpipe.measure.datagrams import ARRIVED, PATTERN, Datagram, read_records
from bentpipe.measure.hardware import Cards
from bentpipe.measure.load import KEYS
from bentpipe.measure.plan import Plan, plan_of
from bentpipe.measure.reflector import _Reflector
from bentpipe.measure.sockets import Arrival
from helpers.measuring import KEY, LINK, Line, measure_path, path, reflecting
from hypothesis import example, given, settings
from hypothesis import strategies as st
from rigs.networks import Bentpipe, needs, networks, until

#: socket(7) of UDP: a buffer that is sent as datagrams of this many bytes.
UDP_SEGMENT = 103
PACKET = 112


@contextlib.contextmanager
def reflector(folder: Path) -> Iterator[tuple[int, subprocess.Popen[str]]]:
    """Yields a reflector on loopback in its own process."""
    (folder / "key").write_bytes(KEY)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    program = (
        "import sys; from bentpipe import measure; print(measure.reflect('127.0.0.1', int(sys.argv[1]), "
        "open('key', 'rb').read(), should_continue=lambda: True, ready=lambda: print('ready', flush=True)))"
    )
    words = [sys.executable, "-c", program, str(port)]
    with subprocess.Popen(words, cwd=folder, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None and process.stdout.readline() == "ready\n"
            yield port, process
        finally:
            process.kill()


def flood(port: int, rate: int, seconds: float, found: list[int]) -> None:
    """Sends forged packets of three kinds at a rate; `found` gets the numbers of sent and of
    returned packets."""
    kinds = [
        stamp.Probe(7, time.time_ns(), 3).packed(b"another key......").ljust(PACKET, b"\0")[:PACKET],
        handshake.Message(handshake.PROOF, bytes(16), b"c" * 16).packed(KEY).ljust(PACKET, b"\0"),
        Datagram(os.urandom(16), 1, 2).packed(PACKET),
    ]
    # The kernel takes up to 64 segments at a time.
    together = b"".join(kinds * 21)
    count, sent, begin = len(together) // PACKET, 0, time.monotonic()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.setsockopt(socket.IPPROTO_UDP, UDP_SEGMENT, PACKET)
        sock.connect(("127.0.0.1", port))
        while (now := time.monotonic() - begin) < seconds:
            if sent > now * rate:
                time.sleep(0.0005)
                continue
            sock.send(together)
            sent += count
        sock.setblocking(False)
        came = 0
        with contextlib.suppress(BlockingIOError):
            while sock.recv(2000):
                came += 1
    found += [int(sent / (time.monotonic() - begin)), came]


@pytest.mark.alone
def test_under_a_flood_clients_are_served_and_forged_addresses_get_no_packet(
    tmp_path: Path,
) -> None:
    plan = Plan(duration=3.0, rate=50.0, train=0)
    with reflector(tmp_path) as (port, process):
        found: list[int] = []
        thread = threading.Thread(target=flood, args=(port, 100_000, 6.0, found))
        thread.start()
        seen = measure.probe("127.0.0.1", port, plan, KEY)
        thread.join()
        assert process.poll() is None
        # Check that the flood has reached its rate.
        assert found[0] >= 95_000 and found[1] == 0, found
        assert seen.replied.mean() >= 0.98, (seen.replied.sum(), len(seen.sent), found)


@given(st.binary(max_size=300))
def test_any_bytes_are_parsed_as_a_packet_or_rejected(data: bytes) -> None:
    call.read(data, 160)
    handshake.Message.read(data, KEY)
    Datagram.read(transports.unwrapped(data))
    for read in (stamp.Probe.read, stamp.Reply.read):
        for key in (KEY, None):
            with contextlib.suppress(stamp.NotStampError):
                read(data, key)
    for kind in (ARRIVED, PATTERN):
        read_records(data, kind)
    for family in echo.TYPES:
        for raw in (True, False):
            echo.reply(family, data, raw=raw)


class Silent:
    """A socket that counts sent packets."""

    def __init__(self) -> None:
        self.sent: list[bytes] = []

    def sendto(self, packet: bytes, _: object) -> None:
        self.sent.append(packet)


@given(st.sampled_from(range(5)), st.integers(0, 111), st.integers(1, 255), st.integers(0, 111))
def test_a_packet_with_a_changed_byte_gets_no_answer(kind: int, place: int, flip: int, cut: int) -> None:
    packets = [
        stamp.Probe(1, time.time_ns()).packed(KEY),
        handshake.Message(handshake.HELLO, bytes(16)).packed(KEY),
        handshake.Message(handshake.PROOF, bytes(16), bytes(16)).packed(KEY),
        Datagram(bytes(16), 1, 2).packed(60),
        call.packed(bytes(16), 3, call.codec_of("G.711u")),
    ]
    packet = bytearray(packets[kind])
    packet[place % len(packet)] ^= flip
    sock = Silent()
    one = _Reflector(sock, KEY, 1000.0, time.time_ns, Cards([]))  # type: ignore[arg-type]
    for data in (bytes(packet), bytes(packet[:cut])):
        one.answer(Arrival(data, ("192.0.2.1", 9), None, 64, 0, 0))
    assert not sock.sent and not one.sessions


VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=8),
    st.sampled_from(
        ["1 s", "3 Mbit/s", "100 B", "-1 s", "1e999 s", "G.711u", "call", "page", "up", "udp", "inf B"]
    ),
    st.lists(st.integers(), max_size=2),
)
NAMES = sorted({key for keys in KEYS.values() for key in keys})
TABLES = st.dictionaries(st.sampled_from(NAMES), VALUES, max_size=4)


@given(
    st.dictionaries(
        st.sampled_from(["duration", "rate", "schedule", "sizes", "train", "train_every", "x"]), VALUES
    ),
    st.lists(TABLES, max_size=2),
)
def test_any_table_is_read_as_a_plan_or_refused(table: dict[str, Any], loads: list[dict[str, Any]]) -> None:
    with contextlib.suppress(InputError):
        plan = plan_of(table | {"load": loads}, "plan.toml")
        assert all(load.kind in KEYS for load in plan.loads)


#: Used in place of port 443 of the machine, on which other tests listen.
PORT = 20443

MESSAGES = st.fixed_dictionaries(
    {
        "do": st.sampled_from(["tcp", "udp", "page", "list", "x"]) | VALUES,
        "seconds": st.sampled_from([0.01, 0.02]) | VALUES,
    },
    optional={
        "direction": st.sampled_from(["up", "down"]) | VALUES,
        "congestion": st.sampled_from(["reno"]) | VALUES,
        "codec": st.sampled_from(["G.711u"]) | VALUES,
        "object": VALUES,
        "sent": VALUES,
        "quiet": VALUES,
        "port": st.sampled_from([PORT]) | VALUES,
    },
)


@settings(max_examples=200)
@example([({"do": "udp", "direction": "up", "seconds": 0.01}, b""), ({"sent": None, "quiet": []}, b"")])
@example(
    [({"do": "udp", "direction": "up", "seconds": 0.01}, b""), ({"sent": 1, "quiet": float("nan")}, b"")]
)
@given(st.lists(st.tuples(MESSAGES, st.binary(max_size=30)), min_size=2, max_size=3))
def test_any_request_of_a_client_is_answered_or_refused(messages: list[tuple[dict[str, Any], bytes]]) -> None:
    with pytest.MonkeyPatch.context() as patch, socket.socket() as listener, socket.socket() as udp:
        for name in ("TIMEOUT_S", "GRACE_S", "MAX_DURATION_S"):
            patch.setattr(load_server, name, 0.02)
        patch.setattr(transports, "PORT", PORT)
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        loads = load_server.Loads(listener, udp, KEY, time.time_ns)
        line = Line(list(messages))
        loads._ending.set()
        try:
            with contextlib.suppress(ChannelError):
                loads._talk(line, "127.0.0.1")  # type: ignore[arg-type]
        finally:
            line.close()
            loads.close()


@given(st.binary(max_size=200), st.integers(0, 2000), st.integers(1, 255))
def test_any_file_of_an_interrupted_measurement_is_read_or_refused(
    data: bytes, place: int, flip: int
) -> None:
    import tempfile

    fields = np.zeros((8, 3), dtype=np.int64)
    fields[2] = (0, 1, 2)
    empty = measure.Measured(Plan(), *fields)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        resuming.keep(folder, "host", 1, empty)
        whole = (folder / resuming.FILE).read_bytes()
        found = resuming.kept(folder, "host", 1, Plan())
        assert found is not None and found.sent.tolist() == [0, 1, 2]
        changed = bytearray(whole)
        changed[place % len(changed)] ^= flip
        for content in (data, bytes(changed), whole[:place]):
            (folder / resuming.FILE).write_bytes(content)
            with contextlib.suppress(InputError):
                resuming.kept(folder, "host", 1, Plan())


PATH = (
    LINK
    + """
rate = "5 Mbit/s"
delay = "60 ms"
error = { kind = "packet", probability = 0.1 }
return = { rate = "5 Mbit/s", delay = "20 ms" }
"""
)


@pytest.mark.quiet
@needs("irtt")
@networks
def test_irtt_measures_the_same_path(bentpipe: Bentpipe, tmp_path: Path) -> None:
    """Compares round-trip time and losses of the two directions with irtt between the same
    hosts."""
    with path(bentpipe, tmp_path, PATH, ahead_ns=0, fast_ppm=0):
        document = json.loads(
            measure_path(bentpipe, tmp_path, 'duration = "5 s"\nrate = 60\ntrain = 0\n', "--json")
        )
        server = bentpipe.begin("net", "exec", "server", "--", "irtt", "server", "-b", "0.0.0.0:2112")
        try:
            listening = ["grep", "-q", ":0840", "/proc/net/udp"]
            until(lambda: bentpipe.done("net", "exec", "server", "--", *listening).returncode == 0)
            words = ["irtt", "client", "-i", "20ms", "-d", "5s", "-l", "112", "-q", "-o", "-", "server:2112"]
            text = bentpipe("net", "exec", "user", "--", *words)
        finally:
            server.kill()
            server.wait()
    stats = json.loads(text)["stats"]
    flow = document["flow"]
    assert flow["rtt_min"] == pytest.approx(stats["rtt"]["min"] / 1e9, abs=2e-3)
    rows = {row["direction"]: row for row in document["directions"]}
    forward = rows["forward"]
    assert forward["loss_low"] - 0.05 <= stats["upstream_loss_percent"] / 100 <= forward["loss_high"] + 0.05
    assert rows["backward"]["lost"] == 0 and stats["downstream_loss_percent"] == 0
    # Both clocks are the same, so irtt's one-way delays are true; bentpipe's are intervals that
    # contain them.
    for name, other in (("forward", "send_delay"), ("backward", "receive_delay")):
        low, high = rows[name]["delay_least_low"], rows[name]["delay_least_high"]
        assert low - 1e-3 <= stats[other]["min"] / 1e9 <= high + 1e-3


@needs("stamp-suite")
def test_the_reflector_of_stamp_suite_answers_our_probes(tmp_path: Path) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    words = ["stamp-suite", "--is-reflector", "--local-addr", "127.0.0.1", "--local-port", str(port)]
    with subprocess.Popen(
        words, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        try:
            listening = f":{port:04X}"
            until(lambda: listening in Path("/proc/net/udp").read_text() or process.poll() is not None)
            seen = measure.probe("127.0.0.1", port, Plan(duration=1.5, rate=40.0, train=0), None)
        finally:
            process.kill()
    assert seen.replied.all() and len(seen.sent) > 20
    # irtt's times lie between bentpipe's, because all use one clock; irtt takes at most some
    # milliseconds to answer.
    assert (seen.arrived - seen.sent > -1_000_000).all() and (seen.returned - seen.left > -1_000_000).all()
    assert np.median(seen.left - seen.arrived) < 50e6


@needs("stamp-suite")
def test_our_reflector_answers_the_probes_of_stamp_suite() -> None:
    with reflecting(None) as (port, counts):
        words = ["stamp-suite", "--remote-addr", "127.0.0.1", "--remote-port", str(port), "--count", "20"]
        words += ["--send-delay", "20ms", "--timeout", "2", "--output-format", "json"]
        done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert counts[0].replies == 20 and counts[0].ignored == 0
