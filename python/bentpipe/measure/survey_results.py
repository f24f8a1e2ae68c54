"""Results of a survey: DSCP, ECN and sizes of datagrams that pass, and evidence of a TCP proxy.

A performance-enhancing proxy (PEP, RFC 3135) answers a SYN itself. There are three kinds of
evidence:

- The SYN-ACK arrives earlier than light, or a datagram, could travel to the other host and back.
- The two hosts have negotiated different options, because each has negotiated with the proxy.
- At the other host, the number of hops of the connection differs from that of datagrams.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from .survey import MARKS

if TYPE_CHECKING:
    from .load_results import Loaded

#: Maximum time from SYN to SYN-ACK that shows a proxy, as a fraction of the minimum round-trip time
#: of probes.
MAX_PROXY_FRACTION: Final = 0.8


@dataclass(frozen=True)
class Mark:
    """A value of the byte for DSCP and ECN: number of datagrams sent with it, number of them that
    arrived, and their values on arrival."""

    direction: str
    sent_as: int
    sent: int
    arrived: int
    seen_as: tuple[int, ...]

    @property
    def kept(self) -> bool:
        """True if all datagrams that arrived kept the value."""
        return self.seen_as in ((), (self.sent_as,))


@dataclass(frozen=True)
class Survey:
    """Results of a survey in one direction."""

    direction: str
    marks: list[Mark]
    #: Maximum size of the arrived datagrams in bytes with IP and UDP headers; None if none arrived.
    mtu: int | None


def survey(one: Loaded) -> Survey | None:
    """Returns the results of a load of the kind `survey`; ``None`` for another kind."""
    outcome = one.outcome
    if outcome.item.load.kind != "survey" or not len(outcome.pattern):
        return None
    records = outcome.arrived[outcome.arrived["number"] < len(outcome.pattern)]
    sent = outcome.pattern[records["number"]]
    marks = []
    for mark in MARKS:
        here = (sent["tos"] == mark) & (sent["size"] == 200)
        count = int(((outcome.pattern["tos"] == mark) & (outcome.pattern["size"] == 200)).sum())
        seen = tuple(int(value) for value in np.unique(records["tos"][here]))
        marks.append(Mark(outcome.item.load.direction, mark, count, int(here.sum()), seen))
    sizes = sent["size"]
    return Survey(outcome.item.load.direction, marks, int(sizes.max()) if len(sizes) else None)


def text(one: Survey) -> str:
    """Returns the results of a survey as a sentence."""
    changed = [
        f"{mark.sent_as:#04x} to {', '.join(f'{value:#04x}' for value in mark.seen_as)}"
        for mark in one.marks
        if not mark.kept
    ]
    lost = [f"{mark.sent_as:#04x}" for mark in one.marks if not mark.arrived]
    said = [f"DSCP and ECN {one.direction}: {'changed ' + '; '.join(changed) if changed else 'kept'}"]
    if lost:
        said.append(f"none of {', '.join(lost)} arrived")
    said.append(
        "no datagram arrived" if one.mtu is None else f"datagrams up to {one.mtu} B arrive unfragmented"
    )
    return ", ".join(said)


def proxied(
    here: dict[str, int],
    there: dict[str, int],
    syn_s: float,
    rtt_s: float,
    least_s: float,
    hops: int | None = None,
) -> list[str]:
    """Returns the evidence of a proxy between two hosts, in sentences; empty without evidence.
    ``here`` and ``there`` are the two ends of one connection by :func:`handshake`, ``syn_s`` the
    time from SYN to SYN-ACK, ``rtt_s`` the minimum round-trip time of probes, ``least_s`` the
    minimum time of a signal to the other host, and ``hops`` the hop limit of probes on arrival
    there.

    >>> one = {"options": 7, "scale_sent": 7, "scale_received": 9, "segment": 1448}
    >>> other = one | {"scale_sent": 9, "scale_received": 7}
    >>> proxied(one, other, 0.51, 0.5, 0.24)
    []
    >>> len(proxied(one, other | {"options": 2}, 0.01, 0.5, 0.24))
    3
    >>> proxied(one, other | {"hop_limit": 57}, 0.51, 0.5, 0.24, 57)
    []
    >>> len(proxied(one, other | {"hop_limit": 61}, 0.51, 0.5, 0.24, 57))
    1
    """
    found = []
    limit = there.get("hop_limit", 255)
    if hops is not None and 255 not in (limit, hops) and limit != hops:
        found.append(f"the connection arrives with a hop limit of {limit}, probes with {hops}")
    if syn_s < 2 * least_s:
        found.append(f"the SYN-ACK came after {1e3 * syn_s:.1f} ms, earlier than light goes there and back")
    if syn_s < MAX_PROXY_FRACTION * rtt_s:
        found.append(f"the SYN-ACK came after {1e3 * syn_s:.1f} ms, a probe needs {1e3 * rtt_s:.1f} ms")
    if here["options"] != there["options"]:
        found.append("the two hosts see different options of TCP")
    # The scale received by one end is the one sent by the other, within the stored bits.
    scales = [(here["scale_sent"], there["scale_received"]), (here["scale_received"], there["scale_sent"])]
    if any(a != b for a, b in scales):
        found.append("the two hosts see different window scales")
    return found
