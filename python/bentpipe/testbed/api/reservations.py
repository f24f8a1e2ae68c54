"""Reservations of the machine for runs in real time. During a reservation, only runs in real time
of its owner start; other instruments are not affected."""

from __future__ import annotations

import time
from typing import Annotated, Final

from fastapi import APIRouter
from pydantic import BaseModel, Field
from sqlalchemy import func, select

from bentpipe.testbed.accounts import Caller, record_action
from bentpipe.testbed.refused import Refused
from bentpipe.testbed.tables import Reservation, User

from .callers import AnyCaller, CurrentSettings, Database, Number, UserOrAbove, owns
from .sessions import Strict

router = APIRouter(tags=["reservations"])

#: Longest span, and latest start after the present, in seconds.
MAX_SPAN_S: Final = 12 * 3600.0
MAX_AHEAD_S: Final = 60 * 86_400.0
#: Largest number of future reservations of a user.
MAX_RESERVATIONS: Final = 20

Moment = Annotated[float, Field(ge=0, le=1e11)]


class ReservedSpan(BaseModel):
    """A reservation, in seconds of Unix time. ``mine`` is true if the caller may remove it."""

    id: int
    user: str
    starts: float
    ends: float
    note: str
    mine: bool


class NewReservation(Strict):
    """A span to reserve, in seconds of Unix time, and its purpose."""

    starts: Moment
    ends: Moment
    note: Annotated[str, Field(max_length=200)] = ""


@router.get("/reservations")
def reservations(who: AnyCaller, store: Database) -> list[ReservedSpan]:
    """Returns the reservations that have not ended, in the order of their start."""
    found = select(Reservation).where(Reservation.ends > time.time()).order_by(Reservation.starts)
    with store.reading() as rows:
        return [_span(one, who) for one in rows.scalars(found.limit(1000))]


@router.post("/reservations", status_code=201)
def reserve(
    given: NewReservation, who: UserOrAbove, store: Database, settings: CurrentSettings
) -> ReservedSpan:
    """Reserves the machine. Refused if the span overlaps another reservation."""
    now = time.time()
    if not settings.real_time:
        raise Refused(409, "emulation in real time is disabled on this test bed")
    if given.ends <= given.starts or given.ends <= now:
        raise Refused(422, "a reservation must end after its start, and in the future")
    if given.ends - given.starts > MAX_SPAN_S:
        raise Refused(422, f"a reservation lasts at most {MAX_SPAN_S / 3600:g} hours")
    if given.starts > now + MAX_AHEAD_S:
        raise Refused(422, f"a reservation starts within {MAX_AHEAD_S / 86_400:g} days")
    with store.writing() as rows:
        # Simultaneous reservations take turns at the first account. In SQLite, all writers do.
        rows.execute(select(User.id).order_by(User.id).limit(1).with_for_update())
        meets = select(Reservation).where(Reservation.starts < given.ends, Reservation.ends > given.starts)
        other = rows.scalar(meets.order_by(Reservation.starts).limit(1))
        if other is not None:
            raise Refused(409, f"{other.user.name} has reserved the machine in this span")
        count = select(func.count()).where(Reservation.user_id == who.id, Reservation.ends > now)
        if (rows.scalar(count) or 0) >= MAX_RESERVATIONS:
            raise Refused(409, f"you have {MAX_RESERVATIONS} reservations, the limit; remove one first")
        row = Reservation(user_id=who.id, starts=given.starts, ends=given.ends, note=given.note)
        rows.add(row)
        rows.flush()
        rows.refresh(row)
        record_action(rows, who, "reserve", f"{round(given.ends - given.starts)} s")
        return _span(row, who)


@router.delete("/reservations/{reservation}", status_code=204)
def release(reservation: Number, who: UserOrAbove, store: Database) -> None:
    """Removes a reservation of the caller; for administrators, any reservation."""
    with store.writing() as rows:
        row = rows.get(Reservation, reservation)
        if row is None:
            raise Refused(404, "there is no such reservation")
        if not owns(who, row.user_id):
            raise Refused(403, "this reservation belongs to another user")
        rows.delete(row)
        record_action(rows, who, "release reservation", row.note)


def _span(row: Reservation, who: Caller) -> ReservedSpan:
    return ReservedSpan(
        id=row.id,
        user=row.user.name,
        starts=row.starts,
        ends=row.ends,
        note=row.note,
        mine=owns(who, row.user_id),
    )
