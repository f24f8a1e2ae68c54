"""The reflector: answers the probes of senders with the key."""

from __future__ import annotations

import contextlib
import hmac
import os
import selectors
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from . import bulk, handshake, hardware, stamp
from .handshake import Message
from .load_server import Loads
from .sockets import Arrival, Clock, ahead, clock_error_s, opened, received, sibling
from .survey import watch_hop_limit

#: Time without a probe after which a session ends, in seconds.
IDLE_S: Final = 60.0
#: Maximum number of concurrent sessions.
MAX_SESSIONS: Final = 256
#: Period of cookies in seconds. Cookies of the current and of the previous period are valid.
_COOKIE_S: Final = 16


@dataclass
class Session:
    """A sender that has proved that it has the key and receives at its address."""

    number: int
    heard: float
    replies: int = 0
    #: Number of replies that the session may get now; grows at the allowed rate.
    allowance: float = 0.0
    #: Socket connected to the sender; None without a key, or if it could not be opened.
    sock: socket.socket | None = None


@dataclass
class Counts:
    """Counters of a reflector since its start."""

    sessions: int = 0
    replies: int = 0
    #: Probes of a session above the allowed rate.
    over_rate: int = 0
    #: Packets without a reply, because they were invalid or their sender was unknown.
    ignored: int = 0
    #: Loads that the reflector has served.
    transfers: int = 0


@dataclass
class _Reflector:
    sock: socket.socket
    key: bytes | None
    rate: float
    clock: Clock
    cards: hardware.Cards
    secret: bytes = field(default_factory=lambda: os.urandom(32))
    sessions: dict[tuple[object, ...], Session] = field(default_factory=dict)
    counts: Counts = field(default_factory=Counts)
    loads: Loads | None = None
    selector: selectors.BaseSelector = field(default_factory=selectors.DefaultSelector)
    error: int = stamp.UNSYNCHRONISED

    def answer(self, arrival: Arrival) -> None:
        """Answers a packet if it is allowed."""
        packet, sender = arrival.packet, arrival.sender
        now = time.monotonic()
        session = self.sessions.get(sender)
        if session is None and self.key is None and len(packet) >= stamp.PLAIN_BYTES:
            session = self._open(sender, now)
        if self.key is not None and packet.startswith(handshake.MAGIC):
            self._greet(packet, sender, now)
            return
        if self.loads is not None and self.loads.datagram(arrival):
            return
        if session is None:
            self.counts.ignored += 1
            return
        if not self._allowed(session, now):
            self.counts.over_rate += 1
            return
        try:
            probe = stamp.Probe.read(packet, self.key)
        except stamp.NotStampError:
            self.counts.ignored += 1
            return
        stamped = arrival.stamp
        arrived = self.clock() if stamped is None else stamped + ahead(self.clock)
        number, session.replies = session.replies, session.replies + 1
        reply = stamp.Reply(number, self.clock(), arrived, probe, self.error, max(0, min(arrival.ttl, 255)))
        self._send(reply.packed(self.key, len(packet)), sender)
        self.counts.replies += 1

    def run(self, should_continue: Callable[[], bool]) -> None:
        """Answers packets until ``should_continue`` returns false."""
        asked = 0.0
        while True:
            now = time.monotonic()
            if now - asked > 0.25:
                if not should_continue():
                    return
                self.error = stamp.error_estimate(clock_error_s())
                asked = now
            waiting = [key.fileobj for key, _ in self.selector.select(0.25)]
            # Verified senders come first; unknown senders get a small share of each round.
            for sock in sorted(waiting, key=lambda one: one is self.sock):
                assert isinstance(sock, socket.socket)
                self._drain(sock, 64 if sock is self.sock else 256)

    def _drain(self, sock: socket.socket, most: int) -> None:
        for _ in range(most):
            try:
                got = received(sock, self.cards.arrived)
            except OSError:
                return
            if got is None:
                return
            self.answer(got)

    def close(self) -> None:
        """Closes the sockets of all sessions."""
        for session in self.sessions.values():
            self._leave(session)
        self.selector.close()

    def _leave(self, session: Session) -> None:
        if session.sock is not None:
            self.selector.unregister(session.sock)
            session.sock.close()

    def _allowed(self, session: Session, now: float) -> bool:
        """Returns true if the session may get a reply now. Its bucket holds the replies of one
        second."""
        session.allowance = min(self.rate, session.allowance + (now - session.heard) * self.rate)
        session.heard = now
        if session.allowance < 1:
            return False
        session.allowance -= 1
        return True

    def _greet(self, packet: bytes, sender: tuple[object, ...], now: float) -> None:
        assert self.key is not None
        message = Message.read(packet, self.key)
        if message is None:
            self.counts.ignored += 1
            return
        period = int(now // _COOKIE_S)
        if message.kind == handshake.HELLO:
            cookie = self._cookie(sender, message.nonce, period)
            self._send(Message(handshake.CHALLENGE, message.nonce, cookie).packed(self.key), sender)
            return
        cookies = [self._cookie(sender, message.nonce, at) for at in (period, period - 1)]
        if message.kind != handshake.PROOF or message.cookie not in cookies:
            self.counts.ignored += 1
            return
        session = self._open(sender, now)
        if session is not None:
            welcome = Message(handshake.WELCOME, message.nonce, message.cookie, session.number)
            self._send(welcome.packed(self.key), sender)

    def _cookie(self, sender: tuple[object, ...], nonce: bytes, period: int) -> bytes:
        return hmac.digest(self.secret, repr((sender, nonce, period)).encode(), "sha256")[:16]

    def _open(self, sender: tuple[object, ...], now: float) -> Session | None:
        if sender in self.sessions:
            return self.sessions[sender]
        for address in [one for one, session in self.sessions.items() if now - session.heard > IDLE_S]:
            self._leave(self.sessions.pop(address))
        if len(self.sessions) >= MAX_SESSIONS:
            self.counts.ignored += 1
            return None
        self.counts.sessions += 1
        session = Session(self.counts.sessions % 65535 + 1, now, allowance=self.rate)
        self.sessions[sender] = session
        if self.key is not None and isinstance(self.sock, socket.socket):
            # A connected socket has its own buffer, which floods from other addresses do not fill.
            with contextlib.suppress(OSError):
                session.sock = sibling(self.sock, sender)
                self.selector.register(session.sock, selectors.EVENT_READ)
        return session

    def _send(self, packet: bytes, receiver: tuple[object, ...]) -> None:
        try:
            self.sock.sendto(packet, receiver)
        except OSError:
            # A full queue or an unreachable receiver counts as a lost packet.
            return


def reflect(
    address: str,
    port: int,
    key: bytes | None,
    *,
    rate: float = 1000.0,
    clock: Clock = time.time_ns,
    should_continue: Callable[[], bool],
    ready: Callable[[], None] = lambda: None,
) -> Counts:
    """Answers probes until ``should_continue``, called four times a second, returns false. Returns
    the counters.

    Without a key the reflector answers every packet that looks like a probe, like other reflectors
    of RFC 8762, at most ``rate`` per second and address. With a key it also takes part in loads, at
    the TCP port of the same number. ``clock`` is this host's time. Raises :class:`OSError` if the
    port cannot be opened.
    """
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with (
        contextlib.closing(hardware.of_host()) as cards,
        opened(family, hardware=bool(cards)) as sock,
        socket.socket(family, socket.SOCK_STREAM) as listener,
    ):
        if family == socket.AF_INET6:
            for one in (sock, listener):
                one.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        sock.bind((address, port))
        reflector = _Reflector(sock, key, rate, clock, cards)
        if key is not None:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind((address, port))
            # A connection that begins with BBR remains paced, even if its congestion control is
            # changed later.
            with contextlib.suppress(OSError):
                bulk.choose(listener, "reno")
            watch_hop_limit(listener)
            listener.listen(64)
            reflector.loads = Loads(listener, sock, key, clock)
        try:
            ready()
            reflector.selector.register(sock, selectors.EVENT_READ)
            reflector.run(should_continue)
        finally:
            reflector.close()
            if reflector.loads is not None:
                reflector.counts.transfers = reflector.loads.count
                reflector.loads.close()
        return reflector.counts
