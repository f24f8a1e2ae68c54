"""From scenarios to the arguments of the equations."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import bentpipe as bp
import numpy as np
import pytest
from bentpipe.facts import facts
from bentpipe.prediction import predict_scenario

UPLOAD = {"name": "up", "from": "st1", "to": "gw", "app": "bulk", "transport": {"kind": "tcp"}}
STAR = {"name": "star", "duration": "60 s", "preset": "dvb-rcs", "flow": [UPLOAD]}
GEO = STAR | {"preset": "geo", "flow": [UPLOAD | {"from": "user", "to": "server"}]}


def arguments(*overrides: str, scenario: dict[str, Any] = STAR) -> dict[str, Any]:
    (flow,) = predict_scenario(scenario, overrides).values()
    assert flow.prediction is not None, flow.note
    return flow.arguments


def note(*overrides: str, scenario: dict[str, Any] = STAR) -> str:
    (flow,) = predict_scenario(scenario, overrides).values()
    assert flow.prediction is None
    return flow.note


def test_an_upload_meets_the_return_links_rate_delay_and_category() -> None:
    found = arguments("network.sat.return.dama.scheme=vbdc")
    assert (found["rate_bit_s"], found["rtt0_s"]) == (2_048_000, 0.5)
    assert found["scheme"] == "vbdc" and found["response_superframes"] == 11
    assert found["superframe_s"] == pytest.approx(0.094)


def test_a_download_meets_the_forward_rate_and_the_category_of_its_acknowledgements() -> None:
    found = arguments("flow.up.from=gw", "flow.up.to=st1")
    # Burst time plans use a little of the capacity.
    assert found["rate_bit_s"] == pytest.approx(10_000_000, rel=1e-3) and found["scheme"] == "rbdc"


def test_with_constant_slots_alone_their_rate_is_the_rate() -> None:
    cra = "network.sat.return.dama.scheme=cra"
    assert arguments(cra)["rate_bit_s"] == 2_048_000
    assert arguments(cra, 'network.sat.terminals=["st1", "st2", "st3"]')["rate_bit_s"] == 640_000
    others = 'network.sat.terminals=["st1", {name = "st2", cra = "1024 kbit/s"}, "st3"]'
    assert arguments(cra, others)["rate_bit_s"] == 512_000
    assert arguments(cra, "network.sat.return.dama.cra=64 kbit/s")["rate_bit_s"] == 64_000


def test_the_response_emerges_where_it_is_not_imposed() -> None:
    star = bp.load(STAR).data
    del star["network"]["sat"]["return"]["dama"]["response"]
    assert arguments(scenario=star)["response_superframes"] == 6


def test_positions_give_the_propagation_delay() -> None:
    rome = {"latitude": "41.9 deg", "longitude": "12.5 deg"}
    star = bp.load(STAR).data
    star["network"]["sat"]["propagation"] = {"satellite": "13 deg", "gateway": rome, "terminals": rome}
    assert arguments(scenario=star)["rtt0_s"] / 2 == pytest.approx(0.2507, abs=5e-4)


def test_errors_on_the_way_become_a_loss_probability() -> None:
    assert arguments(scenario=GEO)["loss_probability"] == 0
    lossy = arguments('link.sat.error={kind="packet",probability=0.01}', scenario=GEO)
    assert lossy["loss_probability"] == pytest.approx(0.01)


def test_what_the_equations_do_not_cover_is_a_reason() -> None:
    assert "nothing" not in note('flow.up.app={kind="cbr",rate="8 kbit/s"}', "flow.up.transport=udp")
    assert "start within the run" in note("flow.up.start=61 s")
    assert note("link.sat.delay=0 s", scenario=GEO) == "the equations need a path with a delay"
    for category in ("avbdc", "fca"):
        said = note(f"network.sat.return.dama.scheme={category}")
        assert said == f"the equations know no category {category}"


def test_the_effect_of_the_queue_before_the_bottleneck_is_named() -> None:
    def said(*overrides: str) -> str:
        (flow,) = predict_scenario(GEO, overrides).values()
        return flow.note

    # The preset's queue is one bandwidth-delay product: half of a window of two fills the link.
    assert said() == "sat: the round trip is longer by what waits in its queue, up to 504 ms"
    assert "its queue holds 50 % of a bandwidth-delay product" in said(
        'link.sat.queue={kind="drop-tail",bytes="312500 B"}'
    )


def test_bursts_of_errors_are_named() -> None:
    bursts = 'link.sat.error={kind="gilbert",probability=0.01,burst=8.0}'
    (flow,) = predict_scenario(GEO, [bursts]).values()
    assert "sat: errors of the kind gilbert are not independent" in flow.note
    assert flow.arguments["loss_probability"] == pytest.approx(0.01)


def test_flows_that_yield_share_what_those_that_do_not_leave() -> None:
    udp = {"app": {"kind": "cbr", "rate": "3 Mbit/s"}, "transport": {"kind": "udp"}}
    bulk = UPLOAD | {"from": "user", "to": "server"}
    scenario = GEO | {"flow": [bulk, bulk | {"name": "other"}, bulk | udp | {"name": "udp"}]}
    found = facts(scenario)
    up, other, constant = found["flows"]
    assert constant["share_bit_s"] == pytest.approx(3e6 * 1028 / 1000)
    assert up["share_bit_s"] == other["share_bit_s"] == pytest.approx((10e6 - 3.084e6) / 2)
    assert found["media"] == {"sat": ["up", "other", "udp"]}


def test_over_a_constellation_the_round_trip_has_its_range_of_paths(tmp_path: Path) -> None:
    """From the shortest to the longest path, between which the simulated delays lie."""
    example = Path(__file__).parents[2] / "examples" / "leo-handovers.toml"
    found = predict_scenario(example)["upload"]
    assert found.prediction is not None
    trip = found.prediction.round_trip
    assert (trip.minimum_s, trip.maximum_s) == found.arguments["rtt0_range_s"]
    assert trip.minimum_s < 0.8 * trip.mean_s and trip.maximum_s > 1.1 * trip.mean_s
    one_way = bp.simulate(example, out=tmp_path / "run").trace("datagram.delay", "probe")["delay"].to_numpy()
    # Datagrams also take their time to be sent, and may wait during a handover.
    assert trip.minimum_s <= 2 * one_way.min() < 1.25 * trip.minimum_s
    assert 0.9 * trip.maximum_s < 2 * np.quantile(one_way, 0.99) < 1.25 * trip.maximum_s
    # A longer round trip makes a window-limited flow slower, a shorter one faster.
    window = predict_scenario(example, ["flow.upload.transport.receive_window=3 kB"])["upload"].prediction
    assert window is not None and window.limited_by == "window"
    assert window.goodput_low_bit_s < window.goodput_bit_s < window.goodput_high_bit_s
