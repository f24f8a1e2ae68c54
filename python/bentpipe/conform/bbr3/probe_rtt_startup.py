"""ProbeRTT in STARTUP leads back to STARTUP."""

from collections.abc import Iterator

import numpy as np

from bentpipe.conform.case import Check
from bentpipe.conform.exceptions import Missing
from bentpipe.conform.lab import Lab
from bentpipe.conform.path import Path

from . import phases

SECTION = "A.20"
SAYS = """
If ProbeRTT begins before the bandwidth has been reached, for example because the application limits the rate,
STARTUP follows ProbeRTT, and the search for the bandwidth continues.
"""

#: A fifth of the bandwidth, without pauses.
_APP = {"kind": "cbr", "rate": "2 Mbit/s", "datagram": "1448 B"}


def checks(lab: Lab) -> Iterator[Check]:
    """Yields the pacing rate of the data that waited during ProbeRTT."""
    path = Path(rate=10e6, rtt=0.1)
    seen = lab.run(path, 14, app=_APP)
    window = seen.column("cwnd")
    estimate = 2e6 / path.rate * path.bdp
    inside = np.flatnonzero((seen.time > 3) & (window < 0.75 * estimate))
    if not inside.size:
        raise Missing(
            "no ProbeRTT: the window never fell below the estimated bandwidth-delay product in 14 s"
        )
    begin = float(seen.time[inside[0]])
    after = np.flatnonzero((seen.time > begin) & (window > estimate))
    if not after.size:
        raise Missing("ProbeRTT did not end")
    end = float(seen.time[after[0]])
    yield Check("length of ProbeRTT", end - begin, phases.PROBE_RTT_DURATION, 0.6, "s")
    # The window of ProbeRTT shows the estimated bandwidth.
    bandwidth = 2 * window[inside[0] : after[0]].min() / path.min_rtt
    waiting = seen.sends[seen.sends >= end][4:16]
    gain = (waiting.size - 1) / (waiting[-1] - waiting[0]) / bandwidth
    yield Check("pacing gain after it", gain, 2.2, 3.2)
