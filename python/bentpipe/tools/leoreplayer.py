"""Exports a path to LeoReplayer (Lai et al. 2025), which extends mahimahi by a delay over time."""

from __future__ import annotations

from typing import Final

import numpy as np

from bentpipe.series import DELAY_STEP_MS

from .course import Course
from .mahimahi import trace
from .shell import comments

LOSSES: Final = (
    "mm-delay has the same delay in both directions, in whole milliseconds: the mean of both.",
    "Opportunities are in whole milliseconds, and each delivers up to 1500 bytes.",
    "The traces restart at their end.",
)

_RUN: Final = """\
# Start a command at the client: sh run.sh COMMAND...
# bw_1.txt is the direction to the client, bw_2.txt the direction to the server.
set -eu
here=$(cd -P "$(dirname "$0")" && pwd)
exec mm-delay {step} "$here/delay_1.txt" mm-loss uplink {up_loss} mm-loss downlink {down_loss} \\
    mm-link "$here/bw_2.txt" "$here/bw_1.txt" \\
    --uplink-queue=droptail --uplink-queue-args=packets={up_queue} \\
    --downlink-queue=droptail --downlink-queue-args=packets={down_queue} -- "$@"
"""


def files(course: Course) -> dict[str, str]:
    """Returns ``bw_1.txt`` (down), ``bw_2.txt`` (up), ``delay_1.txt`` and the script ``run.sh``."""
    down, up = course.down, course.up
    both = [np.broadcast_to(way.delays, max(len(down.delays), len(up.delays))) for way in (down, up)]
    delays = np.round(1e3 * (both[0] + both[1]) / 2).astype(int)
    run = _RUN.format(
        step=DELAY_STEP_MS,
        up_loss=f"{up.loss:.6g}",
        down_loss=f"{down.loss:.6g}",
        up_queue=up.queue_packets,
        down_queue=down.queue_packets,
    )
    return {
        "bw_1.txt": trace(down.opportunities()),
        "bw_2.txt": trace(up.opportunities()),
        "delay_1.txt": trace([int(one) for one in delays]),
        "run.sh": f"#!/bin/sh\n{comments(course, LOSSES)}\n{run}",
    }
