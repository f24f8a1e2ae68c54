"""Reproduces the study of FTP with DiffServ over LEO and GEO satellite networks by Audah, Sun and
Cruickshank (2012). See README.md."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from bentpipe import plots
from bentpipe.errors import unknown
from bentpipe.studies import Reproduction, Statement, Table, judge, read_published

from .figures import draw
from .measures import measure, measure_bends, measure_few, table_3
from .points import points_of
from .segments import captures
from .setups import causes, day, setups

if TYPE_CHECKING:
    from matplotlib.figure import Figure

HERE: Final = Path(__file__).parent

#: Varied values of the twelve short runs of the test ``small``.
SMALL: Final = {"flow.files.app.size": ["500 kB"], "flow.files.app.every": ["60 s", "6 s"]}

#: Varied values of the test ``few``: the two lowest arrival rates.
FEW: Final = {"flow.files.app.every": ["60 s", "30 s"]}

#: Varied values of the test ``bends``: the lowest and the highest arrival rate, and the rate above
#: which the paper's curves bend.
BENDS: Final = {"flow.files.app.every": ["60 s", "10 s", "6 s"]}

#: The tests. Only ``campaign``, ``few``, ``bends``, ``causes`` and ``first`` judge statements.
TESTS: Final = (
    # The 240 runs of one hour each, with tables and figures.
    "campaign",
    # The 48 of these runs with 1 and 2 connections per minute: which fraction of connections
    # completes before the next starts.
    "few",
    # The 72 of these runs with 1, 6 and 10 connections per minute: jitter above 6, loss above 1e-6,
    # and the loss of all flows over both constellations.
    "bends",
    # The causes of differences: random drops by RED, different random arrivals and file sizes, and
    # the models with each hour's own round-trip time.
    "causes",
    # Delay and jitter, measured from the first transmission of each segment.
    "first",
    # The table of the effects of each assumption.
    "set-up",
    # The table and the figure of the path and delay over a day.
    "day",
    # Twelve runs of two minutes each.
    "small",
)


def reproduce(test: str | None, out: Path, json: bool, replications: int = 1) -> Reproduction:
    """Runs a test, or all tests except ``small``, and judges its statements. ``replications`` is
    the number of runs per point of ``campaign`` and ``small``."""
    if test not in (None, *TESTS):
        raise unknown("test", test or "", TESTS, str(HERE))
    tests = [name for name in TESTS if name != "small"] if test is None else [test]
    ours: dict[str, float | None] = {}
    tables: list[Table] = []
    figures: dict[str, Figure] = {}
    scenario = HERE / "ftp.toml"
    if "small" in tests:
        points = points_of(
            scenario, out / "small", replications, overrides=["duration=2 min"], vary=SMALL, quiet=json
        )
        tables.append(table_3(points))
        figures |= draw(points)
    if "campaign" in tests:
        points = points_of(scenario, out / "campaign", replications, quiet=json)
        ours |= measure(points)
        tables.append(table_3(points))
        figures |= draw(points)
    if "few" in tests:
        ours |= measure_few(points_of(scenario, out / "few", 1, vary=FEW, quiet=json))
    if "bends" in tests:
        ours |= measure_bends(points_of(scenario, out / "bends", 1, vary=BENDS, quiet=json))
    if "causes" in tests:
        ours |= causes(scenario, out, quiet=json)
    if "first" in tests:
        values, table = captures(out, quiet=json)
        ours |= values
        tables.append(table)
    if "set-up" in tests:
        tables.append(setups(scenario, out, quiet=json))
    if "day" in tests:
        table, figures["day"] = day(scenario, out, quiet=json)
        tables.append(table)
    files = [
        plots.save(figure, out / "figures" / f"{name}.{ending}")
        for name, figure in figures.items()
        for ending in ("png", "svg")
    ]
    return Reproduction(
        judge(_statements(tests), ours),
        figures=files,
        notes=["Causes of the differences: studies/diffserv/README.md"],
        tables=tables,
    )


def _statements(tests: Sequence[str]) -> list[Statement]:
    return [statement for statement in read_published(HERE / "published.csv") if statement.test in tests]
