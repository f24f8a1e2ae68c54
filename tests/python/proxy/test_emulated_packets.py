"""Snoop and proxies of acknowledgments at frames of real hosts: emulated as simulated, on both
clocks."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Literal

import bentpipe as bp
import polars as pl
import pytest
from rigs.guests import guests
from rigs.networks import networks

SCENARIO = """name = "packets"
duration = "10 s"

[[link]]
name = "lan"
from = "server"
to = "gateway"
rate = "100 Mbit/s"
delay = "1 ms"

[[link]]
name = "satellite"
from = "gateway"
to = "terminal"
rate = "10 Mbit/s"
delay = "50 ms"

[[link]]
name = "home"
from = "terminal"
to = "user"
rate = "100 Mbit/s"
delay = "1 ms"

[[flow]]
name = "download"
from = "server"
to = "user"
app = "bulk"
transport = {{ kind = "tcp", congestion = "reno", receive_window = "100 kB" }}

[[proxy]]
name = "{node}"
node = "{node}"
mechanism = {mechanism}
"""

#: A return link that acknowledgments fill: 10 Mbit/s of data need 170 kbit/s of acknowledgments.
SLOW = 'link.satellite.return={rate="40 kbit/s",delay="50 ms"}'
#: An acknowledgment filter before the slow link.
FILTER = (
    'proxy=[{name="terminal",node="terminal",mechanism={kind="ack-filter",over="satellite",rate="39 kbit/s"}}'
)
RECONSTRUCTION = '{name="gateway",node="gateway",mechanism={kind="ack-reconstruction",over="satellite"}}'

Clock = Literal["virtual", "real", "kernel"]
Values = tuple[float, dict[str, dict[str, int]]]


def run(out: Path, clock: Clock, node: str, mechanism: str, *overrides: str) -> Values:
    """Returns the goodput in bit/s, and the rows of the proxies by flow and proxy."""
    file = out.parent / "packets.toml"
    file.write_text(SCENARIO.format(node=node, mechanism=mechanism), encoding="utf-8")
    if clock == "virtual":
        made = bp.simulate(file, out=out, overrides=overrides)
    else:
        made = bp.emulate(file, out=out, overrides=overrides, clock=clock)
    tables = [out / "tables" / f"{name}.parquet" for name in ("snoop", "acknowledgments")]
    rows = [row for table in tables if table.exists() for row in pl.read_parquet(table).to_dicts()]
    return float(made.flows["goodput"][0]), {row.pop("flow at a proxy"): row for row in rows}


def check_snoop(clock: Clock, tmp_path: Path) -> None:
    """The proxy repairs at least as many packets as the link loses, as often as in the model."""
    losses = 'link.satellite.error={kind="list",packets=[300,900,905,2000]}'
    mechanism = '{ kind = "snoop", over = "satellite" }'
    model, counts = run(tmp_path / "model", "virtual", "gateway", mechanism, losses)
    emulated, seen = run(tmp_path / clock, clock, "gateway", mechanism, losses)
    assert emulated == pytest.approx(model, rel=0.02)
    at = "download@gateway"
    repaired = [rows[at]["repaired"] + rows[at]["repaired_late"] for rows in (counts, seen)]
    assert repaired[0] == repaired[1] >= 4
    assert seen[at]["suppressed"] == pytest.approx(counts[at]["suppressed"], rel=0.1)


def check_acknowledgments(clock: Clock, tmp_path: Path) -> None:
    mechanism = '{ kind = "ack-decimation", over = "satellite", rate = "39 kbit/s" }'
    model, counts = run(tmp_path / "model", "virtual", "terminal", mechanism, SLOW)
    emulated, seen = run(tmp_path / clock, clock, "terminal", mechanism, SLOW)
    assert emulated == pytest.approx(model, rel=0.05)
    at = "download@terminal"
    assert counts[at]["removed"] > 1000
    assert seen[at]["removed"] == pytest.approx(counts[at]["removed"], rel=0.1)


def check_reconstruction(clock: Clock, tmp_path: Path) -> None:
    """The second proxy recreates about as many acknowledgments as the first removed: the real
    sender accepts segments that no host has sent."""
    both = f"{FILTER},{RECONSTRUCTION}]"
    model, counts = run(tmp_path / "model", "virtual", "terminal", '"split"', SLOW, both)
    emulated, seen = run(tmp_path / clock, clock, "terminal", '"split"', SLOW, both)
    assert emulated == pytest.approx(model, rel=0.05)
    assert counts["download@gateway"]["made"] > 1000
    for key, column in (("download@terminal", "removed"), ("download@gateway", "made")):
        assert seen[key][column] == pytest.approx(counts[key][column], rel=0.1)


Check = Callable[[Clock, Path], None]
CHECKS: list[Check] = [check_snoop, check_acknowledgments, check_reconstruction]


@guests
@pytest.mark.parametrize("check", CHECKS)
def test_frames_in_virtual_time_are_handled_as_in_the_model(check: Check, tmp_path: Path) -> None:
    check("kernel", tmp_path)


@networks
@pytest.mark.quiet
@pytest.mark.parametrize("check", CHECKS)
def test_frames_of_real_hosts_are_handled_as_in_the_model(check: Check, tmp_path: Path) -> None:
    check("real", tmp_path)
