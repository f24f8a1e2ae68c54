"""Sensor networks: plans, the run, and the sink as a TCP server."""

from __future__ import annotations

import json
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path

import bentpipe as bp
import pytest
from bentpipe import plots, sensors
from bentpipe.cli import app
from helpers import ROOT
from helpers.agents import BENTPIPE
from typer.testing import CliRunner

EXAMPLE = ROOT / "examples" / "mars-sensors.toml"


def test_the_example_delivers_averages_to_the_earth(tmp_path: Path) -> None:
    run = bp.simulate(EXAMPLE, out=tmp_path / "run")
    flow = run.flows.row(0, named=True)
    # The handshake and the query take three delays of 10 s; a window ends every 10 s for each of
    # three motes.
    assert 70 <= flow["sensor_rows"] <= 84
    assert 0 < flow["sensor_delay_mean"] < 13
    motes = run.table("motes")
    assert motes["mote"].to_list() == [f"measures.{name}" for name in ("m1", "m2", "m3", "sink")]
    assert motes["samples"].to_list()[3] == 0


def test_the_placed_plan_costs_less_than_shipping() -> None:
    plan = sensors.explain(EXAMPLE)
    assert [node.parent for node in plan.nodes] == ["m3", "m3", "sink", None]
    assert plan.cost.bytes_per_s * 10 < plan.shipped.bytes_per_s
    assert plan.cost.power_w * 10 < plan.shipped.power_w
    at_sink = sensors.explain(EXAMPLE, placement="sink")
    assert at_sink.cost == at_sink.shipped == plan.shipped
    # The data of the motes passes through each operator's successors to the client.
    by_id = {operator.id: operator for operator in plan.operators}
    last = by_id[max(by_id)]
    assert (last.kind, last.node, last.outputs) == ("deliver", "sink", [])
    plots.query_plan(plan)


def test_the_plan_is_printed_in_words_and_fits() -> None:
    done = CliRunner().invoke(app, ["sensors", "explain", str(EXAMPLE)])
    lines = done.stdout.splitlines()
    assert done.exit_code == 0 and max(map(len, lines)) <= 80
    text = " ".join(done.stdout.split())
    assert text.startswith("SELECT node, avg(temperature) AS temperature")
    # m1 and m2 have identical operators; m3 also merges their data.
    assert [line.split()[:3] for line in lines if " sample " in line] == [
        ["m1,", "m2", "sample"],
        ["m3", "sample", "every"],
    ]
    assert "avg(temperature), max(light) per node," in text and "in windows of 10 s" in text
    assert "m3 -> sink" in text and "all measurements to the sink" in text


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (["--query", "SELECT colour FROM motes"], "colour"),
        (["--query", "SELECT light FROM motes ORDER BY light"], "ORDER BY"),
        (["--flow", "other"], "measures"),
        (["--placement", "moon"], "nodes, sink"),
        (["-o", "plan.doc"], "png"),
    ],
)
def test_wrong_input_is_refused(options: list[str], why: str) -> None:
    result = CliRunner().invoke(app, ["sensors", "explain", str(EXAMPLE), *options])
    assert result.exit_code == 2
    assert why in result.output and "allowed: " in result.output


def test_a_wrong_query_of_a_scenario_is_refused_with_its_line(tmp_path: Path) -> None:
    file = tmp_path / "wrong.toml"
    file.write_text(EXAMPLE.read_text().replace("max(light)", "max(lux)"))
    result = CliRunner().invoke(app, ["check", str(file)])
    line = 1 + next(
        place for place, text in enumerate(file.read_text().splitlines()) if text.startswith("query")
    )
    assert result.exit_code == 2
    assert f"{file}:{line}:" in result.output.replace("\n", "") and "lux" in result.output


@contextmanager
def server(*options: str) -> Iterator[tuple[str, int]]:
    process = subprocess.Popen(
        [*BENTPIPE, "sensors", "serve", str(EXAMPLE), "--listen", "127.0.0.1:0", "--json", *options],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    try:
        host, port = json.loads(process.stdout.readline())["listening"][0].split(":")
        yield host, int(port)
    finally:
        process.terminate()
        process.wait(20)
        process.stdout.close()


def test_the_sink_is_a_tcp_server() -> None:
    with (
        server("--set", "flow.measures.app.period=100 ms") as address,
        socket.create_connection(address, 10) as client,
    ):
        stream = client.makefile("rb")
        assert stream.readline().startswith(b"# connected to a sink")
        client.sendall(b"SELECT colour FROM motes\n")
        assert b"error: " in stream.readline()
        begun = time.monotonic()
        client.sendall(b"SELECT node, light FROM motes WHERE node <> 'm2';\n")
        assert stream.readline() == b"# sampled_s,node,light\n"
        rows = [stream.readline().decode().strip().split(",") for _ in range(20)]
        # Two motes with ten samples per second each: the tenth of each is 900 ms after the first.
        assert time.monotonic() - begun > 0.85
        assert {row[1] for row in rows} == {"m1", "m3"}
        assert all(float(row[2]) >= 0 for row in rows)
        sampled = sorted({float(row[0]) for row in rows})
        assert all(abs(later - earlier - 0.1) < 1e-6 for earlier, later in pairwise(sampled))
        client.sendall(b"stop\nquit\n")
        assert any(b"# stopped; the motes exchanged" in line for line in stream)
