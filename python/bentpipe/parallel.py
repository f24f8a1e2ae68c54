"""Many things at once on threads, with one progress of all. The engine works without the GIL."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")

#: Told the fraction done of all; everything stops when it returns False.
Progress = Callable[[float], "bool | None"]

#: What work tells its own fraction done; it is to end when that returns False.
Tell = Callable[[float], bool]


def in_threads(
    work: Callable[[T, Tell], R], items: Sequence[T], workers: int, progress: Progress | None
) -> list[R | None]:
    """What ``work`` makes of each item, in their order; ``None`` for those that had not begun when ``progress``
    stopped it all. The first exception stops it too, and is raised when what was under way has ended."""
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
