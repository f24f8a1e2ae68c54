"""Runs of other versions, whose tables lack columns: they are read, or refused with file and
column."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import polars as pl
import pytest
from bentpipe import measure
from bentpipe.campaign.folders import FolderRun, Folders
from bentpipe.errors import InputError
from bentpipe.measure import fitting, folder, models, predicting
from bentpipe.measure.plan import plan_of
from bentpipe.measure.summary import summarise
from bentpipe.report import counted, measured
from bentpipe.results.comparison import compare
from bentpipe.results.flows import flow_results
from bentpipe.results.runs import Run
from bentpipe.scenario.variation import Variation
from helpers.measuring import KEY, reflecting
from rigs import commands

LOADS = [
    {"kind": "call", "duration": "0.4 s", "pause": "0 s"},
    {"kind": "udp", "direction": "down", "rate": "2 Mbit/s", "duration": "0.4 s", "pause": "0 s"},
    {"kind": "survey", "pause": "0 s"},
    {"kind": "transports", "duration": "100 ms", "pause": "0 s"},
]
#: Notes of a slow path that this machine does not produce.
BOTTLENECK = {
    "load": "udp-down-1",
    "direction": "down",
    "rate": 2e6,
    "depth": 20_000,
    "overflowed": True,
    "depth_least": 19_000,
    "depth_most": None,
    "policy": "aqm",
    "depth_reason": "no burst was lost",
}
SCHEDULER = {
    "direction": "up",
    "scheme": "RBDC",
    "superframe": 0.094,
    "response": 11,
    "cra": 64e3,
    "rate": 1e6,
    "wait_min": 0.5,
    "wait_p50": 0.6,
    "wait_max": 0.7,
}
SLOTS = [
    {"begin": 0.0, "round_trip": 0.05, "period": 15.0},
    {"begin": 15.0, "round_trip": 0.06, "period": 15.0},
]

SCENARIO = """name = "Two flows"
duration = "5 s"
preset = "dvb-rcs"

[[flow]]
name = "call"
from = "st1"
to = "gw"
app = { kind = "voice", codec = "G.729A" }
transport = "udp"

[[flow]]
name = "up"
from = "st1"
to = "gw"
app = "bulk"
transport = "tcp"
"""

MULTILINK = """
[[link]]
name = "one"
from = "gw"
to = "server"
rate = "2 Mbit/s"
delay = "1 ms"

[[link]]
name = "two"
from = "gw"
to = "server"
rate = "2 Mbit/s"
delay = "2 ms"

[[multilink]]
name = "both"
links = ["one", "two"]

[[handover]]
multilink = "both"
at = "2 s"
to = "two"
"""


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A measured run with every table."""
    place = tmp_path_factory.mktemp("measured") / "path"
    plan = plan_of({"duration": "1 s", "rate": 40, "train": 0, "load": LOADS}, "plan.toml")
    with reflecting(KEY) as (port, _):
        seen = measure.probe("127.0.0.1", port, plan, KEY)
    folder.free(place)
    folder.write(place, "host", 7, seen, summarise(seen))
    for name, rows in (("bottleneck", [BOTTLENECK]), ("scheduler", [SCHEDULER]), ("slots", SLOTS)):
        pl.DataFrame(rows).write_parquet(place / "tables" / f"{name}.parquet")
    return place


@pytest.fixture(scope="module")
def simulated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("simulated")
    (place / "two.toml").write_text(SCENARIO)
    commands.call("simulate", "two.toml", "--out", "run", "--no-report", folder=place)
    return place / "run"


def lacking(run: Path, copy: Path) -> list[tuple[Path, str]]:
    """Copies a run. Returns every file of its tables with each of its columns."""
    shutil.copytree(run, copy)
    files = [copy / "flows.parquet", *sorted((copy / "tables").glob("*.parquet"))]
    return [(file, column) for file in files for column in pl.read_parquet_schema(file)]


def without(file: Path, column: str) -> bytes:
    """Removes a column. Returns the previous content of the file."""
    whole = file.read_bytes()
    pl.read_parquet(file).drop(column).write_parquet(file)
    return whole


def read(run: Path, others: Path) -> None:
    """Reads a run as `report`, `compare` and `fit` do."""
    measured.tables(Run(run))
    flow_results(Run(run))
    compare(others, run)
    if Run(run).clock == "measured":
        fitting.series(Run(run))
        models.scenario(Run(run))
        predicting.quantities(Run(run))


@pytest.mark.parametrize("which", ["path", "simulated"])
def test_a_run_without_any_column_is_read_or_refused(
    which: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    whole = request.getfixturevalue(which)
    copy, refused = tmp_path / "old", []
    for file, column in lacking(whole, copy):
        content = without(file, column)
        try:
            read(copy, whole)
        except InputError as error:
            assert f'{file} lacks the column "{column}"' in str(error)
            refused.append(f"{file.stem}.{column}")
        file.write_bytes(content)
    assert "flows.flow" in refused and not {"flows.goodput", "bottleneck.depth_reason"} & {*refused}


@pytest.mark.parametrize(
    ("trace", "column", "command"),
    [("dama", "superframe", "plot"), ("dama", "used", "plot"), ("waits", "wait_lost", "explain")],
)
def test_a_figure_says_which_column_of_a_trace_is_missing(
    simulated: Path, tmp_path: Path, trace: str, column: str, command: str
) -> None:
    copy = tmp_path / "old"
    lacking(simulated, copy)
    without(copy / "traces" / f"{trace}.parquet", column)
    said = " ".join(commands.call(command, copy, code=2).stderr.split())
    assert f'traces/{trace}.parquet lacks the column "{column}"' in said
    # The report contains the remaining columns.
    commands.call("report", copy)


def test_a_run_with_former_names_is_read_as_one_of_today(tmp_path: Path) -> None:
    """Earlier versions called the trace `waits`, the key `multilink` and the entity of the trace
    `selection` `access`."""
    (tmp_path / "both.toml").write_text(SCENARIO + MULTILINK)
    commands.call("simulate", "both.toml", "--out", "run", "--no-report", folder=tmp_path)
    today, old = tmp_path / "run", tmp_path / "old"
    shutil.copytree(today, old)
    (old / "traces" / "waits.parquet").rename(old / "traces" / "access.parquet")
    selection = old / "traces" / "selection.parquet"
    pl.read_parquet(selection).rename({"multilink": "access"}).write_parquet(selection)
    text = (old / "scenario.toml").read_text()
    former = text.replace("multilink", "access").replace('"waits"', '"access"')
    # The present key network.NAME.return.dama.access has the same name.
    assert former.count("access") - text.count("access") == text.count("multilink") + 1 == 3
    (old / "scenario.toml").write_text(former)
    assert Run(old).traces == Run(today).traces and "waits" in Run(old).traces
    for trace in ("waits", "waits.wait_lost", "selection"):
        assert Run(old).trace(trace).equals(Run(today).trace(trace)) and Run(old).trace(trace).height
    assert Run(old).scenario == Run(today).scenario
    assert Run(old).resolved.toml == Run(today).resolved.toml
    read(old, today)
    for command in (("explain", "--terminal", "st1"), ("plot",), ("report",)):
        commands.call(command[0], old, *command[1:])
    # Repeating the run requires the new names.
    said = commands.call("simulate", old / "scenario.toml", "--out", tmp_path / "again", code=2).stderr
    assert said.count("it is called multilink now") == 2 and said.count("it is called waits now") == 1


def test_reports_with_former_names_are_read_by_their_current_names(run_folder: Path) -> None:
    """Earlier versions called the report `corrupted`, and this column of `atm_leg`, `spoiled`."""
    direction = {"direction": ["a", "a.reverse"], "wrong_checksum": [3, 0], "wrong_bytes": [1, 2]}
    leg = {"leg": ["net.forward.1"], "spoiled": [7]}
    written = {"spoiled": pl.DataFrame(direction), "atm_leg": pl.DataFrame(leg)}
    for name, table in written.items():
        table.write_parquet(run_folder / "tables" / f"{name}.parquet")
    file = run_folder / "summary.json"
    summary = json.loads(file.read_text())
    summary["tables"] |= {name: table.to_dicts() for name, table in written.items()}
    units = {
        "spoiled": {"wrong_checksum": "packets", "wrong_bytes": "packets"},
        "atm_leg": {"spoiled": "cells"},
    }
    file.write_text(json.dumps(summary | {"units": units}))
    run = Run(run_folder)
    assert {"corrupted", "atm_leg"} < set(run.tables) and "spoiled" not in run.tables
    assert run.table("corrupted").equals(written["spoiled"])
    assert run.table("atm_leg").rename({"corrupted": "spoiled"}).equals(written["atm_leg"])
    assert [table.name for table in counted.tables(run)][-2:] == ["corrupted", "atm_leg"]
    commands.call("export", run_folder, "corrupted.csv", "--rows", "corrupted", folder=run_folder)
    assert (run_folder / "corrupted.csv").read_text().splitlines()[1] == "a,3,1"
    folders = Folders("one", [FolderRun("1", run_folder, Variation(), 0, "complete")])
    assert "corrupted" in folders.tables and "corrupted.wrong_bytes" in folders.metrics


def test_the_commands_say_what_is_missing(path: Path, tmp_path: Path) -> None:
    copy = tmp_path / "old"
    lacking(path, copy)
    # A missing quantity of an older version is no reason to refuse its report.
    without(copy / "tables" / "bottleneck.parquet", "depth_reason")
    without(copy / "tables" / "direction.parquet", "variation_p99")
    commands.call("report", copy)
    titles = {one.title: one for one in measured.tables(Run(copy))}
    assert titles["Bottlenecks"].rows[0][-1] == "-"
    without(copy / "traces" / "probe.parquet", "quiet")
    for words in (("plot", copy, "--figure", "delays"), ("fit", copy, "--out", tmp_path / "fit.toml")):
        said = " ".join(commands.call(*words, code=2).stderr.split())
        assert (
            "traces/probe.parquet lacks the column" in said
            and '"quiet"' in said
            and "written by bentpipe" in said
        )
