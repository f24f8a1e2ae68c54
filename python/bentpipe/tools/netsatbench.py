"""Exports a path to NetSatBench: a configuration of two nodes, and epoch files that change the link
between them."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from .course import Course, Step
from .shell import ON_ARRIVAL, OUTAGE, comments, netem_values

STEP_MS: Final = 1000
LOSSES: Final = (
    "A link has the same values in both directions: the rate, loss and queue to the client, the mean delay.",
)
CHANGING: Final = (
    OUTAGE,
    ON_ARRIVAL,
)
#: Start of the first epoch. NetSatBench counts the others from it.
START: Final = datetime(2026, 1, 1, tzinfo=UTC)
#: Names of nodes are shorter than 8 characters.
CLIENT: Final = "usr1"
SERVER: Final = "grd1"


def files(course: Course) -> dict[str, str]:
    """Returns ``sat-config.json``, the files of ``epochs``, and ``FIDELITY.txt``, since JSON has no
    comments."""
    found = {
        "sat-config.json": _json(_configuration()),
        "FIDELITY.txt": comments(
            course, (*LOSSES, f"{CLIENT} is the client, {SERVER} the server."), CHANGING, STEP_MS
        ),
    }
    for number, step in enumerate(course.steps(STEP_MS)):
        key = "links-update" if number else "links-add"
        time = (START + timedelta(milliseconds=step.at_ms)).strftime("%Y-%m-%dT%H:%M:%SZ")
        epoch = {"time": time, key: [_link(course, step)]}
        found[f"epochs/NetSatBench-epoch{number}.json"] = _json(epoch)
    return found


def _link(course: Course, step: Step) -> dict[str, Any]:
    (down_us, rate, loss), (up_us, _, _) = (
        netem_values(course.down, step.down),
        netem_values(course.up, step.up),
    )
    return {
        "endpoint1": CLIENT,
        "endpoint2": SERVER,
        "rate": f"{rate}kbit",
        "loss": float(loss),
        "delay": f"{(down_us + up_us) // 2}us",
        "limit": course.down.held_packets(step.down),
    }


def _configuration() -> dict[str, Any]:
    common = {
        "image": "msvcbench/sat-container:latest",
        "L3-config": {
            "enable-netem": True,
            "enable-routing": False,
            "auto-assign-ips": True,
            "auto-assign-super-cidr": [{"matchType": "any", "super-cidr": "172.100.0.0/16"}],
        },
    }
    return {
        "node-config-common": common,
        "epoch-config": {"epoch-dir": "epochs", "file-pattern": "NetSatBench-epoch*.json"},
        "nodes": {CLIENT: {"type": "user"}, SERVER: {"type": "gateway"}},
    }


def _json(document: dict[str, Any]) -> str:
    return json.dumps(document, indent=2) + "\n"
