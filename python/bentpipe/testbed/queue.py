"""The queue of runs, stored in the table ``run``. A run is first queued, then leased by a worker,
then running, and finally done, failed, cancelled or incomplete.

A worker renews the lease of a run until the end of the run. After a lease has expired, a run that
had not started is queued again, and a run that had started is marked incomplete, so that no run is
executed twice.
"""

from __future__ import annotations

import time
from collections import defaultdict, deque
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final
from weakref import WeakKeyDictionary

from sqlalchemy import ColumnElement, and_, delete, func, select, update
from sqlalchemy.orm import Session as Transaction
from sqlalchemy.orm import defer

from .tables import ACTIVE, FINAL, Change, Event, Reservation, Run

#: Seconds after its last renewal at which a lease expires.
LEASE_S: Final = 30.0
#: Seconds for which events are kept.
EVENT_LIFETIME_S: Final = 3600.0
#: Instruments that need the machine exclusively.
EXCLUSIVE: Final = ("emulate",)
#: Maximum age of a cached plan of the queue, in seconds.
PLAN_S: Final = 0.5
#: Initial estimate of the events per second of runs in virtual time.
DEFAULT_RATE: Final = {"simulate": 1e6, "kernel": 1e5}
#: Seconds that a run takes in addition to its events, for start and report.
OVERHEAD_S: Final = 1.0


def claim(rows: Transaction, worker: str, instruments: Sequence[str], busy: bool = False) -> Run | None:
    """Leases the next run to a worker and returns the run; None if no run can start. Owners take
    turns: the next run belongs to the owner who was served least recently. If this run needs the
    machine exclusively and the worker is ``busy``, no other run starts before it."""
    served = (
        select(Run.owner_id.label("owner"), func.max(Run.started).label("at"))
        .group_by(Run.owner_id)
        .subquery()
    )
    queued = (
        select(Run.number, Run.instrument)
        .outerjoin(served, served.c.owner == Run.owner_id)
        .where(Run.state == "queued", Run.instrument.in_(instruments), ~_is_reserved(time.time()))
        .order_by(func.coalesce(served.c.at, 0.0), Run.number)
        .limit(1)
    )
    while (found := rows.execute(queued).first()) is not None:
        number, instrument = found
        if busy and instrument in EXCLUSIVE:
            return None
        now = time.time()
        # If several workers have found the same run, the condition on the state lets one succeed.
        claimed = (
            update(Run)
            .where(Run.number == number, Run.state == "queued")
            .values(state="leased", worker=worker, lease=now + LEASE_S, started=now)
            .returning(Run.number)
        )
        if rows.scalar(claimed) is not None:
            run = rows.get_one(Run, number, populate_existing=True)
            record_event(rows, run)
            return run
    return None


def _is_reserved(now: float) -> ColumnElement[bool]:
    """Returns the condition of runs in real time that would overlap a reservation of another
    account, from now until their expected end."""
    meets = select(Reservation.id).where(
        Reservation.user_id != Run.owner_id,
        Reservation.ends > now,
        Reservation.starts < now + OVERHEAD_S + Run.duration,
    )
    return and_(Run.instrument.in_(EXCLUSIVE), meets.exists())


def renew(rows: Transaction, number: int, worker: str, progress: float | None = None) -> bool:
    """Renews a lease and records progress in percent. Returns true if the run may continue."""
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
            record_event(rows, run)
    return cancel is False


def finish(
    rows: Transaction,
    number: int,
    worker: str,
    state: str,
    reason: str = "",
    results: Mapping[str, Any] = MappingProxyType({}),
) -> bool:
    """Records the end of a run and the columns of its ``results``. Returns false if the run no
    longer belonged to this worker."""
    ended = (
        update(Run)
        .where(Run.number == number, Run.worker == worker, Run.state.in_(ACTIVE))
        .values(state=state, reason=reason[:2000], ended=time.time(), lease=None, **results)
        .returning(Run.number)
    )
    if rows.scalar(ended) is None:
        return False
    run = rows.get(Run, number, populate_existing=True)
    if run is not None:
        if state == "done":
            run.progress = 1.0
        record_event(rows, run)
    return True


def reclaim(rows: Transaction, dead: str | None = None) -> int:
    """Ends expired leases, and the leases of the worker ``dead``. Returns their number."""
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
                else "the executor ended while the run was in progress; launch it again"
            )
            run.ended, run.lease = time.time(), None
        rows.flush()
        record_event(rows, run)
    return len(found)


def cancel(rows: Transaction, run: Run) -> None:
    """Cancels a run: at once if it is queued, otherwise as soon as its worker notices."""
    if run.state == "queued":
        run.state, run.reason, run.ended = "cancelled", "cancelled before it started", time.time()
    elif run.state not in FINAL:
        run.cancel = True
    rows.flush()
    record_event(rows, run)


def take_changes(rows: Transaction, number: int) -> list[tuple[int, str, str]]:
    """Returns the manual changes of a run that were not sent yet (number, key and value), and marks
    them as sent."""
    found = rows.scalars(
        select(Change).where(Change.run_number == number, ~Change.passed).order_by(Change.id)
    ).all()
    for one in found:
        one.passed = True
    return [(one.id, one.key, one.value) for one in found]


def record_answers(rows: Transaction, number: int, answers: Sequence[Mapping[str, Any]]) -> None:
    """Records the results of manual changes."""
    for one in answers:
        rows.execute(
            update(Change)
            .where(Change.id == one["number"], Change.run_number == number)
            .values(done=one["time"], refused=one["refused"])
        )


def record_event(rows: Transaction, run: Run) -> None:
    """Records the state of a run as an event for its viewers."""
    _plans.pop(rows.get_bind(), None)
    data: dict[str, Any] = {"state": run.state, "progress": run.progress, "reason": run.reason}
    if run.state in FINAL:
        # For notifications, which need no further request.
        data |= {"owner": run.owner_id, "number": run.number, "name": run.name}
        data |= {"label": run.label, "verdict": run.verdict}
    rows.add(Event(run_id=run.id, owner_id=run.owner_id, data=data))


def remove_old_events(rows: Transaction) -> None:
    """Removes events older than :data:`EVENT_LIFETIME_S`."""
    rows.execute(delete(Event).where(Event.at < time.time() - EVENT_LIFETIME_S))


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


def plan(rows: Transaction, slots: int) -> dict[str, tuple[int, float]]:
    """Returns the position of every queued run, and the seconds until its expected start. Assumes
    ``slots`` concurrent runs in the order of :func:`order`. A run that needs the machine
    exclusively waits until all others have ended.

    Every page with runs requests the plan, so the plan is cached for half a second, or until this
    process records a change."""
    engine, now = rows.get_bind(), time.monotonic()
    known = _plans.get(engine)
    if known is None or known[0] != slots or now - known[1] > PLAN_S:
        known = _plans[engine] = (slots, now, _plan(rows, slots))
    return known[2]


#: Cached plans by database, with their number of slots and time.
_plans: WeakKeyDictionary[Any, tuple[int, float, dict[str, tuple[int, float]]]] = WeakKeyDictionary()


def _plan(rows: Transaction, slots: int) -> dict[str, tuple[int, float]]:
    ordered = order(rows)
    if not ordered:
        return {}
    rates = {instrument: rate(rows, instrument) for instrument in DEFAULT_RATE}
    now = time.time()
    free = []
    for run in rows.scalars(select(Run).options(defer(Run.scenario)).where(Run.state.in_(ACTIVE))):
        passed = max(0.0, now - (run.started or now))
        # Extrapolated from the progress, after the first 2 %.
        whole = (
            passed / run.progress
            if run.progress > 0.02
            else max(passed, expected_seconds(_needs(run), rates))
        )
        free.append(max(0.0, whole - passed))
    free = sorted([*free, *[0.0] * max(0, slots - len(free))])
    needs = {
        name: (instrument, pace, duration, events)
        for name, instrument, pace, duration, events in rows.execute(
            select(Run.id, Run.instrument, Run.pace, Run.duration, Run.events).where(Run.state == "queued")
        )
    }
    places, earliest = {}, 0.0
    for place, name in enumerate(ordered, 1):
        if name not in needs:
            continue
        alone = needs[name][0] in EXCLUSIVE
        start = max(free[-1] if alone else free[0], earliest)
        ended = start + expected_seconds(needs[name], rates)
        free = [ended] * len(free) if alone else sorted([*free[1:], ended])
        places[name] = (place, start)
        earliest = start
    return places


def _needs(run: Run) -> tuple[str, float | None, float, float]:
    return run.instrument, run.pace, run.duration, run.events


def expected_seconds(needs: tuple[str, float | None, float, float], rates: Mapping[str, float]) -> float:
    """Returns the expected real time of a run in seconds. ``needs`` are instrument, pace, duration
    of the scenario, and number of events; ``rates`` are events per second by instrument."""
    instrument, pace, duration, events = needs
    seconds = events / rates[instrument] if instrument in rates else 0.0
    if pace is not None or instrument in EXCLUSIVE:
        seconds = max(seconds, duration / (pace or 1.0))
    return OVERHEAD_S + seconds


def rate(rows: Transaction, instrument: str) -> float:
    """Returns the events per second of the latest runs of an instrument."""
    last = (
        select(Run.events, Run.ended - Run.started)
        .where(Run.state == "done", Run.instrument == instrument, Run.events > 0, Run.pace.is_(None))
        .order_by(Run.number.desc())
        .limit(20)
    )
    found = [(events, seconds) for events, seconds in rows.execute(last) if seconds and seconds > 0]
    if not found:
        return DEFAULT_RATE[instrument]
    return sum(events for events, _ in found) / sum(seconds for _, seconds in found)
