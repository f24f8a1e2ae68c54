"""What is raised when the caller asked for something that is not there or not allowed."""

from __future__ import annotations

import difflib
import errno
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path


class InputError(ValueError):
    """Something asked for is missing or not allowed; the message says what, and what there is instead.

    Errors in a scenario have their own type, :class:`bentpipe.ScenarioError`, which knows file and line.
    """


def trouble(error: OSError) -> str:
    """What an error of the machine's says: the file, what is wrong, and a remedy where there is one.

    >>> trouble(PermissionError(errno.EACCES, "Permission denied", "runs"))
    'runs: permission denied; choose another place, or change who may write there'
    """
    if error.errno is None or error.strerror is None:
        return str(error)
    what = error.strerror[:1].lower() + error.strerror[1:]
    if error.errno in _FULL:
        what += "; make room there, or choose another place"
    if error.errno in _FORBIDDEN:
        what += "; choose another place, or change who may write there"
    place = ", ".join(str(name) for name in (error.filename, error.filename2) if name is not None)
    return f"{place}: {what}" if place else what


_FULL = (errno.ENOSPC, errno.EDQUOT)
_FORBIDDEN = (errno.EACCES, errno.EPERM, errno.EROFS)


@contextmanager
def reading(file: Path, hint: str = "") -> Iterator[None]:
    """Within it, what goes wrong with reading a table is an :class:`InputError` that names the file."""
    import polars as pl

    try:
        yield
    except OSError as error:
        what = trouble(error).removeprefix(f"{file}: ")
        raise InputError(f"{file} cannot be read{hint}: {what}") from error
    except (pl.exceptions.PolarsError, ValueError) as error:
        # The engines of tables say more than the first line, none of which helps with a damaged file.
        if isinstance(error, InputError):
            raise
        raise InputError(f"{file} cannot be read{hint}: it is damaged, or not a Parquet table") from error


def unknown(what: str, name: str, known: Iterable[str], where: str = "") -> InputError:
    """The error for a name that is not one of ``known``, with the nearest one when there is one.

    >>> print(unknown("table", "terminals", ["flows", "terminal"], "runs/upload"))
    no table "terminals" in runs/upload (did you mean "terminal"?); there are: flows, terminal
    """
    names = sorted(known)
    near = difflib.get_close_matches(name, names, n=1)
    hint = f' (did you mean "{near[0]}"?)' if near else ""
    place = f" in {where}" if where else ""
    there = ", ".join(names) or "none at all"
    return InputError(f'no {what} "{name}"{place}{hint}; there are: {there}')
