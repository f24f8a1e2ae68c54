"""ProbeRTT begins after 5 s without a smaller round-trip time, and ends after 200 ms."""

from collections.abc import Iterator

import numpy as np

from bentpipe.conform.case import Check
from bentpipe.conform.exceptions import Missing
from bentpipe.conform.lab import Lab
from bentpipe.conform.path import Path

from . import phases

SECTION = "A.10"
SAYS = """
After 5 s without a smaller round-trip time (every flow MUST use this BBR.ProbeRTTInterval, 5.3.4.2), ProbeRTT
reduces the data in flight to half of the bandwidth-delay product, for at least 200 ms and a round trip. Then
the flow returns to ProbeBW. Later text in the working group's repository sets the interval to 10 s.
"""


def checks(lab: Lab) -> Iterator[Check]:
    """Yields begin, depth and length of the first ProbeRTT."""
    path = Path()
    seen = lab.run(path, 14)
    after = phases.drain(seen).end
    window, cruising = seen.column("cwnd"), seen.time > after
    reduced = np.flatnonzero(cruising & (window < 0.75 * path.bdp))
    if not reduced.size:
        raise Missing("no ProbeRTT: the window never fell below a bandwidth-delay product in 14 s")
    first = int(reduced[0])
    begin = float(seen.time[first])
    over = np.flatnonzero((seen.time > begin) & (window > path.bdp))
    end = float(seen.time[over[0]]) if over.size else float("nan")
    # The handshake had the smallest round-trip time, because its packets are short.
    smallest = float(seen.sends[1])
    yield Check("begin after the smallest round-trip time", begin - smallest, 5, 5.5, "s")
    low = float(window[first : int(over[0]) if over.size else None].min()) / path.bdp
    yield Check("window, in bandwidth-delay products", low, 0.45, 0.55)
    yield Check("length", end - begin, phases.PROBE_RTT_DURATION, 0.2 + 3 * path.min_rtt, "s")
    rate = seen.rate(end + path.min_rtt, end + 5 * path.min_rtt) / path.packets_per_s
    yield Check("sending rate after it, relative to the bandwidth", rate, 0.95, 1.02)
