"""Quotas: the use of the limits of a level by an account."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from sqlalchemy import case, func, select
from sqlalchemy.orm import Session as Transaction

from .refused import Refused
from .rules import OF_LEVEL
from .tables import ACTIVE, Configuration, Run, User


@dataclass(frozen=True)
class Used:
    """The numbers of waiting and running runs, of stored runs and of configurations, and the size
    of the stored runs' files in bytes."""

    queued: int = 0
    runs: int = 0
    configurations: int = 0
    stored: int = 0


NOTHING: Final = Used()


def used(rows: Transaction, account: int | None = None) -> Mapping[int, Used]:
    """Returns the use of all accounts, or of one, by the number of the account."""
    waiting = func.sum(case((Run.state.in_(("queued", *ACTIVE)), 1), else_=0))
    runs = select(Run.owner_id, func.count(), waiting, func.sum(Run.bytes)).group_by(Run.owner_id)
    saved = select(Configuration.owner_id, func.count()).group_by(Configuration.owner_id)
    if account is not None:
        runs, saved = runs.where(Run.owner_id == account), saved.where(Configuration.owner_id == account)
    configurations: dict[int, int] = dict(rows.execute(saved).all())
    of_runs = {owner: (count, queued, size) for owner, count, queued, size in rows.execute(runs)}
    found = {}
    for owner in {*configurations, *of_runs}:
        count, queued, size = of_runs.get(owner, (0, 0, 0))
        found[owner] = Used(int(queued), count, configurations.get(owner, 0), int(size))
    return found


def check_room(rows: Transaction, account: int, level: str, more: int) -> None:
    """Checks the limits of a level on queued runs, stored runs and their files, before ``more``
    runs are launched. Raises :class:`Refused`."""
    limits = OF_LEVEL[level]
    # Simultaneous launches of an account take turns. In SQLite, all writers do.
    rows.execute(select(User.id).where(User.id == account).with_for_update())
    now = used(rows, account).get(account, NOTHING)
    if now.queued + more > limits.queued:
        raise Refused(
            409,
            f"{now.queued} of your runs are waiting, and {more} more would exceed the limit of {limits.queued} of your"
            " level; launch again after some have ended, or cancel some",
        )
    if now.runs + more > limits.runs:
        raise Refused(
            409, f"you have {now.runs} stored runs; your level allows {limits.runs}: remove some first"
        )
    if now.stored > limits.stored:
        raise Refused(
            409,
            f"your runs take {now.stored // 1_000_000} MB; your level allows {limits.stored // 1_000_000} MB:"
            " remove some first",
        )
