"""TCP-based applications over DVB-RCS DAMA (Luglio, Roseti, Zampognaro 2009), reproduced; see
README.md."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from bentpipe import plots
from bentpipe.simulation import Progress
from bentpipe.studies import Reproduction, Statement, Table, bar, judge, read_published

from .curves import CAUSES, CURVES, simulate_all
from .figures import draw_all
from .measures import measure, measure_causes
from .sharing import AT_ONCE, FIVE, TENS, WITHOUT, simulate_friendliness, simulate_sharing
from .sharing import CAUSES as SHARING_CAUSES
from .sharing_figures import draw_fairness, draw_friendliness
from .sharing_measures import measure_causes as measure_sharing_causes
from .sharing_measures import (
    measure_fairness,
    measure_friendliness,
    measure_friendliness_causes,
    table_of_joining,
    table_of_moments,
)
from .transfer_figures import files, pages
from .transfer_measures import (
    measure_files,
    measure_files_without_slot,
    measure_pages,
    table_of_files,
    table_of_pages,
)
from .transfers import (
    FILES,
    NO_SLOT,
    SHORT,
    SIXTEEN,
    simulate_even_pages,
    simulate_files,
    simulate_pages,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

HERE: Final = Path(__file__).parent


@dataclass
class Came:
    """The results of the study's tests."""

    ours: dict[str, float | None] = field(default_factory=dict)
    figures: dict[str, Figure] = field(default_factory=dict)
    tables: list[Table] = field(default_factory=list)


def reproduce(test: str | None, out: Path, json: bool) -> Reproduction:
    """Simulates a test, or all tests, and judges every statement."""
    statements = read_published(HERE / "published.csv", test)
    runs, came = out / "runs", Came()
    for name in dict.fromkeys(statement.test for statement in statements):
        with bar(name, shown=not json) as progress:
            TESTS[name](runs, progress, came, statements)
    figures = [
        plots.save(figure, out / "figures" / f"{name}.{ending}")
        for name, figure in came.figures.items()
        for ending in ("png", "svg", "pdf")
    ]
    notes = ["What the differences come from: studies/dama/README.md"]
    return Reproduction(judge(statements, came.ours), figures=figures, notes=notes, tables=came.tables)


def _steady(out: Path, progress: Progress, came: Came, statements: Sequence[Statement]) -> None:
    series = simulate_all(CURVES, out, progress)
    came.ours |= measure(series)
    came.figures |= draw_all(series, statements)


def _steady_causes(out: Path, progress: Progress, came: Came, _: Sequence[Statement]) -> None:
    came.ours |= measure_causes(simulate_all(CAUSES, out, progress))


def _fairness(out: Path, progress: Progress, came: Came, _: Sequence[Statement]) -> None:
    sharing = simulate_sharing([*FIVE, *TENS], out, progress)
    came.ours |= measure_fairness(sharing)
    came.figures |= draw_fairness(sharing)
    came.tables.append(table_of_joining(sharing))


def _fairness_causes(out: Path, progress: Progress, came: Came, _: Sequence[Statement]) -> None:
    sharing = simulate_sharing(SHARING_CAUSES, out, progress)
    came.ours |= measure_sharing_causes(sharing)
    came.tables.append(table_of_moments(sharing))


def _friendliness(out: Path, progress: Progress, came: Came, _: Sequence[Statement]) -> None:
    sharing = simulate_friendliness(out, progress)
    came.ours |= measure_friendliness(sharing)
    came.figures |= draw_friendliness(sharing)


def _friendliness_causes(out: Path, progress: Progress, came: Came, _: Sequence[Statement]) -> None:
    unchanged, at_once, without = (
        simulate_friendliness(out, progress, change) for change in ("", AT_ONCE, WITHOUT)
    )
    came.ours |= measure_friendliness_causes(unchanged, at_once, without)


def _files(out: Path, progress: Progress, came: Came, _: Sequence[Statement]) -> None:
    transfers = simulate_files(FILES, out, progress)
    came.ours |= measure_files(transfers)
    came.figures["figure-21-file-transfer"] = files(transfers)
    came.tables.append(table_of_files(transfers))


def _files_causes(out: Path, progress: Progress, came: Came, _: Sequence[Statement]) -> None:
    transfers = simulate_files([SHORT, *NO_SLOT, *FILES], out, progress)
    came.ours["short-file-eff-cra"] = transfers[SHORT].efficiency_percent
    came.ours |= measure_files_without_slot(
        {file: one for file, one in transfers.items() if file.scheme == "cra" or not file.slot}
    )


def _pages(out: Path, progress: Progress, came: Came, statements: Sequence[Statement]) -> None:
    times = simulate_pages(out, progress)
    came.ours |= measure_pages(times)
    paper = {statement.id: statement.value for statement in statements}
    came.figures["figure-22-web-pages"] = pages(times, paper)
    came.tables.append(table_of_pages(times))


def _pages_causes(out: Path, progress: Progress, came: Came, _: Sequence[Statement]) -> None:
    came.ours |= measure_pages(simulate_pages(out, progress, objects=SIXTEEN), "sixteen-")
    came.ours |= measure_pages(simulate_even_pages(out, progress), "even-")


#: The function of each test. It writes runs, reports its progress, and adds its results to the
#: study's.
TESTS: Final[dict[str, Callable[[Path, Progress, Came, Sequence[Statement]], None]]] = {
    "T_I": _steady,
    "T_I-causes": _steady_causes,
    "T_II": _fairness,
    "T_II-causes": _fairness_causes,
    "T_III": _friendliness,
    "T_III-causes": _friendliness_causes,
    "T_IV": _files,
    "T_IV-causes": _files_causes,
    "T_V": _pages,
    "T_V-causes": _pages_causes,
}
