"""The loads on the measuring host. Loads run one after the other, at the same time as the
probes."""

from __future__ import annotations

import contextlib
import re
import select
import socket
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from . import bulk, call, datagrams, page, transports
from .channel import Channel, ChannelError
from .datagrams import ARRIVED, HERE, Arrivals, Datagram, Records, read_records
from .load import Item, length
from .sockets import MonotonicClock, opened, received
from .survey import handshake
from .tcplog import COLUMNS, TcpLog, as_array

#: Pattern of the name of a transfer: sixteen bytes as hexadecimal digits.
NAME: Final = re.compile(r"[0-9a-f]{32}")
#: Time limit for an answer of the reflector, in seconds.
TIMEOUT_S: Final = 15.0
#: Maximum segment size of control connections in bytes.
CONTROL_SEGMENT: Final = 1000
#: Time limit in seconds for the reflector's report, which the reflector sends when the queue has
#: drained.
REPORT_S: Final = 60.0


@dataclass
class Outcome:
    """The record of a load. Times are in nanoseconds: departures by the sender's clock, arrivals by
    the receiver's clock."""

    item: Item
    #: Start of the load, by this host's steady clock.
    begin: int = 0
    #: Arrived bytes of a bulk transfer, in bins.
    counted: Records = field(default_factory=lambda: np.empty(0, dtype=bulk.COUNTED))
    #: Rows of :mod:`bentpipe.measure.tcplog`, the time first.
    tcp: NDArray[np.float64] = field(default_factory=lambda: as_array([]))
    #: The planned datagrams.
    pattern: Records = field(default_factory=lambda: np.empty(0, dtype=datagrams.PATTERN))
    #: Time of sending of each planned datagram; 0 if it was not sent.
    sent: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    #: The arrived datagrams.
    arrived: Records = field(default_factory=lambda: np.empty(0, dtype=ARRIVED))
    #: The handshake of a connection as seen by this host and by the reflector
    #: (:func:`bentpipe.measure.survey.handshake`), and the time from SYN to SYN-ACK in seconds.
    #: None for loads other than a survey.
    handshake: tuple[dict[str, int], dict[str, int], float] | None = None
    #: Pages, by :data:`bentpipe.measure.page.PAGE`.
    pages: Records = field(default_factory=lambda: np.empty(0, dtype=page.PAGE))
    #: The reason if the load ended early or could not start; otherwise None.
    trouble: str | None = None

    @property
    def is_up(self) -> bool:
        """True if the load is sent towards the reflector."""
        return self.item.load.direction == "up"


def ask(family: int, address: tuple[Any, ...], key: bytes) -> dict[str, Any]:
    """Asks a reflector for the properties of its host: the congestion controls, and
    :func:`bulk.receive_memory`.

    Raises :class:`ChannelError`.
    """
    with connected(family, address, controls=True) as sock:
        channel = Channel.opened(sock, key, TIMEOUT_S)
        channel.say({"do": "list"})
        return channel.hear(TIMEOUT_S)[0]


def connected(
    family: int, address: tuple[Any, ...], congestion: str | None = None, *, controls: bool = False
) -> socket.socket:
    """Returns a TCP connection. The segments of a control connection are small, so that they pass a
    network that drops large packets. Raises :class:`ChannelError`."""
    sock = socket.socket(family, socket.SOCK_STREAM)
    try:
        if controls:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, CONTROL_SEGMENT)
        if congestion is not None:
            bulk.choose(sock, congestion)
    except OSError as error:
        sock.close()
        allowed = f"allowed to this user: {', '.join(bulk.controls())}"
        raise ChannelError(
            f"congestion control {congestion}: {error.strerror or error}; {allowed}"
        ) from error
    try:
        sock.settimeout(TIMEOUT_S)
        sock.connect(address)
    except OSError as error:
        sock.close()
        raise ChannelError(f"TCP port {address[1]}: {error.strerror or error}") from error
    return sock


class Loads:
    """Runs loads in a thread until :meth:`close`. A load starts when its time has come and the
    previous load has ended."""

    def __init__(
        self,
        family: int,
        address: tuple[Any, ...],
        key: bytes,
        items: Sequence[Item],
        seed: int,
        steady: MonotonicClock,
    ) -> None:
        self._family, self._address, self._key, self._items = family, address, key, items
        self._steady = steady
        self._headers = 28 if family == socket.AF_INET else 48
        self._source = np.random.default_rng(seed)
        self._ending, self._busy = threading.Event(), threading.Event()
        self.outcomes: list[Outcome] = []
        #: Delay of the loads relative to their plan, in seconds.
        self.late = 0.0
        self._begin = time.monotonic()
        self._log = TcpLog() if any(item.load.kind == "tcp" for item in items) else None
        #: Ports at which the reflector receives the datagrams of the current load. None is the port
        #: at which the reflector receives probes.
        self._ports: set[int | None] = {None}
        self._thread = threading.Thread(target=self._run, name="loads", daemon=True)
        self._thread.start()

    @property
    def planned_s(self) -> float:
        """Planned end of the last load, in seconds since the start."""
        return max((item.end for item in self._items), default=0.0)

    @property
    def busy(self) -> bool:
        """True while a load is running."""
        return self._busy.is_set()

    @property
    def done(self) -> bool:
        """True when all loads have ended."""
        return not self._thread.is_alive()

    @property
    def notes(self) -> list[str]:
        """Notes for the user about the log of TCP."""
        if self._log is None:
            return []
        found = []
        if self._log.reason is not None:
            found.append(f"TCP_INFO every 10 ms instead of the kernel's log of TCP: {self._log.reason}")
        if self._log.lost:
            found.append(f"the kernel's log of TCP lost {self._log.lost} events")
        return found

    def close(self) -> None:
        """Ends the running load and keeps its results."""
        self._ending.set()
        self._thread.join(TIMEOUT_S)
        if self._log is not None:
            self._log.close()

    def _go_on(self) -> bool:
        return not self._ending.is_set()

    def _run(self) -> None:
        for item in self._items:
            wait = self._begin + item.start + self.late - time.monotonic()
            if self._ending.wait(max(0.0, wait)):
                return
            outcomes = [Outcome(one, self._steady.now()) for one in _parts(item)]
            self._busy.set()
            beside = [
                threading.Thread(target=self._outcome, args=(one,), daemon=True) for one in outcomes[1:]
            ]
            for thread in beside:
                thread.start()
            self._outcome(outcomes[0])
            for thread in beside:
                thread.join()
            self._busy.clear()
            if self._ending.is_set():
                for one in outcomes:
                    one.trouble = one.trouble or "stopped before it ended"
            self.outcomes += outcomes
            over = time.monotonic() - self._begin - item.start - length(item.load)
            self.late = max(self.late, over)

    def _outcome(self, outcome: Outcome) -> None:
        load = outcome.item.load
        try:
            if load.kind == "survey":
                outcome.handshake = self._handshake()
            if load.kind == "page":
                self._pages(outcome)
            else:
                getattr(self, f"_{'tcp' if load.kind == 'tcp' else 'udp'}_{load.direction}")(outcome)
        except ChannelError as error:
            outcome.trouble = str(error)
        except OSError as error:
            outcome.trouble = error.strerror or str(error)

    def _pages(self, outcome: Outcome) -> None:
        item = outcome.item
        channel, name = self._asked(item, seconds=page.TIMEOUT_S * item.load.pages)
        browser = page.Browser(
            self._family, self._address, name, item.load.objects, item.load.object, self._steady.now
        )
        with channel.sock, contextlib.closing(browser):
            outcome.begin = self._steady.now()
            try:
                while len(browser.pages) < item.load.pages and self._go_on():
                    browser.fetch(self._go_on)
            finally:
                outcome.pages = browser.records()

    def _handshake(self) -> tuple[dict[str, int], dict[str, int], float]:
        begin = time.monotonic()
        with connected(self._family, self._address) as sock:
            syn_s = time.monotonic() - begin
            channel = Channel.opened(sock, self._key, TIMEOUT_S)
            channel.say({"do": "handshake"})
            answer = self._checked(channel.hear(TIMEOUT_S)[0])
            here = handshake(sock)
        if not all(isinstance(answer.get(key), int) for key in (*here, "hop_limit")):
            raise ChannelError("a report that cannot be read")
        return here, answer, syn_s

    def _asked(self, item: Item, data: bytes = b"", seconds: float | None = None) -> tuple[Channel, bytes]:
        """Requests a load from the reflector. Returns the control connection and the name of the
        transfer when the reflector has accepted the load."""
        sock = connected(self._family, self._address, controls=True)
        channel = Channel.opened(sock, self._key, TIMEOUT_S)
        load = item.load
        request = {
            "do": load.kind if load.kind in ("tcp", "page") else "udp",
            "direction": load.direction,
            "seconds": seconds or load.duration,
            "congestion": item.congestion,
            "segments": load.segments,
        }
        if load.kind == "call":
            request["codec"] = load.codec
        if load.kind == "page":
            request["object"] = load.object
        if load.kind == "transports":
            request["port"] = transports.PORT
        try:
            channel.say(request, data)
            answer = self._checked(channel.hear(TIMEOUT_S)[0])
            name, port = answer.get("name"), answer.get("port")
            if not isinstance(name, str) or not NAME.fullmatch(name):
                raise ChannelError("an answer that cannot be read")
        except BaseException:
            channel.sock.close()
            raise
        self._ports = {None, port if isinstance(port, int) else None}
        return channel, bytes.fromhex(name)

    def _destination(self, item: Item, lane: int) -> tuple[Any, ...] | None:
        """Returns the destination of the datagrams of a lane, or None if the reflector has not
        opened this port."""
        if item.load.kind != "transports":
            return self._address
        _, port = transports.WAYS[lane]
        if port not in self._ports:
            return None
        return self._address if port is None else (self._address[0], port, *self._address[2:])

    @staticmethod
    def _checked(answer: dict[str, Any]) -> dict[str, Any]:
        if "error" in answer:
            raise ChannelError(f"the reflector refuses: {answer['error']}")
        return answer

    def _tcp_up(self, outcome: Outcome) -> None:
        item = outcome.item
        channel, name = self._asked(item)
        # A flow begins with its SYN and ends after its duration, as in scenarios.
        outcome.begin, begin = self._steady.now(), time.monotonic()
        with channel.sock, connected(self._family, self._address, item.congestion) as sock:
            assert self._log is not None
            number = self._log.watch(sock)
            sock.sendall(name)
            outcome.trouble = bulk.send(sock, item.load.duration - time.monotonic() + begin, self._go_on)
            self._log.unwatch(number)
            bulk.reset(sock)
            channel.say({"ended": True})
            answer, data = channel.hear(REPORT_S)
            outcome.counted = _records(data, bulk.COUNTED)
            self._checked(answer)
        # A separate thread reads the log, with a delay of about 50 ms.
        time.sleep(0.1)
        outcome.tcp = as_array(self._log.rows[number])
        outcome.tcp[:, 0] += self._steady.shift_ns

    def _tcp_down(self, outcome: Outcome) -> None:
        item = outcome.item
        channel, name = self._asked(item)
        before = self._steady.now()
        with channel.sock, connected(self._family, self._address) as sock:
            # A flow from the reflector would have begun with a SYN when this host's SYN arrived
            # there.
            outcome.begin = (before + self._steady.now()) // 2
            sock.sendall(name)
            end = time.monotonic() + item.load.duration + REPORT_S
            got = bulk.receive(sock, self._steady.now, lambda: self._go_on() and time.monotonic() < end)
            late = time.monotonic() >= end
            outcome.counted = got.counted()
            answer, data = channel.hear(REPORT_S)
            self._checked(answer)
            rows = _records(data, np.dtype("<f8"))
            if len(rows) % (1 + len(COLUMNS)) == 0:
                outcome.tcp = rows.reshape(-1, 1 + len(COLUMNS))
            ended = answer.get("ended")
            outcome.trouble = None if ended is None else str(ended)
            if late:
                outcome.trouble = f"it was still running {REPORT_S:g} s after its planned end"

    def _udp_up(self, outcome: Outcome) -> None:
        item = outcome.item
        outcome.pattern = item.load.pattern(self._source)
        channel, name = self._asked(item, seconds=max(item.load.duration, float(outcome.pattern["at"][-1])))
        with channel.sock, contextlib.ExitStack() as stack:
            lanes = [
                None if where is None else (stack.enter_context(opened(self._family)), where)
                for where in (self._destination(item, lane) for lane in _lanes(outcome))
            ]
            outcome.begin = self._steady.now()
            outcome.sent = datagrams.send(
                lanes,
                _form(item, name, outcome.pattern),
                outcome.pattern,
                self._steady.now,
                self._headers,
                self._go_on,
                item.load.segments,
            )
            channel.say({"sent": int((outcome.sent > 0).sum()), "quiet": item.load.quiet})
            answer, data = channel.hear(REPORT_S)
            self._checked(answer)
            outcome.arrived = _records(data, ARRIVED)

    def _take(self, item: Item, socks: Sequence[socket.socket], name: bytes, found: Arrivals) -> bool:
        """Receives the waiting datagrams of a transfer. Returns true if at least one was
        waiting."""
        before = len(found.rows)
        for sock in socks:
            while (got := received(sock)) is not None:
                number = _number(item, name, got.packet)
                if number is not None:
                    stamp = time.time_ns() if got.stamp is None else got.stamp
                    found.add(number, got, self._steady.of(stamp), self._headers)
        return len(found.rows) > before

    def _udp_down(self, outcome: Outcome) -> None:
        item = outcome.item
        outcome.pattern = item.load.pattern(self._source)
        span = float(outcome.pattern["at"][-1])
        channel, name = self._asked(item, outcome.pattern.tobytes(), span + 1)
        found, answer, data = Arrivals(), None, b""
        with channel.sock, contextlib.ExitStack() as stack:
            socks = [stack.enter_context(opened(self._family)) for _ in _lanes(outcome)]
            outcome.begin = self._steady.now()
            asked, heard = 0.0, time.monotonic()
            end = heard + span + REPORT_S
            while self._go_on() and time.monotonic() < end:
                now = time.monotonic()
                if answer is not None and now - heard > item.load.quiet:
                    break
                if not found.rows and now - asked > 0.2:
                    asked = now
                    for lane, sock in enumerate(socks):
                        if (where := self._destination(item, lane)) is not None:
                            sock.sendto(_shown(item, name, lane), where)
                ready, _, _ = select.select(
                    [*socks, *([channel.sock] if answer is None else [])], [], [], 0.1
                )
                if self._take(item, socks, name, found):
                    heard = time.monotonic()
                if channel.sock in ready:
                    answer, data = channel.hear(TIMEOUT_S)
                    heard = time.monotonic()
        outcome.arrived = found.records()
        if answer is None:
            raise ChannelError("the reflector did not report in time")
        self._checked(answer)
        outcome.sent = _records(data, np.dtype("<i8"))


def _parts(item: Item) -> list[Item]:
    """Returns the loads of one direction that run concurrently: the two directions of a call, or
    the load itself."""
    if item.load.kind != "call":
        return [item]
    return [item, replace(item, name=f"{item.name}.reverse", load=replace(item.load, direction="down"))]


def _shown(item: Item, name: bytes, lane: int) -> bytes:
    """Returns the datagram that reports the receiving address of a lane."""
    packet = Datagram(name, HERE - lane, 0).packed(0)
    is_quic = item.load.kind == "transports" and transports.WAYS[lane][0] == "quic"
    return transports.initial(name, 0, packet.ljust(transports.MIN_DATAGRAM, b"\0")) if is_quic else packet


def _form(item: Item, name: bytes, pattern: Records) -> datagrams.Form:
    if item.load.kind == "transports":
        return transports.form(name, pattern["lane"])
    if item.load.kind != "call":
        return datagrams.plain(name)
    codec = call.codec_of(item.load.codec)
    return lambda number, _now, _size: call.packed(name, number, codec)


def _number(item: Item, name: bytes, packet: bytes) -> int | None:
    """Returns the number of a datagram of the transfer ``name``, or ``None`` if the packet is not
    such a datagram."""
    if item.load.kind != "call":
        datagram = Datagram.read(transports.unwrapped(packet))
        return datagram.number if datagram is not None and datagram.name == name else None
    found = call.read(packet, call.codec_of(item.load.codec).units)
    return found[1] if found is not None and found[0] == name[: call.SSRC] else None


def _lanes(outcome: Outcome) -> range:
    return range(int(outcome.pattern["lane"].max(initial=0)) + 1)


def _records(data: bytes, kind: np.dtype[Any]) -> Records:
    found = read_records(data, kind)
    if found is None:
        raise ChannelError("a report that cannot be read")
    return found.copy()
