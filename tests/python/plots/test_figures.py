"""Figures and the report show the expected contents and are self-contained."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from bentpipe import InputError, load, open_run, plots, simulate
from bentpipe.plots import samples
from bentpipe.plots.data import on_grid, superframes, thin
from bentpipe.plots.data import rate as rate_over
from bentpipe.plots.events import events
from bentpipe.report import page
from bentpipe.results.flows import flow_results
from bentpipe.results.groups import summarise
from bentpipe.results.runs import Run
from bentpipe.scenario.constellations import constellation
from helpers import ROOT
from helpers.folders import write_run
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.collections import LineCollection
from matplotlib.colors import to_rgba
from rigs import commands


@given(st.lists(st.floats(-1e9, 1e9), min_size=1, max_size=3000), st.integers(10, 400))
def test_thinning_keeps_extremes_order_and_ends(values: list[float], points: int) -> None:
    times = np.arange(len(values), dtype=float)
    kept_times, kept = thin(times, np.array(values), points)
    assert len(kept) <= max(points, 2) + 2
    assert kept.min() == min(values) and kept.max() == max(values)
    assert kept_times[0] == 0 and kept_times[-1] == times[-1] and (np.diff(kept_times) > 0).all()


@given(
    st.lists(st.tuples(st.floats(0, 100), st.integers(0, 10_000)), min_size=1),
    st.sampled_from([0.5, 1.0, 7.0]),
)
def test_rates_add_up_to_what_was_delivered(deliveries: list[tuple[float, int]], bin_s: float) -> None:
    deliveries.sort()
    times = np.array([time for time, _ in deliveries])
    total = np.cumsum([count for _, count in deliveries])
    _, rates = rate_over(times, total, bin_s, 105.0)
    assert rates.sum() * bin_s / 8 == pytest.approx(total[-1])


def test_constant_slots_count_as_assigned_where_a_terminal_was_silent() -> None:
    row = {"time": 0.0, "terminal": "st1", "superframe": 0, "queue": 0, "request": 2, "constant": 1}
    busy = row | {"assigned": 3, "capacity": 3008, "used": 1504}
    later = busy | {"time": 0.376, "superframe": 4}
    slots = superframes(pl.DataFrame([busy, later]))
    assert slots["assigned"].tolist() == [4, 1, 1, 1, 4]
    assert slots["used"].tolist() == [2, 0, 0, 0, 2]
    assert slots["time"].tolist() == pytest.approx([0, 0.094, 0.188, 0.282, 0.376])


def test_an_overview_has_a_panel_for_all_that_was_recorded(run_folder: Path) -> None:
    titles = [axes.get_title(loc="left") for axes in plots.overview(open_run(run_folder)).axes]
    assert titles == [
        "Throughput",
        "Round-trip time",
        "Congestion window",
        "Queues of links",
        "Queues of terminals",
        "Return link",
    ]
    for axes in plots.overview(open_run(run_folder)).axes:
        assert "(" in axes.get_ylabel() or "slots" in axes.get_ylabel()


def test_predictions_are_dashed_beside_the_simulation(run_folder: Path) -> None:
    run = open_run(run_folder)
    (axes,) = plots.throughput(run).axes
    assert [one.get_linestyle() for one in axes.lines] == ["-", "--"]
    (axes,) = plots.throughput(run, predictions=False).axes
    assert len(axes.lines) == 1


def test_runs_are_laid_over_each_other_by_name(tmp_path: Path) -> None:
    runs = {name: open_run(write_run(tmp_path / name)) for name in ("one", "two")}
    (axes,) = plots.window(runs).axes
    legend = axes.get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == ["one", "two", "predicted"]
    colours = [one.get_color() for one in axes.lines]
    # Both runs, and then the prediction for each.
    assert colours[:2] == colours[2:] and colours[0] != colours[1]
    assert len(plots.side_by_side(runs, "rtt").axes) == 2
    assert len(plots.comparison({name: flow_results(run) for name, run in runs.items()}).axes) == 3


def test_long_legends_leave_the_panels_their_height_and_are_drawn_once(tmp_path: Path) -> None:
    """This holds for any script: a character without a glyph on this machine is drawn as a box,
    without a warning."""
    link = {"name": "été", "from": "a", "to": "b", "rate": "4 Mbit/s", "delay": "20 ms"}
    flow = {"from": "a", "to": "b", "app": "bulk", "transport": "tcp"}

    def run(*names: str) -> Run:
        flows = [{"name": name, **flow} for name in names]
        scenario = {"name": "x", "duration": "500 ms", "link": [link], "flow": flows}
        return simulate(scenario, out=tmp_path / str(len(names)))

    many = run(*(f"气象图的下载，一个很长的名字，号码 {number} of the weather map" for number in range(7)))
    heights = []
    for figure in (plots.overview(run("f")), plots.overview(many)):
        plots.save(figure, tmp_path / "overview.png")
        heights.append([axes.get_window_extent().height / figure.dpi for axes in figure.axes])
    assert heights[1][:2] == pytest.approx(heights[0][:2], abs=0.25)

    one = plots.flow({"simulated, a long name": many, "another of them, as long": many}, many.flow_names[0])
    plots.save(one, tmp_path / "flow.png")
    assert one.axes[0].get_position().height == pytest.approx(one.axes[1].get_position().height, rel=0.02)
    gap = one.axes[0].get_position().y0 - one.axes[1].get_position().y1
    assert gap * one.get_figheight() < 0.45
    # Half a second has no losses: no threshold is drawn.
    shown = [text.get_text() for text in one.legends[0].get_texts()]
    assert shown == ["simulated, a long name", "another of them, as long", "predicted"]


def test_a_figure_is_the_same_svg_every_time_and_takes_the_pages_colour(run_folder: Path) -> None:
    run = open_run(run_folder)
    first, second = (plots.to_svg(plots.rtt(run), "a") for _ in range(2))
    assert first == second and "currentColor" in first and "DejaVu" not in first
    references = set(re.findall(r"(?:href=\"#|url\(#)([^\")]+)", first))
    assert references <= set(re.findall(r'id="([^"]+)"', first))


def test_a_run_without_traces_has_no_overview_but_a_report(tmp_path: Path) -> None:
    run = open_run(write_run(tmp_path / "bare", traces=False))
    with pytest.raises(InputError, match="no trace"):
        plots.overview(run)
    with pytest.raises(InputError, match="has no trace"):
        plots.rtt(run)
    assert "<svg" not in page([run])
    refused = commands.call("plot", run.path, "--figure", "rtt", code=2).output
    assert "figure rtt: nothing to draw" in " ".join(refused.split())


def test_the_report_stands_alone_and_escapes_what_it_shows(tmp_path: Path) -> None:
    runs = [
        open_run(write_run(tmp_path / "a", name="<script>alert(1)</script>")),
        open_run(write_run(tmp_path / "b", congestion="vegas", status="incomplete")),
    ]
    text = page(runs)
    # The only script is the report's own.
    assert "<script" not in page(runs, script=False)
    assert text.count("<script") == 1 and "<script>alert" not in text and "is incomplete" in text
    outside = re.findall(r'(?:src|href)="(?!#)[^"]*"|url\((?!#)[^)]*\)|@import', text)
    assert outside == []
    assert "this is the prediction for Reno" in text


@pytest.mark.parametrize("rate", ["400 kbit/s", "40 Mbit/s"])
def test_goodput_has_one_unit_whatever_its_size(tmp_path: Path, rate: str) -> None:
    link = {"name": "sat", "from": "a", "to": "b", "rate": rate, "delay": "20 ms"}
    flow = {"name": "f", "from": "a", "to": "b", "app": "bulk", "transport": "tcp"}
    run = simulate({"name": "x", "duration": "3 s", "link": [link], "flow": [flow]}, out=tmp_path / "run")
    (axes,) = plots.throughput(run).axes
    assert axes.get_ylabel() == "delivered in order (kbit/s)"
    goodput = run.flows["goodput"][0] / 1e3
    assert np.nanmax(np.asarray(axes.lines[0].get_ydata())) > 0.9 * goodput
    (bars, *_) = plots.comparison({"run": flow_results(run)}).axes
    assert bars.get_title(loc="left") == "Goodput (kbit/s)"
    assert summarise("f", flow_results(run)).statistics[0].about == "goodput, kbit/s"
    assert "kbit/s" in page([run]) and "delivered in order (Mbit/s)" not in page([run])


def test_figure_17_is_the_report_of_a_template(tmp_path: Path) -> None:
    """Segments sent, window and slow-start threshold of one Hybla transfer, as in the SatNEx
    study."""
    template = Path(plots.__file__).parents[1] / "testbed" / "templates" / "hybla.toml"
    run = simulate(template, overrides={"duration": "40 s"}, out=tmp_path / "run")
    panels = {axes.get_title(loc="left"): axes for axes in plots.overview(run).axes}
    sent = np.asarray(panels["Segments sent"].lines[0].get_ydata())
    assert (
        sent[-1] == pytest.approx(run.flows["sent_bytes"][0] / 1460, rel=0.01) and (np.diff(sent) >= 0).all()
    )
    window = {str(line.get_label()): line for line in panels["Congestion window"].lines}
    threshold = np.asarray(window["slow-start threshold"].get_ydata())
    known = run.trace("tcp.ssthresh")["ssthresh"].drop_nulls()
    assert np.nanmin(threshold) == known.min() and np.nanmax(threshold) == known.max()
    assert "<figure>" in page([run])


def test_rates_of_two_runs_lie_over_each_other(tmp_path: Path, run_folder: Path) -> None:
    scenario = tmp_path / "wifi.toml"
    scenario.write_text("""
    name = "wifi"
    duration = "1 s"
    network.wlan = { kind = "wifi", standard = "802.11a", access_point = "ap", stations = ["laptop"] }
    record.traces = ["wifi"]
    [[flow]]
    name = "down"
    from = "ap"
    to = "laptop"
    app = { kind = "cbr", rate = "40 Mbit/s" }
    transport = "udp"
    """)
    runs = {
        rate: simulate(
            scenario,
            overrides=[f'network.wlan.adaptation={{kind="fixed",rate="{rate} Mbit/s"}}'],
            out=tmp_path / rate,
        )
        for rate in ("6", "24")
    }
    (axes,) = plots.rates(runs).axes
    assert [one.get_label() for one in axes.lines] == ["6, wlan.ap", "24, wlan.ap"]
    assert [np.unique(np.array(one.get_ydata())).tolist() for one in axes.lines] == [[6.0], [24.0]]
    with pytest.raises(InputError, match="add wifi to record.traces"):
        plots.rates(open_run(run_folder))


@pytest.fixture(scope="module")
def busy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of two flows with losses, in which queue and window vary."""
    link = {"name": "w", "from": "a", "to": "b", "rate": "4 Mbit/s", "delay": "20 ms"}
    flow = {"from": "a", "to": "b", "app": "bulk", "transport": "tcp"}
    flows = [{"name": name, **flow} for name in ("f", "g")]
    folder = tmp_path_factory.mktemp("busy") / "run"
    simulate({"name": "x", "duration": "20 s", "link": [link], "flow": flows}, out=folder)
    return folder


def test_a_large_trace_is_condensed_to_the_same_rates_means_and_extremes(
    busy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = open_run(busy)
    whole = samples.samples_of(run, "delivery.delivered"), samples.samples_of(run, "rtt")
    monkeypatch.setattr(samples, "MAX_ROWS", 100)
    volumes, round_trips = samples.samples_of(run, "delivery.delivered"), samples.samples_of(run, "rtt")
    assert list(volumes) == list(whole[0]) and list(round_trips) == list(whole[1])
    for exact, condensed in ((whole[0]["f"], volumes["f"]), (whole[1]["g"], round_trips["g"])):
        # Three for each of the twenty cells of a bin.
        assert exact.count == condensed.count > 1000
        assert len(condensed.values) <= 3 * 20 * 200 and (np.diff(condensed.time_s) >= 0).all()
        assert (condensed.values.min(), condensed.values.max()) == (exact.values.min(), exact.values.max())
    rates = [rate_over(one.time_s, one.values, 0.1, 20.0)[1] for one in (whole[0]["f"], volumes["f"])]
    # A delivery at the very end of a bin may be in the next one.
    assert np.abs(np.cumsum(rates[0]) - np.cumsum(rates[1])).max() * 0.1 / 8 <= 1460
    means = [
        on_grid(one.time_s, one.values, 0.1, 20.0, one.weights) for one in (whole[1]["g"], round_trips["g"])
    ]
    np.testing.assert_allclose(means[0], means[1], rtol=1e-9)


def test_many_entities_of_a_large_trace_have_a_cell_for_each_bin(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(samples, "MAX_ROWS", 100)
    link = {"name": "w", "from": "a", "to": "b", "rate": "4 Mbit/s", "delay": "20 ms"}
    flow = {"name": "f", "count": 13, "from": "a", "to": "b", "app": "bulk", "transport": "tcp"}
    run = simulate({"name": "x", "duration": "20 s", "link": [link], "flow": [flow]}, out=tmp_path / "run")
    found = samples.samples_of(run, "cwnd")
    assert len(found) == 13 and max(len(one.values) for one in found.values()) <= 3 * 201
    labels = [str(one.get_label()) for one in plots.window(run).axes[0].lines]
    assert "f, median of 13" in labels


def test_a_killed_run_is_drawn_as_far_as_it_came(busy: Path, tmp_path: Path) -> None:
    """A killed run has neither a table of flows nor a duration."""
    killed = tmp_path / "killed"
    shutil.copytree(busy, killed)
    for name in ("flows.parquet", "summary.json", "report.html"):
        (killed / name).unlink(missing_ok=True)
    provenance = json.loads((killed / "provenance.json").read_text())
    provenance |= {"status": "running", "simulated_seconds": None}
    (killed / "provenance.json").write_text(json.dumps(provenance))
    scenario = (killed / "scenario.toml").read_text()
    (killed / "scenario.toml").write_text(scenario.replace('duration = "20 s"', 'duration = "20000 s"'))
    whole, drawn = plots.overview(open_run(busy)), plots.overview(open_run(killed))
    assert [one.get_title(loc="left") for one in drawn.axes] == [
        one.get_title(loc="left") for one in whole.axes
    ]
    throughput, *_ = drawn.axes
    assert 19 < throughput.get_xlim()[1] < 21
    by_name = {str(one.get_label()): np.asarray(one.get_ydata()) for one in throughput.lines}
    same = {str(one.get_label()): np.asarray(one.get_ydata()) for one in whole.axes[0].lines}
    np.testing.assert_allclose(by_name["f"][:190], same["f"][:190])


@pytest.mark.parametrize(("preset", "flows"), [("starlink-shell1", 1), ("oneweb", 6), ("geo-five", 2)])
def test_a_map_of_satellites_has_its_title_and_legend_within_the_figure(
    preset: str, flows: int, tmp_path: Path
) -> None:
    from matplotlib.image import imread

    flow = {"from": "user", "to": "server", "app": "bulk", "transport": "tcp"}
    scenario = load(
        {
            "name": "x",
            "duration": "1 s",
            "preset": preset,
            "flow": [flow | {"name": f"f{n}"} for n in range(flows)],
        }
    )
    figure = plots.constellation_map(constellation(scenario, [0.0]))
    pixels = imread(plots.save(figure, tmp_path / "map.png"))
    # Truncated curves reach the edge.
    for edge in (pixels[0], pixels[-1], pixels[:, 0], pixels[:, -1]):
        assert (edge == pixels[0, 0]).all()


def test_lines_do_not_cross_times_without_samples_and_events_are_marked(tmp_path: Path) -> None:
    """A handover at 20 s leaves the satellite's queue without arrivals until the next one, at 40
    s."""
    run = simulate(ROOT / "examples/satellite-to-wifi.toml", out=tmp_path / "run")
    figure = plots.overview(run)
    panels = {axes.get_title(loc="left"): axes for axes in figure.axes}
    queue = next(one for one in panels["Queues of links"].lines if one.get_label() == "satellite")
    times, waiting = (np.asarray(data) for data in queue.get_data())
    assert queue.get_drawstyle() == "steps-post"
    between = (times >= 20.1) & (times <= 40)
    assert not np.isfinite(waiting[between]).any() and np.isnan(waiting[times <= 20.1][-1])
    rtt = np.asarray(panels["Round-trip time"].lines[0].get_ydata())
    assert np.isnan(rtt).any()
    for axes in figure.axes:
        (moments,) = (one for one in axes.collections if isinstance(one, LineCollection))
        assert {float(segment[0][0]) for segment in moments.get_segments()} == {20.0, 40.0}
    assert figure.get_supxlabel() == "1: handover to wifi (20 s)    2: handover to satellite (40 s)"
    assert figure.get_suptitle() == "From satellite to wireless LAN and back (run run, seed 1)"
    # Drops of a queue are marked in the colour of its line.
    drops = [one for one in panels["Queues of links"].collections if one.get_label() == "dropped packets"]
    assert len(drops) == 1 and np.allclose(np.asarray(drops[0].get_edgecolor()), to_rgba(queue.get_color()))
    with plots.look(title="Mine"):
        assert plots.rtt(run).get_suptitle() == "Mine"


def test_changes_fades_and_outages_are_events(tmp_path: Path) -> None:
    def watch(seen: dict[str, Any]) -> list[tuple[str, str]]:
        asked.append(seen)
        return [("link.sat.rate", "2 Mbit/s")] if len(asked) == 1 else []

    asked: list[dict[str, Any]] = []
    # A TOML text: its line ends are escapes.
    series = "time,st1,gw\\n0,0,0\\n3,4,0\\n6,40,0\\n8,0,0\\n"
    fade = f'network.sat.forward.acm={{esn0_db=12.0,fade={{samples="{series}"}}}}'
    changed = simulate(ROOT / "examples/rate-change.toml", out=tmp_path / "changed", watch=watch, pace=500)
    labels = {event.label: event.time_s for event in events(changed)}
    assert labels.pop("by hand: sat: rate 2 Mbit/s") > 0
    assert labels == {
        "sat: rate 3 Mbit/s": 60.0,
        "sat: error packet, rate 1 Mbit/s": 120.0,
        "sat: error none, rate 10 Mbit/s": 180.0,
    }
    short = [
        "duration=10 s",
        'record.traces=["acm"]',
        "network.sat.return.acm={burst=1616,esn0_db=12.0}",
        fade,
    ]
    faded = events(simulate(ROOT / "examples/hub.toml", overrides=short, out=tmp_path / "faded"))
    assert [one.label for one in faded] == ["fade of st1.forward", "outage of st1.forward"]
    # The sender learns of the sky less than a second later. The outage ends the fade.
    assert [int(one.time_s) for one in faded] == [3, 6]
    assert [int(one.end_s or 0) for one in faded] == [6, 8]


def test_calls_have_their_quality_and_slots_their_requests_over_time(tmp_path: Path) -> None:
    run = simulate(ROOT / "examples/voice-dvb-rcs.toml", overrides=["duration=200 s"], out=tmp_path / "run")
    panels = {axes.get_title(loc="left"): axes for axes in plots.overview(run).axes}
    windows = run.table("call_window")
    for title, value in (
        ("Call quality", windows["mos"]),
        ("Lost and late packets of calls", 100 * (windows["lost"] + windows["late"]) / windows["expected"]),
        ("Jitter of calls", 1e3 * windows["jitter"]),
    ):
        drawn = [np.asarray(one.get_ydata(), dtype=float) for one in panels[title].lines]
        assert np.nanmax(np.concatenate(drawn)) == pytest.approx(value.max())
        # A step per window, and the end of the last one.
        assert sum(int(np.isfinite(one).sum()) - 1 for one in drawn) == windows.height
    slots = panels["Return link"]
    assert slots.get_ylim()[1] > superframes(run.trace("dama"))["requested"].max()
    # Three flows are too few for a distribution: only that of the datagrams is drawn.
    assert [axes.get_title(loc="left") for axes in plots.cdf(run).axes] == ["Delay of datagrams, one way"]


def test_deep_space_runs_show_contacts_and_bundles(tmp_path: Path) -> None:
    run = simulate(ROOT / "examples/mars-orbiter.toml", out=tmp_path / "run")
    panels = {axes.get_title(loc="left"): axes for axes in plots.overview(run).axes}
    assert len(panels["Contacts of space"].patches) == 8
    ends = {
        str(one.get_label()): float(np.asarray(one.get_ydata())[-1])
        for one in panels["Bundles of space"].lines
    }
    flow = run.flows.row(0, named=True)
    assert ends == {"created": flow["bundles_created"], "delivered": flow["bundles_delivered"]}


def test_a_queue_that_dropped_packets_without_a_trace_is_named(tmp_path: Path) -> None:
    run = simulate(ROOT / "examples/wifi-behind-geo.toml", overrides=["duration=20 s"], out=tmp_path / "run")
    drops = {one["stage"]: one["packets"] for one in run.summary["drops"] if one["reason"] == "queue full"}
    titles = [axes.get_title(loc="left") for axes in plots.overview(run).axes]
    assert drops["wlan"] and titles[-1].endswith(f"without a trace: wlan dropped {drops['wlan']}")
