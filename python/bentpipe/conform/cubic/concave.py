"""The window follows the cubic curve back to W_max."""

from collections.abc import Iterator

from bentpipe.conform.case import Check
from bentpipe.conform.lab import Lab

from . import windows

SECTION = "4.4"
SAYS = """
After a loss, the window follows W_cubic(t) = C (t - K)^3 + W_max with C = 0.4 and K = cbrt((W_max - cwnd) / C)
until it reaches W_max. An implementation may be a round trip late, which is 2 % at the steepest point here.
"""


def checks(lab: Lab) -> Iterator[Check]:
    """Yields the deviation of the window from the curve, and the time at which it reaches W_max."""
    seen = windows.lossy(lab, [600], 14)
    epoch = windows.epochs(seen)[0]
    k = epoch.k()
    off = windows.deviation(seen, epoch, epoch.begin + k)
    yield Check("largest deviation, in percent of W_max", 100 * off, 0, 3, "%")
    half = epoch.before - (epoch.before - epoch.window) / 8
    reached = seen.time[(seen.time > epoch.begin) & (seen.column("cwnd") >= half)]
    at = float(reached[0]) - epoch.begin if reached.size else float("nan")
    yield Check("time to 7/8 of the way, relative to K", at / k, 0.45, 0.56)
