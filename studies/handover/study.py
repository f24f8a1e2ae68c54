"""Transport protocols for hybrid terrestrial and satellite systems (Tou et al., 2012), done again: see README.md."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Final

from bentpipe import plots
from bentpipe.jobs import Progress, run_all
from bentpipe.studies import Clock, Reproduction, Statement, Table, bar, judge, read_published

from . import proxied
from .cases import EXPERIMENTS, VERSIONS, Experiment, job, split_job
from .figures import draw
from .judging import values
from .measures import Course, Outcome, course_of, outcome_of

HERE: Final = Path(__file__).parent

#: The experiments of each test; those that end in "-pep" go through the proxy.
TESTS: Final = {
    "fig2": ("satellite",),
    "fig3a": ("delay",),
    "fig3b": ("bandwidth",),
    "loss": ("loss",),
    "fig4": ("satellite", "delay", "bandwidth", "satellite-pep", "delay-pep", "bandwidth-pep"),
    "fig5": ("delay-500", "delay-1000"),
    "fig6": ("bandwidth-500", "bandwidth-1000"),
}

#: Runs at a time: in virtual time as many as there are processors; in real time they hardly work.
AT_A_TIME: Final[dict[Clock, int]] = {"virtual": 2, "real": 7}

#: How near the clocks come: bytes relative, restart in seconds.
BYTES, RESTART_S = 0.1, 1.0


def reproduce(test: str | None, out: Path, json: bool, clock: Clock = "virtual") -> Reproduction:
    """Run a test's experiments, or all, and judge its statements by the clock asked for. With the real clock both are
    run, and a table shows them side by side."""
    statements = read_published(HERE / "published.csv", test)
    tests = list(dict.fromkeys(statement.test for statement in statements))
    names = list(dict.fromkeys(name for one in tests for name in TESTS[one]))
    clocks: tuple[Clock, ...] = ("virtual",) if clock == "virtual" else ("virtual", clock)
    courses: dict[Clock, dict[tuple[str, str], Course]] = {}
    notes: list[str] = []
    for each in clocks:
        with bar(f"handovers on the {each} clock", shown=not json) as progress:
            courses[each] = run(names, each, out, progress, notes)
    outcomes = {
        one: {key: outcome_of(course, experiment_of(key[0])) for key, course in of.items()}
        for one, of in courses.items()
    }
    ours: dict[str, float | None] = {}
    for one in tests:
        ours |= values(outcomes[clock], one)
    judged = judge(statements, ours)
    if clock == "real":
        judged = [replace(verdict, statement=_on_real(verdict.statement)) for verdict in judged]
    return Reproduction(
        judged,
        figures=[
            plots.save(
                draw(
                    experiment_of(name),
                    {key[1]: course for key, course in courses[clock].items() if key[0] == name},
                ),
                out / "figures" / f"{name}-{clock}.{ending}",
            )
            for name in names
            if any(key[0] == name for key in courses[clock])
            for ending in ("png", "svg", "pdf")
        ],
        notes=notes,
        tables=[table(name, outcomes) for name in names if any(key[0] == name for key in outcomes[clock])],
    )


def experiment_of(name: str) -> Experiment:
    """The experiment, with the proxy or without."""
    base = EXPERIMENTS[name.removesuffix("-pep")]
    return replace(base, name=name, title=f"{base.title}, with the proxy") if name.endswith("-pep") else base


def run(
    names: list[str], clock: Clock, out: Path, progress: Progress, notes: list[str]
) -> dict[tuple[str, str], Course]:
    """The courses of all versions in the experiments."""
    through = {name: EXPERIMENTS[name.removesuffix("-pep")] for name in names if name.endswith("-pep")}
    jobs = {
        (name, version): job(EXPERIMENTS[name], version, clock)
        for name in names
        if name not in through
        for version in VERSIONS
    }
    if clock == "virtual":
        jobs |= {
            (name, version): split_job(experiment, version)
            for name, experiment in through.items()
            for version in VERSIONS
        }
    runs = run_all(list(jobs.values()), out / "runs", progress, AT_A_TIME[clock])
    courses = {key: course_of(runs[one]) for key, one in jobs.items()}
    doubtful = sorted(
        {one.name for one in jobs.values() if runs[one].fidelity.get("verdict", "valid") != "valid"}
    )
    if doubtful:
        notes.append(
            f"{len(doubtful)} of {len(jobs)} runs are not exact by their fidelity.json: the machine was busy"
        )
    if clock == "real" and through:
        courses |= proxied.run(list(through.values()), out / "runs", notes)
    return courses


def table(name: str, outcomes: dict[Clock, dict[tuple[str, str], Outcome]]) -> Table:
    """All versions in an experiment, the clocks side by side: virtual / real."""
    clocks = list(outcomes)
    rows = []
    for version in VERSIONS:
        of = [outcomes[clock].get((name, version)) for clock in clocks]
        columns: tuple[Callable[[Outcome], str], ...] = (
            lambda one: f"{one.delivered / 1e6:.2f}",
            lambda one: _all(one.restarts_s),
            lambda one: _all(one.pauses_s),
        )
        cells = [" / ".join("-" if one is None else column(one) for one in of) for column in columns]
        rows.append([version, *cells, *([_apart(of)] if len(of) == 2 else [])])
    about = experiment_of(name).title + (", virtual / real clock" if len(clocks) == 2 else "")
    return Table(
        about, ["version", "MB", "restart s", "pause s", *(["apart in"] if len(clocks) == 2 else [])], rows
    )


def _all(numbers: tuple[float, ...]) -> str:
    return " ".join(f"{number:.1f}" for number in numbers) or "-"


def _apart(of: list[Outcome | None]) -> str:
    """In what the clocks do not agree."""
    virtual, real = of
    if virtual is None or real is None:
        return ""
    apart = []
    if abs(virtual.delivered / real.delivered - 1) > BYTES:
        apart.append("bytes")
    if any(abs(a - b) > RESTART_S for a, b in zip(virtual.restarts_s, real.restarts_s, strict=True)):
        apart.append("restart")
    return "both" if len(apart) == 2 else "".join(apart)


def _on_real(statement: Statement) -> Statement:
    return replace(statement, test=f"{statement.test}-real")
