"""``bentpipe pabx``: a private branch exchange for real telephones."""

from __future__ import annotations

from typing import Annotated

import typer

from .common import Json


def pabx(
    address: Annotated[
        str,
        typer.Option(
            metavar="ADDRESS", help="IPv4 address or name at which it listens, and which it tells telephones."
        ),
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(metavar="PORT", min=0, max=65535, help="UDP port of SIP; 0 for any.")
    ] = 5060,
    lines: Annotated[
        int, typer.Option(metavar="NUMBER", min=1, help="Calls at a time; a further one is busy (486).")
    ] = 30,
    seconds: Annotated[
        float | None,
        typer.Option(
            metavar="SECONDS", help="Ends after this time; if unset, when interrupted.", show_default=False
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Answer the calls of real SIP telephones.

    Speaks SIP over UDP and G.711 in RTP. A number is a conference: everybody who calls it hears all others,
    mixed. The number echo sends back what it hears. A telephone that has registered (REGISTER, without a
    password) can be called by its user name. Each call is printed when it begins and ends, with the packets
    sent, received and lost.
    """
    import json as text
    import signal
    import time
    from types import FrameType

    from bentpipe.errors import InputError
    from bentpipe.voice.pabx import Pabx

    def tell(event: dict[str, object]) -> None:
        if json:
            print(text.dumps(event), flush=True)
        else:
            print(" ".join(f"{key}={value}" for key, value in event.items()), flush=True)

    try:
        exchange = Pabx(address, port, lines, tell)
    except (OSError, ValueError) as error:
        raise InputError(
            f'--address "{address}" --port {port}: {error}; '
            "allowed: an IPv4 address of this machine and a free UDP port"
        ) from None
    ended = False

    def end(_number: int, _frame: FrameType | None) -> None:
        nonlocal ended
        ended = True

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, end)
    until = None if seconds is None else time.monotonic() + seconds
    tell({"event": "listening", "address": address, "port": exchange.port})
    try:
        exchange.run(lambda: ended or (until is not None and time.monotonic() >= until))
    finally:
        exchange.close()
