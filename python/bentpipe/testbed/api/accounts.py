"""Accounts and the audit log."""

from __future__ import annotations

import shutil
import time
from typing import Annotated, Literal, get_args

from fastapi import APIRouter, Path, Query
from pydantic import BaseModel, Field
from sqlalchemy import select

from bentpipe.testbed import accounts
from bentpipe.testbed.quotas import NOTHING, Used, used
from bentpipe.testbed.refused import Refused
from bentpipe.testbed.rules import OF_LEVEL
from bentpipe.testbed.tables import ACTIVE, Audit, Run, User
from bentpipe.testbed.tables import Invitation as Offered

from .callers import Administrator, AdministratorInPerson, AnyCaller, CurrentSettings, Database, Number
from .sessions import Strict

router = APIRouter(tags=["accounts"])

Level = Literal["guest", "user", "administrator"]


class Quota(BaseModel):
    """The use of a limit of an account's level: waiting and running runs (``queued``), stored runs
    (``runs``), ``configurations``, or bytes of stored runs (``stored``)."""

    name: Literal["queued", "runs", "configurations", "stored"]
    used: int
    limit: int


class Account(BaseModel):
    """An account in a list of accounts, with its use of the limits of its level."""

    id: int
    name: str
    level: Level
    created: float
    active: bool
    quotas: list[Quota] = Field(default_factory=list)


class ChangedAccount(Strict):
    """New values of an account. Values that are missing do not change."""

    level: Level | None = None
    active: bool | None = None


class OfLevel(Strict):
    """The level of a future account."""

    level: Level


class Invitation(BaseModel):
    """A link that creates one account, relative to the page's address."""

    level: Level
    link: str


class ResetLink(BaseModel):
    """A link that sets a new password of an account, relative to the page's address."""

    name: str
    link: str


class Pending(BaseModel):
    """A link that has not been used. ``resets`` is the name of the account whose password it
    resets; null for an invitation."""

    id: str
    level: Level
    resets: str | None
    by: str
    created: float
    expires: float


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
        found = rows.scalars(select(User).order_by(User.name)).all()
        now = used(rows)
        return [
            _account(one).model_copy(update={"quotas": _quotas(now.get(one.id, NOTHING), one.level)})
            for one in found
        ]


@router.get("/quotas")
def quotas(who: AnyCaller, store: Database) -> list[Quota]:
    """Returns the caller's use of the limits of the caller's level."""
    with store.reading() as rows:
        return _quotas(used(rows, who.id).get(who.id, NOTHING), who.level)


def _quotas(now: Used, level: str) -> list[Quota]:
    limits = OF_LEVEL[level]
    names = get_args(Quota.model_fields["name"].annotation)
    return [Quota(name=name, used=getattr(now, name), limit=getattr(limits, name)) for name in names]


def _account(user: User) -> Account:
    keys = ("id", "name", "level", "created", "active")
    return Account.model_validate({key: getattr(user, key) for key in keys})


@router.patch("/accounts/{account}")
def change(account: Number, given: ChangedAccount, who: AdministratorInPerson, store: Database) -> Account:
    """Changes the level of an account, deactivates it, or activates it. A new level and a
    deactivation end the account's sessions and tokens. The data of an inactive account remain."""
    with store.writing() as rows:
        user = _found(rows.get(User, account))
        if given.level is not None:
            accounts.change_level(rows, user, given.level)
            accounts.record_action(rows, who, "change level", f"{user.name}: {given.level}")
        if given.active is not None:
            if user.id == who.id and not given.active:
                raise Refused(409, "you cannot deactivate your own account")
            accounts.set_active(rows, user, given.active)
            accounts.record_action(rows, who, "activate" if given.active else "deactivate", user.name)
        return _account(user)


@router.delete("/accounts/{account}", status_code=204)
def remove(account: Number, who: AdministratorInPerson, store: Database, settings: CurrentSettings) -> None:
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


@router.post("/accounts/{account}/reset", status_code=201)
def reset(account: Number, who: AdministratorInPerson, store: Database) -> ResetLink:
    """Creates a link with which the owner of an account sets a new password. The link is valid for
    a day. The old password stays valid until then."""
    with store.reading() as rows:
        user = _found(rows.get(User, account))
    return ResetLink(name=user.name, link=f"/#/reset/{accounts.offer_reset(store, user, who)}")


@router.post("/invitations", status_code=201)
def invite(given: OfLevel, who: AdministratorInPerson, store: Database) -> Invitation:
    """Creates a link to create one account. The link is valid for a week."""
    return Invitation(level=given.level, link=f"/#/join/{accounts.invite(store, given.level, who)}")


@router.get("/invitations")
def pending(_: Administrator, store: Database) -> list[Pending]:
    """Returns the links that are valid and have not been used, without their secrets."""
    offered = select(Offered, User.name).outerjoin(User, User.id == Offered.resets)
    offered = offered.where(Offered.expires > time.time()).order_by(Offered.expires)
    with store.reading() as rows:
        found = rows.execute(offered).all()
    return [Pending.model_validate(vars(one) | {"resets": name}) for one, name in found]


@router.delete("/invitations/{invitation}", status_code=204)
def revoke(
    invitation: Annotated[str, Path(max_length=32)], who: AdministratorInPerson, store: Database
) -> None:
    """Revokes a link, which becomes invalid at once."""
    with store.writing() as rows:
        found = rows.scalar(select(Offered).where(Offered.id == invitation))
        if found is None:
            raise Refused(404, "there is no such invitation")
        rows.delete(found)
        accounts.record_action(rows, who, "revoke", "password reset" if found.resets else found.level)


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
