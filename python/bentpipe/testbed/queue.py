"""The queue: a table. A run is queued, leased by a worker, running, and then done, failed, cancelled or incomplete.

A worker renews its lease while it works. A lease that ran out is reclaimed: a run that had not started is queued
again, one that had is marked incomplete, so that no run is done twice.
"""

from __future__ import annotations

import time
from collections import defaultdict, deque
from collections.abc import Sequence
from typing import Any, Final

from sqlalchemy import delete, func, select, update
from sqlalchemy.orm import Session as Transaction

from .tables import ACTIVE, FINAL, Event, Run

#: A lease lasts so many seconds after its last renewal.
LEASE_S: Final = 30.0
#: Events are kept for so many seconds.
KEEP_S: Final = 3600.0
#: Instruments that need the machine for themselves.
EXCLUSIVE: Final = ("emulate",)


def claim(rows: Transaction, worker: str, instruments: Sequence[str]) -> Run | None:
    """Returns the next run for a worker, leased to it, or None. Owners take turns: next is a run of the one who was
    served least recently."""
    served = (
        select(Run.owner_id.label("owner"), func.max(Run.started).label("at"))
        .group_by(Run.owner_id)
        .subquery()
    )
    queued = (
        select(Run.number)
        .outerjoin(served, served.c.owner == Run.owner_id)
        .where(Run.state == "queued", Run.instrument.in_(instruments))
        .order_by(func.coalesce(served.c.at, 0.0), Run.number)
        .limit(1)
    )
    while (number := rows.scalar(queued)) is not None:
        now = time.time()
        # The second condition makes it a single winner when several workers found the same run.
        claimed = (
            update(Run)
            .where(Run.number == number, Run.state == "queued")
            .values(state="leased", worker=worker, lease=now + LEASE_S, started=now)
            .returning(Run.number)
        )
        if rows.scalar(claimed) is not None:
            run = rows.get_one(Run, number, populate_existing=True)
            tell(rows, run)
            return run
    return None


def renew(rows: Transaction, number: int, worker: str, progress: float | None = None) -> bool:
    """Renew a lease and record progress, in percent. Returns whether the run is to go on."""
    values: dict[str, Any] = {"lease": time.time() + LEASE_S, "state": "running"}
    if progress is not None:
        values["progress"] = progress
    renewed = (
        update(Run)
        .where(Run.number == number, Run.worker == worker, Run.state.in_(ACTIVE))
        .values(values)
        .returning(Run.cancel)
    )
    cancel = rows.scalar(renewed)
    if cancel is False and progress is not None:
        run = rows.get(Run, number, populate_existing=True)
        if run is not None:
            tell(rows, run)
    return cancel is False


def finish(rows: Transaction, number: int, worker: str, state: str, reason: str = "") -> bool:
    """Record the end of a run. Returns False if it was not this worker's any more."""
    ended = (
        update(Run)
        .where(Run.number == number, Run.worker == worker, Run.state.in_(ACTIVE))
        .values(state=state, reason=reason[:2000], ended=time.time(), lease=None)
        .returning(Run.number)
    )
    if rows.scalar(ended) is None:
        return False
    run = rows.get(Run, number, populate_existing=True)
    if run is not None:
        if state == "done":
            run.progress = 1.0
        tell(rows, run)
    return True


def reclaim(rows: Transaction, dead: str | None = None) -> int:
    """End the leases that have run out, and those of the worker ``dead``. Returns their number."""
    lost = select(Run).where(Run.state.in_(ACTIVE))
    lost = lost.where(Run.lease < time.time()) if dead is None else lost.where(Run.worker == dead)
    found = rows.scalars(lost.with_for_update(of=Run, skip_locked=True)).all()
    for run in found:
        if run.state == "leased" and not run.cancel:
            run.state, run.worker, run.lease, run.started = "queued", None, None, None
        else:
            run.state = "cancelled" if run.cancel else "incomplete"
            run.reason = (
                "cancelled"
                if run.cancel
                else "the executor ended while this run was running; launch it again"
            )
            run.ended, run.lease = time.time(), None
        rows.flush()
        tell(rows, run)
    return len(found)


def cancel(rows: Transaction, run: Run) -> None:
    """Cancel a run: at once if it waits, and as soon as its worker notices otherwise."""
    if run.state == "queued":
        run.state, run.reason, run.ended = "cancelled", "cancelled before it started", time.time()
    elif run.state not in FINAL:
        run.cancel = True
    rows.flush()
    tell(rows, run)


def tell(rows: Transaction, run: Run) -> None:
    """Record the state of a run for those who watch it."""
    data = {"state": run.state, "progress": run.progress, "reason": run.reason}
    rows.add(Event(run_id=run.id, owner_id=run.owner_id, data=data))


def forget(rows: Transaction) -> None:
    """Remove old events."""
    rows.execute(delete(Event).where(Event.at < time.time() - KEEP_S))


def order(rows: Transaction) -> list[str]:
    """Returns the ids of the queued runs in the order in which they are expected to start."""
    waiting: dict[int, deque[str]] = defaultdict(deque)
    queued = select(Run.id, Run.owner_id).where(Run.state == "queued").order_by(Run.number)
    for run, owner in rows.execute(queued):
        waiting[owner].append(run)
    if not waiting:
        return []
    last: dict[int, float] = dict(
        rows.execute(
            select(Run.owner_id, func.max(Run.started))
            .where(Run.owner_id.in_(waiting))
            .group_by(Run.owner_id)
        ).all()  # type: ignore[arg-type]
    )
    turns = deque(sorted(waiting, key=lambda owner: last.get(owner) or 0.0))
    found = []
    while turns:
        owner = turns.popleft()
        found.append(waiting[owner].popleft())
        if waiting[owner]:
            turns.append(owner)
    return found


def rate(rows: Transaction) -> float:
    """Returns how many events per second the last simulations did, from which starts are expected."""
    last = (
        select(Run.events, Run.ended - Run.started)
        .where(Run.state == "done", Run.instrument == "simulate", Run.events > 0)
        .order_by(Run.number.desc())
        .limit(20)
    )
    found = [(events, seconds) for events, seconds in rows.execute(last) if seconds and seconds > 0]
    return sum(events for events, _ in found) / sum(seconds for _, seconds in found) if found else 1e6
