"""Callers of requests, identified by the cookie of a browser's session or by a token."""

from __future__ import annotations

from typing import Annotated, Final

from fastapi import Depends, Request
from pydantic import Field
from sqlalchemy import ColumnElement, false, or_, select, true
from starlette.concurrency import run_in_threadpool

from bentpipe.testbed.accounts import Caller, caller_of, is_stale, record_use
from bentpipe.testbed.refused import Refused
from bentpipe.testbed.settings import Settings
from bentpipe.testbed.store import Store
from bentpipe.testbed.tables import Configuration, Course, Member, Run

from .security import SAFE

#: The cookie of a session. Browsers send it only to the host that set it, and only over an
#: encrypted connection or on the same machine.
COOKIE: Final = "__Host-bentpipe"
#: The cookie of a session with --insecure. Over plain HTTP, browsers refuse the prefix and the
#: attribute Secure.
INSECURE_COOKIE: Final = "bentpipe"


async def store_of(request: Request) -> Store:  # async, so that FastAPI uses no thread for it
    """Returns the application's database."""
    store: Store = request.app.state.store
    return store


async def settings_of(request: Request) -> Settings:
    """Returns the application's settings."""
    settings: Settings = request.app.state.settings
    return settings


#: The number of a row. Larger numbers do not fit into every database.
Number = Annotated[int, Field(ge=0, le=2**31 - 1)]

Database = Annotated[Store, Depends(store_of)]
CurrentSettings = Annotated[Settings, Depends(settings_of)]


def secret_of(request: Request) -> str:
    """Returns the secret of a request's token or cookie; empty without either."""
    authorization = request.headers.get("authorization", "")
    if authorization:
        return authorization.removeprefix("Bearer ").strip()
    return request.cookies.get(cookie_of(request.app.state.settings), "")


def cookie_of(settings: Settings) -> str:
    """Returns the name of the cookie of a session."""
    return INSECURE_COOKIE if settings.insecure else COOKIE


def address_of(request: Request, settings: Settings) -> str:
    """Returns the address of the client, by which failed log-ins are counted. Behind a proxy, the
    proxy appends the address to X-Forwarded-For; earlier entries may come from the client. Empty if
    the address is unknown."""
    if settings.proxied:
        return request.headers.get("x-forwarded-for", "").rpartition(",")[2].strip()
    return request.client.host if request.client else ""


async def caller(request: Request, store: Database) -> Caller:
    """Returns the caller of a request. Raises :class:`Refused`."""
    secret = secret_of(request)

    def known() -> Caller:
        with store.reading() as rows:
            return caller_of(rows, secret)

    found = known() if store.quick else await run_in_threadpool(known)
    if (found.kind == "token") != ("authorization" in request.headers):
        raise Refused(401, "log in first")
    if found.scope == "read" and request.method not in SAFE:
        raise Refused(403, "this token may only read")
    if is_stale(found):
        await run_in_threadpool(record_use, store, found)
    return found


async def user(found: Annotated[Caller, Depends(caller)]) -> Caller:
    """Returns the caller. Raises :class:`Refused` for guests."""
    if not found.is_at_least("user"):
        raise Refused(403, 'guests cannot change anything; ask an administrator for the level "user"')
    return found


async def administrator(found: Annotated[Caller, Depends(caller)]) -> Caller:
    """Returns the caller. Raises :class:`Refused` unless the caller is an administrator."""
    if not found.is_at_least("administrator"):
        raise Refused(403, "only administrators may do this")
    return found


async def administrator_in_person(found: Annotated[Caller, Depends(administrator)]) -> Caller:
    """Returns the caller, an administrator who has logged in. A leaked token cannot change
    accounts. Raises :class:`Refused` for tokens."""
    if found.kind != "browser":
        raise Refused(403, "a token cannot change accounts and invitations; log in")
    return found


AnyCaller = Annotated[Caller, Depends(caller)]
UserOrAbove = Annotated[Caller, Depends(user)]
Administrator = Annotated[Caller, Depends(administrator)]
AdministratorInPerson = Annotated[Caller, Depends(administrator_in_person)]


def owns(who: Caller, owner: int) -> bool:
    """Returns true if the caller may change the data of ``owner``."""
    return who.is_at_least("user") and (who.id == owner or who.is_at_least("administrator"))


def readable(table: type[Run | Configuration], who: Caller) -> ColumnElement[bool]:
    """Returns the condition of rows that the caller may read: the caller's own, those shared with
    everybody, and those shared with a course of the caller. Administrators may read all."""
    if who.is_at_least("administrator"):
        return true()
    courses = select(Member.course_id).where(Member.user_id == who.id)
    led = select(Course.id).where(Course.owner_id == who.id)
    return or_(table.owner_id == who.id, table.shared, table.course_id.in_(courses), table.course_id.in_(led))


def changeable(table: type[Run | Configuration], who: Caller) -> ColumnElement[bool]:
    """Returns the condition of rows that the caller may change (:func:`owns`)."""
    if not who.is_at_least("user"):
        return false()
    return true() if who.is_at_least("administrator") else table.owner_id == who.id
