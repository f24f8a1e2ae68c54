"""Studies in the test bed: reproductions of published experiments, with verdicts, figures and notes
as the report of a run.

Studies are part of the repository, so a test bed that was installed without the repository has
none. A launch contains only the names of the study and of the test.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bentpipe import studies
from bentpipe.studies import Description, Result
from bentpipe.studies.folders import plain
from bentpipe.studies.page import page

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
    tests = {test: plain(found.tests.get(test, "")) for test in available()[study]}
    return Description(found.title, found.plain, tests)


def record_of(study: str) -> list[Result]:
    """Returns the recorded results of a study's tests. Raises :class:`Refused`."""
    if study not in (known := studies.known()):
        raise Refused(404, "there is no such study")
    return [*studies.recorded(known[study]).values()]


def check_kernel(study: str, test: str | None, machine: Mapping[str, str]) -> None:
    """Checks that the machine has the kernel that a test or a whole study needs. Raises
    :class:`Refused`."""
    reason, needing = machine.get("kernel"), studies.with_kernel(studies.known()[study])
    if reason is not None and needing and test in (None, *needing):
        which = f"{test} needs" if test else f"{', '.join(needing)} need"
        raise Refused(409, f"{which} a kernel: {reason}")


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
    found = studies.load(studies.find(given["study"]))
    done = list(studies.run(found, found.chosen(given.get("test")), folder, json=True))
    verdicts = [verdict.as_dict() for result in done for verdict in result.verdicts]
    (folder / "verdicts.json").write_text(json.dumps(verdicts, indent=1))
    # The runs are not addresses of the test bed, so the page does not link to them.
    (folder / "report.html").write_text(page(found, done), encoding="utf-8")
    provenance = {"instrument": "study", "status": "complete", **given}
    (folder / "provenance.json").write_text(json.dumps(provenance, indent=1))
