"""Slow start doubles the window per round trip."""

from collections.abc import Iterator

import numpy as np

from bentpipe.conform.case import Check
from bentpipe.conform.lab import Lab

from . import windows

SECTION = "4.10"
SAYS = """
While the window is at most ssthresh, CUBIC MUST employ a slow start algorithm. Slow start doubles the window per
round trip (RFC 5681, section 3.1).
"""


def checks(lab: Lab) -> Iterator[Check]:
    """Yields the growth of the window per round trip, over the first five round trips."""
    seen = lab.run(windows.FAST, 1.2)
    edges = [float(seen.time[0]), *seen.rounds(float(seen.time[0]), 1.2)][:5]
    window = np.array([seen.at("cwnd", time - 1e-6) for time in edges[1:]])
    factor = float((window[-1] / window[0]) ** (1 / (len(window) - 1)))
    yield Check("factor per round trip", factor, 1.8, 2.1)
