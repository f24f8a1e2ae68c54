"""bentpipe: how the Internet behaves over satellites.

Describe a network once, then predict its performance with equations or simulate it in virtual time,
and compare the results::

    import bentpipe as bp

    run = bp.simulate("examples/dvb-rcs-upload.toml", seed=1)
    run.flows            # one row per flow, a Polars DataFrame
    run.trace("cwnd")    # time (s), flow, cwnd (segments)

This module is the public interface. Plots are in :mod:`bentpipe.plots`, the equations in
:mod:`bentpipe.predict`.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from . import campaign, plots, predict, report, statistics, studies
    from ._native import ScenarioError
    from .checks import check
    from .emulation import emulate
    from .errors import InputError
    from .predict.prediction import predict_scenario
    from .results.comparison import Comparison, compare
    from .results.groups import group_table
    from .results.runs import Run, open_run
    from .scenario.prototypes import allow_code, congestion
    from .scenario.scenarios import Scenario, load, schema
    from .simulation import simulate

__all__ = [
    "Comparison",
    "InputError",
    "Run",
    "Scenario",
    "ScenarioError",
    "allow_code",
    "campaign",
    "check",
    "compare",
    "congestion",
    "emulate",
    "group_table",
    "load",
    "open_run",
    "plots",
    "predict",
    "predict_scenario",
    "report",
    "schema",
    "simulate",
    "statistics",
    "studies",
]

# Importing Polars and matplotlib takes longer than most commands, so names are imported at first
# use.
_HOME: Final = {
    "Comparison": "results.comparison",
    "InputError": "errors",
    "Run": "results.runs",
    "Scenario": "scenario.scenarios",
    "ScenarioError": "_native",
    "check": "checks",
    "compare": "results.comparison",
    "allow_code": "scenario.prototypes",
    "congestion": "scenario.prototypes",
    "emulate": "emulation",
    "group_table": "results.groups",
    "load": "scenario.scenarios",
    "open_run": "results.runs",
    "predict_scenario": "predict.prediction",
    "schema": "scenario.scenarios",
    "simulate": "simulation",
}

#: Packages that are available as attributes without an import.
_PACKAGES: Final = ("campaign", "plots", "predict", "report", "statistics", "studies")


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return importlib.import_module("._native", __name__).version()
    if name in _PACKAGES:
        return importlib.import_module(f".{name}", __name__)
    if name in _HOME:
        return getattr(importlib.import_module(f".{_HOME[name]}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*__all__, "__doc__", "__version__"})
