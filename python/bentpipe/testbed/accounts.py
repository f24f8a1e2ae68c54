"""Accounts: passwords, sessions, tokens and invitations.

A session of a browser and a token of a program are random secrets. The table ``session`` stores
only their hashes, so a stolen database contains no usable secret, and a session ends at once when
its row is removed. Passwords are hashed with argon2id (RFC 9106).
"""

from __future__ import annotations

import hashlib
import re
import secrets
import time
from dataclasses import dataclass, field
from typing import Final

from argon2 import PasswordHasher
from argon2.exceptions import Argon2Error, InvalidHashError
from sqlalchemy import ColumnElement, delete, func, or_, select, update
from sqlalchemy.orm import Session as Transaction

from .refused import Refused
from .store import Store
from .tables import LEVELS, Attempt, Audit, Invitation, Session, User

#: Seconds after which an idle session of a browser ends, and after which every such session ends.
IDLE_S: Final = 12 * 3600.0
ABSOLUTE_S: Final = 14 * 24 * 3600.0
TOKEN_S: Final = 365 * 24 * 3600.0
INVITATION_S: Final = 7 * 24 * 3600.0
RESET_S: Final = 24 * 3600.0

#: After so many failed log-ins within ``WINDOW_S`` seconds, further log-ins are refused: to an
#: account from one address, from an address, and to an account from all addresses. The last limit
#: is out of reach for a single address, which therefore cannot lock an account for others.
WINDOW_S: Final = 900.0
MAX_FAILURES_OF_ACCOUNT: Final = 10
MAX_FAILURES_OF_ADDRESS: Final = 50
MAX_FAILURES_OF_ACCOUNT_ANYWHERE: Final = 1000

#: Smallest and largest length of a password. The maximum bounds the cost of hashing.
PASSWORD: Final = (10, 256)
NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,31}")

#: Prefix of tokens of the command line, which makes a leaked token recognisable.
TOKEN_PREFIX: Final = "bpt_"

INACTIVE: Final = "this account is inactive; ask an administrator"

_hasher = PasswordHasher(parallelism=1)
#: Hash to compare with if the name is unknown, so that the response takes the same time.
_NOBODY: Final = _hasher.hash(secrets.token_urlsafe())


@dataclass(frozen=True)
class Caller:
    """The account and the session or token of a request."""

    id: int
    name: str
    level: str
    session: str
    kind: str
    scope: str
    #: Recorded time of the last use of the session.
    used: float = field(default=0.0, compare=False)

    def is_at_least(self, level: str) -> bool:
        """Returns true if the account has at least the rights of ``level``."""
        return LEVELS.index(self.level) >= LEVELS.index(level)


def digest(secret: str) -> str:
    """Returns the hash of a random secret."""
    return hashlib.sha256(secret.encode()).hexdigest()


def password_hash(password: str) -> str:
    """Returns the hash of a new password. Raises :class:`Refused` if the password is too short or
    too long."""
    least, most = PASSWORD
    if not least <= len(password) <= most:
        raise Refused(422, f"a password must have {least} to {most} characters")
    return _hasher.hash(password)


def matches(password: str, known: str | None) -> bool:
    """Returns true if a password has the hash ``known``. Takes the same time if ``known`` is
    None."""
    try:
        return _hasher.verify(known or _NOBODY, password[: PASSWORD[1] + 1]) and known is not None
    except (Argon2Error, InvalidHashError):
        return False


def valid_name(name: str) -> str:
    """Returns a valid name of an account, or raises :class:`Refused`."""
    if not NAME.fullmatch(name):
        raise Refused(
            422,
            f'"{name[:40]}" is not a valid name; allowed: 1 to 32 letters, digits, dots, hyphens and underscores',
        )
    return name


def log_in(store: Store, name: str, password: str, address: str) -> tuple[str, Caller]:
    """Logs a user in. Returns the secret of the new session, and the caller. ``address`` is that of
    the client. Raises :class:`Refused`."""
    now = time.time()
    pair = digest(f"{name} {address}")[:32]
    keys = {
        f"account:{pair}": MAX_FAILURES_OF_ACCOUNT,
        f"address:{address[:64]}": MAX_FAILURES_OF_ADDRESS,
        f"name:{name[:64]}": MAX_FAILURES_OF_ACCOUNT_ANYWHERE,
    }
    with store.writing() as rows:
        rows.execute(delete(Attempt).where(Attempt.at < now - WINDOW_S))
        for key, most in keys.items():
            failed = rows.scalar(select(func.count()).where(Attempt.who == key, Attempt.at <= now)) or 0
            if failed >= most:
                raise Refused(429, "too many failed log-ins; try again in a quarter of an hour")
        # Counted before the hash is computed, so that concurrent attempts are counted too.
        counted = [Attempt(who=key, at=now) for key in keys]
        rows.add_all(counted)
        user = rows.scalar(select(User).where(User.name == name))
    if not matches(password, user.password if user else None) or user is None:
        raise Refused(401, "the name or the password is wrong")
    if not user.active:
        raise Refused(403, INACTIVE)
    with store.writing() as rows:
        rows.execute(delete(Attempt).where(Attempt.id.in_([one.id for one in counted])))
        rows.execute(delete(Session).where(Session.expires < now))
        secret = open_session(rows, user, "browser", ABSOLUTE_S)
        record_action(rows, user, "log in")
        return secret, caller_of(rows, secret)


def open_session(
    rows: Transaction, user: User, kind: str, lasts: float, name: str = "", scope: str = "write"
) -> str:
    """Creates a session or a token of a user, and returns its secret."""
    secret = (TOKEN_PREFIX if kind == "token" else "") + secrets.token_urlsafe(32)
    row = Session(
        hash=digest(secret), user_id=user.id, kind=kind, name=name, scope=scope, expires=time.time() + lasts
    )
    rows.add(row)
    rows.flush()
    return secret


def caller_of(rows: Transaction, secret: str) -> Caller:
    """Returns the caller with the secret of a session or token. Raises :class:`Refused` for an
    unknown or expired secret."""
    # Columns instead of objects, because every request runs this query.
    found = rows.execute(
        select(
            User.id,
            User.name,
            User.level,
            Session.id,
            Session.kind,
            Session.scope,
            Session.used,
        )
        .join(User, User.id == Session.user_id)
        .where(Session.hash == digest(secret), *are_valid())
    ).first()
    if found is None:
        raise Refused(401, "log in first")
    return Caller(*found)


def are_valid() -> tuple[ColumnElement[bool], ...]:
    """Returns the conditions of sessions and tokens that have not ended by time."""
    now = time.time()
    return Session.expires >= now, or_(Session.kind != "browser", Session.used + IDLE_S >= now)


def is_stale(who: Caller) -> bool:
    """Returns true if the last recorded use of the session is more than a minute ago. Recording
    each use would make every request write."""
    return abs(time.time() - who.used) > 60


def record_use(store: Store, who: Caller) -> None:
    """Records the current time as the last use of the session."""
    with store.writing() as rows:
        rows.execute(update(Session).where(Session.id == who.session).values(used=time.time()))


def invite(store: Store, level: str, by: Caller | None = None) -> str:
    """Creates an invitation to one account of a level, and returns its secret."""
    with store.writing() as rows:
        record_action(rows, by, "invite", level)
        return _link(rows, by, INVITATION_S, level=level)


def offer_reset(store: Store, user: User, by: Caller | None = None) -> str:
    """Creates a link that resets the password of an account, and returns its secret. An earlier
    link for this account ends."""
    with store.writing() as rows:
        rows.execute(delete(Invitation).where(Invitation.resets == user.id))
        record_action(rows, by, "offer password reset", user.name)
        return _link(rows, by, RESET_S, level=user.level, resets=user.id)


def _link(
    rows: Transaction, by: Caller | None, lasts: float, *, level: str, resets: int | None = None
) -> str:
    secret = secrets.token_urlsafe(24)
    rows.execute(delete(Invitation).where(Invitation.expires < time.time()))
    rows.add(
        Invitation(
            hash=digest(secret),
            level=level,
            resets=resets,
            by=by.name if by else "console",
            expires=time.time() + lasts,
        )
    )
    return secret


def set_password(store: Store, secret: str, password: str) -> str:
    """Sets the password of the account of a reset link, and ends its sessions and tokens. Returns
    the secret of a new session. Raises :class:`Refused`."""
    used = Refused(403, "this link is not valid or has been used")
    with store.reading() as rows:
        offered = rows.get(Invitation, digest(secret))
        if offered is None or offered.resets is None:
            raise used
    known = password_hash(password)
    with store.writing() as rows:
        offered = rows.get(Invitation, digest(secret))
        user = None if offered is None or offered.expires < time.time() else rows.get(User, offered.resets)
        if user is None:
            raise used
        if not user.active:
            raise Refused(403, INACTIVE)
        rows.delete(offered)
        user.password = known
        end_sessions(rows, user)
        record_action(rows, user, "reset password")
        return open_session(rows, user, "browser", ABSOLUTE_S)


def accept(store: Store, secret: str, name: str, password: str) -> str:
    """Creates the account of an invitation, and returns the secret of its first session. Raises
    :class:`Refused`."""
    valid_name(name)
    used = Refused(403, "this invitation is not valid or has been used")
    with store.reading() as rows:
        if rows.get(Invitation, digest(secret)) is None:
            raise used
    known = password_hash(password)
    with store.writing() as rows:
        invitation = rows.get(Invitation, digest(secret))
        if invitation is None or invitation.resets is not None or invitation.expires < time.time():
            raise used
        if rows.scalar(select(User.id).where(func.lower(User.name) == name.lower())) is not None:
            raise Refused(409, f'an account "{name}" already exists; choose another name')
        user = User(name=name, password=known, level=invitation.level)
        rows.add(user)
        rows.delete(invitation)
        rows.flush()
        record_action(rows, user, "join", user.level)
        return open_session(rows, user, "browser", ABSOLUTE_S)


def first_invitation(store: Store) -> str | None:
    """Returns the secret of a new administrator invitation, or None if an administrator exists."""
    with store.reading() as rows:
        if administrators(rows):
            return None
    with store.writing() as rows:
        rows.execute(delete(Invitation).where(Invitation.level == LEVELS[-1], Invitation.resets.is_(None)))
    return invite(store, LEVELS[-1])


def administrators(rows: Transaction) -> int:
    """Returns the number of active administrators."""
    return rows.scalar(select(func.count()).where(User.level == LEVELS[-1], User.active)) or 0


def change_level(rows: Transaction, user: User, level: str) -> None:
    """Changes an account's level, and ends its sessions and tokens. Raises :class:`Refused` for the
    last administrator."""
    if level != LEVELS[-1]:
        _spare_last(rows, user)
    user.level = level
    end_sessions(rows, user)


def set_active(rows: Transaction, user: User, active: bool) -> None:
    """Activates an account, or deactivates it and ends its sessions and tokens. Raises
    :class:`Refused` for the last administrator."""
    if not active:
        _spare_last(rows, user)
        end_sessions(rows, user)
    user.active = active


def _spare_last(rows: Transaction, user: User) -> None:
    """Refuses a change that leaves no active administrator."""
    if user.level == LEVELS[-1] and user.active and administrators(rows) == 1:
        raise Refused(
            409, "the last administrator must keep this level; make another account administrator first"
        )


def end_sessions(rows: Transaction, user: User, but: str = "") -> None:
    """Ends all sessions and tokens of a user except the session ``but``."""
    rows.execute(delete(Session).where(Session.user_id == user.id, Session.id != but))


def record_action(rows: Transaction, who: Caller | User | None, action: str, what: str = "") -> None:
    """Adds a line to the audit log."""
    rows.add(
        Audit(
            user_id=who.id if who else None,
            user=who.name if who else "console",
            action=action,
            what=what[:200],
        )
    )
