"""After a time-out, the threshold is 0.7 of the window, and a convex curve starts there."""

from collections.abc import Iterator

import numpy as np

from bentpipe.conform.case import Check, near
from bentpipe.conform.exceptions import Missing
from bentpipe.conform.lab import Lab, change

from . import windows

SECTION = "4.8"
SAYS = """
A time-out sets ssthresh to 0.7 times the data in flight, and slow start follows. In the first stage of congestion
avoidance after it, K is 0 and W_max is the window at the start of the stage.
"""


def checks(lab: Lab) -> Iterator[Check]:
    """Yields threshold, smallest window and curve after an outage of 2 s."""
    at = 3.0
    outage = [
        change(at, error={"kind": "packet", "probability": 1.0}),
        change(at + 2, error={"kind": "none"}),
    ]
    seen = windows.lossy(lab, [600], 14, changes=outage)
    if seen.at("timeouts", 14) == 0:
        raise Missing("an outage of 2 s caused no time-out")
    before = seen.at("cwnd", at)
    ssthresh = float(seen.between("ssthresh", at + 2, 14).min())
    yield near("ssthresh, relative to the window before", ssthresh / before, windows.BETA, 0.02)
    yield Check("smallest window", seen.between("cwnd", at, 14).min(), 1, 10, "segments")
    window, avoiding = seen.column("cwnd"), seen.column("ca_state") < 3
    stage = np.flatnonzero((seen.time > at + 2) & (window >= ssthresh) & avoiding)
    if not stage.size:
        raise Missing("slow start did not reach the threshold")
    begin = float(seen.time[stage[0]])
    top = float(window[stage[0]])
    start = windows.Epoch(top, ssthresh, begin, top)
    off = windows.deviation(seen, start, begin + 4)
    yield Check("largest deviation from the convex curve in 4 s", 100 * off, 0, 4, "%")
