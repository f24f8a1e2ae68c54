"""The environment of a program in a host: the names of the hosts, and a few environment
variables."""

from __future__ import annotations

import ipaddress
import os
import re
import socket
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from .state import Elsewhere, Host, Record

_HOSTS: Final = Path("/etc/hosts")
_RESOLVER: Final = Path("/etc/resolv.conf")

#: File in which systemd-resolved lists its upstream servers.
_UPSTREAM: Final = Path("/run/systemd/resolve/resolv.conf")

#: Node names that are valid host names (RFC 1123, with underscores). A scenario may also have node
#: names that are not valid host names.
_NAME: Final = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?")

#: The address ranges from which the engine assigns addresses.
_NETWORKS: Final = (ipaddress.ip_network("198.18.0.0/15"), ipaddress.ip_network("fd62:656e:7470::/48"))

#: Name of the interface that connects a host to the network.
INTERFACE: Final = "sat0"


def in_host() -> bool:
    """Returns true if this process runs in a host of a bentpipe network."""
    if "BENTPIPE_HOST" not in os.environ:
        return False
    return any(name == INTERFACE for _, name in socket.if_nameindex())


def environment(record: Record, host: str) -> list[tuple[str, str]]:
    """Returns the environment variables that identify the network and the host to programs and
    prompts."""
    named = [f"{name}={about['ipv4']}" for name, about in record.hosts.items() if _is_name(name)]
    return [
        ("BENTPIPE_RUN", record.id),
        ("BENTPIPE_HOST", host.replace("\0", "")),
        ("BENTPIPE_HOSTS", " ".join(named)),
        ("BENTPIPE_TOKEN", record.token),
    ]


def write_hosts(record: Record) -> None:
    """Writes the file that programs see as /etc/hosts. It has the names of the hosts, followed by
    the contents of this machine's /etc/hosts."""
    machine = _HOSTS.read_text(encoding="utf-8", errors="replace") if _HOSTS.is_file() else ""
    if record.rules is None:
        # Without Internet access, the hosts cannot reach an enclosing network either. The hosts of
        # the enclosing network are therefore left out.
        machine = "\n".join(line for line in machine.splitlines() if not _is_in_network(line))
    file = record.file("hosts")
    file.write_text(hosts_text({**record.hosts, **record.elsewhere}, machine), encoding="utf-8")
    # The folder is private, but other users in a host must also be able to read this file.
    file.chmod(0o644)


def hosts_text(hosts: Mapping[str, Host | Elsewhere], machine: str) -> str:
    """Returns the text of a hosts file: the hosts of the network, followed by ``machine``.

    IPv6 addresses have separate names with the prefix ``ip6-``. With a common name, programs would
    try IPv6 first, but servers often listen on IPv4 only.

    >>> print(hosts_text({"st1": {"ipv4": "198.18.0.2", "ipv6": "fd62::2", "namespace": "", "inode": 1}},
    ...                  "127.0.0.1 localhost st1  # machine"))
    198.18.0.2 st1
    fd62::2 ip6-st1
    127.0.0.1 localhost
    """
    ours = {name: about for name, about in hosts.items() if _is_name(name)}
    lines = [
        line
        for name, about in ours.items()
        for line in (f"{about['ipv4']} {name}", f"{about['ipv6']} ip6-{name}")
    ]
    taken = {word.lower() for line in lines for word in line.split()[1:]}
    for line in machine.splitlines():
        address, *names = line.partition("#")[0].split() or [""]
        if names := [name for name in names if name.lower() not in taken]:
            lines.append(f"{address} {' '.join(names)}")
    return "\n".join(lines) + "\n"


def overlays(record: Record) -> list[tuple[str, str]]:
    """Returns the files that replace files of the machine for programs in a host, as pairs of the
    new file and the replaced path."""
    files = []
    if _HOSTS.is_file() and record.file("hosts").is_file():
        files.append((str(record.file("hosts")), str(_HOSTS)))
    if record.rules is not None and (better := _resolver()) is not None:
        files.append((str(better), str(_RESOLVER)))
    return files


def _resolver() -> Path | None:
    """Returns the resolver configuration of systemd-resolved with upstream servers, if the
    machine's configuration works only in the machine's namespace. Otherwise returns None."""
    if not _RESOLVER.is_file() or not _local_only(_RESOLVER):
        return None
    return _UPSTREAM if _UPSTREAM.is_file() and not _local_only(_UPSTREAM) else None


def _local_only(file: Path) -> bool:
    """Returns true if all name servers in a file have loopback addresses. Such servers are not
    reachable from other namespaces."""
    servers = re.findall(r"^\s*nameserver\s+([^\s%]+)", file.read_text(errors="replace"), flags=re.MULTILINE)
    return all(ipaddress.ip_address(server).is_loopback for server in servers if _is_address(server))


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


def _is_in_network(line: str) -> bool:
    """Returns true if a line of a hosts file names a host of a bentpipe network."""
    address = line.partition("#")[0].partition(" ")[0]
    if not _is_address(address):
        return False
    parsed = ipaddress.ip_address(address)
    return any(parsed.version == network.version and parsed in network for network in _NETWORKS)


def _is_name(text: str) -> bool:
    return bool(_NAME.fullmatch(text)) and text.lower() != "localhost"
