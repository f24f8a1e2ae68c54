"""Docstring examples run in an empty folder that contains the repository's examples, and the blocks of the README and
the manual as :mod:`manual.blocks` says."""

from __future__ import annotations

import functools
import os
import subprocess
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

# An environment that `make` has not updated yet can run all other tests.
try:
    from sybil import Document, Example, Region, Sybil
except ModuleNotFoundError:
    Sybil = None

# As in the command `fit`, which is where it matters most; before NumPy is imported.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

ROOT = Path(__file__).resolve().parent

from manual import blocks, figures  # noqa: E402 - the environment has to come first
from rigs.guests import reason_to_skip  # noqa: E402

#: How many seconds each file of tests took, when it last ran beside others.
SECONDS = "bentpipe/seconds"


def _file(test: str) -> str:
    return test.partition("::")[0]


@functools.cache
def _draws(file: str) -> bool:
    """Whether this is a page with figures, which the test of the site needs."""
    return file.endswith(".md") and "```{plot}" in (ROOT / file).read_text(encoding="utf-8")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Where files run side by side, the longest begin first; where they never ran, those with most tests. Pages with
    figures begin before all others, so that the site finds their figures drawn."""
    cache = getattr(config, "cache", None)
    if cache is not None and hasattr(config, "workerinput"):
        known, count = cache.get(SECONDS, {}), Counter(_file(item.nodeid) for item in items)
        items.sort(key=lambda item: (not _draws(file := _file(item.nodeid)), -known.get(file, count[file])))


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
    if hasattr(config, "workerinput"):
        return
    if config.getoption("numprocesses", None):
        config.pluginmanager.register(_Seconds())
    if file := os.environ.get("BENTPIPE_FAILED"):
        config.pluginmanager.register(_Failed(Path(file)))


@pytest.fixture(autouse=True)
def _place_for_doctests(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if isinstance(request.node, pytest.DoctestItem):
        (tmp_path / "examples").symlink_to(ROOT / "examples")
        monkeypatch.chdir(tmp_path)


def _regions(document: Document) -> Iterator[Region]:
    for block in blocks.read(document.text):
        if block.runs:
            yield Region(block.start, block.end, block, _run)


def _run(example: Example) -> None:
    block: blocks.Block = example.parsed
    if block.language == "sh":
        if blocks.GUEST.search(block.text):
            if (reason := reason_to_skip()) is not None:
                pytest.skip(reason)
        elif blocks.REAL.search(block.text) and (reason := _cannot_emulate()):
            pytest.skip(reason)
    example.namespace["session"].run(block)
    example.namespace["ran"].append(Path(example.document.path))


@functools.cache
def _cannot_emulate() -> str:
    """Returns why this machine cannot emulate, or nothing."""
    doctor = subprocess.run(
        [ROOT / ".venv/bin/bentpipe", "doctor"], capture_output=True, text=True, check=False
    )
    return f"this machine cannot emulate: {doctor.stdout}" if doctor.returncode else ""


def _begin(namespace: dict[str, Any]) -> None:
    folder = namespace["folder"] = tempfile.TemporaryDirectory()
    place = Path(folder.name)
    (place / "figures").mkdir()
    namespace["session"] = blocks.Session(place, place / "figures")
    namespace["ran"] = []


def _end(namespace: dict[str, Any]) -> None:
    """Take down what a page has left up, and keep its figures for the site if all its blocks have run."""
    with namespace["folder"] as place:
        namespace["session"].close()
        for file in set(namespace["ran"]):
            page = file.read_text(encoding="utf-8")
            runs = [block for block in blocks.read(page) if block.runs]
            if len(runs) == len(namespace["ran"]) and any(block.number for block in runs):
                figures.keep(str(file.relative_to(ROOT).with_suffix("")), page, Path(place) / "figures")


if Sybil is None:
    collect_ignore_glob = ["scripts/manual/*"]
else:
    pytest_collect_file = Sybil(
        parsers=[_regions],
        patterns=["README.md", "docs/*.md", "docs/**/*.md", "studies/*/README.md", "CONTRIBUTING.md"],
        setup=_begin,
        teardown=_end,
    ).pytest()
