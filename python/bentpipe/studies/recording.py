"""Recorded results of studies, from which the READMEs, the documentation and the site's pages are
generated.

The folder ``recorded`` of a study has a file ``TEST.json`` with our values, tables and notes for
each recorded test, and the figures as PNG.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from .folders import known, name_of
from .results import Result, Table
from .statements import OUTCOMES, Verdict, judge, read_published

#: The folder of recorded results in a study's folder.
RECORDED: Final = "recorded"


def record(folder: Path, results: Sequence[Result]) -> None:
    """Records results in the folder of a study. Tests without results keep their record."""
    place = folder / RECORDED
    place.mkdir(exist_ok=True)
    for result in results:
        file = place / f"{result.test}.json"
        kept = {one.name for one in result.figures}
        for old in _figures(file):
            if old.name not in kept:
                old.unlink(missing_ok=True)
        for figure in result.figures:
            _reduced(figure, place / figure.name)
        content = {
            "ours": {one.statement.id: one.ours for one in result.verdicts},
            "figures": sorted(kept),
            "notes": result.notes,
            "tables": [vars(table) for table in result.tables],
        }
        file.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


def _reduced(figure: Path, to: Path) -> None:
    """Writes a PNG with few colours, which is a third of the size."""
    from PIL import Image

    with Image.open(figure) as image:
        image.convert("RGB").quantize(64).save(to, optimize=True)


def _figures(file: Path) -> list[Path]:
    if not file.is_file():
        return []
    return [file.with_name(name) for name in json.loads(file.read_text(encoding="utf-8"))["figures"]]


def recorded(folder: Path) -> dict[str, Result]:
    """Returns the recorded results of the study in a folder by test. A statement without a recorded
    value is "not measured". The tests are in the order of ``published.csv``, followed by those
    without statements."""
    published = folder / "published.csv"
    statements = read_published(published) if published.is_file() else []
    place = folder / RECORDED
    files = {file.stem: file for file in sorted(place.glob("*.json"))}
    names = [*dict.fromkeys(one.test for one in statements), *files]
    found = {}
    for test in dict.fromkeys(names):
        content = json.loads(files[test].read_text(encoding="utf-8")) if test in files else {}
        judged = [one for one in statements if one.test == test]
        ours = {one.id: content.get("ours", {}).get(one.id) for one in judged}
        found[test] = Result(
            test,
            judge(judged, ours),
            [place / name for name in content.get("figures", [])],
            content.get("notes", []),
            [Table(**table) for table in content.get("tables", [])],
        )
    return found


def verdict_table(verdicts: Sequence[Verdict]) -> str:
    """Returns a Markdown table of verdicts.

    >>> from bentpipe.studies import Statement
    >>> statement = Statement("a", "rate reached", 10.0, "Mbit/s", 0.5, "at least")
    >>> print(verdict_table([Verdict(statement, 12.0)]))
    | statement | paper | ours | difference | verdict |
    | --- | ---: | ---: | ---: | --- |
    | rate reached (Mbit/s) | >= 10 ± 0.5 | 12 | +2 | holds |
    """
    rows = [["statement", "paper", "ours", "difference", "verdict"], ["---", "---:", "---:", "---:", "---"]]
    rows += [verdict.as_row() for verdict in verdicts]
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def with_tables(text: str, results: Mapping[str, Result]) -> str:
    r"""Returns a study's README with the tables of verdicts of the results by test. A table is the
    text between a line ``<!-- verdicts TEST -->`` and the next ``<!-- end -->``.

    >>> from bentpipe.studies import Statement
    >>> verdict = Verdict(Statement("a", "b", 1, "", 0, test="T_I"), 1)
    >>> readme = "\n".join(["<!-- verdicts T_I -->", "old", "<!-- end -->"])
    >>> print(with_tables(readme, {"T_I": Result("T_I", [verdict])}))
    <!-- verdicts T_I -->
    | statement | paper | ours | difference | verdict |
    | --- | ---: | ---: | ---: | --- |
    | b | 1 ± 0 | 1 | 0 | holds |
    <!-- end -->
    """

    def table(match: re.Match[str]) -> str:
        begin, test, old, end = match.groups()
        return begin + (verdict_table(results[test].verdicts) + "\n" if test in results else old) + end

    return _TABLE.sub(table, text)


_TABLE: Final = re.compile(r"(<!-- verdicts (\S+) -->\n)(.*?)(<!-- end -->)", re.DOTALL)


def counts(verdicts: Sequence[Verdict]) -> list[int]:
    """Returns the number of claims among verdicts, the number of claims with each outcome of
    :data:`~bentpipe.studies.OUTCOMES`, the number of variations, and the number of statements that
    are not counted because they are true by construction or repeat a claim."""
    roles = [one.statement.role for one in verdicts]
    outcomes = [one.outcome for one in verdicts if one.statement.role == "claim"]
    variations = roles.count("variation")
    return [
        len(outcomes),
        *(outcomes.count(outcome) for outcome in OUTCOMES),
        variations,
        len(roles) - len(outcomes) - variations,
    ]


#: The headings of :func:`counts`.
COUNTED: Final = ("claims", *OUTCOMES, "variations", "not counted")


def summary() -> Table:
    """Returns the :func:`counts` of the recorded verdicts, with a row per study and a row of
    totals."""
    rows = {
        name_of(folder): counts([one for result in recorded(folder).values() for one in result.verdicts])
        for folder in known().values()
    }
    totals = [sum(column) for column in zip(*rows.values(), strict=True)]
    cells = [[name, *map(str, row)] for name, row in [*rows.items(), ("all", totals)]]
    return Table("Claims of all papers, as recorded in the studies", ["study", *COUNTED], cells)
