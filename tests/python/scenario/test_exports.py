"""Paths exported to other tools: the files have the tool's documented format, and impose the rates
and delays of the scenario."""

from __future__ import annotations

import argparse
import http.server
import json
import os
import re
import shlex
import subprocess
import threading
import time
import tomllib
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import bentpipe as bp
import jsonschema
import numpy as np
import pytest
import yaml
from bentpipe import series
from bentpipe.cli import app
from bentpipe.measure import scheduled, score
from bentpipe.tools import TOOLS, export
from bentpipe.tools.course import Course, course
from rigs.networks import needs
from rigs.testbeds import chromium
from typer.testing import CliRunner

#: A path of 10 Mbit/s down and 2 Mbit/s up. Down, the rate falls to 4 Mbit/s after 2 s, while the
#: delay rises from 30 to 50 ms.
CHANGING = """
name = "changing"
duration = "4 s"
[[link]]
name = "sat"
from = "server"
to = "user"
rate = "10 Mbit/s"
delay = "30 ms"
queue = { kind = "drop-tail", packets = 60 }
error = { kind = "packet", probability = 0.02 }
trace = { samples = "time,rate,delay\\n0,10e6,0.03\\n2,4e6,0.05\\n" }
[link.return]
rate = "2 Mbit/s"
delay = "20 ms"
queue = { kind = "drop-tail", packets = 40 }
[[flow]]
name = "f"
from = "user"
to = "server"
app = "bulk"
transport = "tcp"
"""
SLOTS = """
name = "slots"
duration = "60 s"
[[link]]
name = "sat"
from = "server"
to = "user"
rate = "20 Mbit/s"
delay = "10 ms"
queue = { kind = "drop-front", packets = 500 }
slots = { offset = "12 s", hole = "70 ms", level = 0.2 }
jitter = { kind = "levels", offset = "12 s", of = { kind = "uniform", most = "10 ms" } }
[link.return]
rate = "2 Mbit/s"
delay = "10 ms"
"""


@pytest.fixture(scope="module")
def changing() -> Course:
    return course(bp.load(tomllib.loads(CHANGING)), "user", "server")


@pytest.fixture(scope="module")
def slots() -> Course:
    return course(bp.load(tomllib.loads(SLOTS)), "user", "server")


def script_of(tool: str, found: Course, folder: Path) -> Path:
    """Exports a path, and returns the script."""
    return next(file for file in export(found, tool, folder) if file.suffix == ".sh")


def called(tool: str, found: Course, folder: Path, arguments: list[str]) -> list[list[str]]:
    """Runs the exported script of a tool with programs that only log their arguments, and without
    waiting. Returns the calls."""
    script = script_of(tool, found, folder)
    programs = folder / "programs"
    programs.mkdir()
    log = folder / "log"
    logged = f"""printf "'%s' " "$(basename "$0")" "$@" >>{log}; echo >>{log}"""
    for name in ("tc", "containerlab", "netlab", "mm-delay", "sleep", "ethtool"):
        text = f'if [ "$1" = -batch ]; then cat >>{log}; exit; fi; {logged}'
        (programs / name).write_text(f"#!/bin/sh\n{text}\n")
        (programs / name).chmod(0o755)
    environment = os.environ | {"PATH": f"{programs}:{os.environ['PATH']}"}
    subprocess.run(["sh", str(script), *arguments], env=environment, check=True)
    return [shlex.split(line) for line in log.read_text().splitlines()]


def microseconds(text: str) -> int:
    """Returns the number of a time in microseconds."""
    return int(text.removesuffix("us"))


def waits(calls: list[list[str]]) -> list[float]:
    """Returns the times that a script waits."""
    return [float(words[1]) for words in calls if words[0] == "sleep"]


@pytest.mark.parametrize("tool", TOOLS)
def test_each_tool_has_files_that_name_what_is_lost(tool: str, changing: Course, tmp_path: Path) -> None:
    files = export(changing, tool, tmp_path)
    texts = {file: file.read_text() for file in files}
    assert any("Losses of fidelity:" in text and "losses are independent" in text for text in texts.values())
    for file in files:
        if file.suffix == ".sh":
            subprocess.run(["sh", "-n", str(file)], check=True)


def test_the_course_is_that_of_the_scenario(changing: Course) -> None:
    first, last = changing.steps(100)[0], changing.steps(100)[-1]
    assert (first.at_ms, changing.up.constant, changing.down.constant) == (0, True, False)
    assert first.down.rate_bit_s == pytest.approx(10e6, rel=0.02)
    assert last.down.rate_bit_s == pytest.approx(4e6, rel=0.04)
    assert (first.down.delay_s, last.down.delay_s) == pytest.approx((0.03, 0.05), abs=2e-4)
    assert (first.up.rate_bit_s, first.up.delay_s) == pytest.approx((2e6, 0.02), rel=1e-3)
    assert changing.down.loss == pytest.approx(0.02)
    assert (changing.down.queue_packets, changing.up.queue_packets) == (60, 40)


def test_netem_changes_both_directions_in_order(changing: Course, tmp_path: Path) -> None:
    """The limit of netem holds the packets in flight besides the queue: too small a limit would
    lower the rate."""
    calls = called("netem", changing, tmp_path, ["down0", "up0"])
    classes = [words for words in calls if words[:2] == ["class", "change"]]
    netems = [words for words in calls if words[:2] == ["qdisc", "change"]]
    rates = [int(words[words.index("rate") + 1].removesuffix("bit")) for words in classes if "down0" in words]
    assert rates[0] == pytest.approx(10e6 * 1514 / 1500, rel=0.01)
    assert rates[-1] == pytest.approx(4e6 * 1514 / 1500, rel=0.04)
    first = netems[0]
    assert microseconds(first[first.index("delay") + 1]) == pytest.approx(30_000, abs=200)
    assert first[first.index("loss") + 1] == "2%"
    assert int(first[first.index("limit") + 1]) == pytest.approx(60 + 10e6 * 0.03 / 8 / 1500, abs=2)
    assert all(0 < wait <= 4 for wait in waits(calls)) and max(waits(calls)) > 1.5


def test_mahimahi_reads_the_rates_of_the_scenario(changing: Course, tmp_path: Path) -> None:
    calls = called("mahimahi", changing, tmp_path, ["echo", "a b"])
    assert len(calls) == 1
    words = calls[0]
    assert words[:2] == ["mm-delay", "30"]
    assert words[2:8] == ["mm-loss", "uplink", "0", "mm-loss", "downlink", "0.02"]
    up, down = (Path(word) for word in words[9:11])
    assert words[8] == "mm-link" and words[-3:] == ["--", "echo", "a b"]
    documented = {"--uplink-queue", "--uplink-queue-args", "--downlink-queue", "--downlink-queue-args"}
    assert {word.partition("=")[0] for word in words if word.startswith("--") and word != "--"} == documented
    assert mean_rate(up, 1.0) == pytest.approx(2e6, rel=0.01)
    assert mean_rate(down, 1.9) == pytest.approx(10e6, rel=0.01)
    assert series.read(down, step_ms=100)["rate"][-1] == pytest.approx(4e6, rel=0.05)


def mean_rate(trace: Path, until_s: float) -> float:
    """Returns the mean rate of the beginning of a trace."""
    times, _ = series.opportunities(trace)
    return sum(at <= 1e3 * until_s for at in times) * series.OPPORTUNITY_BYTES * 8 / until_s


def test_leoreplayer_keeps_slots_and_delays(slots: Course, tmp_path: Path) -> None:
    """A fit finds the slots of the scenario in the exported trace."""
    files = {file.name: file for file in export(slots, "leoreplayer", tmp_path)}
    access = scheduled.read(files["bw_1.txt"])
    grid = scheduled.grid(scheduled.holes(access))
    assert grid is not None and grid[0].every == pytest.approx(15_000, abs=10)
    assert np.median([hole.length for hole in grid[1]]) == pytest.approx(70, abs=3)
    both = (slots.down.delays + slots.up.delays.mean()) / 2
    assert np.abs(access.delays - 1e3 * both).max() <= 0.51
    assert score.rates_in_steps(access).mean() == pytest.approx(slots.down.mean.rate_bit_s / 1e6, rel=0.01)


#: The parts of containerlab's JSON Schema (schemas/clab.schema.json) that the topology uses.
CLAB: dict[str, Any] = {
    "type": "object",
    "required": ["name", "topology"],
    "additionalProperties": False,
    "properties": {
        "name": {"type": "string"},
        "topology": {
            "type": "object",
            "required": ["nodes"],
            "properties": {
                "nodes": {
                    "additionalProperties": {
                        "type": "object",
                        "additionalProperties": False,
                        "properties": {
                            "kind": {"enum": ["linux", "bridge", "host"]},
                            "image": {"type": "string"},
                            "exec": {"type": "array", "minItems": 1, "items": {"type": "string"}},
                        },
                    }
                },
                "links": {
                    "type": "array",
                    "minItems": 1,
                    "items": {
                        "properties": {
                            "endpoints": {
                                "type": "array",
                                "minItems": 2,
                                "uniqueItems": True,
                                "items": {"type": "string", "pattern": r"^\S+:\S+$"},
                            }
                        }
                    },
                },
            },
        },
    },
}


def test_containerlab_sets_both_interfaces(changing: Course, tmp_path: Path) -> None:
    calls = called("containerlab", changing, tmp_path, [])
    topology = yaml.safe_load((tmp_path / "path.clab.yml").read_text())
    jsonschema.validate(topology, CLAB)
    # The options that docs/cmd/tools/netem/set.md lists.
    parser = argparse.ArgumentParser()
    for option in ("-n", "-i", "--delay", "--jitter", "--loss", "--rate"):
        parser.add_argument(option)
    given = [
        parser.parse_args(words[4:])
        for words in calls
        if words[:4] == ["containerlab", "tools", "netem", "set"]
    ]
    down = [one for one in given if one.n == "clab-path-server"]
    up = [one for one in given if one.n == "clab-path-client"]
    assert {one.i for one in given} == {"eth1"} and set(topology["topology"]["nodes"]) == {"client", "server"}
    assert (down[0].loss, up[0].delay, up[0].rate) == ("2", "20000us", "2000")
    assert [microseconds(one.delay) for one in (down[0], down[-1])] == pytest.approx(
        [30_000, 50_000], abs=200
    )
    assert int(down[0].rate) == pytest.approx(10_000, rel=0.02) and int(down[-1].rate) == pytest.approx(
        4000, rel=0.03
    )


def test_netlab_starts_with_the_first_step(changing: Course, tmp_path: Path) -> None:
    calls = called("netlab", changing, tmp_path, [])
    topology = yaml.safe_load((tmp_path / "topology.yml").read_text())
    (link,) = topology["links"]
    assert set(link) == set(topology["nodes"]) == {"client", "server"}
    # The attributes that docs/links.md lists.
    documented = {"delay", "jitter", "loss", "corrupt", "duplicate", "reorder", "rate"}
    assert all(set(end["tc"]) <= documented for end in link.values())
    assert float(link["server"]["tc"]["delay"].removesuffix("ms")) == pytest.approx(30, abs=0.2)
    assert link["server"]["tc"]["loss"] == 2
    assert link["client"]["tc"] == {"delay": "20ms", "rate": 2000, "loss": 0}
    parser = argparse.ArgumentParser()
    for option in ("--node", "--interface", *(f"--{one}" for one in documented)):
        parser.add_argument(option)
    given = [parser.parse_args(words[3:]) for words in calls if words[:3] == ["netlab", "tc", "set"]]
    assert float([one for one in given if one.node == "server"][-1].delay) == pytest.approx(50, abs=0.2)


#: Attributes of toxics, by their type.
ATTRIBUTES = {"latency": {"latency", "jitter"}, "bandwidth": {"rate"}}


class Toxiproxy(http.server.BaseHTTPRequestHandler):
    """Toxiproxy's interface, as its README documents it: proxies, toxics and their fields."""

    protocol_version = "HTTP/1.1"
    proxies: dict[str, Any]
    changes: list[tuple[str, dict[str, int]]]

    def answer(self, code: int) -> None:
        self.send_response(code)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def do_DELETE(self) -> None:
        self.answer(204 if self.proxies.pop(self.path.rpartition("/")[2], None) else 404)

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        match self.path.strip("/").split("/"):
            case ["proxies"] if set(body) <= {"name", "listen", "upstream", "enabled"}:
                self.proxies[body["name"]] = {}
                self.answer(201)
            case ["proxies", name, "toxics"] if body["stream"] in ("upstream", "downstream"):
                assert body["type"] in ATTRIBUTES
                self.proxies[name][f"{body['type']}_{body['stream']}"] = body
                self.answer(200)
            case ["proxies", name, "toxics", toxic] if toxic in self.proxies[name]:
                assert set(body["attributes"]) <= ATTRIBUTES[toxic.partition("_")[0]]
                assert all(isinstance(value, int) for value in body["attributes"].values())
                self.changes.append((toxic, body["attributes"]))
                self.answer(200)
            case _:
                self.answer(404)

    def log_message(self, *arguments: object) -> None:
        pass


@pytest.fixture
def toxiproxy(monkeypatch: pytest.MonkeyPatch) -> Iterator[type[Toxiproxy]]:
    handler = type("Handler", (Toxiproxy,), {"proxies": {}, "changes": []})
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        monkeypatch.setenv("TOXIPROXY_URL", f"http://127.0.0.1:{server.server_address[1]}")
        yield handler
        server.shutdown()


@needs("curl")
def test_toxiproxy_accepts_every_request(
    toxiproxy: type[Toxiproxy], changing: Course, tmp_path: Path
) -> None:
    words = ["sh", str(script_of("toxiproxy", changing, tmp_path)), "127.0.0.1:21212", "127.0.0.1:8000"]
    subprocess.run(words, check=True)
    assert set(toxiproxy.proxies["bentpipe"]) == {
        f"{kind}_{stream}" for kind in ("latency", "bandwidth") for stream in ("upstream", "downstream")
    }
    rates = [values["rate"] for toxic, values in toxiproxy.changes if toxic == "bandwidth_downstream"]
    assert rates[0] == pytest.approx(1250, rel=0.02) and rates[-1] == pytest.approx(500, rel=0.03)
    delays = [values["latency"] for toxic, values in toxiproxy.changes if toxic == "latency_downstream"]
    assert (delays[0], delays[-1]) == (30, 50)


def test_the_quic_simulator_gets_an_option_for_each_parameter(changing: Course, tmp_path: Path) -> None:
    (file,) = export(changing, "quic-network-simulator", tmp_path)
    shown = subprocess.check_output(["sh", "-c", f'. {file}; echo "$SCENARIO"'], text=True).split()
    # The options of sim/scenarios/asymmetric-p2p, all of which are required.
    given = dict(word.removeprefix("--").split("=") for word in shown[1:])
    assert shown[0] == "asymmetric-p2p"
    assert set(given) == {"delay", "forward-data-rate", "forward-queue", "return-data-rate", "return-queue"}
    assert (given["forward-queue"], given["return-queue"], given["return-data-rate"]) == (
        "60",
        "40",
        "2000kbps",
    )
    # The mean of 40 ms down and 20 ms up.
    assert int(given["delay"].removesuffix("us")) == pytest.approx(30_000, rel=0.02)

    equal = tomllib.loads(SLOTS)
    lossy = {"rate": "4 Mbit/s", "delay": "25 ms", "error": {"kind": "packet", "probability": 0.03}}
    equal["link"][0] = {"name": "sat", "from": "a", "to": "b", **lossy}
    equal["duration"] = "2 s"
    (file,) = export(course(bp.load(equal), "b", "a"), "quic-network-simulator", tmp_path)
    words = re.findall(r'SCENARIO="(.*)"', file.read_text())[0]
    assert words == (
        "drop-rate --delay=25000us --bandwidth=4000kbps --queue=1000 --rate_to_client=3 --rate_to_server=3"
    )


def test_netsatbench_has_an_epoch_per_change(changing: Course, tmp_path: Path) -> None:
    files = export(changing, "netsatbench", tmp_path)
    configuration = json.loads((tmp_path / "sat-config.json").read_text())
    nodes = configuration["nodes"]
    assert set(configuration) == {"node-config-common", "epoch-config", "nodes"}
    assert all(len(name) < 8 for name in nodes)
    pattern = configuration["epoch-config"]["file-pattern"]
    epochs = sorted((tmp_path / configuration["epoch-config"]["epoch-dir"]).glob(pattern))
    assert len(epochs) == len(files) - 2 >= 2
    documents = [json.loads(file.read_text()) for file in epochs]
    assert ["links-add" in one for one in documents] == [True] + [False] * (len(documents) - 1)
    links = [(one.get("links-add") or one["links-update"])[0] for one in documents]
    assert all(
        set(link) == {"endpoint1", "endpoint2", "rate", "loss", "delay", "limit"}
        and {link["endpoint1"], link["endpoint2"]} == set(nodes)
        for link in links
    )
    assert int(links[0]["rate"].removesuffix("kbit")) == pytest.approx(10_000, rel=0.02)
    assert int(links[-1]["rate"].removesuffix("kbit")) == pytest.approx(4000, rel=0.03)
    first, second = (datetime.fromisoformat(one["time"]) for one in documents[:2])
    assert (second - first).total_seconds() == 2


@needs("node")
def test_devtools_delays_a_page_as_the_path_does(changing: Course, tmp_path: Path) -> None:
    """A response of 200 kB takes the round trip, and the time at the rate of the first step."""
    (module,) = export(changing, "devtools", tmp_path)
    code = f"import('{module}').then(m => console.log(JSON.stringify(m.steps)))"
    steps = json.loads(subprocess.check_output(["node", "-e", code], text=True))
    assert [step["at"] for step in steps][:2] == [0, 2000]
    assert steps[0]["conditions"]["latency"] == pytest.approx(50, abs=0.5)
    assert steps[1]["conditions"]["downloadThroughput"] == pytest.approx(5e5, rel=0.03)

    class Page(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.send_header("Content-Length", "200000")
            self.end_headers()
            self.wfile.write(bytes(200_000))

        def log_message(self, *arguments: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Page) as server, chromium() as browser:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        page = browser.new_page()
        address = f"http://127.0.0.1:{server.server_address[1]}"
        page.goto(f"{address}/first")
        session = page.context.new_cdp_session(page)
        session.send("Network.enable")
        session.send("Network.emulateNetworkConditions", steps[0]["conditions"])
        begin = time.monotonic()
        page.evaluate("url => fetch(url).then(answer => answer.arrayBuffer()).then(() => 1)", f"{address}/x")
        took = time.monotonic() - begin
        server.shutdown()
    assert took >= 0.05 + 200_000 / steps[0]["conditions"]["downloadThroughput"] - 0.01


def test_the_command_writes_a_folder_and_refuses_what_it_cannot_export(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine.toml").write_text(CHANGING)

    def call(*arguments: str) -> tuple[int, str]:
        done = CliRunner().invoke(app, ["export", *arguments])
        return done.exit_code, done.output

    code, said = call("mine.toml", "--to", "netem")
    assert code == 0 and Path("mine-netem/netem.sh").is_file() and "losses of fidelity" in said
    assert call("mine.toml", "--to", "netem", "--json", "other")[0] == 0 and Path("other/netem.sh").is_file()
    # The other end of the path as the client exchanges both directions.
    assert call("mine.toml", "--to", "netem", "--client", "server", "turned")[0] == 0
    assert "user (server)" in Path("turned/netem.sh").read_text()
    for arguments, wanted in {
        ("mine.toml", "--to", "ns2"): 'unknown tool "ns2"; allowed: containerlab',
        (
            "mine.toml",
            "--to",
            "netem",
            "--client",
            "x",
        ): 'unknown host "x" in mine.toml; allowed: server, user',
        ("mine.toml", "--to", "netem", "mine.toml"): "mine.toml: is a file; allowed: a folder",
        ("mine.toml", "--to", "netem", "--rows", "tcp"): "not allowed with --to",
        ("run",): "FILE is missing",
        ("run", "a.csv", "--client", "user"): "--client user: allowed only with --to",
    }.items():
        code, said = call(*arguments)
        assert (code, wanted in said) == (2, True), said
