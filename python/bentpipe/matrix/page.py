"""The page of a matrix: one self-contained HTML file with a grid and a time-offset plot per path
and load."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from .outcomes import COMPLETE, Outcome
from .paths import paths
from .tables import Grid, completion, details, grids

#: Size of a plot and of its margins, in pixels: left, right, top, bottom.
_WIDTH, _HEIGHT = 720, 300
_MARGINS: Final = (52, 12, 10, 40)
#: Colours of the columns, based on the palette of Okabe and Ito for colour-blind readers.
_COLOURS: Final = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#b8860b", "#56b4e9", "#7f7f7f", "#882255")


@dataclass(frozen=True)
class _Curve:
    label: str
    colour: str
    points: str


@dataclass(frozen=True)
class _Plot:
    """A plot in pixels: its curves, and its ticks with their labels."""

    width: int
    height: int
    margins: tuple[int, int, int, int]
    curves: list[_Curve]
    x_ticks: list[tuple[float, str]]
    y_ticks: list[tuple[float, str]]


@dataclass(frozen=True)
class _Section:
    grid: Grid
    source: str
    best: float | None
    plot: _Plot | None


def write_page(outcomes: Sequence[Outcome], file: Path, **about: Any) -> Path:
    """Writes the page and returns its file. ``about`` has the page's ``title``, the words for
    ``rows`` and ``columns``, the rows of the table of ``stacks``, the published ``findings``, and
    the guest's ``kernel``."""
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.ChoiceLoader(
            [jinja2.PackageLoader("bentpipe.matrix", "."), jinja2.PackageLoader("bentpipe.report", ".")]
        ),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    found = [_section(grid) for grid in grids(outcomes)]
    columns = dict.fromkeys(column for section in found for column in section.grid.columns)
    text = environment.get_template("page.html.j2").render(
        sections=found,
        legend=[(column, _colour([*columns], column)) for column in columns],
        completion=completion,
        details=details,
        complete=COMPLETE,
        **about,
    )
    file.write_text(text, encoding="utf-8")
    return file


def _colour(columns: Sequence[str], column: str) -> str:
    return _COLOURS[columns.index(column) % len(_COLOURS)]


def _section(grid: Grid) -> _Section:
    times = [cell.completion_s for cell in grid.cells.values() if cell.completion_s is not None]
    return _Section(grid, paths()[grid.path].source, min(times, default=None), _plot(grid))


def _plot(grid: Grid) -> _Plot | None:
    """Returns the plot of the cells with packets, one curve per cell, coloured by column."""
    cells = [cell for cell in grid.cells.values() if len(cell.offsets) > 1]
    if not cells:
        return None
    end = max(cell.offsets[-1][0] for cell in cells)
    top = max(cell.offsets[-1][1] for cell in cells) / 2**20
    left, right, above, below = _MARGINS
    across = (_WIDTH - left - right) / max(end, 1e-9)
    up = (_HEIGHT - above - below) / max(top, 1e-9)

    def x(time: float) -> float:
        return round(left + across * time, 1)

    def y(megabytes: float) -> float:
        return round(_HEIGHT - below - up * megabytes, 1)

    curves = [
        _Curve(
            f"{cell.row} / {cell.column}: {completion(cell)}",
            _colour(grid.columns, cell.column),
            " ".join(f"{x(time)},{y(size / 2**20)}" for time, size in cell.offsets),
        )
        for cell in cells
    ]
    x_ticks = [(x(at), f"{at:g}") for at in _ticks(end)]
    return _Plot(_WIDTH, _HEIGHT, _MARGINS, curves, x_ticks, [(y(at), f"{at:g}") for at in _ticks(top)])


def _ticks(end: float) -> list[float]:
    """Returns about five round numbers from 0 to ``end``.

    >>> _ticks(12.5)
    [0.0, 2.5, 5.0, 7.5, 10.0, 12.5]
    """
    size = 10.0 ** math.floor(math.log10(max(end, 1e-9) / 4))
    step = next(size * one for one in (1, 2, 2.5, 5, 10) if end / (size * one) <= 6)
    return [round(step * number, 9) for number in range(int(end / step + 1e-9) + 1)]
