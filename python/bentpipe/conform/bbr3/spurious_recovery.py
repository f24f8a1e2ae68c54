"""A spurious fast recovery is undone."""

from collections.abc import Iterator

from bentpipe.conform.case import Check
from bentpipe.conform.exceptions import NotApplicable
from bentpipe.conform.lab import Lab, change
from bentpipe.conform.path import Path

from . import phases

SECTION = "A.18"
SAYS = """
If reordering causes a fast recovery that turns out to be spurious, window, bounds and state are restored, and
the flow continues as before.
"""


def checks(lab: Lab) -> Iterator[Check]:
    """Yields window and rate after a recovery that reordered packets cause."""
    path, at = Path(), 1.5
    none, some = ({"kind": "late", "probability": part, "extra": "25 ms"} for part in (0.0, 0.05))
    reordered = [change(at, jitter=some), change(at + 0.1, jitter=none)]
    seen = lab.run(path, 5, link={"reorder": True, "jitter": none}, changes=reordered)
    if not (seen.between("ca_state", at, at + 1) == 3).any():
        raise NotApplicable("the transport detected the reordering and entered no fast recovery")
    yield Check("lost packets", seen.dropped[-1], 0, 0)
    before = seen.at("cwnd", at)
    window = seen.at("cwnd", at + 0.5) / before
    yield Check("window after 0.5 s, relative to before", window, 0.95, float("inf"))
    rate = seen.rate(at + 0.5, at + 1.2) / path.packets_per_s
    yield Check("sending rate after it, relative to the bandwidth", rate, 0.97, 1.3)
    up = phases.up(seen, at).begin
    yield Check("begin of the next ProbeBW_UP", up - at, 0, phases.PROBE_WAIT[1], "s")
