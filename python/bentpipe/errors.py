"""What is raised when the caller asked for something that is not there or not allowed."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class InputError(ValueError):
    """Something asked for is missing or not allowed; the message says what, and what there is instead.

    Errors in a scenario have their own type, :class:`bentpipe.ScenarioError`, which knows file and line.
    """


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
