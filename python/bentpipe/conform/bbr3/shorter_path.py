"""Probing continues after the path has become shorter."""

from collections.abc import Iterator

from bentpipe.conform.case import Check
from bentpipe.conform.lab import Lab, change
from bentpipe.conform.path import Path

from . import phases

SECTION = "5.3.3.8"
SAYS = """
The flow probes for bandwidth at least every 2 to 3 s and 63 round trips. This case is not one of the appendix: the
round-trip time falls by 5 ms in 2 s, as below an approaching satellite.
"""


def checks(lab: Lab) -> Iterator[Check]:
    """Yields the time of the first ProbeBW_UP after the path has become shorter."""
    path, at = Path(), 2.2
    nearer = [change(at + step / 10, delay=f"{20 - step / 4} ms") for step in range(1, 21)]
    seen = lab.run(path, at + 9, changes=nearer)
    end = at + 2.1
    up = phases.up(seen, end).begin
    yield Check("time to the first ProbeBW_UP", up - end, 0, phases.PROBE_WAIT[1] + 1, "s")
