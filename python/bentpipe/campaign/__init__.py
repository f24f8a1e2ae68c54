"""Campaigns: many runs of a scenario with varied values and replicated seeds, and their combined
results.

::

    import bentpipe as bp

    plan = bp.campaign.plan("study.toml", vary={"flow.up.transport.congestion": ["reno", "vegas"]}, replications=10)
    results = bp.campaign.run(plan, "runs/study")       # runs that the store holds are reused
    results.means("goodput")                            # means and confidence intervals, a Polars DataFrame

``plan`` resolves and validates all runs, and ``run`` executes them on threads or on a Dask cluster.
The store is a folder of Parquet files.
"""

from __future__ import annotations

from .executor import ExecutionStatus, Progress
from .plan import Plan, PlannedRun, Variant, plan
from .results import Campaign, open_campaign
from .running import run, store_folder
from .store import Store

__all__ = [
    "Campaign",
    "ExecutionStatus",
    "Plan",
    "PlannedRun",
    "Progress",
    "Store",
    "Variant",
    "open_campaign",
    "plan",
    "run",
    "store_folder",
]
