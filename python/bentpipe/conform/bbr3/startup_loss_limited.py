"""Losses end STARTUP although the application limits the rate."""

from collections.abc import Iterator

from bentpipe.conform.case import Check
from bentpipe.conform.lab import Lab, change, writing
from bentpipe.conform.path import Path

from . import bursts

SECTION = "A.2"
SAYS = """
Losses of more than 2 % of a round trip, in at least six ranges, end STARTUP even if the samples of the
bandwidth are application-limited.
"""


def checks(lab: Lab) -> Iterator[Check]:
    """Yields the pacing rate within the application's bursts, before and after losses."""
    path, app = Path(rate=50e6), writing(packets=100, every=0.2)
    error = [
        change(4.0, error={"kind": "packet", "probability": 0.15}),
        change(5.0, error={"kind": "none"}),
    ]
    seen = lab.run(path, 8, app=app, changes=error)
    before = bursts.pacing_rate(seen, 3, 4)
    after = bursts.pacing_rate(seen, 6, 7)
    yield Check("pacing rate after the losses, relative to before", after / before, 0, 1.3 / 2.77)
