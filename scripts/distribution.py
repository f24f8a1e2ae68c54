"""A plug-in of pytest: the order in which files of tests are given to processes side by side, how long each took, and
a list of the tests that fail, for ``scripts/test``."""

from __future__ import annotations

import ctypes
import os
import signal
from collections import Counter, defaultdict
from pathlib import Path
from types import FrameType

import pytest

#: How many seconds each file of tests took, when it last ran beside others.
SECONDS = "bentpipe/seconds"

#: prctl(2): the signal that a process gets when its parent ends.
PR_SET_PDEATHSIG = 1


def _file(test: str) -> str:
    return test.partition("::")[0]


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Where files run side by side, the longest begin first; where they never ran, those with most tests."""
    cache = getattr(config, "cache", None)
    if cache is not None and hasattr(config, "workerinput"):
        known, count = cache.get(SECONDS, {}), Counter(_file(item.nodeid) for item in items)
        items.sort(key=lambda item: -known.get(file := _file(item.nodeid), count[file]))


class _Seconds:
    """Notes in the process that distributes the files how long each takes."""

    def __init__(self) -> None:
        self.taken: defaultdict[str, float] = defaultdict(float)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.taken[_file(report.nodeid)] += report.duration

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if (cache := getattr(session.config, "cache", None)) is not None:
            cache.set(SECONDS, {**cache.get(SECONDS, {}), **self.taken})


class _Failed:
    """Lists in a file each test that fails, for `scripts/test`."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.listed: set[str] = set()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        # A test may fail when it runs and again when it ends.
        if report.failed and report.nodeid not in self.listed:
            self.listed.add(report.nodeid)
            with self.file.open("a", encoding="utf-8") as lines:
                lines.write(f"{report.nodeid}\n")


def pytest_configure(config: pytest.Config) -> None:
    """In the process that distributes the files: note durations if they run side by side, and list what fails."""
    signal.signal(signal.SIGTERM, _interrupt)
    if hasattr(config, "workerinput"):
        # It ends with the process that distributes the files, also if that is killed.
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
        return
    if config.getoption("numprocesses", None):
        config.pluginmanager.register(_Seconds())
    if file := os.environ.get("BENTPIPE_FAILED"):
        config.pluginmanager.register(_Failed(Path(file)))


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    """End as by Ctrl-C, so that tests end the processes that they started, within 10 s. A second signal changes
    nothing."""
    signal.signal(signal.SIGTERM, lambda *_: None)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(10)
    raise KeyboardInterrupt
