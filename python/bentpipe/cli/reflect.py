"""``bentpipe reflect``: answers the probes of ``bentpipe measure``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

#: The port of both commands, unless one is given: STAMP's own (RFC 8762) needs privileges.
PORT = 8620
Port = Annotated[int, typer.Option(min=1, max=65535, metavar="PORT", help="UDP port of the reflector.")]
Key = Annotated[
    Path | None,
    typer.Option(
        "--key",
        metavar="FILE",
        help="File with the key that both hosts have, at least 16 bytes.",
        show_default=False,
    ),
]


def reflect(
    key: Key = None,
    open_: Annotated[
        bool, typer.Option("--open", help="Answer everybody without a key, as other reflectors do.")
    ] = False,
    port: Port = PORT,
    bind: Annotated[
        str, typer.Option("--bind", metavar="ADDRESS", help="Address at which to listen; :: is all.")
    ] = "::",
    rate: Annotated[
        float,
        typer.Option(min=1, metavar="NUMBER", help="Most replies a second to one sender."),
    ] = 10_000,
) -> None:
    """Answer the probes of another host that measures.

    Probes and replies are STAMP packets (RFC 8762). A sender must have the key and prove that it receives at its
    address before it gets an answer; others get none. Needs no privileges. Ends with Ctrl-C.
    """
    from bentpipe import measure
    from bentpipe.errors import InputError, trouble

    from .stopping import stoppable

    if (key is None) != open_:
        raise InputError("give the key's file by --key FILE, or --open to answer everybody; not both")
    secret = key_of(key)
    with stoppable() as stop:
        try:
            counts = measure.reflect(
                bind,
                port,
                secret,
                rate=rate,
                keep_on=lambda: not stop.wanted,
                ready=lambda: typer.echo(f"listening at port {port}", err=True),
            )
        except OSError as error:
            raise InputError(f"port {port} of {bind}: {trouble(error)}") from error
    typer.echo(
        f"{counts.sessions} sessions, {counts.replies} replies; without reply {counts.ignored} packets of strangers "
        f"and {counts.over_rate} above the rate"
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
