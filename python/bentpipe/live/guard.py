"""The guard of a network, which ends the programs in its hosts if the process that keeps the
network is killed.

A killed process cleans up nothing, and the programs that ``bentpipe net exec`` started in the hosts
are not its children. They would continue in namespaces without a network. Therefore each process
that keeps a network has a child process that only waits for its end. ``bentpipe net down`` removes
the other remains of a killed network.
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
    """A child process that receives the record of the network through a pipe, and acts when the
    pipe is closed.

    Start it before the first thread."""

    def __init__(self) -> None:
        reading, self._pipe = os.pipe()
        self._pid = os.fork()
        if self._pid == 0:
            _watch(reading)
        os.close(reading)

    def tell(self, record: Record) -> None:
        """Sends the record of the network to guard from now on."""
        self._write({"inodes": sorted(record.inodes), "token": record.token})

    def close(self) -> None:
        """Ends the guard after an orderly end of the network."""
        self._write(None)
        os.close(self._pipe)
        with contextlib.suppress(ChildProcessError):
            os.waitpid(self._pid, 0)

    def _write(self, what: dict[str, Any] | None) -> None:
        # The guard may have been killed, which is no error here.
        with contextlib.suppress(BrokenPipeError):
            os.write(self._pipe, json.dumps(what).encode() + b"\n")


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
        said = b""
        while more := os.read(0, 4096):
            said += more
        known = json.loads(said.splitlines()[-1]) if said else None
        if known:
            found = processes.inside(known["inodes"])
            # The kernel reuses namespace numbers. A namespace belongs to the network if a process
            # in it was started with the network's token.
            processes.end({inode for pid, inode in found.items() if processes.carries(pid, known["token"])})
    finally:
        os._exit(0)
