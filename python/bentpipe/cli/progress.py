"""The progress bar of long commands."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Self

from .stopping import Stop

if TYPE_CHECKING:
    from rich.progress import Progress


class Bar:
    """A progress bar on stderr, if that is a terminal."""

    def __init__(self, doing: str, stop: Stop) -> None:
        self._stop = stop
        self._progress: Progress | None = None
        # Rich takes longer to import than a short run takes.
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
        """Show the fraction done and what is being done. Returns False if the user wants to stop."""
        if self._progress is not None:
            self._progress.update(self._task, completed=fraction, description=doing)
        return not self._stop.wanted

    def advance(self, fraction: float) -> bool:
        """Show the fraction done. Returns False if the user wants to stop."""
        if self._progress is not None:
            self._progress.update(self._task, completed=fraction)
        return not self._stop.wanted
