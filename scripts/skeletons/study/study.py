"""{Title}: the publication, and the experiments that this study reproduces."""

from __future__ import annotations

from pathlib import Path

from bentpipe import plots
from bentpipe.campaign.jobs import Job, run_all
from bentpipe.studies import Reproduction, bar, judge, read_published

HERE = Path(__file__).parent


def reproduce(test: str | None, out: Path, json: bool) -> Reproduction:
    """Run one test of the study, or all of them."""
    statements = read_published(HERE / "published.csv", test)
    job = Job("first", HERE / "scenario.toml")
    with bar("first", shown=not json) as progress:
        run = run_all([job], out / "runs", progress)[job]
    goodput_kbit_s = run.flows["goodput"][0] / 1e3
    figure = plots.save(plots.overview(run), out / "figures" / "first.png")
    return Reproduction(judge(statements, {"goodput": goodput_kbit_s}), figures=[figure])
