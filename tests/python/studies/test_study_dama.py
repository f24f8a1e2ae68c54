"""The quick tests of the DAMA study reproduce its recorded results and create all figures."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from bentpipe import studies
from bentpipe.campaign.jobs import NOTE
from bentpipe.studies.page import write_page
from helpers import ROOT
from helpers.reproduced import check, results_of, study

native = pytest.importorskip("bentpipe._native")
pytestmark = pytest.mark.skipif(not hasattr(native, "__file__"), reason="the engine is not built")

FOLDER = ROOT / "studies" / "dama"


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("dama")


#: The quick tests; `make studies` runs all.
QUICK = ("T_I", "T_I-causes", "T_II-causes", "T_III", "T_III-causes", "T_IV", "T_IV-causes")


@pytest.fixture(scope="module")
def results(out: Path) -> list[studies.Result]:
    """The results of the quick tests, which take a few seconds."""
    return results_of("dama", QUICK, out)


def test_results_match_the_record(results: list[studies.Result], out: Path) -> None:
    check("dama", results, out)


def test_figures_have_no_embedded_images(results: list[studies.Result], out: Path) -> None:
    files = [file for result in results for file in result.figures]
    assert {file.name[7:9] for file in files} == {"06", "07", "08", "09", "10", "11", "18", "19", "20", "21"}
    for file in files:
        assert file.is_relative_to(out)
        assert "<image" not in file.with_suffix(".svg").read_text(encoding="utf-8")


def test_one_figure_has_its_statements_and_its_drawing(results: list[studies.Result]) -> None:
    (steady,) = (result for result in results if result.test == "T_I")
    figure = steady.of_figure("9")
    assert [file.name for file in figure.figures] == ["figure-09-throughput-return.png"]
    assert {one.statement.source for one in figure.verdicts} == {"section 5.1, fig. 9"}


def test_the_page_has_every_statement_once(results: list[studies.Result], out: Path) -> None:
    text = write_page(study("dama"), results, out / "dama.html").read_text(encoding="utf-8")
    for result in results:
        for verdict in result.verdicts:
            assert text.count(f'<tr id="{verdict.statement.id}">') == 1
    assert text.count('src="data:image/png') == sum(len(result.figures) for result in results)


def test_runs_have_distinct_scenarios(results: list[studies.Result], out: Path) -> None:
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
            "T_IV",
            "T_V",
            "immediate",
            "i-pep",
        ), statement.id


def table_of(results: list[studies.Result]) -> studies.Table:
    """Returns the table of file transfers."""
    (table,) = next(result.tables for result in results if result.test == "T_IV")
    return table


def test_the_table_has_equation_9_for_every_file(results: list[studies.Result]) -> None:
    table = table_of(results)
    assert [row[:2] for row in table.rows] == [
        [scheme, str(size)] for scheme in ("CRA", "RBDC", "VBDC") for size in range(1, 13)
    ]
    for row in table.rows:
        simulated, equation, differs = float(row[3]), float(row[4]), float(row[5])
        assert differs == pytest.approx(100 * (equation / simulated - 1), abs=1.0)


def test_a_study_repeats_only_incomplete_runs(results: list[studies.Result], out: Path) -> None:
    runs = sorted((out / "runs").glob("file-*/summary.json"))
    before = [file.stat().st_mtime_ns for file in runs]
    (out / "runs" / "file-cra-3" / NOTE).unlink()
    (again,) = results_of("dama", ["T_IV"], out)
    assert again.tables == [table_of(results)]
    changed = [
        file.parent.name for file, time in zip(runs, before, strict=True) if file.stat().st_mtime_ns != time
    ]
    assert changed == ["file-cra-3"]
