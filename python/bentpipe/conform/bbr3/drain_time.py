"""DRAIN ends after three round trips with a standing queue."""

from collections.abc import Iterator

from bentpipe.conform.case import Check
from bentpipe.conform.lab import Lab, change
from bentpipe.conform.path import Path

from . import phases

SECTION = "A.4"
SAYS = """
If the bandwidth was overestimated, so that more than a bandwidth-delay product stays in flight, DRAIN ends
after three round trips, and ProbeBW follows. The pseudocode of 5.3.2 ends it at the start of the fourth. A
bandwidth that is 10 % smaller, as the draft suggests, still drains the queue in two round trips, so it is
smaller by 48 % here.
"""


def checks(lab: Lab) -> Iterator[Check]:
    """Yields the length of DRAIN over a path that becomes slower at its start."""
    path = Path(queue=2000)
    begin = phases.drain(lab.run(path, 2)).begin
    seen = lab.run(path, begin + 3, changes=[change(begin, rate=f"{0.52 * path.rate:.0f} bit/s")])
    drain, down = phases.drain(seen), phases.down(seen, begin)
    yield Check("time to ProbeBW in round trips", (down.begin - drain.end) / path.min_rtt, -1, 1)
    yield Check("round trips in DRAIN", len(seen.rounds(begin, down.begin)), 3, 4)
    flight = seen.at("inflight", down.begin) / path.bdp
    yield Check("bandwidth-delay products in flight at its end", flight, 1.05, float("inf"))
