"""Reproduces "Performance evaluation of TCP-based applications over DVB-RCS DAMA schemes" (Luglio,
Roseti, Zampognaro 2009). See README.md."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from bentpipe.simulation import Progress
from bentpipe.studies import PaperFigure, Reproduction, Statement, Table, bar, judge, read_published

from .curves import CAUSES, CURVES, simulate_all, simulate_constant
from .figures import draw_all, draw_sections
from .measures import measure, measure_causes
from .setups import I_PEP, IMMEDIATE, PAPER, Setup
from .sharing import CAUSES as SHARING_CAUSES
from .sharing import (
    FIVE_FLOW_CASES,
    TEN_FLOW_CASES,
    VEGAS_THRESHOLD_2,
    WITHOUT_VEGAS,
    simulate_friendliness,
    simulate_sharing,
)
from .sharing_figures import draw_fairness, draw_friendliness
from .sharing_measures import measure_causes as measure_sharing_causes
from .sharing_measures import (
    measure_fairness,
    measure_friendliness,
    measure_friendliness_causes,
    table_of_draws,
    table_of_start_fairness,
    table_of_start_offsets,
)
from .transfer_figures import files, pages
from .transfer_measures import (
    measure_files,
    measure_files_without_slot,
    measure_forward_files,
    measure_page_comparisons,
    measure_pages,
    table_of_files,
    table_of_pages,
)
from .transfers import (
    FILES,
    FILES_WITHOUT_SLOT,
    FORWARD_FILES,
    OBJECTS_PER_PAGE,
    SHORT_FILE,
    simulate_files,
    simulate_pages,
    simulate_uniform_pages,
    small_page_slots,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

HERE: Final = Path(__file__).parent


@dataclass
class Results:
    """The results of the study's tests, to which each test adds its own."""

    #: Our measured values by the ids of published.csv.
    ours: dict[str, float | None] = field(default_factory=dict)
    #: Figures by file name.
    figures: dict[str, Figure] = field(default_factory=dict)
    tables: list[Table] = field(default_factory=list)


def reproduce(test: str, out: Path, json: bool) -> Reproduction:
    """Runs a test and judges its statements."""
    statements = read_published(HERE / "published.csv", test)
    runs, results = out / "runs", Results()
    with bar(test, shown=not json) as progress:
        TESTS[test](runs, progress, results, statements)
    notes = ["Causes of the differences: studies/dama/README.md"]
    return Reproduction(
        judge(statements, results.ours), figures=results.figures, notes=notes, tables=results.tables
    )


def _steady(out: Path, progress: Progress, results: Results, statements: Sequence[Statement]) -> None:
    series = simulate_all(CURVES, out, progress)
    results.ours |= measure(series) | _constant(out, progress)
    results.figures |= draw_all(series, statements)


def _constant(out: Path, progress: Progress, setup: Setup = PAPER) -> dict[str, float | None]:
    delay_ms = simulate_constant(out, progress, setup)
    return {"rbdc-constant-rate": round(delay_ms["rbdc"] - delay_ms["cra"], 6)}


def _steady_causes(out: Path, progress: Progress, results: Results, statements: Sequence[Statement]) -> None:
    series = simulate_all(CAUSES, out, progress)
    results.ours |= measure_causes(series)
    results.figures |= draw_sections(series, statements)


def _fairness(out: Path, progress: Progress, results: Results, statements: Sequence[Statement]) -> None:
    sharing = simulate_sharing([*FIVE_FLOW_CASES, *TEN_FLOW_CASES], out, progress)
    results.ours |= measure_fairness(sharing)
    results.figures |= draw_fairness(sharing, statements)
    results.tables += [table_of_start_fairness(sharing), table_of_draws(sharing)]


def _fairness_causes(out: Path, progress: Progress, results: Results, _: Sequence[Statement]) -> None:
    sharing = simulate_sharing(SHARING_CAUSES, out, progress)
    results.ours |= measure_sharing_causes(sharing)
    results.tables.append(table_of_start_offsets(sharing))


def _friendliness(out: Path, progress: Progress, results: Results, statements: Sequence[Statement]) -> None:
    sharing = simulate_friendliness(out, progress)
    results.ours |= measure_friendliness(sharing)
    results.figures |= draw_friendliness(sharing, statements)


def _friendliness_causes(out: Path, progress: Progress, results: Results, _: Sequence[Statement]) -> None:
    unchanged, threshold_2, without_vegas = (
        simulate_friendliness(out, progress, change) for change in ("", VEGAS_THRESHOLD_2, WITHOUT_VEGAS)
    )
    results.ours |= measure_friendliness_causes(unchanged, threshold_2, without_vegas)


def _files(out: Path, progress: Progress, results: Results, statements: Sequence[Statement]) -> None:
    transfers = simulate_files(FILES, out, progress)
    results.ours |= measure_files(transfers)
    results.ours |= measure_forward_files(simulate_files(FORWARD_FILES, out, progress))
    results.figures["figure-21-file-transfer"] = files(transfers, statements)
    results.tables.append(table_of_files(transfers))


def _files_causes(out: Path, progress: Progress, results: Results, _: Sequence[Statement]) -> None:
    transfers = simulate_files([SHORT_FILE, *FILES_WITHOUT_SLOT, *FILES], out, progress)
    results.ours["short-file-eff-cra"] = transfers[SHORT_FILE].efficiency_percent
    results.ours |= measure_files_without_slot(
        {file: one for file, one in transfers.items() if file.scheme == "cra" or not file.slot}
    )


def _pages(out: Path, progress: Progress, results: Results, statements: Sequence[Statement]) -> None:
    times = simulate_pages(out, progress)
    results.ours |= measure_pages(times) | measure_page_comparisons(times)
    results.ours |= _small_pages(out, progress)
    results.figures["figure-22-web-pages"] = pages(times, statements)
    results.tables.append(table_of_pages(times))


def _small_pages(out: Path, progress: Progress, setup: Setup = PAPER) -> dict[str, float | None]:
    slots = small_page_slots(out, progress, setup)
    return {"page-slots-small": round(100 * sum(one <= 2 for one in slots) / len(slots), 6)}


def _pages_causes(out: Path, progress: Progress, results: Results, _: Sequence[Statement]) -> None:
    results.ours |= measure_pages(simulate_pages(out, progress, objects=OBJECTS_PER_PAGE), "sixteen-")
    results.ours |= measure_pages(simulate_uniform_pages(out, progress), "even-")


def _in_setup(setup: Setup) -> Callable[[Path, Progress, Results, Sequence[Statement]], None]:
    """Returns a test that repeats T_I to T_V in another set-up and counts the claims that hold."""

    def test(out: Path, progress: Progress, results: Results, statements: Sequence[Statement]) -> None:
        flows = [*FIVE_FLOW_CASES, *TEN_FLOW_CASES]
        times = simulate_pages(out, progress, setup=setup)
        ours = measure(simulate_all(CURVES, out, progress, setup))
        ours |= _constant(out, progress, setup)
        ours |= measure_fairness(simulate_sharing(flows, out, progress, setup))
        ours |= measure_friendliness(simulate_friendliness(out, progress, setup=setup))
        ours |= measure_files(simulate_files(FILES, out, progress, setup))
        ours |= measure_forward_files(simulate_files(FORWARD_FILES, out, progress, setup))
        ours |= measure_pages(times) | measure_page_comparisons(times) | _small_pages(out, progress, setup)
        judged = {statement.id for statement in statements}
        results.ours |= {name: value for name, value in setup.named(ours).items() if name in judged}
        results.tables.append(table_of_claims(setup, ours))

    return test


def table_of_claims(setup: Setup, ours: Mapping[str, float | None]) -> Table:
    """Returns the number of the paper's claims that hold in a set-up, by test."""
    counts: dict[str, tuple[int, int]] = {}
    for test in ("T_I", "T_II", "T_III", "T_IV", "T_V"):
        claims = [one for one in read_published(HERE / "published.csv", test) if one.role == "claim"]
        verdicts = judge(claims, {one.id: ours[one.id] for one in claims})
        counts[test] = len(claims), sum(verdict.outcome == "holds" for verdict in verdicts)
    counts["all"] = sum(one for one, _ in counts.values()), sum(one for _, one in counts.values())
    rows = [[test, f"{claims}", f"{hold}"] for test, (claims, hold) in counts.items()]
    return Table(f"The paper's claims in the set-up {setup.name}", ["test", "claims", "hold"], rows)


_EQUATIONS: Final = "Dotted: equations 1 to 11."
_FIVE: Final = (
    "Fairness index and utilization. Marks on the right of a jump to full utilization: the time that the paper "
    "states from there on."
)
_TEN: Final = (
    "Fairness index and utilization; means of ten draws with 95 % confidence bands, and the first draw."
)
_FRIENDLINESS: Final = (
    "By the paper, Vegas yields (we read: at most 20 % of the rate), Reno is unchanged when Vegas joins, "
    "and returns as in the first 100 s."
)

#: The figures, by label.
FIGURES: Final = {
    "6": PaperFigure(
        "T_I",
        f"Round-trip time of one transfer over the forward link. {_EQUATIONS} Circles with bars at 20 s: the DAMA "
        "delay appears. Triangle at 100 s: the least range of the oscillation above our 5th percentile. The "
        "drawing of T_I-causes has acknowledgments of 64 bytes.",
    ),
    "7": PaperFigure("T_I", f"Throughput of one transfer over the forward link. {_EQUATIONS}"),
    "8": PaperFigure("T_I", f"Round-trip time of one transfer over the return link. {_EQUATIONS}"),
    "9": PaperFigure("T_I", f"Throughput of one transfer over the return link. {_EQUATIONS}"),
    "10": PaperFigure(
        "T_I",
        "Efficiency of the assignment on the return link. At 5 s: the start. The level of Reno over RBDC is "
        "the mean of Reno over VBDC, which it approaches.",
    ),
    "11": PaperFigure("T_I", "Instants of the acknowledgments, Reno over RBDC; most are compressed in time"),
    "12": PaperFigure("T_II", f"Five flows over CRA. {_FIVE}"),
    "13": PaperFigure("T_II", f"Five flows over RBDC. {_FIVE}"),
    "14": PaperFigure("T_II", f"Five flows over VBDC. {_FIVE}"),
    "15": PaperFigure("T_II", "Number of active flows, of ten"),
    "16": PaperFigure("T_II", f"Ten flows over CRA. {_TEN}"),
    "17": PaperFigure("T_II", f"Ten flows over VBDC. {_TEN}"),
    "ten-flows-rbdc": PaperFigure("T_II", f"Ten flows over RBDC. {_TEN}"),
    "18": PaperFigure("T_III", f"Three Reno and three Vegas flows over CRA. {_FRIENDLINESS}"),
    "19": PaperFigure("T_III", f"Three Reno and three Vegas flows over RBDC. {_FRIENDLINESS}"),
    "20": PaperFigure("T_III", f"Three Reno and three Vegas flows over VBDC. {_FRIENDLINESS}"),
    "21": PaperFigure(
        "T_IV",
        "Transfer times of files of 1 to 12 MB, and the error of equation 9. At 12 MB: times over RBDC and VBDC "
        "relative to our time over CRA, by the paper.",
    ),
    "22": PaperFigure("T_V", "Mean transfer times of web pages, with 95 % confidence intervals"),
}

#: The function of each test. It takes the folder of its runs, a progress callback, the results to
#: add to, and the statements of published.csv.
TESTS: Final[dict[str, Callable[[Path, Progress, Results, Sequence[Statement]], None]]] = {
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
    "immediate": _in_setup(IMMEDIATE),
    "i-pep": _in_setup(I_PEP),
}
