"""Binary files given to commands that read text: each command names the file and shows none of its
bytes."""

from __future__ import annotations

from pathlib import Path

import pytest
from helpers.folders import write_run
from rigs import commands

BYTES = bytes(range(256))


@pytest.mark.parametrize(
    "words",
    [
        ("fit", "bytes.csv"),
        ("space", "contacts", "show", "bytes.csv"),
        ("space", "budget", "bytes.csv"),
        ("measure", "localhost", "--plan", "bytes.toml"),
        ("lab", "save", "bytes.toml"),
        ("lab", "launch", "bytes.toml"),
        ("report", "run"),
    ],
)
def test_files_that_are_not_text_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    monkeypatch.setenv("BENTPIPE_TOKEN", "bpt_unused")
    for name in ("bytes.csv", "bytes.toml"):
        (tmp_path / name).write_bytes(BYTES)
    (write_run(tmp_path / "run") / "scenario.toml").write_bytes(BYTES)
    said = commands.call(*words, folder=tmp_path, code=2).output
    named = "run/scenario.toml" if words[0] == "report" else words[-1]
    assert f"{named} is not UTF-8 text" in " ".join(said.split())
    assert said.strip().isascii() and "\x00" not in said


def test_scenarios_are_fitted_to_measured_runs_only(tmp_path: Path) -> None:
    write_run(tmp_path / "run")
    assert "was not measured" in commands.call("fit", "run", folder=tmp_path, code=2).output
    (tmp_path / "empty").mkdir()
    said = commands.call("fit", "empty", "--out", "x.toml", folder=tmp_path, code=2).output
    assert "is not the folder of a run" in said
