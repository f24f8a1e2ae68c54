"""A bandwidth that is a tenth is learnt within two cycles of ProbeBW."""

from collections.abc import Iterator

from bentpipe.conform.case import Check
from bentpipe.conform.lab import Lab, change
from bentpipe.conform.path import Path

from . import phases

SECTION = "A.16"
SAYS = """
After the bandwidth has fallen from 100 to 10 Mbit/s, the losses reduce bw_shortterm by up to 30 % per round
trip. After two cycles of ProbeBW, the estimate matches the new bandwidth.
"""


def checks(lab: Lab) -> Iterator[Check]:
    """Yields the sending rate soon after the change, and after two cycles."""
    path = Path(rate=100e6, rtt=0.05, queue=400)
    slow = Path(rate=10e6, rtt=0.05)
    seen = lab.run(path, 24, changes=[change(3, rate=f"{slow.rate:.0f} bit/s")])
    unit = slow.packets_per_s
    yield Check("sending rate 3 s later, relative to the new bandwidth", seen.rate(6, 7) / unit, 0.5, 1.3)
    cruise = phases.cruise(seen, 3 + 2 * phases.PROBE_WAIT[1] + 2, slow.rate)
    estimate = cruise.rate / phases.MARGIN / unit
    yield Check("estimated bandwidth after two cycles, relative to the path's", estimate, 0.95, 1.02)
