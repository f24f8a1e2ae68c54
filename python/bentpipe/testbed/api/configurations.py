"""Named configurations: saved, loaded, changed, removed, shared, forked and reset."""

from __future__ import annotations

import time
from typing import Annotated, Any

from fastapi import APIRouter
from pydantic import BaseModel, Field
from sqlalchemy import func, or_, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session as Transaction
from sqlalchemy.orm import defer

from bentpipe.testbed.accounts import Caller, record_action
from bentpipe.testbed.refused import Refused
from bentpipe.testbed.rules import OF_LEVEL, check_text
from bentpipe.testbed.tables import Configuration

from .callers import AnyCaller, Database, Number, UserOrAbove, may_see, owns
from .drafts import Text
from .sessions import Strict

router = APIRouter(tags=["configurations"])

Name = Annotated[
    str, Field(min_length=1, max_length=120, pattern=r"^[^\x00-\x1f\x7f\u202a-\u202e\u2066-\u2069]+$")
]
Coordinate = Annotated[float, Field(ge=-1e6, le=1e6)]
Positions = Annotated[
    dict[Annotated[str, Field(max_length=200)], tuple[Coordinate, Coordinate]], Field(max_length=5000)
]


class Brief(BaseModel):
    """A configuration in a list."""

    id: str
    name: str
    owner: str
    mine: bool
    shared: bool
    version: int
    changed: float


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


class Fork(Strict):
    """The name of a copied configuration."""

    name: Name


@router.get("/configurations")
def listed(who: AnyCaller, store: Database) -> list[Brief]:
    """Returns the caller's own and the shared configurations; for administrators, all
    configurations."""
    texts = (Configuration.text, Configuration.origin, Configuration.positions)
    found = select(Configuration).options(*map(defer, texts))
    found = found.order_by(Configuration.changed.desc()).limit(1000)
    if not who.is_at_least("administrator"):
        found = found.where(or_(Configuration.owner_id == who.id, Configuration.shared))
    with store.reading() as rows:
        return [brief(one, who) for one in rows.scalars(found)]


@router.post("/configurations", status_code=201)
def save(given: New, who: UserOrAbove, store: Database) -> Full:
    """Saves a new configuration. The scenario may be incomplete; only a launch requires a valid
    scenario."""
    check_text(given.text, who.level)
    with store.writing() as rows:
        row = Configuration(owner_id=who.id, origin=given.text, **given.model_dump())
        _add(rows, row, who)
        record_action(rows, who, "save configuration", given.name)
        return full(row, who)


@router.get("/configurations/{configuration}")
def load(configuration: str, who: AnyCaller, store: Database) -> Full:
    """Returns a configuration with its scenario."""
    with store.reading() as rows:
        return full(visible(rows, configuration, who), who)


@router.put("/configurations/{configuration}")
def change(configuration: str, given: Change, who: UserOrAbove, store: Database) -> Full:
    """Changes a configuration: its name, scenario, picture or sharing."""
    if given.text is not None:
        check_text(given.text, who.level)
    with store.writing() as rows:
        row = _own(rows, configuration, who)
        if row.version != given.version:
            raise Refused(409, "the configuration was changed elsewhere in the meantime; load it again")
        if given.name is not None and given.name != row.name:
            _free(rows, row.owner_id, given.name)
        for key, value in given.model_dump(exclude={"version"}, exclude_none=True).items():
            setattr(row, key, value)
        row.version += 1
        row.changed = time.time()
        record_action(rows, who, "share configuration" if given.shared else "change configuration", row.name)
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
            owner_id=who.id, name=given.name, text=of.text, origin=of.text, positions=dict(of.positions)
        )
        _add(rows, row, who)
        record_action(rows, who, "fork configuration", f"{of.name}: {given.name}")
        return full(row, who)


@router.post("/configurations/{configuration}/reset")
def reset(configuration: str, who: UserOrAbove, store: Database) -> Full:
    """Restores the first saved scenario of a configuration. The configuration keeps its id."""
    with store.writing() as rows:
        row = _own(rows, configuration, who)
        row.text, row.positions, row.changed = row.origin, {}, time.time()
        row.version += 1
        record_action(rows, who, "reset configuration", row.name)
        return full(row, who)


def brief(row: Configuration, who: Caller) -> Brief:
    """Returns a configuration as an entry of the list."""
    return Brief(
        id=row.id,
        name=row.name,
        owner=row.owner.name,
        mine=owns(who, row.owner_id),
        shared=row.shared,
        version=row.version,
        changed=row.changed,
    )


def full(row: Configuration, who: Caller) -> Full:
    """Returns a configuration in the format of the page."""
    return Full(**brief(row, who).model_dump(), text=row.text, positions=row.positions)


def add(rows: Transaction, who: Caller, name: str, text: str) -> Full:
    """Saves a text as a new configuration of the caller. Raises :class:`Refused`."""
    row = Configuration(owner_id=who.id, name=name, text=text, origin=text)
    _add(rows, row, who)
    return full(row, who)


def visible(rows: Transaction, configuration: str, who: Caller) -> Configuration:
    """Returns a configuration that the caller may read. Raises :class:`Refused`, which reports
    inaccessible configurations as missing."""
    row = rows.get(Configuration, configuration[:32])
    if row is None or not may_see(who, row.owner_id, row.shared):
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
