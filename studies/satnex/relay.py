"""The programs of a connection that a relay at the ship splits. `wichmo_kernel.py` runs them in an
emulation.

relay.py send HOST PORT CONGESTION        sends until it is terminated
relay.py relay PORT HOST PORT CONGESTION  accepts a connection and forwards its data over another
relay.py receive PORT                     receives until it is terminated, and prints the bytes
"""

from __future__ import annotations

import signal
import socket
import sys
from types import FrameType
from typing import Final

#: Size of the relay's send buffer in bytes. It equals the simulated proxy's `buffer = "1 MB"`.
#: Linux reserves twice as much, for its bookkeeping.
BUFFER: Final = 1_000_000
#: Maximum number of bytes per read or write.
CHUNK: Final = 65_536


def accept(port: int) -> socket.socket:
    """Listens on a port and returns the first connection."""
    with socket.create_server(("", port)) as listener:
        return listener.accept()[0]


def connect(host: str, port: int, congestion: str, buffer: int | None = None) -> socket.socket:
    """Connects with a congestion control and, if given, with a send buffer of ``buffer`` bytes."""
    connection = socket.socket()
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, congestion.encode())
    if buffer is not None:
        # Without this privilege, which a guest's programs have, the kernel limits the buffer to
        # net.core.wmem_max.
        connection.setsockopt(socket.SOL_SOCKET, 32, buffer)  # SO_SNDBUFFORCE
    connection.connect((host, port))
    return connection


def send(host: str, port: int, congestion: str) -> None:
    """Sends until the process is terminated."""
    with connect(host, port, congestion) as connection:
        while True:
            connection.sendall(bytes(CHUNK))


def relay(port: int, host: str, to: int, congestion: str) -> None:
    """Forwards data from one connection to another. If the second connection is slower, the flow
    control of the first connection slows down its sender."""
    with accept(port) as first, connect(host, to, congestion, BUFFER) as second:
        while data := first.recv(CHUNK):
            second.sendall(data)


def receive(port: int) -> None:
    """Receives until the process is terminated, and then prints the number of received bytes."""
    count = 0

    def stop(_number: int, _frame: FrameType | None) -> None:
        print(count, flush=True)
        sys.exit()

    signal.signal(signal.SIGTERM, stop)
    with accept(port) as connection:
        while data := connection.recv(CHUNK):
            count += len(data)
    signal.pause()


def main(role: str, *arguments: str) -> None:
    """Runs a role with its command-line arguments."""
    match role, arguments:
        case "send", (host, port, congestion):
            send(host, int(port), congestion)
        case "relay", (port, host, to, congestion):
            relay(int(port), host, int(to), congestion)
        case "receive", (port,):
            receive(int(port))
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    main(*sys.argv[1:])
