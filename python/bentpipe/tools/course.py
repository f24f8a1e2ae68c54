"""The course of a path: rate and delay of both directions over time, for tools that impose them.

Both directions are observed in simulations (:func:`bentpipe.measure.score.observe`), so the course
contains everything that the scenario's links and networks do. The loss and the queue of a direction
come from the scenario's facts, since packets lost in the observation would include those lost in
its full queue. The observation itself is made without the errors of links, which would lower the
observed rate.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from bentpipe.measure.scheduled import STEP_MS
from bentpipe.measure.score import PACKET, hops, observe
from bentpipe.quantities import base_value
from bentpipe.scenario.scenarios import load
from bentpipe.series import OPPORTUNITY_BYTES

if TYPE_CHECKING:
    from bentpipe.measure.scheduled import Access, Values
    from bentpipe.scenario.scenarios import Scenario

#: Longest observation in seconds, after the delay of the first packet.
LONGEST_S: Final = 600.0
#: Bytes of a probe's packet: 100 bytes, and the headers of UDP and IP.
PROBE: Final = 128
#: Differences below which a rate (as a fraction) and a delay (in seconds) count as unchanged.
SAME_RATE: Final = 0.005
SAME_DELAY_S: Final = 0.0001
#: Packets by which the rate of a step differs although the link's rate is constant.
JITTER_PACKETS: Final = 2


@dataclass(frozen=True)
class State:
    """Rate and delay of a direction during a step. A rate of 0 is an outage."""

    rate_bit_s: float
    delay_s: float


@dataclass(frozen=True)
class Direction:
    """One direction of a path, from ``origin`` to ``destination``.

    ``rates`` in bit/s have a value per ``STEP_MS``, and ``delays`` in seconds have a value per 10
    ms; both have one value if they are constant. ``deliveries`` are the bytes per millisecond, or
    None for a constant rate. ``loss`` is the expected fraction of lost packets, and
    ``queue_packets`` the limit of the queue at the slowest hop, whose discipline is ``queue_kind``.
    """

    origin: str
    destination: str
    rates: Values
    delays: Values
    deliveries: Values | None
    loss: float
    queue_kind: str
    queue_packets: int

    @property
    def constant(self) -> bool:
        """True if neither rate nor delay changes."""
        return len(self.rates) == 1 and len(self.delays) == 1

    def state(self, begin_ms: float, end_ms: float) -> State:
        """Returns the mean rate and the mean delay of an interval."""
        return State(_mean(self.rates, STEP_MS, begin_ms, end_ms), _mean(self.delays, 10, begin_ms, end_ms))

    @property
    def mean(self) -> State:
        """The mean rate and the mean delay."""
        return State(float(self.rates.mean()), float(self.delays.mean()))

    def held_packets(self, state: State) -> int:
        """Returns the packets that the path holds at full load: those in flight, and the queue."""
        return math.ceil(state.rate_bit_s * state.delay_s / 8 / PACKET) + self.queue_packets

    def opportunities(self) -> list[int]:
        """Returns the delivery opportunities of packets of 1500 bytes in milliseconds, in the
        format of mahimahi. For a constant rate, there are at least a second and a thousand
        packets."""
        import polars as pl

        from bentpipe.series import to_opportunities

        if self.deliveries is None:
            rate = float(self.rates[0])
            enough_s = max(1.0, 1000 * 8 * OPPORTUNITY_BYTES / rate)
            return to_opportunities(pl.DataFrame({"time": [0.0], "rate": [rate]}), math.ceil(enough_s))
        counts = np.floor(np.cumsum(self.deliveries) / OPPORTUNITY_BYTES + 1e-6).astype(int)
        new = np.diff(counts, prepend=0)
        times: list[int] = (np.repeat(np.arange(len(new)), new) + 1).tolist()
        return times


@dataclass(frozen=True)
class Step:
    """The states of both directions from a time on."""

    at_ms: int
    down: State
    up: State


@dataclass(frozen=True)
class Course:
    """The course of the path between a client and a server. ``down`` leads to the client."""

    name: str
    client: str
    server: str
    duration_s: float
    down: Direction
    up: Direction
    losses: tuple[str, ...]

    def steps(self, step_ms: int) -> list[Step]:
        """Returns the states in steps of ``step_ms``. Consecutive steps without a change are one
        step with their mean."""
        end = math.ceil(1e3 * self.duration_s / step_ms) * step_ms
        if self.down.constant and self.up.constant:
            return [Step(0, self.down.mean, self.up.mean)]
        starts = [0]
        for begin in range(step_ms, end, step_ms):
            for way in (self.down, self.up):
                before, now = way.state(starts[-1], begin), way.state(begin, begin + step_ms)
                if not _same(before, now, step_ms):
                    starts.append(begin)
                    break
        spans = zip(starts, [*starts[1:], end], strict=True)
        return [Step(begin, self.down.state(begin, to), self.up.state(begin, to)) for begin, to in spans]

    @property
    def rtt_s(self) -> float:
        """The mean round-trip time without load."""
        return self.down.mean.delay_s + self.up.mean.delay_s


def course(scenario: Scenario, client: str, server: str) -> Course:
    """Observes the path between two nodes of a scenario, without its flows.

    Raises :class:`bentpipe.InputError` if there is no path.
    """
    delay_s = sum(hop["delay_s"]["mean"] for hop in hops(scenario.data, (server, client)))
    duration_s = min(base_value(scenario.data["duration"]), LONGEST_S + delay_s)
    down = _direction(scenario, (server, client), duration_s)
    up = _direction(scenario, (client, server), duration_s)
    return Course(scenario.name, client, server, duration_s, down, up, tuple(_losses(scenario, down, up)))


def _direction(scenario: Scenario, ends: tuple[str, str], duration_s: float) -> Direction:
    access = observe(load(_without_errors(scenario.data)), ends, duration_s)
    there = hops(scenario.data, ends)
    slowest = min(there, key=lambda hop: hop["rate_bit_s"]["mean"])
    rates, deliveries = _rates(access, slowest["rate_bit_s"]["mean"])
    serialised = sum(8 * PROBE / hop["rate_bit_s"]["mean"] for hop in there)
    return Direction(
        *ends,
        rates=rates,
        delays=_delays(access, serialised, duration_s),
        deliveries=deliveries,
        loss=1 - math.prod(1 - hop["loss"] for hop in there),
        queue_kind=slowest["queue"]["kind"],
        queue_packets=_packets(slowest["queue"]),
    )


def _without_errors(table: dict[str, Any]) -> dict[str, Any]:
    """Returns a scenario whose links lose no packets. Errors of links with ARQ stay, since they
    cost rate and delay instead of packets."""
    links = []
    for link in table.get("link", []):
        ways = {key: value for key, value in link.items() if key != "error" or "arq" in link}
        if isinstance(back := link.get("return"), dict) and "arq" not in link:
            ways["return"] = {key: value for key, value in back.items() if key != "error"}
        links.append(ways)
    networks = {
        name: network | {"gsl": {key: value for key, value in network["gsl"].items() if key != "error"}}
        if "gsl" in network
        else network
        for name, network in table.get("network", {}).items()
    }
    return table | ({"link": links} if links else {}) | ({"network": networks} if networks else {})


def _rates(access: Access, mean_bit_s: float) -> tuple[Values, Values | None]:
    """Returns the rates in steps, and the deliveries; for a constant rate only this rate."""
    first = int(np.flatnonzero(access.deliveries)[0])
    deliveries = access.deliveries[first:]
    step = max(STEP_MS, round(20 * PACKET / deliveries.mean()))
    whole = deliveries[: len(deliveries) // step * step].reshape(-1, step).sum(1)
    if not len(whole) or np.ptp(whole) <= JITTER_PACKETS * PACKET:
        return np.array([mean_bit_s]), None
    # The end of the observation, in which the first packets were under way, continues the last
    # step.
    deliveries = np.concatenate([deliveries, deliveries[max(0, len(deliveries) - first) :]])
    steps = deliveries[: len(deliveries) // STEP_MS * STEP_MS].reshape(-1, STEP_MS).sum(1)
    return steps * 8e3 / STEP_MS, deliveries


def _delays(access: Access, serialised_s: float, duration_s: float) -> Values:
    """Returns the delays per 10 ms without the time that the probe itself takes; a single delay if
    they are equal."""
    delays = np.maximum(access.delays / 1e3 - serialised_s, 0)
    if np.ptp(delays) < SAME_DELAY_S:
        return np.array([float(delays.mean())])
    grid = np.arange(0, 1e3 * duration_s, 10.0)
    values: Values = np.interp(grid, access.delay_times, delays)
    return values


def _packets(queue: dict[str, Any]) -> int:
    """Returns the limit of a queue in packets of 1500 bytes; of Linux's 1000 without a limit."""
    limits = [queue["packets"], queue["bytes"] and queue["bytes"] // PACKET]
    return max(1, min([limit for limit in limits if limit], default=1000))


def _losses(scenario: Scenario, down: Direction, up: Direction) -> list[str]:
    """Returns the losses of fidelity that all exports of a scenario have."""
    found = []
    if scenario.flows:
        found.append("The flows of the scenario are left out: the path is observed without other traffic.")
    for key, what in (("proxy", "proxies"), ("edge", "DiffServ edges"), ("service", "services")):
        if scenario.data.get(key):
            found.append(f"The {what} of the scenario are left out.")
    for way in (down, up):
        ends = f"{way.origin} to {way.destination}"
        if way.queue_kind != "drop-tail":
            found.append(f"{ends}: the queue {way.queue_kind} is replaced by drop-tail.")
        if way.loss:
            found.append(f"{ends}: losses are independent, with the expected fraction {way.loss:.3g}.")
    if base_value(scenario.data["duration"]) > LONGEST_S and not (down.constant and up.constant):
        found.append(f"Only the first {LONGEST_S:g} s of the scenario are exported.")
    return found


def _mean(values: Values, step_ms: float, begin_ms: float, end_ms: float) -> float:
    """Returns the mean of the values of an interval; after the end, the last value."""
    if len(values) == 1:
        return float(values[0])
    first = min(int(begin_ms / step_ms), len(values) - 1)
    return float(values[first : max(first + 1, math.ceil(end_ms / step_ms))].mean())


def _same(one: State, other: State, step_ms: int) -> bool:
    """Returns true if two states are equal, except for whole packets in a step."""
    packets = JITTER_PACKETS * PACKET * 8e3 / step_ms
    return (
        abs(one.rate_bit_s - other.rate_bit_s) <= max(SAME_RATE * one.rate_bit_s, packets)
        and abs(one.delay_s - other.delay_s) < SAME_DELAY_S
    )
