"""Exports a path to Linux's traffic control: HTB for the rate, netem for delay, loss and queue.

netem alone can limit the rate, too. It then schedules a packet when the packet arrives, so a change
of the rate does not reach the packets that already wait. HTB limits the rate when packets leave.
"""

from __future__ import annotations

import math
from typing import Final

from .course import Course, Direction, State
from .shell import OUTAGE, comments, netem_values, script

STEP_MS: Final = 100
LOSSES: Final = ("HTB counts the Ethernet header. The rates make up for it in packets of 1500 bytes.",)
CHANGING: Final = (
    OUTAGE,
    "A change takes some milliseconds, and the first one starts when the script starts.",
)
#: Shortest time of the bursts that HTB allows: more than the delay of a timer.
BURST_S: Final = 1e-4
#: Bytes of an Ethernet header, which HTB counts.
ETHERNET: Final = 14

_PREPARE: Final = """\
# Run on a router between both hosts, as root: sh netem.sh DOWN UP
#   DOWN  the interface through which packets leave towards the client
#   UP    the interface through which packets leave towards the server
# Remove with: tc qdisc del dev INTERFACE root
DOWN=${1:?the interface towards the client} UP=${2:?the interface towards the server}
for device in "$DOWN" "$UP"; do
    # A segment of 64 kB would count as one packet.
    ethtool -K "$device" tso off gso off gro off 2>/dev/null || true
    tc qdisc replace dev "$device" root handle 1: htb default 1
    tc class replace dev "$device" parent 1: classid 1:1 htb rate 1gbit quantum 1514
    tc qdisc replace dev "$device" parent 1:1 handle 10: netem limit 1000
done
"""
_APPLY: Final = """\
    # Rate in bit/s, burst in bytes, delay in us, limit in packets, loss in %, of both directions.
    tc -batch - <<CHANGE
class change dev $DOWN parent 1: classid 1:1 htb rate ${1}bit burst $2 cburst $2 quantum 1514
qdisc change dev $DOWN parent 1:1 handle 10: netem delay ${3}us limit $4 loss $5%
class change dev $UP parent 1: classid 1:1 htb rate ${6}bit burst $7 cburst $7 quantum 1514
qdisc change dev $UP parent 1:1 handle 10: netem delay ${8}us limit $9 loss ${10}%
CHANGE
"""


def files(course: Course) -> dict[str, str]:
    """Returns the script ``netem.sh``."""
    rows = [
        [step.at_ms, *_values(course.down, step.down), *_values(course.up, step.up)]
        for step in course.steps(STEP_MS)
    ]
    return {"netem.sh": script(comments(course, LOSSES, CHANGING, STEP_MS), _PREPARE, _APPLY, rows)}


def _values(way: Direction, state: State) -> list[object]:
    """Returns rate, burst, delay, limit and loss of a direction as numbers."""
    delay_us, _, loss = netem_values(way, state)
    counted = round((state.rate_bit_s or way.mean.rate_bit_s) * (1500 + ETHERNET) / 1500)
    burst = max(2 * (1500 + ETHERNET), math.ceil(counted * BURST_S / 8))
    return [counted, burst, delay_us, way.held_packets(state), loss]
