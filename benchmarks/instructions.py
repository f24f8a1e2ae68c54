#!/usr/bin/env python3
"""Counts the instructions of five scenarios by cachegrind and compares them with instructions.csv.

    benchmarks/instructions.py [--only PATTERN] [--update REASON]

Counts of repeated runs differ by less than a millionth, also on a busy machine. They depend on the
compiler, which the table names, and on the profile. The profile is `release`, as in the tests. Exit
status: 1 if a count is more than 1 % above the table.

After a change that saves instructions, or that needs more for a good reason, `--update REASON`
replaces the counts and records the reason. cachegrind is part of valgrind (Debian: `valgrind`).
"""

from __future__ import annotations

import argparse
import csv
import fnmatch
import json
import platform
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
TABLE = HERE / "instructions.csv"
PROGRAM = ROOT / "target/release/examples/bench_run"

sys.path.insert(0, str(HERE))
from scenarios import bulk_tcp, starlink  # noqa: E402

#: Maximum excess of a count over the table, as a fraction of the table's count.
TOLERANCE = 0.01

COLUMNS = ("scenario", "instructions", "packets", "compiler", "reason")


@dataclass(frozen=True)
class Count:
    """The counts of a run: a row of the table."""

    scenario: str
    instructions: int
    #: Data packets that arrived at their destination.
    packets: int
    #: Version of the compiler and architecture of the processor.
    compiler: str
    #: The reason for the last change of the count.
    reason: str = ""

    @property
    def per_packet(self) -> float:
        """Instructions per arrived data packet."""
        return self.instructions / self.packets


def cases() -> dict[str, str]:
    """Returns the counted scenarios by name."""
    return {
        "one Reno flow": bulk_tcp(60, flows=1, rate_mbps=10, delay_ms=250),
        "one CUBIC flow": bulk_tcp(60, flows=1, rate_mbps=10, delay_ms=250, congestion="cubic"),
        "100 flows": bulk_tcp(5, flows=100, rate_mbps=100, delay_ms=250),
        "loaded return link": (ROOT / "examples/dvb-rcs-upload.toml").read_text(encoding="utf-8"),
        "Starlink's first shell": starlink(5, sites=10),
    }


def compiler() -> str:
    """Returns the version of the compiler and the architecture of the processor. The counts depend
    on both."""
    version = subprocess.run(["rustc", "--version"], capture_output=True, text=True, check=True).stdout
    return f"{version.split()[1]} {platform.machine()}"


def reason_to_skip() -> str | None:
    """Returns the reason why this machine cannot count instructions, or None if it can."""
    if shutil.which("valgrind") is None:
        return "valgrind is not installed"
    return None


def build() -> None:
    """Builds the counted program with the features of the tests, because counts depend on the
    features."""
    features = subprocess.run([ROOT / "scripts/features"], capture_output=True, text=True, check=True)
    named = [*features.stdout.split(), "--features", "pyo3/extension-module"]
    command = ["cargo", "build", "--quiet", "--release", "--workspace", *named, "--example", "bench_run"]
    subprocess.run(command, cwd=ROOT, check=True)


def count(scenario: str, text: str, by: str) -> Count:
    """Runs a scenario under cachegrind and returns its counts. `by` is the compiler.

    Raises:
        RuntimeError: The run failed.

    """
    with tempfile.TemporaryDirectory(prefix="bentpipe-count-") as folder:
        file, out = Path(folder, "scenario.toml"), Path(folder, "out")
        file.write_text(text, encoding="utf-8")
        tool = ["valgrind", "--tool=cachegrind", "--cache-sim=no", "--branch-sim=no"]
        command = [*tool, f"--cachegrind-out-file={out}", str(PROGRAM), str(file)]
        # The dynamic loader reads the environment, so its length must be constant.
        environment = {"PATH": "/usr/bin:/bin", "LC_ALL": "C"}
        run = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
        if run.returncode != 0:
            raise RuntimeError(f"{scenario}: {run.stderr.strip()}")
        last = out.read_text(encoding="utf-8").rstrip().splitlines()[-1]
        packets = int(json.loads(run.stdout.splitlines()[-1])["packets"])
    label, _, number = last.partition(": ")
    if label != "summary":
        raise RuntimeError(f"{scenario}: cachegrind wrote {last!r} instead of a summary")
    return Count(scenario, int(number), packets, by)


def recorded() -> dict[str, Count]:
    """Returns the committed counts by scenario."""
    with TABLE.open(encoding="utf-8", newline="") as lines:
        rows = [
            Count(
                row["scenario"], int(row["instructions"]), int(row["packets"]), row["compiler"], row["reason"]
            )
            for row in csv.DictReader(lines)
        ]
    return {row.scenario: row for row in rows}


def record(counts: dict[str, Count]) -> None:
    """Writes the counts to the table."""
    with TABLE.open("w", encoding="utf-8", newline="") as lines:
        table = csv.writer(lines, lineterminator="\n")
        table.writerow(COLUMNS)
        table.writerows([getattr(row, column) for column in COLUMNS] for row in counts.values())


def exceeds(new: Count, old: Count) -> bool:
    """Returns true if a count exceeds the table's count by more than the tolerance."""
    return new.instructions > old.instructions * (1 + TOLERANCE)


def main(arguments: list[str] | None = None) -> int:
    """Counts the instructions of the selected scenarios and compares them with the table. Returns
    the exit status."""
    parser = argparse.ArgumentParser(
        description="Counts the instructions of five scenarios and compares them with the committed table."
    )
    parser.add_argument("--only", default="*", metavar="PATTERN", help="scenarios by name, with * and ?")
    parser.add_argument("--update", metavar="REASON", help="write the counts to the table, with this reason")
    options = parser.parse_args(arguments)
    if reason := reason_to_skip():
        print(f"instructions: skipped: {reason}")
        return 0
    build()
    by = compiler()
    table = recorded() if TABLE.exists() else {}
    code = 0
    print(f"{'scenario':<24}{'instructions':>14}{'per packet':>12}{'to the table':>14}")
    for scenario, text in cases().items():
        if not fnmatch.fnmatch(scenario, options.only):
            continue
        new, old = count(scenario, text, by), table.get(scenario)
        comparison = "no count yet"
        if old and old.compiler != by:
            comparison = f"by {old.compiler}"
        elif old:
            comparison = f"{100 * (new.instructions / old.instructions - 1):+.2f} %"
            if exceeds(new, old):
                comparison += " !"
                code = code if options.update else 1
        print(f"{scenario:<24}{new.instructions:>14,}{new.per_packet:>12.0f}{comparison:>14}", flush=True)
        if options.update:
            table[scenario] = Count(scenario, new.instructions, new.packets, by, options.update)
    if options.update:
        record(table)
    elif code:
        print(
            "!: more than 1 % above the table. If the change needs this: benchmarks/instructions.py --update REASON"
        )
    return code


if __name__ == "__main__":
    sys.exit(main())
