"""The schema of scenarios for the forms of the page."""

from __future__ import annotations

from functools import cache
from typing import Any, Final

from bentpipe.scenario.scenarios import schema

#: The transports that a form proposes: the first of these that carries the application.
_PROPOSED: Final = ("tcp", "udp", "sip")
#: Applications for which a form proposes another transport: TCP would change the rate.
_PROPOSED_FOR: Final = {"cbr": "udp"}


@cache
def form_schema() -> dict[str, Any]:
    """Returns the JSON Schema of scenarios, with the ``transports`` of each application in the order in which a form
    proposes them."""
    found = schema()
    for variant in found["$defs"]["App"]["oneOf"]:
        if "properties" in variant:
            order = [_PROPOSED_FOR.get(variant["properties"]["kind"]["const"]), *_PROPOSED]
            order += [kind for kind in variant["transports"] if kind not in order]
            variant["transports"].sort(key=order.index)
    return found
