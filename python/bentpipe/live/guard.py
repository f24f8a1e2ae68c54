"""The guard of a network: a process that ends the programs in the hosts if the process that keeps
the network up is killed.

A killed process cannot clean up. The programs that ``bentpipe net exec`` started in the hosts are
not its children, so they would continue in namespaces without a network. Therefore, each process
that keeps a network up has a child process, the guard, which only waits for the end of its parent.
``bentpipe net down`` removes the other remains of a killed network.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
from typing import TYPE_CHECKING, Any

from . import processes

if TYPE_CHECKING:
    from .state import Record

_IGNORED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGTSTP)


class Guard:
    """A child process that receives the record of the network through a pipe. When the pipe is
    closed, it ends the programs of the last record that it has received.

    Create the guard before the first thread, because it forks."""

    def __init__(self) -> None:
        reading, self._pipe = os.pipe()
        self._pid = os.fork()
        if self._pid == 0:
            _watch(reading)
        os.close(reading)

    def tell(self, record: Record) -> None:
        """Sends the current record of the network to the guard."""
        self._write({"inodes": sorted(record.inodes), "token": record.token})

    def close(self) -> None:
        """Ends the guard after an orderly end of the network."""
        self._write(None)
        os.close(self._pipe)
        with contextlib.suppress(ChildProcessError):
            os.waitpid(self._pid, 0)

    def _write(self, message: dict[str, Any] | None) -> None:
        # A guard that was killed is not an error.
        with contextlib.suppress(BrokenPipeError):
            os.write(self._pipe, json.dumps(message).encode() + b"\n")


def _watch(reading: int) -> None:
    """Runs the child process. Never returns."""
    try:
        for number in _IGNORED:
            signal.signal(number, signal.SIG_IGN)
        os.setsid()
        os.dup2(reading, 0)
        # Close the inherited files, which would otherwise stay open.
        os.closerange(1, os.sysconf("SC_OPEN_MAX"))
        os.chdir("/")
        received = b""
        while part := os.read(0, 4096):
            received += part
        message = json.loads(received.splitlines()[-1]) if received else None
        if message:
            found = processes.inside(message["inodes"])
            # The kernel reuses namespace numbers. A namespace belongs to the network if a process
            # in it was started with the network's token.
            token = message["token"]
            processes.end({inode for pid, inode in found.items() if processes.carries(pid, token)})
    finally:
        os._exit(0)
