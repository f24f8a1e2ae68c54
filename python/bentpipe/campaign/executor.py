"""The executor of many runs. It reuses runs with stored results, executes the others on workers,
and stores each result as soon as its run ends.

Campaigns, ``bentpipe simulate --vary`` and the studies execute their runs here. Each supplies a
:class:`Runs`: the list of runs and the place of their results.
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
_POLL_INTERVAL_S: Final = 0.1
_SAVE_S: Final = 2.0
#: Seconds for which an exception waits for the runs in progress to end.
_END_S: Final = 30.0


@dataclass(frozen=True)
class ExecutionStatus:
    """Progress of many runs. ``kept`` is the number of reused runs, and ``fraction`` the completed
    fraction of the others."""

    runs: int
    kept: int
    done: int
    failed: int
    fraction: float


#: Called with the progress several times a second. If it returns False, runs in progress end and no
#: further run begins.
Progress = Callable[[ExecutionStatus], "bool | None"]


class Runs(Protocol[R]):
    """The runs of a command, and the storage of their results."""

    def first(self) -> Sequence[R]:
        """Returns the runs that are always needed, in order."""

    def more(self, at_once: int) -> Sequence[R]:
        """Returns about ``at_once`` further runs, once all earlier results are known."""

    def kept(self, run: R) -> Literal["complete", "failed"] | None:
        """Returns the status of a stored result, or None if the run must be executed."""

    def begin(self, run: R) -> tuple[Task, Path | None]:
        """Discards an earlier result of a run. Returns its task, and its folder if the run keeps
        one."""

    def end(self, run: R, outcome: Outcome) -> None:
        """Stores the result of a run."""

    def save(self) -> None:
        """Writes a summary of all runs. Called every few seconds and at the end."""


def execute(runs: Runs[R], workers: Workers, progress: Progress | None = None) -> ExecutionStatus:
    """Executes the runs without a result. Returns the progress at the end.

    A failed run does not stop the others. If ``progress`` or an exception such as Ctrl-C stops the
    execution, complete runs are kept, and the same call resumes the execution. Raises what ``runs``
    and ``progress`` raise, and ``OSError`` for errors that a run did not cause.
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

    def finish(self) -> ExecutionStatus:
        """Executes runs until all are done or the caller stops the execution."""
        self.queue = deque(self._unfinished(self.runs.first()))
        saved = -_SAVE_S
        while self._submit():
            if time.monotonic() - saved >= _SAVE_S:
                self.runs.save()
                saved = time.monotonic()
            done, _ = wait(self.under_way, timeout=_POLL_INTERVAL_S, return_when=FIRST_COMPLETED)
            for future in done:
                self._store(future)
            self._report()
        self.runs.save()
        return self._report()

    def abandon(self) -> None:
        """Ends the runs in progress and stores the results of complete runs."""
        self._stop()
        ended, _ = wait(self.under_way, timeout=_END_S)
        for future in ended:
            # The caller raises the original error, so errors here are ignored.
            with suppress(Exception):
                self._store(future)

    def _unfinished(self, runs: Iterable[R]) -> Iterator[R]:
        """Yields the runs that must be executed, and counts the others."""
        for run in runs:
            status = self.runs.kept(run)
            if status is None:
                yield run
            else:
                self.kept += 1
                self.failed += status == "failed"

    def _submit(self) -> bool:
        """Submits runs to the workers. Returns true if any are in progress."""
        while not self.stopped and len(self.under_way) < self.workers.capacity():
            while not self.queue and (more := self.runs.more(self.workers.capacity())):
                self.queue.extend(self._unfinished(more))
            if not self.queue:
                break
            run = self.queue.popleft()
            task, folder = self.runs.begin(run)
            number = len(self.fractions)
            self.fractions.append(0.0)
            self.under_way[self.workers.submit(task, folder, partial(self._receive_progress, number))] = (
                run,
                number,
            )
        return bool(self.under_way)

    def _receive_progress(self, number: int, fraction: float) -> bool:
        """Receives the progress of a run from a worker in this process."""
        self.fractions[number] = fraction
        return not self.stopped

    def _store(self, future: Future[Outcome]) -> None:
        run, number = self.under_way.pop(future)
        outcome = self.workers.outcome(future)
        self.runs.end(run, outcome)
        if outcome.status == "stopped":
            return
        self.fractions[number] = 1.0
        self.done += 1
        self.failed += outcome.status == "failed"

    def _report(self) -> ExecutionStatus:
        to_do = len(self.fractions) + len(self.queue)
        fraction = sum(self.fractions) / to_do if to_do else 1.0
        progress = ExecutionStatus(self.kept + to_do, self.kept, self.done, self.failed, fraction)
        if self.progress is not None and self.progress(progress) is False and not self.stopped:
            self._stop()
        return progress

    def _stop(self) -> None:
        self.stopped = True
        self.workers.stop(self.under_way)
