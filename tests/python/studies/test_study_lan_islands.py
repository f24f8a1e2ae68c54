"""The study of LAN islands on the virtual clock reproduces the verdicts of its README."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import bentpipe as bp
import pytest
from bentpipe import studies
from helpers import ROOT

native = pytest.importorskip("bentpipe._native")
pytestmark = pytest.mark.skipif(not hasattr(native, "__file__"), reason="the engine is not built")

FOLDER = ROOT / "studies" / "lan_islands"


@pytest.fixture(scope="module")
def reproduction(tmp_path_factory: pytest.TempPathFactory) -> studies.Reproduction:
    return studies.run(FOLDER, None, tmp_path_factory.mktemp("islands"), json=True)


def test_verdicts_match_the_readme(reproduction: studies.Reproduction) -> None:
    text = (FOLDER / "README.md").read_text(encoding="utf-8")
    assert studies.record(text, reproduction.verdicts) == text, (
        "run `bentpipe reproduce lan-islands --record`"
    )
    for verdict in reproduction.verdicts:
        assert verdict.expected, verdict


def test_every_figure_is_drawn(reproduction: studies.Reproduction) -> None:
    assert len(reproduction.figures) == 12
    assert all(path.stat().st_size > 5_000 for path in reproduction.figures)


def test_an_unknown_clock_is_rejected(tmp_path: Path) -> None:
    wall = cast("studies.Clock", "wall")
    with pytest.raises(bp.InputError, match='unknown clock "wall".*allowed: kernel, real, virtual'):
        studies.run(FOLDER, "figure-1", tmp_path, json=True, clock=wall)
