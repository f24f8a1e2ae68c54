"""Contact plans of delay-tolerant networks, and the routes of bundles through them.

::

    from bentpipe import contacts

    plan = contacts.read_plan("mars-day.csv")
    route = contacts.routes("mars-day.csv", "rover", "earth", at=3600, size=10_000)[0]
    print(route.arrival)
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

from . import _native
from .errors import text_of

Node = int | str


@dataclass(frozen=True)
class Contact:
    """An interval, ``end`` excluded, in which a node can transmit to another. Times are seconds of the plan."""

    id: int
    src: Node
    dst: Node
    start: float
    end: float
    rate_bps: float
    owlt_s: float


@dataclass(frozen=True)
class Plan:
    """A contact plan: its nodes and the contacts between them."""

    name: str
    nodes: list[Node]
    contacts: list[Contact]


@dataclass(frozen=True)
class Passage(Contact):
    """A contact on a route, with the times at which a bundle's first and last bit leave and the last one arrives."""

    first_bit: float
    last_bit: float
    arrival: float


@dataclass(frozen=True)
class Route:
    """A route: its contacts in order, the arrival of a bundle's last bit, and the earliest end of its contacts."""

    contacts: list[Passage]
    arrival: float
    terminates: float
    next_hop: Node


def read_plan(path: Path | str) -> Plan:
    """Reads a contact plan: JSON (our object or that of HDTN), ION's commands, comma-separated values, or TOML.

    Raises :class:`bentpipe.InputError` with the lines if the plan contradicts itself.
    """
    answer = json.loads(_native.read_contacts(str(path), _text(path)))
    contacts = [Contact(**contact) for contact in answer["contacts"]]
    return Plan(name=Path(path).name, nodes=answer["nodes"], contacts=contacts)


def routes(
    path: Path | str,
    source: Node,
    destination: Node,
    *,
    at: float | Decimal | str = 0,
    size: int = 0,
    most: int = 1,
    without: tuple[Node, ...] = (),
) -> list[Route]:
    """Returns up to ``most`` routes for a bundle of ``size`` bytes that is at ``source`` at ``at``, the best first.

    The best route has the earliest arrival of the last bit; among equals the fewest contacts, then the latest
    termination, then the next hop of the smallest number (CCSDS 734.3). ``without`` names nodes to avoid. The list is
    empty if there is no route.
    """
    excluded = [str(node) for node in without]
    answer: dict[str, Any] = json.loads(
        _native.route_contacts(
            str(path), _text(path), str(source), str(destination), str(at), size, most, excluded
        )
    )
    return [
        Route(**{**route, "contacts": [Passage(**contact) for contact in route["contacts"]]})
        for route in answer["routes"]
    ]


def _text(path: Path | str) -> str:
    return text_of(Path(path))
