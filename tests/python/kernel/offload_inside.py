"""The first process of a guest in which one TCP connection passes through the path of the LANMAN
campaign, built from the kernel's veth pairs and netem, with segmentation offload.

Arguments: congestion control, delay each way in ms, rate in bit/s, loss in percent, seconds, number
of events to list. Prints the payload received, how many packets left with how many segments each,
and the first events as the sender sees them: `> TIME SEQUENCE SEGMENTS`, `< TIME ACKNOWLEDGED`. No
code of bentpipe runs in it.
"""

import ctypes
import os
import socket
import struct
import subprocess
import sys
import threading
import time
import traceback
from collections import Counter
from itertools import pairwise
from pathlib import Path

LIBC = ctypes.CDLL(None, use_errno=True)
#: From <linux/sched.h>, <linux/reboot.h> and <linux/if_ether.h>.
NEW_NETWORK = 0x40000000
POWER_OFF = 0x4321FEDC
EVERYTHING = 3
#: Payload of a full segment with timestamps.
SEGMENT = 1448
#: Size of a program's writes, as in iperf.
WRITE = bytes(128 << 10)
#: Nodes in the order of the path.
NAMES = ("server", "sat", "wlan", "client")


def run(*words: str) -> None:
    subprocess.run(words, check=True)


def enter(name: str) -> None:
    with Path(f"/run/netns/{name}").open() as file:
        assert LIBC.setns(file.fileno(), NEW_NETWORK) == 0


def prepare(delay_ms: str, rate: str, loss: str) -> None:
    """Creates the path: rate and delay at `sat`, loss at `wlan`, each in both directions."""
    for kind, place in (("proc", "/proc"), ("sysfs", "/sys"), ("tmpfs", "/run")):
        subprocess.run(["mount", "-t", kind, kind, place], check=False)
    for name in NAMES:
        run("ip", "netns", "add", name)
        run("ip", "-n", name, "link", "set", "lo", "up")
    for net, (left, right) in enumerate(pairwise(NAMES)):
        peer = ("type", "veth", "peer", "name", "left", "netns", right)
        run("ip", "link", "add", "right", "netns", left, *peer)
        for name, device, last in ((left, "right", 1), (right, "left", 2)):
            run("ip", "-n", name, "addr", "add", f"10.0.{net}.{last}/24", "dev", device)
            run("ip", "-n", name, "link", "set", device, "address", "02:00:00:00:00:01", "arp", "off", "up")
    for name, device, target in (
        ("server", "right", "10.0.0.2"),
        ("sat", "right", "10.0.1.2"),
        ("wlan", "left", "10.0.1.1"),
        ("client", "left", "10.0.2.1"),
    ):
        run("ip", "-n", name, "route", "add", "default", "via", target, "dev", device)
    for device in ("left", "right"):
        link = ("rate", rate, "delay", f"{delay_ms}ms")
        run("tc", "-n", "sat", "qdisc", "add", "dev", device, "root", "netem", *link)
        errors = ("rate", "1000mbit", *(("loss", f"{loss}%") if float(loss) else ()))
        run("tc", "-n", "wlan", "qdisc", "add", "dev", device, "root", "netem", *errors)
    for name in ("sat", "wlan"):
        enter(name)
        Path("/proc/sys/net/ipv4/ip_forward").write_text("1")


def watch(sizes: Counter[int], events: list[str], most: int) -> None:
    """Counts packets from the server where they arrive at `sat`."""
    enter("sat")
    with socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(EVERYTHING)) as heard:
        heard.bind(("left", EVERYTHING))
        while True:
            head = bytearray(64)
            size, _, _, address = heard.recvmsg_into([head], 0, socket.MSG_TRUNC)
            payload = size - 20 - (head[32] >> 4) * 4
            if head[9] != socket.IPPROTO_TCP:
                continue
            number = struct.unpack_from("!I", head, 24 if payload else 28)[0]
            leaves = address[2] != socket.PACKET_OUTGOING
            if leaves and payload > 0:
                segments = -(-payload // SEGMENT)
                sizes[segments] += 1
                if len(events) < most:
                    events.append(f"> {time.monotonic():.6f} {number} {payload / SEGMENT:.2f}")
            elif not leaves and len(events) < most:
                events.append(f"< {time.monotonic():.6f} {number}")


def transfer(congestion: str, seconds: float) -> int:
    """Sends until the time is over. Returns the bytes received."""
    received = 0

    def receive(listening: socket.socket) -> None:
        nonlocal received
        accepted, _ = listening.accept()
        while data := accepted.recv(128 << 10):
            received += len(data)

    enter("client")
    listening = socket.create_server(("10.0.2.2", 5001))
    threading.Thread(target=receive, args=(listening,), daemon=True).start()
    enter("server")
    sender = socket.socket()
    sender.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, congestion.encode())
    sender.connect(("10.0.2.2", 5001))

    def send() -> None:
        while True:
            sender.sendall(WRITE)

    threading.Thread(target=send, daemon=True).start()
    time.sleep(seconds)
    return received


if __name__ == "__main__":
    try:
        os.environ["PATH"] = "/usr/sbin:/usr/bin:/sbin:/bin"
        # User-Mode Linux appends a word to its command line.
        variant, delay, rate, loss, seconds, most = sys.argv[1:7]
        prepare(delay, rate, loss)
        sizes: Counter[int] = Counter()
        events: list[str] = []
        threading.Thread(target=watch, args=(sizes, events, int(most)), daemon=True).start()
        time.sleep(0.01)
        print("received", transfer(variant, float(seconds)), flush=True)
        print("sizes", dict(sorted(sizes.items())), flush=True)
        print("\n".join(events), flush=True)
    except BaseException:  # noqa: BLE001 - the guest ends before Python would say it
        traceback.print_exc()
    finally:
        LIBC.reboot(POWER_OFF)
