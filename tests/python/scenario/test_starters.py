"""Every preset works as a new scenario, as a network for one program, and as a network that stays
up."""

from __future__ import annotations

import tomllib
from pathlib import Path

import bentpipe as bp
import pytest
from bentpipe import _native
from bentpipe.live.target import target
from bentpipe.predict.prediction import predict_scenario
from bentpipe.results.flows import FAILURES, connection_failures
from bentpipe.scenario.facts import facts
from bentpipe.scenario.starters import ends, scenario_from
from bentpipe.scenario.summary import cautions
from rigs.networks import Bentpipe, needs, networks

PRESETS = {name: (about, text) for name, about, text in _native.presets()}
CONSTELLATIONS = [name for name, (_, text) in PRESETS.items() if '"constellation"' in text]


@pytest.mark.parametrize("preset", PRESETS)
def test_a_scenario_from_a_preset_runs(preset: str, tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(scenario_from(preset, *PRESETS[preset]), encoding="utf-8")
    assert bp.check(file) == []
    run = bp.simulate(file, overrides=["duration=20 ms"], out=tmp_path / "run")
    assert run.complete and run.flows.height >= 1


@pytest.mark.parametrize("preset", PRESETS)
def test_the_flow_of_a_new_scenario_uses_the_preset(preset: str) -> None:
    """The flow crosses every network, and TCP's time-out for a handshake is sufficient for the
    distance."""
    written = bp.load(tomllib.loads(scenario_from(preset, *PRESETS[preset])))
    said = cautions(written, facts(written))
    assert not [one for one in said if "no flow uses" in one or "no connection" in one]


def test_tcp_reaches_mars_in_a_new_scenario_and_is_said_not_to_without_its_key(tmp_path: Path) -> None:
    written = bp.load(tomllib.loads(scenario_from("mars", *PRESETS["mars"])))
    assert bp.simulate(written, overrides=["duration=6000 s"], out=tmp_path / "1").flows["goodput"][0] > 0
    hasty = bp.load(written, ["flow.transfer.transport.rto_initial=1 s"])
    failed = bp.simulate(hasty, overrides=["duration=6000 s"], out=tmp_path / "2")
    assert connection_failures(failed) == {"transfer": FAILURES[2]}
    said = "no connection: the sender gives up its SYN after 131 s, but a round trip takes 1518 s"
    assert any(one.startswith(f"transfer: {said}") for one in cautions(hasty, facts(hasty)))
    predicted = predict_scenario(hasty)["transfer"]
    assert predicted.prediction is None and predicted.note.startswith(said)


@pytest.mark.parametrize("preset", PRESETS)
def test_the_ends_of_a_preset_are_the_same_before_and_after_it_is_resolved(preset: str) -> None:
    written = bp.load({"name": "a", "duration": "1 s", "preset": preset})
    wanted = target(preset)
    assert (wanted.near, wanted.far) == ends(written.data)
    assert {wanted.near, wanted.far} <= set(wanted.hosts) and wanted.near != wanted.far


@pytest.mark.parametrize("preset", CONSTELLATIONS)
def test_a_constellation_leads_from_the_user_to_the_gateway(preset: str) -> None:
    wanted = target(preset)
    assert (wanted.near, wanted.far) == ("user", "server")


def test_of_sites_those_with_the_fewest_and_the_most_antennas_are_the_ends() -> None:
    sky = {"kind": "constellation", "gsl": {"antennas": 2}}
    sites: dict[str, dict[str, object]] = {"a": {"antennas": 16}, "b": {"antennas": 1}, "c": {}}
    assert ends({"network": {"sky": {**sky, "sites": sites}}}) == ("b", "a")


@networks
@needs("ping")
def test_programs_run_behind_constellations(bentpipe: Bentpipe) -> None:
    assert "1 received" in bentpipe("run", "geo-five", "--", "ping", "-c", "1", "-W", "5", "server")
    bentpipe("net", "up", "iridium-next")
    assert "1 received" in bentpipe("net", "exec", "user", "--", "ping", "-c", "1", "-W", "5", "server")
    assert "sky.user.up" in bentpipe("net", "watch", "--once")
    bentpipe("net", "down")
