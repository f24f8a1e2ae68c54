"""``bentpipe voice phone``: a telephone that plays a recording and records the received speech."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..common import Json


def phone(
    target: Annotated[
        str,
        typer.Argument(
            metavar="TARGET",
            help="The number to call: sip:NUMBER@HOST[:PORT] or iax2:NUMBER@HOST[:PORT].",
            show_default=False,
        ),
    ],
    speech: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Recording to speak, a WAV file of 16 bits and 8000 Hz. Repeated until the end of the call. If "
            "unset, silence.",
            show_default=False,
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            metavar="FILE",
            help="The WAV file to write, with the received speech.",
            show_default=False,
        ),
    ] = None,
    address: Annotated[
        str,
        typer.Option(
            metavar="ADDRESS",
            help="Address at which to listen. An IPv4 address or a name, at which the telephone receives speech.",
        ),
    ] = "127.0.0.1",
    user: Annotated[str, typer.Option(metavar="NAME", help="User name of the telephone.")] = "phone",
    duration: Annotated[
        float, typer.Option(metavar="SECONDS", min=0, help="Duration of the call after the answer.")
    ] = 10.0,
    json: Json = False,
) -> None:
    """Call a number like a real telephone.

    Uses SIP over UDP, or IAX2, with G.711. Silence in the recording is not sent. The exit code is 1
    if the call was not answered.
    """
    import signal
    import wave
    from types import FrameType

    import numpy as np

    from bentpipe.errors import InputError
    from bentpipe.voice.phone import call

    from ..output import print_json

    samples = np.zeros(0, np.int32)
    if speech is not None:
        try:
            with wave.open(str(speech)) as file:
                form = (file.getnchannels(), file.getsampwidth(), file.getframerate())
                if form != (1, 2, 8000):
                    raise wave.Error(f"{form[0]} channels, {8 * form[1]} bits, {form[2]} Hz")
                samples = np.frombuffer(file.readframes(file.getnframes()), "<i2").astype(np.int32)
        except (OSError, EOFError, wave.Error) as error:
            raise InputError(
                f"--speech {speech}: {error}; allowed: a WAV file with one channel of 16 bits at 8000 Hz"
            ) from None
    ended = False

    def end(_number: int, _frame: FrameType | None) -> None:
        nonlocal ended
        ended = True

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, end)
    try:
        result = call(target, address, samples, duration, user=user, stop=lambda: ended)
    except (OSError, ValueError) as error:
        raise InputError(f"{target} from {address}: {error}") from None
    if out is not None and result.answered:
        with wave.open(str(out), "wb") as file:
            file.setnchannels(1)
            file.setsampwidth(2)
            file.setframerate(8000)
            file.writeframes(np.clip(result.heard, -32768, 32767).astype("<i2").tobytes())
    values = {
        "answered": result.answered,
        "status": result.status,
        "after_s": None if result.after_s is None else round(result.after_s, 3),
        "sent": result.sent,
        "received": result.received,
        "lost": result.lost,
    }
    if json:
        print_json(values)
    else:
        typer.echo(" ".join(f"{key}={value}" for key, value in values.items() if value is not None))
    if not result.answered:
        raise typer.Exit(1)
