"""Exports a path to Toxiproxy: a script that creates a proxy with toxics over its HTTP interface,
and changes them over time."""

from __future__ import annotations

from typing import Final

from .course import Course, State
from .shell import comments, script

STEP_MS: Final = 500
LOSSES: Final = (
    "A proxy ends TCP connections: nothing is lost, and congestion control does not see the path.",
    "The rate is that of each connection, in whole kB/s, and without headers.",
    "There is no queue limit, and the delay is in whole milliseconds.",
)
CHANGING: Final = ("In a step without any delivery, the rate is 1 kB/s.",)

_PREPARE: Final = """\
# With toxiproxy-server running: sh toxiproxy.sh LISTEN UPSTREAM
#   LISTEN    the address at which clients connect, such as 127.0.0.1:21212
#   UPSTREAM  the address of the server, such as 127.0.0.1:8000
# Remove with: curl -X DELETE "$API/proxies/bentpipe"
LISTEN=${1:?the address for clients} UPSTREAM=${2:?the address of the server}
API=${TOXIPROXY_URL:-http://127.0.0.1:8474}
post() { curl -fsS -o /dev/null -X POST -H 'Content-Type: application/json' -d "$2" "$API/$1"; }
curl -sS -o /dev/null -X DELETE "$API/proxies/bentpipe"
post proxies "{\\"name\\": \\"bentpipe\\", \\"listen\\": \\"$LISTEN\\", \\"upstream\\": \\"$UPSTREAM\\"}"
for stream in downstream upstream; do
    for type in latency bandwidth; do
        post proxies/bentpipe/toxics "{\\"type\\": \\"$type\\", \\"stream\\": \\"$stream\\", \\"attributes\\": {}}"
    done
done
"""
_APPLY: Final = """\
    # Delay in ms and rate in kB/s, of both directions.
    post proxies/bentpipe/toxics/latency_downstream "{\\"attributes\\": {\\"latency\\": $1}}"
    post proxies/bentpipe/toxics/bandwidth_downstream "{\\"attributes\\": {\\"rate\\": $2}}"
    post proxies/bentpipe/toxics/latency_upstream "{\\"attributes\\": {\\"latency\\": $3}}"
    post proxies/bentpipe/toxics/bandwidth_upstream "{\\"attributes\\": {\\"rate\\": $4}}"
"""


def files(course: Course) -> dict[str, str]:
    """Returns the script ``toxiproxy.sh``."""
    rows = [[step.at_ms, *_values(step.down), *_values(step.up)] for step in course.steps(STEP_MS)]
    return {"toxiproxy.sh": script(comments(course, LOSSES, CHANGING, STEP_MS), _PREPARE, _APPLY, rows)}


def _values(state: State) -> list[object]:
    """Returns delay in milliseconds and rate in kB/s."""
    return [round(1e3 * state.delay_s), max(1, round(state.rate_bit_s / 8e3))]
