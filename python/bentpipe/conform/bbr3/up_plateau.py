"""ProbeBW_UP ends when the bandwidth does not grow."""

from collections.abc import Iterator

from bentpipe.conform.case import Check, near
from bentpipe.conform.lab import Lab
from bentpipe.conform.path import Path

from . import phases

SECTION = "A.5"
SAYS = """
ProbeBW_UP paces at 1.25 times the estimated bandwidth. On a path without losses it ends after three
consecutive rounds in which the delivery rate grows by less than 25 %, and ProbeBW_DOWN follows.
"""


def checks(lab: Lab) -> Iterator[Check]:
    """Yields the gain and the length of the first ProbeBW_UP."""
    path = Path()
    seen = lab.run(path, 5, shorter=phases.SHORTER)
    up = phases.up(seen, phases.drain(seen).end)
    gain = up.rate / phases.MARGIN / path.packets_per_s
    yield near("pacing gain in ProbeBW_UP", gain, phases.UP_GAIN, 0.02)
    yield Check("round trips in ProbeBW_UP", len(seen.rounds(up.begin, up.end)), 3, 4)
    yield Check("lost packets", seen.dropped[-1], 0, 0)
    down = phases.down(seen, up.end - path.min_rtt / 2)
    yield Check("time to ProbeBW_DOWN in round trips", (down.begin - up.end) / path.min_rtt, -0.5, 0.5)
