"""Tables and JSON on standard output. Rich is imported on demand, since most commands print no
table."""

from __future__ import annotations

import json
import math
import os
import re
import sys
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import typer

from bentpipe.errors import InputError

from .folding import UNLIMITED, Sheet
from .streams import holds_all_characters

if TYPE_CHECKING:
    from rich.console import Console


def print_json(document: Any) -> None:
    """Prints a document as JSON, in ASCII if standard output cannot represent all characters."""
    typer.echo(as_json(document, ascii_only=not holds_all_characters()))


def print_json_line(document: Any) -> None:
    """Prints a document as one line of JSON at once, for commands that print further documents
    until they are stopped."""
    typer.echo(json.dumps(plain(document), allow_nan=False, ensure_ascii=not holds_all_characters()))


#: A number as JSON and Python's formats write it, with an optional sign.
_NUMBER: Final = re.compile(r"[+-]?(0|[1-9][0-9]*)(\.[0-9]+)?(e[+-]?[0-9]+)?")


def number_or_text(text: str) -> float | int | str | None:
    """Returns the number in a cell of a table, None for a missing value (``-`` or ``nan``), else
    the text.

    >>> [number_or_text(cell) for cell in ("12", "+0.5", "1e+05", "-", "nan")]
    [12, 0.5, 100000.0, None, None]
    >>> [number_or_text(cell) for cell in ("12 %", "1_000", "inf", "007")]
    ['12 %', '1_000', 'inf', '007']
    """
    if text in ("-", "nan"):
        return None
    if not (found := _NUMBER.fullmatch(text)):
        return text
    return float(text) if found[2] or found[3] else int(text)


def as_json(document: Any, *, ascii_only: bool = False) -> str:
    """Returns a document as JSON. NaN and infinity become null."""
    return json.dumps(plain(document), indent=2, allow_nan=False, ensure_ascii=ascii_only)


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
    """Prints a table of rows under headings to standard output. The first ``text_columns`` columns
    are text, the others numbers. The second line of a heading is its unit.

    In a terminal, the table is folded to the width of the terminal (:mod:`.folding`), and empty
    columns of numbers are named below it. Elsewhere, the table has the width of its contents,
    unless the environment variable ``COLUMNS`` gives a width.
    """
    console = console_of_tables()
    sheet, omitted = Sheet(columns, list(rows), text_columns, title), list[str]()
    if not sheet.fits(console.width):
        sheet, omitted = sheet.without_empty()
    for part in sheet.folded(console.width):
        console.print(part)
    if omitted:
        print_note(f"columns without a value: {', '.join(' '.join(name.split()) for name in omitted)}")


def console_of_tables() -> Console:
    """Returns a console for standard output that is as wide as the terminal or as ``COLUMNS``;
    without either, in a pipe or file, wider than any table."""
    from rich.console import Console

    limited = sys.stdout.isatty() or os.environ.get("COLUMNS", "").isdigit()
    return Console(highlight=False, markup=False, width=None if limited else UNLIMITED)


def print_note(text: str, indent: int = 2) -> None:
    """Prints a sentence or two, wrapped to the terminal's width, with later lines indented."""
    from rich.console import Console

    width = Console().width
    further = " " * indent
    typer.echo(
        textwrap.fill(text, width, subsequent_indent=further, break_long_words=False, break_on_hyphens=False)
    )


def of_format(path: Path, endings: Sequence[str]) -> str:
    """Returns the ending of a file's name, which selects the format; the first of ``endings`` for a
    name without one. Raises :class:`bentpipe.InputError` for another ending."""
    ending = path.suffix.lower() or endings[0]
    if ending not in endings:
        raise InputError(
            f"{path}: cannot write a file with the ending {path.suffix}; allowed: {', '.join(endings)}"
        )
    return ending


def write_text(path: Path, text: str) -> None:
    """Writes a text file, and reports it on stderr, where it does not disturb a pipe. Raises
    :class:`bentpipe.InputError` if its folder does not exist."""
    if not path.parent.exists():
        raise InputError(f"{path}: there is no folder {path.parent}; allowed: a file in an existing folder")
    path.write_text(text, encoding="utf-8")
    typer.echo(f"written  {path}", err=True)
