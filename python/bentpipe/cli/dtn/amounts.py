"""Sizes and times on the command line."""

from __future__ import annotations

from bentpipe.errors import InputError
from bentpipe.quantities import base_value


def size_bytes(text: str, option: str) -> int:
    """Return a size such as ``1 MB`` in bytes. Raises InputError if it is none, or not positive."""
    return round(_positive(text, option, text.rstrip().endswith("B"), "1 MB"))


def seconds(text: str, option: str) -> float:
    """Return a time such as ``10 s`` in seconds. Raises InputError if it is none, or not positive."""
    ends = ("s", "min", "h", "d")
    return _positive(text, option, text.rstrip().endswith(ends) and "/" not in text, "10 s")


def _positive(text: str, option: str, fits: bool, example: str) -> float:
    try:
        value = base_value(text) if fits else 0.0
    except ValueError:
        value = 0.0
    if value <= 0.0:
        raise InputError(
            f'{option} "{text}": is not possible; allowed: a positive quantity such as "{example}"'
        )
    return value
