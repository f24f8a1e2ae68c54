"""The DiffServ study with twelve short runs. `make studies` runs all 240 hours."""

from __future__ import annotations

from pathlib import Path

import pytest
from bentpipe import InputError, studies
from helpers.reproduced import study

native = pytest.importorskip("bentpipe._native")
pytestmark = pytest.mark.skipif(not hasattr(native, "__file__"), reason="the engine is not built")


def test_short_runs_create_figures_and_table_3(tmp_path: Path) -> None:
    diffserv = study("diffserv")
    (result,) = studies.run(diffserv, ["small"], tmp_path, json=True, replications=2)
    assert result.verdicts == []
    assert len(result.figures) == 5 and all(file.stat().st_size > 10_000 for file in result.figures)
    means = {(row[0], row[1]): float(row[3]) for row in result.tables[0].rows}
    # The up- and downlink take about 250 ms over a geostationary satellite and about 30 ms over a
    # satellite in a low orbit. The remaining time is queueing delay.
    assert 0.5 < means["GEO", "RTT s"] < 1.0 and 0.05 < means["LEO", "RTT s"] < 0.4
    # Runs are kept: the second call reuses them.
    (again,) = studies.run(diffserv, ["small"], tmp_path, json=True, replications=2)
    assert again.tables == result.tables


def test_a_study_with_fixed_replications_rejects_the_option(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="leave out --replications"):
        list(studies.run(study("dama"), ["T_I"], tmp_path, json=True, replications=2))


def test_the_errors_for_an_unknown_test_and_figure_list_what_exists() -> None:
    with pytest.raises(InputError, match="campaign"):
        study("diffserv").chosen("smal")
    with pytest.raises(InputError, match="day"):
        study("diffserv").chosen(figure="7")
    with pytest.raises(InputError, match="leave out --test few"):
        study("diffserv").chosen("few", figure="2")
