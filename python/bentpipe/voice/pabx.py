"""A small private branch exchange for real telephones: SIP and IAX2, speech in G.711, and mixed
conferences.

Every call is in a room. The room is the called number or, for the number of a registered user, a
room with this user, whom the exchange calls. ``echo`` returns the caller's own speech. Each party
of a room receives one stream, the sum of all other parties, in packets of 20 ms.
"""

from __future__ import annotations

import selectors
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from .g711 import Linear, decode, encode
from .lines import SAMPLES, IaxLine, Line, SipLine, Speech

#: Time between two packets of a stream.
PERIOD_NS: Final = 20_000_000

#: A call: the name of its line, and the number of the call there.
Key = tuple[str, int]


@dataclass
class Party:
    """A telephone in a room."""

    key: Key
    number: str
    room: str
    speech: Speech
    connected: bool = False
    began_ns: int = 0
    #: The other call of a room of two, if any, and true if the exchange has placed this call.
    other: Key | None = None
    made: bool = False


class Pabx:
    """The exchange. :meth:`run` serves until ``stop`` returns True. Without ``iax_port``, the
    exchange answers SIP only."""

    def __init__(
        self,
        address: str,
        port: int,
        lines: int,
        tell: Callable[[dict[str, Any]], None],
        iax_port: int | None = None,
        user: str = "pabx",
    ) -> None:
        address = socket.gethostbyname(address)
        self.address, self.most, self.tell = address, lines, tell
        self.selector = selectors.DefaultSelector()
        self.sip = SipLine(address, port, user, self.selector, tell)
        self.port = self.sip.port
        self.lines: dict[str, Line] = {"sip": self.sip}
        self.iax_port: int | None = None
        if iax_port is not None:
            try:
                iax = IaxLine(address, iax_port, self.selector, tell)
            except OSError:
                self.sip.close()
                self.selector.close()
                raise
            self.lines["iax2"], self.iax_port = iax, iax.port
        self.parties: dict[Key, Party] = {}
        #: The registrar of the exchange, the duration of the registration, and the time of its
        #: renewal.
        self.registrar: tuple[str, int, int] | None = None
        self.tick_ns = 0

    def close(self) -> None:
        """Hangs up every call and closes all sockets."""
        for name, call in list(self.parties):
            self.lines[name].hang_up(time.monotonic_ns(), call)
            self._leave((name, call), "closed")
        self._flush()
        for line in self.lines.values():
            line.close()
        self.selector.close()

    def register(self, address: str, seconds: int = 3600) -> None:
        """Registers at the registrar at an address, and renews the registration after half of its
        duration."""
        self.registrar = (address, seconds, 0)

    def run(self, stop: Callable[[], bool]) -> None:
        """Serves calls until ``stop`` returns True, which is asked at least every tenth of a
        second."""
        self.tick_ns = time.monotonic_ns()
        while not stop():
            now = time.monotonic_ns()
            due = [now + 100_000_000]
            if self.parties:
                due.append(self.tick_ns)
            due += [wake for line in self.lines.values() if (wake := line.next_wake()) is not None]
            for key, _ in self.selector.select(max(0, min(due) - now) / 1e9):
                line: Line = key.data
                line.read(time.monotonic_ns(), key.fileobj)  # type: ignore[arg-type]
                self._flush()
            now = time.monotonic_ns()
            if self.registrar is not None and self.registrar[2] <= now:
                address, seconds, _ = self.registrar
                self.registrar = (address, seconds, now + seconds * 500_000_000)
                self.sip.register(now, address, seconds)
            for line in self.lines.values():
                line.wake(now)
            self._flush()
            if now >= self.tick_ns:
                # After a delay, the missed periods are omitted. The time stamps of speech are
                # always 20 ms apart.
                scheduled = self.tick_ns
                self.tick_ns = max(self.tick_ns + PERIOD_NS, now - PERIOD_NS)
                self._mix(scheduled)
                self._flush()

    def _mix(self, now: int) -> None:
        """Sends each party the sum of the speech of the others in its room."""
        rooms: dict[str, list[Party]] = {}
        for party in self.parties.values():
            if party.connected:
                rooms.setdefault(party.room, []).append(party)
        for room, parties in rooms.items():
            spoken = [decode(one.speech.encoding, one.speech.take()) for one in parties]
            padded = [np.pad(samples, (0, SAMPLES - len(samples))) for samples in spoken]
            total = np.sum(padded, axis=0, dtype=np.int32)
            for party, own in zip(parties, padded, strict=True):
                self._speak(now, party, own if room == "echo" else total - own)

    def _speak(self, now: int, party: Party, samples: Linear) -> None:
        name, call = party.key
        payload = encode(party.speech.encoding, samples)
        self.lines[name].speak(now, call, payload, party.speech.sent)

    def _flush(self) -> None:
        while events := [(line, event) for line in self.lines.values() for event in line.take()]:
            for line, event in events:
                self._act(line, event)

    def _act(self, line: Line, event: dict[str, Any]) -> None:
        now, key = time.monotonic_ns(), (line.name, int(event.get("call", 0)))
        match event["event"]:
            case "incoming":
                self._incoming(now, line, key, event)
            case "answered" if key in self.parties:
                party = self.parties[key]
                if event["encoding"] is None:
                    line.hang_up(now, key[1])
                    return self._leave(key, "failed", 488)
                party.connected, party.began_ns = True, now
                if party.made and party.other in self.parties:
                    self._answer(now, self.parties[party.other])
            case "failed" | "ended":
                self._leave(key, event["event"], event.get("status"))
            case "registered":
                self.tell({"event": "registered", "status": event["status"]})
            case _:
                pass
        return None

    def _incoming(self, now: int, line: Line, key: Key, event: dict[str, Any]) -> None:
        if event["encoding"] is None:
            return self._refuse(now, line, key, event, 488)
        if len(self.parties) >= self.most:
            return self._refuse(now, line, key, event, 486)
        party = Party(key, str(event["from"]), str(event["to"]), line.speech[key[1]])
        self.parties[key] = party
        report = {"event": "incoming", "line": line.name, "call": key[1]}
        self.tell({**report, "from": party.number, "to": party.room})
        line.ring(now, key[1])
        found = [
            (other, *user)
            for other in self.lines.values()
            if (user := other.registered(now, party.room)) is not None
        ]
        if not found:
            return self._answer(now, party)
        # The room of two: the caller, and the called user.
        through, contact, address = found[0]
        party.room = f"{party.number}-{party.room}-{key[1]}"
        call = through.call(now, party.number, contact, address)
        party.other = (through.name, call)
        self.parties[party.other] = Party(
            party.other, str(event["to"]), party.room, through.speech[call], other=key, made=True
        )
        return None

    def _refuse(self, now: int, line: Line, key: Key, event: dict[str, Any], status: int) -> None:
        line.refuse(now, key[1], status)
        line.forget(key[1])
        report = {"event": "refused", "line": line.name, "call": key[1]}
        self.tell({**report, "from": event["from"], "to": event["to"], "status": status})

    def _answer(self, now: int, party: Party) -> None:
        name, call = party.key
        self.lines[name].answer(now, call)
        party.connected, party.began_ns = True, now
        event = {"event": "answered", "line": name, "call": call}
        self.tell({**event, "from": party.number, "to": party.room})

    def _leave(self, key: Key, why: str, status: int | None = None) -> None:
        party = self.parties.pop(key, None)
        if party is None:
            return
        name, call = key
        self.lines[name].forget(call)
        seconds = (time.monotonic_ns() - party.began_ns) / 1e9 if party.began_ns else 0.0
        self.tell(
            {
                "event": why,
                "line": name,
                "call": call,
                "from": party.number,
                "to": party.room,
                **({} if status is None else {"status": status}),
                "seconds": round(seconds, 3),
                "sent": party.speech.sent,
                "received": party.speech.received,
                "lost": party.speech.lost,
            }
        )
        other = None if party.other is None else self.parties.get(party.other)
        if other is not None:
            # A room of two ends with either party. An unanswered caller receives the reason.
            now, (through, number) = time.monotonic_ns(), other.key
            if other.connected or other.made:
                self.lines[through].hang_up(now, number)
            else:
                self.lines[through].refuse(now, number, status if status and status >= 300 else 480)
            self._leave(other.key, why, status)
