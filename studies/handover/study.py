"""Reproduces the study of transport protocols for hybrid terrestrial and satellite systems by Tou
et al. (2012). See README.md."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Final

from bentpipe.campaign.jobs import run_all
from bentpipe.simulation import Progress
from bentpipe.studies import (
    PaperFigure,
    Reproduction,
    Statement,
    Table,
    Verdict,
    bar,
    judge,
    labels,
    read_published,
)

from . import proxied
from .cases import (
    EXPERIMENTS,
    SENSITIVITY,
    STUDY,
    TAIL,
    TODAY,
    VARIANTS,
    VERSIONS,
    Clock,
    Experiment,
    Setup,
    job,
    split_job,
)
from .figures import draw, draw_tail
from .judging import values
from .measures import Course, Outcome, course_of, outcome_of

HERE: Final = Path(__file__).parent

#: The experiments of each test. A name that ends in "-pep" runs through the proxy.
EXPERIMENTS_OF: dict[str, tuple[str, ...]] = {
    "fig2": ("satellite", TAIL),
    "fig3a": ("delay",),
    "fig3b": ("bandwidth",),
    "loss": ("loss",),
    "fig4": ("satellite", "delay", "wired", "satellite-pep", "delay-pep", "wired-pep"),
    "fig5": ("delay-500", "delay-1000", "delay-500-pep", "delay-1000-pep"),
    "fig6": ("bandwidth-500", "bandwidth-1000", "bandwidth-500-pep", "bandwidth-1000-pep"),
}
#: The conclusion compares all experiments.
EXPERIMENTS_OF |= {
    "conclusion": tuple(dict.fromkeys(name for names in EXPERIMENTS_OF.values() for name in names))
}

_PANELS: Final = (
    "Panels: sequence numbers of arriving packets (dots: retransmissions), rate of arrival, rate at which the "
    "application receives data in order over the second that follows, and congestion window. Reno and Hybla "
    "are wide lines, because Westwood and the proxy have almost the same curves. "
)
_BYTES: Final = (
    "Triangles and circles at 20, 40 and 60 s: bytes that the flow of this colour has by the paper."
)
_RESTARTS: Final = (
    "Marks in the third panel: when flows have half of the link's rate again by the paper; black: Cubic, "
    "Hybla and the proxy."
)

#: The figures of the paper, each with its experiment, test and caption. The paper has no figure of
#: the experiment "loss".
_DRAWN: Final[dict[str, tuple[str, str, str]]] = {
    "2a": (
        "satellite",
        "fig2",
        "All versions over the satellite. Panels: sequence numbers of arriving packets, rate of arrival, "
        f"and congestion window. {_BYTES} Black: the last of Hybla, Cubic and Compound.",
    ),
    "3a": (
        "delay",
        "fig3a",
        f"A handover that changes the round-trip time: 500, 50, 500 ms. {_PANELS}{_BYTES} "
        "Black: Hybla, Cubic and Compound at 20 s, all versions at 40 s.",
    ),
    "3b": (
        "bandwidth",
        "fig3b",
        f"A handover that changes the rate: 2 Mbit/s, 512 kbit/s, 2 Mbit/s. {_PANELS}"
        'Band: the cut of Cubic "at the second 43".',
    ),
    "4": ("satellite", "fig4", f"All versions and the proxy over the satellite. {_BYTES}"),
    "4a": (
        "delay",
        "fig4",
        f"All versions and the proxy with a change of the round-trip time. {_PANELS}{_BYTES}",
    ),
    "4b": (
        "wired",
        "fig4",
        f"All versions and the proxy with a change of the rate. {_PANELS}{_BYTES} "
        "At 40 s: the proxy, with a small advantage. At 60 s: all flows.",
    ),
    "5a": (
        "delay-500",
        "fig5",
        f"Breaks of 500 ms and a change of the round-trip time. {_PANELS}{_RESTARTS} "
        "Marks at 20 s: Compound is ahead of Hybla and the proxy, which are just behind.",
    ),
    "5b": ("delay-1000", "fig5", f"Breaks of 1 s and a change of the round-trip time. {_PANELS}{_RESTARTS}"),
    "6a": (
        "bandwidth-500",
        "fig6",
        f"Breaks of 500 ms and a change of the rate. {_PANELS}{_RESTARTS} "
        "Triangle at 20 s: Cubic is better than the other versions.",
    ),
    "6b": (
        "bandwidth-1000",
        "fig6",
        f"Breaks of 1 s and a change of the rate. {_PANELS}"
        "Arrows: all flows but Compound are completely broken.",
    ),
    "loss": ("loss", "loss", f"A handover that changes the loss: 1e-5, none, 1e-5. {_PANELS}{_BYTES}"),
}

FIGURES: Final = {label: PaperFigure(test, caption) for label, (_, test, caption) in _DRAWN.items()} | {
    "2b": PaperFigure(
        "fig2",
        "Rate of arrival over the satellite when the sender stops after 60 s. What arrives later was in the sender's "
        "buffer. Triangles: the tails of Hybla and Cubic end after that of Compound.",
    )
}

#: The test that creates the table of the effect of each assumption. It has no statements and no
#: figures.
ASSUMPTIONS: Final = "sensitivity"

TESTS: Final = (*EXPERIMENTS_OF, *VARIANTS, ASSUMPTIONS)
CLOCKS: Final = {"real": tuple(EXPERIMENTS_OF)}

#: Maximum number of concurrent runs, by clock. Runs in real time use little processor time.
CONCURRENCY: Final[dict[Clock, int]] = {"virtual": 2, "real": 7}

#: Maximum relative difference of delivered bytes between clocks that agree.
BYTES: Final = 0.1
#: Maximum difference of restart times between clocks that agree.
RESTART_S: Final = 1.0

#: Courses by experiment and version.
Courses = dict[tuple[str, str], Course]


def reproduce(test: str, out: Path, json: bool, clock: Clock = "virtual") -> Reproduction:
    """Runs a test and judges its statements. ``clock`` is the clock of the runs.
    With the real clock, the experiments also run on the virtual clock, and tables compare both."""
    if test in EXPERIMENTS_OF:
        return _figures(test, out, json, clock)
    return _sensitivity(out, json) if test == ASSUMPTIONS else Reproduction(_variant(test, out, json))


def _figures(test: str, out: Path, json: bool, clock: Clock) -> Reproduction:
    statements = read_published(HERE / "published.csv", test)
    names = EXPERIMENTS_OF[test]
    clocks: tuple[Clock, ...] = ("virtual",) if clock == "virtual" else ("virtual", clock)
    # The real clock uses the TCP stack of this machine's kernel.
    setup = STUDY if clock == "virtual" else TODAY
    courses: dict[Clock, Courses] = {}
    notes: list[str] = []
    for each in clocks:
        with bar(f"handovers on the {each} clock", shown=not json) as progress:
            courses[each] = run(names, each, out / _folder(setup), progress, notes, setup)
    outcomes = {one: _outcomes(of) for one, of in courses.items()}
    judged = _judged(statements, outcomes[clock])
    if clock == "real":
        judged = [
            replace(one, statement=replace(one.statement, test=f"{one.statement.test}-real"))
            for one in judged
        ]
    figures = {}
    for label, (name, drawing, _) in _DRAWN.items():
        if drawing == test:
            of = {key[1]: course for key, course in courses[clock].items() if key[0] == name}
            proxy = courses[clock].get((f"{name}-pep", "hybla"))
            stem = label if label == name else f"figure-{label}-{name}"
            # The paper has no figure about the loss, which all statements of the test are about.
            about = [one for one in statements if label == name or label in labels(one)]
            figures[stem if clock == "virtual" else f"{stem}-{clock}"] = draw(
                EXPERIMENTS[name], of, proxy, about
            )
    if test == "fig2":
        tails = {version: courses[clock][TAIL, version] for version in VERSIONS}
        about = [one for one in statements if "2b" in labels(one)]
        figures["figure-2b-tail" if clock == "virtual" else f"figure-2b-tail-{clock}"] = draw_tail(
            tails, about
        )
    return Reproduction(
        judged,
        figures=figures,
        notes=notes,
        tables=[table(name, outcomes) for name in names if any(key[0] == name for key in outcomes[clock])],
    )


def _judged(statements: list[Statement], of: dict[tuple[str, str], Outcome]) -> list[Verdict]:
    ours: dict[str, float | None] = {}
    for one in dict.fromkeys(statement.test for statement in statements):
        ours |= values(of, one)
    return judge(statements, ours)


def _outcomes(courses: Courses) -> dict[tuple[str, str], Outcome]:
    return {key: outcome_of(course, experiment_of(key[0])) for key, course in courses.items()}


def _folder(setup: Setup) -> str:
    """Returns the name of the folder of a set-up's runs. All tests of the set-up share the
    folder."""
    return "runs" if setup == STUDY else f"set-up-{SENSITIVITY.index(setup)}"


def _all_of(setup: Setup, out: Path, json: bool) -> list[Verdict]:
    """Runs all experiments with a set-up and returns a verdict on every statement."""
    names = dict.fromkeys(name for of in EXPERIMENTS_OF.values() for name in of)
    with bar(setup.name, shown=not json) as progress:
        courses = run(names, "virtual", out / _folder(setup), progress, [], setup)
    # The statements of VARIANTS repeat those of the figures.
    statements = [one for one in read_published(HERE / "published.csv") if one.test in EXPERIMENTS_OF]
    return _judged(statements, _outcomes(courses))


def _variant(test: str, out: Path, json: bool) -> list[Verdict]:
    """Runs all experiments with the set-up of a variant and returns the verdicts. The variant's
    statements in published.csv have their own causes."""
    ours = {f"{test}-{one.statement.id}": one.ours for one in _all_of(VARIANTS[test], out, json)}
    return judge(read_published(HERE / "published.csv", test), ours)


def _sensitivity(out: Path, json: bool) -> Reproduction:
    """Returns the table of the claims that hold with each set-up of :data:`SENSITIVITY`."""
    rows = []
    for setup in SENSITIVITY:
        verdicts = [one for one in _all_of(setup, out, json) if one.statement.role == "claim"]
        failing = [one.statement.id for one in verdicts if one.outcome != "holds"]
        rows.append(
            [setup.name, f"{len(verdicts) - len(failing)} of {len(verdicts)}", " ".join(failing) or "-"]
        )
    return Reproduction(
        [], tables=[Table("Effect of each assumption", ["set-up", "hold", "claims that do not"], rows)]
    )


def experiment_of(name: str) -> Experiment:
    """Returns the experiment of this name, which may end in "-pep"."""
    base = EXPERIMENTS[name.removesuffix("-pep")]
    return replace(base, name=name, title=f"{base.title}, with the proxy") if name.endswith("-pep") else base


def run(
    names: Iterable[str],
    clock: Clock,
    out: Path,
    progress: Progress,
    notes: list[str],
    setup: Setup = STUDY,
) -> Courses:
    """Runs the experiments with all versions and returns their courses. Through the proxy, only
    Hybla runs, as in the paper."""
    with_proxy = {name: EXPERIMENTS[name.removesuffix("-pep")] for name in names if name.endswith("-pep")}
    jobs = {
        (name, version): job(EXPERIMENTS[name], version, clock, setup)
        for name in names
        if name not in with_proxy
        for version in VERSIONS
    }
    if clock == "virtual":
        jobs |= {
            (name, "hybla"): split_job(experiment, "hybla", setup) for name, experiment in with_proxy.items()
        }
    runs = run_all(list(jobs.values()), out, progress, CONCURRENCY[clock])
    courses = {key: course_of(runs[one]) for key, one in jobs.items()}
    doubtful = sorted(
        {one.name for one in jobs.values() if runs[one].fidelity.get("verdict", "valid") != "valid"}
    )
    if doubtful:
        notes.append(
            f"{len(doubtful)} of {len(jobs)} runs are not exact by their fidelity.json: the machine was busy"
        )
    if clock == "real" and with_proxy:
        courses |= proxied.run(list(with_proxy.values()), out, notes)
    return courses


def table(name: str, outcomes: dict[Clock, dict[tuple[str, str], Outcome]]) -> Table:
    """Returns the table of all versions in an experiment. With two clocks, a cell has both values:
    virtual / real."""
    clocks = list(outcomes)
    rows = []
    for version in VERSIONS:
        if not any((name, version) in of for of in outcomes.values()):
            continue
        of = [outcomes[clock].get((name, version)) for clock in clocks]
        columns: tuple[Callable[[Outcome], str], ...] = (
            lambda one: f"{one.delivered / 1e6:.2f}",
            lambda one: _all(one.restarts_s),
            lambda one: _all(one.pauses_s),
        )
        cells = [" / ".join("-" if one is None else column(one) for one in of) for column in columns]
        rows.append([version, *cells, *([_disagreement(of)] if len(of) == 2 else [])])
    about = experiment_of(name).title + (", virtual / real clock" if len(clocks) == 2 else "")
    return Table(
        about, ["version", "MB", "restart s", "pause s", *(["apart in"] if len(clocks) == 2 else [])], rows
    )


def _all(numbers: tuple[float, ...]) -> str:
    return " ".join(f"{number:.1f}" for number in numbers) or "-"


def _disagreement(of: list[Outcome | None]) -> str:
    """Returns the measures on which the clocks disagree, as text."""
    virtual, real = of
    if virtual is None or real is None:
        return ""
    apart = []
    if abs(virtual.delivered / real.delivered - 1) > BYTES:
        apart.append("bytes")
    if any(abs(a - b) > RESTART_S for a, b in zip(virtual.restarts_s, real.restarts_s, strict=True)):
        apart.append("restart")
    return "both" if len(apart) == 2 else "".join(apart)
