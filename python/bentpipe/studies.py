"""Studies: published experiments reproduced, with a verdict on every statement.

A study is a folder ``studies/NAME`` with ``study.py``, ``published.csv`` and its scenarios.
``study.py`` has one entry::

    def reproduce(test: str | None, out: Path, json: bool) -> Reproduction: ...

which runs one test of the study (or all tests), writes runs and figures below ``out``, and returns
the verdicts. Its runs are executed by :func:`bentpipe.campaign.jobs.run_all`, which reuses complete
runs. With ``json``, a program reads standard output, so ``reproduce`` must not print to it. It
raises :class:`bentpipe.InputError` for an unknown test. Other files of the folder are imported as
``from .name import ...``. A study that can run on other clocks also takes an argument ``clock`` and
names its clocks in ``CLOCKS`` (by default virtual and real). A study that is a campaign takes
``replications``, the number of runs per point. A study that is driven by traces of frames takes
``traces``, a folder with the user's traces. ``KERNEL`` names the tests that need a kernel of
virtual time on every clock (:func:`with_kernel`).

``published.csv`` has one row per statement of the paper, with the columns ``id, test, text,
relation, value, unit, tolerance, source, deviation, suspected``. The tolerance is in the unit of
the value or, with a percent sign, a percentage of the value. ``deviation`` is the cause of a
difference, confirmed by an experiment. ``suspected`` is a suspected cause without such an
experiment, or "open". Both are short; the study's README has the full text. ``bentpipe reproduce
NAME --record`` writes the README's tables of verdicts (see :func:`record`).

Studies belong to the repository, not to the installed package: a study is data, scenarios and text
that people read and change. :func:`find` searches the current folder and the checkout that the
package runs from.
"""

from __future__ import annotations

import ast
import csv
import importlib.util
import inspect
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any, Final, Literal, cast, get_args

from .errors import InputError, unknown
from .quantities import number

#: The clocks on which a study can run: models in virtual time, kernels in real time, or kernels in
#: virtual time.
Clock = Literal["virtual", "real", "kernel"]

CLOCKS: Final = get_args(Clock)

Relation = Literal["about", "at least", "at most"]
_SIGNS: Final[Mapping[Relation, str]] = {"about": "", "at least": ">= ", "at most": "<= "}

#: The outcome of a statement: within its tolerance, outside, outside for a confirmed cause, or not
#: measured.
Outcome = Literal["holds", "differs", "known to differ", "not measured"]

OUTCOMES: Final[tuple[Outcome, ...]] = get_args(Outcome)


@dataclass(frozen=True)
class Statement:
    """One number that a paper states. ``tolerance`` is absolute, in ``unit``; ``source`` is the
    page, figure or table, ``deviation`` the confirmed cause of its difference, and ``suspected`` a
    suspected cause."""

    id: str
    text: str
    value: float
    unit: str
    tolerance: float
    relation: Relation = "about"
    test: str = ""
    source: str = ""
    deviation: str = ""
    suspected: str = ""

    def holds(self, ours: float) -> bool:
        """Returns true if our value agrees with the paper within the tolerance.

        >>> Statement("a", "rate reached", 10.0, "Mbit/s", 0.5, "at least").holds(12.0)
        True
        >>> Statement("b", "RTT", 500.0, "ms", 50.0).holds(560.0)
        False
        """
        difference = ours - self.value
        return {
            "about": abs(difference) <= self.tolerance,
            "at least": difference >= -self.tolerance,
            "at most": difference <= self.tolerance,
        }[self.relation]


@dataclass(frozen=True)
class Verdict:
    """A statement and our value, ``None`` if nothing was measured."""

    statement: Statement
    ours: float | None

    @property
    def difference(self) -> float | None:
        """Our value minus the paper's, in the statement's unit."""
        return None if self.ours is None else self.ours - self.statement.value

    @property
    def outcome(self) -> Outcome:
        """The outcome of the statement."""
        if self.ours is None:
            return "not measured"
        if self.statement.holds(self.ours):
            return "holds"
        return "known to differ" if self.statement.deviation else "differs"

    @property
    def expected(self) -> bool:
        """True if the statement holds or the study lists it as known to differ."""
        statement = self.statement
        return self.outcome == "holds" or (
            self.ours is not None and bool(statement.deviation or statement.suspected)
        )

    def as_row(self) -> list[str]:
        """Returns statement and unit, the paper's value, ours, the difference and the outcome, all
        as text."""
        statement, difference = self.statement, self.difference
        return [
            f"{statement.text} ({statement.unit})" if statement.unit not in ("", "1") else statement.text,
            f"{_SIGNS[statement.relation]}{number(statement.value)} ± {number(statement.tolerance)}",
            number(self.ours),
            "-" if difference is None else ("+" if difference > 0 else "") + number(difference),
            self.outcome,
        ]

    def as_dict(self) -> dict[str, Any]:
        """Everything, ready for JSON."""
        return vars(self.statement) | {
            "ours": self.ours,
            "difference": self.difference,
            "outcome": self.outcome,
        }


@dataclass(frozen=True)
class Table:
    """Numbers to print above the verdicts, as text."""

    about: str
    header: list[str]
    rows: list[list[str]]


@dataclass(frozen=True)
class Reproduction:
    """The results of a study. ``notes`` are sentences to print below the verdicts."""

    verdicts: list[Verdict]
    figures: list[Path] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    tables: list[Table] = field(default_factory=list)

    @property
    def successful(self) -> bool:
        """True if every statement holds or the study lists it as known to differ."""
        return all(verdict.expected for verdict in self.verdicts)


def with_kernel(folder: Path) -> tuple[str, ...]:
    """Returns the tests of a study's folder that need a kernel of virtual time, without running the
    study's code."""
    tree = ast.parse((folder / "study.py").read_text(encoding="utf-8"))
    for statement in tree.body:
        if (
            isinstance(statement, ast.AnnAssign)
            and ast.unparse(statement.target) == "KERNEL"
            and statement.value
        ):
            return tuple(ast.literal_eval(statement.value))
    return ()


def judge(statements: Sequence[Statement], ours: Mapping[str, float | None]) -> list[Verdict]:
    """Returns a verdict on each statement, from our values by the statements' ids. Raises
    ``KeyError`` for a value without a statement, which is a mistake in the study."""
    if stray := set(ours) - {statement.id for statement in statements}:
        raise KeyError(f"values without a statement: {', '.join(sorted(stray))}")
    return [Verdict(statement, ours.get(statement.id)) for statement in statements]


def read_published(file: str | Path, test: str | None = None) -> list[Statement]:
    """Returns the statements of a ``published.csv``, of one test if given. Raises
    :class:`bentpipe.InputError` with the line if the file does not have the format that this module
    describes."""
    file = Path(file)
    statements: dict[str, Statement] = {}
    with file.open(encoding="utf-8", newline="") as stream:
        reader = csv.DictReader(stream)
        for row in reader:
            try:
                statement = _statement(row)
            except (KeyError, TypeError, ValueError) as error:
                raise InputError(f"{file}:{reader.line_num}: not a statement: {error}") from error
            if statement.id in statements:
                raise InputError(f'{file}:{reader.line_num}: the id "{statement.id}" occurs twice')
            statements[statement.id] = statement
    chosen = [statement for statement in statements.values() if test is None or statement.test == test]
    if not chosen:
        raise unknown("test", test or "", {statement.test for statement in statements.values()}, str(file))
    return chosen


def _statement(row: Mapping[str, str]) -> Statement:
    relation = row["relation"] or "about"
    if relation not in get_args(Relation):
        raise ValueError(f'the relation "{relation}" is not one of {", ".join(get_args(Relation))}')
    value, tolerance = float(row["value"]), row["tolerance"].strip()
    absolute = abs(value) * float(tolerance[:-1]) / 100 if tolerance.endswith("%") else float(tolerance)
    return Statement(
        id=row["id"],
        text=row["text"],
        value=value,
        unit=row["unit"],
        tolerance=absolute,
        relation=cast("Relation", relation),
        test=row["test"],
        source=row.get("source") or "",
        deviation=row.get("deviation") or "",
        suspected=row.get("suspected") or "",
    )


def verdict_table(verdicts: Sequence[Verdict]) -> str:
    """Returns verdicts as a table in Markdown.

    >>> print(verdict_table([Verdict(Statement("a", "rate reached", 10.0, "Mbit/s", 0.5, "at least"), 12.0)]))
    | statement | paper | ours | difference | verdict |
    | --- | ---: | ---: | ---: | --- |
    | rate reached (Mbit/s) | >= 10 ± 0.5 | 12 | +2 | holds |
    """
    rows = [["statement", "paper", "ours", "difference", "verdict"], ["---", "---:", "---:", "---:", "---"]]
    rows += [verdict.as_row() for verdict in verdicts]
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def record(text: str, verdicts: Sequence[Verdict]) -> str:
    r"""Returns a study's README with updated tables of verdicts: the text between the line ``<!--
    verdicts TEST -->`` and the next ``<!-- end -->``. Tests without verdicts keep their tables.

    >>> verdict = Verdict(Statement("a", "b", 1, "", 0, test="T_I"), 1)
    >>> print(record("\n".join(["<!-- verdicts T_I -->", "old", "<!-- end -->"]), [verdict]))
    <!-- verdicts T_I -->
    | statement | paper | ours | difference | verdict |
    | --- | ---: | ---: | ---: | --- |
    | b | 1 ± 0 | 1 | 0 | holds |
    <!-- end -->
    """
    tests: dict[str, list[Verdict]] = {}
    for verdict in verdicts:
        tests.setdefault(verdict.statement.test, []).append(verdict)

    def table(match: re.Match[str]) -> str:
        begin, test, old, end = match.groups()
        return begin + (verdict_table(tests[test]) + "\n" if test in tests else old) + end

    return _TABLE.sub(table, text)


_TABLE: Final = re.compile(r"(<!-- verdicts (\S+) -->\n)(.*?)(<!-- end -->)", re.DOTALL)


def recorded(folder: Path) -> dict[str, list[list[str]]]:
    """Returns the rows of the tables of verdicts in a study's README by test, as
    :meth:`Verdict.as_row` gives them."""
    readme = folder / "README.md"
    text = readme.read_text(encoding="utf-8") if readme.is_file() else ""
    return {
        match[2]: [line.strip("| ").split(" | ") for line in match[3].splitlines()[2:]]
        for match in _TABLE.finditer(text)
    }


def summary() -> Table:
    """Returns the recorded outcomes of all studies, one row per study and their sum."""
    rows, total = [], dict.fromkeys(OUTCOMES, 0)
    for folder in known().values():
        cells = [row[-1] for rows_of in recorded(folder).values() for row in rows_of]
        counts = {outcome: cells.count(outcome) for outcome in OUTCOMES}
        total = {outcome: total[outcome] + counts[outcome] for outcome in OUTCOMES}
        rows.append([name_of(folder), str(len(cells)), *map(str, counts.values())])
    rows.append(["all", str(sum(total.values())), *map(str, total.values())])
    return Table("All studies, as recorded in their READMEs", ["study", "statements", *OUTCOMES], rows)


@contextmanager
def bar(test: str, *, shown: bool) -> Iterator[Callable[[float], None]]:
    """Returns a progress bar on stderr, if that is a terminal, as a function of the fraction
    done."""
    from rich.console import Console
    from rich.progress import Progress

    console = Console(stderr=True)
    with Progress(console=console, disable=not (shown and console.is_terminal), transient=True) as shown_bar:
        task = shown_bar.add_task(f"running {test}", total=1.0)
        yield lambda fraction: shown_bar.update(task, completed=fraction)


def folders() -> list[Path]:
    """Returns the folders in which studies are searched, in order."""
    places = [Path.cwd() / "studies", CHECKOUT / "studies"]
    return [place for place in dict.fromkeys(place.resolve() for place in places) if place.is_dir()]


def name_of(folder: Path) -> str:
    """Returns the name of a study: a hyphen stands for an underscore in the name of its folder,
    which is a package."""
    return folder.name.replace("_", "-")


def known() -> dict[str, Path]:
    """Returns the folders of all studies by their names."""
    places = reversed(folders())
    found = [study.parent for place in places for study in place.glob("*/study.py")]
    return dict(sorted((name_of(folder), folder) for folder in found))


def find(name: str) -> Path:
    """Returns the folder of a study, given its name or path. Raises
    :class:`bentpipe.InputError`."""
    if (Path(name) / "study.py").is_file():
        return Path(name).resolve()
    found = known()
    if name not in found:
        if not found:
            raise InputError(
                f'no study "{name}": studies are part of the repository; run the command in a checkout, or '
                "give the path of a study"
            )
        raise unknown("study", name, found)
    return found[name]


def clock_of(name: str) -> Clock:
    """Returns the clock of this name. Raises :class:`bentpipe.InputError`."""
    if name not in CLOCKS:
        raise unknown("clock", name, CLOCKS)
    return cast("Clock", name)


def run(
    folder: Path,
    test: str | None,
    out: Path,
    *,
    json: bool,
    clock: Clock = "virtual",
    replications: int | None = None,
    traces: Path | None = None,
) -> Reproduction:
    """Reproduces the study in a folder. Raises the errors of its ``reproduce``, and
    :class:`bentpipe.InputError` for a clock that it does not support and for ``replications`` if
    the study does not take them."""
    module = _module(folder)
    reproduce = module.reproduce
    takes = inspect.signature(reproduce).parameters
    more: dict[str, Any] = {}
    if clock != "virtual":
        if "clock" not in takes:
            raise InputError(f"the study {name_of(folder)} has fixed clocks; leave out --clock {clock}")
        if clock not in (clocks := getattr(module, "CLOCKS", ("virtual", "real"))):
            raise unknown("clock", clock, clocks, f"the study {name_of(folder)}")
        more["clock"] = clock
    if replications is not None:
        if "replications" not in takes:
            raise InputError(
                f"the study {name_of(folder)} has a fixed number of replications; leave out --replications"
            )
        more["replications"] = replications
    if traces is not None:
        if "traces" not in takes:
            raise InputError(f"the study {name_of(folder)} has no traces of frames; leave out --traces")
        more["traces"] = traces
    reproduction = reproduce(test, out, json, **more)
    if not isinstance(reproduction, Reproduction):
        raise TypeError(f"{folder / 'study.py'}: reproduce must return a Reproduction, not {reproduction!r}")
    return reproduction


def _module(folder: Path) -> ModuleType:
    name = f"bentpipe_study_{folder.name.replace('-', '_')}"
    # Load the study as a package, so that it may consist of several files: ``from .curves import
    # ...``.
    spec = importlib.util.spec_from_file_location(
        name, folder / "study.py", submodule_search_locations=[str(folder)]
    )
    assert spec is not None and spec.loader is not None, "a file that ends in .py has a loader"
    module = importlib.util.module_from_spec(spec)
    # Dataclasses look up their module by name.
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


#: The repository that this package runs from, if the installation is editable.
CHECKOUT: Final = Path(__file__).resolve().parents[2]
