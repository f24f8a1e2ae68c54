"""Studies reproduce published experiments, with a verdict on every statement of the paper.

A study is a folder ``studies/NAME`` with ``study.py``, ``published.csv`` and its scenarios.
``study.py`` has one entry::

    def reproduce(test: str | None, out: Path, json: bool) -> Reproduction: ...

It runs one test of the study (``None``: all tests), writes runs and figures below ``out``, and
returns the verdicts. It runs simulations with :func:`bentpipe.campaign.jobs.run_all`, which reuses
complete runs. With ``json``, a program reads standard output, so ``reproduce`` must not print to
it. It raises :class:`bentpipe.InputError` for an unknown test. ``study.py`` imports the other files
of the folder as ``from .name import ...``.

Optional arguments of ``reproduce``, and optional constants of ``study.py``:

- ``clock``: for a study that can run on several clocks. ``CLOCKS`` names them (default: virtual and
  real).
- ``replications``: for a study that is a campaign, the number of runs per point.
- ``traces``: for a study with traces of frames, a folder with the user's traces.
- ``KERNEL``: the tests that need a kernel in virtual time on every clock (:func:`with_kernel`).

``published.csv`` has one row per statement, with the columns ``id, test, role, text, relation,
value, unit, tolerance, source, deviation, suspected``. ``role`` is empty for a claim of the paper,
and otherwise one of :data:`ROLES`. Only claims are counted. The tolerance is in the unit of the
value or, with a percent sign, a percentage of the value. ``deviation`` is the cause of a difference
that an experiment has confirmed. ``suspected`` is a cause that no experiment has confirmed, or
"open" if the cause is unknown. Both are short. The study's README has the details. ``bentpipe
reproduce NAME --record`` writes the README's tables of verdicts (see :func:`record`). The README
also describes the study and its tests (see :func:`description`).

Studies are part of the repository, not of the installed package, because people read and change
their data, scenarios and text. :func:`find` searches the current folder and the checkout from which
the package runs.
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

from .documentation import CLONE, head
from .errors import InputError, unknown
from .quantities import number

#: The clocks on which a study can run: "virtual" (models in virtual time), "real" (kernels in real
#: time), and "kernel" (kernels in virtual time).
Clock = Literal["virtual", "real", "kernel"]

CLOCKS: Final = get_args(Clock)

#: The relation of our value to the paper's value.
Relation = Literal["about", "at least", "at most"]
#: Sign before the paper's value in tables, by relation.
_SIGNS: Final[Mapping[Relation, str]] = {"about": "", "at least": ">= ", "at most": "<= "}

#: The outcome of a statement: our value is within the tolerance ("holds"), outside for a confirmed
#: cause ("known to differ"), outside otherwise ("differs"), or missing ("not measured").
Outcome = Literal["holds", "differs", "known to differ", "not measured"]

OUTCOMES: Final[tuple[Outcome, ...]] = get_args(Outcome)


#: The role of a statement: a claim of the paper; a claim that is true by construction, or follows
#: by arithmetic from another claim; or a variation of a claim with another assumption, stack or
#: clock.
Role = Literal["claim", "by construction", "repeat", "variation"]

ROLES: Final[tuple[Role, ...]] = get_args(Role)


@dataclass(frozen=True)
class Statement:
    """A statement of a paper: a quantity and its value."""

    #: Unique name within the study.
    id: str
    #: The quantity.
    text: str
    #: The paper's value, in ``unit``.
    value: float
    unit: str
    #: Maximum difference of a value that agrees, in ``unit``.
    tolerance: float
    relation: Relation = "about"
    #: The test of the study that judges the statement.
    test: str = ""
    #: Page, figure or table of the paper.
    source: str = ""
    role: Role = "claim"
    #: Confirmed cause of a difference, if any.
    deviation: str = ""
    #: Suspected cause of a difference, if any.
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
    """A statement and our value, or ``None`` if it was not measured."""

    statement: Statement
    ours: float | None

    @property
    def difference(self) -> float | None:
        """Our value minus the paper's value, in the statement's unit."""
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
        """True if the statement holds, or if it differs and the study has a confirmed or suspected
        cause."""
        statement = self.statement
        return self.outcome == "holds" or (
            self.ours is not None and bool(statement.deviation or statement.suspected)
        )

    def as_row(self) -> list[str]:
        """Returns the cells of a table row: statement and unit, the paper's value, our value, the
        difference, and the outcome with the role, unless the statement is a claim."""
        statement, difference = self.statement, self.difference
        return [
            f"{statement.text} ({statement.unit})" if statement.unit not in ("", "1") else statement.text,
            f"{_SIGNS[statement.relation]}{number(statement.value)} ± {number(statement.tolerance)}",
            number(self.ours),
            "-" if difference is None else ("+" if difference > 0 else "") + number(difference),
            self.outcome if statement.role == "claim" else f"{self.outcome} ({statement.role})",
        ]

    def as_dict(self) -> dict[str, Any]:
        """Returns the statement and the verdict as values for JSON."""
        return vars(self.statement) | {
            "ours": self.ours,
            "difference": self.difference,
            "outcome": self.outcome,
        }


@dataclass(frozen=True)
class Table:
    """A table to print above the verdicts. The cells are text."""

    #: The title.
    about: str
    header: list[str]
    rows: list[list[str]]


@dataclass(frozen=True)
class Reproduction:
    """The results of the tests of a study."""

    verdicts: list[Verdict]
    #: Files of figures.
    figures: list[Path] = field(default_factory=list)
    #: Sentences to print below the verdicts.
    notes: list[str] = field(default_factory=list)
    tables: list[Table] = field(default_factory=list)

    @property
    def successful(self) -> bool:
        """True if every verdict is :attr:`~Verdict.expected`."""
        return all(verdict.expected for verdict in self.verdicts)


def with_kernel(folder: Path) -> tuple[str, ...]:
    """Returns the tests of the study in a folder that need a kernel in virtual time. Reads the
    source and does not run the study's code."""
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
    """Returns the verdict on each statement. ``ours`` has our values by the ids of statements.
    Raises ``KeyError`` for a value without a statement, which is a bug in the study."""
    if stray := set(ours) - {statement.id for statement in statements}:
        raise KeyError(f"values without a statement: {', '.join(sorted(stray))}")
    return [Verdict(statement, ours.get(statement.id)) for statement in statements]


def read_published(file: str | Path, test: str | None = None) -> list[Statement]:
    """Returns the statements of a ``published.csv``, or those of one test. Raises
    :class:`bentpipe.InputError` for a test without statements. If the file does not have the format
    that this module describes, the error has the number of the line."""
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
    role = row.get("role") or "claim"
    if role not in ROLES:
        raise ValueError(f'the role "{role}" is not one of {", ".join(ROLES)}')
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
        role=role,
        deviation=row.get("deviation") or "",
        suspected=row.get("suspected") or "",
    )


def verdict_table(verdicts: Sequence[Verdict]) -> str:
    """Returns a Markdown table of verdicts.

    >>> statement = Statement("a", "rate reached", 10.0, "Mbit/s", 0.5, "at least")
    >>> print(verdict_table([Verdict(statement, 12.0)]))
    | statement | paper | ours | difference | verdict |
    | --- | ---: | ---: | ---: | --- |
    | rate reached (Mbit/s) | >= 10 ± 0.5 | 12 | +2 | holds |
    """
    rows = [["statement", "paper", "ours", "difference", "verdict"], ["---", "---:", "---:", "---:", "---"]]
    rows += [verdict.as_row() for verdict in verdicts]
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def record(text: str, verdicts: Sequence[Verdict]) -> str:
    r"""Returns a study's README with updated tables of verdicts. A table is the text between a line
    ``<!-- verdicts TEST -->`` and the next ``<!-- end -->``. Tests without verdicts keep their
    tables.

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


@dataclass(frozen=True)
class Recorded:
    """A row of a README's table of verdicts."""

    #: The statement with its unit.
    text: str
    outcome: Outcome
    role: Role


def recorded(folder: Path) -> dict[str, list[Recorded]]:
    """Returns the rows of the tables of verdicts in a study's README, by test."""
    readme = folder / "README.md"
    text = readme.read_text(encoding="utf-8") if readme.is_file() else ""
    return {
        match[2]: [_recorded(line.strip("| ").split(" | ")) for line in match[3].splitlines()[2:]]
        for match in _TABLE.finditer(text)
    }


def _recorded(cells: Sequence[str]) -> Recorded:
    outcome, _, role = cells[-1].removesuffix(")").partition(" (")
    return Recorded(cells[0], cast("Outcome", outcome), cast("Role", role or "claim"))


@dataclass(frozen=True)
class Description:
    """The description of a study in its README, in Markdown."""

    title: str
    #: The first paragraph.
    about: str
    #: The description of each test that the README has in its list of commands. A test ``A-causes``
    #: needs no entry.
    tests: dict[str, str]


def description(folder: Path) -> Description:
    """Returns the description of a study from its README. A test is described by the comment of a
    command: ``bentpipe reproduce STUDY --test TEST  # DESCRIPTION``."""
    text = (folder / "README.md").read_text(encoding="utf-8")
    title, about = head(text)
    tests = dict(_COMMAND.findall(text))
    causes = {f"{test}-causes": f"causes of differences in `{test}`" for test in tests}
    return Description(title, about, causes | tests)


_COMMAND: Final = re.compile(r"^ *bentpipe reproduce \S+ --test (\S+) +# (.+)$", re.MULTILINE)


def summary() -> Table:
    """Returns the numbers of recorded outcomes of claims, with a row per study and a row of totals.
    The last columns have the numbers of variations, and of statements that are not counted because
    they are true by construction or repeat a claim."""
    rows = []
    for folder in known().values():
        statements = [row for table in recorded(folder).values() for row in table]
        claims = [row.outcome for row in statements if row.role == "claim"]
        variations = sum(row.role == "variation" for row in statements)
        counts = [len(claims), *(claims.count(outcome) for outcome in OUTCOMES), variations]
        rows.append([name_of(folder), *counts, len(statements) - len(claims) - variations])
    totals = [sum(column) for column in zip(*(row[1:] for row in rows), strict=True)]
    header = ["study", "claims", *OUTCOMES, "variations", "not counted"]
    cells = [[str(cell) for cell in row] for row in [*rows, ["all", *totals]]]
    return Table("Claims of all papers, as recorded in the studies' READMEs", header, cells)


@contextmanager
def bar(test: str, *, shown: bool) -> Iterator[Callable[[float], None]]:
    """Shows a progress bar on stderr if ``shown`` is true and stderr is a terminal. Yields a
    function that takes the completed fraction."""
    from rich.console import Console
    from rich.progress import Progress

    console = Console(stderr=True)
    with Progress(console=console, disable=not (shown and console.is_terminal), transient=True) as progress:
        task = progress.add_task(f"running {test}", total=1.0)
        yield lambda fraction: progress.update(task, completed=fraction)


def folders() -> list[Path]:
    """Returns the existing folders in which studies are searched, in order of precedence."""
    candidates = [Path.cwd() / "studies", CLONE / "studies"]
    return [folder for folder in dict.fromkeys(folder.resolve() for folder in candidates) if folder.is_dir()]


def name_of(folder: Path) -> str:
    """Returns the name of the study in a folder. The folder is a package, so it has underscores in
    place of the hyphens of the name."""
    return folder.name.replace("_", "-")


def known() -> dict[str, Path]:
    """Returns the folders of all studies by name."""
    found = [study.parent for parent in reversed(folders()) for study in parent.glob("*/study.py")]
    return dict(sorted((name_of(folder), folder) for folder in found))


def find(name: str) -> Path:
    """Returns the folder of a study, given its name or path. Raises :class:`bentpipe.InputError`
    for an unknown study."""
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
    """Returns the clock with this name. Raises :class:`bentpipe.InputError` for an unknown
    clock."""
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
    """Runs the study in a folder and returns its results.

    Raises the errors of the study's ``reproduce``. Raises :class:`bentpipe.InputError` for a clock,
    ``replications`` or ``traces`` that the study does not support."""
    module = _module(folder)
    reproduce = module.reproduce
    parameters = inspect.signature(reproduce).parameters
    options: dict[str, Any] = {}
    if clock != "virtual":
        if "clock" not in parameters:
            raise InputError(f"the study {name_of(folder)} has fixed clocks; leave out --clock {clock}")
        if clock not in (clocks := getattr(module, "CLOCKS", ("virtual", "real"))):
            raise unknown("clock", clock, clocks, f"the study {name_of(folder)}")
        options["clock"] = clock
    if replications is not None:
        if "replications" not in parameters:
            raise InputError(
                f"the study {name_of(folder)} has a fixed number of replications; leave out --replications"
            )
        options["replications"] = replications
    if traces is not None:
        if "traces" not in parameters:
            raise InputError(f"the study {name_of(folder)} has no traces of frames; leave out --traces")
        options["traces"] = traces
    reproduction = reproduce(test, out, json, **options)
    if not isinstance(reproduction, Reproduction):
        raise TypeError(f"{folder / 'study.py'}: reproduce must return a Reproduction, not {reproduction!r}")
    return reproduction


def _module(folder: Path) -> ModuleType:
    name = f"bentpipe_study_{folder.name.replace('-', '_')}"
    # Load the study as a package, so that study.py can import other files of the folder: ``from
    # .curves import ...``.
    spec = importlib.util.spec_from_file_location(
        name, folder / "study.py", submodule_search_locations=[str(folder)]
    )
    assert spec is not None and spec.loader is not None, "importlib has a loader for every .py file"
    module = importlib.util.module_from_spec(spec)
    # Dataclasses look up their module by name.
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module
