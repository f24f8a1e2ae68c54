"""TCP-based applications over DVB-RCS DAMA (Luglio, Roseti, Zampognaro 2009), done again: see README.md."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from bentpipe import plots
from bentpipe.studies import Reproduction, judge, read_published

from .curves import CURVES, simulate_all
from .figures import draw_all
from .measures import measure

HERE: Final = Path(__file__).parent


def reproduce(test: str | None, out: Path, json: bool) -> Reproduction:
    """Simulate the curves of the test, draw figures 6 to 10, and judge every statement."""
    statements = read_published(HERE / "published.csv", test)
    with _bar(shown=not json) as progress:
        series = simulate_all(CURVES, out / "runs", progress)
        figures = []
        for name, figure in draw_all(series, statements).items():
            figures += [plots.save(figure, out / "figures" / f"{name}.{ending}") for ending in ("png", "svg")]
    return Reproduction(
        judge(statements, measure(series)),
        figures=figures,
        notes=["causes of the differences: studies/dama/README.md"],
    )


@contextmanager
def _bar(*, shown: bool) -> Iterator[Callable[[float], None]]:
    """A progress bar on stderr, where that is a terminal."""
    from rich.console import Console
    from rich.progress import Progress

    console = Console(stderr=True)
    with Progress(console=console, disable=not (shown and console.is_terminal), transient=True) as bar:
        task = bar.add_task("twelve curves", total=1.0)
        yield lambda fraction: bar.update(task, completed=fraction)
