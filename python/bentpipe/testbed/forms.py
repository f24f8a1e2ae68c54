"""The schema of scenarios for the forms of the page."""

from __future__ import annotations

from functools import cache
from typing import Any, Final

from bentpipe.scenario.scenarios import schema

from .key_groups import group_keys

#: Transports in order of preference. A form proposes the first that can carry the application.
_PROPOSED: Final = ("tcp", "udp", "sip")
#: Proposals for applications whose rate TCP would change.
_PROPOSED_FOR: Final = {"cbr": "udp"}


@cache
def form_schema() -> dict[str, Any]:
    """Returns the JSON Schema of scenarios, with the ``transports`` of each application in order of
    preference, and the place of each key in the forms (``order``, ``group``, ``common``)."""
    found = schema()
    for variant in found["$defs"]["App"]["oneOf"]:
        if "properties" in variant:
            order = [_PROPOSED_FOR.get(variant["properties"]["kind"]["const"]), *_PROPOSED]
            order += [kind for kind in variant["transports"] if kind not in order]
            variant["transports"].sort(key=order.index)
    group_keys(found)
    return found
