"""The outcomes of a matrix as grids of text, one per path and load."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from bentpipe.quantities import number

from .outcomes import COMPLETE, Outcome
from .paths import paths

#: Text of a cell without an outcome, which an interrupted matrix has.
OPEN: Final = "-"


@dataclass(frozen=True)
class Grid:
    """The outcomes of one path and load, by row and column."""

    path: str
    load: str
    rows: list[str]
    columns: list[str]
    cells: dict[tuple[str, str], Outcome]

    @property
    def title(self) -> str:
        """The path in words, and the load."""
        return f"{paths()[self.path].about}; {self.load}"

    def texts(self, text: Callable[[Outcome], str]) -> list[list[str]]:
        """Returns the rows of a table: the name of the row, and the text of each cell."""
        found = self.cells.get
        return [
            [row, *(text(cell) if (cell := found((row, column))) else OPEN for column in self.columns)]
            for row in self.rows
        ]

    @property
    def reasons(self) -> list[str]:
        """The reasons of cells without a completion, each with its cells."""
        by_reason: dict[str, list[str]] = {}
        for (row, column), cell in self.cells.items():
            if cell.reason:
                by_reason.setdefault(cell.reason, []).append(f"{row} / {column}")
        return [f"{reason}: {', '.join(cells)}" for reason, cells in by_reason.items()]


def grids(outcomes: Sequence[Outcome]) -> Iterator[Grid]:
    """Yields the grids of a matrix in the order of the outcomes."""
    for path, load in dict.fromkeys((one.path, one.load) for one in outcomes):
        own = [one for one in outcomes if (one.path, one.load) == (path, load)]
        yield Grid(
            path,
            load,
            [*dict.fromkeys(one.row for one in own)],
            [*dict.fromkeys(one.column for one in own)],
            {(one.row, one.column): one for one in own},
        )


def completion(cell: Outcome) -> str:
    """Returns the completion time in seconds, or the verdict."""
    return f"{cell.completion_s:.2f}" if cell.completion_s is not None else cell.verdict


def details(cell: Outcome) -> list[str]:
    """Returns the numbers of a cell besides its completion, in words."""
    parts = []
    if cell.verdict == COMPLETE and cell.goodput is not None:
        parts.append(f"{number(cell.goodput / 1e6)} Mbit/s")
    if cell.retransmissions is not None:
        parts.append(f"{cell.retransmissions} retransmitted")
    if cell.lost_packets is not None and cell.sent_packets:
        parts.append(f"{cell.lost_packets} of {cell.sent_packets} lost")
    if cell.fidelity not in (None, "valid"):
        parts.append(f"emulation {cell.fidelity}")
    return parts
