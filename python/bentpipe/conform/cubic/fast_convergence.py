"""A second loss below W_max reduces W_max further."""

from collections.abc import Iterator

from bentpipe.conform.case import Check
from bentpipe.conform.exceptions import Missing
from bentpipe.conform.lab import Lab

from . import windows

SECTION = "4.7"
SAYS = """
If a loss occurs at a window below the last W_max, W_max SHOULD become the window times (1 + beta_cubic) / 2, 0.85,
to release bandwidth for new flows.
"""


def checks(lab: Lab) -> Iterator[Check]:
    """Yields the deviation of the window from the curve with the smaller W_max after a second
    loss."""
    first = windows.epochs(windows.lossy(lab, [600], 6))[0]
    seen = windows.lossy(lab, [600, 4000], 14)
    found = windows.epochs(seen)
    if len(found) < 2:
        raise Missing("the second loss did not reduce the window")
    second = found[1]
    yield Check("window at the second loss, relative to the first", second.before / first.before, 0.7, 0.97)
    w_max = second.before * (1 + windows.BETA) / 2
    off = windows.deviation(seen, second, second.begin + 1.5 * second.k(w_max), w_max)
    yield Check("largest deviation, in percent of the smaller W_max", 100 * off, 0, 3, "%")
