"""The handover study on the virtual clock reproduces the verdicts of its README."""

from __future__ import annotations

import struct
import sys
from pathlib import Path

import bentpipe as bp
import pytest
from bentpipe import studies
from helpers import ROOT

native = pytest.importorskip("bentpipe._native")
pytestmark = pytest.mark.skipif(not hasattr(native, "__file__"), reason="the engine is not built")

FOLDER = ROOT / "studies" / "handover"

#: All tests except `sensitivity`, which `make studies` runs.
QUICK = (
    "fig2",
    "fig3a",
    "fig3b",
    "loss",
    "fig4",
    "fig5",
    "fig6",
    "conclusion",
    "queue-250",
    "today",
    "access",
)


@pytest.fixture(scope="module")
def reproduction(tmp_path_factory: pytest.TempPathFactory) -> studies.Reproduction:
    out = tmp_path_factory.mktemp("handover")
    parts = [studies.run(FOLDER, test, out, json=True) for test in QUICK]
    return studies.Reproduction(
        [verdict for part in parts for verdict in part.verdicts],
        [figure for part in parts for figure in part.figures],
    )


def test_verdicts_match_the_readme(reproduction: studies.Reproduction) -> None:
    text = (FOLDER / "README.md").read_text(encoding="utf-8")
    assert studies.record(text, reproduction.verdicts) == text, "run `bentpipe reproduce handover --record`"
    assert reproduction.successful


def test_every_figure_is_drawn(reproduction: studies.Reproduction) -> None:
    assert {path.suffix for path in reproduction.figures} == {".png", ".svg", ".pdf"}
    assert all(path.stat().st_size > 5_000 for path in reproduction.figures)


def test_a_study_with_fixed_clocks_rejects_other_clocks(tmp_path: Path) -> None:
    with pytest.raises(bp.InputError, match="--clock real"):
        studies.run(FOLDER.parent / "satnex", "votos-startup", tmp_path, json=True, clock="real")
    with pytest.raises(bp.InputError, match="virtual"):
        studies.clock_of("realtime")


def test_capture_times_of_day_are_converted_to_the_time_of_the_run(tmp_path: Path) -> None:
    run = bp.simulate(FOLDER / "path.toml", overrides=["duration=3 s"], out=tmp_path / "run")
    measures = sys.modules[f"{studies._module(FOLDER).__name__}.measures"]
    before = measures.course_of(run)
    assert 0 < before.arrival_time_s[0] < before.arrival_time_s[-1] <= 3
    file = run.path / "packets.pcapng"
    content, offset = bytearray(file.read_bytes()), 0
    while offset < len(content):
        kind, length = struct.unpack_from("<II", content, offset)
        if kind == 6:  # an enhanced packet block
            high, low = struct.unpack_from("<II", content, offset + 12)
            time_ns = (high << 32 | low) + 1_795_704_199 * 10**9
            struct.pack_into("<II", content, offset + 12, time_ns >> 32, time_ns & 0xFFFFFFFF)
        offset += length
    file.write_bytes(content)
    assert measures.course_of(run).arrival_time_s == pytest.approx(before.arrival_time_s, abs=1e-6)
