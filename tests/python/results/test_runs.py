"""Readers of run folders in Python."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from bentpipe import InputError, open_run, simulate
from bentpipe.results.flows import flow_results
from helpers import ROOT
from helpers.folders import write_run


def test_a_run_is_read_as_tables(run_folder: Path) -> None:
    run = open_run(run_folder)
    assert run.complete and run.name == "Upload by hand" and run.tables == ["terminal"]
    assert run.flows["flow"].to_list() == ["upload"]
    assert run.table("terminal")["efficiency"].to_list() == [0.47]


def test_a_trace_is_found_by_its_quantity_and_has_time_in_seconds(run_folder: Path) -> None:
    trace = open_run(run_folder).trace("cwnd")
    assert trace.schema == {"time": pl.Float64, "flow": pl.String, "cwnd": pl.Int64}
    assert trace["time"][0] == pytest.approx(0.55)
    assert open_run(run_folder).trace("tcp").columns == ["time", "flow", "cwnd", "rtt", "srtt"]
    assert open_run(run_folder).trace("cwnd", "nobody").height == 0


def test_a_trace_is_pandas_when_that_is_wanted(run_folder: Path) -> None:
    assert list(open_run(run_folder).trace("cwnd").to_pandas().columns) == ["time", "flow", "cwnd"]


def test_what_is_not_there_is_named_with_what_is(run_folder: Path) -> None:
    run = open_run(run_folder)
    with pytest.raises(InputError, match='unknown trace or quantity "cwn".*did you mean "cwnd"'):
        run.trace("cwn")
    with pytest.raises(InputError, match='unknown table "link"'):
        run.table("link")
    with pytest.raises(InputError, match="not the folder of a run"):
        open_run(run_folder.parent)


def test_a_quantity_of_several_traces_is_asked_for_with_its_trace(run_folder: Path) -> None:
    dama = pl.read_parquet(run_folder / "traces" / "dama.parquet")
    dama.rename({"terminal": "network"}).write_parquet(run_folder / "traces" / "ncc.parquet")
    run = open_run(run_folder)
    with pytest.raises(InputError, match='"dama.queue" or "ncc.queue"'):
        run.trace("queue")
    assert run.trace("ncc.queue").columns == ["time", "network", "queue"]


def test_a_folder_may_have_any_name(run_folder: Path) -> None:
    run = open_run(run_folder.rename(run_folder.with_name("run [1] *?")))
    assert run.flows["flow"].to_list() == ["upload"]
    assert run.trace("cwnd").height > 0


def test_a_killed_run_shows_what_it_had(run_folder: Path) -> None:
    (run_folder / "summary.json").unlink()
    (run_folder / "flows.parquet").unlink()
    (run_folder / "traces" / "tcp.parquet").write_bytes(b"PAR1 and no more")
    run = open_run(run_folder)
    assert run.summary == {} and "tcp" not in run.traces and "delivery" in run.traces
    with pytest.raises(InputError, match=r"flows\.parquet cannot be read"):
        _ = run.flows


def test_the_results_of_a_flow_have_its_terminals_efficiency_and_its_prediction(run_folder: Path) -> None:
    (flow,) = flow_results(open_run(run_folder))
    assert flow.efficiency == pytest.approx(0.47) and flow.timeouts == 0 and flow.completed is None
    assert flow.predicted_rtt == pytest.approx(0.5 + 0.094 * 6)


def test_an_incomplete_run_says_so(tmp_path: Path) -> None:
    run = open_run(write_run(tmp_path / "stopped", status="incomplete"))
    assert not run.complete and "incomplete" in repr(run)


def test_a_notebook_finds_what_it_needs_at_once(tmp_path: Path) -> None:
    """dir() lists only the interface, overrides are a dictionary of typed values, a run displays
    itself as HTML, and a report is one call."""
    import bentpipe as bp

    assert set(dir(bp)) == {*bp.__all__, "__doc__", "__version__"}
    assert all(getattr(bp, name) is not None for name in dir(bp))
    changes = {
        "duration": "3 s",
        "seed": 5,
        "link.sat.error": {"kind": "packet", "probability": 0.001},
        "flow.download.transport.delayed_ack": False,
    }
    loaded = bp.load("examples/geo-bulk.toml", changes)
    assert loaded.data["seed"] == 5 and loaded.flows[0]["transport"]["delayed_ack"] is False
    run = bp.simulate("examples/geo-bulk.toml", overrides=changes, out=tmp_path / "run")
    assert run.scenario["link"][0]["error"]["probability"] == 0.001
    shown = run._repr_html_()
    assert "<table" in shown and "download" in shown and "kbit/s" in shown
    assert bp.report.write_report([run], tmp_path / "report.html").stat().st_size > 10_000


def test_a_quantity_of_flows_over_several_transports_has_all_of_them(tmp_path: Path) -> None:
    """TCP and QUIC have traces of their own, each with a congestion window."""
    example = ROOT / "examples" / "quic-geo.toml"
    run = simulate(example, overrides=["duration=5 s"], out=tmp_path / "run")
    windows = run.trace("cwnd")
    assert {"quic", "tcp"} <= set(windows["flow"])
    assert windows.height == run.trace("tcp").height + run.trace("quic").height
    assert run.trace("cwnd", "quic").equals(run.trace("quic.cwnd", "quic"))
    assert run.scan("cwnd").collect().height == windows.height
