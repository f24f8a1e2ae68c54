"""The target of a live network: its scenario, its hosts, the host in which the command runs, and
the host that provides Internet access."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bentpipe import _native
from bentpipe.errors import InputError, unknown
from bentpipe.profiles import profiles
from bentpipe.scenario.scenarios import Scenario, ScenarioText, load
from bentpipe.scenario.starters import ends, preset_named


@dataclass(frozen=True)
class Target:
    """The description of a network to bring up."""

    #: The name of the preset or profile, or the name of the scenario file without its ending.
    label: str
    scenario: Scenario
    #: The nodes at which programs can run.
    hosts: list[str]
    #: The host in which the command runs.
    near: str
    #: The host that is connected to the machine's own network for Internet access.
    far: str
    #: Maximum packet size of the hosts' interfaces, in bytes.
    mtu: int = 1500


def target(argument: str, overrides: Sequence[str] = (), host: str | None = None, mtu: int = 1500) -> Target:
    """Returns the target for ``argument``, which is the name of a profile, the name of a preset, an
    unambiguous prefix of such a name, or the path of a scenario file.

    ``host`` is the node at which the command runs. By default it is the first of these that exists:
    the source of the first flow, the first station of a Wi-Fi network, the beginning of the first
    link, or the first terminal. The other end provides Internet access.
    """
    profile = profiles().get(argument)
    preset = None if profile is not None or _is_file_name(argument) else _preset(argument)
    if profile is not None:
        scenario = load(ScenarioText(profile.scenario_text, f"profile {argument}"), overrides)
    elif preset is not None:
        # The keys ``name`` and ``duration`` are required, but have no effect on a live network.
        scenario = load({"name": preset, "duration": "1 h", "preset": preset}, overrides)
    else:
        scenario = load(argument, overrides)
    if host is not None and host not in scenario.nodes:
        raise unknown("host", host, scenario.nodes, argument)
    # A group of flows begins at the first of its nodes.
    origin, destination = ends(scenario.data | ({"flow": scenario.flows} if scenario.flows else {}))
    near = host or origin
    far = destination if near != destination else origin
    simulated = _simulated_nodes(scenario) - {near, far}
    hosts = [node for node in scenario.nodes if node not in simulated]
    return Target(preset or Path(argument).stem, scenario, hosts, near, far, mtu)


def elsewhere(target: Target, arguments: Sequence[str]) -> dict[str, str]:
    """Returns the addresses of hosts on other machines by name. Each argument is
    ``NAME=ADDRESS``."""
    addresses: dict[str, str] = {}
    for argument in arguments:
        name, equals, address = argument.partition("=")
        if not equals or not address:
            raise InputError(f'"{argument}" is not a host and its address; allowed: NAME=ADDRESS')
        if name not in target.hosts:
            raise unknown("host", name, target.hosts, target.label)
        if name == target.near:
            raise InputError(
                f"your programs run in {name}, so {name} must be on this machine; only other hosts can be "
                "on other machines"
            )
        addresses[name] = address
    return addresses


def _is_file_name(argument: str) -> bool:
    return "/" in argument or argument.endswith(".toml")


def _preset(argument: str) -> str | None:
    try:
        return preset_named(argument)
    except InputError:
        if Path(argument).is_file():
            return None
        names = [name for name, _, _ in _native.presets()]
        if any(argument and name.startswith(argument) for name in names):
            raise
        raise unknown("preset, profile or scenario file", argument, [*names, *profiles()]) from None


def _simulated_nodes(scenario: Scenario) -> set[str]:
    """Returns the nodes at which only simulated flows end. These nodes need no host."""
    flows = scenario.flows
    simulated = {flow[end] for flow in flows if flow.get("endpoints") == "model" for end in ("from", "to")}
    real = {flow[end] for flow in flows if flow.get("endpoints") != "model" for end in ("from", "to")}
    return simulated - real
