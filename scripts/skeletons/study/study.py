"""{Title}: the publication, and the experiments that this study reproduces."""

from __future__ import annotations

from pathlib import Path

from bentpipe import plots
from bentpipe.campaign.jobs import Job, run_all
from bentpipe.studies import PaperFigure, Reproduction, bar, judge, read_published

HERE = Path(__file__).parent

#: The figures, by label.
FIGURES = {"1": PaperFigure("T_I", "Course of the transfer")}


def reproduce(test: str, out: Path, json: bool) -> Reproduction:
    """Run one test of the study."""
    job = Job("first", HERE / "scenario.toml")
    with bar(test, shown=not json) as progress:
        run = run_all([job], out / "runs", progress)[job]
    ours = {"goodput": run.flows["goodput"][0] / 1e3}
    return Reproduction(
        judge(read_published(HERE / "published.csv", test), ours),
        figures={"figure-1-transfer": plots.overview(run)},
    )
