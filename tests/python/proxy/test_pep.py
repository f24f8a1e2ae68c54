"""`bentpipe machine pep` as seen by the ends of connections, and its traces on its machine."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import random
import signal
import socket
import struct
import subprocess
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from helpers import ROOT
from rigs import commands
from rigs.networks import needs, networks, until
from rigs.proxied import CLIENT, CLIENT6, NOBODY, NOBODY6, SERVER, SERVER6, Lab, Place, received, reset, sent

pytestmark = [networks, needs("nft", "ip", "curl", "sysctl", "setpriv"), pytest.mark.quiet]

METRICS = ("--metrics", "127.0.0.1:9377")
FAMILIES = pytest.mark.parametrize(
    ("here", "there"), [(CLIENT, SERVER), (CLIENT6, SERVER6)], ids=["ipv4", "ipv6"]
)


@pytest.fixture
def lab() -> Iterator[Lab]:
    made = Lab()
    yield made
    made.close()


@FAMILIES
@pytest.mark.parametrize("accept", ["late", "early"])
def test_ends_see_each_other_and_each_half_closes_alone(lab: Lab, here: str, there: str, accept: str) -> None:
    lab.start("--accept", accept, *METRICS)
    near, far = lab.pair(address=there)
    assert near.getpeername()[:2] == far.getsockname()[:2] == (there, 8080)
    assert far.getpeername()[:2] == near.getsockname()[:2]
    assert near.getsockname()[0] == here
    up, down = random.Random(1).randbytes(3 << 20), random.Random(2).randbytes(5 << 20)
    # The client closes its half, and the proxy forwards this long before the server begins to send.
    sending = sent(near, up)
    assert received(far) == up
    sending.join()
    sending = sent(far, down)
    assert received(near) == down
    sending.join()
    until(lambda: lab.metric("closed_total") == 1)
    assert lab.metric('bytes_total{direction="up"}') == len(up)
    assert lab.metric('bytes_total{direction="down"}') == len(down)
    assert lab.metric("connections") == lab.metric("reset_total") == 0


def outcome(lab: Lab, address: str, port: int, timeout_s: float = 15) -> str:
    """Returns the error that the client gets."""
    try:
        lab.connect(port, address, timeout_s).close()
    except TimeoutError:
        return "silence"
    except OSError as error:
        return errno.errorcode[error.errno or 0]
    return "connected"


def test_the_client_is_told_what_it_would_be_told_without_a_proxy(lab: Lab) -> None:
    reject = "reject with icmpx type"
    lab.server(
        *("nft", "-f", "-"),
        script="table inet t { chain c { type filter hook input priority 0; "
        f"tcp dport 1001 {reject} host-unreachable; tcp dport 1002 {reject} no-route; "
        f"tcp dport 1003 {reject} admin-prohibited; tcp dport 1004 {reject} port-unreachable; "
        f"tcp dport 1005 drop\n }}\n }}\n",
    )
    cases = [(there, port) for there in (SERVER, SERVER6) for port in (1000, 1001, 1002, 1003, 1004)]
    cases += [(NOBODY, 80), (NOBODY6, 80)]

    def outcomes() -> dict[tuple[str, int], str]:
        with ThreadPoolExecutor(len(cases)) as threads:
            return dict(zip(cases, threads.map(lambda case: outcome(lab, *case), cases), strict=True))

    without = outcomes()
    assert without[SERVER, 1000] == "ECONNREFUSED"
    assert without[NOBODY, 80] == "EHOSTUNREACH"
    assert {"silence", "connected"}.isdisjoint(without.values())
    lab.start()
    assert outcomes() == without
    assert outcome(lab, SERVER, 1005, timeout_s=2) == "silence"


@pytest.mark.parametrize("who", ["client", "server"])
def test_a_reset_is_passed_on(lab: Lab, who: str) -> None:
    lab.start(*METRICS)
    near, far = lab.pair()
    ends = (near, far) if who == "client" else (far, near)
    ends[0].sendall(b"before")
    assert ends[1].recv(100) == b"before"
    reset(ends[0])
    with pytest.raises(ConnectionResetError):
        ends[1].recv(100)
    assert lab.metric("reset_total") == 1


def test_a_fin_stays_with_the_last_data(lab: Lab) -> None:
    lab.start()
    near, far = lab.pair()
    tap = lab.client.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(0x0800))
    tap.settimeout(10)
    far.setsockopt(socket.IPPROTO_TCP, socket.TCP_CORK, 1)
    far.sendall(b"x" * 100)
    far.shutdown(socket.SHUT_WR)
    assert received(near) == b"x" * 100
    packets = iter(lambda: tap.recv(200), b"")
    # The packet with those 100 bytes, after 20 of IPv4 and 32 of TCP, whose byte 13 has the flags.
    assert next(packet for packet in packets if packet[9] == 6 and packet[2:4] == b"\x00\x98")[33] & 1


@pytest.mark.parametrize("size", [3, 3 << 20])
def test_urgent_data_keeps_its_place_and_nothing_waits_behind_it(lab: Lab, size: int) -> None:
    """RFC 6093, section 4: urgent data is part of the stream. The kernel ends a read before it."""
    lab.start()
    near, far = lab.pair()
    data = random.Random(3).randbytes(size)
    written, read = threading.Event(), threading.Event()

    def send() -> None:
        near.sendall(data)
        near.send(b"!", socket.MSG_OOB)
        near.sendall(data)
        written.set()
        read.wait(30)
        near.close()

    if size < 1000:
        # All of the data is available when the proxy reads.
        os.kill(lab.worker_process, signal.SIGSTOP)
    sending = threading.Thread(target=send)
    sending.start()
    if size < 1000:
        assert written.wait(30)
        os.kill(lab.worker_process, signal.SIGCONT)
    expected = data + b"!" + data
    got = b""
    while len(got) < len(expected):
        got += far.recv(1 << 20)
    assert got == expected
    # Only now the connection ends; its end would have moved waiting data.
    read.set()
    sending.join()
    assert received(far) == b""


def test_a_reset_reaches_an_end_that_does_not_read(lab: Lab) -> None:
    lab.start(*METRICS, "--buffer", 65536)
    near, far = lab.pair()
    near.settimeout(0.5)
    with contextlib.suppress(TimeoutError):
        # Until every buffer on the path is full: the proxy has accepted no more than its limit.
        near.sendall(bytes(64 << 20))
    assert lab.metric('bytes_total{direction="up"}') < 32 << 20
    reset(near)
    until(lambda: lab.metric("connections") == 0)
    with pytest.raises(ConnectionResetError):
        received(far)


def test_class_of_service_and_congestion_control_are_each_sides_own(lab: Lab) -> None:
    lab.start("--client-congestion", "reno", "--server-congestion", "cubic")
    listener = lab.listen()
    listener.setsockopt(socket.IPPROTO_TCP, 27, 1)  # TCP_SAVE_SYN
    listener.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, 0x28)
    tap = lab.client.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(0x0800))
    tap.settimeout(10)
    near = lab.client.socket()
    near.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, 0xB8)
    near.connect((SERVER, 8080))
    far = lab.accept(listener)
    assert far.getsockopt(socket.IPPROTO_TCP, 28, 200)[1] == 0xB8  # TCP_SAVED_SYN
    far.sendall(b"x" * 100)
    packets = iter(lambda: tap.recv(200), b"")
    # The packet with those 100 bytes, after 20 of IPv4 and 32 of TCP.
    assert next(packet for packet in packets if packet[9] == 6 and packet[2:4] == b"\x00\x98")[1] == 0x28
    if shown := lab.proxy("ss", "-tinHO"):
        used = {line.split()[3].rsplit(":", 1)[0]: line for line in shown.splitlines()}
        assert " reno " in used[SERVER] and " cubic " in used[CLIENT]


def test_its_rules_are_its_own_and_go_with_it_also_when_killed(lab: Lab) -> None:
    lab.proxy(
        *("nft", "-f", "-"),
        script="table inet foreign { chain c { type filter hook prerouting priority raw; "
        "tcp dport 99 counter\n }\n }\n",
    )
    lab.proxy("ip", "rule", "add", "fwmark", "0x5", "lookup", "77")
    lab.proxy("ip", "route", "add", "local", "default", "dev", "lo", "table", "77")
    before = lab.picture()
    lab.start()
    there = lab.picture()
    assert all(there[what] != before[what] for what in before)
    second = lab.command()
    assert second.returncode == 1 and "runs a proxy in this namespace" in second.stderr
    refused = lab.command("--remove")
    assert refused.returncode == 1 and "end it first" in refused.stderr
    assert lab.picture() == there
    assert lab.stop() == 0
    assert lab.picture() == before

    lab.start()
    lab.kill()
    assert lab.picture() != before
    # New connections bypass the remaining rules.
    for address in (SERVER, SERVER6):
        near, far = lab.pair(address=address)
        near.sendall(b"past")
        assert far.recv(4) == b"past"
    assert lab.command("--remove").stdout == "removed\n"
    assert lab.picture() == before
    assert lab.command("--remove").stdout == "there are no remains of a proxy\n"

    lab.start()
    os.kill(lab.worker_process, signal.SIGKILL)
    assert lab.process is not None
    assert lab.process.wait(30) == 1
    lab.process = None
    assert lab.picture() == before

    lab.start()
    lab.kill()
    lab.start()
    near, far = lab.pair()
    near.close()
    far.close()
    assert lab.stop() == 0
    assert lab.picture() == before


def test_it_ends_when_its_connections_have(lab: Lab) -> None:
    lab.start("--drain-timeout", 60, *METRICS)
    near, far = lab.pair()
    assert lab.process is not None
    lab.process.send_signal(signal.SIGTERM)
    until(lambda: lab.events("draining"))
    # A new connection bypasses the proxy.
    until(lambda: "fib" not in lab.proxy("nft", "list", "chain", "inet", "bentpipe-pep", "new"))
    other, end = lab.pair(8081)
    other.sendall(b"new")
    assert end.recv(10) == b"new"
    near.sendall(b"old")
    assert far.recv(10) == b"old"
    assert lab.metric("connections") == 1
    near.close()
    far.close()
    assert lab.process.wait(30) == 0
    other.sendall(b"still")
    assert end.recv(10) == b"still"


def test_who_is_left_when_the_time_is_over_is_reset(lab: Lab) -> None:
    lab.start("--drain-timeout", 1)
    near, _far = lab.pair()
    assert lab.stop() == 0
    with pytest.raises(ConnectionResetError):
        near.recv(1)


def test_a_process_that_does_not_drain_is_killed(lab: Lab) -> None:
    before = lab.picture()
    lab.start("--drain-timeout", 1)
    os.kill(lab.worker_process, signal.SIGSTOP)
    assert lab.stop() == 1
    assert "did not end within 6 s" in lab.events("killed")[0]["text"]
    assert lab.picture() == before


def test_more_connections_than_it_may_have_pass_by(lab: Lab) -> None:
    lab.start("--connections", 2, "--threads", 1, *METRICS)
    pairs = [lab.pair(8000 + number) for number in range(4)]
    for near, far in pairs:
        near.sendall(b"x")
        assert far.recv(1) == b"x"
    assert (lab.metric("connections"), lab.metric("passed_total")) == (2, 2)


def test_few_descriptors_make_more_workers_not_fewer_connections(lab: Lab) -> None:
    lab.proxy.inside += ["prlimit", "--nofile=400:400"]
    lab.start("--connections", 300, *METRICS)
    assert lab.events("limits")[0]["descriptors_of_a_worker"] == 400
    with lab.listen() as listener:
        for _ in range(300):
            near = lab.connect()
            lab.accept(listener)
            near.sendall(b"x")
    assert (lab.metric("connections"), lab.metric("passed_total")) == (300, 0)
    assert lab.descriptors() > 600


def test_a_congestion_control_may_be_ours(lab: Lab) -> None:
    said = commands.run("machine", "doctor", "--json").stdout
    [bpf] = [finding for finding in json.loads(said)["findings"] if finding["what"] == "BPF"]
    if bpf["status"] != "ok":
        pytest.skip(bpf["found"])
    lab.start("--server-congestion", "vegas")
    lab.pair()
    used = {line.split()[3].rsplit(":", 1)[0]: line for line in lab.proxy("ss", "-tinHO").splitlines()}
    assert " bp_vegas" in used[CLIENT] and " bp_vegas" not in used[SERVER]


UNIT = ROOT / "packaging/systemd/bentpipe-pep.service"


def complaints(unit: Path, others: Path) -> list[str]:
    """Returns systemd's messages about a unit, without those about the machine's own units and
    those in a folder."""
    done = subprocess.run(
        ["systemd-analyze", "verify", "--recursive-errors=no", unit],
        env=os.environ | {"SYSTEMD_UNIT_PATH": f"{others}:"},
        capture_output=True,
        text=True,
        check=False,
    )
    lines = [line for line in done.stderr.splitlines() if unit.name in line]
    assert bool(done.returncode) == bool(lines), done.stderr
    return lines


@needs("systemd-analyze")
def test_the_unit_is_one_that_systemd_takes(tmp_path: Path) -> None:
    (tmp_path / "network-online.target").write_text("[Unit]\nDescription=another package's\nNonsense=1\n")
    assert complaints(UNIT, tmp_path) == []
    changed = tmp_path / UNIT.name
    changed.write_text(UNIT.read_text() + "\n[Service]\nNonsense=1\n")
    (line,) = complaints(changed, tmp_path)
    assert "Nonsense" in line


def test_a_silent_connection_is_reset_after_the_idle_timeout(lab: Lab) -> None:
    lab.start("--idle-timeout", 1, *METRICS)
    near, far = lab.pair()
    for end in (near, far):
        with pytest.raises(ConnectionResetError):
            end.recv(1)
    assert lab.metric("idle_total") == 1


def test_an_end_that_is_gone_without_a_word_is_noticed(lab: Lab) -> None:
    lab.start("--keepalive", 1)
    near, _far = lab.pair()
    lab.server("ip", "link", "set", "wire", "down")
    with pytest.raises(ConnectionResetError):
        near.recv(1)


def test_path_mtu_discovery_reaches_the_proxy(lab: Lab) -> None:
    behind = Place()
    lab.places.append(behind)
    lab.server(
        "ip", "link", "add", "narrow", "type", "veth", "peer", "name", "wire", "netns", str(behind.pid)
    )
    for place, name, address in ((lab.server, "narrow", "10.77.3.1/24"), (behind, "wire", "10.77.3.2/24")):
        place("ip", "addr", "add", address, "dev", name)
        place("ip", "link", "set", name, "up")
    # Only the router knows; the far end offers segments of 1460 bytes.
    lab.server("ip", "link", "set", "narrow", "mtu", "1300")
    lab.server("sysctl", "-qw", "net.ipv4.ip_forward=1")
    behind("ip", "route", "add", "default", "via", "10.77.3.1")
    lab.proxy("ip", "route", "add", "10.77.3.0/24", "via", SERVER)
    lab.start()
    listener = behind.socket()
    listener.bind(("10.77.3.2", 8080))
    listener.listen()
    near = lab.connect(address="10.77.3.2")
    data = bytes(300_000)
    sending = sent(near, data)
    assert received(lab.accept(listener)) == data
    sending.join()
    assert "mtu 1300" in lab.proxy("ip", "route", "get", "10.77.3.2", "from", CLIENT, "iif", "near")


@pytest.mark.parametrize("accept", ["late", "early"])
def test_fast_open_carries_data_in_the_syn(lab: Lab, accept: str) -> None:
    for place in lab.places:
        place("sysctl", "-qw", "net.ipv4.tcp_fastopen=3")
    lab.start("--fast-open", "--accept", accept)
    listener = lab.listen()
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_FASTOPEN, 16)

    def in_syn(end: socket.socket) -> bool:
        # tcpi_options, TCPI_OPT_SYN_DATA.
        return bool(end.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 104)[5] & 32)

    # Connections that carry data in the SYN: the first ones have no cookie.
    seen = []
    for _ in range(3):
        near = lab.client.socket()
        for option in (socket.SO_RCVTIMEO, socket.SO_SNDTIMEO):
            # Python's own time limit would make the socket non-blocking, which sends no data here.
            near.setsockopt(socket.SOL_SOCKET, option, struct.pack("ll", 10, 0))
        near.sendto(b"in the SYN", socket.MSG_FASTOPEN, (SERVER, 8080))
        far = lab.accept(listener)
        assert far.recv(100) == b"in the SYN"
        far.sendall(b"answer")
        assert near.recv(100) == b"answer"
        seen.append((in_syn(near), in_syn(far)))
        near.close()
        far.close()
    assert seen[0] == (False, False)
    # Late accept promises nothing before the server has answered, so only the client's half uses
    # it.
    assert seen[2] == (True, accept == "early")


def test_it_gives_its_privileges_up(lab: Lab) -> None:
    lab.start()
    status = dict(
        line.split(":\t", 1) for line in Path(f"/proc/{lab.worker_process}/status").read_text().splitlines()
    )
    # CAP_NET_BIND_SERVICE 10, CAP_NET_RAW 13.
    assert {int(status[name], 16) for name in ("CapEff", "CapPrm")} == {1 << 10 | 1 << 13}
    assert status["Uid"].split() == ["65534"] * 4 and status["NoNewPrivs"] == "1"
    for thread in Path(f"/proc/{lab.worker_process}/task").iterdir():
        assert "CapEff:\t0000000000002400" in (thread / "status").read_text()


def test_what_keeps_it_from_working_is_said(lab: Lab) -> None:
    before = lab.picture()
    lab.proxy("nft", "add", "table", "inet", "bentpipe-pep")
    done = lab.command()
    assert done.returncode == 1 and "nft delete table inet bentpipe-pep" in done.stderr
    lab.proxy("nft", "delete", "table", "inet", "bentpipe-pep")
    lab.proxy("ip", "link", "set", "lo", "down")
    done = lab.command()
    assert done.returncode == 1 and "ip link set lo up" in done.stderr
    lab.proxy("ip", "link", "set", "lo", "up")
    assert lab.picture() == before
    lab.proxy.inside += ["setpriv", "--bounding-set", "-net_admin", "--"]
    done = lab.command()
    assert done.returncode == 1 and "lacks CAP_NET_ADMIN: run as root" in done.stderr
    del lab.proxy.inside[-4:]
    # A machine without nft.
    lab.proxy.inside += ["unshare", "-m", "sh", "-c", 'mount -t tmpfs none /usr/sbin && exec "$@"', "sh"]
    done = lab.command()
    assert done.returncode == 1 and "apt install nftables" in done.stderr
    del lab.proxy.inside[-6:]
    assert lab.picture() == before
    lab.proxy("sysctl", "-qw", "net.ipv4.ip_forward=0", "net.ipv4.tcp_fastopen=0")
    lab.start("--interface", "nowhere", "--fast-open")
    said = " ".join(event["text"] for kind in ("interface", "sysctl") for event in lab.events(kind))
    assert all(word in said for word in ("no interface nowhere", "ip_forward is 0", "tcp_fastopen lacks"))


#: Options, and the beginning of the message.
REFUSED = (
    ("--port", "http", "--port http: is no port"),
    ("--to", "10.0.0.0/40", "--to 10.0.0.0/40: is no network"),
    ("--interface", "a b", "--interface a b: is no name"),
    ("--mark", "3", "--mark 0x3: is not one bit"),
    ("--mark", "none", "--mark none is not a mark of 32 bits; allowed: a number with one bit set"),
    ("--table", "254", "--table 254: is one of the kernel's own"),
    ("--metrics", "9100", "--metrics 9100: is no address with port"),
    ("--server-congestion", "nosuch", "--server-congestion nosuch: the kernel has"),
    ("--user", "no-such-user", "--user no-such-user: there is no such user"),
)


def test_what_cannot_be_is_refused_and_leaves_nothing(lab: Lab) -> None:
    before = lab.picture()
    for option, value, said in REFUSED:
        done = lab.command(option, value)
        assert done.stderr.startswith(f"bentpipe: {said}"), done.stderr
        assert (done.returncode, "Traceback" in done.stderr) == (2, False)
    assert lab.picture() == before
