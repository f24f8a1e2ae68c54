"""Web pages as a load: objects of one size over two persistent connections, as in the app `http` of
scenarios.

The first connection requests the page itself, which is the first object. When the page has arrived,
a second connection is opened, and the other objects use both connections in turn. The time of a
page begins when the first connection is opened, and ends with the last byte of the last object. A
request begins with the name of the transfer, by which the reflector identifies the load."""

from __future__ import annotations

import contextlib
import select
import socket
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from .bulk import reset
from .channel import NUMBER, ChannelError, exactly
from .datagrams import Records

#: Size of a request, in bytes: the default of the app `http`.
REQUEST: Final = 400
#: Maximum size of an object in bytes.
MAX_OBJECT: Final = 10_000_000
#: Time without an arriving byte after which a page is aborted, in seconds.
TIMEOUT_S: Final = 30.0
#: Record of each page: time of the request and duration in nanoseconds, received bytes, and a flag
#: for complete pages.
PAGE: Final = np.dtype([("at", "<i8"), ("took", "<i8"), ("bytes", "<i8"), ("complete", "?")])


@dataclass
class _Lane:
    """A connection of the browser, with the number of remaining objects and the remaining bytes of
    the current object."""

    sock: socket.socket
    objects: int
    missing: int = 0
    open: bool = False

    def ask(self, name: bytes, size: int) -> None:
        """Requests the next object, if there is one."""
        if self.objects and not self.missing:
            self.objects, self.missing = self.objects - 1, size
            self.sock.sendall(name.ljust(REQUEST, b"\0"))

    @property
    def done(self) -> bool:
        return not self.objects and not self.missing


class Browser:
    """A browser that fetches pages with objects of one size from a reflector that has accepted the
    load."""

    def __init__(
        self,
        family: int,
        address: tuple[Any, ...],
        name: bytes,
        objects: int,
        size: int,
        clock: Callable[[], int],
    ) -> None:
        self._family, self._address, self._name = family, address, name
        self._objects, self._size, self._clock = objects, size, clock
        self._socks: list[socket.socket] = []
        self.pages: list[tuple[int, int, int, bool]] = []

    def records(self) -> Records:
        """Returns the pages so far as an array of :data:`PAGE`."""
        return np.array(self.pages, dtype=PAGE)

    def fetch(self, should_continue: Callable[[], bool]) -> None:
        """Fetches a page. Raises :class:`OSError` if the reflector cannot be reached or does not
        answer."""
        begin, got = self._clock(), 0
        try:
            for count in self._fetch(should_continue):
                got += count
        finally:
            whole = got == self._objects * self._size
            self.pages.append((begin, self._clock() - begin, got, whole))

    def _fetch(self, should_continue: Callable[[], bool]) -> Iterator[int]:
        """Yields the number of bytes of each arrival."""
        rest = self._objects - 1
        lanes = [self._lane(0, 1)]
        # The objects of the second connection are known only after the page itself has arrived.
        second, named, heard = rest // 2, False, time.monotonic()
        room = bytearray(1 << 16)
        while not all(lane.done for lane in lanes):
            waiting = [lane.sock for lane in lanes if not lane.open]
            reading = [lane.sock for lane in lanes if lane.open and lane.missing]
            ready, opened, _ = select.select(reading, waiting, [], 0.25)
            if time.monotonic() - heard > TIMEOUT_S:
                raise TimeoutError(None, f"no data of a page arrived within {TIMEOUT_S:g} s")
            if not should_continue():
                return
            for lane in list(lanes):
                if lane.sock in opened:
                    heard = time.monotonic()
                    self._connected(lane)
                if lane.sock in ready:
                    heard = time.monotonic()
                    count = lane.sock.recv_into(room, min(len(room), lane.missing))
                    if not count:
                        raise ConnectionError(None, "the reflector closed a connection of a page")
                    lane.missing -= count
                    yield count
                    if not named and lane.done:
                        # The page itself has arrived and names the objects.
                        lane.objects, named = rest - second, True
                        lane.ask(self._name, self._size)
                        if second:
                            lanes.append(self._lane(1, second))
                    lane.ask(self._name, self._size)

    def _lane(self, number: int, objects: int) -> _Lane:
        if number < len(self._socks):
            lane = _Lane(self._socks[number], objects, open=True)
            lane.ask(self._name, self._size)
            return lane
        sock = socket.socket(self._family, socket.SOCK_STREAM)
        self._socks.append(sock)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sock.setblocking(False)
        with contextlib.suppress(BlockingIOError):
            sock.connect(self._address)
        return _Lane(sock, objects)

    def _connected(self, lane: _Lane) -> None:
        error = lane.sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        if error:
            raise OSError(error, "a connection of a page could not be opened")
        lane.open = True
        lane.ask(self._name, self._size)

    def close(self) -> None:
        """Closes the connections of the page."""
        for sock in self._socks:
            reset(sock)


def answer(sock: socket.socket, size: int, should_continue: Callable[[], bool]) -> None:
    """Serves a browser's connection until it is closed. The beginning of its first request has
    already been read."""
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    body, rest = bytes(size), REQUEST - NUMBER
    while should_continue():
        try:
            exactly(sock, rest, time.monotonic() + TIMEOUT_S)
            sock.settimeout(TIMEOUT_S)
            sock.sendall(body)
        except (ChannelError, OSError):
            return
        rest = REQUEST
