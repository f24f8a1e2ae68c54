"""ProbeBW_CRUISE uses the bandwidth of a path that aggregates acknowledgments."""

from collections.abc import Iterator

import numpy as np

from bentpipe.conform.case import Check
from bentpipe.conform.lab import Lab, change
from bentpipe.conform.path import Path

SECTION = "A.13"
SAYS = """
If acknowledgments begin to arrive in bursts, BBR.extra_acked grows to the excess of acknowledged data and adds
to the window, so that the flow does not stall between bursts.
"""

#: Acknowledgments leave every 60 ms, three times the round-trip time.
AGGREGATION = {"kind": "bursts", "least": "60 ms", "most": "60 ms"}


def checks(lab: Lab) -> Iterator[Check]:
    """Yields window and use of the path before and after the aggregation begins."""
    path = Path(rate=10e6, rtt=0.02, queue=400)
    back = {"return": {"jitter": AGGREGATION}}
    seen = lab.run(path, 4.9, changes=[change(1.5, **back)])
    window = seen.between("cwnd", 1, 1.5)
    yield Check("window before, in bandwidth-delay products", window.max() / path.bdp, 1.8, 3)
    window = seen.between("cwnd", 2.5, 4.9)
    yield Check("window with aggregation", float(np.median(window)) / path.bdp, 3, float("inf"))
    used = seen.delivery_rate(2.5, 4.9) / path.packets_per_s
    yield Check("delivered, relative to the bandwidth", used, 0.95, 1.01)
