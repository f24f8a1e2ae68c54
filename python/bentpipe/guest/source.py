"""The source of the kernel: a file, or the distribution's package, either installed or downloaded
by apt-get."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bentpipe.errors import InputError

#: Folder into which Debian's and Ubuntu's packages install the source.
INSTALLED: Final = Path("/usr/src")

#: The programs that a build needs, with the Debian package of each.
TOOLS: Final = {
    "make": "make",
    "gcc": "gcc",
    "ld": "binutils",
    "flex": "flex",
    "bison": "bison",
    "bc": "bc",
    "tar": "tar",
    "xz": "xz-utils",
    "bzip2": "bzip2",
}


@dataclass(frozen=True)
class Source:
    """A source archive, with its package and version."""

    archive: Path
    package: str


def need_tools() -> None:
    """Installs missing tools if run by root. Otherwise raises ``OSError`` with the packages to
    install."""
    missing = sorted({package for tool, package in TOOLS.items() if shutil.which(tool) is None})
    if not missing:
        return
    if os.geteuid() == 0 and shutil.which("apt-get"):
        _apt("install", "-y", "--no-install-recommends", *missing)
    if still := sorted({package for tool, package in TOOLS.items() if shutil.which(tool) is None}):
        raise OSError(f"building a kernel needs {', '.join(still)}: apt-get install {' '.join(still)}")


def find(downloads: Path, file: Path | None = None) -> Source:
    """Returns the source in ``file``. Without ``file``, returns the installed source package, or
    downloads the package into ``downloads`` by apt-get. Raises ``OSError`` with a remedy if no
    source is available, and :class:`bentpipe.InputError` for a file without kernel source."""
    if file:
        return _given(file, downloads)
    if source := _installed():
        return source
    if shutil.which("apt-get") is None or shutil.which("dpkg-deb") is None:
        raise OSError(
            f"there is no linux-source-*.tar.xz in {INSTALLED} and no apt-get to download one: install the "
            "distribution's package of the kernel's source"
        )
    name = _newest_name()
    if name is None and os.geteuid() == 0:
        _apt("update")
        name = _newest_name()
    if name is None:
        raise OSError(
            "apt-get knows no package linux-source: run apt-get update as root, then repeat the command"
        )
    downloads.mkdir(parents=True, exist_ok=True)
    if not (package := _downloaded(downloads, name)):
        _apt("download", name, folder=downloads)
        package = _downloaded(downloads, name)
    if package is None:
        raise OSError(f"apt-get download {name} left nothing in {downloads}")
    return _of_package(package, downloads)


def _given(file: Path, downloads: Path) -> Source:
    """Returns the source in a package (``.deb``) or an archive, of a distribution or of the
    kernel's authors."""
    allowed = "allowed: a package linux-source-*.deb, or an archive linux-*.tar.*"
    if not file.is_file():
        raise InputError(f"{file} is not a file; {allowed}")
    if file.suffix == ".deb":
        if shutil.which("dpkg-deb") is None:
            raise OSError(
                f"opening {file} needs dpkg-deb: name the archive linux-source-*.tar.* inside this package "
                "instead"
            )
        return _of_package(file, downloads)
    if not re.match(r"linux-.*\.tar(\.|$)", file.name):
        raise InputError(f"{file} is not a source of the kernel; {allowed}")
    return Source(file.resolve(), file.name)


def _of_package(package: Path, downloads: Path) -> Source:
    folder = downloads / package.stem
    name, version = (
        _output("dpkg-deb", "-f", str(package), field).strip() for field in ("Package", "Version")
    )
    folder.mkdir(parents=True, exist_ok=True)
    _output("dpkg-deb", "-x", str(package), str(folder))
    archives = sorted(folder.glob("usr/src/linux-source-*.tar.*"))
    if not archives:
        raise InputError(f"the package {package} has no linux-source-*.tar.* in it")
    return Source(archives[-1], f"{name} {version}")


def _installed() -> Source | None:
    archives = [path for path in INSTALLED.glob("linux-source-*.tar.*") if _numbers(path.name)]
    for archive in sorted(archives, key=lambda path: _numbers(path.name), reverse=True):
        name = archive.name.partition(".tar")[0]
        done = subprocess.run(
            ["dpkg-query", "-W", "-f", "${Version}", name], capture_output=True, text=True, check=False
        )
        return Source(archive, f"{name} {done.stdout}".strip())
    return None


def _newest_name() -> str | None:
    names = _output("apt-cache", "pkgnames", "linux-source-").split()
    plain = [name for name in names if re.fullmatch(r"linux-source-\d+(\.\d+)+", name)]
    return max(plain, key=_numbers, default=None)


def _downloaded(folder: Path, name: str) -> Path | None:
    return max(folder.glob(f"{name}_*.deb"), default=None)


def _numbers(text: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", text)]


def _output(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise OSError(f"{' '.join(command)}: {done.stderr.strip()}")
    return done.stdout


def _apt(*words: str, folder: Path | None = None) -> None:
    done = subprocess.run(
        ["apt-get", "-qq", *words],
        cwd=folder,
        env=os.environ | {"DEBIAN_FRONTEND": "noninteractive"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        lines = (done.stderr or done.stdout).strip().splitlines()
        raise OSError(f"apt-get {' '.join(words)}: {lines[-1] if lines else f'exit code {done.returncode}'}")
