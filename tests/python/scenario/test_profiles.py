"""Every value of a profile has a source or says that it is assumed, and the printed quantiles are
those of a simulation."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import bentpipe as bp
import pytest
from bentpipe.audit.promises import DIRECTIONS, read_promises
from bentpipe.cli import app
from bentpipe.errors import InputError
from bentpipe.live.target import target
from bentpipe.measure.profiled import quantiles
from bentpipe.profiles import STATISTICS, UNITS, Profile, profile_named, profiles
from bentpipe.scenario.scenarios import ScenarioText, load
from typer.testing import CliRunner

PROFILES = profiles()

#: Keys that name or join things, and have no value that could have a source.
NAMES = {"name", "from", "to", "kind", "terminals", "gateway", "antennas"}


def value_keys(table: dict[str, Any], above: str) -> Iterator[str]:
    """Yields the key paths of the values below a table of a written scenario."""
    for key, value in table.items():
        if key in NAMES:
            continue
        if isinstance(value, dict):
            yield from value_keys(value, f"{above}{key}.")
        else:
            yield f"{above}{key}"


def problems(profile: Profile) -> list[str]:
    """Returns what is wrong with the sources of a profile."""
    import tomllib

    written, head = tomllib.loads(profile.scenario_text), profile.head
    values, sources = head["values"], head["sources"]
    keys = [key for link in written.get("link", []) for key in value_keys(link, f"link.{link['name']}.")]
    keys += value_keys(written.get("network", {}), "network.")
    found = [
        f"{key}: no source"
        for key in keys
        if not any(key == known or key.startswith(f"{known}.") for known in values)
    ]
    found += [f"{key}: not in the scenario" for key in values if not any(one.startswith(key) for one in keys)]
    used = set()
    for key, origin in (values | head["published"]).items():
        names = {one.strip() for one in origin.get("source", "").split(",")} - {""}
        if not names and not origin.get("assumed"):
            found.append(f"{key}: neither source nor assumed")
        found += [f"{key}: source {name} is missing" for name in sorted(names - set(sources))]
        used |= names
    found += [f"source {name}: not used" for name in sources if name not in used]
    for name, source in sources.items():
        found += [f"source {name}: no {key}" for key in ("title", "authors", "date") if not source.get(key)]
    if not any("source" in origin for origin in values.values()):
        found.append("no value has a source")
    return found


@pytest.mark.parametrize("name", PROFILES)
def test_every_value_has_a_source_or_says_that_it_is_assumed(name: str) -> None:
    assert problems(PROFILES[name]) == []
    head = PROFILES[name].head
    assert head["unknown"] and {"score", "band"} <= set(head)
    assert bool(head["score"]) != ("audit" in head)
    assert "audit" not in head or head["audit"]["finding"].startswith(("kept: ", "not measurable: "))
    assert set(head["published"]) <= set(UNITS) == set(head["quantiles"])


@pytest.mark.parametrize(
    "name", [name for name, one in PROFILES.items() if one.head.get("audit", {}).get("promise")]
)
def test_the_audited_promises_are_those_of_the_profile(name: str) -> None:
    """The median rates and delays lie within the allowed deviation, and the time of a packet."""
    head = PROFILES[name].head
    promises, deviation = read_promises(head["audit"]["promise"]), head["audit"]["deviation"] / 100
    p50 = list(STATISTICS).index("p50")
    for direction in DIRECTIONS:
        typical = 1e6 * head["quantiles"][f"rate_{direction}"][p50]
        assert promises.value("rate", direction) in (None, pytest.approx(typical, rel=deviation))
        delay = promises.value("delay", direction)
        if delay is not None:
            probe = 1000 * 128 * 8 / typical
            found = head["quantiles"][f"delay_{direction}"][p50] - probe
            assert 1000 * delay == pytest.approx(found, rel=deviation)
    assert "broken" not in head["audit"]["finding"]


def test_a_profile_without_a_source_is_found() -> None:
    text = PROFILES["moon-relay"].text
    without = "\n".join(line for line in text.splitlines() if not line.startswith('"link.sat.return.rate"'))
    assert "link.sat.return.rate: no source" in problems(Profile("x", without))
    emptied = text.replace(
        'assumed = "one bandwidth-delay product; no source gives the queue"', 'assumed = ""'
    )
    assert "link.sat.queue: neither source nor assumed" in problems(Profile("x", emptied))


@pytest.mark.parametrize("name", PROFILES)
def test_the_quantiles_are_those_of_a_run_and_near_the_published_ones(name: str) -> None:
    profile = PROFILES[name]
    stored, published = profile.head["quantiles"], profile.head["published"]
    assert quantiles(profile) == {key: pytest.approx(values, rel=1e-3) for key, values in stored.items()}
    for quantity, values in published.items():
        for place, statistic in enumerate(STATISTICS):
            if statistic not in values or "differs" in values:
                continue
            found = stored[quantity][place]
            if statistic == "min":
                assert found >= values["min"], (quantity, statistic)
            else:
                assert found == pytest.approx(values[statistic], rel=0.15), (quantity, statistic)


@pytest.mark.parametrize("name", PROFILES)
def test_a_scenario_from_a_profile_is_valid_and_its_page_arrives(name: str, tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    assert CliRunner().invoke(app, ["new", name, "--out", str(file)]).exit_code == 0
    assert bp.check(file) == []
    run = bp.simulate(file, overrides=["duration=20 s"] if name != "ntn-iot" else [], out=tmp_path / "run")
    assert run.flows["goodput"][0] > 0
    wanted = target(name)
    assert (wanted.near, wanted.far) == ("user", "server")


def test_a_profile_is_found_by_an_unambiguous_beginning() -> None:
    assert profile_named("moon").name == "moon-relay"
    with pytest.raises(
        InputError, match='"consumer" is ambiguous; it matches consumer-geo-ka or consumer-geo-ku'
    ):
        profile_named("consumer")
    with pytest.raises(InputError, match='unknown profile "x"; allowed: aircraft-geo, '):
        profile_named("x")


def test_a_scenario_of_a_profile_keeps_no_table_of_the_profile() -> None:
    for profile in PROFILES.values():
        assert "profile" not in load(ScenarioText(profile.scenario_text, profile.name)).data
