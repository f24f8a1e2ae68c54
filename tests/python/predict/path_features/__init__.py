"""Every key of a scenario that can affect a path, with a small scenario that uses it: a module per
layer.

A row has its covered keys, the settings over its base, and the word that the note must contain.
Without a word, the prediction must be within 10 % of the simulation. Keys are paths in the schema,
including the kinds of variants. A part that is defined in one place and used in several is listed
once, at its first occurrence in the schema.
"""

from __future__ import annotations

from typing import Final

from . import (
    applications,
    atm,
    constellation,
    deep_space,
    dvb_rcs,
    edges,
    errors,
    framings,
    handovers,
    links,
    queues,
    services,
    skyplex,
    transports,
    wifi,
)
from .base import Row

__all__ = ["ELSEWHERE", "NOT_NETWORK", "ROWS", "Row"]

ROWS: Final[tuple[Row, ...]] = tuple(
    row
    for layer in (
        links,
        errors,
        framings,
        queues,
        handovers,
        edges,
        applications,
        transports,
        services,
        dvb_rcs,
        skyplex,
        atm,
        wifi,
        constellation,
        deep_space,
    )
    for row in layer.ROWS
)

#: Keys of groups.
_GROUPS: Final = (
    "flow.count",
    "flow.group",
    "flow.starts",
    *(
        f"flow.starts.{name}"
        for name in ("even", "even.over", "uniform", "uniform.over", "poisson", "poisson.mean")
    ),
    "link.count",
    "network.constellation.sites.count",
    "network.constellation.sites.spread",
)

#: Keys that cannot change a path's goodput, or that no small scenario can have, each with the
#: reason.
ELSEWHERE: Final[dict[str, str]] = {
    **dict.fromkeys(
        _GROUPS, "a group is expanded into members before anything reads its path (test_groups.py)"
    ),
    "flow.app.command": "a program of the machine's, which is not simulated",
    "flow.app.command.run": "a program of the machine's, which is not simulated",
    "flow.app.command.serve": "a program of the machine's, which is not simulated",
    **dict.fromkeys(
        ("network.wifi.stack", "network.wifi.stack.model", "network.wifi.stack.linux"),
        "whose Wi-Fi carries the frames in an emulation; only the model is simulated",
    ),
    "flow.endpoints": "who stands at the ends of an emulation",
    "flow.endpoints.kernel": "who stands at the ends of an emulation",
    "flow.endpoints.model": "who stands at the ends of an emulation",
    "link.return.trace.samples.file": "the same samples in a file",
    "link.error.trace.outcomes.file": "the same outcomes in a file",
    "link.contacts.when.plan.plan.file": "the same plan in a file",
    "link.acm.budget.file": "the same budget in a file",
    "network.bundles.plan.file": "the same plan in a file",
    "link.contacts.when.plan.skip_impossible": "contacts that do not end after their start, which carry nothing",
    "network.bundles.skip_impossible": "contacts that do not end after their start, which carry nothing",
    "flow.app.bundles.series.file": "the same series in a file",
    "flow.transport.quic.congestion.file": "source that may do anything (test_prototypes.py)",
    "flow.transport.tcp.congestion.file": "source that may do anything (test_prototypes.py)",
    "multilink.policy.signal.samples.file": "the same samples in a file",
    "network.constellation.routing.forwarding": "the paths of a file, which facts follow as a run does (View)",
    "network.constellation.routing.forwarding.file": "the paths of a file, which facts follow as a run does (View)",
    "network.constellation.shell.elements": "satellites of a file, which move as those of the other shells",
    "network.constellation.shell.elements.elements": "satellites of a file, which move as those of the other shells",
    "network.constellation.shell.elements.elements.file": "satellites of a file",
}
#: Parts of a scenario that do not describe its network.
NOT_NETWORK: Final = {"name", "description", "duration", "seed", "preset", "record", "fidelity", "campaign"}
