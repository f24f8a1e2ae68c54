"""The quick tests of the SatNEx study reproduce its README, and its measures match their
definitions."""

from __future__ import annotations

import importlib
import math
from typing import Any

import numpy as np
import pytest
from bentpipe import studies
from helpers import ROOT

native = pytest.importorskip("bentpipe._native")
pytestmark = pytest.mark.skipif(not hasattr(native, "__file__"), reason="the engine is not built")

FOLDER = ROOT / "studies" / "satnex"

#: The tests that take seconds; `make studies` runs all.
QUICK = (
    "eggs-channel",
    "eggs-dtn",
    "eggs-dtn-causes",
    "eggs-mars-day",
    "skyplex",
    "ucit",
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


@pytest.fixture(scope="module")
def measures(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Returns a file of the study as a module, loaded with the study's quickest test."""
    studies.run(FOLDER, "skyplex", tmp_path_factory.mktemp("satnex"), json=True)
    return lambda name: importlib.import_module(f"bentpipe_study_satnex.{name}")


def test_a_loss_lasts_until_the_window_is_as_before(measures: Any) -> None:
    """Two losses: the window recovers from the first 6 s later, after its repair; from the second
    not before the end."""
    time = np.arange(12.0)
    cwnd = np.array([8, 10, 10, 5, 10, 6, 8, 9, 11, 12, 6, 7], dtype=float)
    state = np.array([0, 0, 3, 3, 3, 0, 0, 1, 0, 0, 4, 0], dtype=float)
    first, second = measures("ucit").losses(time, cwnd, state)
    assert (first.at_s, first.before, first.regained_s) == (2, 10, 6)
    assert (second.at_s, second.before) == (10, 12) and math.isinf(second.regained_s)


def test_a_log_that_begins_within_a_repair_has_no_loss_there(measures: Any) -> None:
    time, cwnd = np.arange(3.0), np.array([5.0, 5.0, 6.0])
    assert measures("ucit").losses(time, cwnd, np.array([3.0, 3.0, 0.0])) == []


def test_a_window_that_grows_in_steps_bends(measures: Any) -> None:
    """A line has no distance from itself, although it ends flat; a step after three has two thirds
    of its growth."""
    bend, sent = measures("eggs").bend, np.arange(7.0)
    assert bend(sent, np.array([10, 11, 12, 13, 14, 14, 14.0])) == pytest.approx(0)
    assert bend(sent, np.array([0, 0, 0, 6, 6, 6, 6.0])) == pytest.approx(2 / 3)


def test_shares_of_a_chain_are_those_of_its_balance(measures: Any) -> None:
    """Two states: the share of each is the probability of returning to it over the sum of both
    (balance of flows)."""
    states = measures("states")
    transitions = np.array([[0.9, 0.1], [0.3, 0.7]])
    assert states.shares(transitions) == pytest.approx([0.75, 0.25])
    assert states.stays_s(transitions) == pytest.approx([0.05, 0.005 / 0.3])
    chain = np.array(states.STATES["transitions"])
    assert chain.sum(axis=1) == pytest.approx(1) and states.shares(chain) @ chain == pytest.approx(
        states.shares(chain)
    )
