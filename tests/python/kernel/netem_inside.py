"""The first process of a guest in which one TCP connection passes through the kernel's netem
instead of bentpipe's link.

Arguments: congestion control, round-trip delay in ms, rate in bit/s, queue in packets, seconds.
Prints the bytes acknowledged by then, and ends the guest. No code of bentpipe runs in it.
"""

import array
import ctypes
import fcntl
import os
import selectors
import socket
import struct
import subprocess
import sys
import threading
import time
import traceback
from pathlib import Path

LIBC = ctypes.CDLL(None, use_errno=True)
#: From <linux/sched.h> and <linux/reboot.h>.
NEW_NETWORK = 0x40000000
POWER_OFF = 0x4321FEDC
#: From <linux/sockios.h> and <linux/ethtool.h>.
ETHTOOL = 0x8946
SET_SEGMENTATION = 0x1F
#: From <linux/tcp.h>: the limits of window and unsent data, and the offsets of the acknowledged
#: bytes and of the minimum round-trip time in struct tcp_info.
WINDOW_CLAMP = 10
NOTSENT_LOWAT = 25
BYTES_ACKED = 120
MIN_RTT = 148
#: From <asm-generic/socket.h>.
RECEIVE_BUFFER_FORCE = 33
#: The receive window of bentpipe's flow.
WINDOW = 32 << 20
#: netem counts the Ethernet header; bentpipe's link has none.
ETHERNET = 14
#: Settings that bentpipe makes on the hosts of a flow with a send buffer of 1 GiB.
SYSCTLS = {
    "tcp_rmem": "4096 33554432 33554432",
    "tcp_wmem": "4096 4194304 1073741824",
    "tcp_no_metrics_save": "1",
    "tcp_slow_start_after_idle": "0",
    "tcp_ecn": "0",
    "tcp_timestamps": "0",
}


def run(*words: str) -> None:
    subprocess.run(words, check=True)


def enter(name: str) -> None:
    with Path(f"/run/netns/{name}").open() as file:
        assert LIBC.setns(file.fileno(), NEW_NETWORK) == 0


def connect() -> None:
    """Creates hosts a and b, and between them m."""
    for kind, place in (("proc", "/proc"), ("sysfs", "/sys"), ("tmpfs", "/run")):
        subprocess.run(["mount", "-t", kind, kind, place], check=False)
    for name in "abm":
        run("ip", "netns", "add", name)
        # A router solicitation of IPv6, sent at a random time, would occupy a place in the queue.
        enter(name)
        write("/proc/sys/net/ipv6/conf/all/disable_ipv6", "1")
        write("/proc/sys/net/ipv6/conf/default/disable_ipv6", "1")
        run("ip", "-n", name, "link", "set", "lo", "up")
    for host, net in (("a", 1), ("b", 2)):
        run(
            "ip",
            "link",
            "add",
            "out",
            "netns",
            host,
            "type",
            "veth",
            "peer",
            "name",
            f"to-{host}",
            "netns",
            "m",
        )
        for name, device, last in ((host, "out", 1), ("m", f"to-{host}", 2)):
            run("ip", "-n", name, "addr", "add", f"10.0.{net}.{last}/24", "dev", device)
            # Static neighbour entries: address resolution would take a round trip.
            run("ip", "-n", name, "link", "set", device, "address", "02:00:00:00:00:01", "arp", "off")
            run("ip", "-n", name, "link", "set", device, "up")
        run("ip", "-n", host, "route", "add", "default", "via", f"10.0.{net}.2")
    enter("m")
    write("/proc/sys/net/ipv4/ip_forward", "1")
    for host in "ab":
        enter(host)
        do_not_segment("out")
        for name, value in SYSCTLS.items():
            write(f"/proc/sys/net/ipv4/{name}", value)


def prepare(delay_ms: float, rate: int, packets: int) -> None:
    """Makes the interfaces of the hosts delay departing packets, and gives the interfaces of m rate
    and queue. A drop in a host's own interface behaves differently: the kernel reports it to TCP
    immediately."""
    connect()
    for host in "ab":
        delay = f"delay {delay_ms / 2}ms limit 1000000"
        run("tc", "-n", host, "qdisc", "add", "dev", "out", "root", "netem", *delay.split())
        bottleneck = f"rate {rate} -{ETHERNET} limit {packets + 1}"
        run("tc", "-n", "m", "qdisc", "add", "dev", f"to-{host}", "root", "netem", *bottleneck.split())


def do_not_segment(device: str) -> None:
    """Makes the kernel segment large packets behind the device's queue, as on bentpipe's
    interfaces."""
    value = array.array("I", [SET_SEGMENTATION, 0])
    request = struct.pack("16sP", device.encode(), value.buffer_info()[0])
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, ETHTOOL, request.ljust(40, b"\0"))


def write(file: str, text: str) -> None:
    Path(file).write_text(text)


def receive(listening: socket.socket) -> None:
    accepted, _ = listening.accept()
    accepted.recv(1 << 18, socket.MSG_TRUNC)
    # bentpipe sets the window at this moment, too. When the first full segment arrives, the kernel
    # derives the window from the size of the buffer, which overrides an earlier setting.
    accepted.setsockopt(socket.IPPROTO_TCP, WINDOW_CLAMP, WINDOW)
    while accepted.recv(1 << 18, socket.MSG_TRUNC):
        pass


def transfer(congestion: str, seconds: float) -> tuple[int, int]:
    """Sends until the time is over. Returns the bytes acknowledged, and the minimum round-trip time
    in microseconds."""
    enter("b")
    listening = socket.create_server(("10.0.2.1", 5001))
    listening.setsockopt(socket.SOL_SOCKET, RECEIVE_BUFFER_FORCE, 4 * WINDOW)
    listening.setsockopt(socket.IPPROTO_TCP, WINDOW_CLAMP, WINDOW)
    threading.Thread(target=receive, args=(listening,), daemon=True).start()
    enter("a")
    with socket.socket() as sender:
        sender.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, congestion.encode())
        sender.setsockopt(socket.IPPROTO_TCP, NOTSENT_LOWAT, 1 << 20)
        data = bytes(1 << 18)
        end = time.monotonic() + seconds
        sender.connect(("10.0.2.1", 5001))
        sender.setblocking(False)
        with selectors.DefaultSelector() as selector:
            selector.register(sender, selectors.EVENT_WRITE)
            while (left := end - time.monotonic()) > 0:
                for _ in selector.select(left):
                    # As in bentpipe: the end of a call is not the end of a segment.
                    sender.send(data, socket.MSG_MORE)
        info = sender.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 256)
        # The kernel counts the SYN too.
        (acknowledged,) = struct.unpack_from("<Q", info, BYTES_ACKED)
        (rtt_us,) = struct.unpack_from("<I", info, MIN_RTT)
        return acknowledged - 1, rtt_us


if __name__ == "__main__":
    try:
        os.environ["PATH"] = "/usr/sbin:/usr/bin:/sbin:/bin"
        # User-Mode Linux appends a word to its command line.
        variant, delay, rate, packets, seconds = sys.argv[1:6]
        prepare(float(delay), int(rate), int(packets))
        print("acknowledged", transfer(variant, float(seconds))[0], flush=True)
    except BaseException:  # noqa: BLE001 - the guest ends before Python would say it
        traceback.print_exc()
    finally:
        LIBC.reboot(POWER_OFF)
