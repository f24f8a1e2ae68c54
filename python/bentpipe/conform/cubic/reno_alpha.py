"""On short paths, the window grows by one segment per round trip above its previous value."""

from collections.abc import Iterator

from bentpipe.conform.case import Check, near
from bentpipe.conform.lab import Lab

from . import reno

SECTION = "4.3"
SAYS = """
Once W_est has reached the window before the loss (cwnd_prior), alpha_cubic SHOULD be 1, as in Reno. Linux still
uses the rule of RFC 8312, in which it stays 0.53.
"""


def checks(lab: Lab) -> Iterator[Check]:
    """Yields the growth per round trip above the window before the loss."""
    seen, epoch = reno.run(lab)
    above = reno.growth(seen, epoch.begin, 1.05 * epoch.before, 1.4 * epoch.before)
    yield near("segments per round trip above the previous window", above, 1, 0.1)
