"""TCP-based applications over DVB-RCS DAMA (Luglio, Roseti, Zampognaro 2009), done again: see README.md."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from bentpipe import plots
from bentpipe.studies import Reproduction, judge, read_published

from .curves import CAUSES, CURVES, simulate_all
from .figures import draw_all
from .measures import measure, measure_causes

HERE: Final = Path(__file__).parent


def reproduce(test: str | None, out: Path, json: bool) -> Reproduction:
    """Simulate the curves of the test and judge every statement; T_I also draws figures 6 to 10."""
    statements = read_published(HERE / "published.csv", test)
    tests = {statement.test for statement in statements}
    curves = [*(CURVES if "T_I" in tests else ()), *(CAUSES if "T_I-causes" in tests else ())]
    with _bar(shown=not json) as progress:
        series = simulate_all(curves, out / "runs", progress)
    ours: dict[str, float | None] = {}
    figures: list[Path] = []
    if "T_I" in tests:
        ours |= measure(series)
        for name, figure in draw_all(series, statements).items():
            figures += [plots.save(figure, out / "figures" / f"{name}.{ending}") for ending in ("png", "svg")]
    if "T_I-causes" in tests:
        ours |= measure_causes({curve: series[curve] for curve in CAUSES})
    notes = ["What the differences come from: studies/dama/README.md"]
    return Reproduction(judge(statements, ours), figures=figures, notes=notes)


@contextmanager
def _bar(*, shown: bool) -> Iterator[Callable[[float], None]]:
    """A progress bar on stderr, where that is a terminal."""
    from rich.console import Console
    from rich.progress import Progress

    console = Console(stderr=True)
    with Progress(console=console, disable=not (shown and console.is_terminal), transient=True) as bar:
        task = bar.add_task("simulating", total=1.0)
        yield lambda fraction: bar.update(task, completed=fraction)
