"""DRAIN ends when a bandwidth-delay product is in flight."""

from collections.abc import Iterator

from bentpipe.conform.case import Check, near
from bentpipe.conform.lab import Lab
from bentpipe.conform.path import Path

from . import phases

SECTION = "A.3"
SAYS = """
DRAIN paces at half of the estimated bandwidth. It ends as soon as at most one estimated bandwidth-delay
product is in flight.
"""


def checks(lab: Lab) -> Iterator[Check]:
    """Yields the gain of DRAIN, and the data in flight at its end."""
    path = Path()
    seen = lab.run(path, 2)
    drain = phases.drain(seen)
    gain = drain.rate / phases.MARGIN / path.packets_per_s
    yield near("pacing gain in DRAIN", gain, phases.DRAIN_GAIN, 0.04)
    flight = seen.at("inflight", drain.end) / path.bdp
    yield Check("bandwidth-delay products in flight at its end", flight, 0.9, 1.05)
