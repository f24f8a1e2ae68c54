"""Runs followed while they are in progress: rows of their traces, and manual changes."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import bentpipe as bp
import pytest
from bentpipe.errors import InputError
from bentpipe.scenario.scenarios import ScenarioText

SCENARIO = """name = "Followed"
duration = "20 s"
preset = "geo"

[[flow]]
name = "up"
from = "user"
to = "server"
app = "bulk"
transport = { kind = "tcp", congestion = "cubic" }
"""


def followed(out: Path, wanted: list[tuple[str, str]] | None = None) -> tuple[Any, list[dict[str, Any]]]:
    """Returns a run of one second and the rows that were read. ``wanted`` is changed at the third
    read."""
    parts: list[dict[str, Any]] = []

    def watch(seen: dict[str, Any]) -> list[tuple[str, str]]:
        parts.append(seen)
        return wanted or [] if len(parts) == 3 else []

    run = bp.simulate(ScenarioText(SCENARIO, "followed"), out=out, watch=watch, pace=20.0)
    return run, parts


def files(run: Any) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in sorted((run.path / "traces").iterdir())}


def test_what_is_seen_is_what_is_written_and_changes_nothing(tmp_path: Path) -> None:
    run, parts = followed(tmp_path / "watched")
    assert len(parts) >= 5
    alone = bp.simulate(ScenarioText(SCENARIO, "followed"), out=tmp_path / "alone")
    assert files(run) == files(alone)
    for trace in ("tcp", "delivery", "link"):
        frame = run.trace(trace)
        entity = frame[frame.columns[1]][0]
        rows = {(round(row[0] * 1e9), *row[2:]) for row in frame.iter_rows() if row[1] == entity}
        seen = [row for part in parts for row in part["rows"].get(trace, {}).get(entity, [])]
        assert 100 < len(seen) <= 1001
        assert {(round(time * 1e9), *values) for time, *values in seen} <= rows
        times = [row[0] for row in seen]
        assert times == sorted(times)
        # Thinned to a thousandth of the run.
        assert min(after - before for before, after in itertools.pairwise(times)) >= 0.02 - 1e-9


def test_a_change_by_hand_is_what_the_scenario_would_have_done(tmp_path: Path) -> None:
    from bentpipe.testbed.drafts import with_changes

    run, parts = followed(tmp_path / "by-hand", [("link.sat.rate", "1 Mbit/s"), ("link.sat.nothing", "1")])
    done, refused = parts[3]["changes"]
    assert (done["key"], done["refused"]) == ("link.sat.rate", None) and 0 < done["time"] < 20
    assert refused["time"] is None and "rate" in refused["refused"]
    (made,) = run.provenance["notes"]["changes"]
    assert (made["key"], made["value"], made["at"]) == ("link.sat.rate", "1 Mbit/s", done["time"])
    text = with_changes(SCENARIO, [(made["at"], made["key"], made["value"])])
    again = bp.simulate(ScenarioText(text, "again"), out=tmp_path / "again")
    assert files(run) == files(again)
    assert run.flows["goodput"][0] < 5e6


def test_what_the_watcher_raises_ends_the_run(tmp_path: Path) -> None:
    def watch(_: dict[str, Any]) -> list[tuple[str, str]]:
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        bp.simulate(ScenarioText(SCENARIO, "x"), out=tmp_path / "run", watch=watch, pace=20.0)
    assert not bp.Run(tmp_path / "run").complete


@pytest.mark.parametrize("pace", [0.0, -1.0, float("inf"), float("nan")])
def test_a_pace_is_a_number_above_0(tmp_path: Path, pace: float) -> None:
    with pytest.raises(InputError, match="pace"):
        bp.simulate(ScenarioText(SCENARIO, "x"), out=tmp_path / "run", pace=pace)
