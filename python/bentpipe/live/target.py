"""The target of a live network: its scenario, its hosts, and the hosts of the command and of the
Internet access."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bentpipe.errors import InputError, unknown
from bentpipe.scenario.scenarios import Scenario, load
from bentpipe.scenario.starters import ends, preset_named


@dataclass(frozen=True)
class Target:
    """The description of a network to bring up.

    ``label`` is the user's name for it. ``hosts`` are the nodes at which programs run. ``near`` is
    the host of the command, and ``far`` the host that is connected to the machine's own network.
    ``mtu`` is the maximum packet size of the hosts' interfaces in bytes.
    """

    label: str
    scenario: Scenario
    hosts: list[str]
    near: str
    far: str
    mtu: int = 1500


def target(argument: str, overrides: Sequence[str] = (), host: str | None = None, mtu: int = 1500) -> Target:
    """Returns the target that ``argument`` names: a preset by its name or an unambiguous prefix, or
    else a scenario file.

    ``host`` is the node at which the command runs, by default the source of the first flow, or the
    first station of a Wi-Fi network, or the beginning of the first link, or the first terminal. The
    other end provides Internet access.
    """
    preset = None if _is_file_name(argument) else _preset(argument)
    if preset is not None:
        # The other required keys have no effect on a live network, so any value will do.
        scenario = load({"name": preset, "duration": "1 h", "preset": preset}, overrides)
    else:
        scenario = load(argument, overrides)
    if host is not None and host not in scenario.nodes:
        raise unknown("host", host, scenario.nodes, argument)
    origin, destination = ends(scenario.data)
    near = host or origin
    far = destination if near != destination else origin
    simulated = _simulated_nodes(scenario) - {near, far}
    hosts = [node for node in scenario.nodes if node not in simulated]
    return Target(preset or Path(argument).stem, scenario, hosts, near, far, mtu)


def elsewhere(target: Target, places: Sequence[str]) -> dict[str, str]:
    """Returns the addresses of hosts on other machines by name, from ``NAME=ADDRESS`` each."""
    found: dict[str, str] = {}
    for place in places:
        name, equals, address = place.partition("=")
        if not equals or not address:
            raise InputError(f'"{place}" is not a host and its address; allowed: NAME=ADDRESS')
        if name not in target.hosts:
            raise unknown("host", name, target.hosts, target.label)
        if name == target.near:
            raise InputError(
                f"your programs run in {name}, so {name} must be on this machine; only other hosts can be "
                "on other machines"
            )
        found[name] = address
    return found


def _is_file_name(argument: str) -> bool:
    return "/" in argument or argument.endswith(".toml")


def _preset(argument: str) -> str | None:
    try:
        return preset_named(argument, "preset or scenario file")
    except InputError:
        if Path(argument).is_file():
            return None
        raise


def _simulated_nodes(scenario: Scenario) -> set[str]:
    """Returns the nodes at which only simulated flows end. These nodes need no host."""
    flows = scenario.flows
    simulated = {flow[end] for flow in flows if flow.get("endpoints") == "model" for end in ("from", "to")}
    real = {flow[end] for flow in flows if flow.get("endpoints") != "model" for end in ("from", "to")}
    return simulated - real
