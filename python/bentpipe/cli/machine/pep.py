"""``bentpipe machine pep``: a performance-enhancing proxy."""

from __future__ import annotations

import enum
import json
from typing import Annotated

import typer


class Accept(enum.StrEnum):
    """The time at which the proxy completes the client's handshake."""

    LATE = "late"
    EARLY = "early"


def pep(
    interface: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Split only connections that arrive on this interface. Repeatable. If unset, all "
            "connections.",
            show_default=False,
        ),
    ] = None,
    port: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PORT[-PORT]",
            help="Split only connections to these ports. Repeatable.",
            show_default=False,
        ),
    ] = None,
    to: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NETWORK",
            help="Split only connections to these addresses. Repeatable.",
            show_default=False,
        ),
    ] = None,
    accept: Annotated[
        Accept,
        typer.Option(
            help="late: complete the client's handshake after the server's handshake, so that the client "
            "sees a refusal. early: complete the client's handshake immediately."
        ),
    ] = Accept.LATE,
    client_congestion: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Congestion control towards clients: of the kernel or of bentpipe.",
            show_default=False,
        ),
    ] = None,
    server_congestion: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Congestion control towards servers.", show_default=False),
    ] = None,
    fast_open: Annotated[bool, typer.Option("--fast-open", help="Use TCP Fast Open.")] = False,
    connections: Annotated[
        int,
        typer.Option(
            min=1,
            max=1_000_000,
            metavar="NUMBER",
            help="Maximum number of connections to split at once. Further connections bypass the proxy.",
        ),
    ] = 20_000,
    threads: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=256,
            metavar="NUMBER",
            help="Number of threads. If unset, one per processor.",
            show_default=False,
        ),
    ] = None,
    buffer: Annotated[
        int | None,
        typer.Option(
            min=4096,
            max=1 << 30,
            metavar="BYTES",
            help="Size of the send buffer and the receive buffer of each socket. If unset, the kernel "
            "adapts both to the path.",
            show_default=False,
        ),
    ] = None,
    idle_timeout: Annotated[
        int,
        typer.Option(
            min=0,
            max=1 << 31,
            metavar="SECONDS",
            help="Reset a connection that is silent for this time; 0 means never.",
        ),
    ] = 7440,
    keepalive: Annotated[
        int,
        typer.Option(
            min=0,
            max=32_767,
            metavar="SECONDS",
            help="Probe an end that is silent for this time, up to five times; 0 means never.",
        ),
    ] = 300,
    connect_timeout: Annotated[
        int,
        typer.Option(
            min=1, max=600, metavar="SECONDS", help="Time within which a server must accept a connection."
        ),
    ] = 60,
    drain_timeout: Annotated[
        int,
        typer.Option(
            min=0, max=86_400, metavar="SECONDS", help="Time within which connections must end after SIGTERM."
        ),
    ] = 30,
    metrics: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS:PORT",
            help="Serve Prometheus metrics at this address, under /metrics.",
            show_default=False,
        ),
    ] = None,
    user: Annotated[
        str, typer.Option(metavar="NAME", help="User under whom the proxy runs after its set-up as root.")
    ] = "nobody",
    mark: Annotated[
        str, typer.Option(metavar="BIT", help="The bit of packet marks that the proxy uses.")
    ] = "0x100000",
    table: Annotated[
        int,
        typer.Option(
            min=1,
            max=32_000,
            metavar="NUMBER",
            help="Number of the proxy's routing table, and priority of its rule.",
        ),
    ] = 1049,
    group: Annotated[
        int,
        typer.Option(min=0, max=65_279, metavar="NUMBER", help="First nfnetlink_log group of the proxy."),
    ] = 4900,
    log_connections: Annotated[bool, typer.Option("--log-connections", help="Log every connection.")] = False,
    remove: Annotated[
        bool, typer.Option("--remove", help="Only remove the remains of a killed proxy on this machine.")
    ] = False,
) -> None:
    """Split the TCP connections through this machine transparently.

    Needs root. Runs until SIGTERM or Ctrl-C. Then new connections bypass the proxy, existing
    connections have time to end, and the proxy removes its rules. Writes its log to standard error,
    one JSON object per line.
    """
    from bentpipe import _native
    from bentpipe.errors import InputError

    if remove:
        typer.echo("removed" if _native.remove_pep() else "there are no remains of a proxy")
        return
    try:
        bit = int(mark, 0)
    except ValueError:
        bit = 0
    if not 0 < bit < 1 << 32:
        raise InputError(
            f"--mark {mark} is not a mark of 32 bits; allowed: a number with one bit set, such as 0x100000"
        )
    config = {
        "interface": interface or [],
        "port": port or [],
        "to": to or [],
        "accept": accept.value,
        "client_congestion": client_congestion,
        "server_congestion": server_congestion,
        "fast_open": fast_open,
        "connections": connections,
        "workers": threads,
        "buffer": buffer,
        "idle_timeout": idle_timeout,
        "keepalive": keepalive,
        "connect_timeout": connect_timeout,
        "drain_timeout": drain_timeout,
        "metrics": metrics,
        "user": user,
        "mark": bit,
        "table": table,
        "group": group,
        "log_connections": log_connections,
    }
    _native.run_pep(json.dumps(config))
