"""Runs with many flows: reports and figures stay readable, and their cost grows with the number of
flows."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import bentpipe as bp
import numpy as np
import pytest
from bentpipe import plots
from bentpipe.plots.data import on_grid, quantiles
from bentpipe.report import page
from bentpipe.results.flows import flow_results
from bentpipe.results.groups import by_group, summarise
from bentpipe.results.predictions import predict_run
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

#: A star in which every terminal has its own slot, so that all flows deliver data.
STAR = {
    "kind": "dvb-rcs",
    "propagation": "20 ms",
    "gateway": "gw",
    "forward": {"rate": "100 Mbit/s"},
    "return": {
        "rate": "40960 kbit/s",
        "slots_per_frame": 640,
        "frame": "23.5 ms",
        "frames_per_superframe": 4,
        "dama": {"scheme": "rbdc", "cra": "64 kbit/s"},
    },
}


def run_with(flows: int, folder: Path) -> bp.Run:
    """Returns a run in which each of this many terminals uploads."""
    scenario: dict[str, Any] = {
        "name": f"{flows} uploads",
        "duration": "2 s",
        "network": {"sat": {**STAR, "terminals": [{"name": "st", "count": flows}]}},
        "flow": [
            {"name": f"f{one}", "from": f"st{one}", "to": "gw", "app": "bulk", "transport": "tcp"}
            for one in range(1, flows + 1)
        ],
    }
    return bp.simulate(scenario, out=folder / str(flows))


def calls(work: Callable[[], object]) -> int:
    """Returns the number of function calls, a measure of cost that is independent of other load."""
    count = 0

    def one(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(one)
    try:
        work()
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.parametrize(
    "work",
    [
        pytest.param(predict_run, id="predictions"),
        pytest.param(flow_results, id="results"),
        pytest.param(plots.overview, id="overview"),
        pytest.param(lambda run: page([run]), id="page"),
    ],
)
def test_the_cost_of_a_report_is_linear_in_the_flows(tmp_path: Path, work: Callable[[bp.Run], Any]) -> None:
    runs = [run_with(flows, tmp_path) for flows in (40, 80, 160)]
    work(runs[0])  # modules that are imported and cached once
    few, more, most = (calls(lambda run=run: work(bp.open_run(run.path))) for run in runs)  # type: ignore[misc]
    # 80 further flows cost twice as much as 40; with quadratic cost, four times.
    assert most - more < 2.5 * (more - few)


def test_many_flows_are_quantiles_and_few_are_lines(tmp_path: Path) -> None:
    few, many = run_with(plots.MAX_LINES, tmp_path), run_with(plots.MAX_LINES + 1, tmp_path)
    for run, entries in ((few, plots.MAX_LINES + 1), (many, 4)):
        (axes,) = plots.window(run).axes
        legend = axes.get_legend()
        assert legend is not None
        assert len(legend.get_texts()) == entries
    assert legend is not None
    labels = [text.get_text() for text in legend.get_texts()]
    assert labels == [f"median of {plots.MAX_LINES + 1}", "10 % to 90 %", "all", "predicted"]
    assert "10th to the 90th percentile" in page([many]) and "percentile" not in page([few])


def test_what_is_predicted_does_not_press_measured_quantiles_to_the_floor(tmp_path: Path) -> None:
    (axes,) = plots.throughput(run_with(40, tmp_path)).axes
    median = axes.lines[0].get_ydata()
    assert np.nanmax(median) > 0.1 * axes.get_ylim()[1]


def test_a_report_of_many_flows_begins_with_statistics_over_them(tmp_path: Path) -> None:
    run = run_with(40, tmp_path)
    text = page([run])
    assert "40 flows" in text and "<summary>Every flow (40)</summary>" in text
    groups, single = by_group(flow_results(run))
    assert single == [] and list(groups) == ["all flows"]
    goodput = summarise("all flows", groups["all flows"]).statistics[0]
    known = sorted(run.flows["goodput"] / 1e3)
    assert (goodput.about, goodput.count) == ("goodput, kbit/s", 40)
    found = (goodput.worst, goodput.p05, goodput.median, goodput.p95, goodput.best, goodput.mean)
    assert found == pytest.approx(
        (known[0], *np.quantile(known, (0.05, 0.5, 0.95)), known[-1], sum(known) / 40)
    )
    rows = {row["flow"]: row["goodput"] / 1e3 for row in run.flows.iter_rows(named=True)}
    assert (rows[goodput.best_flow], rows[goodput.worst_flow]) == pytest.approx((known[-1], known[0]))
    # Each flow has its own row in the collapsed table.
    assert all(f">{name}<" in text for name in run.flows["flow"])


@given(
    arrays(
        float,
        st.tuples(st.integers(1, 30), st.integers(1, 8)),
        elements=st.one_of(st.floats(-1e6, 1e6), st.just(float("nan"))),
    )
)
def test_quantiles_are_those_of_numpy(rows: np.ndarray[Any, np.dtype[np.float64]]) -> None:
    middle, ((tenth, ninetieth), (least, greatest)) = quantiles(rows)
    for column in range(rows.shape[1]):
        known = rows[~np.isnan(rows[:, column]), column]
        expected = np.quantile(known, (0, 0.1, 0.5, 0.9, 1)) if len(known) else np.full(5, np.nan)
        found = [part[column] for part in (least, tenth, middle, ninetieth, greatest)]
        assert found == pytest.approx(expected.tolist(), nan_ok=True, abs=1e-6)


@given(st.lists(st.tuples(st.floats(0, 10), st.floats(-1e3, 1e3)), max_size=50))
def test_a_grid_has_the_means_of_its_bins_and_holds_the_last_value(
    samples: list[tuple[float, float]],
) -> None:
    samples.sort(key=lambda sample: sample[0])
    times, values = (np.array([sample[part] for sample in samples]) for part in (0, 1))
    last = float("nan")
    for index, value in enumerate(on_grid(times, values, 1.0, 10.0)):
        within = [v for t, v in samples if index <= t < index + 1 or (index == 9 and t == 10)]
        last = within[-1] if within else last
        assert value == pytest.approx(np.mean(within) if within else last, nan_ok=True, abs=1e-6)
