"""Results of a campaign as tables, files and figures."""

from __future__ import annotations

import csv
import json
import math
import shutil
import subprocess
from pathlib import Path

import commands
import fastexcel
import numpy as np
import polars as pl
import pytest
from bentpipe import InputError, plots
from bentpipe.campaign import Campaign, plan, run
from bentpipe.statistics import mean_of
from campaigns import SCENARIO, refused, write_scenario


def call(*arguments: object, folder: Path) -> str:
    return commands.call("campaign", *arguments, folder=folder).stdout


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tables")
    text = SCENARIO.replace("replications = 6", "replications = 4\nvary.seed = [1, 2]")
    run(plan(write_scenario(folder, text), ["duration=2 s"]), folder / "store", workers=2)
    return folder / "store"


def test_means_are_students_over_replications(store: Path) -> None:
    campaign = Campaign(store)
    means = campaign.means("goodput")
    values = campaign.values("goodput")
    assert means.height == 12 and set(means["count"]) == {4}
    for row in means.iter_rows(named=True):
        own = values.filter(**{key: row[key] for key in campaign.varied})["value"].to_list()
        assert (row["mean"], row["half_width"]) == pytest.approx(mean_of(own))
    # Averaged over the other keys, a replication is one value.
    by = campaign.means("goodput", by=[campaign.key("congestion")])
    reno = values.filter(**{campaign.key("congestion"): "reno"})
    own = [part["value"].mean() for part in reno.sort("replication").partition_by("replication")]
    assert by.row(0) == pytest.approx(("reno", "down", 4, *mean_of(own)))


def test_tables_and_files_say_the_same(store: Path, tmp_path: Path) -> None:
    shown = call("table", store, "--metric", "goodput", "--metric", "rtt_mean", folder=tmp_path)
    assert max(map(len, shown.split("\n"))) <= 80 and "kbit/s" in shown and "note" not in shown
    assert shown.count("cubic") == 6
    found = json.loads(call("table", store, "--json", "--by", "congestion", folder=tmp_path))["goodput"]
    call("export", store, "means.csv", "--by", "congestion", folder=tmp_path)
    with (tmp_path / "means.csv").open() as file:
        rows = list(csv.DictReader(file))
    # The units are those of the table.
    assert [row["congestion"] for row in rows] == [row["flow.down.transport.congestion"] for row in found]
    means = [float(row["goodput (kbit/s)"]) for row in rows]
    assert means == pytest.approx([row["mean"] / 1e3 for row in found])
    call("export", store, "all.csv", "--rows", "link", folder=tmp_path)
    assert len((tmp_path / "all.csv").read_text().splitlines()) == 1 + 12 * 4 * 2
    assert "allowed: .csv, .parquet, .xlsx, .tex" in refused("export", store, "means.txt")
    frames = [pl.read_csv(tmp_path / "means.csv")]
    for name, read in (("means.parquet", pl.read_parquet), ("means.xlsx", spreadsheet)):
        call("export", store, name, "--by", "congestion", folder=tmp_path)
        frames.append(read(tmp_path / name))
    for frame in frames[1:]:
        assert frame.columns == frames[0].columns
        for column, other in zip(frame, frames[0], strict=True):
            assert column.to_list() == (
                pytest.approx(other.to_list()) if other.dtype.is_numeric() else other.to_list()
            )


def spreadsheet(path: Path) -> pl.DataFrame:
    return fastexcel.read_excel(path).load_sheet(0).to_polars()


def test_latex_is_standard_latex(store: Path, tmp_path: Path) -> None:
    call("export", store, "means.tex", "--metric", "goodput", "--metric", "rtt_mean", folder=tmp_path)
    table = (tmp_path / "means.tex").read_text()
    assert table.count(r" \\") == 13 and table.count(r" \pm ") == 24 and "goodput (kbit/s)" in table
    if not shutil.which("pdflatex"):
        return
    page = r"\documentclass{article}\begin{document}\input{means.tex}\end{document}"
    (tmp_path / "page.tex").write_text(page)
    subprocess.run(["pdflatex", "-halt-on-error", "page.tex"], cwd=tmp_path, check=True, capture_output=True)


def test_every_kind_of_figure_is_drawn_from_the_means(store: Path, tmp_path: Path) -> None:
    campaign = Campaign(store)
    by = campaign.means("goodput", by=[campaign.key("congestion"), campaign.key("delay")])
    figure = plots.campaign_multiples(campaign, x="delay", each="seed")
    one, two, *none = figure.axes
    assert not none and [axes.get_title(loc="left") for axes in (one, two)] == ["seed 1", "seed 2"]
    assert [line.get_label() for line in one.get_lines()] == ["reno", "cubic"] and len(one.collections) == 2
    assert np.asarray(one.get_lines()[0].get_xdata()).tolist() == [50, 100, 200]
    heat_map = plots.campaign_map(campaign, x="delay", y="congestion").axes[0]
    assert not any("e+" in text.get_text() for text in heat_map.texts)
    shown = heat_map.get_images()[0].get_array()
    assert shown is not None and float(shown[0, 1]) == pytest.approx(by.row(1, named=True)["mean"] / 1e3)
    curves = plots.campaign_cdf(campaign, by=["congestion"]).axes[0].get_lines()
    assert [np.size(curve.get_xdata()) for curve in curves] == [1 + 24, 1 + 24]
    for kind in ("lines", "multiples", "heat-map", "cdf"):
        name = f"goodput-{kind}.svg"
        text = call("plot", store, "--kind", kind, "--format", "svg", "--out", "figures", folder=tmp_path)
        assert name in text and (tmp_path / "figures" / name).stat().st_size > 1000
    for words, message in (
        (["--x", "dealy"], "did you mean"),
        (["--x", "delay", "--each", "delay"], "choose another key for the panels"),
        (["--format", "gif"], "allowed: pdf, png, svg"),
        (["--metric", "goodputs"], 'did you mean "goodput"'),
    ):
        assert message in refused("plot", store, *words)


def test_means_that_hardly_differ_have_room_above_them(tmp_path: Path) -> None:
    campaign = run(
        plan(write_scenario(tmp_path), ["duration=1 s", 'link.sat.error="none"'], replications=2),
        tmp_path / "store",
    )
    figure = plots.campaign_lines(campaign)
    figure.draw_without_rendering()
    # Nothing is random then, which the table says.
    shown = " ".join(call("table", tmp_path / "store", folder=tmp_path).split())
    assert "note: the replications do not differ" in shown
    (axes,) = figure.axes
    highest = max(float(np.max(np.asarray(line.get_ydata()))) for line in axes.get_lines())
    assert axes.get_ylim()[0] == 0 and axes.get_ylim()[1] >= 1.04 * highest


def test_what_cannot_be_drawn_is_said(tmp_path: Path) -> None:
    text = SCENARIO[: SCENARIO.index("vary.")]
    campaign = run(plan(write_scenario(tmp_path, text), ["duration=1 s"], replications=1), tmp_path / "store")
    assert math.isnan(campaign.means("goodput")["half_width"][0])
    with pytest.raises(InputError, match="nothing is varied"):
        plots.campaign_lines(campaign)
    with pytest.raises(InputError, match="needs two varied keys"):
        plots.campaign_map(campaign)


def test_a_group_of_flows_is_one_row_the_mean_of_its_flows(tmp_path: Path) -> None:
    flows = """[[flow]]
name = "up"
from = "st*"
to = "gw"
app = { kind = "cbr", rate = "8 kbit/s", datagram = "100 B" }
transport = "udp"
"""
    text = f"""name = "hub"
duration = "3 s"
preset = "dvb-rcs"
network.sat.terminals = [{{ name = "st", count = 3 }}]
{flows}
{flows.replace('"up"', '"down"').replace('from = "st*"', 'from = "gw"').replace('to = "gw"', 'to = "st*"')}
[campaign]
replications = 2
vary.flow.up.app.rate = ["8 kbit/s", "16 kbit/s"]
"""
    campaign = run(plan(write_scenario(tmp_path, text)), tmp_path / "store", workers=2)
    values = campaign.values("goodput").filter(pl.col("entity").is_in(["up1", "up2", "up3"]))
    mean = values.group_by("run", maintain_order=True).agg(pl.col("value").mean())["value"]
    for name in ("up", "up*"):
        found = campaign.values("goodput", name)
        assert found["value"].to_list() == pytest.approx(mean.to_list()) and set(found["entity"]) == {name}
        shown = call("table", "store", "--of", name, folder=tmp_path)
        assert shown.count("kbit/s") == 3 and "up1" not in shown
    # Terminals have no groups, but patterns.
    assert set(campaign.values("terminal.packets", "st*")["entity"]) == {"st*"}
    for name in ("up", "u*"):
        call("plot", "store", "--of", name, folder=tmp_path)
    drawn = {file.name for file in (tmp_path / "store" / "figures").iterdir()}
    assert {"goodput-up-lines.png", "goodput-u_-lines.png"} <= drawn
    said = refused("table", tmp_path / "store", "--of", "uo")
    assert 'unknown flow "uo"' in said and "allowed: " in said and "up" in said and "down" in said
    precise = [
        'campaign.precision={ metric = "goodput", of = "up", relative_half_width = 0.5, at_most = 4 }',
    ]
    again = run(plan(tmp_path / "loss.toml", precise), tmp_path / "precise", workers=2)
    assert again.index.height == 4
