"""The study of LAN islands on the virtual clock reproduces its recorded results."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import bentpipe as bp
import pytest
from bentpipe import studies
from helpers.reproduced import check, results_of, study

native = pytest.importorskip("bentpipe._native")
pytestmark = pytest.mark.skipif(not hasattr(native, "__file__"), reason="the engine is not built")


def test_results_match_the_record(tmp_path: Path) -> None:
    tests = study("lan_islands").tests
    check("lan_islands", results_of("lan_islands", tests, tmp_path), tmp_path)


def test_an_unknown_clock_is_rejected(tmp_path: Path) -> None:
    wall = cast("studies.Clock", "wall")
    with pytest.raises(bp.InputError, match='unknown clock "wall".*allowed: kernel, real, virtual'):
        list(studies.run(study("lan_islands"), ["figure-1"], tmp_path, json=True, clock=wall))
