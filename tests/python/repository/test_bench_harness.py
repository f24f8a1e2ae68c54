"""The benchmark harness: its protocol, its verdicts, and a row for every baseline."""

from __future__ import annotations

import importlib.util
import json
import sys
import tomllib
from pathlib import Path
from types import ModuleType

import pytest
from helpers import ROOT

HARNESS = ROOT / "benchmarks" / "run.py"

# Stands for the programs: reports the memory and time that it is given.
FAKE = """\
#!{python}
import json, sys
print("a line before the protocol's")
print(json.dumps({{"cpu_s": 0.5, "events": 50, "packets": 10, "hops": {hops},
                   "peak_rss_bytes": {rss}}}))
"""


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location("bench_run_harness", HARNESS)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.syspath_prepend(str(HARNESS.parent))
    monkeypatch.setitem(sys.modules, spec.name, module)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module.programs, "ROOT", tmp_path)
    monkeypatch.setattr(module.programs, "BENTPIPE", tmp_path / "bench_run")
    monkeypatch.setattr(module.programs, "PLANE", tmp_path / "bench_plane")
    monkeypatch.setattr(module.programs, "NS3", tmp_path / "compare")
    monkeypatch.setattr(module.programs, "build_ns3", lambda: "ns-3 is not installed")
    monkeypatch.setattr(module.programs, "build_earlier", lambda program: f"no {program.name} of then")
    return module


def program(path: Path, *, hops: float = 1e7, rss: int = 8_000_000) -> None:
    path.write_text(FAKE.format(python=sys.executable, hops=hops, rss=rss))
    path.chmod(0o755)


def command(source: str) -> list[str]:
    return [sys.executable, "-c", source]


def test_every_scenario_is_toml_and_every_baseline_a_row(bench: ModuleType, tmp_path: Path) -> None:
    table = list(bench.rows(bench.Plan(tmp_path)))
    names = [row.name for row in table]
    assert len(names) == len(set(names))
    for row in table:
        assert row.baseline is None or row.baseline in names
    scenarios = {path.stem: tomllib.loads(path.read_text()) for path in tmp_path.glob("*.toml")}
    assert len(scenarios["flows"]["flow"]) == 100
    assert scenarios["geo"]["link"][0]["queue"]["packets"] == 417
    assert len(scenarios["chain"]["link"]) == 10
    for scenario in scenarios.values():
        assert scenario["duration"].endswith(" s")
        # Return links whose superframe grows with their terminals; no beams of several carriers, no
        # constellations.
        networks = scenario.get("network", {}).values()
        for network in [network for network in networks if "slots_per_frame" in network.get("return", {})]:
            rate, _ = network["return"]["rate"].split(" kbit/s")
            # A slot of the frame of 23.5 ms carries one MPEG packet, for any number of terminals.
            assert int(rate) * 23.5 / 8 / network["return"]["slots_per_frame"] == 188
            counts = [one["count"] if isinstance(one, dict) else 1 for one in network["terminals"]]
            assert network["return"]["slots_per_frame"] >= sum(counts)


def test_absent_programs_are_skipped_with_the_reason(
    bench: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "report.json"
    assert bench.main(["--json", str(out), "--strict"]) == 0
    printed = capsys.readouterr().out
    assert "skipped: ns-3 is not installed" in printed
    assert "skipped: bench_run has not been built" in printed
    rows = json.loads(out.read_text())["rows"]
    assert {"name": "ns3 geo", "baseline": None, "skipped": "ns-3 is not installed"} in rows


def test_a_missed_target_fails_only_when_strict(
    bench: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    program(tmp_path / "bench_run", hops=1e6)
    arguments = ["--only", "chain*", "--repeat", "1"]
    assert bench.main(arguments) == 0
    assert bench.main([*arguments, "--strict"]) == 1
    printed = capsys.readouterr().out
    assert "2M hops/s" in printed
    assert ">=15M !" in printed
    assert max(len(text) for text in printed.splitlines()) <= 80
    assert bench.main([*arguments, "--strict", "--scale", "0.5"]) == 0


def test_memory_is_judged_against_the_shortest_run(bench: ModuleType, tmp_path: Path) -> None:
    program(tmp_path / "bench_run")
    out = tmp_path / "report.json"
    assert bench.main(["--only", "memory 1600 s", "--repeat", "2", "--json", str(out)]) == 0
    base, long = json.loads(out.read_text())["rows"]
    assert base["name"] == "memory 100 s"
    assert long["figure"] == 1.0
    assert long["verdict"] == "met"
    assert long["events_per_packet"] == 5.0
    assert len(long["runs"]) == 2


@pytest.mark.parametrize(
    ("source", "fault"),
    [
        ("print('no JSON')", "not JSON"),
        ("pass", "not JSON"),
        ("print('{\"cpu_s\": 1}')", "lacks events, packets, peak_rss_bytes"),
        ("print(3)", "lacks cpu_s"),
        ("import sys; sys.exit('the reason')", "ended with 1: the reason"),
        ("import time; time.sleep(60)", "took longer than 0.2 s"),
    ],
)
def test_what_does_not_keep_the_protocol_is_a_failure(bench: ModuleType, source: str, fault: str) -> None:
    with pytest.raises(bench.ProtocolError, match=fault):
        bench.run_once(command(source), 0.2 if "sleep" in source else 60.0)


def test_a_failed_command_ends_the_whole_with_one(
    bench: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "bench_run").write_text("#!/bin/sh\necho broken >&2\nexit 3\n")
    (tmp_path / "bench_run").chmod(0o755)
    assert bench.main(["--only", "chain*"]) == 1
    assert "FAILED: ended with 3: broken" in capsys.readouterr().out


def test_cpu_time_is_the_childs(bench: ModuleType) -> None:
    said = 'print(\'{"cpu_s": 0, "events": 0, "packets": 0, "peak_rss_bytes": 0}\')'
    busy = "import time\nwhile time.process_time() < 0.3: pass\n"
    assert bench.run_once(command(busy + said), 60.0).cpu_s >= 0.3
    assert bench.run_once(command("import time\ntime.sleep(0.5)\n" + said), 60.0).cpu_s < 0.3


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (15e6, "15M"),
        (2.345e9, "2.35G"),
        (123456.0, "123k"),
        (1000.0, "1000"),
        (52.44, "52.4"),
        (1.1, "1.1"),
        (float("nan"), "-"),
    ],
)
def test_short_numbers(bench: ModuleType, value: float, text: str) -> None:
    assert bench.short(value) == text
