"""The kernel's Multipath TCP (RFC 8684) over a satellite and a terrestrial access at once."""

from __future__ import annotations

import hashlib
import os
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from helpers.behind import attach, network
from rigs.networks import needs, networks
from rigs.proxied import Place

_IPPROTO_MPTCP = 262
_MPTCP = Path("/proc/sys/net/mptcp/enabled")

pytestmark = [
    pytest.mark.quiet,
    networks,
    needs("ip", "nsenter", "sysctl"),
    pytest.mark.skipif(
        not _MPTCP.exists(), reason="this kernel has no MPTCP (CONFIG_MPTCP): there is no net.mptcp"
    ),
]

#: The machine is behind two modems; only together can they carry its data in time.
TEXT = """
name = "two accesses"
duration = "1000 s"
[[link]]
name = "satellite"
from = "satellite-modem"
to = "server"
rate = "4 Mbit/s"
delay = "125 ms"
queue = { kind = "drop-tail", packets = 200 }
[[link]]
name = "wifi"
from = "wifi-modem"
to = "server"
rate = "4 Mbit/s"
delay = "10 ms"
queue = { kind = "drop-tail", packets = 60 }
"""
MODEMS = ("satellite-modem", "wifi-modem")


@pytest.fixture
def machine() -> Iterator[Place]:
    place = Place()
    yield place
    place.close()


def test_a_transfer_takes_both_accesses_and_outlives_one_of_them(machine: Place) -> None:
    with network(TEXT, [*MODEMS, "server"]) as (live, hosts):
        for number, modem in enumerate(MODEMS, 1):
            attach(machine, hosts[modem], number)
        machine("ip", "mptcp", "limits", "set", "subflows", "2", "add_addr_accepted", "2")
        machine(
            *("ip", "mptcp", "endpoint", "add", hosts[MODEMS[1]]["ipv4"], "dev", "wire2", "subflow"),
        )
        server = Place.at(hosts["server"]["namespace"])
        server("ip", "mptcp", "limits", "set", "subflows", "2")
        listener = server.socket(protocol=_IPPROTO_MPTCP)
        listener.bind((hosts["server"]["ipv4"], 7000))
        listener.listen()
        listener.settimeout(30)
        data = os.urandom(6_000_000)
        sender = machine.socket(protocol=_IPPROTO_MPTCP)
        sender.settimeout(60)
        sender.connect((hosts["server"]["ipv4"], 7000))
        end, _ = listener.accept()
        end.settimeout(60)

        def send() -> None:
            sender.sendall(data)
            sender.shutdown(socket.SHUT_WR)

        thread = threading.Thread(target=send)
        begin = time.monotonic()
        thread.start()
        received, moments = hashlib.sha256(), []
        total = 0
        while part := end.recv(1 << 16):
            received.update(part)
            total += len(part)
            moments.append((time.monotonic() - begin, total))
            if total > len(data) * 2 // 3:
                break
        # One access fails permanently: its data is sent over the other.
        live.change("link.wifi.error", '{ kind = "packet", probability = 1.0 }')
        while part := end.recv(1 << 16):
            received.update(part)
            total += len(part)
        thread.join(60)
        end.close()
        listener.close()
        assert total == len(data)
        assert received.digest() == hashlib.sha256(data).digest()
        # Two thirds of the data in less time than either access alone needs for them, even without
        # headers.
        assert moments[-1][0] < moments[-1][1] * 8 / 4e6
