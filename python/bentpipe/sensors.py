"""Queries of sensor networks: their plans, and a sink that serves their results over TCP.

::

    from bentpipe import sensors

    plan = sensors.explain("examples/mars-sensors.toml", query="SELECT light FROM motes WHERE audio > 40")
    print(plan.cost.bytes_per_s, plan.shipped.bytes_per_s)
"""

from __future__ import annotations

import json
import select
import socket
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from . import _native
from .errors import InputError
from .scenario.scenarios import load

if TYPE_CHECKING:
    from .scenario.scenarios import Overrides, ScenarioLike


@dataclass(frozen=True)
class Node:
    """A mote or the sink, and the next node on its way to the sink."""

    name: str
    parent: str | None


@dataclass(frozen=True)
class Operator:
    """An operator on a node, with its expected output in rows per second and its successors."""

    id: int
    kind: str
    node: str
    detail: str
    rows_per_s: float
    outputs: list[int]


@dataclass(frozen=True)
class Channel:
    """A stream channel from an operator to the last node of ``path``."""

    operator: int
    path: list[str]
    tuple_bytes: int
    rows_per_s: float


@dataclass(frozen=True)
class Cost:
    """Expected frames and bytes per second on the motes' channel, and the mean power of the motes'
    transceivers."""

    messages_per_s: float
    bytes_per_s: float
    power_w: float


@dataclass(frozen=True)
class Plan:
    """The plan of a query: operators on nodes, the channels between them, the expected cost, and
    the cost of sending all measurements."""

    query: str
    columns: list[str]
    nodes: list[Node]
    operators: list[Operator]
    channels: list[Channel]
    cost: Cost
    shipped: Cost


def explain(
    source: ScenarioLike,
    overrides: Overrides = (),
    *,
    flow: str | None = None,
    query: str | None = None,
    placement: str | None = None,
) -> Plan:
    """Returns the plan of the query in a scenario's sensor network, or of another ``query`` over
    the same motes.

    ``placement`` is ``"nodes"`` or ``"sink"``. Raises :class:`bentpipe.InputError` for a query that
    is refused, and :class:`bentpipe.ScenarioError`.
    """
    answer: dict[str, Any] = json.loads(
        _native.explain_query(load(source, overrides).native, flow, query, placement)
    )
    return Plan(
        query=answer["query"],
        columns=answer["columns"],
        nodes=[Node(**node) for node in answer["nodes"]],
        operators=[Operator(**operator) for operator in answer["operators"]],
        channels=[Channel(**channel) for channel in answer["channels"]],
        cost=Cost(**answer["cost"]),
        shipped=Cost(**answer["shipped"]),
    )


#: Interval at which a server checks whether to stop.
POLL_INTERVAL_S: Final = 0.1
#: Time limit for a client to receive the rows sent to it.
TIMEOUT_S: Final = 10.0
#: Maximum length of a command in bytes.
MAX_LENGTH: Final = 10_000

#: The commands of a client, for error messages.
COMMANDS: Final = "a query (SELECT ...), stop, quit, or an empty line for the scenario's query"


class Server:
    """A sink that is a TCP server. Each client has its own motes, which sense the same kind of
    signals.

    A client sends one command per line: a query, an empty line for the scenario's query, ``stop``
    to end the query, or ``quit`` to end the connection. Each row is a line of comma-separated
    values, preceded by the time of its latest sample in seconds. Lines that begin with ``#``
    contain messages.
    """

    def __init__(
        self,
        source: ScenarioLike,
        overrides: Overrides = (),
        *,
        flow: str | None = None,
        address: tuple[str, int] = ("127.0.0.1", 7000),
    ) -> None:
        self._made = (load(source, overrides).native, flow)
        self._sink()
        self._socket = socket.create_server(address)
        self._socket.settimeout(POLL_INTERVAL_S)
        self._over = threading.Event()
        self._lock = threading.Lock()
        self.clients = self.rows = 0

    def _sink(self) -> _native.SensorSink:
        return _native.SensorSink(*self._made)

    @property
    def address(self) -> tuple[str, int]:
        """The address and port of the server."""
        host, port = self._socket.getsockname()[:2]
        return host, port

    def run(self, stopped: Callable[[], bool]) -> None:
        """Serves until ``stopped()`` is true."""
        threads: list[threading.Thread] = []
        try:
            while not stopped():
                try:
                    connection, _ = self._socket.accept()
                except TimeoutError:
                    continue
                self.clients += 1
                thread = threading.Thread(target=self._serve, args=(connection,))
                thread.start()
                threads = [one for one in threads if one.is_alive()] + [thread]
        finally:
            self._over.set()
            self._socket.close()
            for thread in threads:
                thread.join()

    def _serve(self, connection: socket.socket) -> None:
        with connection:
            try:
                _Session(connection, self._sink(), self._count).run(self._over.is_set)
            except OSError:
                # The client is gone, or has received nothing for TIMEOUT_S.
                return

    def _count(self, rows: int) -> None:
        with self._lock:
            self.rows += rows


class _Session:
    """A client's connection."""

    def __init__(
        self, connection: socket.socket, sink: _native.SensorSink, count: Callable[[int], None]
    ) -> None:
        connection.settimeout(TIMEOUT_S)
        self._connection, self._sink, self._count = connection, sink, count
        self._begun = time.monotonic_ns()
        self._text = b""
        self._ended = False

    def _now(self) -> int:
        return time.monotonic_ns() - self._begun

    def run(self, stopped: Callable[[], bool]) -> None:
        self._say(f"connected to a sink with motes; allowed: {COMMANDS}")
        while not (stopped() or self._ended):
            wake = self._sink.next_wake()
            wait = (
                POLL_INTERVAL_S
                if wake is None
                else min(POLL_INTERVAL_S, max(0.0, (wake - self._now()) / 1e9))
            )
            readable, _, _ = select.select([self._connection], [], [], wait)
            if readable:
                self._read()
            rows = self._sink.wake(self._now())
            if rows:
                lines = (f"{sampled / 1e9:g},{','.join(values)}\n" for sampled, values in rows)
                self._connection.sendall("".join(lines).encode())
                self._count(len(rows))

    def _read(self) -> None:
        block = self._connection.recv(4096)
        if not block:
            # A client such as nc may close its direction after the last command and continue to
            # read.
            if self._text:
                self._command(self._text)
            self._text = b""
            self._ended = self._sink.next_wake() is None or not self._still_there()
            time.sleep(POLL_INTERVAL_S)
            return
        self._text += block
        while b"\n" in self._text:
            line, self._text = self._text.split(b"\n", 1)
            self._command(line)
        if len(self._text) > MAX_LENGTH:
            self._say(f"error: a line of more than {MAX_LENGTH} bytes; allowed: {COMMANDS}")
            self._ended = True

    def _still_there(self) -> bool:
        """Returns true if a client that has closed its direction still receives rows."""
        error: int = self._connection.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        return error == 0

    def _command(self, line: bytes) -> None:
        command = line.decode(errors="replace").strip().rstrip(";").strip()
        if command.lower() == "quit":
            self._ended = True
        elif command.lower() == "stop":
            frames, size = self._sink.counts()
            self._sink.end()
            self._say(f"stopped; the motes exchanged {frames} frames with {size} bytes")
        else:
            try:
                columns = self._sink.begin(self._now(), command or self._sink.query())
            except InputError as error:
                self._say(f"error: {error}")
            else:
                self._say(",".join(["sampled_s", *columns]))

    def _say(self, text: str) -> None:
        self._connection.sendall(f"# {text}\n".encode())
