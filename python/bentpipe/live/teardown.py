"""Removal of networks, also after the process of a network was killed. Only items in the record of
a network are removed."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Iterable

from . import forwarding, processes, state

#: Time limit in seconds for the process of a network to end after SIGTERM: the time limit of the
#: programs in its hosts, plus a margin.
_LIMIT_S = processes.GRACE_S + 10


def down(record: state.Record) -> None:
    """Ends a network and removes everything that belongs to it. Raises ``OSError`` for items that
    could not be removed."""
    if record.alive:
        _stop(record)
    for current in state.records():
        # A network that is up again under this name is a different network.
        if current.id == record.id and current.token == record.token:
            _clear(current)


def in_order(records: Iterable[state.Record]) -> list[state.Record]:
    """Returns networks in the order in which they can be removed. Running networks come before
    killed ones, because they may contain the namespaces of killed networks. Networks that contain
    this process come last."""
    here = processes.namespace("self")
    return sorted(records, key=lambda record: (here in record.inodes, not record.alive))


def _stop(record: state.Record) -> None:
    with contextlib.suppress(ProcessLookupError):
        process = os.pidfd_open(record.pid)
        try:
            if record.alive:
                signal.pidfd_send_signal(process, signal.SIGTERM)
                # A process that was stopped, for example by Ctrl-Z, handles SIGTERM only after
                # SIGCONT.
                signal.pidfd_send_signal(process, signal.SIGCONT)
                if not processes.wait(process, _LIMIT_S):
                    signal.pidfd_send_signal(process, signal.SIGKILL)
                    processes.wait(process, _LIMIT_S)
        finally:
            os.close(process)


def _clear(record: state.Record) -> None:
    """Removes the remains of a network whose process was killed."""
    ours = set()
    if record.boot == processes.boot():
        # The kernel reuses namespace numbers. A namespace belongs to the network if a process in it
        # was started with the network's token.
        found = processes.inside(record.inodes)
        ours = {inode for pid, inode in found.items() if processes.carries(pid, record.token)}
    survivors = processes.end(ours)
    if survivors:
        listed = ", ".join(map(str, survivors))
        raise OSError(f"{record.id}: these processes still run after SIGKILL: {listed}")
    with state.locked():
        known = state.records()
        if record.boot == processes.boot():
            if forwarding.out_of_reach(record, [other for other in known if other.alive]):
                raise OSError(
                    f"the nftables table {record.rules} of {record.id} remains in the network namespace "
                    f"where {record.id} was started: run `bentpipe net down {record.id}` there, or remove that "
                    "namespace first"
                )
            forwarding.remove(record, known)
        state.forget(record)
