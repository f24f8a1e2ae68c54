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
from sqlalchemy import delete, func, select, update
from sqlalchemy.orm import Session as Transaction

from .refused import Refused
from .store import Store
from .tables import LEVELS, Attempt, Audit, Invitation, Session, User

#: Seconds after which an idle session of a browser ends, and after which every such session ends.
IDLE_S: Final = 12 * 3600.0
ABSOLUTE_S: Final = 14 * 24 * 3600.0
TOKEN_S: Final = 365 * 24 * 3600.0
INVITATION_S: Final = 7 * 24 * 3600.0

#: After so many failed log-ins of an account, or from an address, within ``WINDOW_S`` seconds,
#: further log-ins are refused.
WINDOW_S: Final = 900.0
MAX_FAILURES_OF_ACCOUNT: Final = 10
MAX_FAILURES_OF_ADDRESS: Final = 50

#: Smallest and largest length of a password. The maximum bounds the cost of hashing.
PASSWORD: Final = (10, 256)
NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,31}")

#: Prefix of tokens of the command line, which makes a leaked token recognisable.
TOKEN_PREFIX: Final = "bpt_"

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
    """Logs a user in. Returns the secret of the new session, and the caller. ``address`` is empty
    behind a proxy, where all requests have the same address. Raises :class:`Refused`."""
    now = time.time()
    keys = {f"account:{name[:64]}": MAX_FAILURES_OF_ACCOUNT}
    if address:
        keys[f"address:{address[:64]}"] = MAX_FAILURES_OF_ADDRESS
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
    with store.writing() as rows:
        rows.execute(delete(Attempt).where(Attempt.id.in_([one.id for one in counted])))
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
    now = time.time()
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
            Session.expires,
        )
        .join(User, User.id == Session.user_id)
        .where(Session.hash == digest(secret))
    ).first()
    if found is None or found[-1] < now or (found.kind == "browser" and found.used + IDLE_S < now):
        raise Refused(401, "log in first")
    return Caller(*found[:-1])


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
    secret = secrets.token_urlsafe(24)
    with store.writing() as rows:
        rows.execute(delete(Invitation).where(Invitation.expires < time.time()))
        rows.add(Invitation(hash=digest(secret), level=level, expires=time.time() + INVITATION_S))
        record_action(rows, by, "invite", level)
    return secret


def accept(store: Store, secret: str, name: str, password: str) -> str:
    """Creates the account of an invitation, and returns the secret of its first session. Raises
    :class:`Refused`."""
    valid_name(name)
    with store.reading() as rows:
        if rows.get(Invitation, digest(secret)) is None:
            raise Refused(403, "this invitation is not valid or has been used")
    known = password_hash(password)
    with store.writing() as rows:
        invitation = rows.get(Invitation, digest(secret))
        if invitation is None or invitation.expires < time.time():
            raise Refused(403, "this invitation is not valid or has been used")
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
        rows.execute(delete(Invitation).where(Invitation.level == LEVELS[-1]))
    return invite(store, LEVELS[-1])


def administrators(rows: Transaction) -> int:
    """Returns the number of administrators."""
    return rows.scalar(select(func.count()).where(User.level == LEVELS[-1])) or 0


def change_level(rows: Transaction, user: User, level: str) -> None:
    """Changes an account's level, and ends its sessions and tokens. Raises :class:`Refused` for the
    last administrator."""
    if user.level == LEVELS[-1] and level != LEVELS[-1] and administrators(rows) == 1:
        raise Refused(
            409, "the last administrator must keep this level; make another account administrator first"
        )
    user.level = level
    end_sessions(rows, user)


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
