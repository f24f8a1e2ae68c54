"""Ctrl-C and SIGTERM end a command in order, so that the partial results of a run stay readable."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType


@dataclass
class Stop:
    """A request of the user to stop, and its signal."""

    signal: int | None = None

    @property
    def wanted(self) -> bool:
        """True if the user has requested to stop."""
        return self.signal is not None

    @property
    def exit_code(self) -> int:
        """The exit code that a shell expects: 130 for Ctrl-C, 143 for SIGTERM."""
        return 128 + (self.signal or 0)


@contextmanager
def stoppable() -> Iterator[Stop]:
    """Context manager in which the first signal only sets the flag; a second one has its usual
    effect."""
    with _noted(lambda: None) as stop:
        yield stop


@contextmanager
def interruptible() -> Iterator[Stop]:
    """Context manager in which the first signal, also SIGTERM, raises ``KeyboardInterrupt``; a
    second one has its usual effect. For commands that cannot check the flag everywhere."""

    def interrupt() -> None:
        raise KeyboardInterrupt

    with _noted(interrupt) as stop:
        yield stop


@contextmanager
def _noted(then: Callable[[], None]) -> Iterator[Stop]:
    stop = Stop()
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def restore() -> None:
        for number, handler in before.items():
            signal.signal(number, handler)

    def ask(number: int, _frame: FrameType | None) -> None:
        stop.signal = number
        restore()
        then()

    for number in before:
        signal.signal(number, ask)
    try:
        yield stop
    finally:
        restore()
