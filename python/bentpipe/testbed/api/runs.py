"""Runs: launch, lists, states, cancellation and removal."""

from __future__ import annotations

import shutil
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Annotated, Any, Final, Literal

from fastapi import APIRouter, Query
from fastapi.responses import Response
from pydantic import BaseModel, Field, TypeAdapter
from sqlalchemy import select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session as Transaction

from bentpipe.campaign.variants import number_of, variations
from bentpipe.scenario.facts import facts
from bentpipe.scenario.variation import Variation
from bentpipe.testbed import instruments, queue
from bentpipe.testbed.accounts import Caller, record_action
from bentpipe.testbed.drafts import varying
from bentpipe.testbed.executor import wake
from bentpipe.testbed.quotas import check_room
from bentpipe.testbed.refused import Refused
from bentpipe.testbed.rules import OF_LEVEL, check_cost, cost, read
from bentpipe.testbed.settings import Settings
from bentpipe.testbed.store import Store
from bentpipe.testbed.tables import ACTIVE, FINAL, Course, Run, User, identifier
from bentpipe.testbed.verdicts import verdict_of

from .callers import AnyCaller, CurrentSettings, Database, Number, UserOrAbove, owns, readable
from .configurations import Name, visible
from .courses import course_of
from .drafts import Text, scenarios
from .filters import Instrument, Listing, State, Tags, page_of, stored
from .sessions import Strict
from .verdicts import Fidelity

router = APIRouter(tags=["runs"])


def _simulate() -> list[Instrument]:
    return ["simulate"]


class Launch(Strict):
    """A launch of a configuration or of a scenario's text, with one run per instrument.
    ``campaign`` launches all variants and replications of the scenario's [campaign]. ``once`` is an
    identifier chosen by the client: a repeated launch with the same identifier returns the same
    runs. ``pace`` limits simulations to a number of simulated seconds per second, so that users can
    watch and change them."""

    configuration: Annotated[str, Field(max_length=32)] | None = None
    text: Text | None = None
    name: Name | None = None
    instruments: Annotated[list[Instrument], Field(min_length=1, max_length=3)] = Field(
        default_factory=_simulate
    )
    campaign: bool = False
    once: Annotated[str, Field(max_length=50)] | None = None
    pace: Annotated[float, Field(ge=0.001, le=1e6)] | None = None


class Entry(BaseModel):
    """A run. ``position`` is its position in the queue, from 1, and ``expected`` the time until its
    expected start, in seconds. ``fidelity`` is null for simulations, which are exact, and before
    the end of the run. ``changed`` is the number of manual changes, and ``events`` the predicted
    cost.

    The results are the sum of the flows' goodputs (bit/s) and time-outs, and the means of their
    round-trip times (s), one-way delays (s) and opinion scores. They are null before the end of the
    run, and if no flow has them. ``bytes`` is the size of the run's files. ``course`` is the name
    of the course with which the run is shared."""

    id: str
    number: int
    name: str
    label: str
    owner: str
    mine: bool
    configuration: str | None
    batch: str | None
    instrument: Literal["simulate", "kernel", "emulate", "study"]
    pace: float | None
    state: State
    reason: str
    progress: float
    queued: float
    started: float | None
    ended: float | None
    shared: bool
    baseline: bool
    changed: int = 0
    events: float = 0.0
    goodput: float | None = None
    rtt: float | None = None
    delay: float | None = None
    timeouts: int | None = None
    mos: float | None = None
    bytes: int = 0
    notes: str = ""
    tags: list[str] = Field(default_factory=list)
    course_id: int | None = None
    course: str | None = None
    fidelity: Fidelity | None = None
    position: int | None = None
    expected: float | None = None


_ENTRIES: Final = TypeAdapter(list[Entry])

#: The columns of lists, without the text of the scenario, which may be long. They are read as
#: values instead of objects, because every open page requests lists.
_KEYS: Final = tuple(key for key in Entry.model_fields if key in Run.__table__.columns)
LIST: Final = (
    select(
        *(getattr(Run, key) for key in _KEYS),
        Run.configuration_id.label("configuration"),
        Run.owner_id,
        Run.changed.label("changed"),
        User.name.label("owner"),
        Course.name.label("course"),
    )
    .join(User, User.id == Run.owner_id)
    .outerjoin(Course, Course.id == Run.course_id)
)


class Scenario(Entry):
    """A run with its resolved scenario, as TOML and as values."""

    scenario: str
    resolved: dict[str, Any]


class Mark(Strict):
    """Marks of a run: shared with everybody, shared with a course (null: with none), baseline of
    the caller's comparisons, notes and tags. Values that are missing do not change."""

    shared: bool | None = None
    course: Number | None = None
    baseline: bool | None = None
    notes: Annotated[str, Field(max_length=5000)] | None = None
    tags: Tags | None = None


class Queue(BaseModel):
    """The queue: waiting and running runs, and the number of slots. Runs that the caller may not
    read have no name."""

    slots: int
    real_time: bool
    running: int
    waiting: int
    entries: list[Entry]


@router.post("/runs", status_code=201)
async def launch(given: Launch, who: UserOrAbove, store: Database, settings: CurrentSettings) -> list[Entry]:
    """Queues the runs of a launch."""
    return await scenarios.run(who.id, _launch, given, who, store, settings)


def _launch(given: Launch, who: Caller, store: Store, settings: Settings) -> list[Entry]:
    if before := earlier_launch(store, settings, given.once, who):
        return before
    with store.reading() as rows:
        if given.configuration is not None:
            of = visible(rows, given.configuration, who)
            text, name = of.text, of.name
        elif given.text is not None:
            text, name = given.text, given.name or "Unnamed"
        else:
            raise Refused(422, "give either a configuration or a text")
    planned = _plan(given, text, who, instruments.of_machine(settings))
    batch = identifier() if len(planned) > 1 else None
    with store.writing() as rows:
        check_room(rows, who.id, who.level, len(planned))
        made = [
            Run(
                owner_id=who.id,
                configuration_id=given.configuration,
                name=name,
                batch=batch,
                once=None if given.once is None else f"{given.once}#{place}",
                **values,
            )
            for place, values in enumerate(planned)
        ]
        rows.add_all(made)
        try:
            rows.flush()
        except IntegrityError:
            # The same launch arrived a second time during the checks.
            rows.rollback()
            return earlier_launch(store, settings, given.once, who)
        for run in made:
            rows.refresh(run)
            queue.record_event(rows, run)
        record_action(rows, who, "launch", f"{name}: {len(made)} run{'s' if len(made) > 1 else ''}")
        listed = [entry(one, who, settings) for one in made]
    wake(settings, made[0].number)
    return listed


def earlier_launch(store: Store, settings: Settings, once: str | None, who: Caller) -> list[Entry]:
    """Returns the runs of an earlier launch with the same ``once``; empty for a new launch."""
    if once is None:
        return []
    before = select(Run).where(Run.owner_id == who.id, Run.once.like(_pattern(once), escape="\\"))
    with store.reading() as rows:
        return [entry(one, who, settings) for one in rows.scalars(before.order_by(Run.number))]


def _pattern(text: str) -> str:
    """Returns the pattern for LIKE that matches the keys of all runs of a launch."""
    for special in ("\\", "%", "_"):
        text = text.replace(special, "\\" + special)
    return f"{text}#%"


def _plan(given: Launch, text: str, who: Caller, machine: Mapping[str, str]) -> list[dict[str, object]]:
    """Checks a launch, and returns the columns of each of its runs. Raises :class:`Refused` and
    :class:`bentpipe.ScenarioError`."""
    limits = OF_LEVEL[who.level]
    loaded = read(text, who.level)
    sets = [Variation()]
    replications, confidence = 1, 0.95
    if given.campaign:
        if loaded.campaign is None:
            raise Refused(422, "the scenario has no [campaign]")
        replications = int(loaded.campaign.get("replications", 1))
        confidence = float(loaded.campaign["confidence"])
        # Checked before the variants are listed, of which there may be too many for the memory.
        if number_of(loaded.campaign) > limits.queued:
            raise Refused(
                422,
                f"the campaign has more than {limits.queued} runs, the limit of waiting runs of your level",
            )
        sets = variations(loaded.campaign)
    if len(sets) * replications * len(given.instruments) > limits.queued:
        raise Refused(
            422, f"the campaign has more than {limits.queued} runs, the limit of waiting runs of your level"
        )
    planned: list[dict[str, object]] = []
    for variation in sets:
        one = read(text, who.level, varying(variation.overrides)) if variation.values else loaded
        wanted = cost(one.data, facts(one))
        for instrument in given.instruments:
            pace = given.pace if instrument == "simulate" else None
            check_cost(wanted, instrument, who.level, pace)
            instruments.check(instrument, one, machine)
            for replication in range(replications):
                parts = [variation.label, instrument if len(given.instruments) > 1 else ""]
                parts.append(f"replication {replication}" if replications > 1 else "")
                planned.append(
                    {
                        "label": ", ".join(filter(None, parts))[:200],
                        "instrument": instrument,
                        "replication": replication,
                        "variation": variation.values,
                        "confidence": confidence,
                        "pace": pace,
                        "scenario": one.toml,
                        "events": wanted.events,
                        "duration": wanted.seconds,
                    }
                )
    return planned


@router.get("/runs", response_model=list[Entry])
def listed(
    given: Annotated[Listing, Query()], who: AnyCaller, store: Database, settings: CurrentSettings
) -> Response:
    """Returns the runs that the caller may read and that match all filters, newest first unless
    ``sort`` is given. ``before`` is the last number of the previous page, for lists in that
    order."""
    with store.reading() as rows:
        runs = rows.execute(page_of(LIST.where(readable(Run, who)), given)).all()
        waiting = any(one.state == "queued" for one in runs)
        places = queue.plan(rows, settings.slots) if waiting else {}
    # Serialised directly, because FastAPI would check and convert every entry again.
    return Response(_ENTRIES.dump_json(_entries(runs, who, settings, places)), media_type="application/json")


@router.get("/queue", response_model=Queue)
def the_queue(who: AnyCaller, store: Database, settings: CurrentSettings) -> Response:
    """Returns the state of the queue."""
    with store.reading() as rows:
        places = queue.plan(rows, settings.slots)
        shown = LIST.add_columns(readable(Run, who).label("readable"))
        running = rows.execute(shown.where(Run.state.in_(ACTIVE)).order_by(Run.started)).all()
        first = sorted(places, key=lambda run: places[run][0])[:100]
        waiting = rows.execute(shown.where(Run.id.in_(first))).all() if first else []
    ordered = [*running, *sorted(waiting, key=lambda run: places[run.id][0])]
    entries = _entries(ordered, who, settings, places)
    for one, run in zip(entries, ordered, strict=True):
        if not run.readable:
            one.id, one.name, one.label, one.owner, one.reason = "", "run of another user", "", "", ""
            one.configuration = one.batch = one.course = one.course_id = None
            one.notes, one.tags = "", []
    found = Queue(
        slots=settings.slots,
        real_time=settings.real_time,
        running=len(running),
        waiting=len(places),
        entries=entries,
    )
    return Response(found.model_dump_json(), media_type="application/json")


@router.get("/runs/{run}")
def one(run: str, who: AnyCaller, store: Database, settings: CurrentSettings) -> Scenario:
    """Returns a run with its scenario."""
    with store.reading() as rows:
        row = readable_run(rows, run, who)
        places = queue.plan(rows, settings.slots) if row.state == "queued" else {}
        return Scenario(
            **entry(row, who, settings, places).model_dump(),
            scenario=row.scenario,
            resolved=tomllib.loads(row.scenario),
        )


@router.patch("/runs/{run}")
def mark(run: str, given: Mark, who: UserOrAbove, store: Database, settings: CurrentSettings) -> Entry:
    """Shares a run, pins it as the baseline of the caller's comparisons, or changes its notes or
    tags."""
    with store.writing() as rows:
        row = own_run(rows, run, who)
        if given.shared is not None:
            row.shared = given.shared
            record_action(
                rows, who, "share run" if given.shared else "stop sharing run", f"{row.name} {row.number}"
            )
        if given.baseline is not None:
            for other in rows.scalars(select(Run).where(Run.owner_id == row.owner_id, Run.baseline)):
                other.baseline = False
            row.baseline = given.baseline
            record_action(rows, who, "pin run" if given.baseline else "unpin run", f"{row.name} {row.number}")
        if "course" in given.model_fields_set:
            row.course_id = None if given.course is None else course_of(rows, given.course, who).id
            record_action(rows, who, "share run with a course", f"{row.name} {row.number}")
        if given.notes is not None:
            row.notes = given.notes
        if given.tags is not None:
            row.tags = stored(given.tags)
        if given.notes is not None or given.tags is not None:
            record_action(rows, who, "annotate run", f"{row.name} {row.number}")
        rows.flush()
        return entry(row, who, settings)


@router.post("/runs/{run}/cancel")
def cancel(run: str, who: UserOrAbove, store: Database, settings: CurrentSettings) -> Entry:
    """Cancels a waiting or running run. Results so far are kept."""
    with store.writing() as rows:
        row = own_run(rows, run, who)
        if row.state not in FINAL:
            queue.cancel(rows, row)
            record_action(rows, who, "cancel", f"{row.name} {row.number}")
        return entry(row, who, settings)


@router.delete("/runs/{run}", status_code=204)
def remove(run: str, who: UserOrAbove, store: Database, settings: CurrentSettings) -> None:
    """Removes a run with its results."""
    with store.writing() as rows:
        row = own_run(rows, run, who)
        if row.state not in FINAL:
            raise Refused(409, "the run has not ended; cancel it first")
        folder = settings.folder(row.owner_id, row.id)
        rows.delete(row)
        record_action(rows, who, "remove run", f"{row.name} {row.number}")
    shutil.rmtree(folder, ignore_errors=True)


def entry(
    row: Run, who: Caller, settings: Settings, places: Mapping[str, tuple[int, float]] | None = None
) -> Entry:
    """Returns a run in the format of the page."""
    values = {key: getattr(row, key) for key in (*_KEYS, "changed")}
    values |= {"configuration": row.configuration_id, "owner": row.owner.name}
    values["course"] = None if row.course is None else row.course.name
    return Entry.model_validate(values | _for(row, who, settings, places or {}))


def _entries(
    found: Sequence[Any], who: Caller, settings: Settings, places: Mapping[str, tuple[int, float]]
) -> list[Entry]:
    """Returns rows of :data:`_LIST` in the format of the page."""
    return _ENTRIES.validate_python([{**row._mapping, **_for(row, who, settings, places)} for row in found])


def _for(
    row: Any, who: Caller, settings: Settings, places: Mapping[str, tuple[int, float]]
) -> dict[str, Any]:
    """Returns the fields of an entry that depend on the caller, the time, and the run's folder."""
    position, expected = places.get(row.id, (None, None))
    verdict = verdict_of(settings.folder(row.owner_id, row.id), row.instrument, row.state)
    return {
        "mine": owns(who, row.owner_id),
        "tags": row.tags.split(),
        "position": position,
        "expected": expected,
        "fidelity": None if verdict is None else asdict(verdict),
    }


def readable_run(rows: Transaction, run: str, who: Caller) -> Run:
    """Returns a run that the caller may read. Raises :class:`Refused`, which reports inaccessible
    runs as missing."""
    row = rows.scalar(select(Run).where(Run.id == run[:32], readable(Run, who)))
    if row is None:
        raise Refused(404, "there is no such run")
    return row


def own_run(rows: Transaction, run: str, who: Caller) -> Run:
    """Returns a run that the caller may change. Raises :class:`Refused`."""
    row = readable_run(rows, run, who)
    if not owns(who, row.owner_id):
        raise Refused(403, "this run belongs to another user")
    return row
