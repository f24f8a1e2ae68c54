"""Accounts and the audit log."""

from __future__ import annotations

import shutil
from typing import Annotated, Literal

from fastapi import APIRouter, Query
from pydantic import BaseModel
from sqlalchemy import select

from bentpipe.testbed import accounts
from bentpipe.testbed.refused import Refused
from bentpipe.testbed.tables import ACTIVE, Audit, Run, User

from .callers import Administrator, AnyCaller, CurrentSettings, Database, Number
from .sessions import Strict

router = APIRouter(tags=["accounts"])

Level = Literal["guest", "user", "administrator"]


class Account(BaseModel):
    """An account in a list of accounts."""

    id: int
    name: str
    level: Level
    created: float


class OfLevel(Strict):
    """The new level of an account."""

    level: Level


class Invitation(BaseModel):
    """A link that creates one account, relative to the page's address."""

    level: Level
    link: str


class AuditLine(BaseModel):
    """An entry of the audit log: an action of a user."""

    id: int
    at: float
    user: str
    action: str
    what: str


@router.get("/accounts")
def listed(_: Administrator, store: Database) -> list[Account]:
    """Returns all accounts, by name."""
    with store.reading() as rows:
        found = rows.scalars(select(User).order_by(User.name))
        return [Account.model_validate(one, from_attributes=True) for one in found]


@router.patch("/accounts/{account}")
def change(account: Number, given: OfLevel, who: Administrator, store: Database) -> Account:
    """Changes the level of an account. Ends the account's sessions and tokens."""
    with store.writing() as rows:
        user = _found(rows.get(User, account))
        accounts.change_level(rows, user, given.level)
        accounts.record_action(rows, who, "change level", f"{user.name}: {given.level}")
        return Account.model_validate(user, from_attributes=True)


@router.delete("/accounts/{account}", status_code=204)
def remove(account: Number, who: Administrator, store: Database, settings: CurrentSettings) -> None:
    """Removes an account with its configurations and runs."""
    with store.writing() as rows:
        user = _found(rows.get(User, account))
        if user.id == who.id:
            raise Refused(409, "you cannot remove your own account")
        if rows.scalar(select(Run.number).where(Run.owner_id == user.id, Run.state.in_(ACTIVE)).limit(1)):
            raise Refused(409, "a run of this account is in progress; cancel it first")
        accounts.change_level(rows, user, "guest")
        folder = settings.folder_of(user.id)
        rows.delete(user)
        accounts.record_action(rows, who, "remove account", user.name)
    shutil.rmtree(folder, ignore_errors=True)


@router.post("/invitations", status_code=201)
def invite(given: OfLevel, who: Administrator, store: Database) -> Invitation:
    """Creates a link to create one account. The link is valid for a week."""
    return Invitation(level=given.level, link=f"/#/join/{accounts.invite(store, given.level, who)}")


@router.get("/audit")
def audit(
    who: AnyCaller,
    store: Database,
    before: Number | None = None,
    limit: Annotated[int, Query(ge=1, le=500)] = 100,
) -> list[AuditLine]:
    """Returns the newest entries of the audit log: of all users for administrators, otherwise of
    the caller."""
    found = select(Audit).order_by(Audit.id.desc()).limit(limit)
    if before is not None:
        found = found.where(Audit.id < before)
    if not who.is_at_least("administrator"):
        found = found.where(Audit.user_id == who.id)
    with store.reading() as rows:
        return [AuditLine.model_validate(one, from_attributes=True) for one in rows.scalars(found)]


def _found(user: User | None) -> User:
    if user is None:
        raise Refused(404, "there is no such account")
    return user
