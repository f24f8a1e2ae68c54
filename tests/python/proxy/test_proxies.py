"""Simulated proxies from a user's view: predictions of split flows, results per leg, and refused
emulations."""

from __future__ import annotations

from pathlib import Path

import bentpipe
import polars as pl
import pytest
from bentpipe.predict.prediction import predict_scenario
from bentpipe.results.flows import flow_results
from helpers import ROOT
from rigs import commands

EXAMPLE = ROOT / "examples" / "geo-split.toml"


def test_a_split_flow_is_predicted_to_bring_what_its_slower_leg_brings_alone() -> None:
    covered = ["proxy.pep.mechanism.sides.satellite.congestion=cubic"]
    split = predict_scenario(EXAMPLE, covered)["download"]
    assert split.prediction is not None
    assert "leg 2" in split.note
    # The satellite's leg: its delay and loss, and the buffer for a window.
    assert split.arguments["rtt0_s"] == 0.5
    assert split.arguments["loss_probability"] == pytest.approx(0.01)
    assert split.arguments["window_bytes"] == pytest.approx(2e6, rel=1e-3)


def test_a_leg_whose_answer_to_losses_is_in_no_equation_is_not_predicted(tmp_path: Path) -> None:
    """Reno's equation would give a fifteenth of Hybla's goodput."""
    split = predict_scenario(EXAMPLE)["download"]
    assert split.prediction is None
    assert "leg 2 is not predicted" in split.note and "hybla" in split.note
    # A flow that losses do not limit is predicted for any congestion control.
    lossless = predict_scenario(EXAMPLE, ["link.satellite.error.probability=0"])["download"]
    assert lossless.prediction is not None and lossless.prediction.limited_by != "loss"
    run = bentpipe.simulate(EXAMPLE, overrides=["duration=10 s"], out=tmp_path / "run")
    assert flow_results(run)[0].predicted_goodput is None


def test_each_leg_has_a_row_of_its_own(tmp_path: Path) -> None:
    run = bentpipe.simulate(EXAMPLE, overrides=["duration=10 s"], out=tmp_path / "run")
    rows = {row["flow"]: row for row in run.flows.iter_rows(named=True)}
    assert set(rows) == {"download", "download@server", "download@pep"}
    assert (rows["download@pep"]["from"], rows["download@pep"]["to"]) == ("gateway", "user")
    assert rows["download@pep"]["delivered_bytes"] <= rows["download@pep"]["sent_bytes"]
    assert rows["download@server"]["rtt_min"] < 0.03 < 0.5 < rows["download@pep"]["rtt_min"]
    assert rows["download"]["rtt_min"] is None
    # A leg is compared with the prediction for this leg.
    of_leg = {flow.flow: flow for flow in flow_results(run)}
    assert of_leg["download@server"].predicted_rtt == pytest.approx(0.02, rel=0.1)
    assert of_leg["download"].predicted_rtt is None
    assert set(run.trace("cwnd")["flow"]) == {"download", "download@pep"}


def test_a_proxy_that_serves_no_flow_or_is_switched_off_changes_nothing(tmp_path: Path) -> None:
    def goodput(name: str, *changes: str) -> dict[str, float]:
        run = bentpipe.simulate(EXAMPLE, overrides=["duration=10 s", *changes], out=tmp_path / name)
        return dict(run.flows.select("flow", "goodput").iter_rows())

    without = goodput("without", "proxy=[]")
    assert set(without) == {"download"}
    assert goodput("off", "proxy.pep.enabled=false") == without
    assert goodput("none", "proxy.pep.flows=[]") == without
    assert goodput("on", "proxy.pep.enabled=true", 'proxy.pep.flows=["download"]') == goodput("unset")


def test_a_side_without_a_congestion_control_uses_that_of_the_flow(tmp_path: Path) -> None:
    def goodput(name: str, flow: str, *changes: str) -> float:
        given = [
            "duration=10 s",
            "proxy.pep.mechanism.sides=unset",
            f"flow.download.transport.congestion={flow}",
        ]
        run = bentpipe.simulate(EXAMPLE, overrides=[*given, *changes], out=tmp_path / name)
        return float(run.flows.row(by_predicate=pl.col("flow") == "download@pep", named=True)["goodput"])

    side = "proxy.pep.mechanism.sides.satellite.congestion"
    assert goodput("inherited", "hybla") == goodput("given", "hybla", f"{side}=hybla")
    assert goodput("reno", "hybla", f"{side}=reno") < goodput("hybla", "reno", f"{side}=hybla")
    wrong = "proxy.pep.mechanism.transport.parameters={ alpha = 1 }"
    with pytest.raises(bentpipe.ScenarioError, match="belong to a congestion control"):
        bentpipe.load(EXAMPLE, [wrong])
    # The resolved scenario states this, too, and loads to the same.
    loaded = bentpipe.load(EXAMPLE)
    assert "congestion" not in loaded.data["proxy"][0]["mechanism"]["transport"]
    assert bentpipe.load(loaded).data == loaded.data


def test_check_describes_proxies() -> None:
    said = commands.call("check", EXAMPLE).stdout
    assert "pep: split at gateway, serves download" in said
    assert "over satellite: hybla\n" in said and "over terrestrial: cubic (of the flow)" in said
    assert "switched off" in commands.call("check", EXAMPLE, "--set", "proxy.pep.enabled=false").stdout
    assert "serves no flow" in commands.call("check", EXAMPLE, "--set", "proxy.pep.flows=[]").stdout


@pytest.mark.parametrize("command", ["emulate", "net up"])
def test_an_emulation_refuses_a_simulated_proxy_and_says_what_to_do(command: str, tmp_path: Path) -> None:
    done = commands.run(*command.split(), EXAMPLE.with_name("dtn-proxy.toml"), folder=tmp_path)
    assert done.returncode == 2, done.stderr
    assert "proxy.entrance.mechanism" in done.stderr
    assert "bentpipe dtn proxy" in done.stderr


def test_a_splitting_proxy_named_like_an_end_of_a_flow_is_refused() -> None:
    """Legs are named after the node or proxy that sends them."""
    data = bentpipe.load(EXAMPLE).data
    data["proxy"][0]["name"] = "server"
    with pytest.raises(
        bentpipe.ScenarioError, match='proxy "server" has the name of a node where this flow begins'
    ):
        bentpipe.load(data)
