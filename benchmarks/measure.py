"""Measures single processes, and compares rows with their baselines and targets.

run.py documents the protocol that the processes follow.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import signal
import statistics
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import IO, Any

REQUIRED = ("cpu_s", "events", "packets", "peak_rss_bytes")


@dataclass(frozen=True)
class Figure:
    """The figure that a row reports, with its target."""

    #: Computes the figure from the runs of the row and the runs of its baseline.
    value: Callable[[Summary, Summary | None], float]
    unit: str
    #: Minimum that meets the target.
    at_least: float | None = None
    #: Maximum that meets the target.
    at_most: float | None = None

    def verdict(self, value: float) -> str:
        """Returns `met` or `MISSED`, or an empty string if the figure has no target."""
        if self.at_least is None and self.at_most is None:
            return ""
        low = self.at_least is not None and value < self.at_least
        high = self.at_most is not None and value > self.at_most
        return "MISSED" if low or high or math.isnan(value) else "met"

    def target(self) -> str:
        """Returns the target as text, or an empty string if the figure has no target."""
        if self.at_least is not None:
            return f">={short(self.at_least)}"
        return f"<={short(self.at_most)}" if self.at_most is not None else ""


@dataclass(frozen=True)
class Row:
    """A row of the table: a measured command."""

    name: str
    command: list[str]
    baseline: str | None = None
    figure: Figure | None = None
    #: Simulated duration of a run, in seconds.
    simulated_s: float = 0.0
    #: The result that a prototype reached, as text.
    floor: str = ""
    #: Minimum number of turns of the row's group. Differences of a few percent need many turns.
    turns: int = 1


@dataclass(frozen=True)
class Run:
    """The measurements of a finished process."""

    #: User + system time of the process, in seconds.
    cpu_s: float
    #: Elapsed real time, in seconds.
    wall_s: float
    #: The line of JSON that the process printed.
    values: dict[str, Any]


@dataclass
class Summary:
    """All runs of one row, or the reason why the row was skipped or failed."""

    row: Row
    runs: list[Run] = field(default_factory=list)
    skipped: str | None = None
    failed: str | None = None
    figure: float | None = None
    verdict: str = ""

    @property
    def done(self) -> bool:
        """True if the row has runs and all of them succeeded."""
        return bool(self.runs) and not (self.skipped or self.failed)

    @property
    def cpu_s(self) -> float:
        """Median CPU time of the processes, in seconds."""
        return statistics.median(run.cpu_s for run in self.runs)

    @property
    def min_cpu_s(self) -> float:
        """Minimum CPU time of a process, in seconds."""
        return min(run.cpu_s for run in self.runs)

    @property
    def rss_bytes(self) -> float:
        """Median of the peak memory, in bytes."""
        return self.median("peak_rss_bytes")

    @property
    def events_per_packet(self) -> float:
        """Events executed per data packet."""
        return ratio(self.median("events"), self.median("packets"))

    @property
    def loop_s(self) -> float:
        """Median CPU time of the event loop alone, in seconds."""
        return self.median("cpu_s")

    @property
    def ns_per_packet(self) -> float:
        """CPU nanoseconds of the event loop per data packet."""
        return ratio(self.loop_s * 1e9, self.median("packets"))

    def median(self, key: str) -> float:
        """Returns the median of a key's value over the runs, or NaN if a run did not report the
        key."""
        return float(statistics.median(run.values.get(key, math.nan) for run in self.runs))

    def report(self) -> dict[str, Any]:
        """Returns all measured values, for the JSON report."""
        out: dict[str, Any] = {"name": self.row.name, "baseline": self.row.baseline}
        if self.skipped:
            return out | {"skipped": self.skipped}
        if self.failed:
            return out | {"failed": self.failed}
        figure = self.row.figure
        return out | {
            "cpu_s": {"median": self.cpu_s, "min": self.min_cpu_s},
            "peak_rss_bytes": self.rss_bytes,
            "simulated_s": self.row.simulated_s,
            "events_per_packet": finite(self.events_per_packet),
            "ns_per_packet": finite(self.ns_per_packet),
            "figure": finite(self.figure),
            "unit": figure.unit if figure else None,
            "at_least": figure.at_least if figure else None,
            "at_most": figure.at_most if figure else None,
            "verdict": self.verdict or None,
            "runs": [
                {**run.values, "process_cpu_s": run.cpu_s, "process_wall_s": run.wall_s} for run in self.runs
            ],
        }


class ProtocolError(Exception):
    """A measured command did not follow the protocol."""


def run_once(command: list[str], limit_s: float, padding: int = 0) -> Run:
    """Runs `command`. Returns its CPU time, its elapsed time and the line that it printed.

    The environment gets `padding` extra bytes, which move the position of the stack. Raises
    ProtocolError if the command exits with an error, takes longer than `limit_s`, or does not print
    the line that the protocol requires.
    """
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        begin = time.perf_counter()
        child = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
            start_new_session=True,
            env={**os.environ, "BENCH_PADDING": "x" * padding},
        )
        killed = threading.Event()

        def kill() -> None:
            killed.set()
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGKILL)

        timer = threading.Timer(limit_s, kill)
        timer.start()
        try:
            _, status, usage = os.wait4(child.pid, 0)
        except BaseException:
            kill()
            child.wait()
            raise
        finally:
            timer.cancel()
        child.returncode = os.waitstatus_to_exitcode(status)
        wall = time.perf_counter() - begin

        def text(stream: IO[bytes]) -> str:
            stream.seek(0)
            return stream.read().decode(errors="replace").strip()

        if killed.is_set():
            raise ProtocolError(f"took longer than {limit_s:g} s")
        if child.returncode != 0:
            complaint = text(err).splitlines()[-3:]
            raise ProtocolError(f"ended with {child.returncode}: " + " / ".join(complaint))
        values = parse(text(out))
    return Run(usage.ru_utime + usage.ru_stime, wall, values)


def parse(text: str) -> dict[str, Any]:
    """Parses the last line of `text`, which must be a line of the protocol."""
    last = text.splitlines()[-1] if text else ""
    try:
        values = json.loads(last)
    except ValueError:
        raise ProtocolError(f"the last line of the output is not JSON: {last[:60]!r}") from None
    missing = [key for key in REQUIRED if not isinstance(values, dict) or key not in values]
    if missing:
        raise ProtocolError(f"the last line of the output lacks {', '.join(missing)}")
    return dict(values)


def judge(summaries: list[Summary], to_target: bool) -> None:
    """Computes the figures of the rows. With `to_target`, also compares the figures with their
    targets."""
    by_name = {summary.row.name: summary for summary in summaries}
    for summary in summaries:
        figure = summary.row.figure
        if figure is None or not summary.done:
            continue
        base = by_name.get(summary.row.baseline) if summary.row.baseline else None
        if base is not None and not base.done:
            continue
        summary.figure = figure.value(summary, base)
        summary.verdict = figure.verdict(summary.figure) if to_target else ""


def short(value: float) -> str:
    """Formats a number in at most six characters."""
    if math.isnan(value):
        return "-"
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e4, "k")):
        if abs(value) >= size:
            scaled = value / (1e3 if letter == "k" else size)
            return f"{scaled:.3g}{letter}" if scaled < 100 else f"{scaled:.0f}{letter}"
    return f"{value:.3g}" if abs(value) < 100 else f"{value:.0f}"


def ratio(a: float, b: float) -> float:
    """Returns the quotient a / b, or NaN if `b` is 0."""
    return a / b if b else math.nan


def finite(value: float | None) -> float | None:
    """Returns a finite number unchanged. Returns None for NaN and infinity, which JSON lacks."""
    return None if value is None or not math.isfinite(value) else value
