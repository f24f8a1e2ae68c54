"""Exports a path to containerlab: a topology of two Linux nodes, and a script that sets the
impairments of their link with ``containerlab tools netem set``."""

from __future__ import annotations

from typing import Final

from .course import Course, Direction, State
from .shell import comments, script

STEP_MS: Final = 1000
LOSSES: Final = (
    "netem's limit is 1000 packets in flight and in the queue together: containerlab cannot set it.",
)
CHANGING: Final = (
    "In a step without any delivery, packets are lost instead of waiting.",
    "netem schedules a packet when it arrives, so a new rate does not reach packets that wait.",
)

_TOPOLOGY: Final = """\
name: {name}
topology:
  nodes:
    {client}:
      kind: linux
      image: alpine:latest
      exec:
        - ip addr add 192.0.2.1/30 dev eth1
    {server}:
      kind: linux
      image: alpine:latest
      exec:
        - ip addr add 192.0.2.2/30 dev eth1
  links:
    - endpoints: ["{client}:eth1", "{server}:eth1"]
"""
_PREPARE: Final = """\
# Deploy the topology, then run this script as root: sh impair.sh
# Remove with: containerlab tools netem reset -n NODE -i eth1
"""
_APPLY: Final = """\
    # Delay in us, rate in kbit/s, loss in %, of both directions.
    containerlab tools netem set -n clab-{name}-{server} -i eth1 --delay "${{1}}us" --rate "$2" --loss "$3"
    containerlab tools netem set -n clab-{name}-{client} -i eth1 --delay "${{4}}us" --rate "$5" --loss "$6"
"""


def files(course: Course) -> dict[str, str]:
    """Returns the topology ``path.clab.yml`` and the script ``impair.sh``."""
    names = {"name": "path", "client": course.client, "server": course.server}
    rows = [
        [step.at_ms, *values(course.down, step.down), *values(course.up, step.up)]
        for step in course.steps(STEP_MS)
    ]
    head = comments(course, LOSSES, CHANGING, STEP_MS)
    return {
        "path.clab.yml": head + _TOPOLOGY.format(**names),
        "impair.sh": script(head, _PREPARE, _APPLY.format(**names), rows),
    }


def values(way: Direction, state: State) -> list[object]:
    """Returns delay in microseconds, rate in kbit/s and loss in percent."""
    loss = 100 if state.rate_bit_s <= 0 else 100 * way.loss
    return [round(1e6 * state.delay_s), max(1, round(state.rate_bit_s / 1e3)), f"{loss:.6g}"]
