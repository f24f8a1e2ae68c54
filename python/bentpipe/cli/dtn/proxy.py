"""``bentpipe dtn proxy``: TCP over bundles."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..common import Json


def proxy(
    listen: Annotated[
        str | None,
        typer.Option(
            metavar="HOST:PORT",
            help="Address at which to accept TCP connections. Their bytes are sent as bundles to --to.",
            show_default=False,
        ),
    ] = None,
    to: Annotated[
        str | None,
        typer.Option(
            metavar="ENDPOINT", help="Destination, such as dtn://earth/measures.", show_default=False
        ),
    ] = None,
    via: Annotated[
        str, typer.Option(metavar="tcpcl://HOST[:PORT]", help="The agent that accepts the bundles.")
    ] = "tcpcl://127.0.0.1",
    inbox: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="The folder into which an agent delivers payloads, FOLDER/SERVICE.",
            show_default=False,
        ),
    ] = None,
    connect: Annotated[
        str | None,
        typer.Option(
            metavar="HOST:PORT",
            help="Address to which each stream in --inbox is sent over a TCP connection.",
            show_default=False,
        ),
    ] = None,
    source: Annotated[
        str | None,
        typer.Option(
            "--from",
            metavar="ENDPOINT",
            help="Source of the bundles; no other proxy may use it.  [default: dtn://proxy/ and a random "
            "name]",
            show_default=False,
        ),
    ] = None,
    block: Annotated[str, typer.Option(metavar="SIZE", help="Maximum size of a bundle's payload.")] = "10 kB",
    flush: Annotated[
        str, typer.Option(metavar="TIME", help="Time after which a partly filled payload is sent.")
    ] = "100 ms",
    lifetime: Annotated[str, typer.Option(metavar="TIME", help="Lifetime of the bundles.")] = "1 d",
    json: Json = False,
) -> None:
    """Carry TCP connections as bundles, until Ctrl-C or SIGTERM.

    The first proxy, for example at an orbiter, terminates the connections next to an agent
    (--listen, --to). The second proxy opens the connections again next to the agent of the
    destination (--inbox, --connect). The first proxy acknowledges all TCP segments, so TCP never
    waits for the space link; the agents store and retransmit the bundles. The bytes of a connection
    arrive in order. No bytes travel in the opposite direction.
    """
    import secrets
    import threading
    import time

    from bentpipe import _native
    from bentpipe.dtn.proxy import Egress, Ingress
    from bentpipe.errors import InputError

    from ..amounts import seconds, size_bytes
    from ..output import print_json_line
    from ..stopping import stoppable
    from .addresses import address, place

    if (
        (listen is None) == (inbox is None)
        or (listen is None) != (to is None)
        or (inbox is None) != (connect is None)
    ):
        raise InputError("the options do not match; allowed: --listen with --to, or --inbox with --connect")

    def ready(where: str) -> None:
        if json:
            print_json_line({"listening": [where]})
        else:
            print(f"listens on {where}", flush=True)

    try:
        with stoppable() as stop:
            if inbox is not None:
                working: Ingress | Egress = Egress(inbox, place(connect or "", "--connect"))
                ready(str(inbox))
            else:
                layer, at = address(via, "--via", ("tcpcl",))
                sender = source or f"dtn://proxy/{secrets.token_hex(8)}"
                age, largest = seconds(lifetime, "--lifetime"), size_bytes(block, "--block")

                def accepted(payloads: list[bytes]) -> int:
                    try:
                        return _native.send_bundles(
                            layer, at, sender, to or "", payloads, 1, age, 32, None, 10.0, "{}"
                        )
                    except OSError:
                        return 0

                sending = threading.Lock()

                def send(payload: bytes) -> bool:
                    # Bundles of one source are distinguished by the millisecond of their creation.
                    with sending:
                        time.sleep(0.002)
                        return accepted([payload]) == 1

                # Refuse an invalid endpoint before any connection is accepted.
                accepted([])

                working = Ingress(place(listen or "", "--listen"), send, largest, seconds(flush, "--flush"))
                ready("{}:{}".format(*working.address))
            working.run(lambda: stop.wanted)
    except OSError as error:
        raise InputError(f"{error}; allowed: a folder and an address that this user may access") from error
    counts = {"streams": working.streams, "payloads": working.payloads, "bytes": working.bytes}
    if json:
        print_json_line(counts)
    else:
        print(", ".join(f"{number} {what}" for what, number in counts.items()))
