"""Results of a campaign as tables, files and figures."""

from __future__ import annotations

import csv
import json
import math
import re
import shutil
import subprocess
from pathlib import Path

import fastexcel
import numpy as np
import polars as pl
import pytest
from bentpipe import InputError, plots
from bentpipe.campaign import Campaign, plan, run
from bentpipe.results.flows import losses
from bentpipe.statistics import mean_of
from helpers.campaigns import SCENARIO, refused, write_scenario
from rigs import commands
from scipy import stats


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
    # Units as in the table.
    assert [row["congestion"] for row in rows] == [row["flow.down.transport.congestion"] for row in found]
    means = [float(row["goodput (kbit/s)"]) for row in rows]
    assert means == pytest.approx([row["mean"] / 1e3 for row in found])
    call("export", store, "all.csv", "--rows", "link", folder=tmp_path)
    assert len((tmp_path / "all.csv").read_text().splitlines()) == 1 + 12 * 4 * 2
    assert "allowed: .csv, .parquet, .xlsx, .json, .md, .tex" in refused("export", store, "means.txt")
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


def test_latex_has_the_rules_of_booktabs(store: Path, tmp_path: Path) -> None:
    call("export", store, "means.tex", "--metric", "goodput", "--metric", "rtt_mean", folder=tmp_path)
    table = (tmp_path / "means.tex").read_text()
    assert table.count(r" \\") == 13 and table.count(r" \pm ") == 24 and "goodput (kbit/s)" in table
    assert [table.count(rule) for rule in (r"\toprule", r"\midrule", r"\bottomrule", r"\hline")] == [
        1,
        1,
        1,
        0,
    ]
    for value, half in re.findall(r"\$([\d.]+) \\pm ([\d.]+)\$", table):
        # Both have the same last digit, the second of the half width.
        assert len(value.partition(".")[2]) == len(half.partition(".")[2])
        assert len(half.replace(".", "").strip("0")) <= 2
    if not shutil.which("pdflatex"):
        return
    page = r"\documentclass{article}\usepackage{booktabs}\begin{document}\input{means.tex}\end{document}"
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
        text = call("plot", store, "--figure", kind, "--format", "svg", "--out", "figures", folder=tmp_path)
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
    # The table reports that nothing is random.
    shown = " ".join(call("table", tmp_path / "store", folder=tmp_path).split())
    assert "note: all replications are equal" in shown
    (axes,) = figure.axes
    highest = max(float(np.max(np.asarray(line.get_ydata()))) for line in axes.get_lines())
    assert axes.get_ylim()[0] == 0 and axes.get_ylim()[1] >= 1.04 * highest


def test_what_cannot_be_drawn_is_said(tmp_path: Path) -> None:
    text = SCENARIO[: SCENARIO.index("vary.")]
    campaign = run(plan(write_scenario(tmp_path, text), ["duration=1 s"], replications=1), tmp_path / "store")
    assert math.isnan(campaign.means("goodput")["half_width"][0])
    with pytest.raises(InputError, match="no key is varied"):
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
    # Terminals have patterns instead of groups.
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


LABELLED = """
[campaign]
keep_runs = true
replications = 5
vary.link.sat.error.probability = [0.001, 0.01, 0.1]
[[campaign.list]]
label = "Reno, 50 ms"
"flow.down.transport.congestion" = "reno"
"link.sat.delay" = "50 ms"
[[campaign.list]]
label = "split, 60 ms"
"flow.down.transport.congestion" = "cubic"
"link.sat.delay" = "60 ms"
proxy = [{ name = "pep", node = "m", mechanism = { kind = "split" } }]
[[campaign.list]]
"flow.down.transport.congestion" = "cubic"
"link.sat.delay" = "70 ms"
proxy = [{ name = "pep", node = "m", mechanism = { kind = "split" } }]
"""


@pytest.fixture(scope="module")
def labelled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three variants, the last with a label from its values; three flows in a group and a single
    flow."""
    folder = tmp_path_factory.mktemp("labelled")
    link = SCENARIO[: SCENARIO.index("[campaign]")].replace('duration = "4 s"', 'duration = "2 s"')
    more = link[link.index("[[flow]]") :].replace('"down"', '"other"').replace('"reno"', '"vegas"')
    wire = '[[link]]\nname = "wire"\nfrom = "m"\nto = "server"\nrate = "50 Mbit/s"\ndelay = "1 ms"\n'
    text = link.replace('name = "down"', 'name = "down"\ncount = 3').replace(
        'to = "server"\nrate', 'to = "m"\nrate'
    )
    run(plan(write_scenario(folder, text + more + wire + LABELLED)), folder / "store", workers=2)
    return folder / "store"


def test_variants_are_shown_by_their_labels(labelled: Path, tmp_path: Path) -> None:
    campaign = Campaign(labelled)
    assert campaign.varied == ["link.sat.error.probability", "label"]
    shown = call("table", labelled, "--of", "down", folder=tmp_path)
    assert all(shown.count(label) == 3 for label in ("Reno, 50 ms", "split, 60 ms", "cubic 70 ms split"))
    call("export", labelled, "t.tex", "--of", "down", folder=tmp_path)
    figure = plots.campaign_lines(campaign, of="down")
    named = [text.get_text() for text in figure.axes[0].get_legend().get_texts()]  # type: ignore[union-attr]
    assert named == ["Reno, 50 ms", "split, 60 ms", "cubic 70 ms split"]
    for text in (shown, (tmp_path / "t.tex").read_text(), *named):
        assert (
            not {"{", "mechanism"} & {*text.replace(r"{tabular}", "").replace("{@{}lllr@{}}", "")}
            or "tabular" in text
        )
    # The errors span two decades: the axis is logarithmic, with exactly one tick per value.
    (axes,) = figure.axes
    figure.draw_without_rendering()
    ticks = [one.get_text() for one in (*axes.get_xticklabels(), *axes.get_xticklabels(minor=True))]
    assert axes.get_xscale() == "log" and ticks == ["0.001", "0.01", "0.1"]


def test_losses_and_shares_of_groups_are_those_of_the_runs(labelled: Path) -> None:
    campaign = Campaign(labelled)
    shares = campaign.values("share(goodput < 3 Mbit/s)")
    assert {"down", "other flows"} <= set(shares["entity"])
    lost, below = campaign.values("loss"), shares.filter(entity="down")
    for key in campaign.index["run"]:
        one = campaign.run(key)
        assert dict(lost.filter(run=key).select("entity", "value").iter_rows()) == losses(one)
        slow = one.flows.filter(pl.col("group") == "down")["goodput"] < 3e6
        assert below.filter(run=key)["value"].item() == pytest.approx(slow.mean())
    assert campaign.shown_unit("loss")[0] == campaign.shown_unit("share(goodput < 3 Mbit/s)")[0] == "%"
    for wrong, message in (
        ("share(goodput = 3)", "such as"),
        ("share(goodput < 3 parsecs)", "not a number and a unit"),
        ("share(goodputs < 3)", 'did you mean "goodput"'),
    ):
        with pytest.raises(InputError, match=message):
            campaign.values(wrong)


def test_differences_are_paired_by_replication(labelled: Path, tmp_path: Path) -> None:
    campaign = Campaign(labelled)
    values = campaign.values("goodput", "down")
    found = campaign.differences("goodput", "Reno, 50 ms", "down")
    assert found.height == 6 and "Reno, 50 ms" not in set(found["label"])
    for row in found.iter_rows(named=True):
        own, base = (
            values.filter(**{"link.sat.error.probability": row["link.sat.error.probability"], "label": label})
            .sort("replication")["value"]
            .to_numpy()
            for label in (row["label"], "Reno, 50 ms")
        )
        # The interval of the paired t test.
        each = own - base
        half = stats.t.ppf(0.975, 4) * each.std(ddof=1) / math.sqrt(5)
        assert (row["mean"], row["half_width"]) == pytest.approx((each.mean(), half))
        assert row["base"] == pytest.approx(base.mean()) and row["count"] == 5
    shown = call("table", labelled, "--of", "down", "--against", "label=Reno, 50 ms", folder=tmp_path)
    assert "difference from" in " ".join(shown.split()) and "split, 60 ms" in shown
    assert "did you mean" in refused("table", labelled, "--against", "Reno, 50 sm")


def test_figures_have_the_chosen_look_and_fonts_that_publishers_accept(
    labelled: Path, tmp_path: Path
) -> None:
    look = (
        "--width",
        "3.5",
        "--title",
        "A title",
        "--y-label",
        "slow (%)",
        "--x-scale",
        "linear",
        "--of",
        "down",
    )
    call("plot", labelled, "--format", "pdf", "--out", "f", *look, folder=tmp_path)
    pdf = (tmp_path / "f" / "goodput-down-lines.pdf").read_bytes()
    assert b"/Type3" not in pdf and b"/CIDFontType2" in pdf and b"/MediaBox [ 0 0 252 " in pdf
    campaign = Campaign(labelled)
    for width in (3.5, 7.2):
        with plots.look(width=width):
            figure = plots.campaign_lines(campaign, of="down")
            each = plots.campaign_multiples(campaign, each="link.sat.error.probability", x="label", of="down")
        for one in (figure, each):
            one.draw_without_rendering()
            for legend in (
                *one.legends,
                *(own for axes in one.axes if (own := axes.get_legend()) is not None),
            ):
                box = legend.get_window_extent()
                assert box.x0 >= 0 and box.x1 <= one.bbox.x1 and box.y1 <= one.bbox.y1
    with pytest.raises(InputError, match="allowed: 2 to 40 inches"), plots.look(width=0):
        pass
