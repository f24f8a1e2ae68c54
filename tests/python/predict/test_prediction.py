"""From scenarios to the arguments of the equations."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import bentpipe as bp
import numpy as np
import pytest
from bentpipe.predict.prediction import predict_scenario
from bentpipe.scenario.facts import dama_of, facts
from helpers import ROOT

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


def test_access_per_superframe_adds_the_wait_of_equation_11(tmp_path: Path) -> None:
    """Segments every 100 ms meet superframes of 94 ms at all phases, so the mean wait is half a
    superframe, 47 ms. A slot takes 0.73 ms, and 0.37 ms pass on average until one starts."""
    app = {"kind": "cbr", "rate": "8 kbit/s", "datagram": "100 B"}
    sparse = STAR | {"flow": [UPLOAD | {"app": app}]}
    cra = "network.sat.return.dama.scheme=cra"
    means = {}
    for access in ("immediate", "superframe"):
        changes = [cra, f"network.sat.return.dama.access={access}"]
        hops = facts(bp.load(sparse, changes))["flows"][0]["there"]
        assert hops is not None
        dama = dama_of(hops[0])
        assert dama is not None and dama["access_wait_s"] == pytest.approx(
            {"immediate": 0, "superframe": 0.047}[access]
        )
        run = bp.simulate(sparse, overrides=changes, out=tmp_path / access)
        means[access] = run.flows["rtt_mean"][0]
    assert means["immediate"] == pytest.approx(0.501, abs=0.001)
    predicted = predict_scenario(STAR, [cra, "network.sat.return.dama.access=superframe"])["up"].prediction
    assert predicted is not None and predicted.round_trip.mean_s == pytest.approx(0.547)
    assert means["superframe"] == pytest.approx(predicted.round_trip.mean_s, abs=0.001)


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
    assert "does not start before the end of the run" in note("flow.up.start=61 s")
    assert note("link.sat.delay=0 s", scenario=GEO) == "the equations need a path with a delay"
    for scheme in ("avbdc", "fca"):
        said = note(f"network.sat.return.dama.scheme={scheme}")
        assert said == f"no equation describes the scheme {scheme}"


def test_the_effect_of_the_queue_before_the_bottleneck_is_named() -> None:
    def said(*overrides: str) -> str:
        (flow,) = predict_scenario(GEO, overrides).values()
        return flow.note

    # The preset's queue is one bandwidth-delay product: half of a window of two fills the link.
    assert said() == "sat: the queue adds to the round-trip time, up to 504 ms"
    assert "the queue holds 50 % of a bandwidth-delay product" in said(
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
    assert found["media"] == {"sat.return": ["up", "other", "udp"]}


def with_pages(*, toward: str = "user", **app: Any) -> dict[str, Any]:
    """Returns a bulk flow over 10 Mbit/s and 500 ms, and pages that arrive at ``toward`` as the
    bulk flow's data does."""
    other = "server" if toward == "user" else "user"
    bulk = UPLOAD | {"from": other, "to": toward}
    pages = {"kind": "http", "object": "20 kB", "objects": 9, "request": "500 B", **app}
    web = UPLOAD | {"name": "web", "from": toward, "to": other, "app": pages}
    return GEO | {"flow": [bulk, web]}


def test_pages_beside_a_bulk_flow_count_with_their_mean_rate() -> None:
    # A page each 10 s, and 1 + 8 / 2 objects after each other, each with a round trip and the
    # server's time.
    scenario = with_pages(pages=1000, think="10 s", response_time="100 ms")
    up, web = facts(scenario)["flows"]
    per_second = 1 / (10 + 5 * (0.5 + 0.1))
    headers = 1512 / 1460
    answers, requests = web["answers_mean_bit_s"], web["mean_bit_s"]
    assert answers is not None and requests is not None
    assert answers == pytest.approx(headers * 8 * 9 * 20_000 * per_second)
    assert requests == pytest.approx(headers * 8 * 9 * 500 * per_second)
    assert up["share_bit_s"] == pytest.approx(10e6 - answers)
    assert up["there"] is not None and up["there"][0]["flows"] == 2
    bulk = predict_scenario(scenario)["up"]
    assert (
        "pages, files and mails of other flows are counted at their mean rate of up to 115 kbit/s"
        in bulk.note
    )
    # The other direction carries only requests.
    opposite = facts(
        with_pages(pages=1000, think="10 s", response_time="100 ms")
        | {"flow": [UPLOAD | {"from": "user", "to": "server"}, scenario["flow"][1]]}
    )["flows"][0]
    assert opposite["share_bit_s"] == pytest.approx(10e6 - requests)


def test_the_number_of_pages_and_files_limits_their_mean_rate() -> None:
    headers = 1512 / 1460
    _, web = facts(with_pages(pages=3, think="1 s"))["flows"]
    assert web["answers_mean_bit_s"] == pytest.approx(headers * 8 * 3 * 9 * 20_000 / 60)
    file = {"kind": "ftp", "size": "1 MB", "messages": 0}
    for app, rate in (
        (file, 8e6 / 60),
        (file | {"every": "4 s"}, 2e6),
        (file | {"every": "4 s", "sessions": 3}, 3 * 8e6 / 60),
        ({"kind": "email", "size": "1 MB", "messages": 0, "every": "4 s"}, 2e6),
    ):
        bulk = UPLOAD | {"from": "user", "to": "server"}
        up, other = facts(GEO | {"flow": [bulk, bulk | {"name": "other", "app": app}]})["flows"]
        assert other["mean_bit_s"] == pytest.approx(headers * rate) and other["answers_mean_bit_s"] == 0
        assert up["share_bit_s"] == pytest.approx(10e6 - headers * rate)


def test_files_that_ask_for_more_than_their_share_get_no_more() -> None:
    bulk = UPLOAD | {"from": "user", "to": "server"}
    files = bulk | {"name": "files", "app": {"kind": "ftp", "size": "1 MB", "every": "1 s"}}
    up, other = facts(GEO | {"flow": [bulk, files]})["flows"]
    assert up["share_bit_s"] == other["share_bit_s"] == pytest.approx(5e6)


@pytest.mark.parametrize(
    "app",
    [
        {"kind": "http", "object": "20 kB", "pages": 1000, "think": "5 s"},
        {"kind": "ftp", "size": "300 kB", "every": "4 s", "direction": "download"},
    ],
)
def test_a_simulated_bulk_flow_beside_pages_or_files_has_the_predicted_rate(
    app: dict[str, Any], tmp_path: Path
) -> None:
    scenario = with_pages() | {"duration": "300 s", "record": {"traces": []}}
    scenario["flow"][1]["app"] = app
    prediction = predict_scenario(scenario)["up"].prediction
    assert prediction is not None
    flows = bp.simulate(scenario, out=tmp_path / "run").flows
    goodput = dict(flows.select("flow", "goodput").iter_rows())["up"]
    assert goodput == pytest.approx(prediction.goodput_bit_s, rel=0.1)


def test_over_a_constellation_the_round_trip_has_its_range_of_paths(tmp_path: Path) -> None:
    """The simulated delays lie between those of the shortest and the longest path."""
    example = ROOT / "examples" / "leo-handovers.toml"
    found = predict_scenario(example)["upload"]
    assert found.prediction is not None
    trip = found.prediction.round_trip
    assert (trip.minimum_s, trip.maximum_s) == found.arguments["rtt0_range_s"]
    assert trip.minimum_s < 0.8 * trip.mean_s and trip.maximum_s > 1.1 * trip.mean_s
    one_way = bp.simulate(example, out=tmp_path / "run").trace("datagram.delay", "probe")["delay"].to_numpy()
    # Datagrams also take time to be sent, and may wait during a handover.
    assert trip.minimum_s <= 2 * one_way.min() < 1.25 * trip.minimum_s
    assert 0.9 * trip.maximum_s < 2 * np.quantile(one_way, 0.99) < 1.25 * trip.maximum_s
    # A longer round trip makes a window-limited flow slower, a shorter one faster.
    window = predict_scenario(example, ["flow.upload.transport.receive_window=3 kB"])["upload"].prediction
    assert window is not None and window.limited_by == "window"
    assert window.goodput_low_bit_s < window.goodput_bit_s < window.goodput_high_bit_s


def two_paths(congestion: str, *delays_ms: float, queue: str = "125 kB") -> dict[str, Any]:
    """Returns flows over their own links to a bottleneck of 20 Mbit/s, whose queue drains in 50
    ms."""
    ends = {"from": "x", "to": "y"}
    last = {
        "name": "m",
        **ends,
        "rate": "20 Mbit/s",
        "delay": "5 ms",
        "queue": {"kind": "drop-tail", "bytes": queue},
    }
    back = {"return": {"rate": "100 Mbit/s", "delay": "5 ms"}}
    names = [f"f{number}" for number in range(len(delays_ms))]
    links = [
        {"name": f"l{name}", "from": name, "to": "x", "rate": "1 Gbit/s", "delay": f"{delay} ms"}
        for name, delay in zip(names, delays_ms, strict=True)
    ]
    transport = {"kind": "tcp", "congestion": congestion}
    flows = [{"name": name, "from": name, "to": "y", "app": "bulk", "transport": transport} for name in names]
    return {"name": "shared", "duration": "200 s", "link": [last | back, *links], "flow": flows}


def test_reno_shares_a_bottleneck_by_round_trip_times() -> None:
    # Without a queue, shares are as 1 / RTT^2; a full queue of a few packets comes close.
    tiny = predict_scenario(two_paths("reno", 15, 35, queue="1500 B"))
    rates = [tiny[name].arguments["rate_bit_s"] for name in ("f0", "f1")]
    assert sum(rates) == pytest.approx(20e6) and rates[0] / rates[1] == pytest.approx(4, rel=0.05)
    assert "1 / RTT^2" in tiny["f0"].note
    # RTT 40 and 160 ms behind 50 ms of queue: the simulation has 17.1 and 2.2 Mbit/s.
    scenario = two_paths("reno", 15, 75)
    run = bp.simulate(scenario)
    predicted = predict_scenario(scenario)
    for name, simulated in zip(run.flows["flow"], run.flows["goodput"], strict=True):
        one = predicted[name].prediction
        assert one is not None and one.goodput_bit_s == pytest.approx(simulated, rel=0.1)
    # Flows with equal round trips, or with congestion controls without an equation for shares, keep
    # the max-min share.
    for other in (two_paths("reno", 15, 15), two_paths("cubic", 15, 75)):
        same = predict_scenario(other)
        assert [one.arguments["rate_bit_s"] for one in same.values()] == [10e6, 10e6]
    assert "max-min share of 10 Mbit/s; a flow with a shorter round-trip time gets more" in same["f0"].note


def test_the_package_of_the_equations_is_also_the_function() -> None:
    (called,) = bp.predict(GEO).values()  # type: ignore[operator]
    (named,) = bp.predict_scenario(GEO).values()
    assert called.as_dict() == named.as_dict() and called.note == called.as_dict()["note"]
    shorter = bp.predict(GEO, ["duration=10 s"])["up"].prediction  # type: ignore[operator]
    assert shorter is not None and shorter.duration_s == 10
    assert bp.predict.jain_index([1.0, 1.0]) == 1
