"""``bentpipe reflect``: answers the probes of ``bentpipe measure``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .common import Json

#: The default port of both commands. STAMP's own port (RFC 8762) needs privileges.
PORT = 8620
Port = Annotated[int, typer.Option(min=1, max=65535, metavar="PORT", help="UDP port of the reflector.")]
Key = Annotated[
    Path | None,
    typer.Option(
        "--key",
        metavar="FILE",
        help="File with the shared key of both hosts, at least 16 bytes.",
        show_default=False,
    ),
]


def reflect(
    key: Key = None,
    open_: Annotated[
        bool, typer.Option("--open", help="Answer every sender without a key, like other reflectors.")
    ] = False,
    port: Port = PORT,
    address: Annotated[
        str,
        typer.Option(metavar="ADDRESS", help="Address at which to listen. :: stands for all addresses."),
    ] = "::",
    max_replies: Annotated[
        float,
        typer.Option(min=1, metavar="NUMBER", help="Maximum number of replies per second to one sender."),
    ] = 10_000,
    json: Json = False,
) -> None:
    """Answer the probes of a measurement from another host.

    Probes and replies are STAMP packets (RFC 8762). The reflector answers only senders that have
    the key and that have proved that they receive packets at their address. Needs no privileges.
    Runs until Ctrl-C.
    """
    from bentpipe import measure
    from bentpipe.errors import InputError, trouble

    from .output import print_json_line
    from .stopping import stoppable

    if (key is None) != open_:
        raise InputError("give either --key FILE, or --open to answer every sender")
    secret = key_of(key)
    with stoppable() as stop:
        try:
            counts = measure.reflect(
                address,
                port,
                secret,
                rate=max_replies,
                should_continue=lambda: not stop.wanted,
                ready=lambda: typer.echo(f"listening at port {port}", err=True),
            )
        except OSError as error:
            raise InputError(f"port {port} of {address}: {trouble(error)}") from error
    if json:
        print_json_line(
            {
                "sessions": counts.sessions,
                "replies": counts.replies,
                "packets_of_unknown_senders": counts.ignored,
                "packets_above_maximum_rate": counts.over_rate,
            }
        )
        return
    typer.echo(
        f"{counts.sessions} sessions, {counts.replies} replies; not answered: {counts.ignored} packets of "
        f"unknown senders, {counts.over_rate} packets above the maximum rate"
    )


def key_of(file: Path | None) -> bytes | None:
    """Returns the key in a file. Raises :class:`bentpipe.InputError`."""
    from bentpipe.errors import InputError, trouble

    if file is None:
        return None
    try:
        secret = file.read_bytes().strip()
    except OSError as error:
        raise InputError(trouble(error)) from error
    if len(secret) < 16:
        raise InputError(f"{file}: the key has {len(secret)} bytes; allowed: 16 or more")
    return secret
