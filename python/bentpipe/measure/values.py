"""Values of plans. Errors name the file, the key, the value and the allowed values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from bentpipe.errors import InputError
from bentpipe.quantities import base_value

#: Suffixes of units of time.
TIMES: Final = ("s", "min", "h", "d")


def refused(key: str, value: Any, allowed: str, where: str) -> InputError:
    """Returns the error for a value that is not allowed."""
    return InputError(f"{where}: {key} = {value!r}; allowed: {allowed}")


def span(key: str, value: Any, where: str, least: float = 0.1) -> float:
    """Parses a time; returns it in seconds."""
    try:
        found = base_value(value) if str(value).endswith(TIMES) and not str(value).endswith("/s") else -1.0
    except (ValueError, TypeError):
        found = -1.0
    if not least <= found <= 7 * 86400:
        raise refused(key, value, f'a time from {least:g} s to 7 days, as in "30 s"', where)
    return found


def rate(key: str, value: Any, where: str) -> float:
    """Parses a rate; returns it in bit/s."""
    try:
        found = base_value(value) if str(value).endswith("bit/s") else 0.0
    except (ValueError, TypeError):
        found = 0.0
    if not 0 < found <= 1e10:
        raise refused(key, value, 'a rate up to 10 Gbit/s, as in "8 Mbit/s"', where)
    return float(found)


def size(key: str, value: Any, where: str, least: int, most: int) -> int:
    """Parses a size; returns it in bytes."""
    try:
        found = int(base_value(value)) if str(value).endswith("B") else 0
    except (ValueError, TypeError):
        found = 0
    if not least <= found <= most:
        raise refused(key, value, f'a size from {least} B to {most} B, as in "{most} B"', where)
    return found


def whole(key: str, value: Any, where: str, least: int, most: int) -> int:
    """Checks and returns a whole number."""
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise refused(key, value, f"a whole number from {least} to {most}", where)
    return value


def choice(key: str, value: Any, known: Sequence[str], where: str) -> str:
    """Returns a value that is one of the known words."""
    if value not in known:
        raise refused(key, value, ", ".join(known), where)
    return str(value)
