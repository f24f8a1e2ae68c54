"""STARTUP and ProbeBW_UP do not end while the application limits the rate and nothing is lost."""

from collections.abc import Iterator

from bentpipe.conform.case import Check
from bentpipe.conform.lab import Lab, writing
from bentpipe.conform.path import Path

from . import bursts

SECTION = "A.7"
SAYS = """
Rounds that are application-limited do not count as rounds without growth. Without losses, the connection
stays in STARTUP or ProbeBW_UP indefinitely.
"""


def checks(lab: Lab) -> Iterator[Check]:
    """Yields the pacing rate within the application's bursts, early and late."""
    seen = lab.run(Path(rate=50e6), 40, app=writing(packets=100, every=0.2))
    early, late = bursts.pacing_rate(seen, 2, 4), bursts.pacing_rate(seen, 36, 40)
    yield Check("STARTUP: pacing rate after 40 s, relative to 4 s", late / early, 0.9, float("inf"))
    up, end = bursts.probing(lab)
    seen = bursts.run(lab, end, ())
    early = bursts.pacing_rate(seen, up + 0.4, up + 1)
    late = bursts.pacing_rate(seen, end - 2, end)
    yield Check("ProbeBW_UP: pacing rate after 8 s, relative to 1 s", late / early, 0.97, float("inf"))
