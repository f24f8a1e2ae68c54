"""Conformance of congestion controls: the cases of a standard, run against a control.

A standard is a folder of this folder, and a case a file in it: its docstring is the title,
``SECTION`` and ``SAYS`` refer to the standard, and ``checks`` runs scenarios and yields measured
values with the ranges that the standard allows.
"""

from __future__ import annotations

import importlib
import pkgutil
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Final

from bentpipe.errors import InputError, unknown

from .case import FAIL, NOT_APPLICABLE, PASS, Case, Check, Result
from .lab import Lab, Runner, emulated, simulated

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = [
    "FAIL",
    "NOT_APPLICABLE",
    "PASS",
    "STANDARDS",
    "Case",
    "Check",
    "Lab",
    "Result",
    "Runner",
    "Standard",
    "emulated",
    "simulated",
    "standard",
]


@dataclass(frozen=True)
class Standard:
    """A standard by the name of our control, with its cases in the order of its sections."""

    name: str
    title: str
    cases: list[Case]

    def matching(self, pattern: str) -> list[Case]:
        """Returns the cases whose name or section matches a pattern with `*` and `?`. Raises
        :class:`bentpipe.InputError` if there are none."""
        found = [one for one in self.cases if fnmatchcase(one.name, pattern) or one.section == pattern]
        if not found:
            raise InputError(
                f'no case of {self.name} matches "{pattern}"; allowed: a section, or a name, with * and ?: '
                + ", ".join(one.name for one in self.cases)
            )
        return found


#: Names of the standards: the packages of this folder.
STANDARDS: Final = tuple(sorted(one.name for one in pkgutil.iter_modules(__path__) if one.ispkg))


def standard(name: str) -> Standard:
    """Returns a standard with its cases. Raises :class:`bentpipe.InputError` for another name."""
    if name not in STANDARDS:
        raise unknown("standard", name, STANDARDS)
    package = importlib.import_module(f".{name}", __name__)
    return Standard(name, package.TITLE, sorted(_cases(package.__name__, package.__path__), key=_order))


def _cases(package: str, folder: Sequence[str]) -> Iterator[Case]:
    for one in pkgutil.iter_modules(list(folder)):
        module = importlib.import_module(f"{package}.{one.name}")
        if hasattr(module, "checks"):
            title = (module.__doc__ or "").strip().rstrip(".")
            name = one.name.replace("_", "-")
            yield Case(name, title, module.SECTION, " ".join(module.SAYS.split()), module.checks)


def _order(case: Case) -> tuple[object, ...]:
    return case.order
