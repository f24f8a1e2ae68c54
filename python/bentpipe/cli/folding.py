"""Layout of tables for a given width. Wider tables are folded, so that no column is lost.

Long texts take several lines first. If that is not enough, the columns of numbers continue in
further tables below the first, each with the columns that identify its rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from rich.table import Table

#: Width of a column at which its longer texts are folded into several lines.
FOLD_WIDTH: Final = 17
#: Minimum width of columns on a terminal that is too narrow for :data:`FOLD_WIDTH`.
MIN_WIDTH: Final = 4
#: A width larger than that of any table.
UNLIMITED: Final = 1_000_000


@dataclass(frozen=True)
class Sheet:
    """A table before it is laid out. The first ``text_columns`` columns are text and identify the
    rows; the others are numbers. Without text columns, the first column identifies the rows. The
    second line of a heading is its unit."""

    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    text_columns: int = 1
    title: str | None = None

    @cached_property
    def sizes(self) -> list[int]:
        """The longest line of each column."""
        from rich.cells import cell_len

        cells = [[name, *(row[index] for row in self.rows)] for index, name in enumerate(self.columns)]
        return [max(cell_len(line) for text in column for line in text.split("\n")) for column in cells]

    def fits(self, width: int) -> bool:
        """Returns true if the table fits into this width when only its texts take several lines."""
        return self._fits(range(len(self.columns)), width, FOLD_WIDTH, None)

    def without_empty(self) -> tuple[Sheet, list[str]]:
        """Returns the table without empty columns of numbers, and the headings of these columns."""
        kept = [
            index
            for index in range(len(self.columns))
            if index < self.text_columns or any(row[index] != "-" for row in self.rows)
        ]
        rows = [[row[index] for index in kept] for row in self.rows]
        smaller = replace(self, columns=[self.columns[index] for index in kept], rows=rows)
        return smaller, [name for index, name in enumerate(self.columns) if index not in kept]

    def whole(self) -> Table:
        """Returns the table in one part."""
        return self._part(range(len(self.columns)), FOLD_WIDTH, None, title=self.title)

    def folded(self, width: int) -> list[Table]:
        """Returns the table or, if it is wider than ``width``, the parts to print below each
        other."""
        if self.fits(width):
            return [self.whole()]
        names = range(max(self.text_columns, 1))
        others = range(len(names), len(self.columns))
        widest = [max(others, key=self.sizes.__getitem__)] if others else []
        # Fold names first, because a number in two lines is hard to read.
        levels = range(FOLD_WIDTH, MIN_WIDTH - 1, -1)
        tried = [*((level, FOLD_WIDTH) for level in levels), *((MIN_WIDTH, level) for level in levels)]
        limits = next((one for one in tried if self._fits([*names, *widest], width, *one)), tried[-1])
        parts: list[list[int]] = []
        for index in others:
            if parts and self._fits([*names, *parts[-1], index], width, *limits):
                parts[-1].append(index)
            else:
                parts.append([index])
        return [
            self._part([*names, *part], *limits, title=None if number else self.title)
            for number, part in enumerate(parts or [[]])
        ]

    def _fits(self, indices: Iterable[int], width: int, names: int, others: int | None) -> bool:
        """Returns true if a table of these columns fits into ``width``. Names take at most
        ``names`` characters, and other columns at most ``others`` (None: unlimited)."""
        limits = ((self.sizes[index], self._limit(index, names, others)) for index in indices)
        return _width(size if limit is None else min(size, limit) for size, limit in limits) <= width

    def _limit(self, index: int, names: int, others: int | None) -> int | None:
        return names if index < self.text_columns else others

    def _part(
        self, indices: Sequence[int], names: int, others: int | None, *, title: str | None = None
    ) -> Table:
        """Returns the table of some columns, with limits as for :meth:`_fits`."""
        shown = _empty(title)
        for index in indices:
            words, size = index < self.text_columns, self.sizes[index]
            limit = self._limit(index, names, others)
            minimum = None if limit is None else min(size, limit)
            shown.add_column(
                self.columns[index],
                justify="left" if words else "right",
                no_wrap=not words and (minimum is None or size == minimum),
                overflow="fold",
                min_width=minimum,
                # Rich narrows all columns that may fold to the same width.
                width=minimum if not words and names < FOLD_WIDTH else None,
            )
        for row in self.rows:
            shown.add_row(*(row[index] for index in indices))
        return shown


def _empty(title: str | None = None) -> Table:
    """Returns a table without columns."""
    from rich import box
    from rich.table import Table

    return Table(
        box=box.SIMPLE_HEAD,
        title=title,
        title_justify="left",
        title_style="bold",
        pad_edge=False,
        padding=(0, 1, 0, 0),
    )


def _width(columns: Iterable[int]) -> int:
    """Returns the width of a table whose columns have these widths."""
    from rich.console import Console
    from rich.measure import Measurement

    shown = _empty()
    for width in columns:
        shown.add_column("x" * width, no_wrap=True)
    console = Console(width=UNLIMITED)
    return Measurement.get(console, console.options, shown).minimum
