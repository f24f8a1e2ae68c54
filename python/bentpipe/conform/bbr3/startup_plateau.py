"""STARTUP ends when the bandwidth stops growing."""

from collections.abc import Iterator

from bentpipe.conform.case import Check, near
from bentpipe.conform.lab import Lab
from bentpipe.conform.path import Path

from . import phases

SECTION = "A.1"
SAYS = """
On a path without losses, the estimated bandwidth is within 2 % of the path's. STARTUP ends after three
consecutive rounds in which the delivery rate grows by less than 25 %, and DRAIN follows. STARTUP paces at
2.77 times the estimate (5.3.1.1), at first the initial window per round trip (5.6.2).
"""


def checks(lab: Lab) -> Iterator[Check]:
    """Yields the checks of a flow that fills the path."""
    path = Path()
    seen = lab.run(path, 2)
    yield near("pacing gain of the second round trip", phases.first_gain(seen), phases.STARTUP_GAIN, 0.03)
    drain = phases.drain(seen)
    yield Check("rounds with less than 25 % growth", phases.plateau(seen, drain.begin), 3, 3)
    cruise = phases.cruise(seen, drain.end)
    estimate = cruise.rate / phases.MARGIN / path.packets_per_s
    yield near("estimated bandwidth, relative to the path's", estimate, 1, 0.02)
