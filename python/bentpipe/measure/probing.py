"""The sender: sends probes by a plan and records the replies."""

from __future__ import annotations

import contextlib
import os
import select
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from bentpipe.errors import InputError

from . import bulk, echo, handshake, hardware, load_client, stamp
from .channel import ChannelError
from .handshake import Message
from .load import HEADERS, Item, schedule
from .plan import Plan
from .sockets import MonotonicClock, clock_error_s, departures, opened, received

#: Seconds to wait for an answer in each attempt of the handshake.
TRIES: Final = (1.0, 2.0, 3.0, 4.0)
#: Seconds to wait for replies after the last probe.
LAST_S: Final = 3.0

#: The arrays of a measurement, in their order.
FIELDS: Final = ("size", "train", "sent", "arrived", "left", "returned", "reply", "ttl")

Numbers = NDArray[np.int64]


@dataclass
class Measured:
    """The raw data of a measurement: each array has one entry per packet sent. Times are in
    nanoseconds: ``sent`` and ``returned`` by this host's steady clock, ``arrived`` and ``left`` by
    the reflector's clock. ``returned`` is 0 for packets without a reply."""

    plan: Plan
    size: Numbers
    train: Numbers
    sent: Numbers
    arrived: Numbers
    left: Numbers
    returned: Numbers
    #: The reflector's number of each reply.
    reply: Numbers
    #: Hop limit of each probe on arrival.
    ttl: Numbers
    #: True for a reflector of bentpipe, which numbers its replies independently.
    numbers_replies: bool = False
    #: Duplicate replies.
    duplicates: int = 0
    complete: bool = True
    started: float = field(default_factory=time.time)
    #: Errors of the clocks as reported by their hosts, in seconds; None for an unsynchronised
    #: clock.
    clock_error_s: float | None = None
    reflector_error_s: float | None = None
    #: Maximum time by which this host's wall clock was set or slewed during the measurement, in
    #: seconds.
    clock_moved_s: float = 0.0
    #: True if the kernel stamped the departures of probes, and the arrivals of replies.
    kernel_sent: bool = True
    kernel_received: bool = True
    #: Number of probes that the network card stamped at departure, and of replies at arrival; and
    #: the reason if none.
    hardware_sent: int = 0
    hardware_received: int = 0
    no_hardware: str | None = None
    #: Times of each ICMP echo request and of its reply (0 without one); and the reason if none was
    #: sent.
    echoes: Numbers = field(default_factory=lambda: np.empty((0, 2), dtype=np.int64))
    no_echoes: str | None = None
    #: Initial receive window of TCP at both hosts in bytes, by :func:`bulk.window_start`.
    window_start: int | None = None
    #: Outcomes of the loads, in the order of their run.
    outcomes: list[load_client.Outcome] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def replied(self) -> NDArray[np.bool_]:
        """True for each packet with a reply."""
        return self.returned > 0


def resolved(host: str, port: int) -> tuple[int, tuple[object, ...]]:
    """Returns family and address of a host. Raises :class:`bentpipe.InputError`."""
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_DGRAM)[0]
    except OSError as error:
        raise InputError(f"{host} has no address: {error.strerror or error}") from error
    return family, address


def probe(
    host: str,
    port: int,
    plan: Plan,
    key: bytes | None,
    *,
    seed: int = 1,
    advance: Callable[[float], bool] = lambda _: True,
    remaining: Callable[[list[Item]], list[Item]] = lambda items: items,
    departures_stamped: bool = True,
) -> Measured:
    """Measures the path to a reflector by a plan. ``remaining`` selects the loads to run.

    The kernel stamps departures behind the queue of the interface. Without ``departures_stamped``,
    the times of sending are those of the calls, so that this queue belongs to the path.

    ``advance`` receives the fraction done about ten times a second; if it returns false, the
    measurement ends and its data are kept. Raises :class:`bentpipe.InputError` if the host has no
    address or no reflector answers.
    """
    family, address = resolved(host, port)
    if plan.loads and key is None:
        raise InputError(
            "a plan with loads needs --key, because a reflector without a key answers only probes"
        )
    card = hardware.of_route(family, address) if departures_stamped else "not used"
    used = card if isinstance(card, hardware.Card) else None
    with contextlib.ExitStack() as stack:
        if used is not None:
            stack.callback(used.close)
        sock = stack.enter_context(opened(family, departing=departures_stamped, hardware=used is not None))
        sock.connect(address)
        shaken = 0
        session = 0
        if key is not None:
            session, shaken = _shake(sock, key, host, port)
        sender = _Sender(sock, plan, key, session, shaken, host, port, card)
        pings = echo.Echoes(family, address, plan.icmp, seed, sender.steady)
        if not plan.loads or key is None:
            with pings:
                seen = sender.run(seed, advance)
            return _with(seen, pings)
        try:
            offered = load_client.ask(family, address, key)
            said = offered.get("congestion", [])
            there = [name for name in said if isinstance(name, str)] if isinstance(said, list) else []
        except ChannelError as error:
            raise InputError(
                f"{host} answers probes, but accepts no loads: {error}. Loads need TCP port {port} of the "
                "reflector"
            ) from error
        items = remaining(schedule(plan.loads, bulk.controls(), there, seed))
        sender.loads = load_client.Loads(family, address, key, items, seed, sender.steady)
        try:
            with pings:
                seen = sender.run(seed, advance)
            seen.window_start = bulk.window_start(bulk.receive_memory(), offered.get("receive_memory"))
            return _with(seen, pings)
        finally:
            sender.loads.close()


def _with(seen: Measured, pings: echo.Echoes) -> Measured:
    seen.echoes, seen.no_echoes = pings.rows(), pings.trouble
    return seen


def _shake(sock: socket.socket, key: bytes, host: str, port: int) -> tuple[int, int]:
    """Returns the session's number from the reflector, and the number of packets sent."""
    count, answer = 0, Message(handshake.HELLO, os.urandom(16))
    for kind, expected in ((handshake.HELLO, handshake.CHALLENGE), (handshake.PROOF, handshake.WELCOME)):
        message, found = Message(kind, answer.nonce, answer.cookie), None
        for wait in TRIES:
            found = _ask(sock, message, expected, key, wait, host, port)
            count += 1
            if found is not None:
                break
        if found is None:
            raise InputError(
                f"no answer from {host}, port {port}, within {sum(TRIES):g} s: the reflector is not "
                "running, cannot be reached, or has another key (it does not answer senders with a wrong "
                "key)"
            )
        answer = found
    return answer.session, count


def _ask(
    sock: socket.socket, message: Message, expected: int, key: bytes, wait: float, host: str, port: int
) -> Message | None:
    end = time.monotonic() + wait
    try:
        sock.send(message.packed(key))
        while (left := end - time.monotonic()) > 0:
            select.select([sock], [], [], left)
            departures(sock)
            while (got := received(sock)) is not None:
                answer = Message.read(got.packet, key)
                if answer is not None and answer.kind == expected and answer.nonce == message.nonce:
                    return answer
    except ConnectionRefusedError:
        raise InputError(f"{host} refuses packets to port {port}: no reflector is running there") from None
    except OSError as error:
        raise InputError(f"{host} cannot be reached: {error.strerror or error}") from error
    return None


class _Sender:
    def __init__(
        self,
        sock: socket.socket,
        plan: Plan,
        key: bytes | None,
        session: int,
        shaken: int,
        host: str,
        port: int,
        card: hardware.Card | str,
    ) -> None:
        self.card = card
        self._arrived = card.arrived if isinstance(card, hardware.Card) else lambda _index, _stamp: None
        self._left = card.left if isinstance(card, hardware.Card) else lambda _: None
        self.sock, self.plan, self.key, self.session = sock, plan, key, session
        self.shaken, self.host, self.port = shaken, host, port
        self.steady = MonotonicClock()
        self.notes: dict[str, None] = {}
        self.loads: load_client.Loads | None = None
        #: Plan numbers of the sent packets; the index in this list is the number on the wire.
        self.order: list[int] = []
        #: Number of departures stamped by the kernel or the card.
        self.stamped = 0

    def run(self, seed: int, advance: Callable[[float], bool]) -> Measured:
        """Sends all packets and waits for the replies."""
        loads, duration = self.loads, self.plan.duration
        if loads is not None:
            # Loads may take longer than planned; probes last until they have ended.
            duration = max(duration, loads.planned_s)
        packets = list(self.plan.packets(seed, duration if loads is None else 2 * duration + 60))
        size, train = (np.array([packet[n] for packet in packets], dtype=np.int64) for n in (1, 2))
        seen = Measured(self.plan, size, train, *np.zeros((6, len(packets)), dtype=np.int64))
        begin = time.monotonic()
        asked, number, wanted = 0.0, 0, True
        last = len(packets)
        while wanted:
            now = time.monotonic() - begin
            if loads is not None and loads.done and now >= duration:
                last = min(last, number)
            due = packets[number][0] if number < last else max(duration, packets[last - 1][0]) + LAST_S
            if now - asked > 0.1:
                asked = now
                whole = duration + LAST_S + (loads.late if loads else 0.0)
                wanted = advance(min(1.0, now / whole))
                self._stamps(seen)
            if now < due:
                if select.select([self.sock], [], [], min(due - now, 0.1))[0]:
                    # Stamps of departures also make the socket readable.
                    self._stamps(seen)
            elif number < last:
                # A train in the middle of a load would measure neither.
                if packets[number][2] < 0 or loads is None or not loads.busy:
                    self._send(seen, number)
                number += 1
            else:
                break
            self._receive(seen)
            if number == last and seen.replied[:number].all():
                break
        if loads is not None:
            loads.close()
            seen.outcomes = loads.outcomes
            self.notes |= dict.fromkeys(loads.notes)
        self._stamps(seen)
        seen.complete = wanted
        seen.kernel_sent = self.stamped > 0 or not self.order
        seen.numbers_replies = self.key is not None
        seen.clock_error_s = clock_error_s()
        seen.clock_moved_s = self.steady.moved / 1e9
        if isinstance(self.card, hardware.Card):
            seen.hardware_sent, seen.hardware_received = self.card.sent, self.card.received
            if not self.card.sent:
                seen.no_hardware = "the network card stamped no sent packet"
        else:
            seen.no_hardware = self.card
        seen.notes += self.notes
        return _first(seen, number)

    def _send(self, seen: Measured, number: int) -> None:
        now = time.time_ns()
        packet = stamp.Probe(len(self.order), now, self.session, stamp.error_estimate(clock_error_s()))
        try:
            self.sock.send(packet.packed(self.key, int(seen.size[number]) - HEADERS))
        except BlockingIOError:
            self.notes["this host could not send some probes when they were due"] = None
        except OSError as error:
            self._failed(error)
        else:
            seen.sent[number] = self.steady.of(now)
            self.order.append(number)

    def _failed(self, error: OSError) -> None:
        if isinstance(error, ConnectionRefusedError):
            self.notes[f"{self.host} refused packets to port {self.port}: no reflector was running there"] = (
                None
            )
        else:
            self.notes[f"{self.host} could not be reached: {error.strerror or error}"] = None

    def _receive(self, seen: Measured) -> None:
        while True:
            try:
                got = received(self.sock, self._arrived)
            except OSError as error:
                self._failed(error)
                return
            if got is None:
                return
            packet, stamped = got.packet, got.stamp
            try:
                reply = stamp.Reply.read(packet, self.key)
            except stamp.NotStampError:
                continue
            if reply.probe.sequence >= len(self.order):
                continue
            number = self.order[reply.probe.sequence]
            if seen.returned[number]:
                seen.duplicates += 1
                continue
            seen.kernel_received = seen.kernel_received and stamped is not None
            seen.returned[number] = self.steady.of(time.time_ns() if stamped is None else stamped)
            seen.arrived[number], seen.left[number] = reply.received_ns, reply.time_ns
            seen.reply[number], seen.ttl[number] = reply.sequence, reply.ttl
            seen.reflector_error_s = stamp.error_s(reply.error)

    def _stamps(self, seen: Measured) -> None:
        """Replaces the times of the send calls by the kernel's or the card's times of departure."""
        for number, stamped in departures(self.sock, self._left):
            own = number - self.shaken
            if 0 <= own < len(self.order):
                self.stamped += 1
                seen.sent[self.order[own]] = self.steady.of(stamped)


def _first(seen: Measured, count: int) -> Measured:
    """Returns the data of the first packets."""
    taken = np.flatnonzero(seen.sent[:count])
    for name in FIELDS:
        setattr(seen, name, getattr(seen, name)[taken])
    return seen
