"""Sessions, passwords, tokens, and acceptance of invitations."""

from __future__ import annotations

import time
from dataclasses import asdict
from typing import Annotated, Any, Final, Literal

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy import delete, select

from bentpipe.testbed import accounts
from bentpipe.testbed.accounts import Caller
from bentpipe.testbed.refused import Refused
from bentpipe.testbed.rules import OF_LEVEL
from bentpipe.testbed.settings import Settings
from bentpipe.testbed.tables import Session, User

from .callers import AnyCaller, CurrentSettings, Database, address_of, cookie_of
from .pools import Pool
from .security import is_encrypted

router = APIRouter(tags=["session"])

#: A hash takes a third of a second on a core. One thread computes all hashes, with a short queue.
_hashing: Final = Pool("log-ins", threads=1, waiting=20)

Password = Annotated[str, Field(max_length=256)]


class Strict(BaseModel):
    """The body of a request, without unknown keys."""

    model_config = ConfigDict(extra="forbid")


class LogIn(Strict):
    """Name and password of an account."""

    name: Annotated[str, Field(max_length=64)]
    password: Password


class Acceptance(LogIn):
    """An invitation, and the account to create."""

    invitation: Annotated[str, Field(max_length=100)]


class Reset(Strict):
    """The secret of a link that resets a password, and the new password."""

    reset: Annotated[str, Field(max_length=100)]
    password: Password


class NewPassword(Strict):
    """The old and the new password."""

    old: Password
    new: Password


class NewToken(Strict):
    """The name of a new token, and its permission."""

    name: Annotated[str, Field(min_length=1, max_length=64)]
    scope: Literal["read", "write"] = "write"


class SessionUser(BaseModel):
    """The caller, and the limits of the caller's level."""

    id: int
    name: str
    level: Literal["guest", "user", "administrator"]
    limits: dict[str, Any]


class Token(BaseModel):
    """A token. Only the response to its creation contains the secret."""

    id: str
    name: str
    scope: str
    created: float
    used: float
    secret: str | None = None


def describe(who: Caller) -> SessionUser:
    """Returns the caller in the format of the page."""
    limits = asdict(OF_LEVEL[who.level])
    return SessionUser.model_validate({"id": who.id, "name": who.name, "level": who.level, "limits": limits})


def set_session_cookie(response: Response, secret: str, settings: Settings) -> None:
    """Sets the cookie of a session. An empty secret removes the cookie."""
    response.set_cookie(
        cookie_of(settings),
        secret,
        max_age=int(accounts.ABSOLUTE_S) if secret else 0,
        path="/",
        secure=not settings.insecure,
        httponly=True,
        samesite="lax",
    )


def require_encryption(request: Request, settings: Settings) -> None:
    """Refuses a password over plain HTTP from another machine."""
    if not is_encrypted(request.scope, settings):
        raise Refused(
            403, "log-ins need https; use a proxy with a certificate, or start the test bed with --insecure"
        )


@router.post("/session")
async def log_in(
    given: LogIn, request: Request, response: Response, store: Database, settings: CurrentSettings
) -> SessionUser:
    """Logs in. The response sets the cookie of the session."""
    require_encryption(request, settings)
    address = address_of(request, settings)
    secret, who = await _hashing.run(None, accounts.log_in, store, given.name, given.password, address)
    set_session_cookie(response, secret, settings)
    return describe(who)


@router.post("/invitations/accept", status_code=201)
async def accept(
    given: Acceptance, request: Request, response: Response, store: Database, settings: CurrentSettings
) -> SessionUser:
    """Creates the account of an invitation, and logs in."""
    require_encryption(request, settings)
    secret = await _hashing.run(None, accounts.accept, store, given.invitation, given.name, given.password)
    with store.reading() as rows:
        who = accounts.caller_of(rows, secret)
    set_session_cookie(response, secret, settings)
    return describe(who)


@router.post("/session/reset")
async def reset(
    given: Reset, request: Request, response: Response, store: Database, settings: CurrentSettings
) -> SessionUser:
    """Sets a new password with a link from an administrator, ends all sessions and tokens of the
    account, and logs in."""
    require_encryption(request, settings)
    secret = await _hashing.run(None, accounts.set_password, store, given.reset, given.password)
    with store.reading() as rows:
        who = accounts.caller_of(rows, secret)
    set_session_cookie(response, secret, settings)
    return describe(who)


@router.get("/session")
async def who_am_i(who: AnyCaller) -> SessionUser:
    """Returns the caller of the request."""
    return describe(who)


@router.delete("/session", status_code=204)
def log_out(who: AnyCaller, response: Response, store: Database, settings: CurrentSettings) -> None:
    """Ends the session of the request."""
    with store.writing() as rows:
        rows.execute(delete(Session).where(Session.id == who.session))
        accounts.record_action(rows, who, "log out")
    set_session_cookie(response, "", settings)


@router.put("/session/password", status_code=204)
async def change_password(given: NewPassword, who: AnyCaller, store: Database) -> None:
    """Changes the password, and ends all other sessions and all tokens."""

    def change() -> None:
        with store.reading() as rows:
            user = rows.get_one(User, who.id)
        if who.kind != "browser" or not accounts.matches(given.old, user.password):
            raise Refused(403, "the old password is wrong")
        known = accounts.password_hash(given.new)
        with store.writing() as rows:
            user = rows.get_one(User, who.id)
            user.password = known
            accounts.end_sessions(rows, user, who.session)
            accounts.record_action(rows, who, "change password")

    await _hashing.run(None, change)


@router.get("/tokens")
def tokens(who: AnyCaller, store: Database) -> list[Token]:
    """Returns the caller's tokens, without their secrets."""
    with store.reading() as rows:
        found = rows.scalars(select(Session).where(Session.user_id == who.id, Session.kind == "token"))
        return [Token.model_validate(one, from_attributes=True) for one in found]


@router.post("/tokens", status_code=201)
def new_token(given: NewToken, who: AnyCaller, store: Database) -> Token:
    """Creates a token for programs. Only this response contains the secret."""
    if who.kind != "browser":
        raise Refused(403, "a token cannot create tokens; log in")
    with store.writing() as rows:
        user = rows.get_one(User, who.id)
        if (
            len(
                rows.scalars(
                    select(Session.id).where(Session.user_id == who.id, Session.kind == "token")
                ).all()
            )
            >= 50
        ):
            raise Refused(409, "you have 50 tokens, the maximum; remove one first")
        secret = accounts.open_session(rows, user, "token", accounts.TOKEN_S, given.name, given.scope)
        accounts.record_action(rows, who, "create token", given.name)
        found = rows.get_one(Session, accounts.digest(secret))
        return Token(
            id=found.id,
            name=found.name,
            scope=found.scope,
            created=found.created,
            used=time.time(),
            secret=secret,
        )


@router.delete("/tokens/{token}", status_code=204)
def remove_token(token: str, who: AnyCaller, store: Database) -> None:
    """Removes a token. The token becomes invalid at once."""
    with store.writing() as rows:
        found = rows.scalar(
            select(Session).where(Session.id == token, Session.user_id == who.id, Session.kind == "token")
        )
        if found is None:
            raise Refused(404, "there is no such token")
        rows.delete(found)
        accounts.record_action(rows, who, "remove token", found.name)
