"""The built kernels: a folder for each in the user's cache, named by version and recipe."""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from bentpipe.errors import InputError

from . import recipe

#: Files in a kernel's folder.
BINARY: Final = "linux"
ABOUT: Final = "kernel.json"
CONFIGURATION: Final = "config"

#: The remedy if there is none.
HOW: Final = "`bentpipe kernel build` makes one from the distribution's source package, once, in some minutes"


@dataclass(frozen=True)
class Kernel:
    """A built kernel: its version, source package, and the hash and adjustments of its recipe."""

    folder: Path
    version: str
    package: str
    configuration: str
    adjustments: list[str]
    built: str
    seconds: float

    @property
    def binary(self) -> Path:
        """Path of the kernel's executable."""
        return self.folder / BINARY

    @property
    def fits(self) -> bool:
        """Whether this machine's processor and this version's recipe match."""
        return self.configuration == recipe.here().hash

    def as_dict(self) -> dict[str, Any]:
        """All fields, ready for JSON."""
        return asdict(self)

    def about(self) -> dict[str, Any]:
        """The kernel's entry in a run's provenance."""
        return {
            "kernel": self.version,
            "package": self.package,
            "configuration": self.configuration,
            "adjustments": self.adjustments,
        }


def place() -> Path:
    """Returns the folder of kernels: ``$XDG_CACHE_HOME/bentpipe/kernels``, or below ``~/.cache``."""
    cache = os.environ.get("XDG_CACHE_HOME", "")
    home = Path(cache) if Path(cache).is_absolute() else Path.home() / ".cache"
    return home / "bentpipe" / "kernels"


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


def fitting() -> Kernel | None:
    """Returns the newest kernel that fits; None if there is none."""
    return next((kernel for kernel in reversed(kernels()) if kernel.fits), None)


def current() -> Kernel:
    """Returns the kernel to use. Raises :class:`bentpipe.InputError` with a remedy if there is none."""
    if kernel := fitting():
        return kernel
    others = kernels()
    if others:
        why = f"those in {place()} were built for another processor or by another version of bentpipe"
    else:
        why = f"there is none in {place()}"
    raise InputError(f"the clock `kernel` needs a kernel, and {why}: {HOW}")


def keep(folder: Path, about: dict[str, Any]) -> Kernel:
    """Write the note of a folder's kernel, so that it counts as built."""
    unfinished = folder / f"{ABOUT}.new"
    unfinished.write_text(json.dumps(about, indent=2) + "\n", encoding="utf-8")
    unfinished.rename(folder / ABOUT)
    return Kernel(folder=folder, **about)


def remove() -> list[Path]:
    """Remove all kernels and unfinished builds; returns what was removed."""
    folders = sorted(folder for folder in place().glob("*") if folder.is_dir())
    for folder in folders:
        shutil.rmtree(folder)
    return folders
