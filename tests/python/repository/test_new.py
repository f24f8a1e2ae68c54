"""``scripts/new`` for every kind in a copy of the tree. It extends the lists, everything compiles
at once, and the skeletons' own tests and the tests that run every variant pass, on the real clock
too."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path

import pytest
from bentpipe.cli import app
from helpers import ROOT
from typer.testing import CliRunner

pytestmark = pytest.mark.compiles

TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))


def recipes() -> list[str]:
    """Returns the kinds that ``scripts/new`` knows."""
    loader = SourceFileLoader("new", str(ROOT / "scripts" / "new"))
    spec = spec_from_loader("new", loader)
    assert spec is not None
    module = module_from_spec(spec)
    sys.modules["new"] = module
    loader.exec_module(module)
    return list(module.RECIPES)


def test_every_row_of_the_recipes_has_a_kind_and_every_kind_a_row() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (?:an? )?[^|]+ \| (`[a-z]+`|-) \| ", text, re.MULTILINE)
    kinds = [row.strip("`") for row in rows if row != "-"]
    assert len(kinds) > 15
    assert sorted(kinds) == sorted(recipes())


def new(tree: Path, kind: str, name: str) -> subprocess.CompletedProcess[str]:
    """Runs ``scripts/new KIND NAME`` in a copy."""
    command = [sys.executable, str(tree / "scripts" / "new"), kind, name]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the compiled tree, with a new variant of every kind."""
    tree = tmp_path_factory.mktemp("new") / "tree"
    for folder in ("crates", "docs", "scripts", "tests/authorities"):
        shutil.copytree(ROOT / folder, tree / folder)
    for file in ("Cargo.toml", "Cargo.lock", "rustfmt.toml", "clippy.toml"):
        if (ROOT / file).exists():
            shutil.copy(ROOT / file, tree / file)
    # Another version makes other packages for cargo. Otherwise cargo would compile the checkout
    # again at its next build.
    workspace = (tree / "Cargo.toml").read_text(encoding="utf-8")
    other, count = re.subn(
        r'^version = "([^"]+)"$', r'version = "\1-skeleton"', workspace, flags=re.MULTILINE
    )
    assert count == 1
    (tree / "Cargo.toml").write_text(other, encoding="utf-8")
    # The features of external crates that all bentpipe crates together enable, so that they are
    # compiled already. A build dependency without a build script is not compiled.
    emu = (tree / "crates/emu/Cargo.toml").read_text(encoding="utf-8")
    emu, count = re.subn(r'^(nix = .*)"user"\] }$', r'\1"user", "zerocopy"] }', emu, flags=re.MULTILINE)
    assert count == 1 and "[build-dependencies]" not in emu
    emu += (
        '\n[build-dependencies]\nsyn = { version = "3", features = ["extra-traits", "full", "visit-mut"] }\n'
    )
    (tree / "crates/emu/Cargo.toml").write_text(emu, encoding="utf-8")
    for kind in recipes():
        name = "link/toy-trace" if kind == "trace" else f"toy-{kind}"
        assert new(tree, kind, name).returncode == 0
        # A second variant of the same name is refused, and nothing is overwritten.
        assert "exists" in new(tree, kind, name).stderr
    return tree


def current(tree: Path) -> Path:
    """Returns a folder with the same files as ``tree``, in which skeletons are compiled. The folder
    is kept between runs, and only files that differ are written, so that cargo compiles only
    these."""
    kept = TARGET / "new"
    there = {file.relative_to(tree) for file in tree.rglob("*") if file.is_file()}
    for file in [file for file in kept.rglob("*") if file.is_file()]:
        if file.relative_to(kept) not in there:
            file.unlink()
    for folder in sorted((one for one in kept.rglob("*") if one.is_dir()), reverse=True):
        if not any(folder.iterdir()):
            folder.rmdir()
    for name in there:
        own, text = kept / name, (tree / name).read_bytes()
        if not own.is_file() or own.read_bytes() != text:
            own.parent.mkdir(parents=True, exist_ok=True)
            own.write_bytes(text)
    return kept


def test_skeletons_are_formatted(tree: Path) -> None:
    command = ["cargo", "fmt", "--all", "--check"]
    done = subprocess.run(command, cwd=tree, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_skeletons_compile_and_their_tests_pass(tree: Path) -> None:
    # External crates come from the checkout's own target folder. bentpipe's crates are compiled
    # without optimisation: the run is short.
    ours = [manifest.parent.name for manifest in sorted((ROOT / "crates").glob("*/Cargo.toml"))]
    quick = [f"profile.release.package.bentpipe-{name}.opt-level=0" for name in ours]
    command = ["cargo", "test", "--offline", "--quiet", "--release"]
    command += [word for setting in quick for word in ("--config", setting)]
    command += [
        "-p",
        "bentpipe-link",
        "-p",
        "bentpipe-networks",
        "-p",
        "bentpipe-orbit",
        "-p",
        "bentpipe-transport",
        "-p",
        "bentpipe-engine",
        "-p",
        "bentpipe-emu",
        "--lib",
        "--test",
        "truth",
        "--test",
        "real",
        "--",
        "toy",
        "kinds::",
        "every_application_and_transport",
    ]
    done = subprocess.run(
        command,
        cwd=current(tree),
        env={**os.environ, "CARGO_TARGET_DIR": str(TARGET), "ONLY": "toy"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "warning" not in done.stderr, done.stderr
    passed = sum(int(count) for count in re.findall(r"(\d+) passed", done.stdout))
    assert passed >= 5, done.stdout


def test_a_study_runs_as_it_is_written(tree: Path, tmp_path: Path) -> None:
    study = tree / "studies" / "toy-study"
    result = CliRunner().invoke(app, ["reproduce", str(study), "--out", str(tmp_path / "out"), "--json"])
    # The published value is a placeholder that need not hold.
    assert result.exit_code in (0, 1), result.output
    assert [statement["id"] for statement in json.loads(result.stdout)["statements"]] == ["goodput"]
