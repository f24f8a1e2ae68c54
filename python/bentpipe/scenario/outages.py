"""Outages: times in which parts of the network carry no packets, and the flows over these parts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final

from bentpipe.errors import in_order
from bentpipe.quantities import base_value, span_text

from .facts import acm_of, orbit_of
from .topology import ranges

if TYPE_CHECKING:
    from .facts import Flow
    from .scenarios import Scenario


#: Maximum rate in bit/s that counts as an outage: a rate series represents 0 as 1 bit/s.
NONE_BIT_S: Final = 1.0

#: Maximum number of listed intervals. Further intervals are only counted.
_LISTED: Final = 3

#: Intervals of time in seconds.
Spans = tuple[tuple[float, float], ...]


@dataclass(frozen=True)
class Outage:
    """Parts without capacity for the whole run, or during ``spans_s`` (empty if the times are
    unknown), and the flows over these parts."""

    whole_run: bool
    spans_s: Spans
    parts: tuple[str, ...]
    flows: tuple[str, ...]

    @property
    def when(self) -> str:
        """The time of the outage in words."""
        if self.whole_run:
            return "the whole run"
        return spans_text(self.spans_s) if self.spans_s else "part of the run"

    def __str__(self) -> str:
        flows = ranges(list(self.flows), 3) or "no flow"
        return f"{flows}: no capacity for {self.when} ({ranges(list(self.parts), 3)})"

    @property
    def sentence(self) -> str:
        """The outage in sentences that are understandable without a table."""
        spans = "from" if self.spans_s and not self.whole_run else "for"
        flows = ranges(list(self.flows), 3)
        affected = f"Flows affected: {flows}." if flows else "No flow is affected."
        return f"{ranges(list(self.parts), 3)}: no capacity {spans} {self.when}. {affected}"

    def as_dict(self) -> dict[str, Any]:
        """All fields, ready for JSON."""
        return {
            "whole_run": self.whole_run,
            "spans_s": [list(span) for span in self.spans_s],
            "parts": list(self.parts),
            "flows": list(self.flows),
        }


def outages_of(scenario: Scenario, known: Sequence[Flow]) -> list[Outage]:
    """Returns the outages of a scenario with these facts of its flows, with outages of the whole
    run first. Outages are rates of 0 bit/s in a series or by ACM, and the ``outages`` of contacts
    and of networks. Parts with the same times are one outage. A flow over a part that never has
    capacity is listed with that part only."""
    found: dict[tuple[bool, Spans], tuple[dict[str, None], dict[str, None]]] = {}

    def add(part: str, spans: Spans, flows: Sequence[str], *, whole: bool = False) -> None:
        parts, over = found.setdefault((whole, () if whole else spans), ({}, {}))
        parts[part] = None
        over.update(dict.fromkeys(flows))

    over: dict[str, dict[str, None]] = {}
    for flow in known:
        hops = [*(flow["there"] or []), *(flow["back"] or [])]
        for hop in hops:
            over.setdefault(hop["network"], {})[flow["name"]] = None
        dark = [hop for hop in hops if hop["rate_bit_s"]["least"] <= NONE_BIT_S]
        whole = [hop for hop in dark if hop["rate_bit_s"]["greatest"] <= NONE_BIT_S]
        for hop in whole or dark:
            dark_by = [access["outages"] for access in (acm_of(hop), orbit_of(hop)) if access is not None]
            spans = tuple((begin, end) for outages in dark_by for begin, end in outages)
            add(hop["part"], spans, [flow["name"]], whole=bool(whole))
    for name, where, spans in _given(scenario):
        add(f"{name} {where}".strip(), spans, list(over.get(name, {})))
    return [
        Outage(whole, spans, tuple(in_order(parts)), tuple(in_order(flows)))
        for (whole, spans), (parts, flows) in sorted(
            found.items(), key=lambda one: (not one[0][0], one[0][1])
        )
    ]


def _given(scenario: Scenario) -> Iterator[tuple[str, str, Spans]]:
    """Yields the outages in a scenario: the link or network, the pair of nodes if it has several,
    and the times."""
    links = [(link["name"], (link.get("contacts") or {}).get("outages", [])) for link in scenario.links]
    networks = scenario.data.get("network", {}).items()
    for name, given in [*links, *((name, network.get("outages", [])) for name, network in networks)]:
        pairs = groupby(given, key=lambda one: f"{one['from']} - {one['to']}" if "from" in one else "")
        for where, some in pairs:
            yield name, where, tuple((base_value(one["start"]), base_value(one["end"])) for one in some)


def spans_text(spans: Sequence[Sequence[float]]) -> str:
    """Returns time intervals in words.

    >>> spans_text([(0.0, 20.0), (30.0, 31.5)])
    '0 s to 20 s, 30 s to 31.5 s'
    """
    texts = [f"{span_text(begin) if begin else '0 s'} to {span_text(end)}" for begin, end in spans[:_LISTED]]
    more = [f"{len(spans) - _LISTED} more"] if len(spans) > _LISTED else []
    return ", ".join([*texts, *more])
