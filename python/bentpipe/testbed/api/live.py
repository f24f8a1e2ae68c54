"""Runs over time: the stream of events, rows of traces, manual changes, regions and marks."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Query, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, Field
from sqlalchemy import func, select

from bentpipe.testbed import live, tables
from bentpipe.testbed.accounts import Caller, record_action
from bentpipe.testbed.drafts import with_changes
from bentpipe.testbed.marks import marks_of
from bentpipe.testbed.networks import network_of
from bentpipe.testbed.refused import Refused
from bentpipe.testbed.regions import ManualChange, of_folder, of_live
from bentpipe.testbed.regions import Region as Found
from bentpipe.testbed.rules import check_change
from bentpipe.testbed.store import Store
from bentpipe.testbed.tables import ACTIVE, FINAL, Change

from .callers import AnyCaller, CurrentSettings, Database, UserOrAbove
from .configurations import Fork, Full, add
from .drafts import scenarios
from .events import Broadcast, WatchedRun
from .results import LATEST_S, folder_of
from .runs import own_run, readable_run
from .sessions import Strict

router = APIRouter(tags=["live"])

#: Maximum number of manual changes of a run.
MAX_CHANGES = 1000


class Wanted(Strict):
    """A change of a run in progress: a key path of the scenario, and its new value as in an
    override of the command line."""

    key: Annotated[str, Field(min_length=1, max_length=200)]
    value: Annotated[str, Field(min_length=1, max_length=500)]


class Changed(BaseModel):
    """A manual change. ``done`` is the time of the change in seconds of the run, and ``refused``
    the reason of a refusal; both are null until the run has answered."""

    id: int
    user: str
    at: float
    key: str
    value: str
    done: float | None
    refused: str | None


class Region(BaseModel):
    """A time range of a run with one serving satellite of a site, one link of a multilink, or one
    value of a changed key. Times are seconds of the run; an open end is null."""

    kind: str
    of: str
    label: str
    start: float
    end: float | None


class TimelineMark(BaseModel):
    """A mark of a run over time, from ``start`` to ``end`` in seconds of the run (null for a
    moment). ``count`` is the number of losses, retransmissions or time-outs that it represents."""

    kind: Literal["loss", "retransmission", "timeout", "handover", "change", "manual", "fade", "outage"]
    label: str
    start: float
    end: float | None
    count: int


class PictureNode(BaseModel):
    """A node of the picture of a network, and the path of its part in the scenario."""

    id: str
    label: str
    kind: Literal["host", "router", "proxy", "network", "group"]
    path: list[str]


class PictureEdge(BaseModel):
    """An edge of the picture of a network, between two nodes, and the path of its part in the
    scenario."""

    id: str
    from_: Annotated[str, Field(alias="from")]
    to: str
    label: str
    path: list[str]


class PathHop(BaseModel):
    """A hop of a flow: the ``part`` of the network, with the rate in bit/s and the limits of the
    queue (null for no limit), as the trace `link` names it."""

    part: str
    network: str
    from_: Annotated[str, Field(alias="from")]
    to: str
    rate: float
    queue_packets: int | None
    queue_bytes: int | None


class FlowPath(BaseModel):
    """The path of a flow to its destination and back."""

    name: str
    there: list[PathHop]
    back: list[PathHop]


class RunNetwork(BaseModel):
    """The picture of a run's network, with the paths of up to 24 flows. Networks of more than 200
    nodes have no picture."""

    nodes: list[PictureNode]
    edges: list[PictureEdge]
    flows: list[FlowPath]


@router.get("/events")
async def events(
    request: Request,
    who: AnyCaller,
    store: Database,
    settings: CurrentSettings,
    run: Annotated[str, Query(max_length=32)] = "",
) -> StreamingResponse:
    """Streams the caller's runs: server-sent events ``run`` with
    ``{"run", "state", "progress", "reason"}``, and events ``rows`` with rows of the traces of the
    given run. A browser tab needs only one stream. After a broken connection, Last-Event-ID
    continues the events, and the rows restart from the beginning."""
    broadcast: Broadcast = request.app.state.broadcast
    watched = None
    if run:
        with store.reading() as rows:
            row = readable_run(rows, run, who)
        watched = WatchedRun(row.id, live.live_file(settings.folder(row.owner_id, row.id)))
    last = request.headers.get("last-event-id", "")
    number = int(last) if last.isascii() and last.isdigit() and len(last) < 10 else None
    stream = broadcast.follow(who, number, watched)
    return StreamingResponse(stream, media_type="text/event-stream", headers={"X-Accel-Buffering": "no"})


@router.post("/runs/{run}/changes", status_code=201)
def change(run: str, given: Wanted, who: UserOrAbove, store: Database) -> Changed:
    """Changes a key of a run in progress. The reference marks the keys of links and networks that
    can be changed during a run. The run answers within a second."""
    check_change(given.key, given.value)
    with store.writing() as rows:
        row = own_run(rows, run, who)
        if row.state not in ACTIVE:
            raise Refused(
                409,
                "the run has ended"
                if row.state in FINAL
                else "the run has not started; change its configuration",
            )
        if row.instrument in ("kernel", "study"):
            raise Refused(
                409, "studies, and runs with real kernels in virtual time, cannot be changed during the run"
            )
        count = rows.scalar(select(func.count()).where(Change.run_number == row.number)) or 0
        if count >= MAX_CHANGES:
            raise Refused(409, f"the run was already changed {MAX_CHANGES} times, the maximum")
        made = Change(run_number=row.number, user=who.name, key=given.key, value=given.value)
        rows.add(made)
        record_action(rows, who, "change run", f"{row.name} {row.number}: {given.key} = {given.value}")
        rows.flush()
        return Changed.model_validate(made, from_attributes=True)


@router.get("/runs/{run}/changes")
def changes(run: str, who: AnyCaller, store: Database) -> list[Changed]:
    """Returns the manual changes of a run."""
    with store.reading() as rows:
        row = readable_run(rows, run, who)
        found = rows.scalars(select(Change).where(Change.run_number == row.number).order_by(Change.id))
        return [Changed.model_validate(one, from_attributes=True) for one in found]


@router.post("/runs/{run}/configuration", status_code=201)
def repeat(run: str, given: Fork, who: UserOrAbove, store: Database) -> Full:
    """Saves the scenario of a run, with its manual changes, as a new configuration. A launch of the
    configuration repeats the run."""
    with store.writing() as rows:
        row = readable_run(rows, run, who)
        if row.instrument == "study":
            raise Refused(409, "a study cannot be saved as a configuration; launch it again instead")
        made = [
            one
            for one in rows.scalars(select(Change).where(Change.run_number == row.number).order_by(Change.id))
            if one.done is not None
        ]
        text = with_changes(row.scenario, [(one.done or 0.0, one.key, one.value) for one in made])
        found = add(rows, who, given.name, text)
        record_action(rows, who, "save configuration", f"{given.name}, of run {row.number}")
        return found


@router.get("/runs/{run}/regions")
def regions(run: str, who: AnyCaller, store: Database, settings: CurrentSettings) -> list[Region]:
    """Returns the regions of a run, also while it is in progress."""
    with store.reading() as rows:
        row = readable_run(rows, run, who)
    made = _made(store, row)
    folder = settings.folder(row.owner_id, row.id)
    found: list[Found]
    if row.state in FINAL and (folder / "provenance.json").is_file():
        found = of_folder(row.scenario, made, folder)
    else:
        found = of_live(row.scenario, made, live.read_all(live.live_file(folder)))
    return [Region.model_validate(one, from_attributes=True) for one in found]


@router.get("/runs/{run}/marks")
def marks(
    run: str,
    who: AnyCaller,
    store: Database,
    settings: CurrentSettings,
    start: Annotated[float, Query(alias="from", ge=0, le=LATEST_S)] = 0.0,
    end: Annotated[float, Query(alias="to", ge=0, le=LATEST_S)] = LATEST_S,
) -> list[TimelineMark]:
    """Returns the losses, handovers, changes, fades and outages of a run that has ended, between
    the times ``from`` and ``to`` in seconds. Losses are counted in 240 equal intervals of the
    range, so a shorter range separates them."""
    if start >= end:
        raise Refused(422, f"from = {start:g} is not before to = {end:g}")
    row, folder = folder_of(store, settings, run, who)
    found = marks_of(row.scenario, _made(store, row), folder, start, end)
    return [TimelineMark.model_validate(one, from_attributes=True) for one in found]


@router.get("/runs/{run}/network")
async def network(run: str, who: AnyCaller, store: Database) -> RunNetwork:
    """Returns the network of a run with the paths of its flows."""
    row = await run_in_threadpool(_readable, store, run, who)
    return RunNetwork.model_validate(await scenarios.run(who.id, network_of, row.scenario))


def _readable(store: Store, run: str, who: Caller) -> tables.Run:
    with store.reading() as rows:
        row = readable_run(rows, run, who)
    if row.instrument == "study":
        raise Refused(409, "a study has no network of its own")
    return row


def _made(store: Store, row: tables.Run) -> list[ManualChange]:
    """Returns the manual changes that a run has made."""
    with store.reading() as rows:
        found = rows.scalars(select(Change).where(Change.run_number == row.number).order_by(Change.id))
        return [(one.done, one.key, one.value) for one in found if one.done is not None]
