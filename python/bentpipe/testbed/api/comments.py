"""Comments on runs. Everyone who may see a run sees its comments; users may add some."""

from __future__ import annotations

from typing import Annotated, Final

from fastapi import APIRouter
from pydantic import BaseModel, Field
from sqlalchemy import func, select

from bentpipe.testbed.accounts import Caller, record_action
from bentpipe.testbed.refused import Refused
from bentpipe.testbed.tables import Comment

from .callers import AnyCaller, Database, Number, UserOrAbove, owns
from .runs import readable_run
from .sessions import Strict

router = APIRouter(tags=["runs"])

#: Largest number of comments on a run.
MAX_COMMENTS: Final = 500


class Remark(BaseModel):
    """A comment on a run. ``mine`` is true if the caller may remove it."""

    id: int
    user: str
    at: float
    text: str
    mine: bool


class NewRemark(Strict):
    """The text of a new comment."""

    text: Annotated[str, Field(min_length=1, max_length=2000, pattern=r"\S")]


@router.get("/runs/{run}/comments")
def comments(run: str, who: AnyCaller, store: Database) -> list[Remark]:
    """Returns the comments on a run, oldest first."""
    with store.reading() as rows:
        row = readable_run(rows, run, who)
        found = select(Comment).where(Comment.run_number == row.number).order_by(Comment.id)
        return [_remark(one, row.owner_id, who) for one in rows.scalars(found)]


@router.post("/runs/{run}/comments", status_code=201)
def comment(run: str, given: NewRemark, who: UserOrAbove, store: Database) -> Remark:
    """Adds a comment to a run that the caller may see."""
    with store.writing() as rows:
        row = readable_run(rows, run, who)
        count = rows.scalar(select(func.count()).where(Comment.run_number == row.number)) or 0
        if count >= MAX_COMMENTS:
            raise Refused(409, f"the run has {MAX_COMMENTS} comments, the limit")
        made = Comment(run_number=row.number, user_id=who.id, text=given.text.strip())
        rows.add(made)
        rows.flush()
        rows.refresh(made)
        record_action(rows, who, "comment", f"{row.name} {row.number}")
        return _remark(made, row.owner_id, who)


@router.delete("/runs/{run}/comments/{comment}", status_code=204)
def remove_comment(run: str, comment: Number, who: UserOrAbove, store: Database) -> None:
    """Removes a comment: of the caller, or on a run of the caller."""
    with store.writing() as rows:
        row = readable_run(rows, run, who)
        found = rows.get(Comment, comment)
        if found is None or found.run_number != row.number:
            raise Refused(404, "there is no such comment")
        if not _may_remove(found, row.owner_id, who):
            raise Refused(403, "this comment belongs to another user")
        rows.delete(found)
        record_action(rows, who, "remove comment", f"{row.name} {row.number}")


def _may_remove(one: Comment, owner: int, who: Caller) -> bool:
    return owns(who, one.user_id) or owns(who, owner)


def _remark(one: Comment, owner: int, who: Caller) -> Remark:
    return Remark(id=one.id, user=one.user.name, at=one.at, text=one.text, mine=_may_remove(one, owner, who))
