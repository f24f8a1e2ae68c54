"""Namespaces behind the hosts of an emulated network: machines for which these hosts forward
packets."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from bentpipe import _native
from rigs.proxied import Place


@contextmanager
def network(text: str, hosts: Sequence[str]) -> Iterator[tuple[Any, dict[str, dict[str, str]]]]:
    """Yields a live network with these hosts, and the record of each."""
    live = _native.Network(_native.Scenario("test.toml", text, []), json.dumps({"hosts": list(hosts)}))
    try:
        yield live, json.loads(live.describe())["hosts"]
    finally:
        live.stop()


def attach(machine: Place, host: dict[str, str], number: int) -> None:
    """Moves the host's address to the machine's interface and makes the host forward; packets that
    the machine sends from that address pass through the host."""
    outside = Place.at(host["namespace"])
    address, gateway, wire, table = host["ipv4"], f"10.78.{number}.1", f"wire{number}", str(100 + number)
    [interface] = [
        one["ifname"] for one in json.loads(outside("ip", "-j", "-4", "addr", "show", "to", address))
    ]
    for command in (
        f"ip addr flush dev {interface} scope global",
        f"ip route replace default dev {interface}",
        f"ip link add {wire} type veth peer name {wire} netns {machine.pid}",
        f"ip addr add {gateway}/32 dev {wire}",
        f"ip link set {wire} up",
        f"ip route add {address}/32 dev {wire}",
        "sysctl -qw net.ipv4.ip_forward=1",
    ):
        outside(*command.split())
    for command in (
        f"ip addr add {address}/32 dev {wire}",
        f"ip link set {wire} up",
        f"ip route add {gateway}/32 dev {wire}",
        f"ip route add default via {gateway} dev {wire} src {address} metric {number}",
        f"ip route add {gateway}/32 dev {wire} table {table}",
        f"ip route add default via {gateway} dev {wire} table {table}",
        f"ip rule add from {address} table {table}",
    ):
        machine(*command.split())
