"""``bentpipe voice pabx``: a private branch exchange for real telephones."""

from __future__ import annotations

from typing import Annotated

import typer

from ..common import Json


def pabx(
    address: Annotated[
        str,
        typer.Option(
            metavar="ADDRESS",
            help="Address at which to listen. An IPv4 address or a name, which the exchange announces to "
            "telephones.",
        ),
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(metavar="PORT", min=0, max=65535, help="UDP port of SIP; 0 selects a free port.")
    ] = 5060,
    iax_port: Annotated[
        int | None,
        typer.Option(
            metavar="PORT",
            min=0,
            max=65535,
            help="UDP port of IAX2, usually 4569. If unset, the exchange does not answer IAX2.",
            show_default=False,
        ),
    ] = None,
    registrar: Annotated[
        str | None,
        typer.Option(
            metavar="HOST[:PORT]",
            help="Register as --user at this SIP registrar, which then forwards calls to the exchange.",
            show_default=False,
        ),
    ] = None,
    user: Annotated[
        str, typer.Option(metavar="NAME", help="User name of the exchange at the registrar.")
    ] = "pabx",
    lines: Annotated[
        int,
        typer.Option(
            metavar="NUMBER",
            min=1,
            help="Maximum number of simultaneous calls. A further call is answered with busy (486).",
        ),
    ] = 30,
    duration: Annotated[
        float | None,
        typer.Option(
            metavar="SECONDS",
            help="Duration of the exchange. If unset, it runs until Ctrl-C.",
            show_default=False,
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Answer the calls of real SIP and IAX2 telephones.

    Supports SIP over UDP with G.711 in RTP, and with --iax-port also IAX2. Each number is a
    conference: every caller hears the mix of all others. The number echo returns the caller's own
    speech. A telephone can register without a password and is then called by its user name. Prints
    each call at its start and at its end, with the number of packets sent, received and lost.
    (Packets of IAX2 have no sequence numbers, so lost packets cannot be counted.)
    """
    import time

    from bentpipe.errors import InputError
    from bentpipe.voice.pabx import Pabx

    from ..output import print_json_line
    from ..stopping import stoppable

    def tell(event: dict[str, object]) -> None:
        if json:
            print_json_line(event)
        else:
            print(" ".join(f"{key}={value}" for key, value in event.items()), flush=True)

    try:
        exchange = Pabx(address, port, lines, tell, iax_port, user)
    except (OSError, ValueError) as error:
        raise InputError(
            f'--address "{address}" --port {port}'
            f"{'' if iax_port is None else f' --iax-port {iax_port}'}: {error}; "
            "allowed: an IPv4 address of this machine and free UDP ports"
        ) from None
    until = None if duration is None else time.monotonic() + duration
    listening = {"event": "listening", "address": address, "port": exchange.port}
    with stoppable() as stop:
        tell(listening | ({} if exchange.iax_port is None else {"iax_port": exchange.iax_port}))
        try:
            if registrar is not None:
                exchange.register(_peer(registrar))
            exchange.run(lambda: stop.wanted or (until is not None and time.monotonic() >= until))
        finally:
            exchange.close()


def _peer(text: str) -> str:
    """Returns the address and port of a registrar."""
    import socket

    from bentpipe.errors import InputError

    host, _, port = text.partition(":")
    try:
        if port and not (port.isdigit() and 0 < int(port) < 65536):
            raise OSError(f'"{port}" is not a port')
        return f"{socket.gethostbyname(host)}:{port or 5060}"
    except OSError as error:
        raise InputError(f'--registrar "{text}": {error}; allowed: HOST or HOST:PORT') from None
