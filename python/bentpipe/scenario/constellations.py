"""Positions, links and paths of a constellation at selected times, computed by the engine as in a
run."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from bentpipe import _native
from bentpipe.errors import InputError

from .scenarios import Overrides, Scenario, ScenarioLike, load


@dataclass(frozen=True)
class Constellation:
    """A constellation of a scenario at several times.

    ``satellites`` are names, ``links`` the pairs of satellites with possible links, ``sites``
    dictionaries with name, latitude, longitude (deg), mask (deg) and earth-fixed position (m), and
    ``flows`` the flows between two of its sites. Each of ``frames`` has the time (s), the
    earth-fixed positions of all satellites (m), the indices of the links that are up, the
    satellites that serve each site, and the path of each flow (satellites and delay in s, or None).
    """

    network: str
    epoch: str
    satellites: list[str]
    links: list[tuple[int, int]]
    sites: list[dict[str, Any]]
    flows: list[dict[str, Any]]
    frames: list[dict[str, Any]]


def constellation(
    scenario: ScenarioLike,
    times: Sequence[float],
    *,
    network: str | None = None,
    overrides: Overrides = (),
) -> Constellation:
    """Returns the state of a scenario's constellation at ``times``, in seconds and in ascending
    order.

    ``network`` selects a constellation if the scenario has several. Raises
    :class:`bentpipe.InputError` if it has none.
    """
    resolved = load(scenario, overrides)
    name = _named(resolved, network)
    answer = json.loads(_native.constellation(resolved.native, name, list(times)))
    return Constellation(network=name, **answer)


def forwarding(
    scenario: ScenarioLike,
    times: Sequence[float],
    *,
    network: str | None = None,
    overrides: Overrides = (),
) -> str:
    """Returns the forwarding state at ``times``, in seconds and in ascending order: one line per
    site and satellite.

    ``diff`` compares two states. A scenario can read this text, with or without changes, from
    ``routing.forwarding = { file = "NAME" }``.
    """
    resolved = load(scenario, overrides)
    return _native.forwarding(resolved.native, _named(resolved, network), list(times))


def _named(scenario: Scenario, network: str | None) -> str:
    """Returns the name of the constellation: ``network``, or the only one of the scenario."""
    networks = scenario.data.get("network", {})
    names = [name for name, config in networks.items() if config["kind"] == "constellation"]
    if network is None:
        if len(names) != 1:
            found = f"{len(names)} ({', '.join(names)})" if names else "none"
            raise InputError(
                f"constellations in the scenario: {found}; allowed: exactly one, or the name of one"
            )
        return str(names[0])
    if network not in names:
        raise InputError(
            f'"{network}" is not a constellation of the scenario; allowed: {", ".join(names) or "none"}'
        )
    return network
