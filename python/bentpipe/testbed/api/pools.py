"""Threads for expensive work, apart from those that answer all other requests."""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from bentpipe.testbed.refused import Refused

Result = TypeVar("Result")


class Pool:
    """A pool with a few ``threads`` for one kind of work. At most ``waiting`` requests wait or run
    at once, and at most ``per_caller`` of one caller. ``subject`` names the work in refusals, in
    the plural."""

    def __init__(self, subject: str, threads: int, waiting: int, per_caller: int | None = None) -> None:
        self.subject = subject
        self._threads = ThreadPoolExecutor(threads, subject.replace(" ", "-"))
        self._waiting = waiting
        self._per_caller = per_caller
        self._lock = threading.Lock()
        self._present: Counter[int | None] = Counter()

    async def run(self, caller: int | None, work: Callable[..., Result], *given: object) -> Result:
        """Returns ``work(*given)``, computed in a thread of the pool for the account ``caller``.
        Raises :class:`Refused` if too many requests are present."""
        with self._lock:
            if self._per_caller is not None and self._present[caller] >= self._per_caller:
                raise Refused(429, f"you have {self._per_caller} {self.subject} in progress; wait for them")
            if self._present.total() >= self._waiting:
                raise Refused(503, f"too many simultaneous {self.subject}; try again in a few seconds")
            self._present[caller] += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._threads, work, *given)
        finally:
            with self._lock:
                self._present[caller] -= 1
                if not self._present[caller]:
                    del self._present[caller]
