"""Warnings about flows that cannot resume carefully (RFC 9959)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from bentpipe.quantities import base_value, span_text

if TYPE_CHECKING:
    from .facts import Facts
    from .scenarios import Scenario

#: Maximum ratio of the round-trip time to the saved one (RFC 9959).
MAX_RATIO: Final = 10.0
#: Minimum ratio of the round-trip time to the saved one (RFC 9959).
MIN_RATIO: Final = 0.5


def resumptions(scenario: Scenario, known: Facts) -> Iterator[str]:
    """Yields warnings about flows with ``careful_resume`` whose connections begin with slow start:
    the saved round-trip time is of another path, or there is no earlier connection."""
    pairs = list(zip(scenario.flows, known["flows"], strict=True))
    for flow, path in pairs:
        saved = flow["transport"].get("careful_resume")
        if saved is None or path["there"] is None or path["proxies"]:
            continue
        if saved == "earlier":
            ends = {flow["from"], flow["to"]}
            others = (
                other
                for other, _ in pairs
                if other["name"] != flow["name"]
                and {other["from"], other["to"]} == ends
                and other["transport"].get("careful_resume") == "earlier"
            )
            if flow["app"]["kind"] == "bulk" and not any(others):
                yield (
                    f"{flow['name']}: careful_resume has no effect, because no other flow between "
                    f'{flow["from"]} and {flow["to"]} has careful_resume = "earlier"'
                )
            continue
        before = base_value(saved["rtt"])
        rtt = sum(hop["delay_s"]["mean"] for hop in (*path["there"], *(path["back"] or ())))
        if rtt <= MIN_RATIO * before or rtt > MAX_RATIO * before:
            bound = "at most half of" if rtt < before else "more than ten times"
            yield (
                f"{flow['name']}: careful_resume has no effect, because the round-trip time of "
                f"{span_text(rtt)} is {bound} the saved {span_text(before)}"
            )
