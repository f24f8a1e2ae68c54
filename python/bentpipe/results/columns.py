"""Columns of a run's tables and traces that readers need, so that a run of another version is read or refused.

Versions add columns, and runs that older ones have written lack those. A reader does without such a column where it
can: what is not known is "-" in a table. Where it cannot, the column is listed here, and reading the table raises
:class:`bentpipe.InputError` with the file and the column.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from bentpipe.errors import InputError

#: Columns of tables that readers need. Those of a table that is not here may all be missing.
NEEDED: Final[Mapping[str, tuple[str, ...]]] = {
    "flows": ("flow", "from", "to", "start"),
    "direction": ("direction", "lost"),
    "bottleneck": ("load", "direction", "overflowed"),
    "scheduler": ("direction", "scheme", "superframe", "response", "cra"),
    "slots": ("begin", "round_trip", "period"),
    "netpipe": (
        *("block", "block_bytes", "repeats", "block_time", "block_variance"),
        *("single_mean", "single_deviation"),
    ),
}

#: Those of traces, besides the time and the entity, which come first.
TRACED: Final[Mapping[str, tuple[str, ...]]] = {
    "probe": (
        *("flow", "size", "train", "replied", "quiet", "round_trip"),
        *("forward_low", "forward_high", "backward_low", "backward_high"),
    ),
    "load": ("flow", "sequence", "arrived", "delay_low", "delay_high"),
    "icmp": ("flow", "round_trip"),
    "dama": ("terminal", "superframe", "request", "constant", "assigned", "capacity", "used"),
    "waits": (
        *("terminal", "of_flow", "packet", "packet_bytes", "class", "arrival", "asked"),
        *("sent_superframe", "sent_carrier", "sent_frame", "sent_slot"),
        *("wait_earlier", "wait_request", "wait_lost", "wait_propagation", "wait_controller"),
        *("wait_competition", "wait_slot"),
    ),
}


def check(file: Path, needed: Iterable[str], there: Iterable[str], version: object) -> None:
    """Raises :class:`bentpipe.InputError` if a file of a run lacks a column that readers need. ``version`` is that of
    bentpipe which has written it.

    >>> check(Path("run/flows.parquet"), ["flow", "start"], ["flow"], "0.1.0")
    Traceback (most recent call last):
    ...
    bentpipe.errors.InputError: run/flows.parquet lacks the column "start", which is needed to read it (written by ...
    """
    known = set(there)
    for column in needed:
        if column not in known:
            raise InputError(
                f'{file} lacks the column "{column}", which is needed to read it (written by bentpipe '
                f"{version or 'of an unknown version'}): repeat the run or the measurement"
            )
