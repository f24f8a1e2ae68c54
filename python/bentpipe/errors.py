"""Errors that the caller can fix, and messages for operating system errors."""

from __future__ import annotations

import difflib
import errno
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

#: Exit code of the command line for errors that the caller can fix, such as a wrong option.
BAD_INPUT: Final = 2


class InputError(ValueError):
    """Something that the caller requested is missing or not allowed. The message lists what is
    allowed.

    Errors in a scenario are raised as :class:`bentpipe.ScenarioError`, with file and line.
    """


def trouble(error: OSError) -> str:
    """Returns the message of an ``OSError``: the file, the problem, and a remedy if there is one.

    >>> trouble(PermissionError(errno.EACCES, "Permission denied", "runs"))
    'runs: permission denied; choose another place, or change its permissions'
    """
    if error.errno is None or error.strerror is None:
        return str(error)
    what = error.strerror[:1].lower() + error.strerror[1:]
    if error.errno in _FULL:
        what += "; free some space there, or choose another place"
    if error.errno in _FORBIDDEN:
        what += "; choose another place, or change its permissions"
    place = ", ".join(str(name) for name in (error.filename, error.filename2) if name is not None)
    return f"{place}: {what}" if place else what


_FULL = (errno.ENOSPC, errno.EDQUOT)
_FORBIDDEN = (errno.EACCES, errno.EPERM, errno.EROFS)


def damaged(*others: type[Exception]) -> tuple[type[BaseException], ...]:
    """Returns the exceptions that Polars raises for a damaged table, and ``others``. They include
    panics of its Rust code, which are not derived from ``Exception``."""
    import polars as pl

    return pl.exceptions.PolarsError, pl.exceptions.PanicException, *others


def text_of(file: Path) -> str:
    """Returns the text of a file. Raises :class:`InputError` if it is missing, or not text."""
    try:
        return file.read_text(encoding="utf-8")
    except OSError as error:
        raise InputError(trouble(error)) from error
    except UnicodeDecodeError as error:
        raise InputError(f"{file} is not UTF-8 text") from error


@contextmanager
def reading(file: Path, hint: str = "") -> Iterator[None]:
    """Context manager that turns errors of reading a table into an :class:`InputError` that names
    the file."""
    try:
        yield
    except OSError as error:
        what = trouble(error).removeprefix(f"{file}: ")
        raise InputError(f"{file} cannot be read{hint}: {what}") from error
    except damaged(ValueError) as error:
        # Further lines of Polars' messages do not help with a damaged file.
        if isinstance(error, InputError):
            raise
        raise InputError(f"{file} cannot be read{hint}: it is damaged, or not a Parquet table") from error


def in_order(names: Iterable[str]) -> list[str]:
    """Returns names in alphabetical order, with numbers in names ordered by value.

    >>> in_order(["st10", "st9", "gw"])
    ['gw', 'st9', 'st10']
    """

    def parts(name: str) -> list[tuple[int, str]]:
        return [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"([0-9]+)", name)]

    return sorted(names, key=parts)


def unknown(
    what: str, name: str, known: Iterable[str], where: str = "", allowed: str | None = None
) -> InputError:
    """Returns the error for a name that is not one of ``known``, with the nearest known name if one
    is similar. ``allowed`` replaces the list of known names if they are too many for a message.

    >>> print(unknown("table", "terminals", ["flows", "terminal"], "runs/upload"))
    unknown table "terminals" in runs/upload, did you mean "terminal"? allowed: flows, terminal
    """
    names = in_order(known)
    near = difflib.get_close_matches(name, names, n=1)
    hint = f', did you mean "{near[0]}"?' if near else ";"
    place = f" in {where}" if where else ""
    end = f"{hint} allowed: {allowed or ', '.join(names)}" if names else "; there is none"
    return InputError(f'unknown {what} "{name}"{place}{end}')
