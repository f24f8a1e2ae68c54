"""Results of loads: the goodput of transfers, and the delay and loss of datagrams and probes.

A network may queue a load separately from the sparse probes. The delay of a load is therefore
measured with the numbers and times in its own datagrams. One-way delays are intervals, because the
probes determine the difference of the clocks only within bounds.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .clock import Delays, Times
from .load_client import Outcome
from .probing import Measured
from .tcplog import COLUMNS


@dataclass(frozen=True)
class Loaded:
    """A load and its results. Times are in seconds since the first probe."""

    outcome: Outcome
    begin: float
    #: Time from the start to the last arrival.
    span: float
    #: Payload that arrived, in bytes.
    delivered: int
    #: Time of sending of each datagram.
    time: Times
    #: Minimum one-way delay of each datagram; NaN for lost datagrams.
    low: Times
    #: Maximum one-way delay of each datagram; NaN for lost datagrams.
    high: Times
    #: Round-trip times of the sparse probes during the load.
    probes: Times
    #: Round-trip times of the ICMP echo requests during the load.
    echoes: Times
    #: Arrival time of the last bytes of each bin of a bulk transfer.
    ends: Times

    @property
    def name(self) -> str:
        """Name of the flow of the load."""
        return self.outcome.item.name

    @property
    def drained(self) -> float:
        """Time from the start until no packet of the load is left in the path. The last data of a
        transfer may take another round trip. Data after a loss is not delivered."""
        rows = self.outcome.tcp
        if self.outcome.item.load.kind != "tcp" or not len(rows):
            return self.span
        times = rows[:, [1 + COLUMNS.index("rtt"), 1 + COLUMNS.index("srtt")]]
        longest = float(np.nanmax(times)) if np.isfinite(times).any() else 0.0
        return max(self.span, self.outcome.item.load.duration + longest)

    @property
    def goodput(self) -> float:
        """Mean rate of the arrived payload, in bit/s."""
        return 8 * self.delivered / self.span if self.span > 0 else 0.0

    @property
    def delay(self) -> Times:
        """One-way delay of each datagram: the middle of its interval."""
        return (self.low + self.high) / 2

    @property
    def lost(self) -> int:
        """Number of datagrams that were sent and did not arrive."""
        return int((np.isnan(self.low) & (self.outcome.sent > 0)).sum())


def loaded(seen: Measured, rtt: Times, found: Delays, local: int, remote: int) -> list[Loaded]:
    """Returns the results of each load. ``local`` and ``remote`` are the times of both clocks, in
    nanoseconds, that are zero in ``found``."""
    probes = ((seen.sent - local) / 1e9, rtt)
    echoes = ((seen.echoes[:, 0] - local) / 1e9, echo_times(seen))
    return [_loaded(outcome, probes, echoes, found, local, remote) for outcome in seen.outcomes]


def echo_times(seen: Measured) -> Times:
    """Returns the round-trip time of each ICMP echo request in seconds; NaN without a reply."""
    sent, returned = seen.echoes.T
    times: Times = np.where(returned > 0, (returned - sent) / 1e9, np.nan)
    return times


def _loaded(
    outcome: Outcome,
    probes: tuple[Times, Times],
    echoes: tuple[Times, Times],
    found: Delays,
    local: int,
    remote: int,
) -> Loaded:
    begin, ends = (outcome.begin - local) / 1e9, np.empty(0)
    sent_zero, arrived_zero = (local, remote) if outcome.is_up else (remote, local)
    last, delivered = begin, 0
    count = len(outcome.sent)
    time, low, high = (np.full(count, np.nan) for _ in range(3))

    def local_time(arrived: Times) -> Times:
        """Converts times of arrivals to the local clock."""
        return arrived - sum(found.bounds(arrived)) / 2 if outcome.is_up else arrived

    if len(outcome.counted):
        ends = local_time((outcome.counted["at"] - arrived_zero) / 1e9)
        last = float(ends.max())
        delivered = int(outcome.counted["bytes"].sum())
    pages = outcome.pages
    if len(pages):
        begin = float(pages["at"][0] - local) / 1e9
        last = float((pages["at"] + pages["took"]).max() - local) / 1e9
        delivered = int(pages["bytes"].sum())
    if count:
        sent = np.where(outcome.sent > 0, (outcome.sent - sent_zero) / 1e9, np.nan)
        time = sent.copy()
        if not outcome.is_up:
            time = sent - sum(found.bounds(sent)) / 2
        # Before that the two hosts negotiated the load.
        begin = float(np.nanmin(time)) if np.isfinite(time).any() else begin
        # The first copy of duplicated datagrams.
        rows = outcome.arrived[outcome.arrived["number"] < count]
        rows = rows[np.unique(rows["number"], return_index=True)[1]]
        number, arrived = rows["number"], (rows["arrived"] - arrived_zero) / 1e9
        least, most = found.bounds(arrived if outcome.is_up else sent[number])
        gap = arrived - sent[number]
        low[number], high[number] = (gap - most, gap - least) if outcome.is_up else (gap + least, gap + most)
        if len(rows):
            last = float(local_time(arrived).max())
            delivered = int(rows["size"].sum()) - 28 * len(rows)
    own, icmp = (rtt[(at >= begin) & (at <= last)] for at, rtt in (probes, echoes))
    return Loaded(outcome, begin, max(0.0, last - begin), delivered, time, low, high, own, icmp, ends)
