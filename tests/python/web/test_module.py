"""The WebAssembly module gives the results of ``bentpipe simulate``, to the last bit.

Node runs every example and every scenario of the gallery in the module. The summary, the
flows and every value of every trace row must equal the results of the native engine.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import bentpipe as bp
import numpy as np
import polars as pl
import pytest
from bentpipe import _native
from helpers import ROOT
from helpers.scenarios import LONG, described
from rigs.sites import MODULE

HERE = Path(__file__).parent
SOURCES = ROOT / "testbed" / "web" / "src"

SCENARIOS = dict(described())

pytestmark = [
    pytest.mark.module,
    pytest.mark.skipif(not MODULE.exists(), reason="the module is not built: scripts/wasm --build"),
    pytest.mark.skipif(shutil.which("node") is None, reason="there is no 'node' on the PATH"),
]


def in_module(request: dict[str, Any], folder: Path, *only: str) -> dict[str, Any]:
    """Run a request in the module with Node, and return its answer, or only its check."""
    file = folder / "request.json"
    file.write_text(json.dumps(request))
    subprocess.run(["node", str(HERE / "run.mjs"), str(MODULE), str(file), str(folder), *only], check=True)
    answer: dict[str, Any] = json.loads((folder / f"{(*only, 'answer')[0]}.json").read_text())
    return answer


def assert_equal_rows(trace: dict[str, Any], folder: Path, native: pl.DataFrame) -> None:
    """Compare each value of a trace. A missing value is NaN in the module and null in the file."""
    table = trace["table"]
    times = np.fromfile(folder / f"{table}.time.bin")
    np.testing.assert_array_equal(times, native["time"].to_numpy().astype(float), err_msg=table)
    entities = np.array(trace["entities"], dtype=object)[
        np.fromfile(folder / f"{table}.entity.bin", dtype=np.uint32)
    ]
    assert entities.tolist() == native[trace["noun"]].to_list()
    for place, name in enumerate(trace["columns"]):
        values = np.fromfile(folder / f"{table}.{place}.bin")
        expected = native[name].cast(pl.Float64).fill_null(float("nan")).to_numpy()
        np.testing.assert_array_equal(values, expected, err_msg=f"{table}.{name}")


@pytest.mark.parametrize("name", [name for name in SCENARIOS if name not in LONG])
def test_the_module_equals_the_native_engine(name: str, tmp_path: Path) -> None:
    scenario = bp.load(SCENARIOS[name])
    native_folder = tmp_path / "native"
    bp.simulate(scenario, out=native_folder)
    answer = in_module({"toml": scenario.toml}, tmp_path)
    assert answer["complete"]
    assert answer["summary"] == json.loads((native_folder / "summary.json").read_text())
    assert answer["flows"] == pl.read_parquet(native_folder / "flows.parquet").to_dicts()
    compared = 0
    for trace in answer["traces"]:
        native = pl.read_parquet(native_folder / "traces" / f"{trace['table']}.parquet")
        assert (trace["rows"], trace["dropped"]) == (native.height, 0)
        assert_equal_rows(trace, tmp_path, native)
        compared += trace["rows"]
    assert compared > 0 or not scenario.data["record"]["traces"]


def test_a_refusal_equals_the_native_one(tmp_path: Path) -> None:
    text = (ROOT / "examples" / "geo-bulk.toml").read_text().replace('"reno"', '"renno"')
    answer = in_module({"toml": text, "name": "geo-bulk.toml"}, tmp_path)
    with pytest.raises(bp.ScenarioError) as refused:
        _native.Scenario("geo-bulk.toml", text, [])
    assert answer["text"] == str(refused.value)
    assert answer["problems"][0]["nearest"] == "reno"


@pytest.mark.parametrize("name", SCENARIOS)
def test_a_check_equals_the_native_one(name: str, tmp_path: Path) -> None:
    """The module resolves a scenario, and describes its network, as the native engine does."""
    scenario = bp.load(SCENARIOS[name])
    checked = in_module({"toml": scenario.toml}, tmp_path, "check")
    assert checked["resolved"] == scenario.data
    assert checked["picture"] == scenario.picture
    assert checked["facts"] == scenario.facts


def interface(file: Path, name: str) -> set[str]:
    """The keys of an interface in TypeScript."""
    found = re.search(rf"^export interface {name} \{{\n(.*?)^\}}", file.read_text(), re.DOTALL | re.MULTILINE)
    assert found is not None, name
    return set(re.findall(r"^  (\w+)\??:", found[1], re.MULTILINE))


def test_the_types_of_the_page_have_the_keys_of_the_module(tmp_path: Path) -> None:
    """The module accepts every key of a request, and answers with the keys of the interfaces."""
    types = SOURCES / "engine" / "answer.ts"
    text = (ROOT / "examples" / "geo-bulk.toml").read_text()
    request = {
        "toml": text,
        "name": "geo-bulk.toml",
        "files": {},
        "overrides": ["duration=5 s", "record.capture=['server']"],
        "traces": ["tcp"],
        "spacing_s": 0.1,
        "packets": True,
    }
    assert interface(types, "Request") == set(request)
    in_module(request, tmp_path)
    keys = json.loads((tmp_path / "keys.json").read_text())
    assert set(keys) == {"Answer", "Summary", "Trace", "Column", "Checked"}
    for name, found in keys.items():
        assert interface(types, name) == set(found), name
    refused = in_module({**request, "overrides": ["duration=5 m"]}, tmp_path)
    assert interface(SOURCES / "data" / "problem.ts", "Problem") == set(refused["problems"][0])
