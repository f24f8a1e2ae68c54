"""A case of a standard: its text in own words, and a function that yields checks."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from bentpipe.quantities import number

from .exceptions import Missing, NotApplicable

if TYPE_CHECKING:
    from .lab import Lab

PASS: Final = "pass"
FAIL: Final = "fail"
NOT_APPLICABLE: Final = "not applicable"


@dataclass(frozen=True)
class Check:
    """A measured value and the range that the standard allows, both included."""

    what: str
    measured: float
    low: float
    high: float
    unit: str = ""

    @property
    def passed(self) -> bool:
        """True if the value lies in the range. A value that is not a number does not."""
        return bool(self.low <= self.measured <= self.high)

    @property
    def allowed(self) -> str:
        """The allowed range as text."""
        if math.isinf(self.high):
            return f"at least {number(self.low)}"
        if math.isinf(self.low):
            return f"at most {number(self.high)}"
        return f"{number(self.low)} to {number(self.high)}"

    @property
    def text(self) -> str:
        """The measured value and the allowed range as a sentence."""
        unit = f" {self.unit}" if self.unit else ""
        return f"{self.what}: {number(self.measured)}{unit}, allowed {self.allowed}{unit}"

    def as_dict(self) -> dict[str, Any]:
        """The check as a dictionary for JSON."""
        return {
            "check": self.what,
            "measured": float(self.measured),
            "low": self.low,
            "high": self.high,
            "unit": self.unit,
            "passed": self.passed,
        }


def near(what: str, measured: float, expected: float, tolerance: float, unit: str = "") -> Check:
    """Returns the check of a value against an expected one with a relative tolerance."""
    return Check(what, measured, expected * (1 - tolerance), expected * (1 + tolerance), unit)


@dataclass(frozen=True)
class Case:
    """A case: ``name`` and ``title``, the ``section`` of the standard, what the standard ``says``
    in own words, and the function that runs it."""

    name: str
    title: str
    section: str
    says: str
    checks: Callable[[Lab], Iterator[Check]]

    @property
    def order(self) -> tuple[Any, ...]:
        """The position of the case in its standard."""
        parts = self.section.split(".")
        return (parts[0].isalpha(), *(int(part) for part in parts if part.isdigit()), self.name)

    def run(self, lab: Lab) -> Result:
        """Runs the case. A phase that is missing is a failure. A case that turns out not to apply
        fails if it has measured a value outside of its range."""
        checks: list[Check] = []
        try:
            checks += self.checks(lab)
        except NotApplicable as reason:
            failed = any(not check.passed for check in checks)
            return Result(self, FAIL if failed else NOT_APPLICABLE, checks, str(reason))
        except Missing as reason:
            return Result(self, FAIL, checks, str(reason))
        passed = bool(checks) and all(check.passed for check in checks)
        return Result(self, PASS if passed else FAIL, checks)


@dataclass(frozen=True)
class Result:
    """The verdict on a case, its checks, and the reason of a verdict that no check explains."""

    case: Case
    verdict: str
    checks: list[Check]
    reason: str = ""

    @property
    def explanation(self) -> list[str]:
        """The sentences that explain the verdict: failed checks, or all checks of a passed case."""
        shown = [check.text for check in self.checks if self.verdict == PASS or not check.passed]
        return [*shown, self.reason] if self.reason else shown

    def as_dict(self) -> dict[str, Any]:
        """The result as a dictionary for JSON."""
        return {
            "case": self.case.name,
            "section": self.case.section,
            "title": self.case.title,
            "says": self.case.says,
            "verdict": self.verdict,
            "reason": self.reason or None,
            "checks": [check.as_dict() for check in self.checks],
        }
