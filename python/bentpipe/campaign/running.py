"""Running a campaign: chooses the next runs, collects their results, and decides when to stop."""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Final

from bentpipe.scenario.scenarios import slug
from bentpipe.simulation import RUNS

from .enough import Enough
from .keys import engine
from .plan import Plan, PlannedRun
from .results import Campaign
from .store import Store
from .work import Outcome, Task
from .workers import Workers, in_cluster, on_threads

#: Seconds between checks whether to stop, and between writes of the index.
_LOOK_S: Final = 0.1
_INDEX_S: Final = 2.0


@dataclass(frozen=True)
class Standing:
    """Progress of a campaign. ``kept`` is the number of reused runs, ``fraction`` the fraction done of the others."""

    runs: int
    kept: int
    done: int
    failed: int
    fraction: float


#: Called with the progress several times a second; the campaign stops when it returns False.
Progress = Callable[[Standing], "bool | None"]


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
    """Run a campaign, or its missing runs, and return its results.

    The store is the folder ``out``, or ``runs/NAME-campaign``. Runs that it holds, complete or failed, are reused;
    ``retry_failed`` repeats the failed ones. A run whose inputs have changed counts as a different run. The campaign
    uses ``workers`` threads, by default one per processor, or the Dask cluster whose scheduler's address is
    ``cluster``. Raises :class:`bentpipe.InputError` for a folder that cannot be used, and ``OSError`` for errors of the
    disk or the cluster; the store keeps all runs done until then.

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
                _Conductor(plan, store, them, progress, retry_failed).run()
        finally:
            store.clear_scratch()
    return Campaign(store)


@dataclass
class _Conductor:
    plan: Plan
    store: Store
    workers: Workers
    progress: Progress | None
    retry_failed: bool
    under_way: dict[Future[Outcome], PlannedRun] = field(default_factory=dict)
    fractions: dict[str, float] = field(default_factory=dict)
    kept: int = 0
    done: int = 0
    failed: int = 0
    stopped: bool = False

    def __post_init__(self) -> None:
        self.enough = Enough(self.plan)
        self.queue = deque(self._left(self.enough.first()))

    def run(self) -> None:
        """Runs until nothing is left to run or the caller wants to stop."""
        written = -_INDEX_S
        while self._fill():
            if time.monotonic() - written >= _INDEX_S:
                self.store.write_index(self.plan, self.enough.runs())
                written = time.monotonic()
            done, _ = wait(self.under_way, timeout=_LOOK_S, return_when=FIRST_COMPLETED)
            for future in done:
                self._take(self.under_way.pop(future), self.workers.outcome(future))
            self._tell()
        self.store.write_index(self.plan, self.enough.runs())
        self._tell()

    def _left(self, runs: Sequence[PlannedRun]) -> Iterator[PlannedRun]:
        """Returns the runs that the store lacks, and adds the results of the others."""
        for one in runs:
            status = self.store.status(one.key)
            lost = self._keeps_runs and status == "complete" and not self.store.folder(one.key).is_dir()
            if status == "waiting" or lost or (status == "failed" and self.retry_failed):
                yield one
            else:
                self.kept += 1
                self._count(one, status)

    def _fill(self) -> bool:
        """Submits runs to the workers. Returns whether any are in progress."""
        while not self.stopped and len(self.under_way) < self.workers.capacity():
            while not self.queue and (more := self.enough.more(self.workers.capacity())):
                self.queue.extend(self._left(more))
            if not self.queue:
                break
            one = self.queue.popleft()
            self.store.forget(one.key)
            self.fractions[one.key] = 0.0
            task = Task(
                one.key,
                one.variant.scenario,
                one.replication,
                self.plan.settings["clock"],
                self.plan.kernel.version if self.plan.kernel else None,
                self._keeps_runs,
                engine(),
            )
            folder = self.store.folder(one.key) if self._keeps_runs else None
            self.under_way[self.workers.submit(task, folder, partial(self._hear, one.key))] = one
        return bool(self.under_way)

    @property
    def _keeps_runs(self) -> bool:
        return bool(self.plan.settings["keep_runs"])

    def _hear(self, key: str, fraction: float) -> bool:
        """Receives the progress of a run from a worker in this process."""
        self.fractions[key] = fraction
        return not self.stopped

    def _take(self, one: PlannedRun, outcome: Outcome) -> None:
        if outcome.status == "stopped":
            return
        self.store.commit(one, outcome)
        self.fractions[one.key] = 1.0
        self.done += 1
        self._count(one, outcome.status)

    def _count(self, one: PlannedRun, status: str) -> None:
        self.failed += status == "failed"
        self.enough.add(one, self.store if status == "complete" else None)

    def _tell(self) -> None:
        if self.progress is None:
            return
        to_do = len(self.fractions) + len(self.queue)
        fraction = sum(self.fractions.values()) / to_do if to_do else 1.0
        standing = Standing(self.kept + to_do, self.kept, self.done, self.failed, fraction)
        if self.progress(standing) is False and not self.stopped:
            self.stopped = True
            self.workers.stop(self.under_way)
