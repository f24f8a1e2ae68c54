"""Courses: named groups of accounts, with which configurations and runs can be shared."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter
from pydantic import BaseModel, Field
from sqlalchemy import delete, func, or_, select, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session as Transaction

from bentpipe.testbed.accounts import Caller, record_action
from bentpipe.testbed.refused import Refused
from bentpipe.testbed.tables import Configuration, Course, Member, Run, User

from .callers import AnyCaller, Database, Number, UserOrAbove, owns
from .sessions import Strict

router = APIRouter(tags=["courses"])

#: Largest number of courses of an owner.
MAX_COURSES = 50


class CourseEntry(BaseModel):
    """A course with the names of its members. ``mine`` is true if the caller may change it."""

    id: int
    name: str
    owner: str
    mine: bool
    members: list[str]


class NewCourse(Strict):
    """The name of a new course."""

    name: Annotated[str, Field(min_length=1, max_length=64, pattern=r"^[^\x00-\x1f\x7f]+$")]


class Members(Strict):
    """The names of all members of a course."""

    members: Annotated[list[Annotated[str, Field(max_length=64)]], Field(max_length=500)]


@router.get("/courses")
def courses(who: AnyCaller, store: Database) -> list[CourseEntry]:
    """Returns the courses to which the caller belongs, and those that the caller may change."""
    found = select(Course).order_by(Course.name)
    if not who.is_at_least("administrator"):
        joined = select(Member.course_id).where(Member.user_id == who.id)
        found = found.where(or_(Course.owner_id == who.id, Course.id.in_(joined)))
    with store.reading() as rows:
        return [_entry(rows, one, who) for one in rows.scalars(found)]


@router.post("/courses", status_code=201)
def create(given: NewCourse, who: UserOrAbove, store: Database) -> CourseEntry:
    """Creates a course of the caller."""
    with store.writing() as rows:
        count = rows.scalar(select(func.count()).where(Course.owner_id == who.id)) or 0
        if count >= MAX_COURSES:
            raise Refused(409, f"you have {MAX_COURSES} courses, the limit; remove one first")
        row = Course(name=given.name, owner_id=who.id)
        rows.add(row)
        try:
            rows.flush()
        except IntegrityError:
            raise Refused(409, f'a course "{given.name}" already exists; choose another name') from None
        record_action(rows, who, "create course", given.name)
        return _entry(rows, row, who)


@router.put("/courses/{course}/members")
def set_members(course: Number, given: Members, who: UserOrAbove, store: Database) -> CourseEntry:
    """Replaces the members of a course."""
    with store.writing() as rows:
        row = _own(rows, course, who)
        wanted = set(given.members)
        known = {user.name: user.id for user in rows.scalars(select(User).where(User.name.in_(wanted)))}
        if unknown := sorted(wanted - set(known)):
            raise Refused(422, f"there is no account {unknown[0]}")
        rows.execute(delete(Member).where(Member.course_id == row.id))
        rows.add_all(Member(course_id=row.id, user_id=user) for user in known.values())
        rows.flush()
        record_action(rows, who, "change members", f"{row.name}: {len(known)}")
        return _entry(rows, row, who)


@router.delete("/courses/{course}", status_code=204)
def remove(course: Number, who: UserOrAbove, store: Database) -> None:
    """Removes a course. Configurations and runs that were shared with it are private again."""
    with store.writing() as rows:
        row = _own(rows, course, who)
        for table in (Configuration, Run):
            rows.execute(update(table).where(table.course_id == row.id).values(course_id=None))
        rows.delete(row)
        record_action(rows, who, "remove course", row.name)


def course_of(rows: Transaction, course: int, who: Caller) -> Course:
    """Returns a course with which the caller may share: one to which the caller belongs, or that
    the caller may change. Raises :class:`Refused`, which reports other courses as missing."""
    row = rows.get(Course, course)
    if row is None or not (owns(who, row.owner_id) or rows.get(Member, (course, who.id)) is not None):
        raise Refused(404, "there is no such course")
    return row


def _own(rows: Transaction, course: int, who: Caller) -> Course:
    row = course_of(rows, course, who)
    if not owns(who, row.owner_id):
        raise Refused(403, "this course belongs to another user")
    return row


def _entry(rows: Transaction, row: Course, who: Caller) -> CourseEntry:
    names = select(User.name).join(Member, Member.user_id == User.id).where(Member.course_id == row.id)
    return CourseEntry(
        id=row.id,
        name=row.name,
        owner=row.owner.name,
        mine=owns(who, row.owner_id),
        members=list(rows.scalars(names.order_by(User.name))),
    )
