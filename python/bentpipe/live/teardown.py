"""Taking networks down, also those whose process was killed. Only recorded items are touched."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Iterable

from . import forwarding, processes, state

#: How long a network may take to end by itself: the time that its programs get, and a little more.
_LIMIT_S = processes.GRACE_S + 10


def down(record: state.Record) -> None:
    """End a network and remove everything that belongs to it. Raises ``OSError`` for items that could not be
    removed."""
    if record.alive:
        _stop(record)
    for current in state.records():
        # A network that is up again under this name is a different one.
        if current.id == record.id and current.token == record.token:
            _clear(current)


def in_order(records: Iterable[state.Record]) -> list[state.Record]:
    """Returns networks in the order in which they can be ended: dead ones after live ones, since their namespaces may
    have been within these, and those that contain this process last."""
    here = processes.namespace("self")
    return sorted(records, key=lambda record: (here in record.inodes, not record.alive))


def _stop(record: state.Record) -> None:
    with contextlib.suppress(ProcessLookupError):
        process = os.pidfd_open(record.pid)
        try:
            if record.alive:
                signal.pidfd_send_signal(process, signal.SIGTERM)
                # A stopped process (by Ctrl-Z, say) would not receive the signal.
                signal.pidfd_send_signal(process, signal.SIGCONT)
                if not processes.wait(process, _LIMIT_S):
                    signal.pidfd_send_signal(process, signal.SIGKILL)
                    processes.wait(process, _LIMIT_S)
        finally:
            os.close(process)


def _clear(record: state.Record) -> None:
    """Remove what a network whose process was killed has left."""
    ours = set()
    if record.boot == processes.boot():
        # The kernel reuses numbers of namespaces: one is ours if a process in it was started with our token.
        found = processes.inside(record.inodes)
        ours = {inode for pid, inode in found.items() if processes.carries(pid, record.token)}
    left = processes.end(ours)
    if left:
        raise OSError(f"{record.id}: these processes still run after SIGKILL: {', '.join(map(str, left))}")
    with state.locked():
        known = state.records()
        if record.boot == processes.boot():
            if forwarding.out_of_reach(record, [other for other in known if other.alive]):
                raise OSError(
                    f"the nftables table {record.rules} of {record.id} remains in the network namespace "
                    f"where {record.id} was started: run `bentpipe down {record.id}` there, or remove that "
                    "namespace first"
                )
            forwarding.remove(record, known)
        state.forget(record)
