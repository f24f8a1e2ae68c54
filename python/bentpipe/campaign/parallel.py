"""Parallel work on threads with one progress for all. The engine releases the GIL."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")

#: Called with the fraction done of all items; everything stops when it returns False.
Progress = Callable[[float], "bool | None"]

#: Called by an item's work with its own fraction done; the work must end when it returns False.
Tell = Callable[[float], bool]


def in_threads(
    work: Callable[[T, Tell], R], items: Sequence[T], workers: int, progress: Progress | None
) -> list[R | None]:
    """Returns the result of ``work`` for each item, in order; ``None`` for items that had not begun when ``progress``
    stopped everything. The first exception also stops everything, and is raised when the running items have ended."""
    done = [0.0] * len(items)
    stopped = False

    def one(index: int) -> R | None:
        def tell(fraction: float) -> bool:
            nonlocal stopped
            done[index] = fraction
            if progress is not None and progress(sum(done) / len(done)) is False:
                stopped = True
            return not stopped

        if stopped:
            return None
        result = work(items[index], tell)
        tell(1.0)
        return result

    with ThreadPoolExecutor(max_workers=max(1, workers)) as pool:
        futures = [pool.submit(one, index) for index in range(len(items))]
        try:
            return [future.result() for future in futures]
        except BaseException:
            stopped = True
            raise
