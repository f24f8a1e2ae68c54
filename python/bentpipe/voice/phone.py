"""An automatic telephone. It calls a number over SIP or IAX2, plays a recording, and records the
received speech.

Silence in the recording is not sent, as in telephones with silence suppression.
"""

from __future__ import annotations

import selectors
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from .g711 import ENCODINGS, Linear, decode, encode
from .lines import SAMPLES, IaxLine, Line, SipLine

PERIOD_NS: Final = 20_000_000
#: Magnitude below which samples of 16 bits count as silence.
SILENT: Final = 32


@dataclass
class CallResult:
    """The outcome of a call, and the speech heard in it."""

    #: True if the call was answered.
    answered: bool
    #: SIP status or Q.931 cause of a failed call.
    status: int | None
    #: Time from the call to the answer in seconds.
    after_s: float | None
    #: Numbers of sent, received and lost speech packets (lost is None with IAX2, whose packets have
    #: no numbers).
    sent: int
    received: int
    lost: int | None
    #: The heard speech, 8000 samples of 16 bits per second.
    heard: Linear


def call(
    target: str,
    own: str,
    speech: Linear,
    seconds: float,
    *,
    user: str = "phone",
    stop: Callable[[], bool] = lambda: False,
    tell: Callable[[dict[str, Any]], None] = lambda _event: None,
) -> CallResult:
    """Calls ``target`` from the address ``own``, and hangs up ``seconds`` after the answer.

    ``target`` is sip:NUMBER@HOST[:PORT] or iax2:NUMBER@HOST[:PORT]. The recording is repeated if it
    ends first. Raises :class:`ValueError` for another target and :class:`OSError` for addresses
    that cannot be used.
    """
    protocol, separator, rest = target.partition(":")
    number, at, host = rest.partition("@")
    if protocol not in ("sip", "iax2") or not separator or not at or not number or not host:
        raise ValueError(
            f'"{target}" cannot be called; allowed: sip:NUMBER@HOST[:PORT] or iax2:NUMBER@HOST[:PORT]'
        )
    host, _, port = host.partition(":")
    if port and not (port.isdigit() and 0 < int(port) < 65536):
        raise ValueError(f'"{port}" is not a port; allowed: 1 to 65535')
    peer = f"{socket.gethostbyname(host)}:{port or (5060 if protocol == 'sip' else 4569)}"
    selector = selectors.DefaultSelector()
    line: Line
    try:
        address = socket.gethostbyname(own)
        sip = protocol == "sip"
        line = SipLine(address, 0, user, selector, tell) if sip else IaxLine(address, 0, selector, tell)
    except OSError:
        selector.close()
        raise
    try:
        return _Phone(line, selector).talk(user, number, peer, speech, seconds, stop)
    finally:
        line.close()
        selector.close()


class _Phone:
    def __init__(self, line: Line, selector: selectors.BaseSelector) -> None:
        self.line, self.selector = line, selector
        self.answered_ns: int | None = None
        self.over = False
        self.status: int | None = None
        self.encoding = ENCODINGS[0]

    def talk(
        self, user: str, number: str, peer: str, speech: Linear, seconds: float, stop: Callable[[], bool]
    ) -> CallResult:
        began = time.monotonic_ns()
        call = self.line.call(began, user, number, peer)
        stream = self.line.speech[call]
        heard: list[Linear] = []
        period, left = 0, None
        while not self.over:
            now = time.monotonic_ns()
            if left is None and (
                stop() or (self.answered_ns is not None and now - self.answered_ns >= seconds * 1e9)
            ):
                left = now
                self.line.hang_up(now, call)
                self._flush()
            if left is not None and now - left > 1_000_000_000:
                # One second to send the end of the call, and to retransmit it if it is lost.
                break
            due = [now + 100_000_000]
            if self.answered_ns is not None:
                due.append(self.answered_ns + period * PERIOD_NS)
            if (wake := self.line.next_wake()) is not None:
                due.append(wake)
            for key, _ in self.selector.select(max(0, min(due) - now) / 1e9):
                self.line.read(time.monotonic_ns(), key.fileobj)  # type: ignore[arg-type]
                self._flush()
            now = time.monotonic_ns()
            self.line.wake(now)
            self._flush()
            if self.answered_ns is not None and left is None and not self.over:
                while self.answered_ns + period * PERIOD_NS <= now:
                    at = period * SAMPLES % max(len(speech), 1)
                    said = (
                        np.resize(speech[at : at + SAMPLES], SAMPLES)
                        if len(speech)
                        else np.zeros(0, np.int32)
                    )
                    if len(said) and np.abs(said).max() > SILENT:
                        self.line.speak(now, call, encode(stream.encoding, said), period)
                    samples = decode(stream.encoding, stream.take())
                    heard.append(np.pad(samples, (0, SAMPLES - len(samples))))
                    period += 1
                self._flush()
        after = None if self.answered_ns is None else (self.answered_ns - began) / 1e9
        recorded = np.concatenate(heard) if heard else np.zeros(0, np.int32)
        return CallResult(
            after is not None, self.status, after, stream.sent, stream.received, stream.lost, recorded
        )

    def _flush(self) -> None:
        for event in self.line.take():
            match event["event"]:
                case "answered":
                    self.answered_ns = time.monotonic_ns()
                case "ended" if not event["by_other"]:
                    # The call ends by this side, so the other end must still be informed.
                    pass
                case "failed" | "ended":
                    self.over, self.status = True, event.get("status")
                case _:
                    pass
