"""Traces of frame outcomes, and error processes fitted to them."""

from __future__ import annotations

import json
import math
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import bentpipe
import numpy as np
import polars as pl
import pytest
from bentpipe import frames
from bentpipe.errors import InputError
from bentpipe.frames.fitting import Chain
from bentpipe.frames.outcomes import Outcomes

SCENARIO: dict[str, Any] = {
    "name": "pasted",
    "duration": "1 s",
    "link": [{"name": "air", "from": "a", "to": "b", "rate": "2 Mbit/s", "delay": "5 ms"}],
}


def drawn(loss: list[float], transitions: list[list[float]], frames_: int, seed: int) -> Outcomes:
    """Outcomes of a Markov chain with a loss in each state."""
    rng = np.random.default_rng(seed)
    edges = np.cumsum(transitions, axis=1)
    state, states = 0, np.empty(frames_, dtype=np.int64)
    for at, number in enumerate(rng.random(frames_)):
        state = int(np.searchsorted(edges[state], number, side="right"))
        states[at] = state
    return Outcomes.of((rng.random(frames_) < np.array(loss)[states]).astype(np.uint8))


def fits_of(outcomes: Outcomes) -> dict[str, frames.Fit]:
    return {fit.process: fit for fit in frames.fit_all(outcomes)}


def test_a_bistable_process_is_recovered_within_5_percent() -> None:
    # "two-state WLAN" of authorities/wifi/markov_loss_fits.csv.
    found = fits_of(drawn([0, 1], [[0.9042, 0.0958], [0.594, 0.406]], 200_000, 4))
    assert found["bistable"].error["burst"] == pytest.approx(1.6835, rel=0.05)
    assert found["bistable"].error["probability"] == pytest.approx(0.138881, rel=0.05)
    assert found["bistable"].bic < found["bernoulli"].bic
    assert found["bistable"].burst_distance < 0.01 < found["bernoulli"].burst_distance


def test_independent_losses_are_told_from_bursts() -> None:
    found = fits_of(drawn([0.03], [[1.0]], 200_000, 3))
    assert found["bernoulli"].bic < found["bistable"].bic
    assert found["bernoulli"].error["probability"] == pytest.approx(0.03, rel=0.05)


def test_a_chain_knows_its_runs_and_its_autocorrelation() -> None:
    transitions = [[0.97, 0.02, 0.01], [0.1, 0.8, 0.1], [0.05, 0.1, 0.85]]
    chain = Chain(np.array(transitions), np.array([0.0, 0.1, 0.8]))
    outcomes = drawn([0.0, 0.1, 0.8], transitions, 200_000, 6)
    for lost, lengths in ((True, outcomes.bursts), (False, outcomes.gaps)):
        grid = np.array([1, 2, 3, 5, 10, 30])
        seen = [float((lengths >= length).mean()) for length in grid]
        assert chain.run_survival(grid, lost=lost) == pytest.approx(seen, abs=0.03)
    lags = [1, 2, 5, 20]
    assert outcomes.autocorrelation(lags) == pytest.approx(chain.autocorrelation(lags), abs=0.03)


@pytest.mark.parametrize("lost", [[0, 1], [1, 0], [0, 1] * 50, [1, 1, 0] * 40, [0] * 500 + [1] * 400])
def test_what_is_fitted_loads_in_a_scenario_whatever_the_trace(lost: list[int]) -> None:
    for fit in frames.fit_all(Outcomes.of(lost)):
        link = {**SCENARIO["link"][0], "error": json.loads(json.dumps(fit.error))}
        bentpipe.load({**SCENARIO, "link": [link]})
        assert math.isfinite(fit.bic)


def test_autocorrelation_does_not_depend_on_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    lost = (np.random.default_rng(1).random(5000) < 0.3).astype(np.uint8)
    outcomes = Outcomes.of(lost)
    assert np.array_equal(outcomes.first(5000), lost)
    assert np.array_equal(np.concatenate(list(outcomes.blocks(37))), lost)
    lags = [1, 7, 400]
    mean = lost.mean()
    direct = [((lost[:-lag] * lost[lag:]).mean() - mean**2) / (mean - mean**2) for lag in lags]
    assert outcomes.autocorrelation(lags) == pytest.approx(direct)
    monkeypatch.setattr("bentpipe.frames.outcomes.BLOCK", 37)
    assert outcomes.autocorrelation(lags) == pytest.approx(direct)


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
@pytest.mark.parametrize("runs", [False, True])
def test_what_was_written_is_read_again(tmp_path: Path, ending: str, runs: bool) -> None:
    lost = (np.random.default_rng(2).random(10_001) < 0.2).astype(np.uint8)
    file = tmp_path / f"trace{ending}"
    frames.write(Outcomes.of(lost), file, runs=runs)
    assert frames.is_frame_trace(file)
    again = frames.read(file)
    assert np.array_equal(again.first(20_000), lost)
    assert list(tmp_path.iterdir()) == [file]


@pytest.mark.parametrize(
    "text",
    [
        "lost\n0\n1\n1\n0\n",
        "lost\r\n0\r\n1\r\n1\r\n0",
        "\ufefflost\n0\n1\n1\n0\n",
        "# a comment\n\ntime,lost,rssi\n0.0,0,-60\n0.1,1,-80\n# another\n0.2, 1,nan\n\n0.3,0,\n",
        '"lost","frames"\n0,1\n1,2\n0,1\n',
        "frames,lost\n1,0\n1,1\n1,1\n1,0\n",
    ],
)
def test_tables_are_read_as_they_are(tmp_path: Path, text: str) -> None:
    file = tmp_path / "trace.csv"
    file.write_bytes(text.encode())
    outcomes = frames.read(file)
    assert outcomes.lengths.tolist() == [1, 2, 1] and not outcomes.lost_first


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        ("lost\n", "has no frames"),
        ("lost\n0\n0\n", "has no lost frame"),
        ("lost\n1\n1\n", "has no received frame"),
        ("loss\n0\n", ':1: the columns are "loss"'),
        ("0\n1\n", ':1: the columns are "0"'),
        ("lost\n0\n1\nnan\n", ':4: lost is "nan"; allowed: 0 or 1'),
        ("lost\n0\n2\n", ':3: lost is "2"'),
        ("lost\n0\n0.5\n", ':3: lost is "0.5"'),
        ("time,lost\n0,0\n1,\n", ':3: lost is ""'),
        ("time,lost\n0,0\n1\n", ":3: 1 values; allowed: 2"),
        ("time,lost\n0,0\n1,1,1\n", ":3: 3 values; allowed: 2"),
        ("lost,frames\n0,5\n1,0\n", ':3: frames is "0"; allowed: a whole number from 1'),
        ("lost,frames\n0,5\n1,-3\n", ':3: frames is "-3"'),
        ("lost,lost\n0,0\n", 'the column "lost" occurs twice'),
    ],
)
def test_other_tables_are_refused_with_file_and_line(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "trace.csv"
    file.write_text(text)
    with pytest.raises(InputError) as error:
        frames.read(file)
    assert str(error.value).startswith(str(file)) and message in str(error.value), error.value


def test_files_are_read_in_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from bentpipe.frames import reading

    monkeypatch.setattr(reading, "PIECE", 64)
    lost = (np.random.default_rng(5).random(3000) < 0.4).astype(int)
    file = tmp_path / "trace.csv"
    file.write_text("time,lost\n" + "".join(f"{at},{one}\n" for at, one in enumerate(lost)))
    assert np.array_equal(frames.read(file).first(3000), lost)
    file.write_text("time,lost\n" + "".join(f"{at},0\n" for at in range(500)) + "x,y\n")
    with pytest.raises(InputError, match=r":502: lost is \"y\""):
        frames.read(file)


def test_the_command_writes_a_process_and_a_figure(tmp_path: Path) -> None:
    trace = tmp_path / "trace.csv"
    frames.write(drawn([0, 1], [[0.98, 0.02], [0.25, 0.75]], 60_000, 1), trace)
    code = "import sys; sys.argv[0] = 'bentpipe'; from bentpipe.cli import main; main()"

    def call(*arguments: object) -> str:
        command = [sys.executable, "-c", code, *map(str, arguments)]
        return subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path).stdout

    document = json.loads(call("fit", trace, "--json", "-o", "fitted.toml", "--figure", "fit.png"))
    assert (tmp_path / "fit.png").read_bytes().startswith(b"\x89PNG")
    bistable = document["processes"]["bistable"]["error"]
    assert set(bistable) == {"kind", "probability", "burst"}
    assert document["best"] == "bistable" and document["error"] == bistable
    assert tomllib.loads((tmp_path / "fitted.toml").read_text())["error"] == bistable
    assert bistable["burst"] == pytest.approx(4.0, rel=0.1)
    call("trace", trace, "runs.csv", "--runs")
    assert np.array_equal(frames.read(tmp_path / "runs.csv").lengths, frames.read(trace).lengths)
    text = call("fit", "runs.csv")
    assert "bistable *" in text and max(map(len, text.splitlines()[:-1])) <= 80


def test_parquet_with_other_values_is_refused_with_its_row(tmp_path: Path) -> None:
    file = tmp_path / "trace.parquet"
    for values, message in (
        ([0, 1, 2], "lost of row 3 is 2"),
        ([0, None, 1], "lost of row 2 is None"),
        ([0.0, 1.0, math.nan], "lost of row 3 is nan"),
        (["0", "1"], "the column lost has the type String"),
    ):
        pl.DataFrame({"lost": values}, strict=False).write_parquet(file)
        with pytest.raises(InputError, match=message):
            frames.read(file)
    file.write_text("no table")
    with pytest.raises(InputError, match="cannot be read"):
        frames.read(file)
