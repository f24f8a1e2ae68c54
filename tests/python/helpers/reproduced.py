"""The results of studies, compared with the recorded results."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from bentpipe import studies

from helpers import ROOT


def study(name: str) -> studies.Study:
    """Returns a study of the repository by the name of its folder."""
    return studies.load(ROOT / "studies" / name)


def results_of(name: str, tests: Sequence[str], out: Path) -> list[studies.Result]:
    """Runs tests of a study and returns their results."""
    return list(studies.run(study(name), tests, out, json=True))


def check(name: str, results: Sequence[studies.Result], out: Path) -> None:
    """Checks that results with runs below ``out`` equal the recorded results, that a statement has
    a cause exactly if it differs, that each pattern of a statement's runs matches a complete run,
    and that all figures were drawn."""
    recorded = studies.recorded(ROOT / "studies" / name)
    captions = study(name).figures
    for result in results:
        record = recorded[result.test]
        hint = f"run `bentpipe reproduce {studies.name_of(Path(name))} --test {result.test} --record`"
        assert [one.as_row() for one in result.verdicts] == [one.as_row() for one in record.verdicts], hint
        assert result.tables == record.tables and result.notes == record.notes, hint
        assert sorted(file.name for file in result.figures) == [file.name for file in record.figures], hint
        assert result.successful
        for verdict in result.verdicts:
            explained = bool(verdict.statement.deviation or verdict.statement.suspected)
            assert (verdict.outcome == "holds") != explained, verdict.statement.id
            for pattern in verdict.statement.runs:
                assert any(map(is_complete, out.glob(pattern))), f"{verdict.statement.id}: no run {pattern}"
        for file in result.figures:
            drawing = captions[studies.label_of(file.stem)].test
            assert drawing.removesuffix("-causes") == result.test.removesuffix("-causes")
            for ending in (".png", ".svg", ".pdf"):
                assert file.with_suffix(ending).stat().st_size > 5_000, file


def is_complete(run: Path) -> bool:
    """Returns true if a folder has a complete run."""
    file = run / "provenance.json"
    return file.is_file() and json.loads(file.read_text(encoding="utf-8"))["status"] == "complete"
