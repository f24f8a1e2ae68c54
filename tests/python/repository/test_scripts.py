"""The checks of `make test` find the faults for which they exist."""

from __future__ import annotations

import importlib.machinery
import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
from helpers import ROOT

SCRIPTS = ROOT / "scripts"


def test_skipped_rust_tests_are_counted_with_the_reason(tmp_path: Path) -> None:
    file = tmp_path / "skipped"
    lines = [
        "a::x: no network namespaces: EPERM",
        "y: no network namespaces: EPERM",
        "y: no tshark",
        "y: no tshark",
    ]
    file.write_text("".join(f"{line}\n" for line in lines))
    said = subprocess.run([SCRIPTS / "skipped", file], check=True, capture_output=True, text=True).stdout
    first, *rest = said.splitlines()
    assert first == "2 Rust tests skipped:"
    assert sorted(rest) == ["SKIPPED [1] no tshark: y", "SKIPPED [2] no network namespaces: EPERM: a::x y"]
    file.write_text("")
    said = subprocess.run([SCRIPTS / "skipped", file], check=True, capture_output=True, text=True).stdout
    assert said == "0 Rust tests skipped\n"


@pytest.mark.parametrize(
    "wanted, manifest, program, runs",
    [
        (None, "", "clock-1", True),
        (None, "real-time = true", "clock-1", True),
        ("no", "", "clock-1", True),
        ("no", "real-time = true", "clock-1", False),
        ("yes", "", "clock-1", False),
        ("yes", "real-time = true", "clock-1", True),
        # The unit tests of a library.
        ("no", "real-time = true", "bentpipe_clock-1", True),
        ("yes", "real-time = true", "bentpipe_clock-1", False),
    ],
)
def test_every_test_program_runs_in_one_of_two_turns(
    tmp_path: Path, wanted: str | None, manifest: str, program: str, runs: bool
) -> None:
    (own := tmp_path / program).write_text("#!/bin/sh\necho ran $1; exit 3\n")
    own.chmod(0o755)
    (tmp_path / "Cargo.toml").write_text(f"[package]\n{manifest}\n")
    environment = {name: value for name, value in os.environ.items() if name != "BENTPIPE_REAL_TIME"}
    if wanted is not None:
        environment["BENTPIPE_REAL_TIME"] = wanted
    command: list[str | Path] = [SCRIPTS / "runner", own, "words"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == ((3, "ran words\n") if runs else (0, ""))


@pytest.fixture(scope="module")
def dependencies() -> ModuleType:
    """Returns the script as a module."""
    loader = importlib.machinery.SourceFileLoader("dependencies", str(SCRIPTS / "dependencies"))
    spec = importlib.util.spec_from_loader("dependencies", loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


def test_a_crate_that_is_not_used_is_found(
    dependencies: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dependencies, "ROOT", tmp_path)
    folder = tmp_path / "crates/one"
    for file, text in {
        "src/lib.rs": "// serde_json, once\nuse used_here::Thing;\n/// ```\n/// in_doc::f();\n/// ```\n",
        "tests/all.rs": "use only_tests as other;\n",
    }.items():
        (folder / file).parent.mkdir(parents=True)
        (folder / file).write_text(text)
    needed = [
        ("used-here", None),
        ("serde_json", None),
        ("only-tests", None),
        ("only-tests", "dev"),
        ("in-doc", "dev"),
    ]
    package = {
        "manifest_path": str(folder / "Cargo.toml"),
        "dependencies": [{"name": name, "rename": None, "kind": kind} for name, kind in needed],
    }
    assert list(dependencies.unused_crates([package])) == [
        "crates/one/Cargo.toml: dependency serde_json is not used",
        "crates/one/Cargo.toml: dependency only-tests is not used",
    ]


def test_a_public_function_that_is_not_used_is_found(dependencies: ModuleType, tmp_path: Path) -> None:
    for file, text in {
        "crates/one/src/lib.rs": "/// As `forgotten`.\npub fn used() {}\npub const fn forgotten() {}\nfn own() {}\n",
        "crates/one/tests/all.rs": "#[test]\nfn works() { one::used() }\n",
    }.items():
        (tmp_path / file).parent.mkdir(parents=True)
        (tmp_path / file).write_text(text)
    assert list(dependencies.unused_functions(tmp_path)) == ["crates/one/src/lib.rs: nothing uses forgotten"]


def test_a_python_package_that_is_not_used_is_found(dependencies: ModuleType, tmp_path: Path) -> None:
    for file, text in {
        "pyproject.toml": '[project]\ndependencies = ["numpy>=2", "polars"]\n'
        '[project.optional-dependencies]\ndev = ["ruff", "pandas<9", "pytest-one", "pytest-two", "mypy"]\n',
        "python/a.py": "import numpy.linalg\n",
        "tests/b.py": "import polars\npolars.f().to_pandas()\n",
        "Makefile": "test:\n\t$(BIN)/ruff check\n\tpytest --one\n",
        "scripts/c": "#!/bin/sh\n# not mypy\n",
    }.items():
        (tmp_path / file).parent.mkdir(exist_ok=True)
        (tmp_path / file).write_text(text)
    assert list(dependencies.unused_packages(tmp_path)) == [
        "pyproject.toml: polars is not used",
        "pyproject.toml: pytest-two is not used",
        "pyproject.toml: mypy is not used",
    ]


def test_a_package_of_the_page_that_is_not_used_is_found(dependencies: ModuleType, tmp_path: Path) -> None:
    for file, text in {
        "package.json": '{"scripts": {"check": "biome check . && tsc --noEmit"}, "dependencies": {"react": "1", '
        '"@flow/react": "1", "left": "1", "map-of": "1"}, "devDependencies": {"@biomejs/biome": "1", '
        '"@types/react": "1", "@types/left": "1", "typescript": "1", "vite": "1", "eslint": "1"}}',
        "vite.config.ts": 'import { defineConfig } from "vite";\n',
        "src/views/a.tsx": 'import { memo } from "react";\nimport "@flow/react/style.css";\nimport "./left";\n',
        "src/b.ts": 'const map = import("map-of/land.json");\n',
        "node_modules/left/index.ts": 'import "left";\n',
    }.items():
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).write_text(text)
    found = list(dependencies.unused_web_packages(tmp_path))
    assert [one.partition(": ")[2] for one in found] == [
        "left is not used",
        "@types/left is not used",
        "eslint is not used",
    ]


#: Stands for pytest: the call that runs many files in parallel fails `FAILING` tests and exits with
#: `CODE`; the call that repeats files exits with `REPEATED`.
PYTEST = """#!/bin/sh
case "$*" in
*"not quiet"*)
    for number in $(seq $FAILING); do echo "tests/test_$((number % 2)).py::test_$number" >>"$BENTPIPE_FAILED"; done
    exit $CODE
    ;;
*test_0*|*test_1*)
    echo "repeated: $*"
    exit $REPEATED
    ;;
esac
"""


#: Stands for cargo. It records the test programs on the real clock; the program in a folder fails
#: `BUSY` times.
CARGO = """
[ "$BENTPIPE_REAL_TIME" = yes ] || exit 0
case $* in
*"--test file"*) echo file >>turns ;;
*"--test folder"*) echo folder >>turns; [ $(grep -c folder turns) -gt $BUSY ] || exit 101 ;;
*) exit 1 ;;
esac
"""


def run_tests(tmp_path: Path, variables: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """Runs ``scripts/test`` with stand-ins for its programs."""
    stand_ins = dict.fromkeys(("check", "wasm", "features", "skipped", "web"), "exit 0")
    files = {f"scripts/{name}": text for name, text in stand_ins.items()}
    files |= {".venv/bin/cargo": CARGO, ".venv/bin/chrt": "exit 0"}
    files |= {name: f"#!/bin/sh\n{text}\n" for name, text in files.items()}
    files |= {".venv/bin/pytest": PYTEST, ".venv/bin/python": f'#!/bin/sh\nexec {sys.executable} "$@"\n'}
    files |= {f"scripts/{name}": (SCRIPTS / name).read_text() for name in ("test", "contained")}
    # Marks that the script recognises.
    files["tests/python/test_marks.py"] = "mark.alone mark.quiet\n"
    files["crates/clock/Cargo.toml"] = "real-time = true\n"
    files |= dict.fromkeys(("crates/clock/tests/file.rs", "crates/clock/tests/folder/main.rs"), "")
    files |= dict.fromkeys(("crates/clock/tests/common/mod.rs", "crates/other/tests/no.rs"), "")
    files["crates/other/Cargo.toml"] = ""
    for name, text in files.items():
        (file := tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        file.chmod(0o755)
    (tmp_path / "turns").touch()
    environment = os.environ | variables
    # As if no `scripts/test` ran this test.
    environment.pop("BENTPIPE_CONTAINED", None)
    environment["PATH"] = f"{tmp_path / '.venv/bin'}:{os.environ['PATH']}"
    return subprocess.run(
        [tmp_path / "scripts/test"], env=environment, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize("busy, exits", [(0, 0), (1, 0), (2, 101)])
def test_programs_of_rust_on_the_real_clock_that_fail_are_repeated_once(
    tmp_path: Path, busy: int, exits: int
) -> None:
    done = run_tests(tmp_path, {"FAILING": "0", "CODE": "0", "REPEATED": "0", "BUSY": str(busy)})
    said = done.stdout + done.stderr
    assert done.returncode == exits, said
    assert ("repeating Rust's tests" in said) == (busy > 0), said
    # Only the program that failed.
    assert sorted((tmp_path / "turns").read_text().split()) == ["file"] + ["folder"] * (2 if busy else 1)


@pytest.mark.parametrize(
    "failing, code, repeated, exits, says",
    [
        (0, 0, 0, 0, ()),
        (2, 1, 0, 0, ("tests/test_0.py tests/test_1.py", "passed alone: tests/test_1.py::test_1")),
        (2, 1, 1, 1, ("tests/test_0.py tests/test_1.py", "bentpipe: failed: .venv/bin/pytest -m not slow")),
        # Too many for chance, and a run that failed for another reason than its tests.
        (6, 1, 0, 1, ("bentpipe: failed: .venv/bin/pytest -m not slow",)),
        (0, 1, 0, 1, ("bentpipe: failed: .venv/bin/pytest -m not slow",)),
        (2, 3, 0, 1, ("bentpipe: failed: .venv/bin/pytest -m not slow",)),
    ],
)
def test_files_of_tests_that_fail_beside_others_are_repeated_alone(
    tmp_path: Path, failing: int, code: int, repeated: int, exits: int, says: tuple[str, ...]
) -> None:
    variables = {"FAILING": str(failing), "CODE": str(code), "REPEATED": str(repeated), "BUSY": "0"}
    done = run_tests(tmp_path, variables)
    said = done.stdout + done.stderr
    assert done.returncode == exits, said
    assert all(text in said for text in says), said
    assert ("repeated:" in said) == any("test_0.py" in text for text in says), said


#: A program that starts another one in its own session. The latter ignores SIGTERM if its argument
#: says so, and ends or waits.
LEAVING = """
import subprocess, sys, time
how, waits = sys.argv[1:]
program = "import signal, sys, time; " + ("signal.signal(15, signal.SIG_IGN); " if how == "stubborn" else "")
program += "print(flush=True); time.sleep(600)"
words = [sys.executable, "-c", program, "a process that is left"]
child = subprocess.Popen(words, stdout=subprocess.PIPE, start_new_session=True)
child.stdout.readline()
print(child.pid, flush=True)
time.sleep(600 if waits == "waits" else 0)
sys.exit(7)
"""


@pytest.mark.parametrize("how", ["obedient", "stubborn"])
@pytest.mark.parametrize("waits", ["waits", "ends"])
def test_no_process_is_left_of_what_is_contained(tmp_path: Path, how: str, waits: str) -> None:
    words = [sys.executable, "-c", LEAVING, how, waits]
    loader = "import runpy, sys; sys.argv = sys.argv[1:]; code = runpy.run_path(sys.argv[0]);"
    # SIGKILL follows after a second instead of 15.
    loader += "code['GRACE_S'][15] = 1.0; sys.exit(code['main']())"
    process = subprocess.Popen(
        [sys.executable, "-c", loader, str(SCRIPTS / "contained"), *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    left = int(process.stdout.readline())
    if waits == "waits":
        os.kill(left, 0)
        process.terminate()
    _, said = process.communicate(timeout=60)
    assert process.returncode == (143 if waits == "waits" else 7), said
    with pytest.raises(ProcessLookupError):
        os.kill(left, 0)
    assert f"SIGTERM to remaining process {left}: " in said and "a process that is left" in said
    assert (f"SIGKILL to remaining process {left}" in said) == (how == "stubborn"), said
