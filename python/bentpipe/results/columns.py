"""Columns of a run's tables and traces that readers need. They decide if a run of another version
can be read.

New versions add columns, which runs of older versions lack. Where possible, a reader works without
such a column; unknown values are "-" in tables. Required columns are listed here. If one is
missing, reading the table raises :class:`bentpipe.InputError` with the file and the column.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from bentpipe.errors import InputError

#: Required columns of tables. All columns of other tables are optional.
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

#: Required columns of traces, in addition to the time and the entity, which come first.
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
    """Raises :class:`bentpipe.InputError` if a file of a run lacks a column that readers need.
    ``version`` is the version of bentpipe that wrote the run.

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
