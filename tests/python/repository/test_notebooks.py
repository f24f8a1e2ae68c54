"""The notebooks run, their committed outputs are those of a run, and their links have a target."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from helpers import ROOT

NOTEBOOKS = sorted((ROOT / "docs/notebooks").glob("*.ipynb"))
SCRIPT = ROOT / "scripts/notebooks"


def cells(file: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(file.read_text(encoding="utf-8"))["cells"]
    return found


def run(*words: str, script: Path = SCRIPT) -> subprocess.CompletedProcess[str]:
    pytest.importorskip("nbclient", reason="no nbclient")
    return subprocess.run([sys.executable, str(script), *words], capture_output=True, text=True, check=False)


@pytest.mark.parametrize("file", NOTEBOOKS, ids=lambda file: file.stem)
def test_a_notebook_opens_with_a_question_and_shows_a_picture_and_an_interval(file: Path) -> None:
    first, *rest = cells(file)
    head = "".join(first["source"])
    assert re.match(r"# .+\?\n\n[^?]+\?", head), "a title that asks, and a paragraph with the question"
    outputs = [output for cell in rest for output in cell.get("outputs", [])]
    assert any("image/png" in output.get("data", {}) for output in outputs)
    assert any("half_width" in json.dumps(output) for output in outputs)
    assert not any(output["output_type"] == "error" or output.get("name") == "stderr" for output in outputs)
    assert file.stat().st_size < 100_000


@pytest.mark.parametrize("file", NOTEBOOKS, ids=lambda file: file.stem)
def test_links_of_a_notebook_have_a_target(file: Path) -> None:
    text = "\n".join("".join(cell["source"]) for cell in cells(file) if cell["cell_type"] == "markdown")
    links = re.findall(r"\]\((?!https?:)([^)#]+)(?:#[^)]+)?\)", text)
    assert len(links) > 3
    for link in links:
        target = file.parent / link
        # Pages of keys are generated.
        assert target.exists() or "reference/scenario/" in link, link


def test_outputs_are_those_of_a_run() -> None:
    ended = run("--check")
    assert ended.returncode == 0, ended.stdout + ended.stderr


def test_a_changed_output_is_reported(tmp_path: Path) -> None:
    pytest.importorskip("nbformat", reason="no nbformat")
    (tmp_path / "scripts").mkdir()
    script = tmp_path / "scripts/notebooks"
    script.write_text(SCRIPT.read_text(encoding="utf-8"), encoding="utf-8")
    folder = tmp_path / "docs/notebooks"
    folder.mkdir(parents=True)
    output = {"output_type": "stream", "name": "stdout", "text": ["3\n"]}
    cell = {
        "cell_type": "code",
        "id": "one",
        "execution_count": 1,
        "metadata": {},
        "source": ["print(1 + 1)"],
        "outputs": [output],
    }
    notebook = {"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    (folder / "one.ipynb").write_text(json.dumps(notebook), encoding="utf-8")
    ended = run("--check", script=script)
    assert ended.returncode == 1
    assert "docs/notebooks/one.ipynb: cell 1 prints [('stdout', '2\\n')]" in ended.stdout
    assert run(script=script).returncode == 0
    assert run("--check", script=script).returncode == 0
