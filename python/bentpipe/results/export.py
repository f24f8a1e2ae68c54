"""Export of tables as files for other programs and for papers, with one function per file name
ending.

The command line and the test bed offer the formats in :data:`ENDINGS`. A new format needs a
function and an entry there.
"""

from __future__ import annotations

import io
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias

from bentpipe.errors import InputError, unknown
from bentpipe.quantities import number

if TYPE_CHECKING:
    import polars as pl

    from .runs import Run

#: The text of a cell, or the texts of a mean and of the half width of its interval.
Cell: TypeAlias = "str | tuple[str, str]"

#: Text for a missing value.
NOTHING: Final = "--"

#: Maximum number of rows of an Excel sheet below the headings.
_SPREADSHEET_ROWS: Final = 1_048_575

#: Significant digits of numbers in text without an interval.
_DIGITS: Final = 6

_ESCAPES: Final = {character: f"\\{character}" for character in "&%$#_{}"} | {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": "$<$",
    ">": "$>$",
}


@dataclass(frozen=True)
class Table:
    """A table to export: as a data frame for programs, and as text for papers. The first ``texts``
    columns of the text are words, the others numbers; ``remark`` is a sentence about them."""

    frame: pl.DataFrame
    headings: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    texts: int
    remark: str = ""


def table_of(frame: pl.DataFrame) -> Table:
    r"""Returns the table of a data frame, in which columns of words come first.

    >>> import polars as pl
    >>> markdown(table_of(pl.DataFrame({"flow": ["up"], "goodput": [1234567.8], "rtt_mean": [None]}))).decode()
    '| flow | goodput | rtt_mean |\n| --- | ---: | ---: |\n| up | 1234568 | – |\n'
    """
    import polars as pl

    words = [frame.schema[name] in (pl.String, pl.Categorical) for name in frame.columns]
    texts = words.index(False) if False in words else len(words)
    rows = [[_cell(value) for value in row] for row in frame.iter_rows()]
    return Table(frame, frame.columns, rows, texts)


def table_of_run(run: Run, name: str) -> Table:
    """Returns a run's table of flows (``flows``), or a report or trace of this name. Raises
    :class:`bentpipe.InputError`."""
    if name == "flows":
        return table_of(run.flows)
    if name in run.tables:
        return table_of(run.table(name))
    if name in run.traces:
        return table_of(run.trace(name))
    raise unknown("table", name, ["flows", *run.tables, *run.traces], str(run.path))


def csv(table: Table) -> bytes:
    """Returns comma-separated values."""
    return table.frame.write_csv().encode()


def json(table: Table) -> bytes:
    """Returns a JSON array with an object per row. Missing and infinite values are null."""
    return _finite(table.frame).write_json().encode()


def parquet(table: Table) -> bytes:
    """Returns a Parquet file."""
    with io.BytesIO() as file:
        table.frame.write_parquet(file)
        return file.getvalue()


def spreadsheet(table: Table) -> bytes:
    """Returns an Excel workbook, with empty cells for missing and infinite values. Raises
    :class:`bentpipe.InputError` for a table with too many rows."""
    import xlsxwriter

    if table.frame.height > _SPREADSHEET_ROWS:
        raise InputError(
            f"{table.frame.height} rows are too many for a spreadsheet; allowed: {_SPREADSHEET_ROWS}, or another format"
        )

    with io.BytesIO() as file:
        with xlsxwriter.Workbook(file) as book:
            _finite(table.frame).write_excel(book, autofit=True, float_precision=6)
        return file.getvalue()


def markdown(table: Table) -> bytes:
    """Returns a Markdown table, with half widths after a plus-minus sign."""

    def line(cells: Iterable[str]) -> str:
        return f"| {' | '.join(cells)} |\n"

    numbers = len(table.headings) - table.texts
    rows = [
        ["–" if one == NOTHING else _joined(one, " ± ").replace("|", "\\|") for one in row]
        for row in table.rows
    ]
    parts = [table.headings, ["---"] * table.texts + ["---:"] * numbers, *rows]
    return "".join(map(line, parts)).encode()


def latex(table: Table) -> bytes:
    """Returns a ``tabular`` with the rules of the package ``booktabs``, with half widths after a
    plus-minus sign."""
    alignment = "l" * table.texts + "r" * (len(table.headings) - table.texts)

    def row(cells: Sequence[Cell]) -> str:
        numbers = [_mathematical(one) for one in cells[table.texts :]]
        words = [escaped(_joined(one, " ")) for one in cells[: table.texts]]
        return " & ".join([*words, *numbers]) + r" \\"

    lines = [
        *([f"% {table.remark}"] if table.remark else []),
        "% In the preamble: \\usepackage{booktabs}",
        f"\\begin{{tabular}}{{@{{}}{alignment}@{{}}}}",
        "\\toprule",
        " & ".join(map(escaped, table.headings)) + r" \\",
        "\\midrule",
        *map(row, table.rows),
        "\\bottomrule",
        "\\end{tabular}",
    ]
    return ("\n".join(lines) + "\n").encode()


#: The formats by file name ending.
ENDINGS: Final[Mapping[str, Callable[[Table], bytes]]] = {
    ".csv": csv,
    ".parquet": parquet,
    ".xlsx": spreadsheet,
    ".json": json,
    ".md": markdown,
    ".tex": latex,
}


def content(table: Table, ending: str) -> bytes:
    """Returns a table in the format of an ending of :data:`ENDINGS`. Raises
    :class:`bentpipe.InputError` for others."""
    if ending not in ENDINGS:
        raise InputError(f"cannot write a file with the ending {ending}; allowed: {', '.join(ENDINGS)}")
    return ENDINGS[ending](table)


def write(table: Table, file: Path) -> None:
    """Writes a table in the format of the file's ending, and creates its folder if it is missing.
    Raises :class:`bentpipe.InputError` for other endings."""
    written = content(table, file.suffix.lower())
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(written)


def escaped(text: str) -> str:
    r"""Returns a text with LaTeX's special characters escaped.

    >>> escaped("a_b & {5 %}")
    'a\\_b \\& \\{5 \\%\\}'
    """
    return "".join(_ESCAPES.get(character, character) for character in text)


def _finite(frame: pl.DataFrame) -> pl.DataFrame:
    """Returns a frame with null in place of NaN and infinity."""
    import polars as pl

    numbers = pl.selectors.float()
    return frame.with_columns(pl.when(numbers.is_finite()).then(numbers).name.keep())


def _cell(value: object) -> Cell:
    """Returns a value of a data frame as text."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return NOTHING
    if isinstance(value, float):
        return number(value, _DIGITS), ""
    return (str(value), "") if isinstance(value, int) and not isinstance(value, bool) else str(value)


def _joined(cell: Cell, by: str) -> str:
    return cell if isinstance(cell, str) else by.join(part for part in cell if part)


def _mathematical(cell: Cell) -> str:
    if isinstance(cell, str):
        return escaped(cell)
    return f"${cell[0]} \\pm {cell[1]}$" if cell[1] else f"${cell[0]}$"
