"""The way of a flow through the network of a resolved scenario, in the numbers that the equations need."""

from __future__ import annotations

import heapq
import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

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
    #: The node that it leads to, and the name of its link or network.
    to: str = ""
    name: str = ""


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


class Graph:
    """The hops of a scenario's links and networks. Raises :class:`NoPath` for what the equations do not know."""

    def __init__(self, scenario: Mapping[str, Any]) -> None:
        self._scenario = scenario
        self._hops: dict[str, list[tuple[str, Hop]]] = {}
        for one, other, hop in _hops(scenario):
            self._hops.setdefault(one, []).append((other, hop))
        self._searches: dict[str, Iterator[tuple[str, tuple[Hop, ...]]]] = {}
        self._found: dict[str, dict[str, tuple[Hop, ...]]] = {}

    def path(self, origin: str, destination: str) -> Path:
        """The path with the least propagation delay, which is the one that the engine routes over. Raises
        :class:`NoPath`."""
        # The search from an origin continues where the one to an earlier destination stopped.
        search = self._searches.setdefault(origin, self._nearest(origin))
        found = self._found.setdefault(origin, {})
        while destination not in found:
            try:
                node, hops = next(search)
            except StopIteration:
                raise self._no_path(origin, destination) from None
            found[node] = hops
        return Path(found[destination])

    def _nearest(self, origin: str) -> Iterator[tuple[str, tuple[Hop, ...]]]:
        """The nodes with the hops to them, the nearest first (Dijkstra)."""
        order = itertools.count()
        waiting: list[tuple[float, int, str, tuple[Hop, ...]]] = [(0.0, next(order), origin, ())]
        seen: set[str] = set()
        while waiting:
            delay_s, _, node, hops = heapq.heappop(waiting)
            if node in seen:
                continue
            seen.add(node)
            yield node, hops
            for neighbour, hop in self._hops.get(node, []):
                heapq.heappush(waiting, (delay_s + hop.delay_s, next(order), neighbour, (*hops, hop)))

    def _no_path(self, origin: str, destination: str) -> NoPath:
        others = [
            f"{name}, which is {network['kind']}"
            for name, network in self._scenario.get("network", {}).items()
            if network["kind"] != "dvb-rcs"
        ]
        known = "they know links and networks of the kind dvb-rcs"
        why = f": {known}, not {', '.join(others)}" if others else ""
        return NoPath(f"the equations know no path from {origin} to {destination}{why}")


def path_of(scenario: Mapping[str, Any], origin: str, destination: str) -> Path:
    """The path between two nodes, see :meth:`Graph.path`."""
    return Graph(scenario).path(origin, destination)


def _hops(scenario: Mapping[str, Any]) -> Iterator[tuple[str, str, Hop]]:
    """Every hop of the scenario's links and networks as (from, to, hop)."""
    for link in scenario.get("link", []):
        there, back = _link(link), _link(link.get("return", link))
        yield link["from"], link["to"], replace(there, to=link["to"], name=link["name"])
        yield link["to"], link["from"], replace(back, to=link["from"], name=link["name"])
    for name, network in scenario.get("network", {}).items():
        if network["kind"] == "dvb-rcs":
            for one, other, hop in _dvb_rcs(network):
                yield one, other, replace(hop, to=other, name=name)


def _dvb_rcs(network: Mapping[str, Any]) -> Iterator[tuple[str, str, Hop]]:
    """A star of terminals around a gateway: everything between two terminals goes over it."""
    forward, back = network["forward"], network["return"]
    terminals = list(_terminals(network["terminals"]))
    for terminal in terminals:
        delay_s = _propagation(network["propagation"], terminal.get("site"))
        yield (
            network["gateway"],
            terminal["name"],
            Hop(base_value(forward["rate"]), delay_s, *_errors(forward)),
        )
        dama = _dama(back, delay_s)
        rate_bit_s = base_value(back["rate"])
        if dama.scheme == "cra":
            rate_bit_s = _constant_rate(back, terminal, terminals)
        if rate_bit_s > 0:
            yield terminal["name"], network["gateway"], Hop(rate_bit_s, delay_s, *_errors(back), dama)


def _constant_rate(
    link: Mapping[str, Any], terminal: Mapping[str, Any], terminals: Sequence[Mapping[str, Any]]
) -> float:
    """What a terminal has that never gets more: the rate of its own, the network's, or its share of what is left."""
    constant = terminal.get("cra") or link["dama"].get("cra")
    if constant is not None:
        return base_value(constant)
    slots: int = link["slots_per_frame"]
    slot_bit_s = base_value(link["rate"]) / slots
    own = [base_value(other["cra"]) for other in terminals if other.get("cra") is not None]
    free = slots - round(sum(own) / slot_bit_s)
    return slot_bit_s * (free // (len(terminals) - len(own)))


def _link(link: Mapping[str, Any]) -> Hop:
    return Hop(base_value(link["rate"]), base_value(link["delay"]), *_errors(link))


def _terminals(entries: Sequence[str | Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    """Each terminal as a table with its name."""
    for entry in entries:
        if isinstance(entry, str):
            yield {"name": entry}
        elif "name" in entry:
            yield entry
        else:
            yield from (
                {**entry, "name": f"{entry['prefix']}{number}"} for number in range(1, 1 + entry["count"])
            )


def _dama(link: Mapping[str, Any], delay_s: float) -> Dama:
    dama = link["dama"]
    # The study's frame, unless the scenario names one or the bytes of a slot.
    frame_s = base_value(link.get("frame", "23.5 ms"))
    if "slot_bytes" in link:
        frame_s = 8 * link["slot_bytes"] * link["slots_per_frame"] / base_value(link["rate"])
    superframe_s = frame_s * link["frames_per_superframe"]
    response = dama.get("response")
    if response is None:
        # The request waits for the next boundary of the control centre, its plan for the terminal's.
        waits = delay_s + base_value(dama["processing"]), delay_s
        response = sum(math.floor(wait / superframe_s) + 1 for wait in waits)
    return Dama(kind_of(dama["scheme"]), superframe_s, response)


def _errors(link: Mapping[str, Any]) -> tuple[float, float]:
    """Packet and bit error probability of a link; a process with memory has none that the equations could take."""
    error = link.get("error", "none")
    kind = kind_of(error)
    if kind == "none":
        return 0.0, 0.0
    if kind == "packet":
        return float(error["probability"]), 0.0
    if kind == "bit":
        return 0.0, float(error["rate"])
    raise NoPath(f"the equations know independent errors only, and this link has {kind} errors")


def kind_of(variant: str | Mapping[str, Any]) -> str:
    """The name of a variant, which is written as a table with the key ``kind`` or as its name alone."""
    return variant if isinstance(variant, str) else str(variant["kind"])


def _propagation(propagation: str | Mapping[str, Any], site: Mapping[str, Any] | None) -> float:
    """One-way delay between a terminal and the gateway."""
    if isinstance(propagation, str):
        return base_value(propagation)
    satellite_deg = base_value(propagation["satellite"])
    ends = (site or propagation["terminals"], propagation["gateway"])
    return sum(slant_range_m(satellite_deg, end) / SPEED_OF_LIGHT for end in ends)


def slant_range_m(satellite_deg: float, site: Mapping[str, Any]) -> float:
    """Straight line from a geostationary satellite at a longitude to a site on the WGS84 ellipsoid, in metres.

    >>> round(slant_range_m(13.0, {"latitude": "0 deg", "longitude": "13 deg", "altitude": "0 m"}) / 1e3)
    35786
    """
    latitude, longitude = (math.radians(base_value(site[key])) for key in ("latitude", "longitude"))
    altitude_m = base_value(site.get("altitude", "0 m"))
    squared = FLATTENING * (2 - FLATTENING)
    normal_m = EQUATORIAL_RADIUS_M / math.sqrt(1 - squared * math.sin(latitude) ** 2)
    place = (
        (normal_m + altitude_m) * math.cos(latitude) * math.cos(longitude),
        (normal_m + altitude_m) * math.cos(latitude) * math.sin(longitude),
        (normal_m * (1 - squared) + altitude_m) * math.sin(latitude),
    )
    turn = math.radians(satellite_deg)
    return math.dist(place, (ORBIT_RADIUS_M * math.cos(turn), ORBIT_RADIUS_M * math.sin(turn), 0.0))


#: Metres per second, by the definition of the metre.
SPEED_OF_LIGHT: Final = 299_792_458.0
#: WGS84.
EQUATORIAL_RADIUS_M: Final = 6_378_137.0
FLATTENING: Final = 1 / 298.257223563
#: Where one sidereal day is one revolution.
ORBIT_RADIUS_M: Final = 42_164_173.0
