"""``bentpipe dtn agent``: a bundle agent."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..common import Json
from ..space.contacts.route import SkipImpossible, read
from .keys import ConfidentialityKey, IntegrityKey


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
            help="The folder in which to store bundles. Created if missing.",
            show_default=False,
        ),
    ],
    listen: Annotated[
        list[str] | None,
        typer.Option(
            metavar="LAYER://HOST[:PORT]",
            help="Address at which to serve other agents. LAYER is tcpcl, mtcp, stcp, udp or ltp. "
            "Repeatable.",
            show_default=False,
        ),
    ] = None,
    peer: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NODE=LAYER://HOST[:PORT]",
            help="Another agent and its address. Repeatable.",
            show_default=False,
        ),
    ] = None,
    route: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NODE=PEER",
            help="Send bundles for NODE to PEER; * stands for all other nodes. Repeatable.",
            show_default=False,
        ),
    ] = None,
    plan: Annotated[
        Path | None,
        typer.Option(
            metavar="PLAN",
            help="The contact plan. Its contacts determine the routes and the departures of bundles.",
            show_default=False,
        ),
    ] = None,
    plan_start: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            help="Time of second 0 of the plan, such as 2024-01-01T00:00:00Z.  [default: now]",
            show_default=False,
        ),
    ] = None,
    skip_impossible: SkipImpossible = False,
    light_time: Annotated[
        str, typer.Option(metavar="TIME", help="LTP: one-way light time to peers outside the plan.")
    ] = "0 s",
    ltp_margin: Annotated[
        str,
        typer.Option(
            metavar="TIME",
            help="LTP: time that an answer may take in addition to light times and closed contacts.",
        ),
    ] = "1 s",
    rate: Annotated[
        str,
        typer.Option(metavar="RATE", help="Rate of LTP and UDP to peers outside the plan."),
    ] = "100 Mbit/s",
    in_flight: Annotated[
        str,
        typer.Option(
            metavar="SIZE",
            help="LTP: maximum number of unacknowledged bytes to a peer. Further bundles wait.",
        ),
    ] = "100 MB",
    engine: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="NUMBER",
            help="LTP: number of the engine.  [default: the number of an ipn node, or a checksum of the "
            "node's name]",
            show_default=False,
        ),
    ] = None,
    integrity_key: IntegrityKey = None,
    confidentiality_key: ConfidentialityKey = None,
    deliver: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="Write each payload for NODE as a file into FOLDER/SERVICE. If unset, payloads are only "
            "counted.",
            show_default=False,
        ),
    ] = None,
    limit: Annotated[
        str,
        typer.Option(
            metavar="SIZE", help="Maximum total size of stored bundles. Further bundles are refused."
        ),
    ] = "1 GB",
    max_bundle: Annotated[
        str, typer.Option(metavar="SIZE", help="Maximum size of a received bundle.")
    ] = "100 MB",
    sync: Annotated[
        bool,
        typer.Option(
            "--sync",
            help="Acknowledge a bundle only after it is written to the medium, so that it "
            "survives a power failure.",
        ),
    ] = False,
    status: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Write the counters into this file every second.", show_default=False
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Run a bundle agent (BPv7, RFC 9171) until Ctrl-C or SIGTERM.

    The agent stores each bundle on disk before it acknowledges the bundle, so acknowledged bundles
    survive a crash. It forwards bundles over TCPCL version 4 (RFC 9174, without TLS), MTCP, STCP,
    UDP or LTP (RFC 5326), delivers payloads for its own node, and sends the requested status
    reports. Prints the addresses on which it listens, and its counters at the end.

    With --plan, the agent uses contact graph routing for bundles to nodes of the plan, and sends
    these bundles only during contacts. In the plan, a node has its identifier, the NAME of
    dtn://NAME/ or the NUMBER of ipn:NUMBER.0. A bundle that fits no contact is divided into
    fragments.

    With a key, the agent delivers payloads for NODE only if they are signed or encrypted with this
    key (BPSec, RFC 9172).
    """
    import json as text

    from bentpipe import _native
    from bentpipe.errors import InputError

    from ..amounts import bits_per_second, lead, seconds, seconds_or_none, size_bytes
    from ..output import print_json_line
    from ..stopping import stoppable
    from .addresses import address
    from .keys import keys

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
        "longest": size_bytes(max_bundle, "--max-bundle"),
        "sync": sync,
        "deliver": None if deliver is None else str(deliver),
        "listen": [place(words, "--listen") for words in listen or ()],
        "peers": [{"node": name, "at": place(words, "--peer")} for name, words in peers],
        "routes": [pair(words, "--route", "NODE=PEER") for words in route or ()],
        "status": None if status is None else str(status),
        "plan": None
        if plan is None
        else {
            "text": _plan(plan, skip_impossible),
            "skip_impossible": skip_impossible,
            "lead": lead(plan_start, "--plan-start"),
        },
        "keys": keys(integrity_key, confidentiality_key),
        "ltp": {
            "engine": engine,
            "light_time": seconds_or_none(light_time, "--light-time"),
            "margin": seconds(ltp_margin, "--ltp-margin"),
            "rate": round(bits_per_second(rate, "--rate")),
            "in_flight": size_bytes(in_flight, "--in-flight"),
        },
    }

    def ready(addresses: list[str]) -> None:
        if json:
            print_json_line({"listening": addresses})
        else:
            print(f"{node} listens on {', '.join(addresses) or 'no address'}", flush=True)

    with stoppable() as stop:
        try:
            counts = text.loads(_native.run_agent(text.dumps(config), ready, lambda: stop.wanted))
        except OSError as error:
            raise InputError(
                f"{error}; allowed: a storage folder and addresses that no other process uses and that this "
                "user may access"
            ) from error
    if json:
        print_json_line(counts)
    else:
        print(", ".join(f"{number} {what.replace('_', ' ')}" for what, number in counts.items()))


def _plan(path: Path, skip_impossible: bool) -> str:
    """Returns the text of a contact plan after checking it for contradictions."""
    read(path, skip_impossible)
    return path.read_text(encoding="utf-8")
