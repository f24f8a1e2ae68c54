"""The configuration of the guest's kernel, and the changes to its source for this machine's
processor."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from bentpipe.errors import InputError

from .change import Change, Feature, changes

FRAGMENT: Final = Path(__file__).with_name("guest.config")

#: Since Linux 6.16, a guest's programs can stop themselves at each system call by seccomp and a
#: signal. Older kernels stop them by ptrace. The signal's frame contains the floating-point state
#: of any size.
STOPS: Final = Feature("arch/um/os-Linux/skas/process.c", "int using_seccomp;")


@dataclass(frozen=True)
class Recipe:
    """The configuration and the changes to the source."""

    configuration: str
    changes: tuple[Change, ...]

    @property
    def hash(self) -> str:
        """Twelve hexadecimal digits that differ between recipes."""
        text = json.dumps([self.configuration, [asdict(change) for change in self.changes]])
        return hashlib.sha256(text.encode()).hexdigest()[:12]

    def apply(self, source: Path) -> list[str]:
        """Applies the changes that this source needs, and returns their titles. Raises
        :class:`bentpipe.InputError` for an unsupported source."""
        return [change.title for change in self.changes if change.apply(source)]


def recipe(state_bytes: int | None) -> Recipe:
    """Returns the recipe for a processor whose kernel saves ``state_bytes`` of state beyond the
    general registers; None if unknown.

    >>> [change.name for change in recipe(2696).changes][:3]
    ['calls', 'clock_loops', 'floating_point']
    >>> larger = {change.title for change in recipe(11000).changes} - {change.title for change in recipe(2696).changes}
    >>> sorted(larger)
    ['kernel stacks of 16 pages', 'room for 11008 bytes of processor state']
    """
    return Recipe(FRAGMENT.read_text(encoding="utf-8"), changes(state_bytes))


def parameters(source: Path) -> list[str]:
    """Returns the command-line arguments of a kernel from this source."""
    return ["seccomp=on"] if STOPS.holds(source) else []


def here() -> Recipe:
    """Returns the recipe for this machine's processor. Raises :class:`bentpipe.InputError` if it is
    not x86-64."""
    from bentpipe import _native

    state: Any = _native.processor_state_bytes()
    if state is None:
        raise InputError("User-Mode Linux, and so the clock `kernel`, needs an x86-64 processor")
    return recipe(state)


def missing(configuration: str, result: str) -> list[str]:
    r"""Returns the lines of a configuration that the kernel's own tool did not accept.

    >>> missing("CONFIG_A=y\n# CONFIG_B is not set\nCONFIG_C=y\n", "CONFIG_A=y\n# CONFIG_C is not set\n")
    ['CONFIG_C=y']
    """
    lines = set(result.splitlines())
    names = {line.partition("=")[0] for line in lines}
    off = re.compile(r"# (CONFIG_\w+) is not set")
    return [
        line
        for line in configuration.splitlines()
        if (line.startswith("CONFIG_") and line not in lines)
        or ((match := off.match(line)) and match[1] in names)
    ]
