"""The DAMA study comes out as its README says: every verdict, every figure."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from bentpipe import studies

native = pytest.importorskip("bentpipe._native")
pytestmark = pytest.mark.skipif(not hasattr(native, "__file__"), reason="the engine is not built")

FOLDER = Path(__file__).resolve().parents[2] / "studies" / "dama"


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("dama")


@pytest.fixture(scope="module")
def reproduction(out: Path) -> studies.Reproduction:
    """Both tests, all curves: a few seconds."""
    return studies.run(FOLDER, None, out, json=True)


def test_the_verdicts_are_those_of_the_readme(reproduction: studies.Reproduction) -> None:
    text = (FOLDER / "README.md").read_text(encoding="utf-8")
    assert studies.record(text, reproduction.verdicts) == text, "run `bentpipe reproduce dama --record`"
    assert text.count("<!-- verdicts ") == len({verdict.statement.test for verdict in reproduction.verdicts})


def test_every_statement_holds_or_says_why_not(reproduction: studies.Reproduction) -> None:
    assert reproduction.successful
    for verdict in reproduction.verdicts:
        holds, explained = verdict.outcome == "holds", bool(verdict.statement.deviation)
        assert holds != explained, (
            f"{verdict.statement.id}: an explanation belongs to what differs, and only there"
        )


def test_the_figures_are_there(reproduction: studies.Reproduction, out: Path) -> None:
    names = {path.name for path in reproduction.figures}
    assert {name[7:9] for name in names} == {"06", "07", "08", "09", "10"}
    assert {path.suffix for path in reproduction.figures} == {".png", ".svg"}
    for path in reproduction.figures:
        assert path.is_relative_to(out) and path.stat().st_size > 10_000, path
        if path.suffix == ".svg":
            assert "<image" not in path.read_text(encoding="utf-8"), "lines, not a picture of lines"


def test_the_curves_are_distinct_runs(reproduction: studies.Reproduction, out: Path) -> None:
    runs = sorted((out / "runs").iterdir())
    scenarios = {(run / "scenario.toml").read_text(encoding="utf-8") for run in runs}
    assert len(scenarios) == len(runs) >= 12
    assert {json.loads((run / "provenance.json").read_text())["status"] for run in runs} == {"complete"}


def test_the_statements_say_where_they_come_from() -> None:
    for statement in studies.read_published(FOLDER / "published.csv"):
        assert statement.source.startswith("fig. "), statement.id
        assert statement.test in ("T_I", "T_I-causes"), statement.id
