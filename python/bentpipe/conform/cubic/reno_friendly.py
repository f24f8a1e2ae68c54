"""On short paths, the window grows at least as fast as Reno's."""

from collections.abc import Iterator

from bentpipe.conform.case import Check, near
from bentpipe.conform.lab import Lab

from . import reno

SECTION = "4.3"
SAYS = """
While W_cubic is smaller than Reno's estimated window W_est, the window is W_est. It grows by alpha_cubic = 3 (1 -
beta_cubic) / (1 + beta_cubic) = 0.53 segments per round trip, until W_est has reached the window before the loss.
"""


def checks(lab: Lab) -> Iterator[Check]:
    """Yields the growth per round trip below the window before the loss."""
    seen, epoch = reno.run(lab)
    below = reno.growth(seen, epoch.begin, epoch.window, epoch.before)
    yield near("segments per round trip below the previous window", below, reno.ALPHA, 0.1)
