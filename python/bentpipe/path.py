"""The way of a flow through the network of a resolved scenario, in the numbers that the equations need."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from .quantities import base_value


class NoPath(Exception):  # noqa: N818 - a reason that is shown, not a fault
    """Why the way between two nodes is not known here."""


@dataclass(frozen=True)
class Dama:
    """Demand assignment on a return link: the category, the superframe and L, the superframes from a request to the
    first slots that answer it."""

    scheme: str
    superframe_s: float
    response_superframes: int


@dataclass(frozen=True)
class Hop:
    """One link: rate at the network layer, one-way delay, and what the channel spoils."""

    rate_bit_s: float
    delay_s: float
    packet_error: float = 0.0
    bit_error: float = 0.0
    dama: Dama | None = None


@dataclass(frozen=True)
class Path:
    """The hops between two nodes, in order."""

    hops: tuple[Hop, ...]

    @property
    def rate_bit_s(self) -> float:
        """Rate of the slowest hop."""
        return min(hop.rate_bit_s for hop in self.hops)

    @property
    def delay_s(self) -> float:
        """Sum of the one-way delays."""
        return sum(hop.delay_s for hop in self.hops)

    @property
    def dama(self) -> Dama | None:
        """Demand assignment on the way, if there is any."""
        return next((hop.dama for hop in self.hops if hop.dama is not None), None)

    def loss_probability(self, packet_bytes: int) -> float:
        """Probability that a packet of this size is spoilt on its way, errors being independent.

        >>> Path((Hop(1e6, 0.1, packet_error=0.01), Hop(1e6, 0.1, bit_error=1e-6))).loss_probability(1500)
        0.021809...
        """
        survives = 1.0
        for hop in self.hops:
            survives *= (1 - hop.packet_error) * math.exp(8 * packet_bytes * math.log1p(-hop.bit_error))
        return 1 - survives


def path_of(scenario: Mapping[str, Any], origin: str, destination: str) -> Path:
    """The way with the fewest hops, as the engine's static routes have it. Raises :class:`NoPath`."""
    graph: dict[str, list[tuple[str, Hop]]] = {}
    for one, other, hop in _hops(scenario):
        graph.setdefault(one, []).append((other, hop))
    waiting: deque[tuple[str, tuple[Hop, ...]]] = deque([(origin, ())])
    seen: set[str] = set()
    while waiting:
        node, hops = waiting.popleft()
        if node == destination:
            if not hops:
                raise NoPath(f"{origin} talks to itself")
            return Path(hops)
        if node in seen:
            continue
        seen.add(node)
        waiting.extend((neighbour, (*hops, hop)) for neighbour, hop in graph.get(node, []))
    raise NoPath(f"there is no way from {origin} to {destination} that the equations know")


def _hops(scenario: Mapping[str, Any]) -> Iterator[tuple[str, str, Hop]]:
    """Every hop of the scenario's networks as (from, to, hop)."""
    for network in scenario.get("network", {}).values():
        if network["kind"] == "dvb-rcs":
            yield from _dvb_rcs(network)


def _dvb_rcs(network: Mapping[str, Any]) -> Iterator[tuple[str, str, Hop]]:
    """A star of terminals around a gateway: everything between two terminals goes over it."""
    delay_s = base_value(network["delay"])
    back = network["return"]
    scheme = back["dama"]["scheme"]
    kind = scheme if isinstance(scheme, str) else scheme["kind"]
    dama = Dama(kind, base_value(back["superframe"]), int(back["dama"]["latency"]))
    outbound = Hop(base_value(network["forward"]["rate"]), delay_s)
    inbound = Hop(base_value(back["rate"]), delay_s, dama=dama)
    for terminal in network["terminals"]:
        yield network["gateway"], terminal, outbound
        yield terminal, network["gateway"], inbound
