"""Telephone lines over real sockets: SIP with RTP, and IAX2. Speech is G.711 in packets of 20 ms.

The engine's state machines (:class:`bentpipe._native.SipAgent`,
:class:`bentpipe._native.IaxExchange`) implement the protocols, as in simulated calls. A line adds
the sockets, the time, and the speech of each call.
"""

from __future__ import annotations

import datetime
import json
import secrets
import selectors
import socket
import struct
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from bentpipe._native import IaxExchange, SipAgent, session_description

from .g711 import ENCODINGS

#: Samples in a packet, at 8000 Hz.
SAMPLES: Final = 160
#: Maximum number of samples of a call that wait for their playout. Older samples are discarded.
HELD: Final = 5 * SAMPLES
#: Number of periods of 20 ms by which speech is delayed after a pause, to absorb the jitter of
#: later packets.
HOLDING: Final = 2
#: UDP ports of the two protocols.
SIP_PORT: Final = 5060
IAX_PORT: Final = 4569
RTP: Final = struct.Struct("!BBHII")

Tell = Callable[[dict[str, Any]], None]


@dataclass
class Speech:
    """The speech of one call in both directions."""

    encoding: str = "PCMU"
    #: Received G.711 data that was not played yet.
    heard: bytearray = field(default_factory=bytearray)
    sent: int = 0
    received: int = 0
    #: Number of lost packets; None with IAX2, whose frames have no numbers.
    lost: int | None = None
    #: Number of periods that the first speech after a pause has waited.
    waited: int = 0

    def take(self) -> bytes:
        """Returns the speech of the next 20 ms, or nothing. After a pause, speech is delayed by
        :data:`HOLDING` periods."""
        if not self.heard:
            self.waited = 0
        elif self.waited < HOLDING:
            self.waited += 1
            return b""
        taken = bytes(self.heard[:SAMPLES])
        del self.heard[:SAMPLES]
        return taken

    def hear(self, payload: bytes) -> None:
        """Appends the speech of a received packet."""
        self.received += 1
        self.heard += payload
        del self.heard[: max(len(self.heard) - HELD, 0)]


class Line(Protocol):
    """The calls of one protocol. A call is identified by its number on the line."""

    #: The protocol: "sip" or "iax2".
    name: str
    #: The speech of the calls.
    speech: dict[int, Speech]

    def read(self, now: int, ready: socket.socket) -> None:
        """Handles received data at a socket of the line."""

    def wake(self, now: int) -> None:
        """Acts on timers that have expired."""

    def next_wake(self) -> int | None:
        """Returns the time at which :meth:`wake` is to be called next, or None for never."""

    def take(self) -> list[dict[str, Any]]:
        """Sends pending messages of the protocol, and returns its events."""

    def call(self, now: int, user: str, to: str, address: str) -> int:
        """Places a call from ``user`` to the number or URI ``to`` at an address."""

    def ring(self, now: int, call: int) -> None:
        """Informs the caller that the telephone rings."""

    def answer(self, now: int, call: int) -> None:
        """Answers a call that has arrived."""

    def refuse(self, now: int, call: int, status: int) -> None:
        """Refuses a call with a status of SIP."""

    def hang_up(self, now: int, call: int) -> None:
        """Ends a call in any state."""

    def speak(self, now: int, call: int, payload: bytes, period: int) -> None:
        """Sends 20 ms of speech. ``period`` is the number of 20 ms periods since the answer,
        including pauses."""

    def registered(self, now: int, user: str) -> tuple[str, str] | None:
        """Returns the number or URI to call, and the address, of a registered user; None for other
        users."""

    def forget(self, call: int) -> None:
        """Releases the resources of a call that has ended."""

    def close(self) -> None:
        """Closes the sockets of the line."""


def _bound(address: str, port: int) -> socket.socket:
    made = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    try:
        made.bind((address, port))
    except OSError:
        made.close()
        raise
    made.setblocking(False)
    return made


def _arrived(ready: socket.socket) -> list[tuple[bytes, str]]:
    """Returns the datagrams that wait at a socket, with their senders."""
    found: list[tuple[bytes, str]] = []
    while True:
        try:
            data, (host, port) = ready.recvfrom(65_535)
        except (BlockingIOError, ConnectionRefusedError):
            return found
        found.append((data, f"{host}:{port}"))


def _send(through: socket.socket, to: str, data: bytes, tell: Tell) -> None:
    host, _, port = to.rpartition(":")
    try:
        through.sendto(data, (host, int(port)))
    except OSError as error:
        tell({"event": "unreachable", "to": to, "why": str(error)})


@dataclass
class _Media:
    """The RTP socket of a call, and the sequence numbers of its packets."""

    socket: socket.socket
    peer: tuple[str, int] | None = None
    payload_type: int = 0
    first: int | None = None
    highest: int = 0
    #: The period of the last sent packet.
    period: int = -2
    #: Random identifier of the stream (RFC 3550, section 8).
    source: int = field(default_factory=lambda: secrets.randbits(32))


class SipLine:
    """Calls by SIP over UDP, with a separate RTP port for each call."""

    name = "sip"

    def __init__(
        self, address: str, port: int, user: str, selector: selectors.BaseSelector, tell: Tell
    ) -> None:
        self.address, self.selector, self.tell = address, selector, tell
        self.signalling = _bound(address, port)
        self.port: int = self.signalling.getsockname()[1]
        self.agent = SipAgent(user, f"{address}:{self.port}", time.time_ns())
        self.speech: dict[int, Speech] = {}
        self.media: dict[int, _Media] = {}
        selector.register(self.signalling, selectors.EVENT_READ, self)

    def read(self, now: int, ready: socket.socket) -> None:
        """Handles signalling, or the RTP of a call."""
        for data, sender in _arrived(ready):
            if ready is self.signalling:
                self.agent.receive(now, sender, data)
                continue
            call = next((call for call, media in self.media.items() if media.socket is ready), None)
            if call is not None:
                self._hear(call, data)

    def _hear(self, call: int, data: bytes) -> None:
        media, speech = self.media[call], self.speech[call]
        if len(data) < RTP.size or data[0] >> 6 != 2:
            return
        first, kind, sequence, _, _ = RTP.unpack_from(data)
        payload = data[RTP.size + 4 * (first & 0x0F) :]
        if kind & 0x7F != media.payload_type or first & 0x30 or not payload:
            return
        if media.first is None:
            media.first = media.highest = sequence
        else:
            step = ((sequence - media.highest + 0x8000) & 0xFFFF) - 0x8000
            media.highest = max(media.highest, media.highest + step)
        speech.hear(payload)
        speech.lost = max(media.highest - media.first + 1 - speech.received, 0)

    def wake(self, now: int) -> None:
        """Acts on timers that have expired."""
        self.agent.wake(now)

    def next_wake(self) -> int | None:
        """Returns the time at which :meth:`wake` is to be called next, or None for never."""
        return self.agent.next_wake()

    def take(self) -> list[dict[str, Any]]:
        """Sends messages, and returns events. The ``encoding`` of an event is None if the session
        has no G.711."""
        send, texts = self.agent.take()
        for to, data in send:
            _send(self.signalling, to, data, self.tell)
        events = [json.loads(text) for text in texts]
        for event in events:
            session = event.pop("session", None) or {}
            usable = session.get("encoding") is not None and session["port"] != 0
            event["encoding"] = session["encoding"] if usable else None
            if event["event"] == "incoming" and usable:
                self._open(event["call"])
            if event["event"] in ("incoming", "answered") and usable and event["call"] in self.media:
                media = self.media[event["call"]]
                media.peer = (str(session["address"]), int(session["port"]))
                media.payload_type = int(session["payload_type"])
                self.speech[event["call"]].encoding = str(session["encoding"])
        return events

    def _open(self, call: int) -> _Media:
        made = _bound(self.address, 0)
        self.selector.register(made, selectors.EVENT_READ, self)
        self.media[call], self.speech[call] = _Media(made), Speech(lost=0)
        return self.media[call]

    def _session(self, call: int, encodings: list[str]) -> str:
        return session_description(self.address, self.media[call].socket.getsockname()[1], encodings)

    def call(self, now: int, user: str, to: str, address: str) -> int:
        """Invites ``to``, a number or a URI, at an address."""
        made = _bound(self.address, 0)
        body = session_description(self.address, made.getsockname()[1], list(ENCODINGS))
        uri = to if to.startswith("sip:") else f"sip:{to}@{address.removesuffix(f':{SIP_PORT}')}"
        call = self.agent.invite(now, user, uri, address, body)
        self.selector.register(made, selectors.EVENT_READ, self)
        self.media[call], self.speech[call] = _Media(made), Speech(lost=0)
        return call

    def ring(self, now: int, call: int) -> None:
        """Sends the response 180, Ringing."""
        self.agent.ring(now, call)

    def answer(self, now: int, call: int) -> None:
        """Sends the response 200, with a session in the selected encoding."""
        self.agent.answer(now, call, self._session(call, [self.speech[call].encoding]))

    def refuse(self, now: int, call: int, status: int) -> None:
        """Sends a status of 300 to 699."""
        self.agent.refuse(now, call, status)

    def hang_up(self, now: int, call: int) -> None:
        """Sends BYE, or CANCEL if the call was not answered yet."""
        self.agent.hang_up(now, call)

    def speak(self, now: int, call: int, payload: bytes, period: int) -> None:  # noqa: ARG002
        """Sends a packet of RTP."""
        media, speech = self.media[call], self.speech[call]
        if media.peer is None:
            return
        # The marker begins a talk spurt (RFC 3551, section 4.1).
        kind = media.payload_type | (0x80 if period != media.period + 1 else 0)
        header = RTP.pack(0x80, kind, speech.sent & 0xFFFF, period * SAMPLES & 0xFFFFFFFF, media.source)
        media.period = period
        speech.sent += 1
        try:
            media.socket.sendto(header + payload, media.peer)
        except OSError:
            return

    def registered(self, now: int, user: str) -> tuple[str, str] | None:
        """Returns contact and address of a registered user."""
        return self.agent.registered(now, user)

    def register(self, now: int, address: str, seconds: int) -> None:
        """Registers at the registrar at an address."""
        self.agent.register(now, address, seconds)

    def forget(self, call: int) -> None:
        """Closes the RTP socket of a call."""
        media = self.media.pop(call, None)
        self.speech.pop(call, None)
        if media is not None:
            self.selector.unregister(media.socket)
            media.socket.close()

    def close(self) -> None:
        """Closes the signalling socket and the sockets of all calls."""
        for call in list(self.media):
            self.forget(call)
        self.selector.unregister(self.signalling)
        self.signalling.close()


#: Hangup causes of Q.931 for the statuses with which calls are refused; 17, busy, for any other.
CAUSES: Final = {488: 58, 408: 102, 480: 19, 487: 16}


class IaxLine:
    """Calls by IAX2: signalling and speech over one port."""

    name = "iax2"

    def __init__(self, address: str, port: int, selector: selectors.BaseSelector, tell: Tell) -> None:
        self.selector, self.tell = selector, tell
        self.socket = _bound(address, port)
        self.port: int = self.socket.getsockname()[1]
        self.exchange = IaxExchange()
        self.speech: dict[int, Speech] = {}
        #: Address of each registered user, and the expiry of the registration.
        self.users: dict[str, tuple[str, int]] = {}
        selector.register(self.socket, selectors.EVENT_READ, self)

    def read(self, now: int, ready: socket.socket) -> None:
        """Handles received frames of signalling and speech."""
        for data, sender in _arrived(ready):
            self.exchange.receive(now, sender, data)

    def wake(self, now: int) -> None:
        """Acts on timers that have expired."""
        self.exchange.wake(now)

    def next_wake(self) -> int | None:
        """Returns the time at which :meth:`wake` is to be called next, or None for never."""
        return self.exchange.next_wake()

    def take(self) -> list[dict[str, Any]]:
        """Sends frames, keeps speech, and returns events."""
        events = []
        while True:
            send, texts, heard = self.exchange.take()
            for to, data in send:
                _send(self.socket, to, data, self.tell)
            for call, _, payload in heard:
                if call in self.speech:
                    self.speech[call].hear(payload)
            for event in map(json.loads, texts):
                if event["event"] == "registering":
                    self._register(event)
                    continue
                if event["event"] == "incoming" and event["encoding"] is not None:
                    self.exchange.choose(event["call"], event["encoding"])
                    self.speech[event["call"]] = Speech(event["encoding"])
                elif event["event"] == "answered" and event["call"] in self.speech:
                    event["encoding"] = self.speech[event["call"]].encoding
                events.append(event)
            if not send and not texts:
                return events

    def _register(self, event: dict[str, Any]) -> None:
        now, user, seconds = time.monotonic_ns(), str(event["user"]), int(event["seconds"])
        self.users[user] = (str(event["address"]), now + seconds * 1_000_000_000)
        self.tell({"event": "registers", "line": self.name, "user": user, "seconds": seconds})
        self.exchange.register(now, event["call"], user, seconds, _date(datetime.datetime.now()))

    def call(self, now: int, user: str, to: str, address: str) -> int:
        """Calls a number at an address, in mu-law."""
        call = self.exchange.call(now, address, to, user, "PCMU")
        if call is None:
            raise OSError("all 32767 numbers of calls are in use")
        self.speech[call] = Speech("PCMU")
        return call

    def ring(self, now: int, call: int) -> None:
        """Sends the frames ACCEPT and RINGING."""
        self.exchange.ring(now, call)

    def answer(self, now: int, call: int) -> None:
        """Sends the frame ANSWER."""
        self.exchange.answer(now, call)

    def refuse(self, now: int, call: int, status: int) -> None:
        """Sends REJECT with the cause that corresponds to a status of SIP."""
        self.exchange.refuse(now, call, CAUSES.get(status, 17))

    def hang_up(self, now: int, call: int) -> None:
        """Sends the frame HANGUP."""
        self.exchange.hang_up(now, call)

    def speak(self, now: int, call: int, payload: bytes, period: int) -> None:  # noqa: ARG002
        """Sends a full frame or a mini frame of speech."""
        self.speech[call].sent += 1
        self.exchange.voice(now, call, payload)

    def registered(self, now: int, user: str) -> tuple[str, str] | None:
        """Returns number and address of a registered user."""
        address, until = self.users.get(user, ("", 0))
        return (user, address) if until > now else None

    def forget(self, call: int) -> None:
        """Discards the speech of a call."""
        self.speech.pop(call, None)

    def close(self) -> None:
        """Closes the socket of the line."""
        self.selector.unregister(self.socket)
        self.socket.close()


def _date(now: datetime.datetime) -> int:
    """Returns date and time of day in the format of IAX2 (RFC 5456, section 8.6.28)."""
    day = (now.year - 2000) << 25 | now.month << 21 | now.day << 16
    return day | now.hour << 11 | now.minute << 5 | now.second >> 1
