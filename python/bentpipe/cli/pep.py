"""``bentpipe pep``: a performance-enhancing proxy."""

from __future__ import annotations

import enum
import json
from typing import Annotated

import typer


class Accept(enum.StrEnum):
    """When the client's handshake is completed."""

    LATE = "late"
    EARLY = "early"


def pep(
    interface: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Only connections that arrive on this interface; repeatable. All if not given.",
            show_default=False,
        ),
    ] = None,
    port: Annotated[
        list[str] | None,
        typer.Option(
            metavar="N[-M]", help="Only connections to these ports; repeatable.", show_default=False
        ),
    ] = None,
    to: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NETWORK", help="Only connections to these addresses; repeatable.", show_default=False
        ),
    ] = None,
    accept: Annotated[
        Accept,
        typer.Option(
            help="Complete the client's handshake after the server's, so that it sees the server's refusal, or at once."
        ),
    ] = Accept.LATE,
    client_congestion: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Congestion control towards clients: the kernel's or one of bentpipe's.",
            show_default=False,
        ),
    ] = None,
    server_congestion: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Congestion control towards servers.", show_default=False),
    ] = None,
    fast_open: Annotated[bool, typer.Option("--fast-open", help="TCP Fast Open.")] = False,
    connections: Annotated[
        int, typer.Option(min=1, max=1_000_000, help="Most connections at once; more pass by the proxy.")
    ] = 20_000,
    workers: Annotated[
        int | None,
        typer.Option(min=1, max=256, help="Threads; one per processor if not given.", show_default=False),
    ] = None,
    buffer: Annotated[
        int | None,
        typer.Option(
            min=4096,
            max=1 << 30,
            metavar="BYTES",
            help="Each socket's buffers, in and out; the kernel fits them to the path if not given.",
            show_default=False,
        ),
    ] = None,
    idle_timeout: Annotated[
        int,
        typer.Option(
            min=0,
            max=1 << 31,
            metavar="SECONDS",
            help="Reset a silent connection; 0: never.",
        ),
    ] = 7440,
    keepalive: Annotated[
        int,
        typer.Option(
            min=0,
            max=32_767,
            metavar="SECONDS",
            help="Ask a silent end whether it is there, five times; 0: never.",
        ),
    ] = 300,
    connect_timeout: Annotated[
        int, typer.Option(min=1, max=600, metavar="SECONDS", help="Time that a server has to accept.")
    ] = 60,
    drain_timeout: Annotated[
        int,
        typer.Option(
            min=0, max=86_400, metavar="SECONDS", help="Time that connections have to end after SIGTERM."
        ),
    ] = 30,
    metrics: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS:PORT", help="Serve Prometheus metrics here, at /metrics.", show_default=False
        ),
    ] = None,
    user: Annotated[
        str, typer.Option(metavar="NAME", help="Whose rights the proxy has once it is set up.")
    ] = "nobody",
    mark: Annotated[
        str, typer.Option(metavar="BIT", help="The bit of packets' marks that is the proxy's.")
    ] = "0x100000",
    table: Annotated[
        int,
        typer.Option(
            min=1, max=32_000, help="Number of the proxy's routing table, and priority of its rule."
        ),
    ] = 1049,
    group: Annotated[
        int, typer.Option(min=0, max=65_279, help="First of the proxy's groups of nfnetlink_log.")
    ] = 4900,
    log_connections: Annotated[bool, typer.Option("--log-connections", help="Log every connection.")] = False,
    remove: Annotated[
        bool, typer.Option("--remove", help="Only remove what a proxy that was killed has left here.")
    ] = False,
) -> None:
    """Split TCP connections through this machine, transparently, for IPv4 and IPv6.

    Runs until SIGTERM or Ctrl-C, as root; then new connections pass by, those that there are may end, and its rules are
    removed. The log is JSON, one line each, on standard error.
    """
    from bentpipe import _native
    from bentpipe.errors import InputError

    if remove:
        typer.echo("removed" if _native.remove_pep() else "nothing was left")
        return
    try:
        bit = int(mark, 0)
    except ValueError:
        bit = 0
    if not 0 < bit < 1 << 32:
        raise InputError(f"--mark {mark}: is not one bit of 32, as 0x100000")
    config = {
        "interface": interface or [],
        "port": port or [],
        "to": to or [],
        "accept": accept.value,
        "client_congestion": client_congestion,
        "server_congestion": server_congestion,
        "fast_open": fast_open,
        "connections": connections,
        "workers": workers,
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
