"""Exports a path to mahimahi (Netravali et al. 2015): traces of delivery opportunities, and a
script that starts a command behind its shells."""

from __future__ import annotations

from typing import Final

from .course import Course
from .shell import comments

LOSSES: Final = (
    "mm-delay has one constant delay for both directions, in whole milliseconds: the mean.",
    "Opportunities are in whole milliseconds, and each delivers up to 1500 bytes.",
    "The traces restart at their end.",
)

_RUN: Final = """\
# Start a command at the client: sh run.sh COMMAND...
set -eu
here=$(cd -P "$(dirname "$0")" && pwd)
exec mm-delay {delay} mm-loss uplink {up_loss} mm-loss downlink {down_loss} \\
    mm-link "$here/up.trace" "$here/down.trace" \\
    --uplink-queue=droptail --uplink-queue-args=packets={up_queue} \\
    --downlink-queue=droptail --downlink-queue-args=packets={down_queue} -- "$@"
"""


def files(course: Course) -> dict[str, str]:
    """Returns ``up.trace``, ``down.trace`` and the script ``run.sh``."""
    run = _RUN.format(
        delay=round(1e3 * course.rtt_s / 2),
        up_loss=f"{course.up.loss:.6g}",
        down_loss=f"{course.down.loss:.6g}",
        up_queue=course.up.queue_packets,
        down_queue=course.down.queue_packets,
    )
    return {
        "up.trace": trace(course.up.opportunities()),
        "down.trace": trace(course.down.opportunities()),
        "run.sh": f"#!/bin/sh\n{comments(course, LOSSES)}\n{run}",
    }


def trace(opportunities: list[int]) -> str:
    """Returns a trace: a line per opportunity."""
    return "".join(f"{time_ms}\n" for time_ms in opportunities)
