"""Link budgets of scenarios and of comma-separated files, line by line.

A file has rows of ``key,value`` with the keys of ``budget`` in a scenario (``down.eirp_dbw,54``).
The engine calculates both (:doc:`/reference/scenario`).
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bentpipe import _native
from bentpipe.errors import InputError

from .scenarios import load

if TYPE_CHECKING:
    from .scenarios import Overrides, ScenarioLike


@dataclass(frozen=True)
class Budget:
    """A link budget: lines of name, value, unit, and a flag for results of previous lines; the
    Es/N0, the required Es/N0, and the difference, in dB; and the MODCOD that the Es/N0 allows, None
    in an outage."""

    name: str
    lines: list[tuple[str, float, str, bool]]
    esn0_db: float
    required_db: float
    margin_db: float
    modcod: str | None

    def document(self) -> dict[str, Any]:
        """Returns the budget as a dictionary for JSON."""
        lines = [{"name": name, "value": value, "unit": unit} for name, value, unit, _ in self.lines]
        return {**self.__dict__, "lines": lines}


def of(source: ScenarioLike, overrides: Overrides = (), *, margin_db: float = 1.0) -> list[Budget]:
    """Returns the link budgets of a scenario, or of a file that ends in ``.csv``.

    Raises :class:`bentpipe.InputError` for a file without a budget, and
    :class:`bentpipe.ScenarioError`.
    """
    if isinstance(source, str | Path) and Path(source).suffix == ".csv":
        return [_of_file(Path(source), margin_db)]
    scenario = load(source, overrides)
    found = json.loads(_native.budgets(scenario.native))
    if not found:
        raise InputError(
            f"{scenario.source or 'the scenario'} has no link budget; allowed: link.NAME.acm.budget, "
            "network.NAME.forward.acm.budget or network.NAME.return.acm.budget"
        )
    return [_budget(one["name"], one["budget"]) for one in found]


def _of_file(file: Path, margin_db: float) -> Budget:
    if not file.is_file():
        raise InputError(f"{file}: {'is not a file' if file.exists() else 'there is no such file'}")
    try:
        sheet = _native.budget_of(file.read_text(encoding="utf-8"), margin_db)
    except UnicodeDecodeError:
        raise InputError(f"{file} is not UTF-8 text") from None
    except ValueError as error:
        raise InputError(f"{file}: {error}") from error
    return _budget(file.name, json.loads(sheet))


def _budget(name: str, sheet: dict[str, Any]) -> Budget:
    lines = [(line["name"], line["value"], line["unit"], line["result"]) for line in sheet.pop("lines")]
    return Budget(name=name, lines=lines, **sheet)
