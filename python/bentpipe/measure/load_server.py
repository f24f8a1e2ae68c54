"""The loads on the reflector: transfers in both directions, requested by hosts that have the
key."""

from __future__ import annotations

import contextlib
import os
import select
import socket
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from . import bulk, call, datagrams, page, transports
from .channel import MAGIC, NUMBER, Channel, ChannelError, exactly
from .datagrams import HERE, LANES, PATTERN, Arrivals, Datagram, read_records
from .load import MAX_SEGMENTS
from .sockets import Arrival, Clock, ahead, apart, opened, received, sibling
from .survey import handshake, hop_limit
from .tcplog import TcpLog, as_array, round_trip

#: Maximum duration of a transfer, in seconds.
MAX_DURATION_S: Final = 3600.0
#: Maximum number of concurrent connections.
MAX_CONNECTIONS: Final = 64
#: Time limit for a new connection to prove that the other host has the key, in seconds.
GREETING_S: Final = 10.0
#: Time limit for the begin of a requested transfer, in seconds.
TIMEOUT_S: Final = 30.0
#: Time limit for the first datagram of each variant of a load with several variants, in seconds.
FIRST_DATAGRAM_S: Final = 3.0
#: Time in seconds for which data may still arrive after the sender has ended.
GRACE_S: Final = 3.0


@dataclass
class Transfer:
    """A transfer that a measuring host has requested. ``host`` is the address of this host."""

    host: str
    joined: threading.Event = field(default_factory=threading.Event)
    sock: socket.socket | None = None
    #: Addresses of the lanes of a load of datagrams, and their number.
    addresses: dict[int, tuple[object, ...]] = field(default_factory=dict)
    lanes: int = 1
    ended: bool = False
    #: True if the load tries several variants, some of which may be blocked.
    tried: bool = False
    arrivals: Arrivals = field(default_factory=Arrivals)
    #: Increment of the time stamps of a call; 0 for another load.
    units: int = 0
    #: Second port that receives and sends datagrams; None without one.
    further: socket.socket | None = None
    #: Size of the objects of a page, 0 for another load, and the function that sets the congestion
    #: control.
    object: int = 0
    congestion: str | None = None


@dataclass(frozen=True)
class Request:
    """A request of a measuring host, and its control connection."""

    channel: Channel
    transfer: Transfer
    seconds: float
    message: dict[str, Any]
    data: bytes
    name: bytes


class Loads:
    """Serves control connections and transfers at a TCP port, in separate threads."""

    def __init__(self, listener: socket.socket, udp: socket.socket, key: bytes, clock: Clock) -> None:
        self._listener, self._udp, self._key, self._clock = listener, udp, key, clock
        self._transfers: dict[bytes, Transfer] = {}
        #: Transfers that are calls, by the SSRC of their packets.
        self._calls: dict[bytes, Transfer] = {}
        self._ending = threading.Event()
        self._room = threading.BoundedSemaphore(MAX_CONNECTIONS)
        self._log: TcpLog | None = None
        self._thread = threading.Thread(target=self._accept, name="loads", daemon=True)
        self._thread.start()
        #: Transfers served so far.
        self.count = 0

    def close(self) -> None:
        """Ends all transfers and closes the log."""
        self._ending.set()
        self._thread.join(5)
        if self._log is not None:
            self._log.close()

    def datagram(self, arrival: Arrival) -> bool:
        """Handles a datagram of a load. Returns true if its transfer is known."""
        if arrival.packet[:1] == call.FIRST and self._calls:
            return self._speech(arrival)
        found = Datagram.read(transports.unwrapped(arrival.packet))
        transfer = self._transfers.get(found.name) if found is not None else None
        if found is None or transfer is None:
            return False
        if HERE - found.number < LANES:
            # Loads are sent only to an address that has proved by a TCP connection that it receives
            # packets.
            if str(arrival.sender[0]) == transfer.host:
                transfer.addresses.setdefault(HERE - found.number, arrival.sender)
                if len(transfer.addresses) == transfer.lanes:
                    transfer.joined.set()
            return True
        self._arrived(transfer, found.number, arrival)
        return True

    def _speech(self, arrival: Arrival) -> bool:
        transfer = self._calls.get(arrival.packet[call.PLACE : call.PLACE + call.SSRC])
        found = call.read(arrival.packet, transfer.units) if transfer is not None else None
        if transfer is None or found is None or str(arrival.sender[0]) != transfer.host:
            return False
        self._arrived(transfer, found[1], arrival)
        return True

    def _arrived(self, transfer: Transfer, number: int, arrival: Arrival) -> None:
        arrived = self._clock() if arrival.stamp is None else arrival.stamp + ahead(self._clock)
        headers = 28 if "." in str(arrival.sender[0]) else 48
        transfer.arrivals.add(number, arrival, arrived, headers)

    def _accept(self) -> None:
        self._listener.settimeout(0.25)
        while not self._ending.is_set():
            try:
                sock, address = self._listener.accept()
            except OSError:
                continue
            if not self._room.acquire(blocking=False):
                sock.close()
                continue
            thread = threading.Thread(target=self._serve, args=(sock, str(address[0])), daemon=True)
            thread.start()

    def _serve(self, sock: socket.socket, host: str) -> None:
        try:
            end = time.monotonic() + GREETING_S
            first = exactly(sock, NUMBER, end)
            if first == MAGIC:
                with sock:
                    self._talk(Channel.accepted(sock, self._key, end), host)
                return
            transfer = self._transfers.get(first)
            if transfer is not None and transfer.object and host == transfer.host:
                with sock:
                    self._answer(sock, transfer)
                return
            if transfer is None or transfer.sock is not None:
                sock.close()
                return
            # The thread of the control connection owns the socket from here.
            transfer.sock = sock
            transfer.joined.set()
        except (ChannelError, OSError):
            sock.close()
        finally:
            self._room.release()

    def _answer(self, sock: socket.socket, transfer: Transfer) -> None:
        if transfer.congestion is not None:
            bulk.choose(sock, transfer.congestion)
        page.answer(sock, transfer.object, lambda: not (self._ending.is_set() or transfer.ended))

    def _talk(self, channel: Channel, host: str) -> None:
        message, data = channel.hear(GREETING_S)
        if message.get("do") == "list":
            offered = {"congestion": bulk.controls(), "receive_memory": bulk.receive_memory()}
            channel.say(offered | {"clock": self._clock()})
            return
        if message.get("do") == "handshake":
            channel.say(handshake(channel.sock) | {"hop_limit": hop_limit(channel.sock)})
            return
        seconds = message.get("seconds")
        if not isinstance(seconds, int | float) or not 0 < seconds <= MAX_DURATION_S:
            channel.say({"error": f"seconds = {seconds!r}; allowed: above 0, up to {MAX_DURATION_S:g}"})
            return
        kinds = {
            ("tcp", "up"): self._sink,
            ("tcp", "down"): self._source,
            ("udp", "up"): self._collect,
            ("udp", "down"): self._emit,
            ("page", "up"): self._pages,
        }
        serve = kinds.get((str(message.get("do")), str(message.get("direction"))))
        if serve is None:
            channel.say({"error": "unknown transfer"})
            return
        name = os.urandom(NUMBER)
        transfer = self._transfers[name] = Transfer(host)
        try:
            refusal = self._prepare(transfer, message, name)
            if refusal is not None:
                channel.say({"error": refusal})
                return
            port = None if transfer.further is None else message["port"]
            channel.say({"name": name.hex(), "clock": self._clock(), "port": port})
            serve(Request(channel, transfer, float(seconds), message, data, name))
            self.count += 1
        finally:
            transfer.ended = True
            del self._transfers[name]
            self._calls.pop(name[: call.SSRC], None)
            if transfer.sock is not None:
                bulk.reset(transfer.sock)
            if transfer.further is not None:
                transfer.further.close()

    def _listen(self, transfer: Transfer) -> None:
        """Receives datagrams at the second port of a transfer until the transfer has ended."""
        sock = transfer.further
        assert sock is not None
        while not (transfer.ended or self._ending.is_set()):
            try:
                if select.select([sock], [], [], 0.1)[0] and (got := received(sock)) is not None:
                    self.datagram(got)
            except (OSError, ValueError):
                # The socket was closed, or a client has disconnected.
                continue

    def _prepare(self, transfer: Transfer, message: dict[str, Any], name: bytes) -> str | None:
        """Reads the parameters of a call or a page before it begins. Returns the reason if the
        request is refused."""
        if (codec := message.get("codec")) is not None:
            try:
                transfer.units = call.codec_of(codec).units
            except (KeyError, TypeError):
                return f"codec = {codec!r}; unknown codec"
            self._calls[name[: call.SSRC]] = transfer
        if message.get("port") is not None:
            # Only the port of HTTP/3 may be requested; a reflector without privileges cannot open
            # it.
            if message["port"] != transports.PORT:
                return f"port = {message['port']!r}; allowed: {transports.PORT}"
            transfer.tried = True
            sock = opened(self._udp.family)
            try:
                sock.bind((self._udp.getsockname()[0], transports.PORT))
            except OSError:
                sock.close()
            else:
                transfer.further = sock
                threading.Thread(target=self._listen, args=(transfer,), daemon=True).start()
        if message.get("do") == "page":
            size = message.get("object")
            if not isinstance(size, int) or not 0 < size <= page.MAX_OBJECT:
                return f"object = {size!r}; allowed: 1 to {page.MAX_OBJECT} bytes"
            wanted = message.get("congestion")
            if wanted is not None and not bulk.can_choose(str(wanted)):
                return f"congestion control {wanted}: not available at the reflector"
            transfer.object, transfer.congestion = size, None if wanted is None else str(wanted)
        return None

    def _pages(self, asked: Request) -> None:
        # The browser's connections have their own threads, until the browser closes this one.
        until = self._until(time.monotonic() + asked.seconds + TIMEOUT_S)
        while until() and not select.select([asked.channel.sock], [], [], 0.25)[0]:
            pass

    def _until(self, end: float) -> Callable[[], bool]:
        return lambda: time.monotonic() < end and not self._ending.is_set()

    def _joined(self, asked: Request) -> bool:
        if asked.transfer.joined.wait(TIMEOUT_S):
            return True
        asked.channel.say({"error": f"no data of the transfer arrived within {TIMEOUT_S:g} s"})
        return False

    def _sink(self, asked: Request) -> None:
        if not self._joined(asked) or asked.transfer.sock is None:
            return
        ended: list[float] = []

        def should_continue() -> bool:
            # Queued data may arrive long after it was sent. The sender also reports its end, in
            # case its reset is lost.
            if not ended and select.select([asked.channel.sock], [], [], 0)[0]:
                ended.append(time.monotonic() + GRACE_S)
            return until() and (not ended or time.monotonic() < ended[0])

        until = self._until(time.monotonic() + asked.seconds + TIMEOUT_S)
        got = bulk.receive(asked.transfer.sock, self._clock, should_continue)
        asked.channel.say({"total": got.total}, got.counted().tobytes())

    def _source(self, asked: Request) -> None:
        sock = asked.transfer.sock if self._joined(asked) else None
        if sock is None:
            return
        wanted = str(asked.message.get("congestion"))
        try:
            bulk.choose(sock, wanted)
        except OSError as error:
            asked.channel.say({"error": f"congestion control {wanted}: {error.strerror}"})
            return
        if self._log is None:
            self._log = TcpLog()
        number = self._log.watch(sock)
        # A flow of its own would have begun with a SYN, a round-trip time before its first data.
        seconds = asked.seconds - (round_trip(sock) or 0.0)
        ended = bulk.send(sock, seconds, self._until(time.monotonic() + seconds))
        self._log.unwatch(number)
        bulk.reset(sock)
        # A separate thread reads the log, with a delay of about 50 ms.
        time.sleep(0.1)
        rows = as_array(self._log.rows.pop(number))
        if len(rows):
            rows[:, 0] += apart(self._clock, time.monotonic_ns)
        message = {"ended": ended, "reason": self._log.reason, "lost": self._log.lost}
        asked.channel.say(message, rows.tobytes())

    def _collect(self, asked: Request) -> None:
        said, _data = asked.channel.hear(asked.seconds + TIMEOUT_S)
        wanted, quiet = said.get("sent", 0), said.get("quiet", 2.0)
        if (
            not isinstance(wanted, int)
            or not isinstance(quiet, int | float)
            or not 0 <= quiet <= MAX_DURATION_S
        ):
            asked.channel.say({"error": f"sent = {wanted!r}, quiet = {quiet!r}; allowed: numbers"})
            return
        arrivals = asked.transfer.arrivals
        count, since = -1, time.monotonic()
        until = self._until(since + MAX_DURATION_S)
        while until() and len(arrivals.rows) < wanted and time.monotonic() < since + quiet:
            if len(arrivals.rows) != count:
                count, since = len(arrivals.rows), time.monotonic()
            time.sleep(0.02)
        asked.channel.say({}, arrivals.records().tobytes())

    @staticmethod
    def _form(asked: Request, pattern: datagrams.Records) -> datagrams.Form:
        if asked.transfer.tried:
            return transports.form(asked.name, pattern["lane"])
        if not asked.transfer.units:
            return datagrams.plain(asked.name)
        codec = call.codec_of(str(asked.message["codec"]))
        return lambda number, _now, _size: call.packed(asked.name, number, codec)

    def _port(self, transfer: Transfer, lane: int) -> socket.socket:
        """Returns the socket that sends the datagrams of a lane."""
        own = not transfer.tried or transports.WAYS[lane][1] is None or transfer.further is None
        return self._udp if own else transfer.further or self._udp

    def _emit(self, asked: Request) -> None:
        pattern = read_records(asked.data, PATTERN)
        if (
            pattern is None
            or not len(pattern)
            or not np.isfinite(pattern["at"]).all()
            or (pattern["at"] > asked.seconds).any()
            or pattern["lane"].max() >= LANES
        ):
            asked.channel.say({"error": "unknown pattern"})
            return
        segments = asked.message.get("segments", 1)
        if not isinstance(segments, int) or not 1 <= segments <= MAX_SEGMENTS:
            asked.channel.say({"error": f"segments = {segments!r}; allowed: 1 to {MAX_SEGMENTS}"})
            return
        asked.transfer.lanes = int(pattern["lane"].max()) + 1
        if asked.transfer.tried:
            # No datagram of a blocked variant arrives.
            asked.transfer.joined.wait(FIRST_DATAGRAM_S)
            if asked.transfer.addresses:
                asked.transfer.joined.set()
        if not self._joined(asked):
            return
        addresses = [asked.transfer.addresses.get(lane) for lane in range(asked.transfer.lanes)]
        until = self._until(time.monotonic() + asked.seconds + TIMEOUT_S)
        headers = 28 if "." in str(next(one for one in addresses if one is not None)[0]) else 48
        # Loads use their own buffers, so they do not delay the replies to probes.
        with contextlib.ExitStack() as stack:
            lanes = [
                None
                if one is None
                else (stack.enter_context(sibling(self._port(asked.transfer, lane), one)), None)
                for lane, one in enumerate(addresses)
            ]
            form = self._form(asked, pattern)
            sent = datagrams.send(lanes, form, pattern, self._clock, headers, until, segments)
        asked.channel.say({}, sent.tobytes())
