"""Checks of arguments. Every error names the argument, its value and the allowed range.

A prediction is computed from a few numbers. A wrong unit of one of them (milliseconds for seconds,
bytes for segments) would result in a plausible but wrong curve. Therefore each public function of
this package checks its arguments here and raises ``ValueError``. NaN is outside every range.
"""

from __future__ import annotations

import math
from collections.abc import Sequence


def refuse(name: str, value: object, allowed: str) -> ValueError:
    """Returns the error for an argument out of range.

    >>> str(refuse("rtt_s", -1.0, "above 0"))
    'rtt_s = -1.0 is not allowed: must be above 0'
    """
    return ValueError(f"{name} = {value!r} is not allowed: must be {allowed}")


def require_positive(name: str, value: float) -> None:
    """Raises ``ValueError`` unless ``0 < value < infinity``."""
    if not (0 < value < math.inf):
        raise refuse(name, value, "above 0 and finite")


def require_not_negative(name: str, value: float) -> None:
    """Raises ``ValueError`` unless ``0 <= value < infinity``."""
    if not (0 <= value < math.inf):
        raise refuse(name, value, "0 or more and finite")


def require_at_least(name: str, value: float, minimum: float, *, infinite: bool = False) -> None:
    """Raises ``ValueError`` unless ``value >= minimum``; infinity is allowed only if ``infinite``
    is true."""
    if not value >= minimum or (value == math.inf and not infinite):
        raise refuse(name, value, f"{minimum:g} or more" + ("" if infinite else " and finite"))


def require_probability(name: str, value: float) -> None:
    """Raises ``ValueError`` unless ``0 < value < 1``: the response functions have poles at both
    ends."""
    if not (0 < value < 1):
        raise refuse(name, value, "above 0 and below 1")


def require_one_of(name: str, value: str, allowed: Sequence[str]) -> None:
    """Raises ``ValueError`` unless ``value`` is one of the words of ``allowed``."""
    if value not in allowed:
        raise refuse(name, value, "one of " + ", ".join(allowed))
