"""Outages of a run: parts of the network without any capacity, and the flows whose packets pass them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from .errors import in_order
from .prediction import facts_of
from .topology import ranges

if TYPE_CHECKING:
    from .runs import Run


#: Rates up to this one in bit/s are none: a series has 1 bit/s for 0.
NONE_BIT_S: Final = 1.0


@dataclass(frozen=True)
class Outage:
    """Parts whose rate is 0 bit/s for the whole run, or else for a part of it, and the flows that pass them."""

    whole_run: bool
    parts: tuple[str, ...]
    flows: tuple[str, ...]

    def __str__(self) -> str:
        when = "the whole run" if self.whole_run else "part of the run"
        return f"{ranges(list(self.flows), 3)}: no capacity for {when} ({ranges(list(self.parts), 3)})"

    def as_dict(self) -> dict[str, Any]:
        """All fields, ready for JSON."""
        return {"whole_run": self.whole_run, "parts": list(self.parts), "flows": list(self.flows)}


def outages(run: Run) -> list[Outage]:
    """Returns the outages of a run, those for the whole run first, as its scenario states them: rates that are 0 bit/s,
    in a series or by ACM, in the direction of a flow's packets or of what comes back for them.
    A flow is listed once, with the longer outage."""
    found: dict[bool, tuple[dict[str, None], dict[str, None]]] = {}
    for flow in facts_of(run):
        hops = [*(flow["there"] or []), *(flow["back"] or [])]
        whole = [hop["part"] for hop in hops if hop["rate_bit_s"]["greatest"] <= NONE_BIT_S]
        partial = [hop["part"] for hop in hops if hop["rate_bit_s"]["least"] <= NONE_BIT_S]
        if parts := whole or partial:
            of_kind = found.setdefault(bool(whole), ({}, {}))
            of_kind[0].update(dict.fromkeys(parts))
            of_kind[1][flow["name"]] = None
    return [
        Outage(whole, tuple(in_order(parts)), tuple(in_order(flows)))
        for whole, (parts, flows) in sorted(found.items(), reverse=True)
    ]
