"""Sizes and times on the command line."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from decimal import Decimal, InvalidOperation

from bentpipe.errors import InputError
from bentpipe.quantities import base_value, exact_value


def size_bytes(text: str, option: str, most: int | None = None) -> int:
    """Returns a size such as ``1 MB`` in bytes. Raises InputError if it is invalid, not positive or
    above ``most``."""
    size = round(_positive(text, option, text.rstrip().endswith("B"), "1 MB"))
    if most is not None and size > most:
        raise InputError(f"{option} {text}: is out of range; allowed: at most {most} B")
    return size


def moment(text: str, option: str = "--at") -> float:
    """Returns a time of a run or plan, such as ``12.3s``, in seconds; a number without a unit is in
    seconds. Raises InputError if it is invalid or negative."""
    try:
        value = float(text)
    except ValueError:
        value = _value(text, _is_time(text))
    if not 0.0 <= value < math.inf:
        raise InputError(f'{option} "{text}": not a time; allowed: a value such as "12.3s"')
    return value


def exact_moment(text: str, option: str = "--at") -> Decimal:
    """Returns the same as :func:`moment`, without rounding.

    >>> exact_moment("1700000000.123456789"), exact_moment("1.5 h")
    (Decimal('1700000000.123456789'), Decimal('5400.00'))
    """
    moment(text, option)
    try:
        return Decimal(text)
    except InvalidOperation:
        return exact_value(text)


def seconds(text: str, option: str) -> float:
    """Returns a time such as ``10 s`` in seconds. Raises InputError if it is invalid or not
    positive."""
    return _positive(text, option, _is_time(text), "10 s")


def seconds_or_none(text: str, option: str) -> float:
    """Returns a time such as ``0 s`` in seconds. Raises InputError if it is invalid or negative."""
    return 0.0 if _value(text, _is_time(text)) == 0.0 else _positive(text, option, _is_time(text), "10 s")


def bits_per_second(text: str, option: str) -> float:
    """Returns a rate such as ``1 Mbit/s`` in bit/s. Raises InputError if it is invalid or below 1
    bit/s."""
    return _positive(text, option, text.rstrip().endswith("bit/s"), "1 Mbit/s", least=1.0)


def lead(text: str | None, option: str) -> float:
    """Returns the time from now until a moment such as ``2024-01-01T00:00:00Z`` in seconds, 0
    without one. Raises InputError if it is invalid. A moment without a time zone is in UTC."""
    if text is None:
        return 0.0
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise InputError(
            f'{option} "{text}": not a time; allowed: ISO 8601, such as 2024-01-01T00:00:00Z'
        ) from None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return (moment - datetime.now(UTC)).total_seconds()


def _is_time(text: str) -> bool:
    return text.rstrip().endswith(("s", "min", "h", "d")) and "/" not in text


def _value(text: str, fits: bool) -> float:
    try:
        return base_value(text) if fits else math.nan
    except ValueError:
        return math.nan


def _positive(text: str, option: str, fits: bool, example: str, least: float = 0.0) -> float:
    value = _value(text, fits)
    if not (value > 0.0 and value >= least):
        raise InputError(f'{option} "{text}": not a positive quantity; allowed: a value such as "{example}"')
    return value
