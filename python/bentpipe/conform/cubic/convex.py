"""Beyond W_max, the window grows with the cube of time."""

from collections.abc import Iterator

from bentpipe.conform.case import Check, near
from bentpipe.conform.lab import Lab

from . import windows

SECTION = "4.5"
SAYS = """
Beyond W_max, the window continues on the same curve, slowly at first and then faster. C is 0.4 segments per cubic
second (5.1).
"""


def checks(lab: Lab) -> Iterator[Check]:
    """Yields the constant C that the window shows at twice K."""
    seen = windows.lossy(lab, [600], 20)
    epoch = windows.epochs(seen)[0]
    k = epoch.k()
    window = seen.at("cwnd", epoch.begin + 2 * k)
    yield near("C, from the window at 2 K", (window - epoch.before) / k**3, windows.C, 0.1)
