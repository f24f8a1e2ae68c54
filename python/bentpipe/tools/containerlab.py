"""Exports a path to containerlab: a topology of two Linux nodes, and a script that sets the
impairments of their link with ``containerlab tools netem set``."""

from __future__ import annotations

from typing import Final

from .course import Course
from .shell import ON_ARRIVAL, OUTAGE, comments, netem_values, script

STEP_MS: Final = 1000
LOSSES: Final = (
    "netem's limit is 1000 packets in flight and in the queue together: containerlab cannot set it.",
)
CHANGING: Final = (
    OUTAGE,
    ON_ARRIVAL,
)

_TOPOLOGY: Final = """\
name: path
topology:
  nodes:
    client:
      kind: linux
      image: alpine:latest
      exec:
        - ip addr add 192.0.2.1/30 dev eth1
    server:
      kind: linux
      image: alpine:latest
      exec:
        - ip addr add 192.0.2.2/30 dev eth1
  links:
    - endpoints: ["client:eth1", "server:eth1"]
"""
_PREPARE: Final = """\
# Deploy the topology, then run this script as root: sh impair.sh
# Remove with: containerlab tools netem reset -n NODE -i eth1
"""
_APPLY: Final = """\
    # Delay in us, rate in kbit/s, loss in %, of both directions.
    containerlab tools netem set -n clab-path-server -i eth1 --delay "${1}us" --rate "$2" --loss "$3"
    containerlab tools netem set -n clab-path-client -i eth1 --delay "${4}us" --rate "$5" --loss "$6"
"""


def files(course: Course) -> dict[str, str]:
    """Returns the topology ``path.clab.yml`` and the script ``impair.sh``."""
    rows = [
        [step.at_ms, *netem_values(course.down, step.down), *netem_values(course.up, step.up)]
        for step in course.steps(STEP_MS)
    ]
    head = comments(course, LOSSES, CHANGING, STEP_MS)
    return {
        "path.clab.yml": head + _TOPOLOGY,
        "impair.sh": script(head, _PREPARE, _APPLY, rows),
    }
