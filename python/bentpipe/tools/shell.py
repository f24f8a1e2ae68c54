"""Parts of the shell scripts that impose a course: comments, and changes at given times."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from bentpipe import _native

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from .course import Course, Direction, State

#: Losses of tools that impose paths that change by netem.
OUTAGE: Final = "In a step without any delivery, packets are lost instead of waiting."
ON_ARRIVAL: Final = (
    "netem schedules a packet when it arrives, so a new rate does not reach packets that wait."
)

#: Applies each line of a table at its time, in milliseconds from the start.
_LOOP = """\
start=$(date +%s%N)
while read -r at values; do
    left=$((at - ($(date +%s%N) - start) / 1000000))
    if [ "$left" -gt 0 ]; then sleep "$((left / 1000)).$(printf %03d $((left % 1000)))"; fi
    # shellcheck disable=SC2086 - the values are words
    apply $values
done <<'STEPS'
"""


def comments(
    course: Course, losses: Iterable[str], changing: Iterable[str] = (), step_ms: int = 0, mark: str = "#"
) -> str:
    """Returns the comments at the head of an exported file: its origin, and what it loses. The
    losses ``changing``, and those of the steps of ``step_ms``, apply to paths that change."""
    down, up = course.down.mean, course.up.mean
    found = [*course.losses, *losses]
    if not (course.down.constant and course.up.constant):
        if step_ms:
            found.append(f"Rate and delay change every {step_ms} ms, to the mean of the step.")
        found += changing
    lines = [
        f"Path between {course.client} (client) and {course.server} (server) of the scenario {course.name},",
        f"exported by bentpipe {_native.version()}. Means: {down.rate_bit_s / 1e6:.4g} Mbit/s down and "
        f"{up.rate_bit_s / 1e6:.4g} Mbit/s up,",
        f"{1e3 * down.delay_s:.4g} ms down and {1e3 * up.delay_s:.4g} ms up.",
        "",
        "Losses of fidelity:",
        *(f"- {one}" for one in found),
    ]
    return "\n".join(f"{mark} {line}".rstrip() for line in lines) + "\n"


def netem_values(way: Direction, state: State) -> tuple[int, int, str]:
    """Returns delay in microseconds, rate in kbit/s and loss in percent. In an outage, everything
    is lost."""
    loss = 100 if state.rate_bit_s <= 0 else 100 * way.loss
    return round(1e6 * state.delay_s), max(1, round(state.rate_bit_s / 1e3)), f"{loss:.6g}"


def script(head: str, prepare: str, apply: str, rows: Sequence[Sequence[object]]) -> str:
    """Returns a script that calls the function ``apply`` with each row, whose first value is its
    time in milliseconds."""
    table = "".join(" ".join(map(str, row)) + "\n" for row in rows)
    return f"#!/bin/sh\n{head}\nset -eu\n{prepare}\napply() {{\n{apply}}}\n\n{_LOOP}{table}STEPS\n"
