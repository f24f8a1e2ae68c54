"""Multicast flows in results: rows per receiver, losses, captures, predictions and the resolved
scenario."""

from __future__ import annotations

import ipaddress
import math
from pathlib import Path

import bentpipe as bp
import polars as pl
import pytest
from bentpipe.predict import expected_nacks, transmissions_per_segment
from bentpipe.results.captures import packets
from bentpipe.scenario.facts import facts
from bentpipe.scenario.summary import cautions

EXAMPLE = Path(__file__).parents[3] / "examples" / "multicast-star.toml"
#: Segments of the example's file: 2 MB in pieces of 1400 bytes.
SEGMENTS = math.ceil(2e6 / 1400)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> bp.Run:
    """The example, captured at the gateway."""
    folder = tmp_path_factory.mktemp("runs") / "run"
    return bp.simulate(EXAMPLE, out=folder, overrides=['record.capture=["gw"]'])


def rows(run: bp.Run, group: str) -> pl.DataFrame:
    return run.flows.filter(pl.col("group") == group)


def test_every_receiver_has_a_row_with_the_common_source(run: bp.Run) -> None:
    file = rows(run, "file")
    assert file["flow"].to_list() == [f"file{number}" for number in range(1, 11)]
    assert file["to"].to_list() == [f"st{number}" for number in range(1, 11)]
    assert file["sent_bytes"].to_list() == [2_000_000] * 10
    assert file["delivered_bytes"].to_list() == [2_000_000] * 10
    assert file["finished"].to_list() == [1] * 10
    assert file["sent_packets"].n_unique() == 1
    # Every receiver completes with a repair of its own: 1429 packets at 2 % lose 29 of them.
    assert file["last_delivery"].n_unique() > 1
    assert file["completed"].to_list() == file["last_delivery"].to_list()


def test_lost_packets_are_those_that_a_receiver_does_not_get(run: bp.Run) -> None:
    for row in rows(run, "programme").iter_rows(named=True):
        # 128 kbit/s are 40 datagrams per second, of which at most 11 are in flight for 250 ms.
        missing = row["sent_packets"] - row["delivered_packets"] - row["lost_packets"]
        assert 0 <= missing <= 11
        assert row["loss"] == pytest.approx(0.02, abs=3 * math.sqrt(0.02 * 0.98 / row["sent_packets"]))
    lost = run.table("multicast").filter(pl.col("receiver") == "programme1")["lost_copies"].item()
    assert lost == rows(run, "programme")["lost_packets"][0]


def test_the_source_sends_each_segment_as_often_as_predicted(run: bp.Run) -> None:
    """A segment's number of transmissions has a standard deviation below 0.45."""
    sent = rows(run, "file")["sent_packets"][0] / SEGMENTS
    expected = transmissions_per_segment([0.02] * 10)
    assert sent == pytest.approx(expected, abs=3 * 0.45 / math.sqrt(SEGMENTS))
    note = bp.predict_scenario(EXAMPLE)["file3"].note
    assert f"each segment is sent {expected:.3f} times on average to reach 10 receivers" in note


def test_captures_have_addresses_of_source_specific_multicast(run: bp.Run) -> None:
    everything = pl.concat(packets(run.path / "packets.pcapng"))
    counts = {
        ipaddress.ip_address(address): count
        for address, count in everything["destination"].value_counts().rows()
    }
    groups = {str(address): count for address, count in counts.items() if address.is_multicast}
    assert set(groups) == {"232.0.1.0", "232.0.1.1"}
    assert all(address in ipaddress.ip_network("232.0.0.0/8") for address in counts if address.is_multicast)
    # The gateway sends each packet once, and receives the NACKs.
    flushes = run.table("norm").filter(pl.col("flow end") == "file1.source")
    control = flushes["flushes"].item() + flushes["advertisements"].item()
    assert groups["232.0.1.0"] == rows(run, "file")["sent_packets"][0] + control
    assert groups["232.0.1.1"] == rows(run, "programme")["sent_packets"][0]


def test_the_forward_link_is_shared_as_if_there_were_one_receiver() -> None:
    scenario = bp.load(EXAMPLE)
    known = facts(EXAMPLE)
    for flow in known["flows"]:
        assert flow["share_bit_s"] == pytest.approx(flow["demand_bit_s"])
        assert [hop["flows"] for hop in flow["there"] or ()] == [2]
    # 4.1 of 10 Mbit/s: no part is overloaded.
    assert not any("overloaded" in caution for caution in cautions(scenario, known))


def test_a_resolved_scenario_gives_the_same_run(run: bp.Run, tmp_path: Path) -> None:
    again = bp.simulate(run.path / "scenario.toml", out=tmp_path / "again")
    assert (again.path / "summary.json").read_bytes() == (run.path / "summary.json").read_bytes()
    flows = bp.load(EXAMPLE).flows
    assert {flow.get("multicast") for flow in flows} == {"file", "programme"}
    single = [{**flow, "app": dict(flow["app"])} for flow in flows]
    assert [flow["to"] for flow in single[-3:]] == ["st1", "st2", "st3"]


def test_fewer_nacks_are_expected_the_longer_the_backoff() -> None:
    nacks = [expected_nacks(50, backoff_s, 0.5) for backoff_s in (0.5, 2.0, 8.0)]
    assert nacks == sorted(nacks, reverse=True)
    assert nacks[0] == pytest.approx(50)
    assert 1 < nacks[2] < 2
