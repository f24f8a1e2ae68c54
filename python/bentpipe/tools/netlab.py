"""Exports a path to netlab: a lab topology with link impairment, and a script that changes it with
``netlab tc set``."""

from __future__ import annotations

from typing import Final

from .course import Course, Direction
from .shell import comments, script

STEP_MS: Final = 1000
LOSSES: Final = ("netem's limit is 1000 packets in flight and in the queue together: netlab cannot set it.",)
CHANGING: Final = (
    "In a step without any delivery, packets are lost instead of waiting.",
    "netem schedules a packet when it arrives, so a new rate does not reach packets that wait.",
)

_TOPOLOGY: Final = """\
provider: clab
defaults.device: linux
nodes: [ {client}, {server} ]
links:
- {client}:
    tc: {up}
  {server}:
    tc: {down}
"""
_PREPARE: Final = """\
# After `netlab up`, in the folder of the lab: sh change.sh
"""
_APPLY: Final = """\
    # Delay in ms, rate in kbit/s, loss in %, of both directions.
    netlab tc set --node {server} --interface eth1 --delay "$1" --rate "$2" --loss "$3"
    netlab tc set --node {client} --interface eth1 --delay "$4" --rate "$5" --loss "$6"
"""


def files(course: Course) -> dict[str, str]:
    """Returns the ``topology.yml`` of the first step, and the script ``change.sh``."""
    names = {"client": course.client, "server": course.server}
    steps = course.steps(STEP_MS)
    rows = [
        [
            step.at_ms,
            *_values(course.down, step.down.rate_bit_s, step.down.delay_s),
            *_values(course.up, step.up.rate_bit_s, step.up.delay_s),
        ]
        for step in steps
    ]
    head = comments(course, LOSSES, CHANGING, STEP_MS)
    attributes = [
        "{{ delay: {}ms, rate: {}, loss: {} }}".format(*values) for values in (rows[0][1:4], rows[0][4:])
    ]
    return {
        "topology.yml": head + _TOPOLOGY.format(**names, down=attributes[0], up=attributes[1]),
        "change.sh": script(head, _PREPARE, _APPLY.format(**names), rows),
    }


def _values(way: Direction, rate_bit_s: float, delay_s: float) -> list[object]:
    """Returns delay in milliseconds, rate in kbit/s and loss in percent."""
    loss = 100 if rate_bit_s <= 0 else 100 * way.loss
    return [f"{1e3 * delay_s:.6g}", max(1, round(rate_bit_s / 1e3)), f"{loss:.6g}"]
