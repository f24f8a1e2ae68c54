"""The built kernels: one folder per kernel in the user's cache, named by version and recipe."""

from __future__ import annotations

import contextlib
import json
import shutil
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from bentpipe.cache import cache_folder
from bentpipe.errors import InputError

from . import recipe

#: Files in a kernel's folder.
BINARY: Final = "linux"
ABOUT: Final = "kernel.json"
CONFIGURATION: Final = "config"
#: File in the folder of kernels with the folder name of the selected kernel.
USED: Final = "used"

#: The remedy if no kernel is built.
HOW: Final = (
    "build one once with `bentpipe machine kernel build`, from the distribution's source package, in a few "
    "minutes"
)


@dataclass(frozen=True)
class Kernel:
    """A built kernel: its version, source package, the hash and adjustments of its recipe, and the
    arguments for its command line."""

    folder: Path
    version: str
    package: str
    configuration: str
    adjustments: list[str]
    parameters: list[str]
    built: str
    seconds: float

    @property
    def binary(self) -> Path:
        """Path of the kernel's executable."""
        return self.folder / BINARY

    @property
    def fits(self) -> bool:
        """True if this machine's processor and this version's recipe match."""
        return self.configuration == recipe.here().hash

    def as_dict(self) -> dict[str, Any]:
        """All fields, ready for JSON."""
        return asdict(self)

    def about(self) -> dict[str, Any]:
        """Returns the kernel's entry in a run's provenance."""
        return {
            "kernel": self.version,
            "package": self.package,
            "configuration": self.configuration,
            "adjustments": self.adjustments,
            "parameters": self.parameters,
        }


def place() -> Path:
    """Returns the folder of kernels in the user's cache."""
    return cache_folder("kernels")


def kernels() -> list[Kernel]:
    """Returns all built kernels, the newest last."""
    found = []
    for about in place().glob(f"*/{ABOUT}"):
        try:
            fields = json.loads(about.read_text(encoding="utf-8"))
            kernel = Kernel(folder=about.parent, **fields)
        except (OSError, ValueError, TypeError):
            continue
        if kernel.binary.is_file():
            found.append(kernel)
    return sorted(found, key=lambda kernel: kernel.built)


def fitting(version: str | None = None, package: str | None = None) -> Kernel | None:
    """Returns a kernel that fits this machine: of the given version or package, or else the
    selected kernel, or else the newest kernel; None if there is none. A version may be given by its
    first numbers, such as ``6.12``."""
    fit = [kernel for kernel in reversed(kernels()) if kernel.fits]
    if version:
        fit = [kernel for kernel in fit if f"{kernel.version}.".startswith(f"{version}.")]
    elif package:
        fit = [kernel for kernel in fit if kernel.package == package]
    else:
        used = _used()
        fit.sort(key=lambda kernel: kernel.folder.name != used)
    return next(iter(fit), None)


def _used() -> str:
    with contextlib.suppress(OSError):
        return (place() / USED).read_text(encoding="utf-8").strip()
    return ""


def use(version: str) -> Kernel:
    """Selects the kernel of a version for all future runs. Raises :class:`bentpipe.InputError` if
    none fits."""
    kernel = current(version)
    unfinished = place() / f"{USED}.new"
    unfinished.write_text(kernel.folder.name + "\n", encoding="utf-8")
    unfinished.rename(place() / USED)
    return kernel


def current(version: str | None = None) -> Kernel:
    """Returns the kernel to use, or the kernel of a version. Raises :class:`bentpipe.InputError`
    with a remedy if there is none."""
    if kernel := fitting(version):
        return kernel
    if version and (fit := [kernel.version for kernel in kernels() if kernel.fits]):
        raise InputError(
            f"there is no kernel {version}; there are {', '.join(fit)}: build it with `bentpipe machine kernel "
            "build --source FILE`, from a package or an archive of its source"
        )
    others = kernels()
    if others:
        why = f"the kernels in {place()} were built for another processor or by another version of bentpipe"
    else:
        why = f"there is none in {place()}"
    raise InputError(f"the clock `kernel` needs a kernel, but {why}: {HOW}")


def keep(folder: Path, about: dict[str, Any]) -> Kernel:
    """Writes the note of a folder's kernel, so that it counts as built."""
    unfinished = folder / f"{ABOUT}.new"
    unfinished.write_text(json.dumps(about, indent=2) + "\n", encoding="utf-8")
    unfinished.rename(folder / ABOUT)
    return Kernel(folder=folder, **about)


def remove() -> list[Path]:
    """Removes all kernels, unfinished builds and the selection. Returns the removed folders."""
    (place() / USED).unlink(missing_ok=True)
    folders = sorted(folder for folder in place().glob("*") if folder.is_dir())
    for folder in folders:
        shutil.rmtree(folder)
    return folders
