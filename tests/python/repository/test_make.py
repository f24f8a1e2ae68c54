"""The cases in which `make` compiles the engine: shown with this repository's Makefile and a
compiler that only records its calls."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from helpers import ROOT

#: Stands for commands that are slow or change the machine.
FAKES = {
    "scripts/packages": 'echo "packages $1" >>log; [ "$1" = test ] || [ ! -e installs ] || touch headers',
    "scripts/venv": "mkdir -p .venv/bin",
    "scripts/ilbc": "true",
    "scripts/features": "[ ! -e headers ] || echo --features bentpipe-bpf/bpf",
    "scripts/run": "echo run >>log",
    "scripts/test": "echo test >>log",
    "scripts/bench": "echo bench >>log",
    ".venv/bin/python": "true",
    ".venv/bin/maturin": 'echo "$@" >>log; touch .venv/bin/bentpipe python/bentpipe/_native.abi3.so',
}


class Tree:
    """A folder in which `make` can run."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for place in ("scripts", "crates/core/src", "python/bentpipe", ".venv/bin"):
            (folder / place).mkdir(parents=True)
        for file in ("Makefile", "scripts/built"):
            shutil.copy(ROOT / file, folder / file)
        for file, text in FAKES.items():
            (folder / file).write_text(f"#!/bin/sh\n{text}\n")
            (folder / file).chmod(0o755)
        for file in ("pyproject.toml", "Cargo.toml", "Cargo.lock", "crates/core/src/lib.rs"):
            self.touch(file)

    def touch(self, file: str) -> None:
        (self.folder / file).touch()

    def make(self, *words: str) -> list[str]:
        """Returns the recorded calls without the installation of packages: the requirements of
        compiling come first, and those of the tests before the tests."""
        log = self.folder / "log"
        log.write_text("")
        self.started(*words)
        first, *rest = log.read_text().splitlines()
        assert first == "packages build"
        if "test" in words:
            # While the engine is compiled.
            assert rest.count("packages test") == 1 and rest[-1] == "test"
        return [call for call in rest if not call.startswith("packages")]

    def started(self, *words: str) -> str:
        """Returns the output of `make`."""
        # As if called manually, even below a `make test`.
        kept = {
            name: value
            for name, value in os.environ.items()
            if name not in ("MAKEFLAGS", "MFLAGS", "PROFILE")
        }
        done = subprocess.run(
            ["make", *words], cwd=self.folder, env=kept, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    return Tree(tmp_path)


BPF = " --features bentpipe-bpf/bpf"


def compiled(profile: str, features: str = "") -> str:
    return f"develop --profile {profile}{features}"


def test_it_is_compiled_again_when_a_source_changes_and_only_then(tree: Tree) -> None:
    assert tree.make("build") == [compiled("dist")]
    assert tree.make("build") == []
    tree.touch("crates/core/src/lib.rs")
    assert tree.make("build") == [compiled("dist")]
    assert tree.make("build") == []


def test_it_is_compiled_again_when_headers_appear_or_go(tree: Tree) -> None:
    assert tree.make("run") == [compiled("release"), "run"]
    tree.touch("headers")
    assert tree.make("test") == [compiled("release", BPF), "test"]
    assert tree.make("run") == ["run"]
    (tree.folder / "headers").unlink()
    assert tree.make("run") == [compiled("release"), "run"]


@pytest.mark.parametrize("first, profile", [("run", "release"), ("test", "release")])
def test_both_commands_install_headers_before_they_compile(tree: Tree, first: str, profile: str) -> None:
    tree.touch("installs")
    assert tree.make(first)[0] == compiled(profile, BPF)
    assert tree.make("run") == ["run"]
    assert tree.make("test") == ["test"]


def test_run_and_test_take_any_profile_and_build_and_bench_insist_on_one(tree: Tree) -> None:
    assert tree.make("test")[0] == compiled("release")
    assert tree.make("run") == ["run"]
    assert tree.make("bench") == [compiled("dist"), "bench"]
    assert tree.make("test") == ["test"]
    assert tree.make("build") == []
    assert tree.make("build", "PROFILE=release") == [compiled("release")]
    assert tree.make("run") == ["run"]
    assert tree.make("build") == [compiled("dist")]


def test_what_is_missing_is_made_again(tree: Tree) -> None:
    tree.make("run")
    (tree.folder / "python/bentpipe/_native.abi3.so").unlink()
    assert tree.make("run") == [compiled("release"), "run"]
    (tree.folder / ".venv/built").unlink()
    assert tree.make("run") == [compiled("release"), "run"]


def test_a_dry_run_installs_and_compiles_nothing(tree: Tree) -> None:
    """`make -n` also runs a line that calls make."""
    log = tree.folder / "log"
    log.write_text("")
    shown = tree.started("-n", "test")
    assert log.read_text() == ""
    assert "scripts/test" in shown and "maturin develop" in shown
