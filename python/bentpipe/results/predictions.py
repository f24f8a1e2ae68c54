"""Information about a run from its scenario: predictions, the facts of its flows, and outages."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from bentpipe._native import ScenarioError
from bentpipe.predict.prediction import FlowPrediction, predict_all
from bentpipe.scenario.outages import Outage, outages_of

if TYPE_CHECKING:
    from bentpipe.scenario.facts import Flow

    from .runs import Run


def predict_run(run: Run) -> dict[str, FlowPrediction]:
    """Returns the prediction of each flow of a run, by the flow's name.

    The prediction of an interrupted run is for the duration until its end. If the scenario is from
    an older version and is refused, the refusal is the note of every flow. The prediction is
    computed once per run.
    """
    return _of(run)[0]


def facts_of(run: Run) -> list[Flow]:
    """Returns the paths of a run's flows (:mod:`bentpipe.scenario.facts`); empty if the scenario is
    from an older version and is refused. Computed once per run."""
    return _of(run)[1]


def outages(run: Run) -> list[Outage]:
    """Returns the outages of a run according to its scenario; see :func:`outages_of`."""
    known = facts_of(run)
    return outages_of(run.resolved, known) if known else []


_of_runs: WeakKeyDictionary[Run, tuple[dict[str, FlowPrediction], list[Flow]]] = WeakKeyDictionary()


def _of(run: Run) -> tuple[dict[str, FlowPrediction], list[Flow]]:
    known = _of_runs.get(run)
    if known is None:
        known = _of_runs[run] = _compute(run)
    return known


def _compute(run: Run) -> tuple[dict[str, FlowPrediction], list[Flow]]:
    ran_s = None if run.complete else run.provenance.get("simulated_seconds")
    if ran_s:
        # The prediction of an interrupted run ends with its results.
        with contextlib.suppress(ScenarioError):
            return predict_all(run.resolved, {"duration": f"{ran_s:.9f} s"})
    try:
        return predict_all(run.resolved, ())
    except ScenarioError as refused:
        note = f"the run's scenario is not valid in this version: {refused.problems[0]['message']}"
        return {name: FlowPrediction(name, None, note, {}) for name in run.flow_names}, []
