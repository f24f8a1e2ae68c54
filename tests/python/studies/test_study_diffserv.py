"""The DiffServ study's code with a few short runs; `make studies` runs all 240 hours."""

from __future__ import annotations

from pathlib import Path

import pytest
from bentpipe import InputError, studies
from helpers import ROOT

native = pytest.importorskip("bentpipe._native")
pytestmark = pytest.mark.skipif(not hasattr(native, "__file__"), reason="the engine is not built")

FOLDER = ROOT / "studies" / "diffserv"


def test_few_short_runs_give_points_figures_and_table_3(tmp_path: Path) -> None:
    reproduction = studies.run(FOLDER, "small", tmp_path, json=True, replications=2)
    assert reproduction.verdicts == []
    assert len(reproduction.figures) == 10 and all(
        file.stat().st_size > 10_000 for file in reproduction.figures
    )
    means = {(row[0], row[1]): float(row[3]) for row in reproduction.tables[0].rows}
    # Up and down is 250 ms over a geostationary satellite, about 30 ms over a low one; the rest is
    # queueing delay.
    assert 0.5 < means["GEO", "RTT s"] < 1.0 and 0.05 < means["LEO", "RTT s"] < 0.4
    # Runs are kept: the second call reuses them.
    again = studies.run(FOLDER, "small", tmp_path, json=True, replications=2)
    assert again.tables == reproduction.tables


def test_a_study_that_decides_itself_takes_no_replications(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="leave out --replications"):
        studies.run(FOLDER.parent / "satnex", None, tmp_path, json=True, replications=2)


def test_an_unknown_test_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="campaign"):
        studies.run(FOLDER, "smal", tmp_path, json=True)
