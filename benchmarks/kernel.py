#!/usr/bin/env python3
"""Measures the speed of the clock `kernel`: virtual seconds per real second.

    .venv/bin/python benchmarks/kernel.py [--only PATTERN]

A row is one run, or ten runs in parallel. The real time includes the start and the end of the
guest. `cpu s` is the CPU time of all processes of the guest.
"""

from __future__ import annotations

import argparse
import fnmatch
import os
import sys
import tempfile
import time
import tomllib
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import bentpipe as bp
from bentpipe.errors import InputError
from bentpipe.guest import current

VARIANTS = ("reno", "cubic", "hybla", "bbr", "westwood", "vegas", "veno", "illinois", "htcp", "bic")


def link(rate_mbps: float, delay_ms: float, flows: Sequence[str], seconds: int) -> str:
    """Returns a scenario with endless transfers over one link. The link has a buffer of one
    bandwidth-delay product. `flows` has the congestion control of each transfer."""
    packets = max(50, int(rate_mbps * 1e6 * 2 * delay_ms / 1e3 / 8 / 1500))
    text = f"""
name = "bench"
duration = "{seconds} s"
[[link]]
name = "sat"
from = "a"
to = "b"
rate = "{rate_mbps} Mbit/s"
delay = "{delay_ms} ms"
queue = {{ kind = "drop-tail", packets = {packets} }}
"""
    for number, congestion in enumerate(flows):
        text += f"""
[[flow]]
name = "f{number}"
from = "a"
to = "b"
app = "bulk"
transport = {{ kind = "tcp", congestion = "{congestion}" }}
"""
    return text


def dvb_rcs(seconds: int) -> str:
    """Returns a scenario with one upload over a return link with RBDC."""
    return f"""
name = "bench"
duration = "{seconds} s"
preset = "dvb-rcs"
[[flow]]
name = "f"
from = "st1"
to = "gw"
app = "bulk"
transport = {{ kind = "tcp", congestion = "reno" }}
"""


#: The rows by name: the virtual duration in seconds, and a function that returns the scenarios.
ROWS: dict[str, tuple[int, Callable[[], list[str]]]] = {
    "one flow, 10 Mbit/s": (60, lambda: [link(10, 250, ["reno"], 60)]),
    "one flow, 100 Mbit/s": (20, lambda: [link(100, 250, ["reno"], 20)]),
    "50 flows, 10 Mbit/s": (60, lambda: [link(10, 250, ["reno"] * 50, 60)]),
    "one flow, 4 Mbit/s GEO": (400, lambda: [link(4, 250, ["reno"], 400)]),
    "one flow, DVB-RCS 2 Mbit/s": (400, lambda: [dvb_rcs(400)]),
    "ten variants in parallel, 10 Mbit/s, 500 ms": (
        30,
        lambda: [link(10, 250, [variant], 30) for variant in VARIANTS],
    ),
}


def main() -> int:
    """Measures the selected rows and prints a line for each."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    arguments.add_argument("--only", default="*", metavar="PATTERN", help="rows by name, with * and ?")
    only = arguments.parse_args().only
    try:
        kernel = current()
    except InputError as error:
        print(f"skipped: {error}")
        return 0
    print(f"Linux {kernel.version} in virtual time, {os.cpu_count()} processors")
    print(f"{'':46}{'virtual s':>10}{'real s':>8}{'cpu s':>8}{'virtual/real':>14}{'virtual/cpu':>13}")
    for name, (seconds, texts) in ROWS.items():
        if not fnmatch.fnmatch(name, only):
            continue
        scenarios = [tomllib.loads(text) for text in texts()]
        with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(os.cpu_count()) as pool:
            began = time.monotonic()
            runs = list(
                pool.map(
                    lambda pair: bp.emulate(pair[1], out=Path(folder) / str(pair[0]), clock="kernel"),
                    enumerate(scenarios),
                )
            )
            real = time.monotonic() - began
            cpu = sum(run.provenance["cpu_seconds"] for run in runs)
            assert all(run.complete for run in runs)
        virtual = seconds * len(runs)
        print(
            f"{name:46}{virtual:10}{real:8.1f}{cpu:8.1f}{virtual / real:14.1f}{virtual / cpu:13.1f}",
            flush=True,
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
