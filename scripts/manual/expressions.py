"""Parses the expressions of interactive figures (:mod:`manual.tries`). The page's script evaluates
them (``testbed/web/src/site/expression.ts``).

An expression multiplies and divides terms: numbers, names of controls, and values of the results.
Its parsed form is a list of terms, each with the operator ``op`` before it, a ``kind``, and the
parts of the term. A sentence is a list of texts and places.
"""

from __future__ import annotations

import functools
import json
import re
from typing import Any, Final

from bentpipe import _native
from bentpipe.quantities import UNITS

#: Nouns of counts, which results contain as they are.
COUNTS: Final = ("losses", "packets", "round trips", "segments", "superframes")

_PLACE: Final = re.compile(r"\{([^{}]+?)(?: in ([^{}]+))?\}")
_TERM: Final = re.compile(
    r"(?P<number>\d+(?:\.\d+)?(?:e[-+]?\d+)?)$"
    r"|mean\((?P<mean>[\w-]+(?:\.[\w-]+)+\.\w+)\)$"
    r"|(?P<row>[\w-]+(?:\.[\w-]+)+\.\w+)$"
    r"|(?P<control>[a-z]\w*)$"
)

Term = dict[str, Any]


class TryError(ValueError):
    """An error of an interactive figure. ``near`` is a text in the line of the error."""

    def __init__(self, message: str, near: str = "") -> None:
        super().__init__(message)
        self.near = near

    def line(self, text: str) -> int:
        """Returns the number of the line in the block, from 1."""
        lines = text.splitlines()
        return next((number for number, line in enumerate(lines, 1) if self.near and self.near in line), 1)


def factor(unit: str, near: str) -> float:
    """Returns the factor from the unit of the results to ``unit``. Without a unit, and for counts,
    it is 1. Raises :class:`TryError` for an unknown unit.

    >>> factor("ms", ""), factor("%", ""), factor("segments", "")
    (1000.0, 100.0, 1.0)
    """
    if not unit or unit in COUNTS:
        return 1.0
    if unit == "%":
        return 100.0
    if unit not in UNITS:
        allowed = ", ".join([*UNITS, "%", *COUNTS])
        raise TryError(f"{unit!r} is no unit; allowed: {allowed}", near)
    return 1.0 / UNITS[unit]


@functools.cache
def _entities() -> dict[str, str]:
    """Returns the column with the names of the rows, by table of the summary."""
    reports = json.loads(_native.tables())["reports"]
    return {"flows": "flow"} | {table["name"]: table["entity"] for table in reports}


def entity_of(table: str, near: str) -> str:
    """Returns the column that contains the names of the rows of a table.

    >>> entity_of("flows", ""), entity_of("terminal", "")
    ('flow', 'terminal')
    """
    if table not in _entities():
        raise TryError(f"the results have no table {table}", near)
    return _entities()[table]


def place(text: str) -> dict[str, str]:
    """Splits TABLE.NAME.COLUMN, in which only NAME may contain dots.

    >>> place("atm.st1.cbr.rate")
    {'table': 'atm', 'name': 'st1.cbr', 'column': 'rate'}
    """
    table, _, rest = text.partition(".")
    name, _, column = rest.rpartition(".")
    return {"table": table, "name": name, "column": column}


def expression(text: str) -> list[Term]:
    """Parses an expression. Raises :class:`TryError`.

    >>> for term in expression("flows.up.goodput / 8"):
    ...     list(term.values())
    ['*', 'row', 'flows', 'up', 'goodput', 'flow']
    ['/', 'number', 8.0]
    """
    words = re.split(r" ([*/]) ", text)
    return [
        {"op": operator, **_term(word, text)}
        for operator, word in zip(["*", *words[1::2]], words[::2], strict=True)
    ]


def _term(word: str, near: str) -> Term:
    match = _TERM.match(word)
    if match is None:
        raise TryError(f"{near!r} is no expression: {word!r}", near)
    kind, text = str(match.lastgroup), match[str(match.lastgroup)]
    if kind == "number":
        return {"kind": kind, "number": float(text)}
    if kind == "control":
        return {"kind": kind, "name": text}
    found = place(text)
    return {"kind": kind, **found, **({"entity": entity_of(found["table"], near)} if kind == "row" else {})}


def sentence(text: str) -> list[str | dict[str, Any]]:
    """Parses a sentence into texts, names of controls whose values are shown, and numbers.

    >>> sentence("{loss} lost")
    [{'shown': 'loss'}, ' lost']
    >>> sentence("{delay / 2 in ms}")[0]["factor"]
    1000.0
    """
    parts: list[str | dict[str, Any]] = []
    end = 0
    for found in _PLACE.finditer(text):
        parts.append(text[end : found.start()])
        end = found.end()
        terms, unit = expression(found[1]), found[2] or ""
        if len(terms) == 1 and terms[0]["kind"] == "control" and not unit:
            parts.append({"shown": terms[0]["name"]})
        else:
            parts.append({"expression": terms, "unit": unit, "factor": factor(unit, found[0])})
    parts.append(text[end:])
    if wrong := next((part for part in parts if isinstance(part, str) and re.search("[{}]", part)), None):
        raise TryError(f"{wrong!r} has a brace without a partner", wrong)
    return [part for part in parts if part]
