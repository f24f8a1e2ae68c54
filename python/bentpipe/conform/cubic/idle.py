"""Idle time does not count as time on the curve."""

from collections.abc import Iterator

import numpy as np

from bentpipe.conform.case import Check
from bentpipe.conform.lab import Lab, writing

from . import windows

SECTION = "5.8"
SAYS = """
Periods in which the application limits the rate, such as idle periods, do not count as time since the start of the
epoch. Otherwise the window would jump after them.
"""


def checks(lab: Lab) -> Iterator[Check]:
    """Yields the growth of the window in 2 s after a pause of 20 s."""
    stop, pause = 4.0, 20.0
    first = windows.lossy(lab, [600], stop)
    epoch, start = windows.epochs(first)[0], float(first.sends[first.first])
    # The application has written what a transfer without pause sends until `stop`.
    app = writing(first.sends.size, every=stop + pause - start)
    seen = windows.lossy(lab, [600], stop + pause + 3, app=app, transport={"restart_after_idle": False})
    gap = float(np.diff(seen.sends).max())
    yield Check("pause", gap, 0.9 * pause, 1.1 * pause, "s")
    times = np.array([stop + 2])
    expected = float(epoch.curve(times)[0])
    window = seen.at("cwnd", stop + pause + 2) / expected
    yield Check("window 2 s later, relative to the curve without the pause", window, 0.9, 1.05)
