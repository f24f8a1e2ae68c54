"""Losses end ProbeBW_UP and reduce inflight_longterm by at most 30 %."""

from collections.abc import Iterator

from bentpipe.conform.case import Check
from bentpipe.conform.lab import Lab, change
from bentpipe.conform.path import Path

from . import phases

SECTION = "A.21"
SAYS = """
If more than 2 % of a round trip's packets are lost in ProbeBW_UP, inflight_longterm falls to the volume in
flight, at least to 0.7 times the target, and ProbeBW_DOWN follows at once. A loss below 2 % has neither effect.
"""


def checks(lab: Lab) -> Iterator[Check]:
    """Yields what follows losses of 6 % and of 1 % in ProbeBW_UP."""
    path = Path(rate=50e6)
    first = lab.run(path, 5, shorter=phases.SHORTER)
    up = phases.up(first, phases.drain(first).end)
    at = up.begin + path.min_rtt / 2

    def lossy(every: int) -> list[dict[str, object]]:
        table = f"lost,frames\n0,{every - 1}\n1,1\n"
        error = {"kind": "trace", "outcomes": table, "start": 1}
        return [change(at, error=error), change(at + path.min_rtt, error={"kind": "none"})]

    seen = lab.run(path, 5, changes=lossy(16), shorter=phases.SHORTER)
    end = phases.up(seen, phases.drain(seen).end).end
    yield Check("round trips from 6 % loss to the end of ProbeBW_UP", (end - at) / path.min_rtt, 0.5, 2.2)
    after = seen.between("cwnd", end + 3 * path.min_rtt, end + 6 * path.min_rtt).max() / path.bdp
    yield Check("window after it, in bandwidth-delay products", after, phases.BETA, 1.6)
    seen = lab.run(path, 5, changes=lossy(100), shorter=phases.SHORTER)
    length = phases.up(seen, phases.drain(seen).end).length
    yield Check("length of ProbeBW_UP with 1 % loss, relative to none", length / up.length, 0.9, 1.3)
