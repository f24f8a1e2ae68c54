"""Campaigns: completed, kept and repeated runs."""

from __future__ import annotations

import json
import signal
import tempfile
import time
from pathlib import Path
from typing import Any

import bentpipe as bp
import duckdb
import polars as pl
import pytest
from bentpipe.campaign import open_campaign, plan, run, work
from helpers.campaigns import RUNS, SCENARIO, call, done, results, start, write_scenario


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    return write_scenario(tmp_path)


def test_a_campaign_killed_at_any_moment_goes_on_and_comes_out_as_if_it_had_not_been(
    scenario: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = run(plan(scenario), tmp_path / "whole", workers=2)
    store, temporary, left = tmp_path / "killed", tmp_path / "temporary", 0
    temporary.mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))
    # Before the campaign starts, during its first runs, and during its last.
    for at_least in (0, 1, RUNS // 2, RUNS - 2):
        process = start("run", scenario, "--out", store, "--jobs", 2, folder=tmp_path)
        while process.poll() is None and done(store) < at_least:
            time.sleep(0.002)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        left += len(list(store.glob("scratch/*")))
        before = {file.name: file.stat().st_mtime_ns for file in store.glob("done/*.json")}
    said = json.loads(call("run", scenario, "--out", store, "--json", folder=tmp_path))
    after = {file.name: file.stat().st_mtime_ns for file in store.glob("done/*.json")}
    assert said["complete"] == RUNS == len(after) and said["new"] == RUNS - len(before)
    assert {name: after[name] for name in before} == before, "what was done is not done again"
    assert not list(store.rglob("*.part"))
    assert left > 0 and not list(temporary.iterdir()), "runs in progress are below the campaign's folder"
    assert not (store / "scratch").exists(), "and removed with those of the killed processes"
    assert results(open_campaign(store)).equals(results(whole))


def test_only_what_has_changed_is_run_again(scenario: Path, tmp_path: Path) -> None:
    def new(text: str, **more: Any) -> tuple[int, int]:
        scenario.write_text(text)
        before = done(tmp_path / "store")
        campaign = run(plan(scenario, **more), tmp_path / "store", workers=2)
        return campaign.index.height, done(tmp_path / "store") - before

    assert new(SCENARIO, replications=2) == (12, 12)
    assert new(SCENARIO.replace('"200 ms"', '"250 ms"'), replications=2) == (12, 4)
    assert new(SCENARIO, replications=3) == (18, 6)
    # Changes on which no run depends.
    assert new("# A remark.\n" + SCENARIO, replications=3, confidence=0.9) == (18, 0)
    assert new(SCENARIO.replace("4 s", "5 s"), replications=1) == (6, 6)


def test_the_store_is_queried_by_duckdb_and_polars_directly(scenario: Path, tmp_path: Path) -> None:
    campaign = run(plan(scenario, replications=2), tmp_path / "store", workers=2)
    store = tmp_path / "store"
    query = f"""
        select "flow.down.transport.congestion", "link.sat.delay", avg(goodput), count(*)
        from '{store}/flows/**/*.parquet' join '{store}/index.parquet' using (run, variant) where status = 'complete'
        group by all
    """
    rows = {
        (cc, delay): (mean, count) for cc, delay, mean, count in duckdb.connect().execute(query).fetchall()
    }
    means = campaign.means("goodput").select(*campaign.varied, "mean", "count").rows()
    assert {(cc, delay): (pytest.approx(mean), count) for cc, delay, mean, count in means} == rows
    by_variant = pl.scan_parquet(store / "flows").group_by("variant").agg(pl.len())
    assert dict(by_variant.collect().iter_rows()) == dict.fromkeys(campaign.index["variant"].unique(), 2)
    assert campaign.table("link").filter(pl.col("link.sat.delay") == "50 ms").height == 2 * 2 * 2


def test_what_fails_is_kept_with_its_error_and_stops_nothing(
    scenario: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    simulated = work._run

    def failing(task: work.Task, *more: Any) -> bp.Run:
        if task.replication == 1 and 'congestion = "cubic"' in task.scenario.toml:
            raise OSError("no space left")
        return simulated(task, *more)

    with monkeypatch.context() as patched:
        patched.setattr(work, "_run", failing)
        campaign = run(plan(scenario, replications=2), tmp_path / "store", workers=2)
    failed = campaign.index.filter(status="failed")
    assert failed["flow.down.transport.congestion"].to_list() == ["cubic"] * 3
    assert set(failed["error"]) == {"no space left"}
    assert campaign.index.filter(status="complete").height == 9 == campaign.flows.height
    for words in (["run", scenario, "--replications", 2, "--out", "store"], ["show", "store"]):
        text = call(*words, folder=tmp_path, code=int(words[0] == "run"))
        assert "cubic, delay 50 ms, replication 1 and 2 more: no space left" in " ".join(text.split())
        assert "9" in text and "3 failed" in text
    said = json.loads(
        call(
            "run",
            scenario,
            "--replications",
            2,
            "--out",
            "store",
            "--retry-failed",
            "--json",
            folder=tmp_path,
        )
    )
    assert (said["new"], said["failed"], said["complete"]) == (3, 0, 12)


def test_variants_share_their_random_numbers_unless_told_otherwise(scenario: Path, tmp_path: Path) -> None:
    """With a loss that does not depend on the variant, the packets with the same numbers are
    lost."""
    text = SCENARIO.replace('vary.link.sat.delay = ["50 ms", "100 ms", "200 ms"]', "")
    udp = text.replace('app = "bulk"', 'app = { kind = "cbr", rate = "1 Mbit/s" }').replace(
        'transport = { kind = "tcp", congestion = "reno" }', 'transport = "udp"'
    )
    scenario.write_text(
        udp.replace("vary.flow.down.transport.congestion", "vary.flow.down.start").replace(
            '"reno", "cubic"', '"0 s", "20 us"'
        )
    )

    def lost(**more: Any) -> list[list[int]]:
        campaign = run(plan(scenario, **more), tmp_path / f"store{len(more)}", workers=2)
        frame = campaign.table("link").filter(pl.col("error_drops") > 0)
        return [part["error_drops"].to_list() for part in frame.partition_by("variant", maintain_order=True)]

    together = lost()
    assert together[0] == together[1] and len(set(together[0])) > 1, (
        "alike across variants, not across replications"
    )
    apart = lost(common_random_numbers=False)
    assert apart[0] != apart[1]


def test_replications_go_on_until_the_mean_is_known(scenario: Path, tmp_path: Path) -> None:
    wanted = 0.3
    precision = {"metric": "goodput", "relative_half_width": wanted, "at_most": 40}
    for workers in (1, 4):
        campaign = run(
            plan(scenario, replications=3, precision=precision), tmp_path / f"{workers}", workers=workers
        )
        means = campaign.means("goodput")
        counts = means["count"].to_list()
        assert len(set(counts)) > 1, "each variant has its own number"
        widths = means.select(pl.col("half_width") / pl.col("mean")).to_series().to_list()
        assert all(width <= wanted or count == 40 for width, count in zip(widths, counts, strict=True))
    assert results(campaign).equals(results(open_campaign(tmp_path / "1"))), (
        "the same on any number of workers"
    )
    # The smallest sufficient number.
    first = (
        campaign.values("goodput")
        .partition_by("variant", maintain_order=True)[0]
        .sort("replication")["value"]
        .to_list()
    )
    for number in range(3, len(first)):
        assert bp.statistics.mean_of(first[:number]).relative > wanted


def test_a_precision_that_was_not_reached_is_said(scenario: Path, tmp_path: Path) -> None:
    words = ["run", scenario, "--set", "duration=1 s", "--out", "store", "--replications", 2]
    for most, percent, said in ((3, 0.0001, True), (4, 100.0, False)):
        precision = f'{{ metric = "rtt_mean", relative_half_width = {percent / 100}, at_most = {most} }}'
        for text in (
            call(*words, "--set", f"campaign.precision={precision}", folder=tmp_path),
            call("show", "store", folder=tmp_path),
        ):
            flat = " ".join(text.split())
            assert ("of 6 variants did not reach the precision of 0.0001 % within 3 runs" in flat) is said
            assert ("the worst is rtt mean of congestion" in flat) is said


def test_folders_of_runs_are_kept_when_that_is_wanted(
    scenario: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    of = plan(scenario, replications=1, keep_runs=True)
    # No temporary files are left next to the results.
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "missing"))
    campaign = run(of, tmp_path / "store", workers=2)
    key = campaign.index["run"][0]
    assert campaign.run(key).trace("cwnd").height > 1
    # A removed folder is created again.
    folder = campaign.run(key).path
    folder.rename(tmp_path / "away")
    assert run(of, tmp_path / "store").run(key).complete and folder.is_dir()
