"""A token bucket policer is answered by a rate at its token rate, without lasting losses."""

from collections.abc import Iterator

import numpy as np

from bentpipe.conform.case import Check
from bentpipe.conform.exceptions import Missing
from bentpipe.conform.lab import Lab
from bentpipe.conform.path import Path

SECTION = "A.17"
SAYS = """
When a policer's burst is used up and it drops packets, BBR reduces its short-term bounds, and reaches a stable
rate that conforms to the token rate without excessive losses. The draft gives no numbers. Here the rate may be
0.7 to 1.02 times the token rate, and the loss of the median second at most 3 %.
"""


def checks(lab: Lab) -> Iterator[Check]:
    """Yields rate and loss after 10 s behind a policer of 10 Mbit/s."""
    path = Path(rate=100e6, rtt=0.05)
    policer = {
        "kind": "shaper",
        "rate": "10 Mbit/s",
        "burst": "100 kB",
        "queue": {"kind": "drop-tail", "packets": 1},
    }
    seen = lab.run(path, 40, link={"queue": policer})
    tokens = Path(rate=10e6).packets_per_s
    yield Check("delivered, relative to the token rate", seen.delivery_rate(10, 40) / tokens, 0.7, 1.02)
    if seen.sends[-1] < 39.5:
        raise Missing(f"nothing was sent after {seen.sends[-1]:.3g} s")
    edges = np.searchsorted(seen.sends, np.arange(10, 40))
    lost = np.diff(seen.dropped[edges]) / np.diff(edges)
    yield Check("lost packets in the median second", 100 * float(np.median(lost)), 0, 3, "%")
