"""The bandwidth is found on paths from 64 kbit/s to 10 Gbit/s and from 1 ms to 1 s."""

from collections.abc import Iterator

from bentpipe.conform.case import Check, near
from bentpipe.conform.lab import Lab
from bentpipe.conform.path import Path

from . import phases

SECTION = "A.1"
SAYS = """
Cases can be run with round-trip times from below 1 ms to 1 s, and bandwidths from 64 kbit/s to 10 Gbit/s. The
estimated bandwidth is within 2 % of the path's. Each packet is acknowledged at once; at 64 kbit/s, the timer of
delayed acknowledgments raises the estimate by 5 %.
"""

#: Name, bandwidth in bit/s, and round-trip time in s.
_PATHS = (
    ("64 kbit/s, 1 s", 64e3, 1.0),
    ("1 Mbit/s, 100 ms", 1e6, 0.1),
    ("10 Mbit/s, 1 s", 10e6, 1.0),
    ("100 Mbit/s, 1 ms", 100e6, 0.001),
    ("1 Gbit/s, 20 ms", 1e9, 0.02),
    ("10 Gbit/s, 1 ms", 10e9, 0.001),
)


def checks(lab: Lab) -> Iterator[Check]:
    """Yields the estimated bandwidth on each path."""
    for name, rate, rtt in _PATHS:
        path = Path(rate=rate, rtt=rtt)
        seen = lab.run(path, 45 * path.min_rtt)
        cruise = phases.cruise(seen, 25 * path.min_rtt)
        estimate = cruise.rate / phases.MARGIN / path.packets_per_s
        yield near(f"estimate relative to the bandwidth, {name}", estimate, 1, 0.02)
