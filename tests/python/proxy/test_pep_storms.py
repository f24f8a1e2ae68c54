"""`bentpipe machine pep` with ends that die, do not read, or do not exist: nothing is corrupted or
left behind."""

from __future__ import annotations

import contextlib
import errno
import random
import select
import socket
import struct
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from rigs.networks import needs, networks, until
from rigs.proxied import SERVER, Lab, received, reset

#: Not in parallel: these tests load the machine.
pytestmark = [pytest.mark.alone, networks, needs("nft", "ip", "ss", "curl", "sysctl")]

METRICS = ("--metrics", "127.0.0.1:9377")
CONNECTIONS = 400
WARM = 16
MAX_BYTES = 300_000
SIDES = ("client", "server")
#: The sent data is a part of this, chosen by the number of the connection.
POOL = random.Random(8).randbytes(4 << 20)


@pytest.fixture
def lab() -> Iterator[Lab]:
    made = Lab()
    yield made
    made.close()


def piece(number: int, side: str) -> bytes:
    """Returns the data that this side of a connection sends."""
    chance = random.Random(f"{number} {side}")
    start = chance.randrange(len(POOL) - MAX_BYTES)
    return POOL[start : start + chance.randrange(MAX_BYTES)]


def dies(number: int, side: str) -> bool:
    """Returns true if this side of a connection ends early."""
    return random.Random(f"{number} {side} fate").random() < 0.3


class End:
    """One end of a connection: it sends its data, and at random reads slowly or ends early, with or
    without RST."""

    def __init__(self, lab: Lab, made: socket.socket, number: int, side: str) -> None:
        self._lab, self.number, self.side = lab, number, side
        self._socket, self._chance = made, random.Random(f"{number} {side} fate")
        self._mine = memoryview(piece(number, side))
        self.expected = piece(number, "server" if side == "client" else "client")
        self.got = bytearray()
        self.whole = False
        fate = self._chance.random()
        self._dies_at = self._chance.randrange(MAX_BYTES) if dies(number, side) else None
        self._by_reset = fate < 0.2
        self._slow = self._chance.random() < 0.2

    def live(self) -> None:
        """Runs to its end. Only an exact prefix of the other end's data may arrive, and all of it
        before a FIN."""
        made = self._socket
        made.setblocking(False)
        if self._slow:
            made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8192)
        carried, sending = 0, True
        deadline = time.monotonic() + 60
        with contextlib.suppress(ConnectionError):
            while sending or not self.whole:
                assert time.monotonic() < deadline, self._still(made)
                readable, writable, _ = select.select(
                    [] if self.whole else [made], [made] if sending else [], [], 1.0
                )
                if readable:
                    part = made.recv(1 << 14)
                    self.got += part
                    carried += len(part)
                    self.whole = not part
                    if self._slow:
                        time.sleep(0.002)
                if writable:
                    given = made.send(self._mine[: 1 << 14])
                    self._mine = self._mine[given:]
                    carried += given
                    if not self._mine:
                        sending = False
                        try:
                            made.shutdown(socket.SHUT_WR)
                        except OSError as error:
                            # The other end was faster.
                            assert error.errno == errno.ENOTCONN
                            break
                if self._dies_at is not None and carried >= self._dies_at:
                    if self._by_reset:
                        reset(made)
                    break
        made.close()
        assert self.expected[: len(self.got)] == self.got, "other bytes arrived than were sent"

    def _still(self, made: socket.socket) -> str:
        """Returns the state of all sockets when a connection stalls without having been ended."""
        states = (
            f"{name}\n{getattr(self._lab, name)('ss', '-tinmo')}" for name in ("client", "proxy", "server")
        )
        return (
            f"{self.side} {self.number} stands still: {len(self._mine)} bytes not sent, {len(self.got)} of "
            f"{len(self.expected)} received, {made}\n{''.join(states)}"
        )


# With small buffers all data is copied and mostly waits; with larger ones it passes through pipes.
@pytest.mark.parametrize("buffer", [16 << 10, 128 << 10])
def test_ends_that_die_or_read_slowly_corrupt_nothing_and_leave_nothing(lab: Lab, buffer: int) -> None:
    # Linux answers a reset that arrives behind a lost segment at most twice a second (RFC 5961,
    # section 7) and otherwise ignores it. Then only keepalive reports to the proxy that the end is
    # gone.
    lab.start("--threads", 2, "--buffer", buffer, "--keepalive", 5, *METRICS)
    # Both workers have started, and closed the descriptors of the other.
    for _ in range(WARM):
        for made in lab.pair(9000):
            made.close()
    listener = lab.listen()
    until(lambda: lab.metric("connections") == 0)
    # The socket of a metrics request that was just answered may still exist.
    descriptors = min(lab.descriptors() for _ in range(5))

    def serve() -> End | None:
        made = lab.accept(listener)
        with contextlib.suppress(OSError):
            number = int.from_bytes(made.recv(4, socket.MSG_WAITALL))
            end = End(lab, made, number, "server")
            end.live()
            return end
        return None

    def ask(number: int) -> End:
        made = lab.connect()
        made.sendall(number.to_bytes(4))
        end = End(lab, made, number, "client")
        end.live()
        return end

    with ThreadPoolExecutor(40) as servers, ThreadPoolExecutor(40) as clients:
        serving = [servers.submit(serve) for _ in range(CONNECTIONS)]
        asked = [clients.submit(ask, number) for number in range(CONNECTIONS)]
        served = [end for future in serving if (end := future.result())]
        ends = served + [future.result() for future in asked]
    ended = {(end.number, end.side): end for end in ends}
    peaceful = [number for number in range(CONNECTIONS) if not any(dies(number, side) for side in SIDES)]
    assert len(peaceful) > CONNECTIONS / 3
    for number in peaceful:
        for side in SIDES:
            end = ended[number, side]
            assert end.whole and end.got == end.expected
    until(lambda: lab.metric("connections") == lab.metric("handshakes") == 0)
    assert lab.metric("accepted_total") == CONNECTIONS + WARM
    assert lab.metric("closed_total") > CONNECTIONS / 4 and lab.metric("reset_total") > CONNECTIONS / 10
    assert (lab.metric("pipes") > 0) == (buffer > 32 << 10)
    pipes = int(lab.metric("pipes"))
    until(lambda: lab.descriptors() == descriptors + 2 * pipes)


def checksum(data: bytes) -> int:
    """Returns the checksum of RFC 1071."""
    total: int = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def forged(source: tuple[str, int], destination: tuple[str, int], sequence: int, flags: int) -> bytes:
    """Returns a TCP segment with a forged source, including its IPv4 header."""
    addresses = socket.inet_aton(source[0]) + socket.inet_aton(destination[0])
    ports = struct.pack("!HH", source[1], destination[1])
    body = ports + struct.pack("!IIBBHHH", sequence, 0, 5 << 4, flags, 65535, 0, 0)
    total = checksum(addresses + struct.pack("!HH", 6, 20) + body)
    body = body[:16] + struct.pack("!H", total) + body[18:]
    return struct.pack("!BBHHHBBH", 0x45, 0, 40, 0, 0, 64, 6, 0) + addresses + body


def test_a_flood_of_syns_and_blind_resets_harms_nobody_else(lab: Lab) -> None:
    lab.start("--threads", 2, *METRICS)
    chance = random.Random(3)
    near, far = lab.pair()
    here, there = near.getsockname(), near.getpeername()
    # A server that never accepts: the state that spoofed clients create there is limited.
    listener = lab.listen()
    raw = lab.client.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW)
    over = threading.Event()

    def flood() -> int:
        sent = 0
        while not over.is_set():
            source = f"198.18.{chance.randrange(256)}.{chance.randrange(256)}", chance.randrange(1024, 65536)
            raw.sendto(forged(source, (SERVER, 8080), chance.randrange(1 << 32), 2), (SERVER, 0))
            raw.sendto(forged(here, there, chance.randrange(1 << 32), 4), (SERVER, 0))
            sent += 1
        return sent

    with ThreadPoolExecutor(1) as threads:
        flooding = threads.submit(flood)
        try:
            until(lambda: lab.metric("unheld_total") > 500)
            # Existing connections continue, and new ones to another server are served.
            for number in range(20):
                near.sendall(bytes([number]))
                assert far.recv(1) == bytes([number])
                one, other = lab.pair(9000 + number)
                one.sendall(b"new")
                one.shutdown(socket.SHUT_WR)
                assert received(other) == b"new"
                other.close()
                assert received(one) == b""
        finally:
            over.set()
    assert flooding.result() > 1000

    def kept() -> int:
        """Returns the connections that the server holds for nonexistent clients."""
        return len(lab.server("ss", "-tHn", "state", "established", "( sport = :8080 )").splitlines()) - 1

    # 512 for each of two workers.
    until(lambda: kept() <= 2 * 512)
    assert kept() > 100
    listener.close()
    assert lab.metric("connections") == 1
