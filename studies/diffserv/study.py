"""FTP over LEO and GEO satellite networks with DiffServ (Audah, Sun, Cruickshank 2012), reproduced;
see README.md."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from bentpipe import plots
from bentpipe.errors import unknown
from bentpipe.studies import Reproduction, Statement, Table, judge, read_published

from .figures import draw
from .measures import measure, table_3
from .points import points_of
from .segments import captures
from .setups import causes, day, setups

if TYPE_CHECKING:
    from matplotlib.figure import Figure

HERE: Final = Path(__file__).parent

#: Values for the twelve short runs of the test `small`.
SMALL: Final = {"flow.files.app.size": ["500 kB"], "flow.files.app.every": ["60 s", "6 s"]}

#: The 240 hours; hours with other drops of RED or other draws of arrivals and files; delay from a
#: segment's first transmission; tables of the assumptions and of the day. Only the first three
#: judge statements.
TESTS: Final = ("campaign", "causes", "first", "set-up", "day", "small")


def reproduce(test: str | None, out: Path, json: bool, replications: int = 1) -> Reproduction:
    """Simulates a test, or all except ``small``, ``replications`` times, and judges every
    statement."""
    if test not in (None, *TESTS):
        raise unknown("test", test or "", TESTS, str(HERE))
    asked = TESTS[:-1] if test is None else (test,)
    ours: dict[str, float | None] = {}
    tables: list[Table] = []
    figures: dict[str, Figure] = {}
    scenario = HERE / "ftp.toml"
    if "small" in asked:
        points = points_of(
            scenario, out / "small", replications, overrides=["duration=2 min"], vary=SMALL, quiet=json
        )
        tables.append(table_3(points))
        figures |= draw(points)
    if "campaign" in asked:
        points = points_of(scenario, out / "campaign", replications, quiet=json)
        ours |= measure(points)
        tables.append(table_3(points))
        figures |= draw(points)
    if "causes" in asked:
        ours |= causes(scenario, out, quiet=json)
    if "first" in asked:
        values, table = captures(out, quiet=json)
        ours |= values
        tables.append(table)
    if "set-up" in asked:
        tables.append(setups(scenario, out, quiet=json))
    if "day" in asked:
        table, figures["day"] = day(scenario, out, quiet=json)
        tables.append(table)
    files = [
        plots.save(figure, out / "figures" / f"{name}.{ending}")
        for name, figure in figures.items()
        for ending in ("png", "svg")
    ]
    return Reproduction(
        judge(_statements(asked), ours),
        figures=files,
        notes=["The causes of the differences: studies/diffserv/README.md"],
        tables=tables,
    )


def _statements(asked: tuple[str, ...]) -> list[Statement]:
    return [one for one in read_published(HERE / "published.csv") if one.test in asked]
