"""A pause of the application in ProbeBW_REFILL does not reduce the estimated bandwidth."""

from collections.abc import Iterator

import numpy as np

from bentpipe.conform.case import Check
from bentpipe.conform.lab import Lab, writing
from bentpipe.conform.path import Path

from . import phases

SECTION = "A.22"
SAYS = """
If the application pauses during ProbeBW_REFILL, the samples of this round trip are application-limited and
smaller than the estimated bandwidth, so the estimate does not change. ProbeBW_UP follows, and later probes work.
"""


def checks(lab: Lab) -> Iterator[Check]:
    """Yields the rates after a pause that begins with ProbeBW_REFILL."""
    path = Path()
    first = lab.run(path, 5, shorter=phases.SHORTER)
    up = phases.up(first, phases.drain(first).end)
    # ProbeBW_REFILL lasts one round trip. The application, which starts after the handshake, has
    # written as much as a transfer without pause sends until ProbeBW_REFILL begins. It continues
    # 0.7 round trips later.
    refill = up.begin - path.min_rtt
    written = int(np.searchsorted(first.sends, refill))
    app = writing(written, every=refill + 0.7 * path.min_rtt - float(first.sends[first.first]))
    seen = lab.run(path, refill + 2, app=app, shorter=phases.SHORTER)
    gap = float(np.max(np.diff(seen.sends[seen.sends > refill - 0.5])))
    yield Check("pause, in round trips", gap / path.min_rtt, 0.2, 1.2)
    rate = seen.rate(refill + 2 * path.min_rtt, refill + 3 * path.min_rtt) / path.packets_per_s
    yield Check("sending rate two round trips later, relative to the bandwidth", rate, 0.97, 1.3)
    probe = phases.up(seen, refill)
    gain = probe.rate / phases.MARGIN / path.packets_per_s
    yield Check("pacing gain of the next probe", gain, 1.225, 1.275)
