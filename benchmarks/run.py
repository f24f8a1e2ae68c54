#!/usr/bin/env python3
"""Measures whole runs of bentpipe against their baselines, in one session.

    benchmarks/run.py [--repeat N] [--only PATTERN] [--json FILE] [--strict] [--scale FACTOR]
                      [--limit SECONDS] [--list]

rows.py contains the table of rows. A row and its baseline alternate, so that other load on the
machine affects both. The environment has a different length in each turn, because its length moves
the stack. The column `cpu s` of the table is the user + system time of the whole process as counted
by the kernel, including start-up.

The protocol
------------
A command performs one run, prints one line of JSON as the last line on standard output, and exits
with status 0. Otherwise the run has failed, and the report contains the command's standard error.
bentpipe's programs are

    target/dist/examples/bench_run SCENARIO.toml [--seed N] [--traces DIR]
    target/dist/examples/bench_plane MEASUREMENT [--KEY VALUE]...

`bench_run` runs the scenario on the virtual clock. Without --traces it records and writes nothing;
with --traces it writes all traces of the scenario's stages to DIR, as a normal run would write
them. The keys of its line:

    cpu_s            user + system time of the event loop alone, in seconds
                     (the JSON report has the time of the whole process as
                     `process_cpu_s`)
    events           executed events
    packets          data packets (TCP segments with payload, datagrams) that
                     arrived at their destination host, including duplicates
    peak_rss_bytes   peak resident set: VmHWM of /proc/self/status, since the
                     maxrss of getrusage includes the parent's memory
    hops             packets sent by links, summed over all links; used only
                     for the chain
    goodput_bytes    payload delivered to applications

`bench_plane` measures the data plane of emulations: packets of real sockets, and the delays and
losses that the engine adds to them. Its source documents its keys.

`cpu_s`, `events`, `packets` and `peak_rss_bytes` are required. Other keys are copied to the JSON
report. The programs of benchmarks/ns3 print the required keys. Their `packets` are counted
differently (see compare.cc and wifi.cc), and they do not print `hops`.

A row whose program is missing is reported as skipped, with the reason, and is not a failure. Exit
status: 1 if a command failed, or, with --strict, if a target was missed; 2 if an argument is
invalid or --only selects no row; otherwise 0.
"""

from __future__ import annotations

import argparse
import fnmatch
import json
import math
import os
import platform
import subprocess
import sys
import tempfile
import textwrap
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import programs
from measure import ProtocolError, Row, Summary, judge, run_once, short
from rows import Plan, rows

#: Growth of the environment from one turn to the next, in bytes. The position of the stack changes
#: a program's speed by up to 12 %. All rows of a turn therefore have the same position, and the
#: median covers several positions.
PADDING = 149


def groups(table: list[Row]) -> list[list[Row]]:
    """Returns the groups of rows that share a baseline. The baseline is the first row of its
    group."""
    by_baseline: dict[str, list[Row]] = {}
    for row in table:
        by_baseline.setdefault(row.baseline or row.name, []).append(row)
    return list(by_baseline.values())


def selected(table: list[Row], pattern: str) -> list[Row]:
    """Returns the rows with a name that matches `pattern`, and their baselines."""
    chosen = [row for row in table if fnmatch.fnmatch(row.name, pattern)]
    names = {row.name for row in chosen} | {row.baseline for row in chosen}
    return [row for row in table if row.name in names]


def measure(
    group: list[Row],
    repeat: int,
    limit_s: float,
    ns3: str | None,
    progress: Callable[[str], None],
) -> list[Summary]:
    """Runs all rows of a group once per turn, for at least `repeat` turns. Every second turn
    reverses the order."""
    summaries = [Summary(row, skipped=programs.unavailable(row, ns3)) for row in group]
    repeat = max(repeat, *(row.turns for row in group))
    for turn in range(repeat):
        for summary in summaries if turn % 2 == 0 else reversed(summaries):
            if summary.skipped or summary.failed:
                continue
            progress(f"{summary.row.name}, {turn + 1} of {repeat}")
            try:
                summary.runs.append(run_once(summary.row.command, limit_s, PADDING * turn % 1024))
            except ProtocolError as fault:
                summary.failed = str(fault)
    return summaries


# ---------------------------------------------------------------------------
# Printing

HEADER = f"{'row':<15}{'cpu s':>8}{'min':>8}{'MB':>6}{'ev/pkt':>7}{'ns/pkt':>8}  {'figure':<17}{'target':>9}"


def line(summary: Summary) -> str:
    """Formats the summary of a row for the table."""
    row = summary.row
    if not summary.done:
        reason = f"skipped: {summary.skipped}" if summary.skipped else f"FAILED: {summary.failed}"
        return textwrap.fill(f"{row.name:<15} {reason}", 80, subsequent_indent=" " * 16)
    text = (
        f"{row.name:<15}{summary.cpu_s:>8.3f}{summary.min_cpu_s:>8.3f}"
        f"{summary.rss_bytes / 1e6:>6.0f}"
        f"{summary.events_per_packet:>7.1f}{summary.ns_per_packet:>8.0f}  "
    )
    if row.figure is None:
        return text + "baseline"
    if summary.figure is None:
        return text + "no baseline"
    text += f"{short(summary.figure) + ' ' + row.figure.unit:<17}"
    mark = {"MISSED": " !", "met": ""}.get(summary.verdict, "")
    return (text + f"{row.figure.target() if summary.verdict else '':>7}{mark}").rstrip()


def machine() -> dict[str, Any]:
    """Returns the properties of the machine that affect the measurements."""
    model = next(
        (
            text.split(":", 1)[1].strip()
            for text in read("/proc/cpuinfo").splitlines()
            if text.startswith("model name")
        ),
        platform.machine(),
    )
    commit = subprocess.run(
        ["git", "-C", str(programs.ROOT), "describe", "--always", "--dirty"],
        capture_output=True,
        text=True,
        check=False,
    ).stdout.strip()
    return {
        "processor": model,
        "cores": os.cpu_count(),
        "kernel": platform.release(),
        "python": platform.python_version(),
        "load": os.getloadavg()[0],
        "commit": commit or None,
        "utc": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }


def read(path: str) -> str:
    """Returns the text of a file, or an empty string if the file cannot be read."""
    try:
        return Path(path).read_text()
    except OSError:
        return ""


def positive(kind: type[int | float]) -> Callable[[str], Any]:
    """Returns an argparse converter for finite numbers above 0."""

    def convert(text: str) -> Any:
        value = kind(text)
        if not 0 < value < math.inf:
            raise argparse.ArgumentTypeError(f"{text} must be finite and greater than 0")
        return value

    return convert


def main(arguments: list[str] | None = None) -> int:
    """Measures the selected rows, prints a table and writes the report. Returns the exit
    status."""
    parser = argparse.ArgumentParser(description="Measures whole runs against their baselines.")
    parser.add_argument("--repeat", type=positive(int), default=3, help="minimum runs of each row (3)")
    parser.add_argument("--only", default="*", help="names of rows; * and ? are wildcards")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write all figures to this file")
    parser.add_argument("--strict", action="store_true", help="exit with status 1 if a target is missed")
    parser.add_argument(
        "--scale",
        type=positive(float),
        default=1.0,
        help="factor on the simulated durations (1); targets are judged only at 1",
    )
    parser.add_argument(
        "--limit", type=positive(float), default=600.0, help="time limit of a run in seconds (600)"
    )
    parser.add_argument("--list", action="store_true", help="list the rows and exit")
    options = parser.parse_args(arguments)

    properties = machine()
    results: list[Summary] = []

    def progress(text: str) -> None:
        if sys.stderr.isatty():
            print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)

    with tempfile.TemporaryDirectory(prefix="bentpipe-bench-") as folder:
        table = selected(list(rows(Plan(Path(folder), options.scale))), options.only)
        if options.list:
            for row in table:
                print(f"{row.name:<15}{f'against {row.baseline}' if row.baseline else ''}".rstrip())
            return 0
        if not table:
            print(f"run.py: no row is named {options.only!r}; see --list", file=sys.stderr)
            return 2
        ns3_programs = {str(programs.NS3), str(programs.NS3_WIFI)}
        ns3 = programs.build_ns3() if any(row.command[0] in ns3_programs for row in table) else None
        print(f"{properties['processor']}, {properties['cores']} cores, load {properties['load']:.1f}")
        print(HEADER)
        for group in groups(table):
            summaries = measure(group, options.repeat, options.limit, ns3, progress)
            judge(summaries, to_target=options.scale == 1.0)
            progress("")
            for summary in summaries:
                print(line(summary), flush=True)
            results += summaries

    print(
        f"cpu s: user + system time of the process, median of {options.repeat} or more runs;\n"
        "min: minimum of the runs; MB: peak memory;\n"
        "ev/pkt, ns/pkt: events and event-loop time per data packet; !: target missed"
    )
    for summary in results:
        if summary.row.floor:
            print(f"{summary.row.name}: prototypes reached {summary.row.floor}")
    if options.json:
        report = {
            "machine": properties,
            "repeat": options.repeat,
            "scale": options.scale,
            "rows": [summary.report() for summary in results],
        }
        options.json.write_text(json.dumps(report, indent=2) + "\n")
    failed = any(summary.failed for summary in results)
    missed = any(summary.verdict == "MISSED" for summary in results)
    return 1 if failed or (options.strict and missed) else 0


if __name__ == "__main__":
    sys.exit(main())
