"""A spurious time-out is undone."""

from collections.abc import Iterator

from bentpipe.conform.case import Check
from bentpipe.conform.exceptions import NotApplicable
from bentpipe.conform.lab import Lab, change
from bentpipe.conform.path import Path

SECTION = "A.19"
SAYS = """
If a delay causes a retransmission time-out that turns out to be spurious, window, bounds and state are
restored, and the flow continues as before. The window may be larger than before, because the delayed
acknowledgments arrive at once and raise extra_acked (5.5.9).
"""


def checks(lab: Lab) -> Iterator[Check]:
    """Yields window and rate after a time-out that a delay causes."""
    path, at = Path(queue=2000), 1.5
    delayed = [change(at, delay="850 ms"), change(at + 0.2, delay="20 ms")]
    seen = lab.run(path, 5, changes=delayed)
    if seen.at("timeouts", at + 2) == 0:
        raise NotApplicable("the delay caused no time-out")
    yield Check("lost packets", seen.dropped[-1], 0, 0)
    window = seen.at("cwnd", at + 2) / seen.at("cwnd", at)
    yield Check("window after 2 s, relative to before", window, 0.95, float("inf"))
    rate = max(seen.rate(at + after, at + after + 0.5) for after in (1.5, 2.0, 2.5)) / path.packets_per_s
    yield Check("largest sending rate of 0.5 s after it, relative to the bandwidth", rate, 0.97, 1.3)
