"""Reasons why an instrument cannot run: missing features of the machine, and features of a scenario
that the instrument does not support.

The executor may run as another user than the web process, with its own kernel and privileges. It
therefore examines the machine and writes the reasons into the data folder. The web process reads
them.
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

from .paths import without_paths
from .refused import Refused
from .rules import INSTRUMENTS, Cost, check_cost
from .settings import Settings

#: Instruments whose flows use the TCP of a real kernel.
REAL_TCP: Final = ("kernel", "emulate")
REAL_TIME_DISABLED: Final = (
    "emulation in real time is disabled on this test bed; its administrator can enable it with --real-time"
)
NO_KERNEL: Final = (
    "this test bed has no kernel for virtual time; its administrator can build one with "
    "`bentpipe machine kernel build`, as the user of the executor"
)
OUTDATED_KERNEL: Final = (
    "the kernels of this test bed are for another processor or another version of bentpipe; its administrator can "
    "build one with `bentpipe machine kernel build`, as the user of the executor"
)


def without_real_time(settings: Settings) -> dict[str, str]:
    """Returns the reason if emulation in real time is enabled, but this machine or user cannot
    emulate. The result is empty otherwise."""
    if not settings.real_time:
        return {}
    lacking = [
        f"{one['what']}: {one['found']}" + (f" ({one['remedy']})" if one["remedy"] else "")
        for one in json.loads(_native.examine())["findings"]
        if one["needed"] and one["status"] == "missing"
    ]
    return {"emulate": f"this machine cannot emulate in real time: {'; '.join(lacking)}"} if lacking else {}


def without_kernel() -> dict[str, str]:
    """Returns the reason if there is no kernel for virtual time; empty otherwise."""
    try:
        current()
    except InputError:
        return {"kernel": OUTDATED_KERNEL if kernels() else NO_KERNEL}
    return {}


def checks(settings: Settings) -> list[dict[str, Any]]:
    """Returns the findings of `bentpipe machine doctor` about the executor's machine, without paths
    of the machine. Each has the keys ``what``, ``status`` ("ok", "limited" or "missing"),
    ``needed`` (for emulation in real time) and ``found``."""
    keys = ("what", "status", "needed", "found")
    findings = [{key: one[key] for key in keys} for one in json.loads(_native.examine())["findings"]]
    return [one | {"found": without_paths(one["found"], settings.data)} for one in findings]


def write_checks(settings: Settings) -> None:
    """Writes the findings about this machine to the file that the web process reads."""
    unfinished = settings.checks.with_suffix(".new")
    unfinished.write_text(json.dumps(checks(settings)), encoding="utf-8")
    unfinished.replace(settings.checks)


def checks_of_machine(settings: Settings) -> list[dict[str, Any]]:
    """Returns the findings about the executor's machine; empty before the executor has examined
    it."""
    try:
        found: list[dict[str, Any]] = json.loads(settings.checks.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return []
    return found


def write(settings: Settings, reasons: Mapping[str, str]) -> None:
    """Writes the reasons of this machine to the file that the web process reads."""
    unfinished = settings.instruments.with_suffix(".new")
    unfinished.write_text(json.dumps(reasons), encoding="utf-8")
    unfinished.replace(settings.instruments)


def of_machine(settings: Settings) -> dict[str, str]:
    """Returns the instruments that the test bed's machine cannot run, with the reason. Before the
    executor has examined the machine, only instruments that the administrator has disabled are
    listed."""
    try:
        found: dict[str, str] = json.loads(settings.instruments.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        found = {}
    return found if settings.real_time else found | {"emulate": REAL_TIME_DISABLED}


def of_scenario(scenario: Scenario, instrument: str) -> str | None:
    """Returns the reason if an instrument cannot run a scenario, otherwise None. Examples are a
    simulated proxy between hosts with real TCP, and a congestion control of Linux in a
    simulation."""
    try:
        if instrument in REAL_TCP:
            scenario.native.check_emulated()
        else:
            scenario.native.check_simulated()
    except ScenarioError as error:
        return "; ".join(dict.fromkeys(_sentence(one) for one in error.problems))
    return None


def _sentence(problem: Mapping[str, Any]) -> str:
    """Formats a problem for the page, where remedies refer to instruments, not to commands."""
    text = f"{problem['path']} {problem['message']}"
    allowed = [one for one in problem["allowed"] if "bentpipe" not in one]
    if len(allowed) < len(problem["allowed"]):
        return f'{text}: choose simulate, or give these flows endpoints = "model"'
    text = re.sub("needs `bentpipe emulate`", "needs the instrument kernel or emulate", text)
    return f"{text}; allowed: {', '.join(allowed)}" if allowed else text


def check(instrument: str, scenario: Scenario, machine: Mapping[str, str]) -> None:
    """Checks that an instrument can run a scenario on this machine. Raises :class:`Refused`."""
    reason = machine.get(instrument) or of_scenario(scenario, instrument)
    if reason is not None:
        raise Refused(409, f"{instrument}: {reason}")


def impossible(scenario: Scenario, wanted: Cost, level: str, machine: Mapping[str, str]) -> dict[str, str]:
    """Returns the instruments that a user of a level cannot launch with a scenario, with the
    reason."""
    found = {}
    for instrument in INSTRUMENTS:
        try:
            check_cost(wanted, instrument, level)
            check(instrument, scenario, machine)
        except Refused as refused:
            found[instrument] = str(refused).removeprefix(f"{instrument}: ")
    return found
