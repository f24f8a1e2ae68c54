"""A loss reduces the window to 0.7 of its value."""

from collections.abc import Iterator

from bentpipe.conform.case import Check, near
from bentpipe.conform.lab import Lab

from . import windows

SECTION = "4.6"
SAYS = """
On a loss, ssthresh becomes beta_cubic, 0.7, times the data in flight, and the window is reduced to it.
"""


def checks(lab: Lab) -> Iterator[Check]:
    """Yields threshold and window after the loss of one packet."""
    epoch = windows.epochs(windows.lossy(lab, [600], 4))[0]
    yield near("ssthresh, relative to the window before", epoch.ssthresh / epoch.before, windows.BETA, 0.01)
    yield near("window after it, relative to before", epoch.window / epoch.before, windows.BETA, 0.02)
