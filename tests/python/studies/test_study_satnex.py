"""The quick tests of the SatNEx study reproduce its recorded results. The measures match
their definitions."""

from __future__ import annotations

import importlib
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.reproduced import check, results_of, study

native = pytest.importorskip("bentpipe._native")
pytestmark = pytest.mark.skipif(not hasattr(native, "__file__"), reason="the engine is not built")

#: The tests that take seconds. `make studies` runs all tests.
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


@pytest.mark.parametrize("test", QUICK)
def test_results_match_the_record(test: str, tmp_path: Path) -> None:
    check("satnex", results_of("satnex", [test], tmp_path), tmp_path)


@pytest.fixture(scope="module")
def measures() -> Any:
    """Returns a function that returns a module of the study by its name."""
    package = study("satnex").module.__name__
    return lambda name: importlib.import_module(f"{package}.{name}")


def test_a_loss_ends_when_the_window_reaches_its_previous_size(measures: Any) -> None:
    """The window recovers 6 s after the first loss, when the recovery state has ended. It does not
    recover from the second loss."""
    time = np.arange(12.0)
    cwnd = np.array([8, 10, 10, 5, 10, 6, 8, 9, 11, 12, 6, 7], dtype=float)
    state = np.array([0, 0, 3, 3, 3, 0, 0, 1, 0, 0, 4, 0], dtype=float)
    first, second = measures("ucit").losses(time, cwnd, state)
    assert (first.at_s, first.before, first.regained_s) == (2, 10, 6)
    assert (second.at_s, second.before) == (10, 12) and math.isinf(second.regained_s)


def test_a_log_that_starts_in_recovery_has_no_loss_at_its_start(measures: Any) -> None:
    time, cwnd = np.arange(3.0), np.array([5.0, 5.0, 6.0])
    assert measures("ucit").losses(time, cwnd, np.array([3.0, 3.0, 0.0])) == []


def test_bend_is_zero_for_linear_growth_and_positive_for_a_step(measures: Any) -> None:
    """Linear growth that ends flat has no deviation. The maximum deviation of a step is two thirds
    of its growth."""
    bend, sent = measures("eggs").bend, np.arange(7.0)
    assert bend(sent, np.array([10, 11, 12, 13, 14, 14, 14.0])) == pytest.approx(0)
    assert bend(sent, np.array([0, 0, 0, 6, 6, 6, 6.0])) == pytest.approx(2 / 3)


def test_state_shares_satisfy_the_balance_equations(measures: Any) -> None:
    """With two states, the share of a state is the probability of the transition to it, divided by
    the sum of both transition probabilities."""
    states = measures("states")
    transitions = np.array([[0.9, 0.1], [0.3, 0.7]])
    assert states.shares(transitions) == pytest.approx([0.75, 0.25])
    assert states.stays_s(transitions) == pytest.approx([0.05, 0.005 / 0.3])
    chain = np.array(states.STATES["transitions"])
    assert chain.sum(axis=1) == pytest.approx(1) and states.shares(chain) @ chain == pytest.approx(
        states.shares(chain)
    )
