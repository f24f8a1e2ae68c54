"""The configuration of the guest's kernel, and the changes to its source for this machine's processor."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from bentpipe.errors import InputError

FRAGMENT: Final = Path(__file__).with_name("guest.config")

#: Ticks per second of the distributions' kernels, the unit of TCP's timers.
TICKS: Final = 250

#: The system calls by which a program of x86-64 reads the clock. The kernel's own readings, such as those of TCP for
#: each segment, do not count as waiting.
CLOCK_GETTIME: Final = 228
GETTIMEOFDAY: Final = 96

#: Readings of the clock without a pause, as a power of two, after which a reading takes twice as long. So a program
#: that waits in a loop notices the end of its wait late by at most 1/16384 of it.
READINGS: Final = 14

#: The longest reading of the clock: 256 ns times two to this power, a millisecond.
LONGEST: Final = 12

#: Bytes of processor state for which the unmodified source has room: AVX-512 and protection keys.
ROOM: Final = 2696


@dataclass(frozen=True)
class Edit:
    """A change to the source: in ``file``, ``text`` replaces the match of ``pattern``, because of ``reason``."""

    file: str
    pattern: str
    text: str
    reason: str

    def apply(self, source: Path) -> None:
        """Apply the change once. Raises :class:`bentpipe.InputError` if the source has no match."""
        file = source / self.file
        before = file.read_text(encoding="utf-8") if file.is_file() else ""
        if self.text in before:
            # Already applied by an interrupted build.
            return
        after, count = re.subn(self.pattern, self.text, before)
        if count != 1:
            raise InputError(
                f"{file} is not as bentpipe knows it ({self.reason}): this version of the kernel is not supported"
            )
        if after != before:
            file.write_text(after, encoding="utf-8")


@dataclass(frozen=True)
class Recipe:
    """The configuration and the changes to the source."""

    configuration: str
    edits: tuple[Edit, ...]

    @property
    def hash(self) -> str:
        """Twelve digits that differ if recipes do."""
        text = json.dumps([self.configuration, [asdict(edit) for edit in self.edits]])
        return hashlib.sha256(text.encode()).hexdigest()[:12]

    @property
    def adjustments(self) -> list[str]:
        """The changes in words."""
        return list(dict.fromkeys(edit.reason for edit in self.edits))


def recipe(state_bytes: int | None) -> Recipe:
    """Returns the recipe for a processor whose kernel saves ``state_bytes`` of state beyond the general registers.

    User-Mode Linux keeps this state of each process in a field of fixed size. Processors with AMX need four times as
    much; a kernel that was built without the room ends at its first process. The field is on the kernel's stack, which
    must grow with it.

    >>> print(*recipe(2696).adjustments, sep="; ")
    250 ticks a second, as distributions have; timers expire at whole steps of the clock; loops that read the clock end
    >>> recipe(11008).adjustments[3:]
    ['room for 11008 bytes of processor state', 'kernel stacks of 16 pages']
    """
    edits = [
        Edit(
            "arch/um/Kconfig",
            r"(config HZ\n\tint\n\tdefault) \d+",
            rf"\g<1> {TICKS}",
            f"{TICKS} ticks a second, as distributions have",
        ),
        # Unmodified, a timer expires a nanosecond later for each one that was set before, and the clock rounds down:
        # a run would depend on the number of timers set before it began.
        Edit(
            "arch/um/kernel/time.c",
            r"\tdelta \+= 1;\n",
            "\tdelta = roundup(time_travel_time + delta + 1, TIMER_MULTIPLIER) - time_travel_time;\n",
            "timers expire at whole steps of the clock",
        ),
        # A reading of the clock moves it by 256 ns, so that a loop that reads the clock comes to an end. But iperf3
        # waits for its server in such a loop: a round trip over a satellite would take a million readings, and ten
        # seconds of a processor.
        Edit(
            "arch/um/kernel/time.c",
            r"void time_travel_sleep\(void\)\n",
            "static unsigned int time_travel_readings;\n\n"
            "static unsigned int time_travel_doublings(void)\n{\n"
            "\tlong call = UPT_SYSCALL_NR(&current->thread.regs.regs);\n\n"
            f"\tif (call != {CLOCK_GETTIME} && call != {GETTIMEOFDAY})\n\t\treturn 0;\n"
            f"\treturn min(time_travel_readings++ >> {READINGS}, {LONGEST}U);\n}}\n\n"
            "void time_travel_sleep(void)\n",
            "loops that read the clock end",
        ),
        Edit(
            "arch/um/kernel/time.c",
            r"\ttime_travel_update_time\(next, true\);\n",
            "\ttime_travel_readings = 0;\n\ttime_travel_update_time(next, true);\n",
            "loops that read the clock end",
        ),
        Edit(
            "arch/um/kernel/time.c",
            r"\t\t\ttime_travel_update_time_rel\(TIMER_MULTIPLIER\);\n",
            "\t\t\ttime_travel_update_time_rel(TIMER_MULTIPLIER << time_travel_doublings());\n",
            "loops that read the clock end",
        ),
    ]
    if state_bytes is not None and state_bytes > ROOM:
        size = -(-state_bytes // 64) * 64
        edits += [
            Edit(
                "arch/x86/um/user-offsets.c",
                r"DEFINE_LONGS\(HOST_FP_SIZE, \d+\)",
                f"DEFINE_LONGS(HOST_FP_SIZE, {size})",
                f"room for {size} bytes of processor state",
            ),
            Edit(
                "arch/um/Kconfig",
                r"(config KERNEL_STACK_ORDER\n(?:\t.*\n)*?\tdefault) \d+( if 64BIT)",
                r"\g<1> 4\g<2>",
                "kernel stacks of 16 pages",
            ),
        ]
    return Recipe(FRAGMENT.read_text(encoding="utf-8"), tuple(edits))


def here() -> Recipe:
    """Returns the recipe for this machine's processor. Raises :class:`bentpipe.InputError` if it is not x86-64."""
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
