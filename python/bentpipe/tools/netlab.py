"""Exports a path to netlab: a lab topology with link impairment, and a script that changes it with
``netlab tc set``."""

from __future__ import annotations

from typing import Final

from .course import Course
from .shell import ON_ARRIVAL, OUTAGE, comments, netem_values, script

STEP_MS: Final = 1000
LOSSES: Final = ("netem's limit is 1000 packets in flight and in the queue together: netlab cannot set it.",)
CHANGING: Final = (
    OUTAGE,
    ON_ARRIVAL,
)

_TOPOLOGY: Final = """\
provider: clab
defaults.device: linux
nodes: [ client, server ]
links:
- client:
    tc: {up}
  server:
    tc: {down}
"""
_PREPARE: Final = """\
# After `netlab up`, in the folder of the lab: sh change.sh
"""
_APPLY: Final = """\
    # Delay in ms, rate in kbit/s, loss in %, of both directions.
    netlab tc set --node server --interface eth1 --delay "$1" --rate "$2" --loss "$3"
    netlab tc set --node client --interface eth1 --delay "$4" --rate "$5" --loss "$6"
"""


def files(course: Course) -> dict[str, str]:
    """Returns the ``topology.yml`` of the first step, and the script ``change.sh``."""
    rows = []
    for step in course.steps(STEP_MS):
        row: list[object] = [step.at_ms]
        for way, state in ((course.down, step.down), (course.up, step.up)):
            delay_us, *others = netem_values(way, state)
            row += [f"{delay_us / 1e3:g}", *others]
        rows.append(row)
    head = comments(course, LOSSES, CHANGING, STEP_MS)
    down, up = (
        "{{ delay: {}ms, rate: {}, loss: {} }}".format(*values) for values in (rows[0][1:4], rows[0][4:])
    )
    return {
        "topology.yml": head + _TOPOLOGY.format(down=down, up=up),
        "change.sh": script(head, _PREPARE, _APPLY, rows),
    }
