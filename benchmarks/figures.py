"""Computes the figures of rows from their runs and the runs of their baseline."""

from __future__ import annotations

import math
from collections.abc import Callable

from measure import Summary, ratio


def reported(key: str) -> Callable[[Summary, Summary | None], float]:
    """Returns the function for the median of a number that the runs print."""
    return lambda own, _: own.median(key)


def times_less_cpu(own: Summary, base: Summary | None) -> float:
    """Returns the baseline's CPU time relative to this row's."""
    return ratio(base.cpu_s, own.cpu_s) if base else math.nan


def times_the_cpu(own: Summary, base: Summary | None) -> float:
    """Returns CPU time relative to the baseline."""
    return ratio(own.cpu_s, base.cpu_s) if base else math.nan


def times_the_loop(own: Summary, base: Summary | None) -> float:
    """Returns CPU time of the event loop relative to the baseline."""
    return ratio(own.loop_s, base.loop_s) if base else math.nan


def times_per_packet(own: Summary, base: Summary | None) -> float:
    """Returns CPU time of the event loop per data packet relative to the baseline."""
    return ratio(own.ns_per_packet, base.ns_per_packet) if base else math.nan


def cpu_seconds(own: Summary, _: Summary | None) -> float:
    """Returns CPU time in seconds."""
    return own.cpu_s


def times_the_memory(own: Summary, base: Summary | None) -> float:
    """Returns peak memory relative to the baseline."""
    return ratio(own.rss_bytes, base.rss_bytes) if base else math.nan


def hops_per_second(own: Summary, _: Summary | None) -> float:
    """Returns packet-hops per second of the event loop's CPU time."""
    return ratio(own.median("hops"), own.median("cpu_s"))


def simulated_per_second(own: Summary, _: Summary | None) -> float:
    """Returns simulated seconds per second of CPU time."""
    return ratio(own.row.simulated_s, own.cpu_s)
