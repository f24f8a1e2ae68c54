"""ProbeRTT is skipped after idle time."""

from collections.abc import Iterator

from bentpipe.conform.case import Check
from bentpipe.conform.exceptions import Missing
from bentpipe.conform.lab import Lab, writing
from bentpipe.conform.path import Path

SECTION = "A.11"
SAYS = """
If the interval of ProbeRTT ends while the flow is idle, the flow does not enter ProbeRTT when it restarts,
because idle time drains the queue as well. It restarts at the estimated bandwidth (5.4.1).
"""


def checks(lab: Lab) -> Iterator[Check]:
    """Yields window and rate after a transfer of 4 s and a pause of 13 s."""
    path = Path()
    seen = lab.run(path, 19, app=writing(4 * path.packets_per_s, every=17))
    later = seen.sends[seen.sends > 17]
    if not later.size:
        raise Missing("nothing was sent after the pause")
    restart = float(later[0])
    yield Check("time without packets", restart - float(seen.sends[seen.sends < 16][-1]), 10, 16, "s")
    window = seen.between("cwnd", restart + path.min_rtt, restart + 1.5)
    yield Check("smallest window, in bandwidth-delay products", window.min() / path.bdp, 1, float("inf"))
    rate = seen.rate(restart, restart + 1.5) / path.packets_per_s
    yield Check("sending rate, relative to the bandwidth", rate, 0.95, 1.05)
