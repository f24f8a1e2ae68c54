"""``bentpipe dtn send``: bundles to an agent."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..common import Json
from .keys import ConfidentialityKey, IntegrityKey


def send(
    files: Annotated[
        list[Path] | None,
        typer.Argument(metavar="[FILE]...", help="Files to send, each as one bundle.", show_default=False),
    ] = None,
    to: Annotated[
        str,
        typer.Option(
            metavar="ENDPOINT", help="Destination, such as dtn://earth/in or ipn:4.1.", show_default=False
        ),
    ] = ...,  # type: ignore[assignment]
    via: Annotated[
        str,
        typer.Option(
            metavar="LAYER://HOST[:PORT]",
            help="The agent that accepts the bundles. LAYER is tcpcl, mtcp, stcp or udp.",
        ),
    ] = "tcpcl://127.0.0.1",
    source: Annotated[
        str, typer.Option("--from", metavar="ENDPOINT", help="Source of the bundles.")
    ] = "dtn://application/out",
    count: Annotated[
        int, typer.Option(min=1, metavar="NUMBER", help="Number of bundles to send per file.")
    ] = 1,
    size: Annotated[
        str | None,
        typer.Option(
            metavar="SIZE", help="Size of a payload of zeros, to send instead of files.", show_default=False
        ),
    ] = None,
    lifetime: Annotated[str, typer.Option(metavar="TIME", help="Lifetime of the bundles.")] = "1 d",
    hops: Annotated[
        int, typer.Option(min=1, max=254, metavar="NUMBER", help="Maximum number of hops of a bundle.")
    ] = 32,
    report_to: Annotated[
        str | None,
        typer.Option(
            metavar="ENDPOINT", help="Destination for a report of each delivery.", show_default=False
        ),
    ] = None,
    integrity_key: IntegrityKey = None,
    confidentiality_key: ConfidentialityKey = None,
    patience: Annotated[
        str, typer.Option(metavar="TIME", help="Fail after this time without an answer of the agent.")
    ] = "10 s",
    json: Json = False,
) -> None:
    """Send files as bundles to an agent, which stores and forwards them.

    Over TCPCL, the command waits until the agent has stored all bundles. The exit code is 1 if the
    agent refused a bundle. MTCP, STCP and UDP have no acknowledgments. With keys, payloads are
    signed and encrypted (BPSec, RFC 9172).
    """
    import json as json_text
    import time

    from bentpipe import _native
    from bentpipe.errors import InputError

    from ..amounts import seconds, size_bytes
    from ..common import TROUBLE
    from ..output import print_json
    from .addresses import TO_AGENT, address
    from .keys import keys

    if bool(files) == (size is not None):
        raise InputError("give either files or --size")
    layer, at = address(via, "--via", TO_AGENT)
    payloads = (
        [bytes(size_bytes(size, "--size"))] if size is not None else [_read(path) for path in files or ()]
    )
    began = time.perf_counter()
    try:
        accepted = _native.send_bundles(
            layer,
            at,
            source,
            to,
            payloads,
            count,
            seconds(lifetime, "--lifetime"),
            hops,
            report_to,
            seconds(patience, "--patience"),
            json_text.dumps(keys(integrity_key, confidentiality_key)),
        )
    except OSError as error:
        raise InputError(f"--via {via}: {error}; allowed: the address of a running agent") from error
    took = time.perf_counter() - began
    wanted = len(payloads) * count
    word = "accepted" if layer == "tcpcl" else "sent"
    if json:
        print_json({"bundles": wanted, word: accepted, "seconds": took})
    else:
        print(f"{accepted} of {wanted} bundles {word} in {took:.2f} s ({accepted / took:.0f} per second)")
    if accepted < wanted:
        raise typer.Exit(TROUBLE)


def _read(path: Path) -> bytes:
    from bentpipe.errors import InputError

    try:
        return path.read_bytes()
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}; allowed: a file that can be read") from error
