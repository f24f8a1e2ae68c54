"""ProbeBW_DOWN ends after 2 to 3 s with a standing queue."""

from collections.abc import Iterator

from bentpipe.conform.case import Check
from bentpipe.conform.lab import Lab, change
from bentpipe.conform.path import Path

from . import phases

SECTION = "A.9"
SAYS = """
If more than a bandwidth-delay product stays in flight, because the path became 10 % slower, ProbeBW_DOWN ends
after BBR.bw_probe_wait, 2 to 3 s at random. ProbeBW_REFILL follows at once, for one round trip, and then
ProbeBW_UP.
"""


def checks(lab: Lab) -> Iterator[Check]:
    """Yields the length of ProbeBW_DOWN over a path that becomes slower at its start."""
    path = Path()
    first = lab.run(path, 5, shorter=phases.SHORTER)
    up = phases.up(first, phases.drain(first).end)
    begin = phases.down(first, up.end - path.min_rtt / 2).begin
    slower = change(begin, rate=f"{0.9 * path.rate:.0f} bit/s")
    seen = lab.run(path, begin + 5, changes=[slower], shorter=phases.SHORTER)
    down = phases.down(seen, begin - path.min_rtt / 2)
    low, high = phases.PROBE_WAIT
    yield Check("length of ProbeBW_DOWN", down.length, low - 0.1, high + path.min_rtt, "s")
    up = phases.up(seen, down.end)
    rounds = len(seen.rounds(down.end, up.begin + path.min_rtt / 4))
    yield Check("round trips until ProbeBW_UP", rounds, 0, 1)
