"""Every command that prints a result prints it as JSON with --json: one document on standard
output, with numbers as numbers."""

from __future__ import annotations

import json
import re
import shutil
import signal
import subprocess
import sys
import wave
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers import ROOT
from helpers.command_tree import LEAVES, TREE
from parity.pieces import PAIR, flow
from rigs import commands
from rigs.networks import Bentpipe, networks
from rigs.testbeds import free_port

#: Commands without --json, with the reason.
WITHOUT = {
    "run": "the output is the output of a program; --tables writes JSON",
    "shell": "opens a shell",
    "net exec": "the output is the output of a program",
    "serve": "serves pages until it is stopped",
    "machine pep": "forwards packets until it is stopped; its log is JSON",
}
#: Commands that print a line of JSON per event until they are stopped, with the tests that read it.
STREAMS = {
    "voice pabx": "voice/test_pabx.py",
    "dtn agent": "helpers/agents.py",
    "dtn proxy": "dtn/test_dtn_proxy.py",
    "sensors serve": "sensors/test_sensors.py",
}
#: Commands whose JSON other tests read, because they need a kernel, another host or a test bed.
ELSEWHERE = {
    "audit": "helpers/audited.py",
    "conform": "conform/test_conform.py",
    "measure": "measure/test_measure_troubles.py",
    "reflect": "cli/test_json.py",
    "machine calibrate": "cli/test_machine.py",
    "machine doctor": "cli/test_machine.py",
    "machine kernel build": "kernel/test_kernel_build.py",
    "matrix quic": "matrix/test_matrix.py",
    "matrix tcp": "matrix/test_matrix.py",
    **dict.fromkeys(
        (f"lab {name}" for name in ("save", "configurations", "launch", "runs", "cancel", "fetch", "api")),
        "testbed/test_testbed_runs.py",
    ),
}
#: Commands that would change the kernels of this user.
UNTRIED = {"machine kernel use", "machine kernel remove"}
#: A small case of each command, without --json. The files are in ``place``.
CASES = {
    "new": "new",
    "profiles": "profiles moon-relay",
    "check": "check upload.toml",
    "show": "show upload.toml",
    "variants": "variants cubic",
    "trace": "trace rates.csv rates.parquet",
    "fit": "fit frames.csv --out fitted.toml",
    "score": "score upload.toml path.up",
    "schema": "schema",
    "predict": "predict upload.toml",
    "simulate": "simulate upload.toml --out again",
    "campaign run": "campaign run many.toml --out store2 --jobs 1",
    "campaign show": "campaign show store",
    "campaign table": "campaign table store",
    "campaign plot": "campaign plot store",
    "campaign export": "campaign export store means.csv",
    "campaign batches": "campaign batches run rtt --batches 2",
    "reproduce": "reproduce",
    "report": "report run",
    "plot": "plot run --figure rtt",
    "export": "export run flows.csv",
    "compare": "compare run run --figure none",
    "explain": "explain dama",
    "voice emodel": "voice emodel --codec G.729A",
    "voice listen": "voice listen --speech speech.wav --activity",
    "voice phone": "voice phone sip:1@127.0.0.1:9 --duration 0",
    "space budget": "space budget budget.csv",
    "space rain": "space rain -f 19.7 --site rome=41.9,12.5 --satellite 13 --out rain.csv --duration 60",
    "space contacts route": "space contacts route plan.csv --from a --to b --size 1kB",
    "space contacts show": "space contacts show plan.csv",
    "space contacts geometry": "space contacts geometry --body mars --start 2024-01-01 --station a=40.43,-4.25 "
    "--orbiter mro=300,93 --duration 36000",
    "dtn send": "dtn send --to dtn://e/in --size 1kB --via udp://127.0.0.1:9",
    "sensors explain": "sensors explain sensors.toml",
    "docs": "docs",
    "machine kernel status": "machine kernel status",
    "net ps": "net ps",
}
#: The optional modules that the cases of some commands need.
OPTIONAL = {
    "space rain": ("itur",),
    "space contacts geometry": ("skyfield", "skyfield_data"),
}
#: Commands that need an emulated network.
LIVE = {"emulate", "net up", "net set", "net watch", "net down"}


def name_of(path: str) -> str:
    return path.removeprefix("bentpipe ")


def texts(value: Any, key: str = "") -> Iterator[tuple[str, str]]:
    """Yields the texts of a document, each with its key."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from texts(inner, name)
    elif isinstance(value, list):
        for inner in value:
            yield from texts(inner, key)
    elif isinstance(value, str):
        yield key, value


def one_document(text: str) -> Any:
    """Returns the only document of an output, whose numbers are numbers."""
    document = json.loads(text)
    numbers = [
        (key, one) for key, one in texts(document) if key != "unit" and re.fullmatch(r"-?\d+(\.\d+)?", one)
    ]
    assert not numbers
    return document


def test_every_command_that_prints_a_result_has_the_option() -> None:
    with_json = {
        name_of(path)
        for path in LEAVES
        if any("--json" in param.opts for param in TREE[path][0].get_params(TREE[path][1]))
    }
    every = {name_of(path) for path in LEAVES}
    assert every - with_json == WITHOUT.keys()
    covered = [CASES.keys(), STREAMS.keys(), ELSEWHERE.keys(), UNTRIED, LIVE]
    assert set().union(*covered) == with_json
    assert sum(map(len, covered)) == len(with_json)
    for name, file in (STREAMS | ELSEWHERE).items():
        text = (ROOT / "tests/python" / file).read_text(encoding="utf-8")
        assert '"--json"' in text and name.split()[-1] in text, name


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("place")
    small = 'name = "s"\nduration = "2 s"\n' + PAIR + flow("f", "a", "b")
    (folder / "upload.toml").write_text(small, encoding="utf-8")
    vary = '[campaign]\nreplications = 2\n[campaign.vary]\n"link.l.delay" = ["10 ms", "20 ms"]\n'
    link = re.search(r'\[\[link\]\]\nname = "(\w+)"', PAIR)
    assert link
    (folder / "many.toml").write_text(small + vary.replace("link.l.", f"link.{link[1]}."), encoding="utf-8")
    (folder / "rates.csv").write_text("time,rate\n0,1000\n1,2000\n", encoding="utf-8")
    # A mahimahi trace of 2 s, with two packets in each millisecond and then one.
    times = [*(at // 2 for at in range(2000)), *range(1000, 2000)]
    (folder / "path.up").write_text("".join(f"{at}\n" for at in times), encoding="utf-8")
    outcomes = np.random.default_rng(1).random(2000) < 0.1
    (folder / "frames.csv").write_text("lost\n" + "".join(f"{int(one)}\n" for one in outcomes))
    (folder / "plan.csv").write_text("id,src,dst,start,end,rate_bps,owlt_s\n1,a,b,0,100,8000,1\n")
    for name, example in (("dama", "dvb-rcs-upload"), ("sensors", "mars-sensors")):
        shutil.copy(ROOT / f"examples/{example}.toml", folder / f"{name}.toml")
    budgets = sorted((ROOT / "tests/authorities/budgets").glob("*.csv"))
    (folder / "budget.csv").write_bytes(
        next(one for one in budgets if one.name != "expected.csv").read_bytes()
    )
    with wave.open(str(folder / "speech.wav"), "wb") as speech:
        speech.setnchannels(1)
        speech.setsampwidth(2)
        speech.setframerate(8000)
        tone = 8000 * np.sin(2 * np.pi * 400 * np.arange(16_000) / 8000)
        speech.writeframes(tone.astype("<i2").tobytes())
    for words in (
        ("simulate", "upload.toml", "--out", "run"),
        ("simulate", "dama.toml", "--out", "dama", "--set", "duration=10 s"),
        ("campaign", "run", "many.toml", "--out", "store", "--jobs", 1),
    ):
        assert commands.run(*words, folder=folder).returncode == 0
    return folder


@pytest.mark.parametrize("name", CASES)
def test_the_output_is_one_document(place: Path, name: str) -> None:
    done = commands.run(*CASES[name].split(), "--json", folder=place)
    if any(find_spec(module) is None for module in OPTIONAL.get(name, ())):
        assert done.returncode == 2 and "pip install" in done.stderr
        pytest.skip(done.stderr.strip())
    expected = (0, 1) if name in ("voice phone", "machine kernel status") else (0,)
    assert done.returncode in expected, done.stderr
    one_document(done.stdout)


def test_an_export_reports_an_unfinished_block_only_for_netpipe(place: Path) -> None:
    done = commands.run("export", "run", "links.csv", "--rows", "link", "--json", folder=place)
    assert one_document(done.stdout) == {"written": "links.csv"}


def test_a_reflector_prints_its_counts_at_the_end() -> None:
    start = "import sys; sys.argv[0] = 'bentpipe'; from bentpipe.cli import main; main()"
    words = [
        sys.executable,
        "-c",
        start,
        "reflect",
        "--open",
        "--address",
        "127.0.0.1",
        "--port",
        str(free_port()),
        "--json",
    ]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as reflector:
        assert reflector.stderr is not None
        assert "listening" in reflector.stderr.readline()
        reflector.send_signal(signal.SIGINT)
        output, _ = reflector.communicate(timeout=60)
    assert one_document(output)["replies"] == 0
    assert len(output.splitlines()) == 1


@networks
def test_networks_print_documents(bentpipe: Bentpipe, place: Path) -> None:
    up = one_document(bentpipe("net", "up", "geo", "--json"))
    assert up["run"] == "geo"
    changed = one_document(bentpipe("net", "set", "link.sat.delay=50 ms", "--json"))
    assert changed == {"run": "geo", "changed": {"link.sat.delay": "50 ms"}}
    assert one_document(bentpipe("net", "watch", "--once", "--json"))["run"] == "geo"
    assert one_document(bentpipe("net", "down", "--json"))["down"] == ["geo"]
    emulated = bentpipe("emulate", place / "upload.toml", "--out", place / "emulated", "--json")
    assert one_document(emulated)["runs"][0]["status"] == "complete"
