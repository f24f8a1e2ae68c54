"""The page of a study: its set-up, and each figure next to the statements about it."""

from __future__ import annotations

import base64
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from bentpipe.report.templates import template

from .folders import description
from .recording import counts
from .results import PaperFigure, Result, label_of, labels
from .running import Study
from .statements import OUTCOMES, Outcome, Verdict

#: CSS classes of outcomes, in the order of the bar.
_CLASSES: Final[Mapping[Outcome, str]] = {
    "holds": "holds",
    "known to differ": "known",
    "differs": "differs",
    "not measured": "missing",
}


@dataclass(frozen=True)
class _Run:
    name: str
    #: Address of the run's folder; empty for a recorded result.
    link: str


def write_page(study: Study, results: Sequence[Result], path: Path) -> Path:
    """Writes the page about results of a study. ``path`` is in the folder of the study's runs.
    Returns the path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(page(study, results, runs=path.parent), encoding="utf-8")
    return path


def page(study: Study, results: Sequence[Result], *, runs: Path | None = None, manual: str = "") -> str:
    """Returns a page about results of a study as HTML. ``runs`` is the folder of the runs to which
    the page links, and ``manual`` is the address of the page with all studies, for a page of the
    site."""
    about = description(study.folder)
    verdicts = [one for result in results for one in result.verdicts]
    claims, *outcomes = counts(verdicts)[: 1 + len(OUTCOMES)]
    return template("page.html.j2", "bentpipe.studies").render(
        title=about.title,
        about=about.plain,
        manual=manual,
        readme=f"{study.folder.name}/README.html",
        command=f"bentpipe reproduce {study.name}",
        classes=_CLASSES,
        claims=claims,
        held=outcomes[OUTCOMES.index("holds")],
        others=len(verdicts) - claims,
        outcomes=[(one, outcomes[OUTCOMES.index(one)]) for one in _CLASSES],
        setups=_setups(study.folder),
        tests=[_test(result, about.tests, study.figures, runs) for result in results],
    )


def _test(
    result: Result, tests: Mapping[str, str], figures: Mapping[str, PaperFigure], runs: Path | None
) -> dict[str, Any]:
    images: dict[str, list[Path]] = {}
    for file in result.figures:
        images.setdefault(label_of(file.stem), []).append(file)
    shown = {label: [one for one in result.verdicts if label in labels(one.statement)] for label in images}
    beside = {one.statement.id for of in shown.values() for one in of}
    return {
        "name": result.test,
        "about": tests.get(result.test, ""),
        "figures": [
            {
                "heading": _heading(label),
                "caption": figures[label].caption if label in figures else "",
                "images": [{"source": _source(file)} for file in files],
                "verdicts": [_row(one, runs) for one in shown[label]],
            }
            for label, files in images.items()
        ],
        "verdicts": [_row(one, runs) for one in result.verdicts if one.statement.id not in beside],
        "tables": result.tables,
        "notes": result.notes,
    }


def _heading(label: str) -> str:
    """Returns the heading of a figure.

    >>> _heading("5b"), _heading("table-i"), _heading("mars-day")
    ('Figure 5b', 'Table I', 'Not in the paper: mars day')
    """
    if label.startswith("table-"):
        return f"Table {label.removeprefix('table-').upper()}"
    return f"Figure {label}" if label[0].isdigit() else f"Not in the paper: {label.replace('-', ' ')}"


def _source(file: Path) -> str:
    return "data:image/png;base64," + base64.b64encode(file.read_bytes()).decode()


def _row(verdict: Verdict, runs: Path | None) -> dict[str, Any]:
    statement = verdict.statement
    text, paper, ours, *_ = verdict.as_row()
    differs = verdict.outcome in ("differs", "known to differ")
    cause = statement.deviation or (statement.suspected and f"suspected: {statement.suspected}")
    return {
        "id": statement.id,
        "text": text,
        "source": statement.source,
        "role": statement.role,
        "paper": paper,
        "ours": ours,
        "outcome": verdict.outcome,
        "cause": cause if differs else "",
        "runs": [run for pattern in statement.runs for run in _runs(pattern, runs)],
    }


def _runs(pattern: str, runs: Path | None) -> Iterator[_Run]:
    if runs is None:
        yield _Run(pattern, "")
        return
    found = sorted(runs.glob(pattern))
    if len(found) > 3:
        yield _Run(f"{pattern} ({len(found)} runs)", f"{Path(pattern).parent.as_posix()}/")
        return
    for folder in found:
        name = folder.relative_to(runs).as_posix()
        yield _Run(name, f"{name}/")


def _setups(folder: Path) -> list[dict[str, Any]]:
    """Returns the drawing of each network of a study, with the names and files of the scenarios
    that have this network."""
    from bentpipe.plots.network import network
    from bentpipe.plots.style import to_svg

    found: dict[str, list[dict[str, str]]] = {}
    for file in sorted(folder.glob("*.toml")):
        name = tomllib.loads(file.read_text(encoding="utf-8")).get("name", file.stem)
        found.setdefault(to_svg(network(file), "network"), []).append({"name": str(name), "file": file.name})
    return [
        # Identifiers are unique on the page.
        {"svg": svg.replace("network-", f"network-{index}-"), "scenarios": of}
        for index, (svg, of) in enumerate(found.items())
    ]
