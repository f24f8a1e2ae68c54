"""Time stamps of network cards.

A card stamps packets by its own clock (PTP hardware clock), which may differ from the host's clock
by any amount. Both clocks are compared during the measurement, so phc2sys is not needed. A card is
not used if its clock cannot be read, because its stamps could not be converted.

Structures and constants follow the kernel's documentation (Documentation/networking/timestamping)
and the headers <linux/net_tstamp.h>, <linux/ethtool.h> and <linux/ptp_clock.h>.
"""

from __future__ import annotations

import array
import contextlib
import fcntl
import os
import socket
import struct
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final, NamedTuple

from .sockets import FRESH_NS, Clock, apart

_SIOCETHTOOL: Final = 0x8946
_GET_TS_INFO: Final = 0x41
_SET_CONFIG, _GET_CONFIG = 0x89B0, 0x89B1
#: SOF_TIMESTAMPING_TX_HARDWARE, RX_HARDWARE and RAW_HARDWARE.
_HARDWARE: Final = 1 << 0 | 1 << 2 | 1 << 6
#: HWTSTAMP_TX_ON and HWTSTAMP_FILTER_ALL.
_TX_ON: Final = 1
_ALL: Final = 1
_RTM_GETROUTE, _RTM_NEWROUTE, _RTA_DST, _RTA_OIF = 26, 24, 1, 4


class Ability(NamedTuple):
    """Time-stamping features of an interface (struct ethtool_ts_info): flags of SO_TIMESTAMPING,
    number of its clock (-1 without one), and bit masks of the modes of departures and filters of
    arrivals."""

    flags: int
    clock: int
    departures: int
    arrivals: int

    @classmethod
    def read(cls, answer: bytes) -> Ability:
        """Reads the answer to ETHTOOL_GET_TS_INFO."""
        _, flags, clock, departures, _, _, _, arrivals = struct.unpack_from("=IIiIIIII", answer)
        return cls(flags, clock, departures, arrivals)

    @property
    def lack(self) -> str | None:
        """The reason why the interface cannot stamp probes; None if it can."""
        if self.flags & _HARDWARE != _HARDWARE:
            return "it has no hardware time stamps"
        if not self.departures >> _TX_ON & 1 or not self.arrivals >> _ALL & 1:
            return "it stamps only PTP packets"
        return "its clock cannot be read" if self.clock < 0 else None


def ability(name: str) -> Ability | None:
    """Returns the time-stamping features of an interface; None if it does not report them."""
    answer = array.array("B", struct.pack("=11I", _GET_TS_INFO, *[0] * 10))
    try:
        _request(_SIOCETHTOOL, name, answer)
    except OSError:
        return None
    return Ability.read(answer.tobytes())


def _request(number: int, name: str, data: array.array[int]) -> None:
    """Calls an ioctl of an interface with a buffer for input and output."""
    request = struct.pack("16sP", name.encode()[:15], data.buffer_info()[0])
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        fcntl.ioctl(sock, number, request.ljust(40, b"\0"))


def _config(name: str) -> tuple[int, int, int]:
    """Returns flags, mode of departures and filter of arrivals in use (struct hwtstamp_config)."""
    data = array.array("B", bytes(12))
    _request(_GET_CONFIG, name, data)
    flags, departures, arrivals = struct.unpack("=3i", data.tobytes())
    return flags, departures, arrivals


def _switch(name: str, config: tuple[int, int, int]) -> None:
    _request(_SET_CONFIG, name, array.array("B", struct.pack("=3i", *config)))


class Card:
    """The clock of a card, which converts its stamps to times of the host until :meth:`close`."""

    def __init__(self, index: int, clock: Clock, close: Callable[[], None] = lambda: None) -> None:
        #: Number of the interface.
        self.index = index
        self._clock, self._close = clock, close
        self._ahead, self._read = 0, -FRESH_NS
        #: Numbers of packets stamped at departure and at arrival.
        self.sent = self.received = 0

    def arrived(self, index: int, stamp: int) -> int | None:
        """Returns the host's time of an arrival; None for one at another interface."""
        if index != self.index:
            return None
        self.received += 1
        return self.wall(stamp)

    def left(self, stamp: int) -> int:
        """Returns the host's time of a departure."""
        self.sent += 1
        return self.wall(stamp)

    def wall(self, stamp: int) -> int:
        """Returns the host's time of a recent stamp, both in nanoseconds."""
        now = time.monotonic_ns()
        if now - self._read >= FRESH_NS:
            self._ahead, self._read = apart(self._clock, time.time_ns), now
        return stamp - self._ahead

    def close(self) -> None:
        """Restores the card's configuration."""
        self._close()


def card(name: str) -> Card | str:
    """Returns the card of an interface with time stamps on; otherwise the reason for not using it,
    as a clause."""
    can = ability(name)
    if can is None:
        return "it does not report its time-stamping features"
    if can.lack is not None:
        return can.lack
    with contextlib.ExitStack() as stack:
        try:
            place = f"/dev/ptp{can.clock}"
            file = os.open(place, os.O_RDONLY | os.O_CLOEXEC)
            stack.callback(os.close, file)
            # FD_TO_CLOCKID of clock_gettime(2), "Dynamic clocks".
            number = (~file << 3) | 3
            time.clock_gettime_ns(number)
        except OSError as error:
            return f"its clock {place} cannot be read: {error.strerror}"
        try:
            before = _config(name)
            if before[1:] != (_TX_ON, _ALL):
                _switch(name, (0, _TX_ON, _ALL))
                stack.callback(_switch, name, before)
        except OSError as error:
            return (
                f"its time stamps cannot be switched on: {error.strerror}; switch them on with hwstamp_ctl "
                f"-i {name} -t 1 -r 1"
            )
        index = socket.if_nametoindex(name)
        kept = stack.pop_all()

        def close() -> None:
            # The interface may no longer exist.
            with contextlib.suppress(OSError):
                kept.close()

        return Card(index, lambda: time.clock_gettime_ns(number), close)


def of_route(family: int, address: tuple[object, ...]) -> Card | str:
    """Returns the card that sends packets to an address; otherwise the reason for not using one, as
    a sentence."""
    try:
        name = socket.if_indextoname(leaving(family, str(address[0])))
    except OSError as error:
        return f"the interface of the route is not known: {error.strerror or error}"
    found = card(name)
    return f"interface {name}: {found}" if isinstance(found, str) else found


class Cards:
    """All usable cards of this host, until :meth:`close`."""

    def __init__(self, cards: Iterable[Card]) -> None:
        self._cards = {one.index: one for one in cards}

    def __bool__(self) -> bool:
        return bool(self._cards)

    def arrived(self, index: int, stamp: int) -> int | None:
        """Returns the host's time of an arrival; None for one at an interface whose card is not
        used."""
        found = self._cards.get(index)
        return None if found is None else found.arrived(index, stamp)

    def close(self) -> None:
        """Restores the configuration of all cards."""
        for one in self._cards.values():
            one.close()


def of_host() -> Cards:
    """Returns the cards of this host."""
    names = [name for _, name in socket.if_nameindex() if (Path("/sys/class/net") / name / "device").exists()]
    return Cards(found for found in map(card, names) if isinstance(found, Card))


def leaving(family: int, host: str) -> int:
    """Returns the number of the interface that sends packets to a host (rtnetlink(7)). Raises
    :class:`OSError`.

    >>> socket.if_indextoname(leaving(socket.AF_INET, "127.0.0.1"))
    'lo'
    """
    address = socket.inet_pton(family, host.partition("%")[0])
    body = struct.pack("=8BI", family, 8 * len(address), *[0] * 6, 0)
    body += struct.pack("=HH", 4 + len(address), _RTA_DST) + address
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE) as sock:
        sock.settimeout(1.0)
        sock.send(struct.pack("=IHHII", 16 + len(body), _RTM_GETROUTE, 1, 1, 0) + body)
        answer = sock.recv(8192)
    length, kind = struct.unpack_from("=IH", answer)
    if kind != _RTM_NEWROUTE:
        raise OSError(-struct.unpack_from("=i", answer, 16)[0], "no route")
    place = 16 + 12
    while place + 4 <= length:
        size, attribute = struct.unpack_from("=HH", answer, place)
        if attribute == _RTA_OIF:
            return int(struct.unpack_from("=I", answer, place + 4)[0])
        place += max(4, size + 3 & ~3)
    raise OSError(0, "the route has no interface")
