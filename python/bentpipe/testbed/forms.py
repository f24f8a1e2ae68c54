"""The schema of scenarios for the forms of the page."""

from __future__ import annotations

from functools import cache
from typing import Any, Final

from bentpipe.scenario.scenarios import schema

#: Transports in the order of preference: a form proposes the first that carries the application.
_PROPOSED: Final = ("tcp", "udp", "sip")
#: Applications for which a form does not propose TCP, because TCP would change their rate.
_PROPOSED_FOR: Final = {"cbr": "udp"}


@cache
def form_schema() -> dict[str, Any]:
    """Returns the JSON Schema of scenarios, with the ``transports`` of each application in order of
    preference."""
    found = schema()
    for variant in found["$defs"]["App"]["oneOf"]:
        if "properties" in variant:
            order = [_PROPOSED_FOR.get(variant["properties"]["kind"]["const"]), *_PROPOSED]
            order += [kind for kind in variant["transports"] if kind not in order]
            variant["transports"].sort(key=order.index)
    return found
