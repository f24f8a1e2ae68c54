"""Chromium and Firefox give the results of ``bentpipe simulate`` in the WebAssembly module, to the
last bit. Each browser runs every example and every scenario of the gallery in one page."""

from __future__ import annotations

import hashlib
import http.server
import json
import os
import queue
import shutil
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import bentpipe as bp
import numpy as np
import polars as pl
import pytest
from helpers import ROOT
from helpers.scenarios import LONG, described
from rigs.sites import MODULE

HERE = Path(__file__).parent
ENGINE = ROOT / "testbed" / "web" / "src" / "engine" / "module.js"
SCENARIOS = {name: scenario for name, scenario in described() if name not in LONG}

#: Commands that open an address in a browser without a window; {} stands for a folder of its own.
BROWSERS = {
    "chromium": ["chromium", "--headless=new", "--no-sandbox", "--disable-gpu", "--user-data-dir={}"],
    "firefox": ["firefox-esr", "--headless", "--no-remote", "--profile", "{}"],
}

#: Seconds without an answer after which a browser has failed.
SILENCE_S = 300

pytestmark = [
    pytest.mark.module,
    pytest.mark.skipif(not MODULE.exists(), reason="the module is not built: scripts/wasm --build"),
]


@contextmanager
def serving(requests: list[dict[str, Any]], answers: queue.Queue[dict[str, Any]]) -> Iterator[str]:
    """Serves the page, the module and the requests, and receives the answers of the page."""
    files = {
        "/": ("text/html", b'<!doctype html><script type="module" src="/compare.mjs"></script>'),
        "/compare.mjs": ("text/javascript", (HERE / "compare.mjs").read_bytes()),
        "/module.js": ("text/javascript", ENGINE.read_bytes()),
        "/bentpipe.wasm": ("application/wasm", MODULE.read_bytes()),
        "/requests.json": ("application/json", json.dumps(requests).encode()),
    }

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            kind, content = files.get(self.path, ("text/plain", b""))
            self.send_response(200 if self.path in files else 404)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def do_POST(self) -> None:
            answers.put(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


@contextmanager
def opened(browser: str, address: str, folder: Path) -> Iterator[None]:
    """Opens an address in a browser, which ends with the context."""
    command = [part.replace("{}", str(folder)) for part in BROWSERS[browser]]
    environment = {**os.environ, "HOME": str(folder)}
    process = subprocess.Popen(
        [*command, address],
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        yield
    finally:
        os.killpg(process.pid, 9)
        process.wait()


def native_digest(file: Path, entities: list[str]) -> str:
    """Returns the digest of compare.mjs for a trace of the native engine."""
    rows = pl.read_parquet(file)
    numbers = {name: number for number, name in enumerate(entities)}
    names = rows[rows.columns[1]].to_list()
    parts = [
        rows["time"].to_numpy().astype("<f8"),
        np.array([numbers[name] for name in names], dtype="<u4"),
        *(
            rows[column].cast(pl.Float64).fill_null(float("nan")).to_numpy().astype("<f8")
            for column in rows.columns[2:]
        ),
    ]
    return hashlib.sha256(b"".join(part.tobytes() for part in parts)).hexdigest()


@pytest.mark.parametrize("browser", BROWSERS)
def test_a_browser_equals_the_native_engine(browser: str, tmp_path: Path) -> None:
    if shutil.which(BROWSERS[browser][0]) is None:
        pytest.skip(f"not installed: {BROWSERS[browser][0]}")
    loaded = {name: bp.load(scenario) for name, scenario in SCENARIOS.items()}
    requests = [{"name": name, "toml": scenario.toml} for name, scenario in loaded.items()]
    answers: queue.Queue[dict[str, Any]] = queue.Queue()
    profile = tmp_path / "profile"
    profile.mkdir()
    with serving(requests, answers) as address, opened(browser, address, profile):
        for name, scenario in loaded.items():
            folder = tmp_path / name.replace("/", "-")
            bp.simulate(scenario, out=folder)
            answer = answers.get(timeout=SILENCE_S)
            assert "failure" not in answer, answer["failure"]
            assert answer["name"] == name
            assert answer["summary"] == json.loads((folder / "summary.json").read_text())
            assert answer["flows"] == pl.read_parquet(folder / "flows.parquet").to_dicts()
            for table, trace in answer["traces"].items():
                digest = native_digest(folder / "traces" / f"{table}.parquet", trace["entities"])
                assert trace["digest"] == digest, f"{name}: {table}"
