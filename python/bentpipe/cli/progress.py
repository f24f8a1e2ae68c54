"""Progress of long commands, as a bar in a terminal and as lines elsewhere."""

from __future__ import annotations

import sys
import threading
import time
from typing import TYPE_CHECKING, Final, Self

from .stopping import Stop

if TYPE_CHECKING:
    from rich.progress import Progress


#: Maximum time between two lines of progress in seconds.
INTERVAL_S: Final = 30.0


class Bar:
    """A progress bar on stderr, if that is a terminal."""

    def __init__(self, doing: str, stop: Stop) -> None:
        self._stop = stop
        self._progress: Progress | None = None
        # Importing Rich takes longer than a short run.
        if not sys.stderr.isatty():
            return
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=None),
            TextColumn("{task.percentage:3.0f} %"),
            TimeRemainingColumn(),
            console=Console(stderr=True),
            transient=True,
        )
        self._task = self._progress.add_task(doing, total=1.0)

    def __enter__(self) -> Self:
        if self._progress is not None:
            self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._progress is not None:
            self._progress.stop()

    def describe(self, fraction: float, doing: str) -> bool:
        """Shows the fraction done and what is being done. Returns False if the user wants to
        stop."""
        if self._progress is not None:
            self._progress.update(self._task, completed=fraction, description=doing)
        return not self._stop.wanted

    def advance(self, fraction: float) -> bool:
        """Shows the fraction done. Returns False if the user wants to stop."""
        if self._progress is not None:
            self._progress.update(self._task, completed=fraction)
        return not self._stop.wanted


class Lines:
    """Progress as lines on stderr: one line when a step begins, and at least one line every
    :data:`INTERVAL_S`, even if a step reports nothing. Each line has the time since the start, in
    minutes and seconds."""

    def __init__(self, doing: str, stop: Stop) -> None:
        self._stop = stop
        self._doing = doing
        self._began = self._printed = time.monotonic()
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._repeat, name="progress", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def describe(self, _fraction: float, doing: str) -> bool:
        """Prints a line if a step begins, which changes the words before the comma. Returns False
        if the user wants to stop."""
        with self._lock:
            begins = doing.partition(",")[0] != self._doing.partition(",")[0]
            self._doing = doing
            if begins:
                self._print()
        return not self._stop.wanted

    def _repeat(self) -> None:
        while not self._ended.wait(max(0.0, self._printed + INTERVAL_S - time.monotonic())):
            with self._lock:
                if time.monotonic() - self._printed >= INTERVAL_S:
                    self._print()

    def _print(self) -> None:
        self._printed = time.monotonic()
        minutes, seconds = divmod(int(self._printed - self._began), 60)
        print(f"{minutes:d}:{seconds:02d}  {self._doing}", file=sys.stderr, flush=True)


def shown(doing: str, stop: Stop) -> Bar | Lines:
    """Returns the progress of a command that takes minutes: a bar if stderr is a terminal,
    otherwise lines."""
    return Bar(doing, stop) if sys.stderr.isatty() else Lines(doing, stop)
