"""ProbeBW_DOWN ends when a bandwidth-delay product is in flight."""

from collections.abc import Iterator

from bentpipe.conform.case import Check, near
from bentpipe.conform.lab import Lab
from bentpipe.conform.path import Path

from . import phases

SECTION = "A.8"
SAYS = """
ProbeBW_DOWN paces at 0.90 times the estimated bandwidth. When at most one bandwidth-delay product is in
flight, and the headroom is free, ProbeBW_CRUISE follows.
"""


def checks(lab: Lab) -> Iterator[Check]:
    """Yields the gain of the first ProbeBW_DOWN after ProbeBW_UP, and what follows."""
    path = Path()
    seen = lab.run(path, 6, shorter=phases.SHORTER)
    up = phases.up(seen, phases.drain(seen).end)
    down = phases.down(seen, up.end - path.min_rtt / 2)
    gain = down.rate / phases.MARGIN / path.packets_per_s
    yield near("pacing gain in ProbeBW_DOWN", gain, phases.DOWN_GAIN, 0.02)
    flight = seen.at("inflight", down.end) / path.bdp
    yield Check("bandwidth-delay products in flight at its end", flight, 0.9, 1.05)
    cruise = phases.cruise(seen, down.end - path.min_rtt / 2)
    gain = cruise.rate / phases.MARGIN / path.packets_per_s
    yield near("pacing gain after it", gain, 1, 0.02)
