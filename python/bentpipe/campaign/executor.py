"""The executor of many runs: reuses those whose results are kept, does the others on workers, and keeps each result as
soon as its run ends.

Campaigns, ``bentpipe simulate --vary`` and the studies execute their runs here. They differ in :class:`Runs`: which
runs there are, and the place of their results.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Final, Generic, Literal, Protocol, TypeVar

from .work import Outcome, Task
from .workers import Workers

R = TypeVar("R")

#: Seconds between checks whether to stop, and between calls of :meth:`Runs.save`.
_LOOK_S: Final = 0.1
_SAVE_S: Final = 2.0
#: Seconds for which an exception waits for the runs in progress to end.
_END_S: Final = 30.0


@dataclass(frozen=True)
class Standing:
    """Progress of many runs. ``kept`` is the number of reused runs, ``fraction`` the fraction done of the others."""

    runs: int
    kept: int
    done: int
    failed: int
    fraction: float


#: Called with the progress several times a second; no further run begins and those in progress end when it returns
#: False.
Progress = Callable[[Standing], "bool | None"]


class Runs(Protocol[R]):
    """The runs of a command, and the place of their results."""

    def first(self) -> Sequence[R]:
        """Returns the runs that are always needed, in their order."""

    def more(self, at_once: int) -> Sequence[R]:
        """Returns about ``at_once`` further runs, once all earlier results are known."""

    def kept(self, run: R) -> Literal["complete", "failed"] | None:
        """Returns the status of a kept result, or None if the run has to be done."""

    def begin(self, run: R) -> tuple[Task, Path | None]:
        """Discards an earlier result of a run. Returns its task, and the folder to write to if that stays."""

    def end(self, run: R, outcome: Outcome) -> None:
        """Keeps the result of a run."""

    def save(self) -> None:
        """Writes a summary of all runs. Called every few seconds and at the end."""


def execute(runs: Runs[R], workers: Workers, progress: Progress | None = None) -> Standing:
    """Do the runs that have no result yet. Returns the progress at the end.

    A failed run stops no other. When ``progress`` stops the execution, or an exception such as Ctrl-C does, complete
    runs are kept, so that the same call resumes it. Raises what ``runs`` and ``progress`` raise, and ``OSError`` for
    errors that a run did not cause.
    """
    execution = _Execution(runs, workers, progress)
    try:
        return execution.finish()
    except BaseException:
        execution.abandon()
        raise


@dataclass
class _Execution(Generic[R]):
    runs: Runs[R]
    workers: Workers
    progress: Progress | None
    under_way: dict[Future[Outcome], tuple[R, int]] = field(default_factory=dict)
    fractions: list[float] = field(default_factory=list)
    kept: int = 0
    done: int = 0
    failed: int = 0
    stopped: bool = False

    def finish(self) -> Standing:
        """Runs until nothing is left to run or the caller wants to stop."""
        self.queue = deque(self._left(self.runs.first()))
        saved = -_SAVE_S
        while self._fill():
            if time.monotonic() - saved >= _SAVE_S:
                self.runs.save()
                saved = time.monotonic()
            done, _ = wait(self.under_way, timeout=_LOOK_S, return_when=FIRST_COMPLETED)
            for future in done:
                self._take(future)
            self._tell()
        self.runs.save()
        return self._tell()

    def abandon(self) -> None:
        """Ends the runs in progress, and keeps those that are complete."""
        self._stop()
        ended, _ = wait(self.under_way, timeout=_END_S)
        for future in ended:
            # The error that led here is raised, not another one.
            with suppress(Exception):
                self._take(future)

    def _left(self, runs: Iterable[R]) -> Iterator[R]:
        """Returns the runs that have to be done, and counts the others."""
        for run in runs:
            status = self.runs.kept(run)
            if status is None:
                yield run
            else:
                self.kept += 1
                self.failed += status == "failed"

    def _fill(self) -> bool:
        """Submits runs to the workers. Returns whether any are in progress."""
        while not self.stopped and len(self.under_way) < self.workers.capacity():
            while not self.queue and (more := self.runs.more(self.workers.capacity())):
                self.queue.extend(self._left(more))
            if not self.queue:
                break
            run = self.queue.popleft()
            task, folder = self.runs.begin(run)
            number = len(self.fractions)
            self.fractions.append(0.0)
            self.under_way[self.workers.submit(task, folder, partial(self._hear, number))] = run, number
        return bool(self.under_way)

    def _hear(self, number: int, fraction: float) -> bool:
        """Receives the progress of a run from a worker in this process."""
        self.fractions[number] = fraction
        return not self.stopped

    def _take(self, future: Future[Outcome]) -> None:
        run, number = self.under_way.pop(future)
        outcome = self.workers.outcome(future)
        self.runs.end(run, outcome)
        if outcome.status == "stopped":
            return
        self.fractions[number] = 1.0
        self.done += 1
        self.failed += outcome.status == "failed"

    def _tell(self) -> Standing:
        to_do = len(self.fractions) + len(self.queue)
        fraction = sum(self.fractions) / to_do if to_do else 1.0
        standing = Standing(self.kept + to_do, self.kept, self.done, self.failed, fraction)
        if self.progress is not None and self.progress(standing) is False and not self.stopped:
            self._stop()
        return standing

    def _stop(self) -> None:
        self.stopped = True
        self.workers.stop(self.under_way)
