"""Senders and receiver in a guest, for the comparison of queue disciplines with Linux's.

    queues_inside.py send ADDRESS TRAFFIC SEED SECONDS DISCIPLINE
    queues_inside.py receive

The traffic is `heavy` or `light`, datagrams that do not react to losses or marks, or `tcp`, eight
connections and a thin flow of datagrams. The datagrams and the starts of the connections depend
only on the seed. The sender is a host behind a router. A discipline of `tc` is put on the router's
interface, below a shaper of the rate `RATE`. The discipline `-` leaves the interface as it is.

The receiver prints flow, ECN field, size and one-way delay of each datagram. Both programs print
the kernel's counters of packets. Both ends are hosts of the same guest, whose clock they share.
"""

import ctypes
import json
import os
import random
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

LIBC = ctypes.CDLL(None, use_errno=True)
#: Where the guest has its programs.
PROGRAMS = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}
#: From <linux/sched.h>.
NEW_NETWORK = 0x40000000
#: Rate of the shaper in kbit/s, that of the terminal's constant slots.
RATE = 2048
PORT = 9000
#: Seconds before the first packet, and seconds in which the last packets arrive.
BEFORE, AFTER = 1.0, 15.0
#: From <linux/prctl.h>, <asm-generic/socket.h>.
SET_TIMER_SLACK = 29
SEND_BUFFER_FORCE, RECEIVE_BUFFER_FORCE = 32, 33
#: ECN fields of the flows of datagrams: ECT(0), Not-ECT, Not-ECT, ECT(0).
FIELDS = (2, 0, 0, 2)
#: The thin flow.
THIN = 2
#: Rate of flow 0 in a burst, and mean rate of flows 1 and 3, in bit/s.
LOADS = {"heavy": (2.0e6, 0.6e6), "light": (1.3e6, 0.5e6), "tcp": (0, 0)}
CONNECTIONS = 8
#: The number of a flow in the last datagrams.
LAST = 255
HEADER = struct.Struct("!dBI")


def arrivals(traffic: str, seed: int, seconds: float) -> list[tuple[float, int, int]]:
    """Returns time, flow and size with headers of all datagrams."""
    draw = random.Random(seed)
    peak, rate = LOADS[traffic]
    found: list[tuple[float, int, int]] = []
    if peak:
        found += [(at, 0, 1200) for at in bursts(draw, 1200 * 8 / peak, seconds)]
        for flow, size in ((1, 1200), (3, 900)):
            found += [(at, flow, size) for at in poisson(draw, rate / 8 / size, seconds)]
    return sorted([*found, *((0.0131 + 0.02 * n, THIN, 200) for n in range(int(50 * seconds) - 1))])


def bursts(draw: random.Random, gap: float, seconds: float) -> Iterator[float]:
    """Yields times with a constant gap, in bursts and silences of exponential lengths, 1 s each."""
    at = 0.0
    while True:
        end = at + draw.expovariate(1)
        while at < end:
            if at >= seconds:
                return
            yield at
            at += gap
        at = end + draw.expovariate(1)


def poisson(draw: random.Random, rate: float, seconds: float) -> Iterator[float]:
    """Yields the times of a Poisson process."""
    at = draw.expovariate(rate)
    while at < seconds:
        yield at
        at += draw.expovariate(rate)


def connect(address: str, start: float, end: float) -> None:
    """Sends over a TCP connection from `start` until `end`."""
    time.sleep(max(0.0, start - time.monotonic()))
    with socket.create_connection((address, PORT)) as connection:
        connection.settimeout(1)
        while time.monotonic() < end:
            try:
                connection.send(bytes(1 << 14))
            except TimeoutError:
                continue


def become_a_host_behind_a_router(discipline: str) -> None:
    """Moves this process into a new host, with the address of the present one, which becomes a
    router with this discipline. If the sender's own interface drops a packet, the kernel reports
    the drop to TCP, which does not count it as a loss."""
    (device,) = (name for _, name in socket.if_nameindex() if name not in ("lo", "sit0"))
    own = json.loads(output("ip", "-j", "-4", "addr", "show", "dev", device))[0]["addr_info"][0]["local"]
    run("ip", "link", "add", "inner", "type", "veth", "peer", "name", "outer")
    write("/proc/sys/net/ipv4/ip_forward", "1")
    if discipline != "-":
        # With a burst of 1 B, a packet leaves the discipline when a link would start to send it.
        run("tc", "qdisc", "add", "dev", device, "root", "handle", "1:", "htb", "default", "1")
        shape = f"parent 1: classid 1:1 htb rate {RATE}kbit burst 1 cburst 1 quantum 1514"
        run("tc", "class", "add", "dev", device, *shape.split())
        run("tc", "qdisc", "add", "dev", device, "parent", "1:1", *discipline.split())
    # Both ends have the same address, so that packets need no address resolution.
    for end in ("inner", "outer"):
        run("ip", "link", "set", end, "address", "02:00:00:00:00:01", "arp", "off", "up")
    router, moved, ready = os.getpid(), *(os.pipe() for _ in range(2))
    if helper := os.fork():
        assert LIBC.unshare(NEW_NETWORK) == 0
        os.write(moved[1], b"x")
        os.read(ready[0], 1)
        os.waitpid(helper, 0)
    else:
        # This process stays in the router, and completes its set-up.
        os.read(moved[0], 1)
        run("ip", "link", "set", "inner", "netns", str(router))
        run("ip", "addr", "flush", "dev", device, "scope", "global")
        run("ip", "route", "add", f"{own}/32", "dev", "outer")
        run("ip", "route", "add", "default", "dev", device)
        os.write(ready[1], b"x")
        os._exit(0)
    run("ip", "link", "set", "lo", "up")
    # Without this limit, disciplines handle large packets, which the kernel segments behind them.
    run("ip", "link", "set", "inner", "gso_max_segs", "1", "up")
    run("ip", "addr", "add", f"{own}/32", "dev", "inner")
    run("ip", "route", "add", "default", "dev", "inner")


def run(*words: str) -> None:
    subprocess.run(words, check=True, env=PROGRAMS)


def output(*words: str) -> str:
    return subprocess.run(words, check=True, env=PROGRAMS, capture_output=True, text=True).stdout


def write(file: str, text: str) -> None:
    Path(file).write_text(text)


def send(address: str, traffic: str, seed: int, seconds: float, discipline: str) -> None:
    LIBC.prctl(SET_TIMER_SLACK, 1, 0, 0, 0)
    become_a_host_behind_a_router(discipline)
    write("/proc/sys/net/ipv4/tcp_ecn", "1")
    sockets = []
    for flow, field in enumerate(FIELDS):
        sockets.append(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
        sockets[-1].setsockopt(socket.SOL_SOCKET, SEND_BUFFER_FORCE, 1 << 28)
        sockets[-1].setsockopt(socket.IPPROTO_IP, socket.IP_TOS, field)
        sockets[-1].bind(("0.0.0.0", PORT + 1 + flow))
    start = time.monotonic() + BEFORE
    if traffic == "tcp":
        draw = random.Random(seed)
        for _ in range(CONNECTIONS):
            words = (address, start + draw.uniform(0, 2), start + seconds)
            threading.Thread(target=connect, args=words, daemon=True).start()
    for number, (at, flow, size) in enumerate(arrivals(traffic, seed, seconds)):
        time.sleep(max(0.0, start + at - time.monotonic()))
        data = HEADER.pack(time.monotonic(), flow, number).ljust(size - 28, b"\0")
        sockets[flow].sendto(data, (address, PORT))
    time.sleep(AFTER)
    report("OutRequests")
    for _ in range(5):
        sockets[THIN].sendto(HEADER.pack(0, LAST, 0), (address, PORT))
        time.sleep(0.2)


def drain(listening: socket.socket) -> None:
    """Accepts connections and reads what they carry."""
    while True:
        connection, _ = listening.accept()
        threading.Thread(target=read, args=(connection,), daemon=True).start()


def read(connection: socket.socket) -> None:
    while connection.recv(1 << 16, socket.MSG_TRUNC):
        pass


def receive() -> None:
    write("/proc/sys/net/ipv4/tcp_ecn", "1")
    listening = socket.create_server(("0.0.0.0", PORT))
    threading.Thread(target=drain, args=(listening,), daemon=True).start()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as datagrams:
        datagrams.setsockopt(socket.IPPROTO_IP, socket.IP_RECVTOS, 1)
        datagrams.setsockopt(socket.SOL_SOCKET, RECEIVE_BUFFER_FORCE, 1 << 28)
        datagrams.bind(("0.0.0.0", PORT))
        lines = []
        while True:
            data, extra, _, _ = datagrams.recvmsg(2048, 64)
            now = time.monotonic()
            sent, flow, _ = HEADER.unpack_from(data)
            if flow == LAST:
                break
            lines.append(f"datagram {flow} {extra[0][2][0] & 3} {28 + len(data)} {now - sent:.9f}")
    report("InReceives", "InCEPkts")
    print("\n".join(lines), flush=True)


def report(*names: str) -> None:
    """Prints these counters of the kernel's IP."""
    found: dict[str, str] = {}
    for file in ("snmp", "netstat"):
        lines = Path(f"/proc/net/{file}").read_text().splitlines()
        for heads, values in zip(lines[::2], lines[1::2], strict=True):
            if heads.startswith(("Ip:", "IpExt:")):
                found |= dict(zip(heads.split()[1:], values.split()[1:], strict=True))
    for name in names:
        print("counter", name, found[name], flush=True)


if __name__ == "__main__":
    if sys.argv[1] == "send":
        to, load, number, duration, wanted = sys.argv[2:7]
        send(to, load, int(number), float(duration), wanted)
    else:
        receive()
