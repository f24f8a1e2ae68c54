"""The tables of the test bed's database. :mod:`bentpipe.testbed.migrations` creates and changes
them."""

from __future__ import annotations

import secrets
import time
from typing import Any, Final

from sqlalchemy import (
    JSON,
    BigInteger,
    Float,
    ForeignKey,
    Index,
    Integer,
    String,
    Text,
    UniqueConstraint,
    func,
    select,
)
from sqlalchemy.orm import DeclarativeBase, Mapped, column_property, foreign, mapped_column, relationship

#: The levels of accounts; each includes the rights of the previous levels.
LEVELS: Final = ("guest", "user", "administrator")

#: States of a run in the queue. The last four are final.
STATES: Final = ("queued", "leased", "running", "done", "failed", "cancelled", "incomplete")
FINAL: Final = STATES[3:]
ACTIVE: Final = STATES[1:3]

#: Keeps SQLite from reusing the highest number after its row was removed.
AUTOINCREMENT: Final = {"sqlite_autoincrement": True}


def identifier() -> str:
    """Returns an unguessable identifier for a row."""
    return secrets.token_hex(8)


class Base(DeclarativeBase):
    """The base of all tables. Times are seconds of Unix time."""

    type_annotation_map = {dict[str, Any]: JSON, list[Any]: JSON}  # noqa: RUF012 - SQLAlchemy reads it from the class


class User(Base):
    """An account of the test bed."""

    __tablename__ = "account"
    __table_args__ = AUTOINCREMENT
    id: Mapped[int] = mapped_column(Integer, primary_key=True)
    name: Mapped[str] = mapped_column(String(64), unique=True)
    password: Mapped[str] = mapped_column(String(200))
    level: Mapped[str] = mapped_column(String(16))
    created: Mapped[float] = mapped_column(Float, default=time.time)
    #: False for an account that cannot log in. Its configurations and runs remain.
    active: Mapped[bool] = mapped_column(default=True)


class Session(Base):
    """A session of a browser, or a token of a program. Only the hash of the secret is stored."""

    __tablename__ = "session"
    hash: Mapped[str] = mapped_column(String(64), primary_key=True)
    id: Mapped[str] = mapped_column(String(32), unique=True, default=identifier)
    user_id: Mapped[int] = mapped_column(ForeignKey("account.id", ondelete="CASCADE"), index=True)
    kind: Mapped[str] = mapped_column(String(16))
    name: Mapped[str] = mapped_column(String(64), default="")
    #: Permission of a token: "read" or "write".
    scope: Mapped[str] = mapped_column(String(16), default="write")
    created: Mapped[float] = mapped_column(Float, default=time.time)
    used: Mapped[float] = mapped_column(Float, default=time.time)
    expires: Mapped[float] = mapped_column(Float)
    user: Mapped[User] = relationship(lazy="joined")


class Invitation(Base):
    """A link that creates one account of a level, or resets the password of the account with the
    number ``resets``. Only the hash of its secret is stored."""

    __tablename__ = "invitation"
    hash: Mapped[str] = mapped_column(String(64), primary_key=True)
    id: Mapped[str] = mapped_column(String(32), default=identifier)
    level: Mapped[str] = mapped_column(String(16))
    resets: Mapped[int | None] = mapped_column(Integer)
    by: Mapped[str] = mapped_column(String(64), default="")
    created: Mapped[float] = mapped_column(Float, default=time.time)
    expires: Mapped[float] = mapped_column(Float)


class Attempt(Base):
    """A failed log-in to an account or from an address."""

    __tablename__ = "attempt"
    id: Mapped[int] = mapped_column(Integer, primary_key=True)
    who: Mapped[str] = mapped_column(String(100), index=True)
    at: Mapped[float] = mapped_column(Float, default=time.time)


class Course(Base):
    """A named group of accounts, with which configurations and runs can be shared. Its owner and
    administrators change its members."""

    __tablename__ = "course"
    __table_args__ = AUTOINCREMENT
    id: Mapped[int] = mapped_column(Integer, primary_key=True)
    name: Mapped[str] = mapped_column(String(64), unique=True)
    owner_id: Mapped[int] = mapped_column(ForeignKey("account.id", ondelete="CASCADE"), index=True)
    owner: Mapped[User] = relationship()


class Member(Base):
    """The membership of an account in a course."""

    __tablename__ = "member"
    course_id: Mapped[int] = mapped_column(ForeignKey("course.id", ondelete="CASCADE"), primary_key=True)
    user_id: Mapped[int] = mapped_column(
        ForeignKey("account.id", ondelete="CASCADE"), primary_key=True, index=True
    )


class Configuration(Base):
    """A named scenario of a user. ``origin`` is the text that `reset` restores."""

    __tablename__ = "configuration"
    __table_args__ = (UniqueConstraint("owner_id", "name"),)
    id: Mapped[str] = mapped_column(String(32), primary_key=True, default=identifier)
    owner_id: Mapped[int] = mapped_column(ForeignKey("account.id", ondelete="CASCADE"), index=True)
    name: Mapped[str] = mapped_column(String(120))
    text: Mapped[str] = mapped_column(Text)
    origin: Mapped[str] = mapped_column(Text)
    positions: Mapped[dict[str, Any]] = mapped_column(default=dict)
    shared: Mapped[bool] = mapped_column(default=False)
    version: Mapped[int] = mapped_column(Integer, default=1)
    changed: Mapped[float] = mapped_column(Float, default=time.time)
    #: The description and the picture of the scenario, computed when its text was saved. The
    #: picture of an invalid scenario is unset.
    about: Mapped[str] = mapped_column(String(300), default="")
    picture: Mapped[dict[str, Any] | None]
    #: Tags, each between two spaces.
    tags: Mapped[str] = mapped_column(String(600), default="")
    #: The course that may see the configuration. The number of a removed course is never reused, so
    #: the column needs no foreign key, which SQLite could only add by a copy of the table.
    course_id: Mapped[int | None] = mapped_column(Integer)
    course: Mapped[Course | None] = relationship(
        primaryjoin=lambda: foreign(Configuration.course_id) == Course.id, viewonly=True
    )
    owner: Mapped[User] = relationship(lazy="joined")


class Change(Base):
    """A manual change of a run's scenario while it is in progress. ``done`` is the time of the
    change in seconds of the run, and ``refused`` the reason of a refusal; both are unset until the
    run has answered."""

    __tablename__ = "change"
    id: Mapped[int] = mapped_column(Integer, primary_key=True)
    run_number: Mapped[int] = mapped_column(ForeignKey("run.number", ondelete="CASCADE"), index=True)
    user: Mapped[str] = mapped_column(String(64))
    at: Mapped[float] = mapped_column(Float, default=time.time)
    key: Mapped[str] = mapped_column(String(200))
    value: Mapped[str] = mapped_column(String(500))
    #: True once the change was sent to the run.
    passed: Mapped[bool] = mapped_column(default=False)
    done: Mapped[float | None] = mapped_column(Float)
    refused: Mapped[str | None] = mapped_column(Text)


class Run(Base):
    """A run, queued, in progress or ended."""

    __tablename__ = "run"
    __table_args__ = (
        UniqueConstraint("owner_id", "once"),
        Index("run_queue", "state", "number"),
        Index("run_of_owner", "owner_id", "number"),
        Index("run_turn", "owner_id", "started"),
        Index("run_rate", "instrument", "state", "number"),
        Index("run_goodput", "goodput"),
        Index("run_use", "owner_id", "state", "bytes"),
        AUTOINCREMENT,
    )
    number: Mapped[int] = mapped_column(Integer, primary_key=True)
    id: Mapped[str] = mapped_column(String(32), unique=True, default=identifier)
    owner_id: Mapped[int] = mapped_column(ForeignKey("account.id", ondelete="CASCADE"))
    configuration_id: Mapped[str | None] = mapped_column(
        ForeignKey("configuration.id", ondelete="SET NULL"), index=True
    )
    name: Mapped[str] = mapped_column(String(120))
    #: Identifier of a launch: the variants of a campaign, or one scenario with several instruments.
    batch: Mapped[str | None] = mapped_column(String(32), index=True)
    label: Mapped[str] = mapped_column(String(200), default="")
    instrument: Mapped[str] = mapped_column(String(16))
    replication: Mapped[int] = mapped_column(Integer, default=0)
    #: The values that a campaign varies, as text by key path; unset for runs of versions that did
    #: not record them.
    variation: Mapped[dict[str, Any] | None]
    #: Confidence level of the intervals of means, from the campaign.
    confidence: Mapped[float] = mapped_column(Float, default=0.95)
    #: Seconds of the scenario per second of real time, for a slowed-down simulation.
    pace: Mapped[float | None] = mapped_column(Float)
    #: The resolved scenario of the run.
    scenario: Mapped[str] = mapped_column(Text)
    #: Idempotency key: identifies a launch, so that a repeated request does not launch again.
    once: Mapped[str | None] = mapped_column(String(64))
    state: Mapped[str] = mapped_column(String(16), default="queued")
    reason: Mapped[str] = mapped_column(Text, default="")
    progress: Mapped[float] = mapped_column(Float, default=0.0)
    events: Mapped[float] = mapped_column(Float, default=0.0)
    #: Seconds on the scenario's clock.
    duration: Mapped[float] = mapped_column(Float, default=0.0)
    queued: Mapped[float] = mapped_column(Float, default=time.time)
    started: Mapped[float | None] = mapped_column(Float)
    ended: Mapped[float | None] = mapped_column(Float)
    worker: Mapped[str | None] = mapped_column(String(64))
    lease: Mapped[float | None] = mapped_column(Float)
    cancel: Mapped[bool] = mapped_column(default=False)
    shared: Mapped[bool] = mapped_column(default=False)
    baseline: Mapped[bool] = mapped_column(default=False)
    #: Results of the run for lists: see :class:`bentpipe.testbed.summaries.Summary`.
    goodput: Mapped[float | None] = mapped_column(Float)
    rtt: Mapped[float | None] = mapped_column(Float)
    delay: Mapped[float | None] = mapped_column(Float)
    timeouts: Mapped[int | None] = mapped_column(BigInteger)
    mos: Mapped[float | None] = mapped_column(Float)
    #: Fidelity of a run of real kernels; empty for other runs.
    verdict: Mapped[str] = mapped_column(String(16), default="")
    #: Size of the run's files.
    bytes: Mapped[int] = mapped_column(BigInteger, default=0)
    notes: Mapped[str] = mapped_column(Text, default="")
    #: Tags, each between two spaces.
    tags: Mapped[str] = mapped_column(String(600), default="")
    #: The course that may see the run.
    course_id: Mapped[int | None] = mapped_column(Integer)
    course: Mapped[Course | None] = relationship(
        primaryjoin=lambda: foreign(Run.course_id) == Course.id, viewonly=True
    )
    owner: Mapped[User] = relationship(lazy="joined")
    #: Number of manual changes.
    changed: Mapped[int] = column_property(
        select(func.count(Change.id))
        .where(Change.run_number == number, Change.done.is_not(None), Change.refused.is_(None))
        .correlate_except(Change)
        .scalar_subquery(),
        deferred=True,
    )


class Comment(Base):
    """A comment on a run by a user who may see the run."""

    __tablename__ = "comment"
    id: Mapped[int] = mapped_column(Integer, primary_key=True)
    run_number: Mapped[int] = mapped_column(ForeignKey("run.number", ondelete="CASCADE"), index=True)
    user_id: Mapped[int] = mapped_column(ForeignKey("account.id", ondelete="CASCADE"), index=True)
    at: Mapped[float] = mapped_column(Float, default=time.time)
    text: Mapped[str] = mapped_column(Text)
    user: Mapped[User] = relationship(lazy="joined")


class SavedView(Base):
    """A named view of the list of runs: the parameters of its address."""

    __tablename__ = "saved_view"
    __table_args__ = (UniqueConstraint("user_id", "name"),)
    id: Mapped[int] = mapped_column(Integer, primary_key=True)
    user_id: Mapped[int] = mapped_column(ForeignKey("account.id", ondelete="CASCADE"))
    name: Mapped[str] = mapped_column(String(64))
    query: Mapped[str] = mapped_column(String(2000))


class Reservation(Base):
    """A span of time in which only runs in real time of one account start."""

    __tablename__ = "reservation"
    id: Mapped[int] = mapped_column(Integer, primary_key=True)
    user_id: Mapped[int] = mapped_column(ForeignKey("account.id", ondelete="CASCADE"), index=True)
    starts: Mapped[float] = mapped_column(Float, index=True)
    ends: Mapped[float] = mapped_column(Float)
    note: Mapped[str] = mapped_column(String(200), default="")
    user: Mapped[User] = relationship(lazy="joined")


class Event(Base):
    """A change of a run's state, to be sent to browsers. Old events are removed."""

    __tablename__ = "event"
    id: Mapped[int] = mapped_column(Integer, primary_key=True)
    run_id: Mapped[str] = mapped_column(String(32), index=True)
    owner_id: Mapped[int] = mapped_column(Integer)
    at: Mapped[float] = mapped_column(Float, default=time.time)
    data: Mapped[dict[str, Any]]


class Audit(Base):
    """An entry of the audit log: account and action. Rows are never changed or removed."""

    __tablename__ = "audit"
    id: Mapped[int] = mapped_column(Integer, primary_key=True)
    at: Mapped[float] = mapped_column(Float, default=time.time)
    user_id: Mapped[int | None] = mapped_column(Integer, index=True)
    user: Mapped[str] = mapped_column(String(64))
    action: Mapped[str] = mapped_column(String(64))
    what: Mapped[str] = mapped_column(String(200), default="")
