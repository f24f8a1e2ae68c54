"""FTP over LEO and GEO satellite networks with DiffServ (Audah, Sun, Cruickshank 2012), done again: see README.md."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from bentpipe import plots
from bentpipe.errors import unknown
from bentpipe.studies import Reproduction, Table, judge, read_published

from .figures import draw
from .measures import measure, measure_one_link, table_3
from .points import BER, ONE_LINK, Points, points_of

HERE: Final = Path(__file__).parent

#: Twelve short runs.
SMALL: Final = {"flow.files.app.size": ["500 kB"], "flow.files.app.every": ["60 s", "6 s"]}

#: The corners of the campaign, with bit errors on the link from the edge instead of those to and from the ground.
CORNERS: Final = {
    "flow.files.app.size": ["500 kB", "2 MB"],
    "flow.files.app.every": ["60 s", "6 s"],
    BER: [0.0],
    ONE_LINK: [1e-7, 1e-5],
}
ERRORS_ONCE: Final = ("link.backhaul.error={kind = 'bit', rate = 1e-7}",)

#: What is judged: the 240 hours, and what explains the losses. ``small`` judges nothing.
TESTS: Final = ("campaign", "one-link", "small")


def reproduce(test: str | None, out: Path, json: bool, replications: int = 1) -> Reproduction:
    """Simulate a test, or all, ``replications`` times, and judge every statement of it."""
    if test not in (None, *TESTS):
        raise unknown("test", test or "", TESTS, str(HERE))
    points: Points = {}
    ours: dict[str, float | None] = {}
    tables: list[Table] = []
    scenario = HERE / "ftp.toml"
    if test == "small":
        points = points_of(
            scenario, out / "small", replications, overrides=["duration=2 min"], vary=SMALL, quiet=json
        )
    if test in (None, "campaign"):
        points = points_of(scenario, out / "campaign", replications, quiet=json)
        ours |= measure(points)
    if test in (None, "one-link"):
        corners = points_of(
            scenario, out / "one-link", replications, overrides=ERRORS_ONCE, vary=CORNERS, quiet=json
        )
        ours |= measure_one_link(corners)
    if points:
        tables.append(table_3(points))
    files = [
        plots.save(figure, out / "figures" / f"{name}.{ending}")
        for name, figure in (draw(points) if points else {}).items()
        for ending in ("png", "svg")
    ]
    statements = [] if test == "small" else read_published(HERE / "published.csv", test)
    return Reproduction(
        judge(statements, ours),
        figures=files,
        notes=["What the differences come from: studies/diffserv/README.md"],
        tables=tables,
    )
