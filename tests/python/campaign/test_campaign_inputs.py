"""The variations of a campaign: samples and products, and errors with their position."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
from bentpipe import InputError, ScenarioError
from bentpipe.campaign import plan
from bentpipe.campaign.variants import drawn, variations
from bentpipe.quantities import base_value
from helpers.campaigns import SCENARIO, call, refused, write_scenario
from hypothesis import given
from hypothesis import strategies as st

PLAIN = SCENARIO[: SCENARIO.index("[campaign]")]


@given(st.integers(1, 40), st.integers(0, 10), st.booleans())
def test_a_latin_hypercube_has_one_value_in_every_part_of_every_range(
    count: int, seed: int, log: bool
) -> None:
    between: dict[str, list[Any]] = {"a": [1.0, 100.0], "b": ["2 ms", "4 ms"]}
    points = drawn({"count": count, "seed": seed, "between": between, "logarithmic": ["a"] if log else []})
    a, b = [one["a"] for one in points], [base_value(one["b"]) for one in points]
    parts_of_a = [math.log10(value) / 2 * count if log else (value - 1) / 99 * count for value in a]
    for parts in (parts_of_a, [(value - 2e-3) / 2e-3 * count for value in b]):
        # Values have six digits, so rounding may move one across the edge of its interval.
        assert all(abs(part - 0.5 - place) < 0.501 for place, part in enumerate(sorted(parts)))


def test_the_parts_of_a_campaign_are_multiplied_in_the_order_in_which_they_are_written(
    tmp_path: Path,
) -> None:
    text = (
        PLAIN
        + """
[campaign]
vary.link.sat.delay = ["50 ms", "100 ms"]
vary."flow.down.transport.congestion" = ["reno", "cubic"]
zip = [{ link.sat.rate = ["1 Mbit/s", "2 Mbit/s"], "link.sat.queue.packets" = [10, 20] }]
list = [{ seed = 1 }, { seed = 2, flow.down.start = "1 s" }]
[campaign.sample]
count = 3
between."link.sat.error.probability" = [0.001, 0.1]
logarithmic = ["link.sat.error.probability"]
"""
    )
    of = plan(write_scenario(tmp_path, text))
    assert of.varied == [
        "link.sat.delay",
        "flow.down.transport.congestion",
        "link.sat.rate",
        "link.sat.queue.packets",
        "seed",
        "link.sat.error.probability",
        "flow.down.start",
    ]
    labels = [one.variation.label for one in of.variants]
    assert len(labels) == 2 * 2 * 2 * 2 * 3
    assert labels[0].startswith("50 ms reno 1 Mbit/s 10 1 ") and labels[-1].startswith(
        "100 ms cubic 2 Mbit/s 20 2 1 s "
    )
    assert {label.rsplit(" ", 1)[0].rsplit(" ", 1)[-1] for label in labels[:3]} == {"1"}
    assert {one.seed for one in of.variants} == {1, 2}


def test_python_says_what_a_file_says(tmp_path: Path) -> None:
    file = write_scenario(tmp_path)
    vary = {
        "flow.down.transport.congestion": ["reno", "cubic"],
        "link.sat.delay": ["50 ms", "100 ms", "200 ms"],
    }
    (tmp_path / "plain.toml").write_text(PLAIN)
    of = plan(tmp_path / "plain.toml", vary=vary, replications=6)
    assert [one.id for one in of.variants] == [one.id for one in plan(file).variants]
    assert variations({}) == variations({"vary": {}, "zip": [], "list": []})


@pytest.mark.parametrize(
    ("campaign", "message"),
    [
        (
            'vary.flow.down.transport.congestoin = ["reno"]',
            r'loss.toml:\d+:\d+: campaign.vary."flow.down.transport.con',
        ),
        ('vary.flow.down.transport.congestoin = ["reno"]', r'unknown key, did you mean "congestion"\?'),
        (
            'vary.flow.dwon.start = ["1 s"]',
            r'loss.toml:\d+:\d+: .*"1 s": flow.dwon: there is no .*did you mean "down"\?',
        ),
        (
            'vary."link.sat.rate" = ["1 Mbit/s", "5 apples"]',
            r'loss.toml:\d+:\d+: .*"5 apples": .*unit "apples"',
        ),
        ('vary.flow.down.start = "1 s"', "expected a list of values, or a table of further keys"),
        ("vary.seed = []", "has no values; allowed: a list with at least one value"),
        (
            'zip = [{ seed = [1, 2], flow.down.start = ["1 s"] }]',
            "has 1 values and seed has 2; allowed: lists of the same",
        ),
        ("vary.seed = [1, 2]\nzip = [{ seed = [3, 4] }]", "is varied twice; allowed: every key once"),
        ("vary.seed = [1, 1]", "two variants are the same scenario, 1; allowed: each value once"),
        ("replication = 3", 'unknown key, did you mean "replications"?'),
        ("replications = 0", "allowed: a whole number from 1 to"),
        ("confidence = 1", "must be greater than 0 and less than 1"),
        ("sample = { count = 2, between.seed = [1] }", "must be the minimum and the maximum"),
        ("sample = { count = 2, between.seed = [5, 1] }", "allowed: the least value first"),
        ('sample = { count = 2, between.link.sat.delay = ["1 ms", "2 s"] }', "both in the same unit"),
        ('sample = { count = 2, between.link.sat.delay = ["fast", "slow"] }', "no values between"),
        (
            'sample = { count = 2, between.seed = [1, 9], logarithmic = ["sead"] }',
            "no key of between; allowed: seed",
        ),
        ('precision = { metric = "goodput", relative_half_width = 0 }', "must be greater than 0"),
        (
            'replications = 9\nprecision = { metric = "goodput", relative_half_width = 0.1, at_most = 5 }',
            "at least replications, 9",
        ),
        ('clock = "real"', "allowed: virtual, kernel"),
    ],
)
def test_what_cannot_be_is_refused_with_its_place_and_what_is_allowed(
    tmp_path: Path, campaign: str, message: str
) -> None:
    file = write_scenario(tmp_path, PLAIN + "\n[campaign]\n" + campaign)
    with pytest.raises((ScenarioError, InputError), match=message):
        plan(file)


def test_commands_refuse_with_exit_code_2(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_scenario(tmp_path, PLAIN)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "letter.txt").touch()
    for words, message in (
        (["run", "loss.toml"], "has no campaign: add [campaign]"),
        (["run", "missing.toml"], "there is no such file"),
        (["run", "loss.toml", "--vary", "seed"], "is not a list of values; allowed: KEY.PATH=VALUE"),
        (["run", "loss.toml", "--replications", 1, "--out", "full"], "is not a campaign's folder"),
        (["run", "loss.toml", "--replications", 1, "--jobs", 1, "--dask", "x"], "give only one of them"),
        (["show", "full"], "is not a campaign's folder"),
        (["table", "nowhere"], "is not the folder of a campaign"),
    ):
        assert message in refused(*words), words
    call("run", "loss.toml", "--replications", 2, "--set", "duration=1 s", "--out", "store", folder=tmp_path)
    other = refused("run", "loss.toml", "--replications", 1, "--set", "name=Other", "--out", "store")
    assert 'is the store of the campaign "Loss", not of "Other"' in other
    for words, message in (
        (["--metric", "goodputt"], 'did you mean "goodput"?'),
        (["--metric", "lnk.queue_drops"], 'unknown table "lnk"'),
        (["--of", "donw"], 'did you mean "down"?'),
        (["--by", "delay"], 'unknown varied key "delay"'),
    ):
        assert message in refused("table", "store", *words), words
