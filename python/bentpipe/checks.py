"""The problems of a scenario and of its campaign."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import _native
from .campaign.plan import Plan, plan
from .errors import InputError
from .scenario.scenarios import Overrides, Scenario, ScenarioLike, load, source_and_text

if TYPE_CHECKING:
    from ._native import Problem


def check(scenario: ScenarioLike, overrides: Overrides = ()) -> list[Problem]:
    """Returns the problems of a scenario and of every variant of its campaign: one dictionary per
    problem (file, line, column, path, value, message, allowed, nearest), none if it is valid.

    >>> for problem in check("examples/dvb-rcs-upload.toml", ["duration=400 sec"]):
    ...     print(problem["path"], "=", problem["value"])
    duration = 400 sec
    """
    return examine(scenario, overrides)[0]


def examine(
    scenario: ScenarioLike, overrides: Overrides = ()
) -> tuple[list[Problem], Scenario | None, Plan | None]:
    """Returns the problems, the scenario if it is valid, and the plan of its campaign if that is
    valid."""
    loaded = None
    try:
        loaded = load(scenario, overrides)
        return [], loaded, check_campaign(loaded, scenario, overrides)
    except _native.ScenarioError as error:
        return error.problems, loaded, None
    except InputError as error:
        problem: Problem = {
            "file": source_and_text(scenario)[0] or "scenario",
            "line": None,
            "column": None,
            "path": "campaign",
            "value": None,
            "message": str(error).removeprefix("campaign: "),
            "allowed": [],
            "nearest": None,
        }
        return [problem], loaded, None


def check_campaign(loaded: Scenario, scenario: ScenarioLike, overrides: Overrides = ()) -> Plan | None:
    """Returns the plan of the campaign in ``loaded``, which was loaded from ``scenario``; None
    without a campaign. Raises what :func:`bentpipe.campaign.plan` raises."""
    return None if loaded.campaign is None else plan(scenario, overrides)
