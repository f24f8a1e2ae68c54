"""Every command and program in the README runs, in order, in one folder, as a newcomer would type them."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from guests import reason_to_skip

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")

#: Not run here, because this test is part of it.
ITSELF = "make test"

#: Commands that need real hosts.
REAL = (
    *("bentpipe doctor", "bentpipe emulate", "bentpipe compare model real"),
    *(f"bentpipe {name} " for name in ("run", "up", "exec", "set", "watch", "down")),
)

#: Commands that need the kernel of the clock `kernel`.
GUEST = re.compile("--clock kernel|reproduce satnex")


def blocks(language: str) -> list[str]:
    """Returns the fenced blocks of a language."""
    return re.findall(rf"^```{language}\n(.*?)^```", README, flags=re.DOTALL | re.MULTILINE)


def commands() -> list[str]:
    """Returns the command lines, without comments."""
    lines = [line.split("  #")[0].strip() for block in blocks("sh") for line in block.splitlines()]
    return [line for line in lines if line and line != ITSELF]


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A folder that looks like a built clone."""
    for name in (".venv", "examples", "scripts", "studies"):
        (tmp_path / name).symlink_to(ROOT / name)
    return tmp_path


def test_the_commands_run_as_they_are_written(clone: Path) -> None:
    typed = commands()
    assert "make run" in typed
    doctor = subprocess.run(
        [ROOT / ".venv/bin/bentpipe", "doctor"], capture_output=True, text=True, check=False
    )
    for command in typed:
        if "bentpipe kernel build" in command or (GUEST.search(command) and (why := reason_to_skip())):
            print(f"skipped, as {why if 'build' not in command else 'it takes minutes'}: {command}")
            continue
        if doctor.returncode and any(word in command for word in REAL):
            print(f"skipped, as this machine cannot emulate: {command}\n{doctor.stdout}")
            continue
        # `make run` is `make build`, which has built what runs this test, followed by this script.
        line = "bash scripts/run" if command == "make run" else command
        folder = ROOT if command == "make run" else clone
        ended = subprocess.run(line, shell=True, cwd=folder, capture_output=True, text=True, check=False)
        assert ended.returncode == 0, f"{command}\n{ended.stdout}\n{ended.stderr}"


def test_the_refusal_is_the_one_that_is_shown(clone: Path) -> None:
    shown = next(block for block in blocks("text") if block.startswith("mine.toml:")).strip()
    bentpipe = ROOT / ".venv/bin/bentpipe"
    subprocess.run(
        [bentpipe, "new", "geo-ka", "--out", "mine.toml"], cwd=clone, check=True, capture_output=True
    )
    mine = clone / "mine.toml"
    mine.write_text(mine.read_text(encoding="utf-8").replace('"reno"', '"veggas"'), encoding="utf-8")
    refused = subprocess.run(
        [bentpipe, "check", mine.name], cwd=clone, capture_output=True, text=True, check=False
    )
    assert refused.returncode == 2
    assert refused.stderr.strip() == f"bentpipe: {shown}"


def test_the_program_runs(clone: Path) -> None:
    (program,) = blocks("python")
    (clone / "examples").unlink()
    shutil.copytree(ROOT / "examples", clone / "examples")
    script = clone / "program.py"
    script.write_text(program, encoding="utf-8")
    ended = subprocess.run(
        [sys.executable, script],
        cwd=clone,
        capture_output=True,
        text=True,
        check=False,
        env={"MPLBACKEND": "agg"},
    )
    assert ended.returncode == 0, ended.stderr
    assert (clone / "rtt.png").stat().st_size > 10_000
