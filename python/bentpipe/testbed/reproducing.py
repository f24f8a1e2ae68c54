"""Studies in the test bed: reproductions of published experiments, with verdicts, figures and notes
as the report of a run.

Studies are part of the repository, so a test bed that was installed without the repository has
none. A launch contains only the names of the study and of the test.
"""

from __future__ import annotations

import base64
import json
import mimetypes
import re
import tomllib
from collections.abc import Mapping
from html import escape
from pathlib import Path
from typing import Any

from bentpipe import studies
from bentpipe.documentation import without_links
from bentpipe.studies import Description, Reproduction

from .refused import Refused


def available() -> dict[str, list[str]]:
    """Returns the names of the studies, each with the names of its tests."""
    return {
        name: sorted({one.test for one in studies.read_published(folder / "published.csv")})
        for name, folder in studies.known().items()
    }


def description(study: str) -> Description:
    """Returns the description of an :func:`available` study without Markdown marks, with all its
    tests."""
    found = studies.description(studies.known()[study])
    tests = {test: _plain(found.tests.get(test, "")) for test in available()[study]}
    return Description(found.title, _plain(found.about), tests)


def check_kernel(study: str, test: str | None, machine: Mapping[str, str]) -> None:
    """Checks that the machine has the kernel that a test or a whole study needs. Raises
    :class:`Refused`."""
    reason, needing = machine.get("kernel"), studies.with_kernel(studies.known()[study])
    if reason is not None and needing and test in (None, *needing):
        which = f"{test} needs" if test else f"{', '.join(needing)} need"
        raise Refused(409, f"{which} a kernel: {reason}")


def _plain(markdown: str) -> str:
    r"""Returns a paragraph without Markdown marks.

    >>> _plain("Ada, *On\nengines*, with `--test a` and [terms](glossary.md)")
    'Ada, On engines, with --test a and terms'
    """
    return re.sub(r"[*`]", "", without_links(" ".join(markdown.split())))


def job_text(study: str, test: str | None) -> str:
    """Returns the TOML text that names a study and a test. The run stores it in place of a
    scenario. Raises :class:`Refused`."""
    known = available()
    if study not in known:
        raise Refused(404, "there is no such study")
    if test is not None and test not in known[study]:
        raise Refused(422, f'"{test}" is not a test of {study}; allowed: {", ".join(known[study])}')
    lines = [f"study = {json.dumps(study)}", *([] if test is None else [f"test = {json.dumps(test)}"])]
    return "\n".join(lines) + "\n"


def check(text: str) -> None:
    """Checks the text of :func:`job_text` from the database. Raises :class:`Refused`."""
    given = tomllib.loads(text)
    job_text(given["study"], given.get("test"))


def run_job(text: str, folder: Path) -> None:
    """Runs the study that the text of :func:`job_text` names. Writes runs, figures,
    ``verdicts.json`` and ``report.html`` into a folder."""
    given: dict[str, Any] = tomllib.loads(text)
    found = studies.find(given["study"])
    done = studies.run(found, given.get("test"), folder, json=True)
    (folder / "verdicts.json").write_text(json.dumps([one.as_dict() for one in done.verdicts], indent=1))
    (folder / "report.html").write_text(report(given["study"], given.get("test"), done), encoding="utf-8")
    provenance = {"instrument": "study", "status": "complete", **given}
    (folder / "provenance.json").write_text(json.dumps(provenance, indent=1))


def report(study: str, test: str | None, done: Reproduction) -> str:
    """Returns the report as an HTML page with verdicts, tables, figures and notes."""
    title = escape(f"Study {study}" + ("" if test is None else f", {test}"))
    parts = [
        f"<!doctype html><html lang=en><meta charset=utf-8><title>{title}</title>",
        "<style>body{font:15px/1.5 system-ui,sans-serif;margin:1.5rem;max-width:70rem}table{border-collapse:collapse}"
        "th,td{text-align:left;padding:.3rem .8rem .3rem 0;border-bottom:1px solid #ccc;vertical-align:top}"
        "img{max-width:100%}</style>",
        f"<h1>{title}</h1><h2>Statements of the paper</h2>",
    ]
    rows = [
        [
            verdict.statement.text,
            verdict.statement.source,
            verdict.outcome,
            number(verdict.statement.value),
            number(verdict.ours),
        ]
        for verdict in done.verdicts
    ]
    parts.append(_table(["statement", "source", "verdict", "paper", "ours"], rows))
    parts += [f"<h2>{escape(table.about)}</h2>{_table(table.header, table.rows)}" for table in done.tables]
    parts += [_figure(figure) for figure in done.figures]
    parts += [f"<p>{escape(note)}</p>" for note in done.notes]
    return "\n".join(parts)


def number(value: float | None) -> str:
    """Formats a number for the report; a dash for None."""
    return "–" if value is None else f"{value:.4g}"


def _table(header: Any, rows: Any) -> str:
    head = "".join(f"<th>{escape(str(cell))}</th>" for cell in header)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(str(cell))}</td>" for cell in row) + "</tr>" for row in rows
    )
    return f"<table><tr>{head}</tr>{body}</table>"


def _figure(file: Path) -> str:
    kind = mimetypes.guess_type(file.name)[0] or "image/png"
    data = base64.b64encode(file.read_bytes()).decode()
    return f'<p><img alt="{escape(file.stem)}" src="data:{kind};base64,{data}"></p>'
