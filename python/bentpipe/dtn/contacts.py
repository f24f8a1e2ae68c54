"""Contact plans of delay-tolerant networks, and the routes of bundles through them.

::

    from bentpipe.dtn import contacts

    plan = contacts.read_plan("mars-day.csv")
    route = contacts.routes(plan, "rover", "earth", at=3600, size=10_000)[0]
    print(route.arrival)
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from decimal import Decimal
from functools import cached_property
from pathlib import Path
from typing import Any

from bentpipe import _native
from bentpipe.errors import text_of

Node = int | str


@dataclass(frozen=True)
class Contact:
    """An interval, without its ``end``, in which a node can transmit to another. Times are in
    seconds of the plan."""

    id: int
    src: Node
    dst: Node
    start: float
    end: float
    rate_bps: float
    owlt_s: float


@dataclass(frozen=True)
class Plan:
    """A contact plan: its nodes, the contacts between them, and the number of impossible contacts
    that were skipped."""

    name: str
    nodes: list[Node]
    contacts: list[Contact]
    skipped: int = 0

    @cached_property
    def _read(self) -> _native.ContactPlan:
        """The plan for route searches, built from the contacts unless :func:`read_plan` has already
        set it."""
        text = json.dumps({"nodes": self.nodes, "contacts": [asdict(contact) for contact in self.contacts]})
        return _native.ContactPlan(self.name, text, False)

    def __getstate__(self) -> dict[str, Any]:
        # Copies and pickles contain the contacts only.
        return {name: value for name, value in vars(self).items() if name != "_read"}


@dataclass(frozen=True)
class Passage(Contact):
    """A contact on a route, with the departure times of a bundle's first and last bit and the
    arrival time of the last bit."""

    first_bit: float
    last_bit: float
    arrival: float


@dataclass(frozen=True)
class Route:
    """A route: its contacts in order, the arrival of a bundle's last bit, and the earliest end of
    its contacts.

    The route of a bundle that is already at its destination has no contacts, and its ``terminates``
    is None.
    """

    contacts: list[Passage]
    arrival: float
    terminates: float | None
    next_hop: Node


def read_plan(path: Path | str, *, skip_impossible: bool = False) -> Plan:
    """Reads a contact plan: JSON (our object or that of HDTN), ION's commands, comma-separated
    values, or TOML.

    Raises :class:`bentpipe.InputError` with the line numbers if the plan is contradictory. With
    ``skip_impossible``, contacts that do not end after their start are skipped and counted, as in
    HDTN.
    """
    plan = plan_of_text(str(path), text_of(Path(path)), skip_impossible=skip_impossible)
    named = replace(plan, name=Path(path).name)
    vars(named)["_read"] = vars(plan)["_read"]
    return named


def plan_of_text(name: str, text: str, *, skip_impossible: bool = False) -> Plan:
    """Returns the contact plan in a text, such as the text in the scenario of a run; see
    :func:`read_plan`."""
    read = _native.ContactPlan(name, text, skip_impossible)
    answer = json.loads(read.describe())
    contacts = [Contact(**contact) for contact in answer["contacts"]]
    plan = Plan(name, answer["nodes"], contacts, answer["skipped"])
    vars(plan)["_read"] = read
    return plan


def routes(
    plan: Plan | Path | str,
    source: Node,
    destination: Node,
    *,
    at: float | Decimal | str = 0,
    size: int = 0,
    most: int = 1,
    without: tuple[Node, ...] = (),
) -> list[Route]:
    """Returns up to ``most`` routes for a bundle of ``size`` bytes that is at ``source`` at the
    time ``at``, the best route first.

    ``plan`` is a plan or its file. A file is read at each call.

    The best route has the earliest arrival of the last bit. Ties are broken by the fewest contacts,
    the latest termination, and the smallest number of the next hop (CCSDS 734.3). ``without`` names
    nodes to avoid. The list is empty if there is no route.
    """
    if not isinstance(plan, Plan):
        plan = read_plan(plan)
    excluded = [str(node) for node in without]
    found = plan._read.routes(str(source), str(destination), str(at), size, most, excluded)
    return [
        Route(**{**route, "contacts": [Passage(**contact) for contact in route["contacts"]]})
        for route in json.loads(found)
    ]
