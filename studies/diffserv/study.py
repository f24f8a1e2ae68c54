"""Reproduces the study of FTP with DiffServ over LEO and GEO satellite networks by Audah, Sun and
Cruickshank (2012). See README.md."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from bentpipe.studies import PaperFigure, Reproduction, Table, judge, read_published

from .figures import draw
from .measures import measure, measure_bends, measure_few, table_3
from .points import points_of
from .segments import captures
from .setups import causes, day, draws, setups

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
    # The points of minimum and maximum loss with ten random draws.
    "draws",
    # Delay and jitter, measured from the first transmission of each segment.
    "first",
    # The table of the effects of each assumption.
    "set-up",
    # The table and the figure of the path and delay over a day.
    "day",
)

_KEY: Final = "Colours: bit error rates; markers: file sizes; bands: 95 % confidence intervals."

#: The figures, by label.
FIGURES: Final = {
    "2": PaperFigure("campaign", f"Mean delay of the segments. {_KEY} Circles: the worst mean delays."),
    "3": PaperFigure("campaign", f"Mean absolute jitter. {_KEY}"),
    "4": PaperFigure("campaign", f"Loss ratio. {_KEY} Level: the loss is always below 7 %."),
    "5": PaperFigure("campaign", f"Throughput of completed files. {_KEY}"),
    "6": PaperFigure(
        "campaign",
        "Measured throughput and TCP models. Band: 25 % around the approximate model, in which we count a point as "
        "near. Dashed in the colour of 1e-5: files of 500 kB lie slightly above the model.",
    ),
    "day": PaperFigure("day", "Path and delay over a day"),
}

#: Twelve runs of two minutes each.
EXTRA: Final = ("small",)


def reproduce(test: str, out: Path, json: bool, replications: int = 1) -> Reproduction:
    """Runs a test and judges its statements. ``replications`` is the number of runs per point of
    ``campaign`` and ``small``."""
    statements = read_published(HERE / "published.csv", test)
    claims = [one for one in read_published(HERE / "published.csv") if one.role != "variation"]
    ours: dict[str, float | None] = {}
    tables: list[Table] = []
    figures: dict[str, Figure] = {}
    scenario = HERE / "ftp.toml"
    if test == "small":
        points = points_of(
            scenario, out / "small", replications, overrides=["duration=2 min"], vary=SMALL, quiet=json
        )
        tables.append(table_3(points))
        figures |= draw(points, claims)
    if test == "campaign":
        points = points_of(scenario, out / "campaign", replications, quiet=json)
        ours |= measure(points)
        tables.append(table_3(points))
        figures |= draw(points, claims)
    if test == "few":
        ours |= measure_few(points_of(scenario, out / "few", 1, vary=FEW, quiet=json))
    if test == "bends":
        ours |= measure_bends(points_of(scenario, out / "bends", 1, vary=BENDS, quiet=json))
    if test == "causes":
        ours |= causes(scenario, out, quiet=json)
    if test == "draws":
        values, table = draws(scenario, out, quiet=json)
        ours |= values
        tables.append(table)
    if test == "first":
        values, table = captures(out, quiet=json)
        ours |= values
        tables.append(table)
    if test == "set-up":
        tables.append(setups(scenario, out, quiet=json))
    if test == "day":
        table, figures["day"] = day(scenario, out, quiet=json)
        tables.append(table)
    return Reproduction(
        judge(statements, ours),
        figures=figures,
        notes=["Causes of the differences: studies/diffserv/README.md"],
        tables=tables,
    )
