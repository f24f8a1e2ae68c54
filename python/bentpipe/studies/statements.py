"""Statements of papers, and verdicts on them."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, cast, get_args

from bentpipe.errors import InputError
from bentpipe.quantities import number

#: The relation of our value to the paper's value.
Relation = Literal["about", "at least", "at most"]
#: Sign before the paper's value in tables, by relation.
_SIGNS: Final[Mapping[Relation, str]] = {"about": "", "at least": ">= ", "at most": "<= "}

#: The outcome of a statement: our value is within the tolerance ("holds"), outside for a confirmed
#: cause ("known to differ"), outside otherwise ("differs"), or missing ("not measured").
Outcome = Literal["holds", "differs", "known to differ", "not measured"]

OUTCOMES: Final[tuple[Outcome, ...]] = get_args(Outcome)


#: The role of a statement: a claim of the paper; a claim that is true by construction, or follows
#: by arithmetic from another claim; or a variation of a claim with another assumption, stack or
#: clock.
Role = Literal["claim", "by construction", "repeat", "variation"]

ROLES: Final[tuple[Role, ...]] = get_args(Role)


@dataclass(frozen=True)
class Statement:
    """A statement of a paper: a quantity and its value."""

    #: Unique name within the study.
    id: str
    #: The quantity.
    text: str
    #: The paper's value, in ``unit``.
    value: float
    unit: str
    #: Maximum difference of a value that agrees, in ``unit``.
    tolerance: float
    relation: Relation = "about"
    #: The test of the study that judges the statement.
    test: str = ""
    #: Page, figure or table of the paper.
    source: str = ""
    role: Role = "claim"
    #: The runs that give our value: patterns of folders below the study's output folder.
    runs: tuple[str, ...] = ()
    #: Confirmed cause of a difference, if any.
    deviation: str = ""
    #: Suspected cause of a difference, if any.
    suspected: str = ""

    def holds(self, ours: float) -> bool:
        """Returns true if our value agrees with the paper within the tolerance.

        >>> Statement("a", "rate reached", 10.0, "Mbit/s", 0.5, "at least").holds(12.0)
        True
        >>> Statement("b", "RTT", 500.0, "ms", 50.0).holds(560.0)
        False
        """
        difference = ours - self.value
        return {
            "about": abs(difference) <= self.tolerance,
            "at least": difference >= -self.tolerance,
            "at most": difference <= self.tolerance,
        }[self.relation]


@dataclass(frozen=True)
class Verdict:
    """A statement and our value, or ``None`` if it was not measured."""

    statement: Statement
    ours: float | None

    @property
    def difference(self) -> float | None:
        """Our value minus the paper's value, in the statement's unit."""
        return None if self.ours is None else self.ours - self.statement.value

    @property
    def outcome(self) -> Outcome:
        """The outcome of the statement."""
        if self.ours is None:
            return "not measured"
        if self.statement.holds(self.ours):
            return "holds"
        return "known to differ" if self.statement.deviation else "differs"

    @property
    def expected(self) -> bool:
        """True if the statement holds, or if it differs and the study has a confirmed or suspected
        cause."""
        statement = self.statement
        return self.outcome == "holds" or (
            self.ours is not None and bool(statement.deviation or statement.suspected)
        )

    def as_row(self) -> list[str]:
        """Returns the cells of a table row: statement and unit, the paper's value, our value, the
        difference, and the outcome with the role, unless the statement is a claim."""
        statement, difference = self.statement, self.difference
        return [
            f"{statement.text} ({statement.unit})" if statement.unit not in ("", "1") else statement.text,
            f"{_SIGNS[statement.relation]}{number(statement.value)} ± {number(statement.tolerance)}",
            number(self.ours),
            "-" if difference is None else ("+" if difference > 0 else "") + number(difference),
            self.outcome if statement.role == "claim" else f"{self.outcome} ({statement.role})",
        ]

    def as_dict(self) -> dict[str, Any]:
        """Returns the statement and the verdict as values for JSON."""
        return vars(self.statement) | {
            "ours": self.ours,
            "difference": self.difference,
            "outcome": self.outcome,
        }


def judge(statements: Sequence[Statement], ours: Mapping[str, float | None]) -> list[Verdict]:
    """Returns the verdict on each statement. ``ours`` has our values by the ids of statements.
    Raises ``KeyError`` for a value without a statement, which is a bug in the study."""
    if stray := set(ours) - {statement.id for statement in statements}:
        raise KeyError(f"values without a statement: {', '.join(sorted(stray))}")
    return [Verdict(statement, ours.get(statement.id)) for statement in statements]


def read_published(file: str | Path, test: str | None = None) -> list[Statement]:
    """Returns the statements of a ``published.csv``, or those of one test. Raises
    :class:`bentpipe.InputError` with the number of the line if the file does not have the format
    that :mod:`bentpipe.studies` describes."""
    file = Path(file)
    statements: dict[str, Statement] = {}
    with file.open(encoding="utf-8", newline="") as stream:
        reader = csv.DictReader(stream)
        for row in reader:
            try:
                statement = _statement(row)
            except (KeyError, TypeError, ValueError) as error:
                raise InputError(f"{file}:{reader.line_num}: not a statement: {error}") from error
            if statement.id in statements:
                raise InputError(f'{file}:{reader.line_num}: the id "{statement.id}" occurs twice')
            statements[statement.id] = statement
    return [statement for statement in statements.values() if test in (None, statement.test)]


def _statement(row: Mapping[str, str]) -> Statement:
    relation = row["relation"] or "about"
    if relation not in get_args(Relation):
        raise ValueError(f'the relation "{relation}" is not one of {", ".join(get_args(Relation))}')
    role = row.get("role") or "claim"
    if role not in ROLES:
        raise ValueError(f'the role "{role}" is not one of {", ".join(ROLES)}')
    value, tolerance = float(row["value"]), row["tolerance"].strip()
    absolute = abs(value) * float(tolerance[:-1]) / 100 if tolerance.endswith("%") else float(tolerance)
    return Statement(
        id=row["id"],
        text=row["text"],
        value=value,
        unit=row["unit"],
        tolerance=absolute,
        relation=cast("Relation", relation),
        test=row["test"],
        source=row.get("source") or "",
        role=role,
        runs=tuple((row.get("runs") or "").split()),
        deviation=row.get("deviation") or "",
        suspected=row.get("suspected") or "",
    )
