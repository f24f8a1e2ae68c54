"""Addresses of bundle agents on the command line, such as ``tcpcl://127.0.0.1:4556``."""

from __future__ import annotations

import re
import socket
from typing import Final

from bentpipe.errors import InputError

#: Layers between an application and its agent, and between agents.
TO_AGENT: Final = ("tcpcl", "mtcp", "stcp", "udp")
BETWEEN_AGENTS: Final = (*TO_AGENT, "ltp")
#: Default ports, from RFC 9174 (TCPCL), RFC 7122 (UDP), the IANA registry (LTP) and common use
#: (MTCP and STCP).
PORTS: Final = {"tcpcl": 4556, "mtcp": 16162, "stcp": 4556, "udp": 4556, "ltp": 1113}


def address(text: str, option: str, layers: tuple[str, ...] = BETWEEN_AGENTS) -> tuple[str, str]:
    """Returns the convergence layer and the address with port. Raises InputError for an invalid
    address or an unknown host."""
    found = re.fullmatch(r"(\w+)://(\[[^]]+]|[^:/\[\]]+)(?::(\d+))?/?", text)
    if found is None or found[1] not in layers:
        allowed = ", ".join(f"{layer}://HOST[:PORT]" for layer in layers)
        raise InputError(f"{option} {text}: not an address; allowed: {allowed}")
    layer, host, port = found[1], found[2].strip("[]"), int(found[3] or PORTS[found[1]])
    if port > 65535:
        raise InputError(f"{option} {text}: port {port} is out of range; allowed: 0 to 65535")
    try:
        family, *_, place = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    except OSError as error:
        raise InputError(f"{option} {text}: {error.strerror}; allowed: a known host") from error
    host = str(place[0])
    where = f"[{host}]" if family == socket.AF_INET6 else host
    return layer, f"{where}:{int(place[1])}"


def place(text: str, option: str) -> tuple[str, int]:
    """Returns the host and the port of ``HOST:PORT``. Raises InputError for another format."""
    found = re.fullmatch(r"(\[[^]]+]|[^:/\[\]]+):(\d+)", text)
    if found is None or int(found[2]) > 65535:
        raise InputError(f"{option} {text}: not an address; allowed: HOST:PORT")
    return found[1].strip("[]"), int(found[2])
