"""Flows over QUIC in an emulation: quinn over sockets, in virtual time."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import bentpipe as bp
import pytest
from bentpipe.results.captures import packets
from parity import pieces
from rigs import commands
from rigs.guests import guests

#: GEO with a loss in each direction, and a QUIC flow.
GEO = pieces.PAIR.replace("5 Mbit/s", "20 Mbit/s").replace("10 ms", "300 ms")
LOSS = 'error = { kind = "packet", probability = 0.01 }\n'
MEGABYTE = '{ kind = "bulk", size = "1 MB" }'


def scenario(app: str, transport: str, loss: str = "") -> dict[str, Any]:
    flow = pieces.flow("f", "a", "b", app, f'{{ kind = "quic", {transport} }}')
    return tomllib.loads(f'name = "quic"\nduration = "60 s"\n[record]\ncapture = ["b"]\n{GEO}{loss}{flow}')


@guests
@pytest.mark.parametrize("congestion", ["reno", "cubic"])
@pytest.mark.parametrize("loss", ["", LOSS], ids=["without-loss", "loss"])
def test_a_transfer_takes_the_same_time_over_quinn_and_over_the_model(
    congestion: str, loss: str, tmp_path: Path
) -> None:
    described = scenario(MEGABYTE, f'congestion = "{congestion}"', loss)
    model = bp.simulate(described, out=tmp_path / "model").flows.row(0, named=True)
    quinn = bp.emulate(described, out=tmp_path / "quinn", clock="kernel").flows.row(0, named=True)
    assert quinn["delivered_bytes"] == model["delivered_bytes"] == 1_000_000
    assert quinn["completed"] == pytest.approx(model["completed"], rel=0.1)


def of_packets(run: Path) -> list[tuple[int, int, int]]:
    """Returns interface, time and size of all captured packets."""
    frames = packets(run / "packets.pcapng")
    return [row for frame in frames for row in frame.select("interface", "time", "size").rows()]


@guests
def test_a_resumed_connection_saves_a_round_trip_and_reruns_are_identical(tmp_path: Path) -> None:
    """Data leaves with the first packet (RFC 9001, section 4.6.1)."""
    took = {}
    for resumption in ("false", "true"):
        described = scenario('{ kind = "bulk", size = "5 kB" }', f"resumption = {resumption}")
        for number in ("first", "second"):
            run = bp.emulate(described, out=tmp_path / f"{resumption}-{number}", clock="kernel")
            took[resumption, number] = run.flows["completed"][0]
        first, second = (tmp_path / f"{resumption}-{number}" for number in ("first", "second"))
        assert of_packets(first) == of_packets(second)
    assert took["false", "first"] - took["true", "first"] == pytest.approx(0.6, rel=0.01)


def test_check_names_the_controls_that_quinn_lacks(tmp_path: Path) -> None:
    file = tmp_path / "vegas.toml"
    file.write_text(
        f'name = "vegas"\nduration = "1 s"\n{GEO}' + pieces.flow("f", "a", "b", MEGABYTE, '{ kind = "quic" }')
    )
    parts = {}
    for congestion in ("cubic", "vegas"):
        words = ("check", file, "--json", "--set", f"flow.f.transport.congestion={congestion}")
        parts[congestion] = json.loads(commands.run(*words).stdout)["emulation"]["modelled"]
    assert parts == {"cubic": [], "vegas": ["f"]}
