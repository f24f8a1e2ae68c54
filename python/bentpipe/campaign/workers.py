"""The workers of a campaign: threads of this process, or the workers of a Dask cluster.

The engine releases the GIL, so threads simulate in parallel. On a cluster, Dask reassigns the run
of a dead worker; each result is stored once, regardless of the worker that returned it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol

from bentpipe.errors import InputError

from .keys import engine
from .work import Outcome, Task, perform

if TYPE_CHECKING:
    from distributed import Client

#: Seconds to wait for the scheduler, and between two queries of its number of workers.
_CONNECT_S: Final = 5
_POLL_INTERVAL_S: Final = 1.0


class Workers(Protocol):
    """The interface to workers, which are threads or a cluster."""

    def capacity(self) -> int:
        """Returns the number of runs that may be in progress now."""

    def submit(self, task: Task, folder: Path | None, tell: Callable[[float], bool]) -> Future[Outcome]:
        """Starts a run; see :func:`bentpipe.campaign.work.perform`."""

    def outcome(self, future: Future[Outcome]) -> Outcome:
        """Returns the outcome of a run. Raises ``OSError`` for an error that the run did not
        cause."""

    def stop(self, under_way: Iterable[Future[Outcome]]) -> None:
        """Abandons the runs in progress. Runs that ``tell`` has stopped end by themselves."""


@contextmanager
def on_threads(number: int, scratch: Path) -> Iterator[Workers]:
    """Yields workers that are threads of this process, with their temporary folders in
    ``scratch``."""
    if number < 1:
        raise InputError(f"workers = {number} is out of range; allowed: at least 1")
    with ThreadPoolExecutor(max_workers=number, thread_name_prefix="campaign") as pool:
        threads = _Threads(pool, number, scratch)
        try:
            yield threads
        except BaseException:
            threads.stopped = True
            raise


class _Threads:
    def __init__(self, pool: ThreadPoolExecutor, number: int, scratch: Path) -> None:
        self._pool = pool
        self._scratch = scratch
        self._number = number
        self.stopped = False

    def capacity(self) -> int:
        return self._number

    def submit(self, task: Task, folder: Path | None, tell: Callable[[float], bool]) -> Future[Outcome]:
        def heard(fraction: float) -> bool:
            return tell(fraction) and not self.stopped

        return self._pool.submit(perform, task, folder, heard, scratch=self._scratch)

    def outcome(self, future: Future[Outcome]) -> Outcome:
        return future.result()

    def stop(self, under_way: Iterable[Future[Outcome]]) -> None:
        del under_way
        self.stopped = True


@contextmanager
def in_cluster(address: str) -> Iterator[Workers]:
    """Yields the workers of the Dask cluster with the scheduler at ``address``, such as
    ``"tcp://10.0.0.1:8786"``.

    Raises ``OSError`` if the scheduler cannot be reached or a worker has a different engine.
    """
    try:
        from distributed import Client
    except ImportError:
        raise InputError(
            'a Dask cluster needs the package "distributed": pip install "bentpipe[cluster]"'
        ) from None
    try:
        client = Client(address, timeout=_CONNECT_S, set_as_default=False)
    except (OSError, ValueError) as error:
        raise OSError(f"no Dask scheduler answers at {address}: {error}") from error
    with client:
        for worker, theirs in client.run(engine).items():
            if theirs != engine():
                raise OSError(f"the worker {worker} has another engine: {theirs}, not {engine()}")
        yield _Cluster(client)


def _on_worker(task: Task) -> Outcome:
    """Runs a task on a worker of a cluster. Dask removes the folders of workers that were
    killed."""
    from distributed import get_worker

    # An exception may contain objects that cannot be sent.
    return replace(perform(task, scratch=get_worker().local_directory), cause=None)


class _Cluster:
    def __init__(self, client: Client) -> None:
        self._client = client
        self._executor = client.get_executor(pure=False)
        self._capacity = 1
        self._looked = float("-inf")

    def capacity(self) -> int:
        # Twice the number of threads, so that each thread has a next run ready.
        if time.monotonic() - self._looked > _POLL_INTERVAL_S:
            self._capacity = max(1, 2 * sum(self._client.nthreads().values()))
            self._looked = time.monotonic()
        return self._capacity

    def submit(self, task: Task, folder: Path | None, tell: Callable[[float], bool]) -> Future[Outcome]:
        del folder, tell
        future: Future[Outcome] = self._executor.submit(_on_worker, task)
        return future

    def outcome(self, future: Future[Outcome]) -> Outcome:
        from distributed import KilledWorker

        try:
            return future.result()
        except CancelledError:
            return Outcome("", "stopped", 0.0, "")
        except KilledWorker as error:
            # Dask abandons a task after several of its workers have died.
            return Outcome("", "failed", 0.0, "", error=f"every worker that executed this run died: {error}")

    def stop(self, under_way: Iterable[Future[Outcome]]) -> None:
        for future in under_way:
            future.cancel()
