"""A bandwidth that is ten times as large is found in O(log BDP) round trips."""

import math
from collections.abc import Iterator

import numpy as np

from bentpipe.conform.case import Check
from bentpipe.conform.exceptions import Missing
from bentpipe.conform.lab import Lab, change
from bentpipe.conform.path import Path

from . import phases

SECTION = "A.15"
SAYS = """
After the bandwidth has grown from 25 to 250 Mbit/s, ProbeBW_UP finds it within O(log BDP) round trips. While
inflight_longterm limits the window, the added step doubles each round trip (5.3.3.5). The draft gives no factor;
at most four times the binary logarithm of the bandwidth-delay product is allowed here, from the first probe.
"""


def checks(lab: Lab) -> Iterator[Check]:
    """Yields the time from the first probe after the change until the new bandwidth is used."""
    path = Path()
    wide = Path(rate=10 * path.rate)
    seen = lab.run(path, 8, changes=[change(1.5, rate=f"{wide.rate:.0f} bit/s", queue=_QUEUE)])
    probe = phases.up(seen, 1.5).begin
    unit = wide.packets_per_s
    used = seen.stretches(0.95 * unit, 1e12, after=probe, least=2 * path.min_rtt)
    if not used:
        raise Missing("the sending rate never reached 95 % of the new bandwidth")
    reached = used[0].begin
    rounds = len(seen.rounds(probe, reached))
    yield Check(
        "round trips from the first probe to 95 % of the bandwidth", rounds, 1, 4 * math.log2(wide.bdp)
    )
    estimate = phases.cruise(seen, reached, wide.rate).rate / phases.MARGIN / unit
    yield Check("estimated bandwidth after it, relative to the path's", estimate, 0.98, 1.02)
    yield Check("growth of the step of inflight_longterm per round trip", _growth(lab, wide), 1.6, 2.4)


def _growth(lab: Lab, wide: Path) -> float:
    """Returns the factor by which the window's step grows per round trip in ProbeBW_UP, after a
    queue of 20 packets has limited inflight_longterm."""
    narrow = Path(queue=20)
    first = lab.run(narrow, 6)
    at = phases.up(first, 1.5).end + 0.5
    widening = change(at, rate=f"{wide.rate:.0f} bit/s", queue=_QUEUE)
    seen = lab.run(narrow, at + 4, changes=[widening], shorter=at)
    begin = phases.up(seen, at).begin
    windows = np.array([seen.at("cwnd", time) for time in seen.rounds(begin, begin + 2)])
    steps = np.diff(windows)
    steps = steps[np.argmax(steps >= 1) :][:_STEPS]
    if steps.size < _STEPS or steps.min() < 1:
        raise Missing(f"the window did not grow in {_STEPS} consecutive round trips of ProbeBW_UP")
    return float((steps[-1] / steps[0]) ** (1 / (_STEPS - 1)))


_STEPS = 4
_QUEUE = {"kind": "drop-tail", "packets": 4000}
