"""The DiffServ edge and its queue behave the same on both clocks."""

from __future__ import annotations

import json
from pathlib import Path

import bentpipe as bp
import pytest
from helpers import ROOT

native = pytest.importorskip("bentpipe._native")
pytestmark = pytest.mark.skipif(not hasattr(native, "__file__"), reason="the engine is not built")

EXAMPLE = ROOT / "examples" / "diffserv-edge.toml"


def coloured(run: bp.Run) -> tuple[list[int], int]:
    """Returns packets by colour at the edge, and the drops of the queue."""
    summary = json.loads((run.path / "summary.json").read_text(encoding="utf-8"))
    (rule,) = summary["tables"]["edge"]
    return [rule[colour] for colour in ("green", "yellow", "red")], sum(
        drop["packets"] for drop in summary["drops"]
    )


def test_real_packets_are_metered_and_dropped_as_simulated_ones(tmp_path: Path) -> None:
    overrides = ["duration=5 s"]
    simulated, dropped = coloured(bp.simulate(EXAMPLE, overrides=overrides, out=tmp_path / "simulated"))
    emulated, lost = coloured(
        bp.emulate(EXAMPLE, overrides=overrides, out=tmp_path / "emulated", in_memory=True)
    )
    assert all(count > 500 for count in simulated)
    # Ports identify the flows; chance colours them.
    for one, other in zip(simulated, emulated, strict=True):
        assert other == pytest.approx(one, rel=0.1)
    assert lost == pytest.approx(dropped, rel=0.1)


def test_losses_are_told_apart_by_flow_class_and_reason(tmp_path: Path) -> None:
    run = bp.simulate(EXAMPLE, overrides=["duration=20 s", "record.details=true"], out=tmp_path / "run")
    summary = json.loads((run.path / "summary.json").read_text(encoding="utf-8"))
    assert sum(loss["packets"] for loss in summary["losses"]) == sum(
        drop["packets"] for drop in summary["drops"]
    )
    lost = {(loss["flow"], loss["dscp"]) for loss in summary["losses"]}
    assert ("beyond", 14) in lost and ("within", 14) not in lost
    classes = {row["class"]: row for row in summary["tables"]["class"]}
    assert classes["within.af11"]["packets"] > classes["beyond.af13"]["packets"]
    assert run.flows.filter(flow="beyond")["jitter_absolute"][0] > 0
