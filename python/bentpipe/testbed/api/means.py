"""Means over the runs of one launch: the replications of each point of a campaign.

Means never combine launches, because only the runs of one launch are known to be replications of
the same scenario with distinct random numbers.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, Final

from fastapi import APIRouter, Query
from pydantic import BaseModel, Field
from sqlalchemy import select

from bentpipe.campaign import Campaign
from bentpipe.campaign.folders import FolderRun, Folders
from bentpipe.campaign.tabulate import Means as Table
from bentpipe.campaign.tabulate import exported, plus_minus, tabulate
from bentpipe.plots.campaigns import Axis, most_numbers
from bentpipe.results.export import latex
from bentpipe.scenario.variation import Variation, short_names
from bentpipe.statistics import Mean as Interval
from bentpipe.testbed import tables
from bentpipe.testbed.accounts import Caller
from bentpipe.testbed.refused import Refused
from bentpipe.testbed.settings import Settings
from bentpipe.testbed.store import Store
from bentpipe.testbed.verdicts import Verdict, verdict_of, worst

from .callers import AnyCaller, CurrentSettings, Database, readable
from .filters import State
from .verdicts import Fidelity

router = APIRouter(tags=["results"])

#: Default metric, if the runs have it; the same as on the command line.
DEFAULT_METRIC: Final = "goodput"
#: Maximum number of rows of a response; more than a page can show.
MAX_ROWS: Final = 2_000
#: Maximum number of missing runs that a response lists.
MAX_MISSING: Final = 100
#: The varied key that stands for the instruments of a launch with several instruments.
INSTRUMENT: Final = "instrument"


class Varied(BaseModel):
    """A varied key: its path, its short name, and the title of its axis with a unit. ``ticks`` are
    the positions of the values on the axis, and ``labels`` their names. ``numbers`` is false for
    values that are not numbers, which have equal distances."""

    key: str
    name: str
    title: str
    numbers: bool
    ticks: list[float]
    labels: list[str]


class Mean(BaseModel):
    """A mean over ``count`` runs and the half-width of its confidence interval (null for a single
    run), in the metric's ``unit``. ``text`` contains both in the metric's ``shown_unit``, rounded
    according to the interval."""

    count: int
    mean: float
    half_width: float | None
    text: str


class Metric(BaseModel):
    """A metric: its unit, its display unit, and the ``size`` of the display unit in terms of the
    unit. The unit of a plain number is ``"1"``."""

    metric: str
    unit: str
    shown_unit: str
    size: float


class Point(BaseModel):
    """Means at one combination of the varied values, for one flow, terminal or link, or for the
    requested group. ``at`` are the positions on the axes, ``runs`` is the number of runs of this
    combination, and ``means`` has an entry per metric, null without a value. ``fidelity`` is the
    fidelity of the least accurate run; null for simulations, which are exact."""

    labels: list[str]
    at: list[float]
    of: str
    runs: int
    means: list[Mean | None]
    fidelity: Fidelity | None


class Missing(BaseModel):
    """A run that is not included in the means, and the reason."""

    id: str
    number: int
    label: str
    state: State
    reason: str


class Means(BaseModel):
    """Means over the runs of a launch. ``runs`` is the number of runs that the caller may read, and
    ``complete`` the number of runs in the means. ``missing`` lists up to a hundred of the others.
    ``across`` is the key on the axis of figures, and ``available`` lists all metrics."""

    name: str
    confidence: float
    runs: int
    complete: int
    missing: list[Missing]
    keys: list[Varied]
    across: str | None
    available: list[str]
    metrics: list[Metric]
    points: list[Point]
    latex: str


@router.get("/batches/{batch}/means")
def means(
    batch: str,
    who: AnyCaller,
    store: Database,
    settings: CurrentSettings,
    metric: Annotated[list[Annotated[str, Field(max_length=100)]] | None, Query(max_length=12)] = None,
    of: Annotated[str, Query(max_length=100)] = "",
) -> Means:
    """Returns means with confidence intervals over the runs of one launch, for each combination of
    the varied values. Metrics are columns of the flows, or TABLE.COLUMN of a report. ``of`` selects
    one flow, terminal or link, or the mean over a group or over a pattern such as `st*`."""
    found, changed = _launched(store, batch, who)
    several = len({run.instrument for run in found}) > 1
    counted = [_counted(run, settings, several, run.number in changed) for run in found]
    source = Folders(found[0].name, counted, found[0].confidence)
    campaign = Campaign(source)
    names = short_names(campaign.varied)
    axes = {key: Axis.of(campaign.index[key], name) for key, name in names.items()}
    differing = [key for key, axis in axes.items() if len(axis.at) > 1]
    available = source.metrics
    chosen = list(
        dict.fromkeys(metric or ([DEFAULT_METRIC] if DEFAULT_METRIC in available else available[:1]))
    )
    table = tabulate(campaign, chosen, of or None) if available else None
    if table is not None and len(table.rows) > MAX_ROWS:
        raise Refused(
            422, f"the table has {len(table.rows)} means (at most {MAX_ROWS}); choose a flow or a group"
        )
    verdicts = {
        run.id: (run.number, verdict_of(one.folder, run.instrument, run.state))
        for run, one in zip(found, counted, strict=True)
        if one.status == "complete"
    }
    named = [
        Missing(id=run.id, number=run.number, label=run.label, state=run.state, reason=one.error)
        for run, one in zip(found, counted, strict=True)
        if one.status != "complete"
    ]
    return Means(
        name=found[0].name,
        confidence=found[0].confidence,
        runs=len(found),
        complete=len(found) - len(named),
        missing=named[:MAX_MISSING],
        keys=[_varied(key, axis, names[key]) for key, axis in axes.items()],
        across=most_numbers(campaign.index, differing or list(axes)),
        available=available,
        metrics=[] if table is None else _metrics(campaign, table),
        points=[] if table is None else list(_points(campaign, table, axes, verdicts)),
        latex="" if table is None else latex(exported(table)).decode(),
    )


def _launched(store: Store, batch: str, who: Caller) -> tuple[Sequence[Any], set[int]]:
    """Returns the runs of a launch that the caller may read, by number, and the numbers of manually
    changed runs. Raises :class:`Refused`, which reports inaccessible launches as missing."""
    run = tables.Run
    known = ("id", "number", "owner_id", "name", "label", "instrument", "replication", "variation")
    columns: list[Any] = [getattr(run, key) for key in (*known, "confidence", "state", "reason")]
    of_batch = select(*columns).where(run.batch == batch[:32]).order_by(run.number)
    with store.reading() as rows:
        found = rows.execute(of_batch.where(readable(tables.Run, who))).all()
        made = (
            select(tables.Change.run_number)
            .join(run, run.number == tables.Change.run_number)
            .where(run.batch == batch[:32], tables.Change.done.is_not(None), tables.Change.refused.is_(None))
        )
        changed = set(rows.scalars(made))
    if not found:
        raise Refused(404, "there is no such run")
    if any(one.variation is None for one in found):
        raise Refused(
            409,
            "these runs were launched by an older version of the test bed, which did not record the varied values; "
            "launch them again",
        )
    return found, changed


def _counted(run: Any, settings: Settings, several: bool, changed: bool) -> FolderRun:
    """Returns a run in the format of the means. With ``several`` instruments, the instrument is
    part of the point."""
    varied = {**run.variation, **({INSTRUMENT: run.instrument} if several else {})}
    status, why = run.state, run.reason
    if run.state == "done":
        # A manually changed run is not a replication of the launched scenario.
        status = "changed" if changed else "complete"
        why = "changed manually during the run" if changed else ""
    return FolderRun(
        run.id, settings.folder(run.owner_id, run.id), Variation(varied), run.replication, status, why
    )


def _varied(key: str, axis: Axis, name: str) -> Varied:
    return Varied(
        key=key,
        name=name,
        title=axis.title,
        numbers=axis.numbers,
        ticks=sorted(axis.at.values()),
        labels=axis.labels,
    )


def _metrics(campaign: Campaign, table: Table) -> list[Metric]:
    return [
        Metric(metric=name, unit=campaign.unit(name), shown_unit=unit, size=size)
        for name, unit, size in zip(table.metrics, table.units, table.scales, strict=True)
    ]


def _points(
    campaign: Campaign,
    table: Table,
    axes: Mapping[str, Axis],
    verdicts: Mapping[str, tuple[int, Verdict | None]],
) -> Iterator[Point]:
    launched: defaultdict[tuple[Any, ...], list[str]] = defaultdict(list)
    for run, *values in campaign.index.select("run", *axes).iter_rows():
        launched[tuple(values)].append(run)
    for row in table.rows:
        runs = launched[tuple(row.values)]
        verdict = worst(verdicts[run] for run in runs if run in verdicts)
        yield Point(
            labels=row.labels[: len(axes)],
            at=[axis.at[value] for axis, value in zip(axes.values(), row.values, strict=True)],
            of=row.entity,
            runs=len(runs),
            fidelity=None if verdict is None else Fidelity(verdict=verdict.verdict, text=verdict.text),
            means=[
                None if one is None else _mean(*one, size)
                for one, size in zip(row.means, table.scales, strict=True)
            ],
        )


def _mean(of: Interval, count: int, size: float) -> Mean:
    value, half = plus_minus(Interval(of.value / size, of.half_width / size))
    return Mean(
        count=count,
        mean=of.value,
        half_width=None if math.isnan(of.half_width) else of.half_width,
        text=f"{value} ± {half}" if half else value,
    )
