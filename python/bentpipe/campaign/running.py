"""Execution of a campaign, with its store as the place of the results."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Literal

from bentpipe.scenario.scenarios import slug
from bentpipe.simulation import RUNS

from .executor import Progress, execute
from .keys import engine
from .plan import Plan, PlannedRun
from .replications import Replications
from .results import Campaign
from .store import Store
from .work import Outcome, Task
from .workers import in_cluster, on_threads


def store_folder(plan: Plan) -> Path:
    """Returns the default folder of a campaign."""
    return RUNS / f"{slug(plan.name)}-campaign"


def run(
    plan: Plan,
    out: str | Path | None = None,
    *,
    workers: int | None = None,
    cluster: str | None = None,
    progress: Progress | None = None,
    retry_failed: bool = False,
) -> Campaign:
    """Runs a campaign, or its missing runs, and returns the results.

    The store is the folder ``out``, or ``runs/NAME-campaign``. Complete and failed runs in the
    store are reused; ``retry_failed`` repeats failed runs. A run whose inputs have changed counts
    as a different run. The campaign uses ``workers`` threads, by default one per processor, or the
    Dask cluster whose scheduler's address is ``cluster``. Raises :class:`bentpipe.InputError` for a
    folder that cannot be used, and ``OSError`` for errors of the disk or the cluster; the store
    keeps all runs done until then.

    >>> import bentpipe as bp
    >>> of = bp.campaign.plan("examples/geo-bulk.toml", ["duration=5 s"], replications=2)
    >>> bp.campaign.run(of, "runs/two").index["status"].to_list()
    ['complete', 'complete']
    """
    store = Store(out or store_folder(plan))
    with store.locked():
        store.begin(plan)
        store.scratch.mkdir(exist_ok=True)
        team = in_cluster(cluster) if cluster else on_threads(workers or os.cpu_count() or 1, store.scratch)
        try:
            with team as them:
                execute(_Runs(plan, store, retry_failed=retry_failed), them, progress)
        finally:
            store.clear_scratch()
    return Campaign(store)


class _Runs:
    """The runs of a plan, with their results in a store."""

    def __init__(self, plan: Plan, store: Store, *, retry_failed: bool) -> None:
        self._plan = plan
        self._store = store
        self._retry_failed = retry_failed
        self._replications = Replications(plan)
        self._keeps_runs = bool(plan.settings["keep_runs"])

    def first(self) -> list[PlannedRun]:
        return self._replications.first()

    def more(self, at_once: int) -> list[PlannedRun]:
        return self._replications.more(at_once)

    def kept(self, run: PlannedRun) -> Literal["complete", "failed"] | None:
        status = self._store.status(run.key)
        lost = self._keeps_runs and status == "complete" and not self._store.folder(run.key).is_dir()
        if status == "waiting" or lost or (status == "failed" and self._retry_failed):
            return None
        self._count(run, status)
        return "complete" if status == "complete" else "failed"

    def begin(self, run: PlannedRun) -> tuple[Task, Path | None]:
        self._store.forget(run.key)
        task = Task(
            run.key,
            run.variant.scenario,
            run.replication,
            self._plan.settings["clock"],
            self._plan.kernel.version if self._plan.kernel else None,
            self._keeps_runs,
            engine(),
        )
        return task, self._store.folder(run.key) if self._keeps_runs else None

    def end(self, run: PlannedRun, outcome: Outcome) -> None:
        if outcome.status != "stopped":
            self._store.commit(run, outcome)
            self._count(run, outcome.status)

    def save(self) -> None:
        self._store.write_index(self._plan, self._replications.runs())

    def _count(self, run: PlannedRun, status: str) -> None:
        self._replications.add(run, self._store if status == "complete" else None)
