"""The network of a run as a picture with the paths of its flows, for values over time."""

from __future__ import annotations

from typing import Any, Final

from bentpipe.scenario.facts import Hop, facts
from bentpipe.scenario.scenarios import ScenarioText, load

#: Maximum number of flows with paths; more than a picture can show.
MAX_FLOWS: Final = 24
#: Maximum number of nodes of a picture.
MAX_NODES: Final = 200


def network_of(text: str) -> dict[str, Any]:
    """Returns the picture of a scenario, and the hops of its flows in both directions. Scenarios
    with more than :data:`MAX_NODES` nodes have no picture."""
    loaded = load(ScenarioText(text, "scenario"))
    picture = loaded.picture
    if len(picture["nodes"]) > MAX_NODES:
        return {"nodes": [], "edges": [], "flows": []}
    return {
        "nodes": picture["nodes"],
        "edges": picture["edges"],
        "flows": [
            {
                "name": flow["name"],
                "there": [_hop(hop) for hop in flow["there"] or []],
                "back": [_hop(hop) for hop in flow["back"] or []],
            }
            for flow in facts(loaded)["flows"][:MAX_FLOWS]
        ],
    }


def _hop(hop: Hop) -> dict[str, Any]:
    return {
        "part": hop["part"],
        "network": hop["network"],
        "from": hop["from"],
        "to": hop["to"],
        "rate": hop["rate_bit_s"]["mean"],
        "queue_packets": hop["queue"]["packets"],
        "queue_bytes": hop["queue"]["bytes"],
    }
