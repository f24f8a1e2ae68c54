"""Blocking and shaping of UDP and QUIC on a path, from the load of
:mod:`bentpipe.measure.transports`.

Each variant is tried in rounds, in random order. A variant is blocked if none of its datagrams
arrives while another variant passes. It is shaped if its rate is below three quarters of the best
variant's rate, or of TCP's rate if less arrives than is sent. A shaper above the offered rate is
not detected.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from .transports import GAP_S, WAYS

if TYPE_CHECKING:
    from .load_results import Loaded

#: Minimum rate of a variant that is not shaped, as a fraction of the best rate.
SHAPED: Final = 0.75
#: Minimum rate of a variant that carries the offered rate, as a fraction of the offered rate.
OFFERED: Final = 0.9


@dataclass(frozen=True)
class Way:
    """Result of one variant of datagrams, or of TCP, in one direction. Rates in bit/s of IP
    packets; for TCP, of its payload."""

    direction: str
    #: "udp", "quic" or "tcp".
    transport: str
    #: Port at the reflector (destination upwards, source downwards); None for its own port.
    port: int | None
    sent: int
    arrived: int
    rate: float
    #: "open", "blocked", "shaped", "shaped against TCP", or "not tried".
    verdict: str

    @property
    def name(self) -> str:
        """Name of the variant for texts."""
        looks = {"udp": "UDP", "quic": "QUIC's Initial packets", "tcp": "TCP"}[self.transport]
        return looks if self.port is None else f"{looks} on port {self.port}"


def ways(one: Loaded, others: Sequence[Loaded]) -> list[Way]:
    """Returns the results of a load of the kind `transports`, compared with the bulk transfers
    among other loads; empty for another kind."""
    outcome = one.outcome
    load = outcome.item.load
    if load.kind != "transports" or not len(outcome.sent):
        return []
    lanes = outcome.pattern["lane"][: len(outcome.sent)]
    sent, got = outcome.sent > 0, np.isfinite(one.low)
    counts = [
        (int((sent & (lanes == lane)).sum()), int((got & (lanes == lane)).sum())) for lane in range(len(WAYS))
    ]
    rates = [_rate(one, lane) for lane in range(len(WAYS))]
    best, tcp = max(rates), max((_of_tcp(other) for other in others if _beside(one, other)), default=0.0)
    found = []
    for (transport, port), rate, (left, arrived) in zip(WAYS, rates, counts, strict=True):
        if not left:
            verdict = "not tried"
        elif not arrived:
            verdict = "blocked" if best else "not tried"
        elif rate < SHAPED * best:
            verdict = "shaped"
        elif rate < SHAPED * tcp and rate < OFFERED * load.rate:
            verdict = "shaped against TCP"
        else:
            verdict = "open"
        found.append(Way(load.direction, transport, port, left, arrived, rate, verdict))
    if tcp:
        found.append(Way(load.direction, "tcp", None, 0, 0, tcp, "open"))
    return found


def _beside(one: Loaded, other: Loaded) -> bool:
    load = other.outcome.item.load
    return load.kind == "tcp" and load.direction == one.outcome.item.load.direction


def _rate(one: Loaded, lane: int) -> float:
    """Returns the arrival rate of a lane in its best round. Each round counts from its middle,
    because a shaper may pass an initial burst. The extra sending time of a busy host is
    excluded."""
    outcome, size = one.outcome, one.outcome.item.load.size
    rows = np.flatnonzero((outcome.pattern["lane"][: len(one.low)] == lane) & (outcome.sent > 0))
    rates = [0.0]
    for own in np.split(rows, np.flatnonzero(np.diff(one.time[rows]) > GAP_S / 2) + 1):
        later = own[len(own) // 2 :]
        arrived = (one.time + one.delay)[later]
        arrived = arrived[np.isfinite(arrived)]
        if len(arrived) < 2:
            continue
        # Queued datagrams take longer to arrive than to send; dropped datagrams leave gaps at both
        # ends.
        each = 8 * size / outcome.item.load.rate
        late = max(0.0, float(np.ptp(one.time[later])) - (len(later) - 1) * each)
        among, sending = float(np.ptp(arrived)) - late, len(later) * each
        packets = (len(arrived) - 1) / among if among > sending else len(arrived) / sending
        rates.append(8 * size * packets)
    return max(rates)


def _of_tcp(one: Loaded) -> float:
    """Returns the rate of a bulk transfer in the second half of its time."""
    if len(one.ends) < 4:
        return 0.0
    later = one.ends > (one.ends[0] + one.ends[-1]) / 2
    span = float(np.ptp(one.ends[later]))
    return 8 * float(one.outcome.counted["bytes"][later][1:].sum()) / span if span > 0 else 0.0


def text(found: Sequence[Way]) -> str:
    """Returns the results of one load as a sentence."""
    from bentpipe.quantities import rate_text

    said = []
    for verdict in ("blocked", "shaped", "shaped against TCP", "not tried"):
        own = [one for one in found if one.verdict == verdict]
        if own:
            names = "; ".join(one.name + (f" at {rate_text(one.rate)}" if one.rate else "") for one in own)
            said.append(f"{verdict}: {names}")
    best = max(one.rate for one in found)
    passed = [one.name for one in found if one.verdict == "open"]
    said.append(f"open: {'; '.join(passed)}, up to {rate_text(best)}" if passed else "no datagram arrived")
    return f"UDP and QUIC {found[0].direction}: {', '.join(said)}"
