"""Stands in for the compiled engine where it is not built: reads TOML as it is, and "simulates" by writing a run folder
made by hand."""

from __future__ import annotations

import json
import os
import time
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from folders import SCENARIO, write_run


class ScenarioError(ValueError):
    def __init__(self, file: str | None, message: str) -> None:
        super().__init__(f"{file or 'scenario'}: {message}")
        nothing: dict[str, Any] = {"line": None, "column": None, "key": None, "value": None}
        self.problems = [{"file": file, "message": message, **nothing}]


def load(source: str | None, text: str | None, overrides: list[str]) -> str:
    try:
        text = Path(source or "").read_text(encoding="utf-8") if text is None else text
        scenario = tomllib.loads(text)
    except (OSError, ValueError) as error:
        raise ScenarioError(source, str(error)) from error
    for override in overrides:
        _set(scenario, override)
    if "duration" not in scenario:
        raise ScenarioError(source, "duration is missing")
    nodes = sorted({flow[end] for flow in scenario.get("flow", []) for end in ("from", "to")})
    return json.dumps({"scenario": scenario, "toml": text, "nodes": nodes, "stages": 9, "warnings": []})


def simulate(
    source: str | None,
    text: str | None,
    overrides: list[str],
    seed: int | None,
    run: int,
    out: str,
    options_json: str,
    progress: Callable[[float], bool] | None,
) -> str:
    assert run >= 0 and set(json.loads(options_json)) == {"command", "started"}
    scenario = json.loads(load(source, text, overrides))["scenario"]
    Path(out).mkdir(parents=True, exist_ok=True)
    (Path(out) / "provenance.json").write_text('{"status": "running"}')
    status = "complete"
    seconds = float(os.environ.get("BENTPIPE_FAKE_SECONDS", "0.1"))
    for step in range(6):
        if progress is not None and not progress(step / 5):
            status = "incomplete"
            break
        time.sleep(seconds / 6)
    flow = scenario["flow"][0]
    write_run(
        Path(out),
        name=scenario["name"],
        congestion=flow["transport"]["congestion"],
        scheme=scenario["network"]["sat"]["return"]["dama"]["scheme"]["kind"],
        status=status,
        seed=scenario.get("seed", 1) if seed is None else seed,
    )
    return (Path(out) / "summary.json").read_text(encoding="utf-8")


def schema() -> str:
    return json.dumps({"title": "Scenario", "type": "object", "properties": {"name": {"type": "string"}}})


def presets() -> list[tuple[str, str, str]]:
    text = SCENARIO.format(name="A star", scheme="rbdc", congestion="reno")
    return [("dvb-rcs", "a star network over a transparent satellite", f"# A star network.\n{text}")]


def tables() -> str:
    return "[]"


def variants() -> str:
    return "[]"


def version() -> str:
    return "0.0.0"


def _set(scenario: dict[str, Any], override: str) -> None:
    path, _, value = override.partition("=")
    place: Any = scenario
    *way, last = path.split(".")
    for key in way:
        place = next(item for item in place if item["name"] == key) if isinstance(place, list) else place[key]
    place[last] = {"kind": value} if last == "scheme" else value
