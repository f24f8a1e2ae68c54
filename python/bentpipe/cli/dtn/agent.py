"""``bentpipe dtn agent``: a bundle agent."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..common import Json


def agent(
    node: Annotated[
        str,
        typer.Argument(
            metavar="NODE", help="The agent's node, such as dtn://mars/ or ipn:3.0.", show_default=False
        ),
    ],
    storage: Annotated[
        Path,
        typer.Option(
            metavar="FOLDER",
            help="Where bundles are stored; created if it is missing.",
            show_default=False,
        ),
    ],
    listen: Annotated[
        list[str] | None,
        typer.Option(
            metavar="LAYER://HOST[:PORT]",
            help="Serve other agents there. LAYER is tcpcl, mtcp or udp. Repeatable.",
            show_default=False,
        ),
    ] = None,
    peer: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NODE=LAYER://HOST[:PORT]",
            help="Another agent, which is reached there. Repeatable.",
            show_default=False,
        ),
    ] = None,
    route: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NODE=PEER",
            help="Bundles for NODE go to PEER; * is any other node. Repeatable.",
            show_default=False,
        ),
    ] = None,
    deliver: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="Write the payloads for NODE into FOLDER/SERVICE, one file each. If unset, they are only counted.",
            show_default=False,
        ),
    ] = None,
    limit: Annotated[
        str, typer.Option(metavar="SIZE", help="Most bytes of bundles to store; further ones are refused.")
    ] = "1 GB",
    longest: Annotated[str, typer.Option(metavar="SIZE", help="Longest bundle to receive.")] = "100 MB",
    sync: Annotated[
        bool,
        typer.Option(
            "--sync", help="Acknowledge a bundle when it is on the medium, to survive a failure of power."
        ),
    ] = False,
    status: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Write the counts into this file, each second.", show_default=False
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Run a bundle agent (BPv7, RFC 9171) until Ctrl-C or SIGTERM.

    It stores bundles on disk before it acknowledges them, forwards them by TCPCL version 4 (RFC 9174, without TLS),
    MTCP or UDP, delivers the payloads for its own node, and sends the status reports that bundles ask for. What it
    has acknowledged survives its death. Prints the addresses on which it listens, and its counts at the end.
    """
    import json as text

    from bentpipe import _native
    from bentpipe.errors import InputError

    from ..output import print_json
    from ..stopping import stoppable
    from .addresses import address
    from .amounts import size_bytes

    def pair(words: str, option: str, what: str) -> tuple[str, str]:
        first, found, second = words.partition("=")
        if not found or not first or not second:
            raise InputError(f"{option} {words}: has no =; allowed: {what}")
        return first, second

    def place(words: str, option: str) -> dict[str, str]:
        layer, at = address(words, option)
        return {"layer": layer, "address": at}

    peers = [pair(words, "--peer", "NODE=LAYER://HOST[:PORT]") for words in peer or ()]
    config = {
        "node": node,
        "storage": str(storage),
        "limit": size_bytes(limit, "--limit"),
        "longest": size_bytes(longest, "--longest"),
        "sync": sync,
        "deliver": None if deliver is None else str(deliver),
        "listen": [place(words, "--listen") for words in listen or ()],
        "peers": [{"node": name, "at": place(words, "--peer")} for name, words in peers],
        "routes": [pair(words, "--route", "NODE=PEER") for words in route or ()],
        "status": None if status is None else str(status),
    }

    def ready(addresses: list[str]) -> None:
        if json:
            print(text.dumps({"listening": addresses}), flush=True)
        else:
            print(f"{node} listens on {', '.join(addresses) or 'no address'}", flush=True)

    with stoppable() as stop:
        try:
            counts = text.loads(_native.run_agent(text.dumps(config), ready, lambda: stop.wanted))
        except OSError as error:
            raise InputError(
                f"{error}; allowed: a storage and addresses that nobody else uses and this user may use"
            ) from error
    if json:
        print_json(counts)
    else:
        print(", ".join(f"{number} {what.replace('_', ' ')}" for what, number in counts.items()))
