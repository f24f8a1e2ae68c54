"""Ctrl-C and SIGTERM: the engine is asked to stop, so that what there is of a run stays readable."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType


@dataclass
class Stop:
    """Whether stopping was asked for, and by which signal."""

    signal: int | None = None

    @property
    def wanted(self) -> bool:
        """Whether to stop."""
        return self.signal is not None

    @property
    def exit_code(self) -> int:
        """What the shell expects: 130 for Ctrl-C, 143 for SIGTERM."""
        return 128 + (self.signal or 0)


@contextmanager
def stoppable() -> Iterator[Stop]:
    """Within it the first signal only sets the flag; the second acts as it always does."""
    stop = Stop()
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def restore() -> None:
        for number, handler in before.items():
            signal.signal(number, handler)

    def ask(number: int, _frame: FrameType | None) -> None:
        stop.signal = number
        restore()

    for number in before:
        signal.signal(number, ask)
    try:
        yield stop
    finally:
        restore()
