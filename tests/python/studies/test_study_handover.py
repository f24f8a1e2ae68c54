"""The handover study on the virtual clock reproduces its recorded results."""

from __future__ import annotations

import struct
import sys
from pathlib import Path

import bentpipe as bp
import pytest
from bentpipe import studies
from helpers import ROOT
from helpers.reproduced import check, results_of, study

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


def test_results_match_the_record(tmp_path: Path) -> None:
    check("handover", results_of("handover", QUICK, tmp_path), tmp_path)


def test_a_study_with_fixed_clocks_rejects_other_clocks(tmp_path: Path) -> None:
    with pytest.raises(bp.InputError, match="--clock real"):
        list(studies.run(study("satnex"), ["votos-startup"], tmp_path, json=True, clock="real"))
    with pytest.raises(bp.InputError, match="virtual"):
        studies.clock_of("realtime")


def test_a_complete_study_runs_only_tests_that_support_the_clock() -> None:
    handover, islands = study("handover"), study("lan_islands")
    assert set(handover.tests) - set(handover.chosen(clock="real")) == {
        *handover.module.VARIANTS,
        "sensitivity",
    }
    assert islands.chosen(clock="kernel") == ("table-1", "figure-2")
    with pytest.raises(bp.InputError, match="queue-250 does not support --clock real; tests that do: fig2"):
        handover.chosen("queue-250", clock="real")
    with pytest.raises(bp.InputError, match="figure-1 does not support --clock real"):
        islands.chosen(figure="1", clock="real")


def test_capture_times_of_day_are_converted_to_the_time_of_the_run(tmp_path: Path) -> None:
    run = bp.simulate(FOLDER / "path.toml", overrides=["duration=3 s"], out=tmp_path / "run")
    measures = sys.modules[f"{study('handover').module.__name__}.measures"]
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
