"""VOTOS and the bundles of EGGS in the SatNEx study reproduce its README."""

from __future__ import annotations

from pathlib import Path

import pytest
from bentpipe import studies

native = pytest.importorskip("bentpipe._native")
pytestmark = pytest.mark.skipif(not hasattr(native, "__file__"), reason="the engine is not built")

FOLDER = Path(__file__).resolve().parents[2] / "studies" / "satnex"

#: The tests that take seconds; `make studies` runs all.
QUICK = (
    "eggs-dtn",
    "eggs-dtn-causes",
    "eggs-mars-day",
    "votos-startup",
    "votos-startup-causes",
    "votos-impulse",
    "votos-quickstart",
    "votos-quickstart-causes",
    "votos-steady",
    "votos-steady-causes",
)


@pytest.fixture(scope="module", params=QUICK)
def reproduction(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> studies.Reproduction:
    return studies.run(FOLDER, request.param, tmp_path_factory.mktemp("satnex"), json=True)


def test_the_verdicts_are_those_of_the_readme(reproduction: studies.Reproduction) -> None:
    text = (FOLDER / "README.md").read_text(encoding="utf-8")
    assert studies.record(text, reproduction.verdicts) == text, "run `bentpipe reproduce satnex --record`"
    assert reproduction.successful
    for verdict in reproduction.verdicts:
        explained = bool(verdict.statement.deviation or verdict.statement.suspected)
        assert (verdict.outcome == "holds") != explained, verdict.statement.id


def test_figures_are_drawn(reproduction: studies.Reproduction) -> None:
    if not reproduction.figures:
        # Variations are tables.
        assert reproduction.tables or reproduction.verdicts
        return
    assert {path.suffix for path in reproduction.figures} == {".png", ".svg", ".pdf"}
    assert all(path.stat().st_size > 5_000 for path in reproduction.figures)
