"""Plans of campaigns: their points with the expected cost, before the launch."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter
from pydantic import BaseModel, Field

from bentpipe.testbed import plans, queue
from bentpipe.testbed.store import Store

from .callers import AnyCaller, Database
from .drafts import Draft, scenarios
from .filters import Instrument

router = APIRouter(tags=["drafts"])


class PlannedLaunch(Draft):
    """A scenario's text, and the instruments of a launch of its campaign."""

    instruments: Annotated[list[Instrument], Field(max_length=3)]


class PlannedPoint(BaseModel):
    """A point of a campaign: the varied ``values``, the predicted ``events`` of a run, and the
    expected ``seconds`` of all its runs. Both are null after the time limit, or if the point cannot
    run for the reason in ``refused``."""

    values: list[str]
    events: float | None
    seconds: float | None
    refused: str | None


class Plan(BaseModel):
    """The points of a campaign before its launch: up to 200 of ``count`` points, and the number of
    ``runs`` with replications and instruments. ``seconds`` is the expected time of all runs, one
    after the other."""

    keys: list[str]
    replications: int
    count: int
    runs: int
    seconds: float | None
    points: list[PlannedPoint]


@router.post("/drafts/points")
async def points(given: PlannedLaunch, who: AnyCaller, store: Database) -> Plan:
    """Returns the points of a scenario's campaign with their expected cost. Nothing is stored."""
    found = await scenarios.run(who.id, _planned, given, who.level, store)
    return Plan.model_validate(found, from_attributes=True)


def _planned(given: PlannedLaunch, level: str, store: Store) -> plans.Plan:
    chosen = list(dict.fromkeys(given.instruments))
    with store.reading() as rows:
        rates: dict[str, float] = {one: queue.rate(rows, one) for one in chosen if one in queue.DEFAULT_RATE}
    return plans.plan(given.text, level, chosen, rates)
