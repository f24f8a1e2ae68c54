"""Saved views: named filters, orders and columns of a user's list of runs."""

from __future__ import annotations

from typing import Annotated, Final

from fastapi import APIRouter
from fastapi import Path as PathParameter
from pydantic import BaseModel, Field
from sqlalchemy import func, select

from bentpipe.testbed.refused import Refused
from bentpipe.testbed.tables import SavedView

from .callers import AnyCaller, Database, UserOrAbove
from .sessions import Strict

router = APIRouter(tags=["runs"])

#: Largest number of saved views of a user.
MAX_VIEWS: Final = 50

ViewName = Annotated[str, PathParameter(min_length=1, max_length=64)]


class View(BaseModel):
    """A saved view: its name, and the parameters of the page's address."""

    name: str
    query: str


class ViewQuery(Strict):
    """The parameters of the page's address."""

    query: Annotated[str, Field(max_length=2000)]


@router.get("/views")
def views(who: AnyCaller, store: Database) -> list[View]:
    """Returns the saved views of the caller, by name."""
    found = select(SavedView).where(SavedView.user_id == who.id).order_by(SavedView.name)
    with store.reading() as rows:
        return [View(name=one.name, query=one.query) for one in rows.scalars(found)]


@router.put("/views/{name}")
def save_view(name: ViewName, given: ViewQuery, who: UserOrAbove, store: Database) -> View:
    """Saves a view, or replaces the view with the same name."""
    of_caller = SavedView.user_id == who.id
    with store.writing() as rows:
        row = rows.scalar(select(SavedView).where(of_caller, SavedView.name == name))
        if row is None:
            if (rows.scalar(select(func.count()).where(of_caller)) or 0) >= MAX_VIEWS:
                raise Refused(409, f"you have {MAX_VIEWS} saved views, the limit; remove one first")
            row = SavedView(user_id=who.id, name=name)
            rows.add(row)
        row.query = given.query
    return View(name=name, query=given.query)


@router.delete("/views/{name}", status_code=204)
def remove_view(name: ViewName, who: AnyCaller, store: Database) -> None:
    """Removes a saved view of the caller."""
    with store.writing() as rows:
        row = rows.scalar(select(SavedView).where(SavedView.user_id == who.id, SavedView.name == name))
        if row is None:
            raise Refused(404, "there is no such view")
        rows.delete(row)
