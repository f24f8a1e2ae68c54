"""Computes the figures of rows from their runs and the runs of their baseline."""

from __future__ import annotations

import math
from collections.abc import Callable

from measure import Summary, ratio


def reported(key: str) -> Callable[[Summary, Summary | None], float]:
    """Returns a function that returns the median of the key's value over the runs of a row."""
    return lambda row, _: row.median(key)


def times_less_cpu(row: Summary, base: Summary | None) -> float:
    """Returns the CPU time of the baseline divided by the CPU time of the row."""
    return ratio(base.cpu_s, row.cpu_s) if base else math.nan


def times_the_cpu(row: Summary, base: Summary | None) -> float:
    """Returns the CPU time of the row divided by the CPU time of the baseline."""
    return ratio(row.cpu_s, base.cpu_s) if base else math.nan


def times_the_loop(row: Summary, base: Summary | None) -> float:
    """Returns the event loop's CPU time in the row, divided by its CPU time in the baseline."""
    return ratio(row.loop_s, base.loop_s) if base else math.nan


def times_per_packet(row: Summary, base: Summary | None) -> float:
    """Returns the event loop's CPU time per data packet in the row, relative to the baseline."""
    return ratio(row.ns_per_packet, base.ns_per_packet) if base else math.nan


def cpu_seconds(row: Summary, _: Summary | None) -> float:
    """Returns the median CPU time of the processes, in seconds."""
    return row.cpu_s


def times_the_memory(row: Summary, base: Summary | None) -> float:
    """Returns the peak memory of the row divided by the peak memory of the baseline."""
    return ratio(row.rss_bytes, base.rss_bytes) if base else math.nan


def hops_per_second(row: Summary, _: Summary | None) -> float:
    """Returns packet-hops per second of the event loop's CPU time."""
    return ratio(row.median("hops"), row.median("cpu_s"))


def simulated_per_second(row: Summary, _: Summary | None) -> float:
    """Returns simulated seconds per second of CPU time of the whole process."""
    return ratio(row.row.simulated_s, row.cpu_s)
