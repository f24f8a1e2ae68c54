"""Plans: the points of a campaign with the expected cost of their runs, before the launch."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from bentpipe._native import ScenarioError
from bentpipe.campaign.variants import number_of, variations
from bentpipe.scenario.facts import facts

from .drafts import varying
from .queue import expected_seconds
from .refused import Refused
from .rules import check_cost, cost, read

#: Maximum number of points of a plan; more than a page can show.
MAX_POINTS: Final = 200
#: Time limit for the cost of all points, in seconds. Later points have no cost.
TIME_LIMIT_S: Final = 5.0


@dataclass(frozen=True)
class Point:
    """A combination of the varied values, with the predicted ``events`` of a run and the expected
    ``seconds`` of all its runs. Both are None if they were not computed, or the point is refused
    for the reason in ``refused``."""

    values: list[str]
    events: float | None
    seconds: float | None
    refused: str | None


@dataclass(frozen=True)
class Plan:
    """The points of a campaign: the first :data:`MAX_POINTS` of ``count`` points, which consist of
    ``runs`` runs. ``seconds`` is the expected time of all runs, one after the other; None if no
    point can run."""

    keys: list[str]
    replications: int
    count: int
    runs: int
    seconds: float | None
    points: list[Point]


def plan(text: str, level: str, instruments: Sequence[str], rates: Mapping[str, float]) -> Plan:
    """Returns the plan of a launch with some instruments. ``rates`` are events per second by
    instrument. Raises :class:`Refused` and :class:`bentpipe.ScenarioError`."""
    loaded = read(text, level)
    campaign: Mapping[str, Any] = loaded.campaign or {}
    replications = int(campaign.get("replications", 1))
    count = number_of(campaign)
    # The list of all points may be too large for the memory.
    sets = variations(campaign) if count <= 10 * MAX_POINTS else []
    if not sets:
        raise Refused(422, f"the campaign has {count} points; at most {10 * MAX_POINTS} can be planned")
    keys = list(sets[0].values)
    until = time.monotonic() + TIME_LIMIT_S
    points = []
    for one in sets[:MAX_POINTS]:
        values = [one.values[key].strip('"') for key in keys]
        if time.monotonic() > until:
            points.append(Point(values, None, None, None))
            continue
        try:
            varied = read(text, level, varying(one.overrides)) if one.values else loaded
            wanted = cost(varied.data, facts(varied))
            for instrument in instruments:
                check_cost(wanted, instrument, level)
        except (ScenarioError, Refused) as error:
            points.append(Point(values, None, None, str(error)))
            continue
        needs = [(instrument, None, wanted.seconds, wanted.events) for instrument in instruments]
        seconds = replications * sum(expected_seconds(one, rates) for one in needs)
        points.append(Point(values, wanted.events, seconds, None))
    known = [one.seconds for one in points if one.seconds is not None]
    return Plan(
        keys=keys,
        replications=replications,
        count=count,
        runs=count * replications * len(instruments),
        seconds=sum(known) / len(known) * count if known else None,
        points=points,
    )
