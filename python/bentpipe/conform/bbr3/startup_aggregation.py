"""STARTUP finds the bandwidth of a path that aggregates acknowledgments."""

from collections.abc import Iterator

from bentpipe.conform.case import Check
from bentpipe.conform.lab import Lab
from bentpipe.conform.path import Path

from .cruise_aggregation import AGGREGATION

SECTION = "A.12"
SAYS = """
If acknowledgments arrive in bursts, the window exceeds two bandwidth-delay products by the excess of
acknowledged data, and the sending rate still grows until it reaches the bandwidth.
"""


def checks(lab: Lab) -> Iterator[Check]:
    """Yields the window of STARTUP, and the bandwidth that it found."""
    path = Path(rate=10e6, rtt=0.02, queue=400)
    seen = lab.run(path, 4.5, back={"jitter": AGGREGATION})
    window = seen.between("cwnd", 0, 2).max() / path.bdp
    yield Check("largest window, in bandwidth-delay products", window, 2, float("inf"))
    found = seen.delivery_rate(1.5, 4.5) / path.packets_per_s
    yield Check("delivered, relative to the bandwidth", found, 0.95, 1.01)
