"""A relay of TCP connections on the loopback interface that imposes a path's rate and delay, for
machines that cannot emulate networks.

The rate and the delay are those of the path's course (:mod:`bentpipe.tools.course`), at each time
since the start of the relay; the course restarts at its end. All connections share the rate of a
direction. A connection is established after one round trip. As the relay ends connections, no
packets are lost, congestion control does not meet the path, and a full queue stops the sender.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from typing import TYPE_CHECKING, Final, Self

from bentpipe.tools.course import SAME_DELAY_S, Course, Direction, State

if TYPE_CHECKING:
    from types import TracebackType

#: Steps in which rate and delay are read, in milliseconds.
STEP_MS: Final = 10.0
#: Largest and smallest number of bytes that are forwarded at once.
CHUNK: Final = (1500, 65_536)
#: Time at the path's rate that a chunk takes, in seconds.
CHUNK_S: Final = 0.01


class Way:
    """One direction of the path, which all connections share."""

    def __init__(self, direction: Direction, duration_s: float, start: float) -> None:
        self._direction = direction
        self._duration_s = duration_s
        self._start = start
        self._free = start
        self._last_release = start
        mean = direction.mean
        self.chunk = int(min(max(CHUNK[0], mean.rate_bit_s * CHUNK_S / 8), CHUNK[1]))
        #: Chunks in flight and in the queue at full load.
        self.held = max(2, 1500 * direction.held_packets(mean) // self.chunk)

    def release(self, now: float, size: int) -> float:
        """Returns the time at which data that arrive now leave the path."""
        begin = max(now, self._free)
        left = 8.0 * size
        # The data leave at the rates of the steps that they take.
        while True:
            state, left_s = self._state(begin)
            until = begin + left_s
            if self._direction.constant or state.rate_bit_s * (until - begin) >= left:
                break
            left -= state.rate_bit_s * (until - begin)
            begin = until
        self._free = begin + left / state.rate_bit_s
        # Data stay in order when the delay falls.
        self._last_release = max(self._last_release, self._free + state.delay_s)
        return self._last_release

    def delay_s(self, now: float) -> float:
        """Returns the delay of the path without load."""
        return self._state(now)[0].delay_s

    def _state(self, now: float) -> tuple[State, float]:
        """Returns the state of the step at a time, and the rest of the step in seconds."""
        at_ms = 1e3 * ((now - self._start) % self._duration_s)
        # A time at the end of a step, except for rounding, belongs to the next step.
        begin_ms = (at_ms + 1e-6) // STEP_MS * STEP_MS
        return self._direction.state(begin_ms, begin_ms + STEP_MS), (begin_ms + STEP_MS - at_ms) / 1e3


class Relay:
    """A context manager that relays connections to ports of this machine."""

    def __init__(self, course: Course) -> None:
        self.course = course
        start = time.monotonic()
        self._up = Way(course.up, course.duration_s, start)
        self._down = Way(course.down, course.duration_s, start)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="relay", daemon=True)
        self._ports: dict[int, int] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._servers: list[asyncio.Server] = []

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        asyncio.run_coroutine_threadsafe(self._stop(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def port(self, target: int) -> int:
        """Returns the port at which clients reach the port ``target`` over the path."""
        if target not in self._ports:
            self._ports[target] = asyncio.run_coroutine_threadsafe(self._serve(target), self._loop).result()
        return self._ports[target]

    async def _serve(self, target: int) -> int:
        async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = asyncio.current_task()
            if task is not None:
                self._tasks.add(task)
                task.add_done_callback(self._tasks.discard)
            # At the end of the relay, open connections are cancelled.
            with contextlib.suppress(ConnectionError, asyncio.CancelledError):
                await self._connect(reader, writer, target)

        server = await asyncio.start_server(accept, "127.0.0.1", 0)
        self._servers.append(server)
        port: int = server.sockets[0].getsockname()[1]
        return port

    async def _connect(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, target: int) -> None:
        """Carries one connection until both ends have closed it."""
        try:
            now = time.monotonic()
            # SYN and SYN-ACK.
            await asyncio.sleep(self._up.delay_s(now) + self._down.delay_s(now))
            far_reader, far_writer = await asyncio.open_connection("127.0.0.1", target)
            try:
                await asyncio.gather(
                    _carry(reader, far_writer, self._up), _carry(far_reader, writer, self._down)
                )
            finally:
                far_writer.close()
        finally:
            writer.close()

    async def _stop(self) -> None:
        for server in self._servers:
            server.close()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


async def _carry(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, way: Way) -> None:
    """Forwards the data of one direction of a connection, each at its time."""
    held: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue(way.held)

    async def leave() -> None:
        while True:
            release, data = await held.get()
            if (wait := release - time.monotonic()) > SAME_DELAY_S:
                await asyncio.sleep(wait)
            if not data:
                writer.write_eof()
                return
            writer.write(data)
            await writer.drain()

    leaving = asyncio.create_task(leave())
    try:
        while data := await reader.read(way.chunk):
            await held.put((way.release(time.monotonic(), len(data)), data))
        await held.put((way.release(time.monotonic(), 0), b""))
        await leaving
    finally:
        leaving.cancel()
