"""Reasons why an instrument cannot run: of the machine, which the executor examines, and of a scenario.

The executor may be another user than the web process, with a kernel and privileges of its own. It therefore writes
what its machine lacks into the folder of the data, and the web process reads that.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Final

from bentpipe import _native
from bentpipe._native import ScenarioError
from bentpipe.errors import InputError
from bentpipe.guest import current, kernels
from bentpipe.scenario.scenarios import Scenario

from .refused import Refused
from .rules import INSTRUMENTS, Cost, check_cost
from .settings import Settings

#: Instruments whose flows use the TCP of a real kernel.
REAL: Final = ("kernel", "emulate")
OFF: Final = "this test bed does not emulate in real time; its administrator starts it with --real-time"
UNBUILT: Final = (
    "this test bed has no kernel for virtual time; its administrator builds one with `bentpipe kernel build`, as the "
    "user of the executor"
)
OUTDATED: Final = (
    "the kernels of this test bed are of another processor or another version of bentpipe; its administrator builds "
    "one with `bentpipe kernel build`, as the user of the executor"
)


def without_real_time(settings: Settings) -> dict[str, str]:
    """Returns the reason why this machine and this user cannot emulate in real time, if they are to and cannot."""
    if not settings.real_time:
        return {}
    lacking = [
        f"{one['what']}: {one['found']}" + (f" ({one['remedy']})" if one["remedy"] else "")
        for one in json.loads(_native.examine())["findings"]
        if one["needed"] and one["status"] == "missing"
    ]
    return {"emulate": f"this machine cannot emulate in real time: {'; '.join(lacking)}"} if lacking else {}


def without_kernel() -> dict[str, str]:
    """Returns the reason why there is no kernel for virtual time, if there is none."""
    try:
        current()
    except InputError:
        return {"kernel": OUTDATED if kernels() else UNBUILT}
    return {}


def write(settings: Settings, reasons: Mapping[str, str]) -> None:
    """Write the reasons of this machine for the web process."""
    unfinished = settings.instruments.with_suffix(".new")
    unfinished.write_text(json.dumps(reasons), encoding="utf-8")
    unfinished.replace(settings.instruments)


def of_machine(settings: Settings) -> dict[str, str]:
    """Returns the instruments that the test bed's machine cannot run, with the reason. Before the executor has
    examined the machine, all but those that the administrator has turned off count as possible."""
    try:
        found: dict[str, str] = json.loads(settings.instruments.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        found = {}
    return found if settings.real_time else found | {"emulate": OFF}


def of_scenario(scenario: Scenario, instrument: str) -> str | None:
    """Returns the reason why an instrument cannot run a scenario, such as a simulated proxy for hosts with real TCP, or
    a congestion control of the Linux kernel for a simulation."""
    try:
        if instrument in REAL:
            scenario.native.check_emulated()
        else:
            scenario.native.check_simulated()
    except ScenarioError as error:
        return "; ".join(dict.fromkeys(_sentence(one) for one in error.problems))
    return None


def _sentence(problem: Mapping[str, Any]) -> str:
    """Returns a problem in terms of the page: remedies of the command line are replaced."""
    text = f"{problem['path']} {problem['message']}"
    allowed = [one for one in problem["allowed"] if "bentpipe" not in one]
    if len(allowed) < len(problem["allowed"]):
        return f'{text}: choose simulate, or give these flows endpoints = "model"'
    text = re.sub("needs `bentpipe emulate`", "needs the instrument kernel or emulate", text)
    return f"{text}; allowed: {', '.join(allowed)}" if allowed else text


def check(instrument: str, scenario: Scenario, machine: Mapping[str, str]) -> None:
    """Refuse an instrument that cannot run, or not this scenario. Raises :class:`Refused`."""
    reason = machine.get(instrument) or of_scenario(scenario, instrument)
    if reason is not None:
        raise Refused(409, f"{instrument}: {reason}")


def impossible(scenario: Scenario, wanted: Cost, level: str, machine: Mapping[str, str]) -> dict[str, str]:
    """Returns the instruments that a user of a level cannot launch with a scenario, with the reason."""
    found = {}
    for instrument in INSTRUMENTS:
        try:
            check_cost(wanted, instrument, level)
            check(instrument, scenario, machine)
        except Refused as refused:
            found[instrument] = str(refused).removeprefix(f"{instrument}: ")
    return found
