"""A pytest plug-in for ``scripts/test``: schedules test files on parallel workers, longest first.

It also records the duration of each file, and writes a list of the failed tests.
"""

from __future__ import annotations

import ctypes
import os
import signal
from collections import Counter, defaultdict
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

#: The key in pytest's cache for the duration of each test file, in seconds, in its last parallel
#: run.
SECONDS = "bentpipe/seconds"

#: prctl(2): the signal that a process gets when its parent ends.
PR_SET_PDEATHSIG = 1


def _file(test: str) -> str:
    return test.partition("::")[0]


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Sorts the test files of a parallel run by their last duration, the longest first.

    A file without a known duration is sorted by its number of tests.
    """
    if hasattr(config, "workerinput"):
        known, count = config.workerinput[SECONDS], Counter(_file(item.nodeid) for item in items)
        items.sort(key=lambda item: -known.get(file := _file(item.nodeid), count[file]))


class _Seconds:
    """Records the duration of each test file, in the process that distributes the files.

    It reads the last durations once for all workers, which must have the same order. Another run
    may write durations while workers start.
    """

    def __init__(self, known: dict[str, float]) -> None:
        self.known = known
        self.taken: defaultdict[str, float] = defaultdict(float)

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        node.workerinput[SECONDS] = self.known

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.taken[_file(report.nodeid)] += report.duration

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if (cache := getattr(session.config, "cache", None)) is not None:
            cache.set(SECONDS, {**cache.get(SECONDS, {}), **self.taken})


class _Failed:
    """Writes each failed test to a file for `scripts/test`."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.listed: set[str] = set()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        # A test can fail twice: in its call and in its teardown.
        if report.failed and report.nodeid not in self.listed:
            self.listed.add(report.nodeid)
            with self.file.open("a", encoding="utf-8") as lines:
                lines.write(f"{report.nodeid}\n")


def pytest_configure(config: pytest.Config) -> None:
    """Registers the recorders of durations and failures, in the process that distributes the
    files."""
    signal.signal(signal.SIGTERM, _interrupt)
    if hasattr(config, "workerinput"):
        # A worker ends when the distributing process ends, even if that process is killed.
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
        return
    if config.getoption("numprocesses", None):
        cache = getattr(config, "cache", None)
        config.pluginmanager.register(_Seconds({} if cache is None else cache.get(SECONDS, {})))
    if file := os.environ.get("BENTPIPE_FAILED"):
        config.pluginmanager.register(_Failed(Path(file)))


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    """Ends as after Ctrl-C, so that tests end the processes that they started, within 10 s.

    Further signals are ignored.
    """
    signal.signal(signal.SIGTERM, lambda *_: None)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(10)
    raise KeyboardInterrupt
