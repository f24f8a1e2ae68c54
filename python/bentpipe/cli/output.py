"""Tables and JSON on standard output. Rich is imported by what needs it, since most commands print no table."""

from __future__ import annotations

import json
import math
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from bentpipe.errors import InputError

if TYPE_CHECKING:
    from rich.table import Table


def print_json(document: Any) -> None:
    """Print a document as JSON."""
    typer.echo(as_json(document))


def as_json(document: Any) -> str:
    """Returns a document as JSON. NaN and infinity become null."""
    return json.dumps(plain(document), indent=2, allow_nan=False, ensure_ascii=False)


def plain(value: Any) -> Any:
    """Returns a value that JSON can represent.

    >>> plain({"a": float("nan"), "b": (1, Path("x"))})
    {'a': None, 'b': [1, 'x']}
    """
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return value


def print_table(
    columns: Sequence[str], rows: Iterable[Sequence[str]], *, text_columns: int = 1, title: str | None = None
) -> None:
    """Print a :func:`table` to standard output, as wide as the terminal. Columns of numbers without any are omitted
    if the terminal is too narrow for them."""
    from rich.console import Console
    from rich.measure import Measurement

    console = Console(highlight=False, markup=False)
    rows = list(rows)
    shown = table(columns, rows, text_columns=text_columns, title=title)
    # Numbers are not wrapped, so that a wider table would be cut off.
    free = console.options.update(max_width=10_000)
    if Measurement.get(console, free, shown).minimum > console.width:
        kept = [
            index
            for index in range(len(columns))
            if index < text_columns or any(row[index] != "-" for row in rows)
        ]
        rows = [[row[index] for index in kept] for row in rows]
        shown = table([columns[index] for index in kept], rows, text_columns=text_columns, title=title)
    console.print(shown)


def table(
    columns: Sequence[str], rows: Iterable[Sequence[str]], *, text_columns: int = 1, title: str | None = None
) -> Table:
    """Returns a table of rows under headings. The first ``text_columns`` columns are text, the others numbers. The
    second line of a heading is its unit."""
    from rich import box
    from rich.table import Table

    shown = Table(
        box=box.SIMPLE_HEAD,
        title=title,
        title_justify="left",
        title_style="bold",
        pad_edge=False,
        padding=(0, 1, 0, 0),
    )
    rows = list(rows)
    for index, column in enumerate(columns):
        words = index < text_columns
        longest = max(len(text) for text in [*column.split("\n"), *(row[index] for row in rows)])
        shown.add_column(
            column,
            justify="left" if words else "right",
            no_wrap=not words,
            overflow="fold",
            min_width=min(longest, 17) if words else None,
        )
    for row in rows:
        shown.add_row(*row)
    return shown


def print_note(text: str, indent: int = 2) -> None:
    """Print a sentence or two, wrapped to the terminal's width, with later lines indented."""
    from rich.console import Console

    width = Console().width
    further = " " * indent
    typer.echo(
        textwrap.fill(text, width, subsequent_indent=further, break_long_words=False, break_on_hyphens=False)
    )


def of_format(path: Path, endings: Sequence[str]) -> str:
    """Returns the ending of a file's name, which selects the format; the first of ``endings`` for a name without one.
    Raises :class:`bentpipe.InputError` for another ending."""
    ending = path.suffix.lower() or endings[0]
    if ending not in endings:
        raise InputError(
            f"{path}: the ending {path.suffix} is not one that can be written; allowed: {', '.join(endings)}"
        )
    return ending


def write_text(path: Path, text: str) -> None:
    """Write a text file, and report it on stderr, where it does not disturb a pipe."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    typer.echo(f"written  {path}", err=True)
