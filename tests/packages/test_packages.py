"""The packages in ``dist`` do what they are for, without compiler, repository and network: ``make
test-packages``.

Each test runs in namespaces of its own, with an overlay over the machine's files, so nothing that
it installs is left.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tarfile
import time
import tomllib
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

from manual import blocks  # noqa: E402 - the path has to come first

#: Programs that a machine without a compiler does not have.
COMPILERS = ("cc", "gcc", "g++", "c++", "clang", "cargo", "rustc", "ld", "make", "maturin")

#: The newest symbols of glibc that manylinux_2_28 has.
GLIBC = (2, 28)


def newest(pattern: str) -> Path:
    """Returns the newest file of ``dist`` of a pattern."""
    found = sorted((ROOT / "dist").glob(pattern), key=lambda file: file.stat().st_mtime)
    assert found, f"there is no {pattern} in dist: make deb sdist"
    return found[-1]


@pytest.fixture(scope="module")
def wheel() -> Path:
    return newest("bentpipe-*.whl")


@pytest.fixture(scope="module")
def wheelhouse() -> Path:
    """The wheels of everything that bentpipe needs, in the versions of requirements/dev.txt."""
    place = ROOT / "build/wheelhouse"
    versions = ROOT / "build/constraints.txt"
    lines = (ROOT / "requirements/dev.txt").read_text(encoding="utf-8").splitlines()
    versions.write_text("\n".join(line for line in lines if not line.lstrip().startswith("#")))
    needed = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["dependencies"]
    download = [sys.executable, "-m", "pip", "download", "--quiet", "--dest", place, "--constraint", versions]
    subprocess.run([*map(str, download), *needed], check=True)
    return place


class Machine:
    """This machine without a network, a compiler and the repository, whose files change only in a
    layer above it."""

    def __init__(self, layer: Path) -> None:
        self.layer = layer
        for name in ("upper", "work", "root", "empty"):
            (layer / name).mkdir()

    def run(self, script: str, *, check: bool = True) -> str:
        """Returns what a shell script prints, run in a fresh namespace on the same layer."""
        hidden = [found for name in COMPILERS for found in _places(name)]
        layer = self.layer
        lines = [
            f"mount -t overlay overlay -o lowerdir=/,upperdir={layer}/upper,workdir={layer}/work {layer}/root",
            f"cd {layer}/root",
            f"mount -t tmpfs tmpfs .{ROOT}",
            "for place in proc sys dev; do mount --rbind /$place ./$place; done",
            "mount -t tmpfs tmpfs ./run",
            *(f"mount --bind /dev/null .{place}" for place in hidden),
            "ip link set lo up 2>/dev/null || true",
            'exec chroot . /bin/sh -euc "$SCRIPT"',
        ]
        environment = {
            "PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin",
            "HOME": "/root",
            "SCRIPT": script,
            "LC_ALL": "C.UTF-8",
        }
        done = subprocess.run(
            ["unshare", "--mount", "--net", "--pid", "--fork", "sh", "-euc", "\n".join(lines)],
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0 or not check, done.stdout + done.stderr
        return done.stdout + done.stderr

    def put(self, file: Path) -> None:
        """Copy a file or folder to /packages of the machine."""
        place = self.layer / "upper/packages"
        place.mkdir(exist_ok=True)
        if file.is_dir():
            shutil.copytree(file, place / file.name)
        else:
            shutil.copy(file, place)


def _places(program: str) -> list[Path]:
    folders = [*os.environ["PATH"].split(":"), "/usr/bin", "/usr/local/bin", str(Path.home() / ".cargo/bin")]
    files = {Path(folder) / program for folder in folders if folder}
    return sorted(file for file in files if file.is_file() and not file.is_relative_to(ROOT))


@pytest.fixture
def bare(tmp_path: Path) -> Machine:
    if os.geteuid() != 0:
        pytest.skip("not root: overlays need it")
    return Machine(tmp_path)


def test_the_wheel_needs_no_newer_glibc(wheel: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(wheel) as file:
        libraries = [name for name in file.namelist() if name.endswith(".so")]
        file.extractall(tmp_path, libraries)
    assert libraries == ["bentpipe/_native.abi3.so"]
    symbols = subprocess.check_output(["objdump", "-T", tmp_path / libraries[0]], text=True)
    needed = {tuple(map(int, one.split("."))) for one in re.findall(r"GLIBC_([0-9.]+)", symbols)}
    assert needed and max(needed) <= GLIBC
    linked = subprocess.check_output(["objdump", "-p", tmp_path / libraries[0]], text=True)
    allowed = {
        "libc.so.6",
        "libm.so.6",
        "libdl.so.2",
        "libpthread.so.0",
        "librt.so.1",
        "ld-linux-x86-64.so.2",
    }
    assert set(re.findall(r"NEEDED\s+(\S+)", linked)) <= allowed


def test_the_wheel_is_complete_and_names_no_path_of_this_machine(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as file:
        names = set(file.namelist())
        here = [str(ROOT).encode(), f"{Path.home()}/.".encode()]
        naming = [name for name in names if any(path in file.read(name) for path in here)]
    for part in (
        "testbed/static/index.html",
        "site/docs/tutorial.html",
        "site/playground.html",
        "site/_static/engine.js",
        "site/searchindex.js",
        "report/page.html.j2",
        "guest/changes/timers.c",
        "guest/changes/ticks.kconfig",
    ):
        assert f"bentpipe/{part}" in names
    assert naming == []


def test_a_newcomer_gets_a_figure(wheel: Path, wheelhouse: Path, bare: Machine) -> None:
    bare.put(wheel)
    bare.put(wheelhouse)
    begun = time.monotonic()
    said = bare.run(f"""
        ! cargo --version 2>/dev/null && ! cc --version 2>/dev/null
        mkdir /newcomer && cd /newcomer
        python3 -m venv here || /usr/local/bin/python3 -m venv here
        here/bin/pip install --quiet --no-index --find-links /packages/wheelhouse /packages/{wheel.name}
        PATH=/newcomer/here/bin:$PATH
        bentpipe new geo-ka --out mine.toml
        bentpipe simulate mine.toml --set duration="20 s" --out mine
        bentpipe plot mine
        bentpipe report mine
        ls mine/figures/overview.png mine/report.html
    """)
    print(f"from the wheel to the first figure: {time.monotonic() - begun:.0f} s")
    assert "mine/figures/overview.png" in said and "mine/report.html" in said
    campaign = bare.layer / "upper/packages/campaign.toml"
    campaign.write_text((ROOT / "examples/loss-campaign.toml").read_text().replace('"20 s"', '"2 s"'))
    said = bare.run("""
        PATH=/newcomer/here/bin:$PATH
        cd /newcomer
        bentpipe machine doctor || true
        page=$(bentpipe docs --print tutorial)
        grep -c "1 MB page" "${page#file://}"
        bentpipe campaign run /packages/campaign.toml --out many
        bentpipe campaign table many
        bentpipe variants | head -n 5
        bentpipe serve 2>&1 || true
    """)
    assert "emulation is" in said and "BPF" in said
    assert "install bentpipe[testbed]" in said


def typed(page: str) -> str:
    """Returns the shell script of a reader who does everything that a page of the manual shows:
    files are saved, commands and programs are run."""
    lines = ["set -x"]
    program = ""
    for block in blocks.read(page):
        if not block.runs:
            continue
        name = re.match(r"# (\S+\.toml)\n", block.text)
        if block.language == "sh":
            lines += blocks.commands(block.text)
        elif name:
            lines.append(f"cat >{name[1]} <<'END'\n{block.text}END")
        else:
            program += block.text
            if block.picture:
                program += f'figure.savefig("{Path(block.picture).name}")\n'
            lines.append(f"python - <<'END'\n{program}END")
    return "\n".join(lines)


def test_the_tutorial_works_from_the_wheel(wheel: Path, wheelhouse: Path, bare: Machine) -> None:
    bare.put(wheel)
    bare.put(wheelhouse)
    page = (ROOT / "docs/tutorial.md").read_text(encoding="utf-8")
    begun = time.monotonic()
    said = bare.run(f"""
        mkdir /newcomer && cd /newcomer
        python3 -m venv here || /usr/local/bin/python3 -m venv here
        . here/bin/activate
        pip install --quiet --no-index --find-links /packages/wheelhouse /packages/{wheel.name}
        {typed(page)}
        ls
    """)
    took = time.monotonic() - begun
    print(
        f"the tutorial: {len(page.split())} words, of which the machine needs {took:.0f} s, installation included"
    )
    assert {"first.toml", "page.toml", "tutorial-1.png", "tutorial-2.png"} <= set(said.split())


def test_the_debian_package_installs_and_is_removed(bare: Machine) -> None:
    package = newest("bentpipe_*.deb")
    bare.put(package)
    said = bare.run(f"""
        dpkg --install /packages/{package.name}
        mkdir /newcomer && cd /newcomer
        bentpipe --version
        bentpipe new geo-ka --out mine.toml
        bentpipe simulate mine.toml --set duration="5 s" --out mine
        bentpipe docs --print
        bentpipe serve --help >/dev/null
        gzip -dc /usr/share/man/man1/bentpipe-simulate.1.gz | head -n 5
        bash -c '. /usr/share/bash-completion/completions/bentpipe && complete -p bentpipe'
        test -f /usr/lib/systemd/system/bentpipe-pep.service
        ! command -v systemd-analyze >/dev/null || systemd-analyze verify /usr/lib/systemd/system/bentpipe-pep.service
        rm -r mine mine.toml
    """)
    assert "bentpipe 0." in said and ".TH" in said and "complete" in said
    bare.run("dpkg --purge bentpipe")
    upper = bare.layer / "upper"
    left = [
        str(file.relative_to(upper))
        for file in upper.rglob("*")
        if file.is_file() and "bentpipe" in str(file.relative_to(upper)) and "packages/" not in str(file)
    ]
    assert left == []


def test_the_sources_bring_their_crates() -> None:
    with tarfile.open(newest("bentpipe-*.tar.gz")) as file:
        names = file.getnames()
        top = names[0].split("/")[0]
        member = file.extractfile(f"{top}/Cargo.lock")
        assert member is not None
        lock = member.read().decode()
    locked = re.findall(r'name = "(.+)"\nversion = "(.+)"\nsource', lock)
    folders = {
        name.split("/")[2] for name in names if name.startswith(f"{top}/vendor/") and name.count("/") > 2
    }
    missing = [one for one in locked if f"{one[0]}-{one[1]}" not in folders]
    assert locked and missing == []
    assert f"{top}/.cargo/config.toml" in names and f"{top}/docs/congestion-recipe.md" in names


def test_the_sources_compile_without_a_network(wheelhouse: Path, tmp_path: Path) -> None:
    """With the profile `release`, which compiles in half the time of the default `dist`; without
    Cargo's own store of crates."""
    tools = ROOT / "build/tools/bin/python"
    environment = {
        "PATH": f"{tools.parent}:{os.environ['PATH']}",
        "HOME": str(tmp_path),
        "RUSTUP_HOME": os.environ.get("RUSTUP_HOME", str(Path.home() / ".rustup")),
        "CARGO_HOME": str(tmp_path / "cargo"),
        "MATURIN_PEP517_ARGS": "--profile release",
    }
    if "RUSTUP_TOOLCHAIN" in os.environ:
        environment["RUSTUP_TOOLCHAIN"] = os.environ["RUSTUP_TOOLCHAIN"]
    build = [str(tools), "-m", "pip", "wheel", "--quiet", "--no-index", "--no-deps", "--no-build-isolation"]
    alone = ["unshare", "--net"] if os.geteuid() == 0 else ["unshare", "--user", "--map-root-user", "--net"]
    subprocess.run(
        [*alone, *build, "--wheel-dir", str(tmp_path), str(newest("bentpipe-*.tar.gz"))],
        env=environment,
        cwd=tmp_path,
        check=True,
    )
    (built,) = tmp_path.glob("bentpipe-*.whl")
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "here"], check=True)
    pip = [tmp_path / "here/bin/pip", "install", "--quiet", "--no-index", "--find-links", wheelhouse]
    subprocess.run([*map(str, pip), str(built)], check=True)
    command = str(tmp_path / "here/bin/bentpipe")
    subprocess.run([command, "new", "geo-ka", "--out", "mine.toml"], cwd=tmp_path, check=True)
    said = subprocess.check_output([command, "simulate", "mine.toml", "--no-report"], cwd=tmp_path, text=True)
    assert "transfer" in said
