"""Losses end ProbeBW_UP although the application limits the rate."""

from collections.abc import Iterator

from bentpipe.conform.case import Check
from bentpipe.conform.lab import Lab, change

from . import bursts

SECTION = "A.6"
SAYS = """
If more than 2 % of a round trip's packets are lost in ProbeBW_UP, ProbeBW_DOWN follows, whether the
application limits the rate or not.
"""


def checks(lab: Lab) -> Iterator[Check]:
    """Yields the pacing rate within the application's bursts, before and after losses."""
    up, end = bursts.probing(lab)
    losses = [
        change(up + 1, error={"kind": "packet", "probability": 0.1}),
        change(up + 1.3, error={"kind": "none"}),
    ]
    seen = bursts.run(lab, end, losses)
    before = bursts.pacing_rate(seen, up + 0.4, up + 1)
    after = bursts.pacing_rate(seen, up + 1.6, up + 2.4)
    yield Check("pacing rate after the losses, relative to before", after / before, 0, 1.05 / 1.25)
