"""Named configurations: saved, loaded, changed, removed, shared, forked and reset."""

from __future__ import annotations

import time
from typing import Annotated, Any, Final

from fastapi import APIRouter
from pydantic import BaseModel, Field
from sqlalchemy import func, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session as Transaction
from sqlalchemy.orm import defer, joinedload
from starlette.concurrency import run_in_threadpool

from bentpipe.testbed.accounts import Caller, record_action
from bentpipe.testbed.portraits import Portrait, portrait
from bentpipe.testbed.refused import Refused
from bentpipe.testbed.rules import OF_LEVEL, check_text
from bentpipe.testbed.settings import Settings
from bentpipe.testbed.store import Store
from bentpipe.testbed.tables import Configuration, Run
from bentpipe.testbed.verdicts import verdict_of

from .callers import AnyCaller, CurrentSettings, Database, Number, UserOrAbove, owns, readable
from .courses import course_of
from .drafts import Text, Thumbnail
from .filters import Tags, stored
from .pools import Pool
from .sessions import Strict
from .verdicts import Fidelity

router = APIRouter(tags=["configurations"])

#: The thread that draws the pictures of saved scenarios.
_portraits: Final = Pool("saved configurations", threads=1, waiting=60, per_caller=4)

Name = Annotated[
    str, Field(min_length=1, max_length=120, pattern=r"^[^\x00-\x1f\x7f\u202a-\u202e\u2066-\u2069]+$")
]
Coordinate = Annotated[float, Field(ge=-1e6, le=1e6)]
Positions = Annotated[
    dict[Annotated[str, Field(max_length=200)], tuple[Coordinate, Coordinate]], Field(max_length=5000)
]


class LastRun(BaseModel):
    """The result of the last run of a configuration that is done and that the caller may read."""

    id: str
    number: int
    instrument: str
    ended: float | None
    goodput: float | None
    mos: float | None
    changed: int
    fidelity: Fidelity | None


class Brief(BaseModel):
    """A configuration in a list. ``about`` is the description of its scenario. The picture is null
    for an invalid or large scenario. ``course`` is the course with which it is shared."""

    id: str
    name: str
    owner: str
    mine: bool
    shared: bool
    version: int
    changed: float
    about: str
    picture: Thumbnail | None
    tags: list[str]
    course_id: int | None
    course: str | None
    last: LastRun | None = None


class Full(Brief):
    """A configuration with its scenario, and the positions of the nodes in the picture."""

    text: str
    positions: dict[str, Any]


class New(Strict):
    """A new configuration to be saved."""

    name: Name
    text: Text
    positions: Positions = Field(default_factory=dict)


class Change(Strict):
    """A change of a configuration. Missing values remain unchanged. ``version`` is the version on
    which the change is based; the change is refused if a newer version exists."""

    version: Number
    name: Name | None = None
    text: Text | None = None
    positions: Positions | None = None
    shared: bool | None = None
    tags: Tags | None = None
    #: The course with which the configuration is shared; null for none.
    course: Number | None = None


class Fork(Strict):
    """The name of a copied configuration."""

    name: Name


@router.get("/configurations")
def listed(who: AnyCaller, store: Database, settings: CurrentSettings) -> list[Brief]:
    """Returns the caller's own and the shared configurations with their last results; for
    administrators, all configurations."""
    texts = (Configuration.text, Configuration.origin, Configuration.positions)
    found = select(Configuration).options(*map(defer, texts), joinedload(Configuration.course))
    found = found.where(readable(Configuration, who)).order_by(Configuration.changed.desc()).limit(1000)
    with store.reading() as rows:
        last = _last_runs(rows, who, settings)
        return [brief(one, who, last.get(one.id)) for one in rows.scalars(found)]


def _last_runs(rows: Transaction, who: Caller, settings: Settings) -> dict[str, LastRun]:
    """Returns the last results by configuration."""
    newest = select(func.max(Run.number)).where(Run.configuration_id.is_not(None), Run.state == "done")
    newest = newest.where(readable(Run, who)).group_by(Run.configuration_id)
    keys = ("id", "number", "instrument", "ended", "goodput", "mos", "changed")
    columns = [getattr(Run, key).label(key) for key in keys]
    wanted = select(*columns, Run.owner_id, Run.configuration_id).where(Run.number.in_(newest))
    found = {}
    for row in rows.execute(wanted):
        verdict = verdict_of(settings.folder(row.owner_id, row.id), row.instrument, "done")
        fidelity = None if verdict is None else Fidelity(verdict=verdict.verdict, text=verdict.text)
        found[row.configuration_id] = LastRun(**{key: getattr(row, key) for key in keys}, fidelity=fidelity)
    return found


@router.post("/configurations", status_code=201)
async def save(given: New, who: UserOrAbove, store: Database) -> Full:
    """Saves a new configuration. The scenario may be incomplete; only a launch requires a valid
    scenario."""
    check_text(given.text, who.level)
    about, picture = await _portraits.run(who.id, portrait, given.text, who.level)

    def saved() -> Full:
        with store.writing() as rows:
            row = Configuration(
                owner_id=who.id, origin=given.text, about=about, picture=picture, **given.model_dump()
            )
            _add(rows, row, who)
            record_action(rows, who, "save configuration", given.name)
            return full(row, who)

    return await run_in_threadpool(saved)


@router.get("/configurations/{configuration}")
def load(configuration: str, who: AnyCaller, store: Database) -> Full:
    """Returns a configuration with its scenario."""
    with store.reading() as rows:
        return full(visible(rows, configuration, who), who)


@router.put("/configurations/{configuration}")
async def change(configuration: str, given: Change, who: UserOrAbove, store: Database) -> Full:
    """Changes a configuration: its name, scenario, picture, tags or sharing."""
    seen = None
    if given.text is not None:
        check_text(given.text, who.level)
        seen = await _portraits.run(who.id, portrait, given.text, who.level)
    return await run_in_threadpool(_change, configuration, given, seen, who, store)


def _change(configuration: str, given: Change, seen: Portrait | None, who: Caller, store: Store) -> Full:
    with store.writing() as rows:
        row = _own(rows, configuration, who)
        if row.version != given.version:
            raise Refused(409, "the configuration was changed elsewhere in the meantime; load it again")
        if given.name is not None and given.name != row.name:
            _free(rows, row.owner_id, given.name)
        values = given.model_dump(exclude={"version", "tags", "course"}, exclude_none=True)
        for key, value in values.items():
            setattr(row, key, value)
        if seen is not None:
            row.about, row.picture = seen
        if given.tags is not None:
            row.tags = stored(given.tags)
        if "course" in given.model_fields_set:
            row.course_id = None if given.course is None else course_of(rows, given.course, who).id
        row.version += 1
        row.changed = time.time()
        shares = given.shared or given.course is not None
        record_action(rows, who, "share configuration" if shares else "change configuration", row.name)
        rows.flush()
        rows.expire(row, ["course"])
        return full(row, who)


@router.delete("/configurations/{configuration}", status_code=204)
def remove(configuration: str, who: UserOrAbove, store: Database) -> None:
    """Removes a configuration. Its runs are kept."""
    with store.writing() as rows:
        row = _own(rows, configuration, who)
        rows.delete(row)
        record_action(rows, who, "remove configuration", row.name)


@router.post("/configurations/{configuration}/fork", status_code=201)
def fork(configuration: str, given: Fork, who: UserOrAbove, store: Database) -> Full:
    """Copies a visible configuration under a new name."""
    with store.writing() as rows:
        of = visible(rows, configuration, who)
        row = Configuration(
            owner_id=who.id,
            name=given.name,
            text=of.text,
            origin=of.text,
            positions=dict(of.positions),
            about=of.about,
            picture=of.picture,
        )
        _add(rows, row, who)
        record_action(rows, who, "fork configuration", f"{of.name}: {given.name}")
        return full(row, who)


@router.post("/configurations/{configuration}/reset")
async def reset(configuration: str, who: UserOrAbove, store: Database) -> Full:
    """Restores the first saved scenario of a configuration. The configuration keeps its id."""

    def origin() -> str:
        with store.reading() as rows:
            return _own(rows, configuration, who).origin

    about, picture = await _portraits.run(who.id, portrait, await run_in_threadpool(origin), who.level)

    def restored() -> Full:
        with store.writing() as rows:
            row = _own(rows, configuration, who)
            row.text, row.positions, row.changed = row.origin, {}, time.time()
            row.about, row.picture = about, picture
            row.version += 1
            record_action(rows, who, "reset configuration", row.name)
            return full(row, who)

    return await run_in_threadpool(restored)


def brief(row: Configuration, who: Caller, last: LastRun | None = None) -> Brief:
    """Returns a configuration as an entry of the list."""
    return Brief(
        id=row.id,
        name=row.name,
        owner=row.owner.name,
        mine=owns(who, row.owner_id),
        shared=row.shared,
        version=row.version,
        changed=row.changed,
        about=row.about,
        picture=None if row.picture is None else Thumbnail.model_validate(row.picture),
        tags=row.tags.split(),
        course_id=row.course_id,
        course=None if row.course is None else row.course.name,
        last=last,
    )


def full(row: Configuration, who: Caller) -> Full:
    """Returns a configuration in the format of the page."""
    return Full(**brief(row, who).model_dump(), text=row.text, positions=row.positions)


def add(rows: Transaction, who: Caller, name: str, text: str) -> Full:
    """Saves a text as a new configuration of the caller. Raises :class:`Refused`."""
    about, picture = portrait(text, who.level)
    row = Configuration(owner_id=who.id, name=name, text=text, origin=text, about=about, picture=picture)
    _add(rows, row, who)
    return full(row, who)


def visible(rows: Transaction, configuration: str, who: Caller) -> Configuration:
    """Returns a configuration that the caller may read. Raises :class:`Refused`, which reports
    inaccessible configurations as missing."""
    found = select(Configuration).where(Configuration.id == configuration[:32], readable(Configuration, who))
    row = rows.scalar(found)
    if row is None:
        raise Refused(404, "there is no such configuration")
    return row


def _own(rows: Transaction, configuration: str, who: Caller) -> Configuration:
    row = visible(rows, configuration, who)
    if not owns(who, row.owner_id):
        raise Refused(403, "this configuration belongs to another user; fork it to change your own copy")
    return row


def _free(rows: Transaction, owner: int, name: str) -> None:
    same = select(Configuration.id).where(Configuration.owner_id == owner, Configuration.name == name)
    if rows.scalar(same) is not None:
        raise Refused(409, f'a configuration "{name}" already exists; choose another name')


def _add(rows: Transaction, row: Configuration, who: Caller) -> None:
    _free(rows, who.id, row.name)
    count = rows.scalar(select(func.count()).where(Configuration.owner_id == who.id)) or 0
    most = OF_LEVEL[who.level].configurations
    if count >= most:
        raise Refused(409, f"you have {most} configurations, the limit of your level; remove one first")
    rows.add(row)
    try:
        rows.flush()
    except IntegrityError:
        raise Refused(409, f'a configuration "{row.name}" already exists; choose another name') from None
    rows.refresh(row)
