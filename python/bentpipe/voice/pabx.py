"""A small private branch exchange for real telephones: SIP over UDP, RTP in G.711, conferences that are mixed.

The signalling is the engine's (:class:`bentpipe._native.SipAgent`), the same state machines that signal simulated
calls. Every call is in a room: the number that was called, or, for a registered user, a room with that user, who is
called. ``echo`` sends back what it hears. Each party of a room gets one stream, the sum of all others, in packets of
20 ms.
"""

from __future__ import annotations

import json
import selectors
import socket
import struct
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from bentpipe._native import SipAgent, session_description

#: Time between two packets of a stream, and their samples at 8000 Hz.
PERIOD_NS: Final = 20_000_000
SAMPLES: Final = 160
#: Packets that a party's buffer holds at most: what is older is left out.
HELD: Final = 5
ENCODINGS: Final = ("PCMU", "PCMA")
RTP: Final = struct.Struct("!BBHII")

Linear = NDArray[np.int32]


def _mu_law() -> Linear:
    """Samples of the 256 values of G.711 mu-law, on the scale of 16 bits."""
    value = ~np.arange(256) & 0xFF
    magnitude = (((value & 0x0F) << 3) + 0x84 << ((value & 0x70) >> 4)) - 0x84
    return np.where(value & 0x80, -magnitude, magnitude).astype(np.int32)


def _a_law() -> Linear:
    """Samples of the 256 values of G.711 A-law, on the scale of 16 bits."""
    value = np.arange(256) ^ 0x55
    exponent = (value & 0x70) >> 4
    mantissa = ((value & 0x0F) << 4) + 8
    magnitude = np.where(exponent == 0, mantissa, (mantissa + 0x100) << np.maximum(exponent - 1, 0))
    return np.where(value & 0x80, magnitude, -magnitude).astype(np.int32)


def _nearest(table: Linear) -> NDArray[np.uint8]:
    """The value whose sample is nearest to each of the 65536 of 16 bits."""
    order = np.argsort(table, kind="stable")
    samples = np.arange(-32768, 32768)
    above = np.clip(np.searchsorted(table[order], samples), 1, 255)
    low, high = order[above - 1], order[above]
    return np.where(samples - table[low] <= table[high] - samples, low, high).astype(np.uint8)


TABLES: Final = {"PCMU": _mu_law(), "PCMA": _a_law()}
NEAREST: Final = {name: _nearest(table) for name, table in TABLES.items()}


def decode(encoding: str, payload: bytes) -> Linear:
    """Samples of 16 bits from G.711."""
    return TABLES[encoding][np.frombuffer(payload, np.uint8)]


def encode(encoding: str, samples: Linear) -> bytes:
    """G.711 from samples, which are clipped to 16 bits."""
    return NEAREST[encoding][np.clip(samples, -32768, 32767) + 32768].tobytes()


@dataclass
class Party:
    """A telephone in a room."""

    call: int
    number: str
    room: str
    socket: socket.socket
    peer: tuple[str, int] | None = None
    encoding: str = "PCMU"
    payload_type: int = 0
    heard: deque[bytes] = field(default_factory=deque)
    connected: bool = False
    began_ns: int = 0
    sent: int = 0
    received: int = 0
    #: Sequence numbers: the first, and the highest without its wrap.
    first: int | None = None
    highest: int = 0
    #: The call with which it shares its room alone, if it does, and whether we made it.
    other: int | None = None
    made: bool = False

    @property
    def lost(self) -> int:
        """Packets of this party that did not arrive."""
        return 0 if self.first is None else max(self.highest - self.first + 1 - self.received, 0)


class Pabx:
    """The exchange: :meth:`run` serves until ``stop`` says so."""

    def __init__(self, address: str, port: int, lines: int, tell: Callable[[dict[str, Any]], None]) -> None:
        address = socket.gethostbyname(address)
        self.address, self.lines, self.tell = address, lines, tell
        self.signalling = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.signalling.bind((address, port))
        self.signalling.setblocking(False)
        self.port: int = self.signalling.getsockname()[1]
        self.agent = SipAgent("pabx", f"{address}:{self.port}", time.time_ns())
        self.parties: dict[int, Party] = {}
        self.selector = selectors.DefaultSelector()
        self.selector.register(self.signalling, selectors.EVENT_READ)
        self.tick_ns = 0

    def close(self) -> None:
        """Hangs up every call and closes all sockets."""
        for call in list(self.parties):
            self.agent.hang_up(time.monotonic_ns(), call)
            self._leave(call, "closed")
        self._flush()
        self.selector.close()
        self.signalling.close()

    def run(self, stop: Callable[[], bool]) -> None:
        """Serves calls until ``stop`` returns True, which is asked at least every tenth of a second."""
        self.tick_ns = time.monotonic_ns()
        while not stop():
            now = time.monotonic_ns()
            due = [now + 100_000_000]
            if self.parties:
                due.append(self.tick_ns)
            if (wake := self.agent.next_wake()) is not None:
                due.append(wake)
            for key, _ in self.selector.select(max(0, min(due) - now) / 1e9):
                self._read(key.fileobj)  # type: ignore[arg-type]
            now = time.monotonic_ns()
            self.agent.wake(now)
            self._flush()
            if now >= self.tick_ns:
                # After a pause the missed periods are left out.
                self.tick_ns = max(self.tick_ns + PERIOD_NS, now - PERIOD_NS)
                self._mix()

    def _read(self, ready: socket.socket) -> None:
        while True:
            try:
                data, (host, port) = ready.recvfrom(65_535)
            except (BlockingIOError, ConnectionRefusedError):
                return
            if ready is self.signalling:
                self.agent.receive(time.monotonic_ns(), f"{host}:{port}", data)
                self._flush()
            else:
                party = next((one for one in self.parties.values() if one.socket is ready), None)
                if party is not None:
                    self._hear(party, data)

    def _hear(self, party: Party, data: bytes) -> None:
        if len(data) < RTP.size or data[0] >> 6 != 2:
            return
        first, kind, sequence, _, _ = RTP.unpack_from(data)
        payload = data[RTP.size + 4 * (first & 0x0F) :]
        if kind & 0x7F != party.payload_type or first & 0x30 or not payload:
            return
        if party.first is None:
            party.first = party.highest = sequence
        else:
            party.highest = max(
                party.highest, party.highest + ((sequence - party.highest + 0x8000) & 0xFFFF) - 0x8000
            )
        party.received += 1
        party.heard.append(payload)
        while len(party.heard) > HELD:
            party.heard.popleft()

    def _mix(self) -> None:
        """One packet to every party: the sum of what the others of its room said."""
        rooms: dict[str, list[Party]] = {}
        for party in self.parties.values():
            if party.connected:
                rooms.setdefault(party.room, []).append(party)
        for room, parties in rooms.items():
            said = [
                decode(one.encoding, one.heard.popleft())[:SAMPLES] if one.heard else np.zeros(0, np.int32)
                for one in parties
            ]
            padded = [np.pad(samples, (0, SAMPLES - len(samples))) for samples in said]
            total = np.sum(padded, axis=0, dtype=np.int32)
            for party, own in zip(parties, padded, strict=True):
                self._speak(party, own if room == "echo" else total - own)

    def _speak(self, party: Party, samples: Linear) -> None:
        if party.peer is None:
            return
        header = RTP.pack(
            0x80,
            party.payload_type | (0x80 if party.sent == 0 else 0),
            party.sent & 0xFFFF,
            party.sent * SAMPLES & 0xFFFFFFFF,
            party.call,
        )
        party.sent += 1
        try:
            party.socket.sendto(header + encode(party.encoding, samples), party.peer)
        except OSError:
            return

    def _flush(self) -> None:
        while True:
            send, events = self.agent.take()
            if not send and not events:
                return
            for to, data in send:
                host, _, port = to.rpartition(":")
                try:
                    self.signalling.sendto(data, (host, int(port)))
                except OSError as error:
                    self.tell({"event": "unreachable", "to": to, "why": str(error)})
            for text in events:
                self._act(json.loads(text))

    def _act(self, event: dict[str, Any]) -> None:
        now, call = time.monotonic_ns(), int(event.get("call", 0))
        match event["event"]:
            case "incoming":
                self._incoming(now, call, event)
            case "answered" if call in self.parties:
                party = self.parties[call]
                self._connect(party, event["session"])
                if party.made and party.other in self.parties:
                    self._answer(now, self.parties[party.other])
            case "failed" | "ended":
                self._leave(call, event["event"], event.get("status"))
            case _:
                pass

    def _incoming(self, now: int, call: int, event: dict[str, Any]) -> None:
        session = event["session"]
        if session is None or session["encoding"] is None or session["port"] == 0:
            return self._refuse(now, call, event, 488)
        if len(self.parties) >= self.lines:
            return self._refuse(now, call, event, 486)
        party = self._party(call, str(event["from"]), str(event["to"]))
        self._connect(party, session)
        party.connected = False
        self.tell({"event": "incoming", "call": call, "from": party.number, "to": party.room})
        self.agent.ring(now, call)
        registered = self.agent.registered(now, party.room)
        if registered is None:
            return self._answer(now, party)
        # The room of two: whoever called, and the user who is called.
        contact, address = registered
        party.room = f"{party.number}-{party.room}-{call}"
        media = self._socket()
        body = session_description(self.address, media.getsockname()[1], list(ENCODINGS))
        other = self.agent.invite(now, party.number, contact, address, body)
        self.parties[other] = Party(other, str(event["to"]), party.room, media, other=call, made=True)
        party.other = other
        return None

    def _refuse(self, now: int, call: int, event: dict[str, Any], status: int) -> None:
        self.agent.refuse(now, call, status)
        self.tell(
            {"event": "refused", "call": call, "from": event["from"], "to": event["to"], "status": status}
        )

    def _socket(self) -> socket.socket:
        media = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        media.bind((self.address, 0))
        media.setblocking(False)
        self.selector.register(media, selectors.EVENT_READ)
        return media

    def _party(self, call: int, number: str, room: str) -> Party:
        party = Party(call, number, room, self._socket())
        self.parties[call] = party
        return party

    def _connect(self, party: Party, session: dict[str, Any] | None) -> None:
        if session is None or session["encoding"] is None:
            return
        party.peer = (str(session["address"]), int(session["port"]))
        party.encoding, party.payload_type = str(session["encoding"]), int(session["payload_type"])
        party.connected, party.began_ns = True, time.monotonic_ns()

    def _answer(self, now: int, party: Party) -> None:
        body = session_description(self.address, party.socket.getsockname()[1], [party.encoding])
        self.agent.answer(now, party.call, body)
        party.connected, party.began_ns = True, now
        self.tell({"event": "answered", "call": party.call, "from": party.number, "to": party.room})

    def _leave(self, call: int, why: str, status: int | None = None) -> None:
        party = self.parties.pop(call, None)
        if party is None:
            return
        self.selector.unregister(party.socket)
        party.socket.close()
        seconds = (time.monotonic_ns() - party.began_ns) / 1e9 if party.began_ns else 0.0
        self.tell(
            {
                "event": why,
                "call": call,
                "from": party.number,
                "to": party.room,
                **({} if status is None else {"status": status}),
                "seconds": round(seconds, 3),
                "sent": party.sent,
                "received": party.received,
                "lost": party.lost,
            }
        )
        other = None if party.other is None else self.parties.get(party.other)
        if other is not None:
            # A room of two ends with either. A caller who was not answered is told why.
            now = time.monotonic_ns()
            if other.connected or other.made:
                self.agent.hang_up(now, other.call)
            else:
                self.agent.refuse(now, other.call, status or 480)
            self._leave(other.call, why, status)
