"""The quick tests of the DAMA study reproduce the verdicts of its README and create all figures."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from bentpipe import studies
from bentpipe.campaign.jobs import NOTE
from helpers import ROOT

native = pytest.importorskip("bentpipe._native")
pytestmark = pytest.mark.skipif(not hasattr(native, "__file__"), reason="the engine is not built")

FOLDER = ROOT / "studies" / "dama"


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("dama")


#: The quick tests; `make studies` runs all.
QUICK = ("T_I", "T_I-causes", "T_II-causes", "T_III", "T_III-causes", "T_IV", "T_IV-causes")


@pytest.fixture(scope="module")
def reproduction(out: Path) -> studies.Reproduction:
    """The results of the quick tests, which take a few seconds."""
    parts = [studies.run(FOLDER, test, out, json=True) for test in QUICK]
    return studies.Reproduction(
        [verdict for part in parts for verdict in part.verdicts],
        [figure for part in parts for figure in part.figures],
        tables=[table for part in parts for table in part.tables],
    )


def test_verdicts_match_the_readme(reproduction: studies.Reproduction) -> None:
    text = (FOLDER / "README.md").read_text(encoding="utf-8")
    assert studies.record(text, reproduction.verdicts) == text, "run `bentpipe reproduce dama --record`"
    tests = {statement.test for statement in studies.read_published(FOLDER / "published.csv")}
    assert all(text.count(f"<!-- verdicts {test} -->\n| statement") == 1 for test in tests)


def test_every_statement_holds_or_has_an_explanation(reproduction: studies.Reproduction) -> None:
    assert reproduction.successful
    for verdict in reproduction.verdicts:
        holds = verdict.outcome == "holds"
        explained = bool(verdict.statement.deviation or verdict.statement.suspected)
        assert holds != explained, (
            f"{verdict.statement.id}: a statement must have an explanation if and only if it differs"
        )


def test_all_figures_are_created(reproduction: studies.Reproduction, out: Path) -> None:
    names = {path.name for path in reproduction.figures}
    assert {name[7:9] for name in names} == {"06", "07", "08", "09", "10", "11", "18", "19", "20", "21"}
    assert {path.suffix for path in reproduction.figures} == {".png", ".svg", ".pdf"}
    for path in reproduction.figures:
        assert path.is_relative_to(out) and path.stat().st_size > 10_000, path
        if path.suffix == ".svg":
            assert "<image" not in path.read_text(encoding="utf-8"), "the SVG file contains an embedded image"


def test_runs_have_distinct_scenarios(reproduction: studies.Reproduction, out: Path) -> None:
    runs = sorted(run for run in (out / "runs").iterdir() if run.is_dir())
    scenarios = {(run / "scenario.toml").read_text(encoding="utf-8") for run in runs}
    assert len(scenarios) == len(runs) >= 60
    assert {json.loads((run / "provenance.json").read_text())["status"] for run in runs} == {"complete"}


def test_every_statement_names_a_section_and_a_test() -> None:
    for statement in studies.read_published(FOLDER / "published.csv"):
        assert re.match(r"section [35]\.\d(, (fig|eq)\. \d+|$)", statement.source), statement.id
        assert statement.test.removesuffix("-causes") in (
            "T_I",
            "T_II",
            "T_III",
            "T_III-causes",
            "T_IV",
            "T_V",
        ), statement.id


def test_the_table_has_equation_9_for_every_file(reproduction: studies.Reproduction) -> None:
    table = reproduction.tables[-1]
    assert [row[:2] for row in table.rows] == [
        [scheme, str(size)] for scheme in ("CRA", "RBDC", "VBDC") for size in range(1, 13)
    ]
    for row in table.rows:
        simulated, equation, differs = float(row[3]), float(row[4]), float(row[5])
        assert differs == pytest.approx(100 * (equation / simulated - 1), abs=1.0)


def test_a_study_repeats_only_incomplete_runs(reproduction: studies.Reproduction, out: Path) -> None:
    runs = sorted((out / "runs").glob("file-*/summary.json"))
    before = [file.stat().st_mtime_ns for file in runs]
    (out / "runs" / "file-cra-3" / NOTE).unlink()
    again = studies.run(FOLDER, "T_IV", out, json=True)
    assert again.tables == reproduction.tables[-1:]
    changed = [
        file.parent.name for file, time in zip(runs, before, strict=True) if file.stat().st_mtime_ns != time
    ]
    assert changed == ["file-cra-3"]
