"""ICMP echo requests in addition to the probes (RFC 792, RFC 4443). Networks may queue ICMP
separately from datagrams.

On Starlink, `ping` does not wait in the queue of a load, so its round-trip time differs from the
delay of the load. The results have the delays of echo requests, probes and loads, which makes
separate queues visible. Echo requests have the size of the smallest probe.

>>> packet = request(socket.AF_INET, 5, 3)
>>> len(packet) + 20, checksum(packet)
(140, 0)
>>> reply(socket.AF_INET, bytes(1) + packet[1:], raw=False)
3
>>> reply(socket.AF_INET, b"nonsense", raw=False) is None
True
"""

from __future__ import annotations

import random
import select
import socket
import struct
import threading
import time
from typing import Final, Self

import numpy as np
from numpy.typing import NDArray

from .sockets import MonotonicClock, received, stamping

#: Payload of an echo request in bytes. With ICMP and IPv4 headers, the packet is as large as the
#: smallest probe.
PAYLOAD: Final = 112
#: Types of request and reply, by family (RFC 792; RFC 4443, section 4).
TYPES: Final = {socket.AF_INET: (8, 0), socket.AF_INET6: (128, 129)}
#: Time in seconds for which replies are awaited after the last request.
LAST_S: Final = 1.0
_HEAD: Final = struct.Struct("!BBHHH")


def checksum(packet: bytes) -> int:
    """Returns the Internet checksum of a packet (RFC 1071). The result is 0 if the packet already
    contains its checksum."""
    total: int = sum(struct.unpack(f"!{len(packet) // 2}H", packet))
    total = (total & 0xFFFF) + (total >> 16)
    return ~(total + (total >> 16)) & 0xFFFF


def request(family: int, identity: int, number: int) -> bytes:
    """Returns an echo request. The kernel replaces the identity on sockets that are not raw, and
    sets the checksum of IPv6."""
    kind = TYPES[socket.AddressFamily(family)][0]
    packet = _HEAD.pack(kind, 0, 0, identity, number) + bytes(PAYLOAD)
    return _HEAD.pack(kind, 0, checksum(packet), identity, number) + bytes(PAYLOAD)


def reply(family: int, packet: bytes, *, raw: bool, identity: int | None = None) -> int | None:
    """Returns the number of an echo reply, for ``identity`` if given; ``None`` for other
    packets."""
    if raw and family == socket.AF_INET:
        # A raw socket of IPv4 has the IP header as well.
        packet = packet[4 * (packet[0] & 15) :] if packet else packet
    if len(packet) < _HEAD.size:
        return None
    kind, _, _, whose, number = _HEAD.unpack_from(packet)
    answers = kind == TYPES[socket.AddressFamily(family)][1] and identity in (None, whose)
    return int(number) if answers else None


class Echoes:
    """Sends echo requests to a host in a separate thread, at random times. Regular times could
    alias with periodic events on the path."""

    def __init__(
        self, family: int, address: tuple[object, ...], rate: float, seed: int, steady: MonotonicClock
    ) -> None:
        self._family, self._rate, self._steady = family, rate, steady
        self._address = (address[0], 0, *address[2:])
        self._source = random.Random(seed)
        self._ending = threading.Event()
        self._thread: threading.Thread | None = None
        self._sent: list[int] = []
        self._returned: dict[int, int] = {}
        #: The reason if no requests are sent; otherwise None.
        self.trouble: str | None = None if rate else "the plan contains no ICMP echo"

    def __enter__(self) -> Self:
        if self._rate:
            try:
                self._sock, self._raw = _opened(self._family)
                self._sock.connect(self._address)
            except OSError as error:
                self.trouble = f"this user may not send ICMP echo ({error.strerror or error})"
            else:
                self._thread = threading.Thread(target=self._run, daemon=True)
                self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ending.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None
            self._sock.close()

    def rows(self) -> NDArray[np.int64]:
        """Returns the times of each request and of its reply, in nanoseconds of the steady clock.
        The time of a missing reply is 0."""
        found = [(sent, self._returned.get(number, 0)) for number, sent in enumerate(self._sent)]
        return np.array(found, dtype=np.int64).reshape(-1, 2)

    def _run(self) -> None:
        identity = self._source.randrange(1, 1 << 16)
        due, last = time.monotonic(), 0.0
        while not last or (time.monotonic() < last and len(self._returned) < len(self._sent)):
            now = time.monotonic()
            if not last and self._ending.is_set():
                last = now + LAST_S
            if not last and now >= due:
                due = now + self._source.expovariate(self._rate)
                try:
                    self._sent.append(self._steady.of(time.time_ns()))
                    self._sock.send(request(self._family, identity, (len(self._sent) - 1) & 0xFFFF))
                except OSError:
                    # Counts as a request without a reply.
                    continue
            select.select([self._sock], [], [], min(0.1, max(0.0, due - now)))
            self._receive(identity if self._raw else None)

    def _receive(self, identity: int | None) -> None:
        while True:
            try:
                got = received(self._sock)
            except OSError:
                continue
            if got is None:
                return
            number = reply(self._family, got.packet, raw=self._raw, identity=identity)
            if number is None:
                continue
            # Numbers have 16 bits, so they repeat. The reply belongs to the last request with this
            # number.
            own = number + ((len(self._sent) - 1 - number) >> 16 << 16)
            if 0 <= own < len(self._sent):
                stamp = time.time_ns() if got.stamp is None else got.stamp
                self._returned.setdefault(own, self._steady.of(stamp))


def _opened(family: int) -> tuple[socket.socket, bool]:
    """Opens an ICMP socket. Also returns true if the socket is raw. A raw socket needs CAP_NET_RAW;
    otherwise the host must permit ICMP sockets (ping_group_range of icmp(7)). Raises
    :class:`OSError`."""
    protocol = socket.IPPROTO_ICMP if family == socket.AF_INET else socket.IPPROTO_ICMPV6
    try:
        made, raw = socket.socket(family, socket.SOCK_DGRAM, protocol), False
    except PermissionError:
        made, raw = socket.socket(family, socket.SOCK_RAW, protocol), True
    stamping(made)
    made.setblocking(False)
    return made, raw
