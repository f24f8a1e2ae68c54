"""FTP over LEO and GEO satellite networks with DiffServ (Audah, Sun, Cruickshank 2012), done again: see README.md."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from bentpipe import plots
from bentpipe.errors import unknown
from bentpipe.studies import Reproduction, judge, read_published

from .figures import draw
from .measures import measure, table_3
from .points import points_of

HERE: Final = Path(__file__).parent

#: Values of the plan that a test leaves out: the machinery with twelve runs of two minutes.
SMALL: Final = {
    "flow.files.app.size": ["500 kB"],
    "flow.files.app.every": ["60 s", "6 s"],
}

TESTS: Final = ("campaign", "small")


def reproduce(test: str | None, out: Path, json: bool, replications: int = 1) -> Reproduction:
    """Simulate the 240 hours, ``replications`` times, and judge every statement.

    ``small`` is the same with few short runs, and judges nothing."""
    if test not in (None, *TESTS):
        raise unknown("test", test or "", TESTS, str(HERE))
    small = test == "small"
    points = points_of(
        HERE / "ftp.toml",
        out / ("small" if small else "campaign"),
        replications,
        overrides=["duration=2 min"] if small else [],
        vary=SMALL if small else {},
        quiet=json,
    )
    statements = [] if small else read_published(HERE / "published.csv", test)
    files = [
        plots.save(figure, out / "figures" / f"{name}.{ending}")
        for name, figure in draw(points).items()
        for ending in ("png", "svg")
    ]
    return Reproduction(
        judge(statements, {} if small else measure(points)),
        figures=files,
        notes=["What the differences come from: studies/diffserv/README.md"],
        tables=[table_3(points)],
    )
