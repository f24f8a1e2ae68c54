"""The results of a test of a study: what the study returns, and what commands and pages show."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from .statements import Statement, Verdict


@dataclass(frozen=True)
class Table:
    """A table to print above the verdicts. The cells are text."""

    #: The title.
    about: str
    header: list[str]
    rows: list[list[str]]


@dataclass(frozen=True)
class Reproduction:
    """The verdicts, figures and tables of a test, as the study returns them."""

    verdicts: list[Verdict]
    #: Figures by name.
    figures: Mapping[str, Figure] = field(default_factory=dict)
    #: Sentences to print below the verdicts.
    notes: list[str] = field(default_factory=list)
    tables: list[Table] = field(default_factory=list)


@dataclass(frozen=True)
class Result:
    """The results of a test, with its figures as files."""

    test: str
    verdicts: list[Verdict]
    #: The PNG files of the figures. The same folder has them as SVG and PDF, unless they are
    #: recorded.
    figures: list[Path] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    tables: list[Table] = field(default_factory=list)

    @property
    def successful(self) -> bool:
        """True if every verdict is :attr:`~bentpipe.studies.Verdict.expected`."""
        return all(verdict.expected for verdict in self.verdicts)

    def of_figure(self, label: str) -> Result:
        """Returns the part about one figure or table of the paper: its statements and drawings."""
        return Result(
            self.test,
            [verdict for verdict in self.verdicts if label in labels(verdict.statement)],
            [file for file in self.figures if label_of(file.stem) == label],
        )


@dataclass(frozen=True)
class PaperFigure:
    """A figure or table of the paper that a study draws."""

    #: The test that draws it.
    test: str
    #: Its content, and the meaning of its marks where a reader needs it.
    caption: str


_NAME: Final = re.compile(r"(?:figure-0*(\d+[a-z]?)|(table-\w+))(?:-|$)")
_LABEL: Final = re.compile(r"\b(?:fig\.|figures?) (\d+[a-z]?)|\b([Tt]able \w+)")


def label_of(name: str) -> str:
    """Returns the label of a drawing: the number of the paper's figure, or "table-1" for a table. A
    drawing that the paper does not have is its own label.

    >>> label_of("figure-05-start"), label_of("table-1-times"), label_of("day")
    ('5', 'table-1', 'day')
    """
    found = _NAME.match(name)
    return (found[1] or found[2]) if found else name


def labels(statement: Statement) -> list[str]:
    """Returns the labels of the figures and tables that the source of a statement names.

    >>> from bentpipe.studies import Statement
    >>> labels(Statement("a", "b", 1, "", 0, source="section 4 (fig. 3), table 1; figure 5b"))
    ['3', 'table-1', '5b']
    """
    return [found[1] or found[2].lower().replace(" ", "-") for found in _LABEL.finditer(statement.source)]


@contextmanager
def bar(test: str, *, shown: bool) -> Iterator[Callable[[float], None]]:
    """Shows a progress bar on stderr if ``shown`` is true and stderr is a terminal. Yields a
    function that takes the completed fraction."""
    from rich.console import Console
    from rich.progress import Progress

    console = Console(stderr=True)
    with Progress(console=console, disable=not (shown and console.is_terminal), transient=True) as progress:
        task = progress.add_task(f"running {test}", total=1.0)
        yield lambda fraction: progress.update(task, completed=fraction)
