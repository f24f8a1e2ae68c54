"""Results of runs: flows, series for plots, reports, files, and comparisons."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Annotated, Any, Final

from fastapi import APIRouter, Query
from fastapi import Path as PathParameter
from fastapi.responses import FileResponse, Response
from pydantic import BaseModel, Field
from sqlalchemy import select

from bentpipe.results.comparison import compare
from bentpipe.results.export import ENDINGS, content, table_of_run
from bentpipe.results.flows import flow_results
from bentpipe.results.groups import by_group, summarise
from bentpipe.results.predictions import outages, predict_run
from bentpipe.results.runs import Run
from bentpipe.testbed import tables
from bentpipe.testbed.accounts import Caller
from bentpipe.testbed.points import lines_of
from bentpipe.testbed.refused import Refused
from bentpipe.testbed.settings import Settings
from bentpipe.testbed.store import Store

from .callers import AnyCaller, CurrentSettings, Database
from .runs import Entry, entry, readable_run

router = APIRouter(tags=["results"])

#: Reports contain texts of users, so browsers must not run their scripts, load their links, or
#: treat them as part of this origin.
SANDBOX: Final = (
    "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'self'"
)
#: Pattern of the formats of tables.
FORMATS: Final = f"^({'|'.join(ending.removeprefix('.') for ending in ENDINGS)})$"
#: Largest time in requests, in seconds of a run.
LATEST_S: Final = 1e9


class File(BaseModel):
    """A file of a run: its path for the route of files, and its size."""

    path: str
    bytes: int


class PlotLine(BaseModel):
    """A line of a plot: times in seconds and values."""

    name: str
    time: list[float]
    value: list[float | None]


class Series(BaseModel):
    """A quantity over time, with a line per flow, terminal or link. Long lines are ``thinned`` to
    the minimum and maximum of equal intervals."""

    quantity: str
    unit: str
    thinned: bool
    lines: list[PlotLine]


class Statistics(BaseModel):
    """Statistics of a quantity over the ``count`` flows of a group that have the quantity.
    ``about`` names the quantity and the unit."""

    about: str
    count: int
    mean: float
    p05: float
    median: float
    p95: float
    best: float
    worst: float
    best_flow: str
    worst_flow: str


class Group(BaseModel):
    """The flows of a group, with the numbers of started, finished and unfinished pages, files,
    mails, transfers or calls."""

    name: str
    flows: int
    started: int | None
    finished: int | None
    unfinished: int | None
    statistics: list[Statistics]


class Outage(BaseModel):
    """Parts of the network without capacity, the affected flows, and a description. The outage
    lasts the whole run, or the time ranges ``spans_s``."""

    whole_run: bool
    spans_s: list[tuple[float, float]]
    parts: list[str]
    flows: list[str]
    text: str


class Results(BaseModel):
    """Results of a run: statistics per group of flows, a row per flow with its prediction (flows
    without a group first), the notes on the predictions by flow, and the recorded quantities by
    trace."""

    complete: bool
    groups: list[Group]
    flows: list[dict[str, Any]]
    notes: dict[str, str]
    outages: list[Outage]
    quantities: dict[str, list[str]]
    provenance: dict[str, Any]
    fidelity: dict[str, Any]


class Compared(BaseModel):
    """The differences of runs from a baseline. ``pinned`` is true if the baseline is the caller's
    pinned run. ``runs`` lists all runs, the baseline first. For keys that were changed manually
    during a run, ``by_hand`` is true, and the values include their times."""

    baseline: str
    pinned: bool
    runs: list[Entry]
    others: list[dict[str, Any]]


def folder_of(store: Store, settings: Settings, run: str, who: Caller) -> tuple[tables.Run, Path]:
    """Returns a run that the caller may read, and its folder. Raises :class:`Refused`."""
    with store.reading() as rows:
        row = readable_run(rows, run, who)
    folder = settings.folder(row.owner_id, row.id)
    if not (folder / "provenance.json").is_file():
        raise Refused(409, "this run has no results" + (" yet" if row.state not in tables.FINAL else ""))
    return row, folder


class TraceColumn(BaseModel):
    """A column of a trace, after the time."""

    name: str
    unit: str


class Trace(BaseModel):
    """The description of a trace, and its columns."""

    entity: str
    columns: list[TraceColumn]


@router.get("/traces")
def traces(_: AnyCaller) -> dict[str, Trace]:
    """Returns all traces with their columns, in the order of the live rows of a run."""
    from bentpipe import _native

    return {table["name"]: Trace.model_validate(table) for table in json.loads(_native.tables())["traces"]}


@router.get("/runs/{run}/results")
def results(run: str, who: AnyCaller, store: Database, settings: CurrentSettings) -> Results:
    """Returns the results of a run."""
    return results_of(Run(folder_of(store, settings, run, who)[1]))


def results_of(of: Run) -> Results:
    """Returns the results of a loaded run."""
    provenance = {
        key: of.provenance.get(key)
        for key in (
            "bentpipe",
            "commit",
            "instrument",
            "seed",
            "run",
            "status",
            "simulated_seconds",
            "wall_seconds",
            "events",
        )
    }
    flows = flow_results(of) if of.has_flows else []
    groups, single = by_group(flows)
    grouped = [one for members in groups.values() for one in members]
    return Results(
        complete=of.complete,
        groups=[Group.model_validate(summarise(*one).as_dict()) for one in groups.items()],
        flows=[one.as_dict() for one in [*single, *grouped]],
        notes=({name: one.note for name, one in predict_run(of).items() if one.note} if of.has_flows else {}),
        outages=[
            Outage.model_validate(one.as_dict() | {"text": one.sentence})
            for one in (outages(of) if of.has_flows else [])
        ],
        quantities=of.traces,
        provenance=provenance,
        fidelity={key: of.fidelity[key] for key in ("verdict",) if key in of.fidelity},
    )


@router.get("/runs/{run}/series/{quantity}")
def series(
    run: str,
    quantity: str,
    who: AnyCaller,
    store: Database,
    settings: CurrentSettings,
    start: Annotated[float | None, Query(alias="from", ge=0, le=LATEST_S)] = None,
    end: Annotated[float | None, Query(alias="to", ge=0, le=LATEST_S)] = None,
) -> Series:
    """Returns a quantity over time, such as `tcp.cwnd`, between the times ``from`` and ``to`` in
    seconds. Each line has up to 2000 points within the range, so a shorter range has more detail,
    and one point on either side."""
    of = Run(folder_of(store, settings, run, who)[1])
    names = of.scan(quantity).collect_schema()
    if len(names) != 3:
        raise Refused(422, f'"{quantity}" is a whole trace; choose one of its quantities')
    column = names.names()[2]
    if not names[column].is_numeric():
        raise Refused(422, f'"{quantity}" is not a number')
    start, end = 0.0 if start is None else start, math.inf if end is None else end
    if start >= end:
        raise Refused(422, f"from = {start:g} is not before to = {end:g}")
    lines = lines_of(of, quantity, start, end)
    of_trace = (name for name, columns in of.traces.items() if column in columns)
    trace = next(name for name in of_trace if quantity in (name, column, f"{name}.{column}"))
    return Series(
        quantity=quantity,
        unit=units().get((trace, column), ""),
        thinned=any(line.thinned for line in lines),
        lines=[PlotLine(name=line.name, time=line.time_s, value=[*line.values]) for line in lines],
    )


@router.get("/runs/{run}/report")
def report(run: str, who: AnyCaller, store: Database, settings: CurrentSettings) -> Response:
    """Returns the report of a run, an HTML page that browsers open in a sandbox."""
    _, folder = folder_of(store, settings, run, who)
    if not (folder / "report.html").is_file():
        raise Refused(409, "this run has no report")
    return FileResponse(
        folder / "report.html", media_type="text/html", headers={"Content-Security-Policy": SANDBOX}
    )


@router.get("/runs/{run}/tables/{table}")
def table(
    run: str,
    table: Annotated[str, PathParameter(max_length=100)],
    who: AnyCaller,
    store: Database,
    settings: CurrentSettings,
    format: Annotated[str, Query(pattern=FORMATS)] = "csv",  # noqa: A002 - its name in requests
) -> Response:
    """Returns a table of a run (`flows` or a report) as a download in a given format. Traces are
    available as files."""
    of = Run(folder_of(store, settings, run, who)[1])
    if table not in ("flows", *of.tables):
        raise Refused(404, "this run has no such table")
    exported = content(table_of_run(of, table), f".{format}")
    headers = {
        "Content-Security-Policy": SANDBOX,
        "Content-Disposition": f'attachment; filename="{table}.{format}"',
    }
    return Response(exported, media_type="application/octet-stream", headers=headers)


@router.get("/runs/{run}/files")
def files(run: str, who: AnyCaller, store: Database, settings: CurrentSettings) -> list[File]:
    """Returns the list of a run's files."""
    _, folder = folder_of(store, settings, run, who)
    return [File(path=name, bytes=file.stat().st_size) for name, file in sorted(_files(folder).items())]


@router.get("/runs/{run}/files/{path:path}")
def file(run: str, path: str, who: AnyCaller, store: Database, settings: CurrentSettings) -> Response:
    """Returns a file of a run as a download."""
    _, folder = folder_of(store, settings, run, who)
    # Only listed files are sent, so a path cannot leave the folder.
    found = _files(folder).get(path)
    if found is None:
        raise Refused(404, "this run has no such file")
    headers = {"Content-Security-Policy": SANDBOX, "Accept-Ranges": "none"}
    return FileResponse(found, filename=found.name, media_type="application/octet-stream", headers=headers)


@router.get("/comparison")
def comparison(
    run: Annotated[list[Annotated[str, Field(max_length=32)]], Query(min_length=1, max_length=12)],
    who: AnyCaller,
    store: Database,
    settings: CurrentSettings,
    baseline: Annotated[str, Query(max_length=32)] = "",
) -> Compared:
    """Returns the differences of runs from a baseline: the given run, the caller's pinned run, or
    the first run."""
    pinned = None
    if not baseline:
        with store.reading() as rows:
            pinned = rows.scalar(
                select(tables.Run.id).where(tables.Run.owner_id == who.id, tables.Run.baseline)
            )
        baseline = pinned or run[0]
    first, folder = folder_of(store, settings, baseline, who)
    others, compared = [], [baseline]
    for one in dict.fromkeys(run):
        if one == baseline:
            continue
        row, other = folder_of(store, settings, one, who)
        both = compare(folder, other).as_dict()
        both["scenario"] += by_hand(store, first, row)
        others.append(
            {"run": row.id, "name": row.name, "number": row.number, "label": row.label}
            | {key: both[key] for key in ("equal", "scenario", "flows", "missing")}
        )
        compared.append(row.id)
    with store.reading() as rows:
        entries = [entry(readable_run(rows, one, who), who, settings) for one in compared]
    return Compared(baseline=first.id, pinned=pinned is not None, runs=entries, others=others)


def by_hand(store: Store, first: tables.Run, other: tables.Run) -> list[dict[str, Any]]:
    """Returns the manually changed keys of both runs, as differences of the scenario."""
    made = [_made(store, run) for run in (first, other)]
    return [
        {"key": key, "a": made[0].get(key), "b": made[1].get(key), "by_hand": True}
        for key in dict.fromkeys([*made[0], *made[1]])
        if made[0].get(key) != made[1].get(key)
    ]


def _made(store: Store, run: tables.Run) -> dict[str, str]:
    """Returns the manually set values of a run's keys, with the times."""
    change = tables.Change
    wanted = select(change).where(
        change.run_number == run.number, change.done.is_not(None), change.refused.is_(None)
    )
    found: dict[str, list[str]] = {}
    with store.reading() as rows:
        for one in rows.scalars(wanted.order_by(change.id)):
            found.setdefault(one.key, []).append(f"{one.value} at {one.done:.2f} s")
    return {key: ", ".join(values) for key, values in found.items()}


def units() -> dict[tuple[str, str], str]:
    """Returns the units of columns by trace and column, because columns of the same name may
    differ: `sent` is bytes for TCP and packets for a call."""
    from bentpipe import _native

    listed = json.loads(_native.tables())["traces"]
    return {
        (table["name"], column["name"]): column["unit"] for table in listed for column in table["columns"]
    }


def _files(folder: Path) -> dict[str, Path]:
    """Returns the regular files of a run by their path in its folder."""
    return {
        file.relative_to(folder).as_posix(): file
        for file in folder.rglob("*")
        if file.is_file() and not file.is_symlink()
    }
