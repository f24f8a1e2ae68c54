"""Ends the programs in a network's hosts if the process that keeps the network is killed.

A killed process removes nothing, and the programs that ``bentpipe exec`` started in its hosts are not its children:
they would live on in namespaces without a network. So each such process has a child that waits for its end and does
nothing else. What else a killed network leaves, ``bentpipe down`` removes.
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
    """A child process that learns by a pipe what to end, and by the end of the pipe that it is time.

    Start it before the first thread."""

    def __init__(self) -> None:
        reading, self._pipe = os.pipe()
        self._pid = os.fork()
        if self._pid == 0:
            _watch(reading)
        os.close(reading)

    def tell(self, record: Record) -> None:
        """Say which network is to be watched from now on."""
        self._write({"inodes": sorted(record.inodes), "token": record.token})

    def close(self) -> None:
        """End it, as the network was ended in order."""
        self._write(None)
        os.close(self._pipe)
        with contextlib.suppress(ChildProcessError):
            os.waitpid(self._pid, 0)

    def _write(self, what: dict[str, Any] | None) -> None:
        # One that was killed is of no use, but no reason to fail either.
        with contextlib.suppress(BrokenPipeError):
            os.write(self._pipe, json.dumps(what).encode() + b"\n")


def _watch(reading: int) -> None:
    """What the child does; it never returns."""
    try:
        for number in _IGNORED:
            signal.signal(number, signal.SIG_IGN)
        os.setsid()
        os.dup2(reading, 0)
        # Its parent's files stay open as long as anybody has them.
        os.closerange(1, os.sysconf("SC_OPEN_MAX"))
        os.chdir("/")
        said = b""
        while more := os.read(0, 4096):
            said += more
        known = json.loads(said.splitlines()[-1]) if said else None
        if known:
            found = processes.inside(known["inodes"])
            # The kernel gives numbers of namespaces again: one is ours if a process in it was started with our token.
            processes.end({inode for pid, inode in found.items() if processes.carries(pid, known["token"])})
    finally:
        os._exit(0)
