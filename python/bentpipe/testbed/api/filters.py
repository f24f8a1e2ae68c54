"""Filters and orders of the list of runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Final, Literal

from pydantic import Field
from sqlalchemy import Select, or_
from sqlalchemy.sql.elements import ColumnElement

from bentpipe.testbed.tables import Run, User

from .callers import Number
from .sessions import Strict

Instrument = Literal["simulate", "kernel", "emulate"]
State = Literal["queued", "leased", "running", "done", "failed", "cancelled", "incomplete"]
#: A tag of a run or configuration.
Tag = Annotated[str, Field(pattern=r"^[^\W_][\w.:+-]{0,29}$")]
Tags = Annotated[list[Tag], Field(max_length=12)]

#: The columns by which the list can be sorted.
_ORDERS: Final[dict[str, Any]] = {
    "number": Run.number,
    "name": Run.name,
    "owner": User.name,
    "instrument": Run.instrument,
    "state": Run.state,
    "queued": Run.queued,
    "seconds": Run.ended - Run.started,
    "events": Run.events,
    "bytes": Run.bytes,
    "goodput": Run.goodput,
    "rtt": Run.rtt,
    "delay": Run.delay,
    "timeouts": Run.timeouts,
    "mos": Run.mos,
}
Order = Literal[
    "number",
    "name",
    "owner",
    "instrument",
    "state",
    "queued",
    "seconds",
    "events",
    "bytes",
    "goodput",
    "rtt",
    "delay",
    "timeouts",
    "mos",
]
#: The fidelity of runs, and "changed" for runs that were changed manually.
Verdict = Literal["valid", "degraded", "void", "changed"]


class Filter(Strict):
    """Conditions on runs. A run matches if it meets all of them. ``search`` is a part of the name,
    the label, the notes or a tag."""

    state: State | None = None
    search: Annotated[str, Field(max_length=100)] = ""
    batch: Annotated[str, Field(max_length=32)] = ""
    configuration: Annotated[str, Field(max_length=32)] = ""
    owner: Annotated[str, Field(max_length=64)] = ""
    instrument: Instrument | Literal["study"] | None = None
    tag: Annotated[str, Field(max_length=30)] = ""
    verdict: Verdict | None = None


class Listing(Filter):
    """A page of the list of matching runs: ``limit`` runs after the first ``offset``, sorted by
    ``sort``. Runs without a value come last."""

    sort: Order = "number"
    descending: bool = True
    before: Number | None = None
    offset: Number = 0
    limit: Annotated[int, Field(ge=1, le=200)] = 50


def conditions(given: Filter) -> list[ColumnElement[bool]]:
    """Returns the conditions of a filter, for queries of runs joined with their owners."""
    found: list[ColumnElement[bool]] = []
    if given.state is not None:
        found.append(Run.state == given.state)
    if given.search:
        columns = (Run.name, Run.label, Run.notes, Run.tags)
        found.append(or_(*(one.icontains(given.search, autoescape=True) for one in columns)))
    if given.batch:
        found.append(Run.batch == given.batch)
    if given.configuration:
        found.append(Run.configuration_id == given.configuration)
    if given.owner:
        found.append(User.name == given.owner)
    if given.instrument is not None:
        found.append(Run.instrument == given.instrument)
    if given.tag:
        found.append(Run.tags.contains(f" {given.tag} ", autoescape=True))
    if given.verdict == "changed":
        found.append(Run.changed.expression > 0)
    elif given.verdict is not None:
        found.append(Run.verdict == given.verdict)
    return found


def page_of(found: Select[Any], given: Listing) -> Select[Any]:
    """Returns a query of runs restricted to a page."""
    found = found.where(*conditions(given))
    if given.before is not None:
        found = found.where(Run.number < given.before)
    column = _ORDERS[given.sort]
    order = column.desc() if given.descending else column.asc()
    number = Run.number.desc() if given.descending else Run.number.asc()
    orders = [number] if given.sort == "number" else [order.nulls_last(), number]
    return found.order_by(*orders).offset(given.offset).limit(given.limit)


def stored(tags: Sequence[str]) -> str:
    """Returns tags as the text that the tables store."""
    return f" {' '.join(dict.fromkeys(tags))} " if tags else ""
