"""Taking networks down, also those whose process was killed. Only what is recorded is touched."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Iterable

from . import forwarding, processes, state

#: How long a network may take to end by itself: its programs get their time, and then a little more.
_LIMIT_S = processes.GRACE_S + 10


def down(record: state.Record) -> None:
    """End a network and remove all that is left of it. Raises ``OSError`` for what could not be removed."""
    if record.alive:
        _stop(record)
    for current in state.records():
        # One that lives again under this name is another.
        if current.id == record.id and current.token == record.token:
            _clear(current)


def in_order(records: Iterable[state.Record]) -> list[state.Record]:
    """Networks in the order in which they can be ended: those in which this process is last, dead ones after those
    that live, as their namespaces may have been within them."""
    here = processes.namespace("self")
    return sorted(records, key=lambda record: (here in record.inodes, not record.alive))


def _stop(record: state.Record) -> None:
    with contextlib.suppress(ProcessLookupError):
        process = os.pidfd_open(record.pid)
        try:
            if record.alive:
                signal.pidfd_send_signal(process, signal.SIGTERM)
                # One that is stopped, by Ctrl-Z say, could not hear.
                signal.pidfd_send_signal(process, signal.SIGCONT)
                if not processes.wait(process, _LIMIT_S):
                    signal.pidfd_send_signal(process, signal.SIGKILL)
                    processes.wait(process, _LIMIT_S)
        finally:
            os.close(process)


def _clear(record: state.Record) -> None:
    """Remove what a network has left whose process was killed."""
    ours = set()
    if record.boot == processes.boot():
        # The kernel gives numbers of namespaces again: one is ours if a process in it was started with our token.
        found = processes.inside(record.inodes)
        ours = {inode for pid, inode in found.items() if processes.carries(pid, record.token)}
    left = processes.end(ours)
    if left:
        raise OSError(
            f"{record.id}: these processes did not end even when killed: {', '.join(map(str, left))}"
        )
    with state.locked():
        known = state.records()
        if record.boot == processes.boot():
            if forwarding.out_of_reach(record, [other for other in known if other.alive]):
                raise OSError(
                    f"{record.id} has left the nftables table {record.rules} in the network namespace where it was "
                    f"started: run `bentpipe down {record.id}` there, or remove that namespace first"
                )
            forwarding.remove(record, known)
        state.forget(record)
