"""Four packets are the smallest window on a path that holds less than a packet."""

from collections.abc import Iterator

from bentpipe.conform.case import Check
from bentpipe.conform.lab import Lab
from bentpipe.conform.path import Path

from . import phases

SECTION = "A.14"
SAYS = """
On a path with a bandwidth-delay product below one packet, the window is at least BBR.MinPipeCwnd, 4 packets,
and the pacing rate matches the bandwidth, so that delayed acknowledgments do not stall the flow.
"""


def checks(lab: Lab) -> Iterator[Check]:
    """Yields the window and the rate on a path of 64 kbit/s and 1 ms."""
    path = Path(rate=64e3, rtt=0.001, queue=100)
    seen = lab.run(path, 120, transport={"delayed_ack": True})
    window = seen.between("cwnd", 20, 120)
    yield Check("smallest window", window.min(), phases.MIN_PIPE_CWND, float("inf"), "packets")
    used = seen.delivery_rate(20, 120) / path.packets_per_s
    yield Check("delivered, relative to the bandwidth", used, 0.95, 1.01)
    rate = seen.rate(20, 120) / path.packets_per_s
    yield Check("sending rate, relative to the bandwidth", rate, 0.95, 1.05)
