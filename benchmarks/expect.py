#!/usr/bin/env python3
"""Measures simulated seconds per second of CPU time, for the figure of docs/performance.md.

    .venv/bin/python benchmarks/expect.py [--turns 3] [--only WORDS]

Each case is one call of `bentpipe.simulate`, including writing the results. The call runs in a
separate process that has already imported all modules. The CPU time is the user + system time of
the call; the turn with the minimum counts. Prints a line per case, and then the lines for the page.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

from scenarios import beam, bulk_tcp, calls, dvb_rcs, saturated_wifi, starlink

EXAMPLES: Final = Path(__file__).resolve().parents[1] / "examples"

#: The program of a case. Its arguments are the scenario, the folder of results, and "yes" to write
#: traces or "no" to write none.
PROGRAM: Final = """
import json, resource, sys, time
import bentpipe as bp
scenario, out, traced = sys.argv[1:]
without = [] if traced == "yes" else ["record.traces=[]"]
before = time.process_time()
run = bp.simulate(scenario, overrides=without, out=out)
cpu = time.process_time() - before
seconds = run.provenance["simulated_seconds"]
memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
print(json.dumps({"seconds": seconds, "cpu_s": cpu, "bytes": memory}))
"""


def cases() -> dict[str, str | Path]:
    """Returns the scenarios, or their paths, by their labels in the figure."""
    one_flow = bulk_tcp(400, flows=1, rate_mbps=10, delay_ms=250)
    return {
        "one flow, 10 Mbit/s, 250 ms": one_flow,
        "one flow, every acknowledgment traced": one_flow,
        "100 flows, 100 Mbit/s, 250 ms": bulk_tcp(60, flows=100, rate_mbps=100, delay_ms=250),
        "10 flows, 1 Gbit/s, 250 ms": bulk_tcp(60, flows=10, rate_mbps=1000, delay_ms=250),
        "50 saturated Wi-Fi stations": saturated_wifi(20, 50),
        "30 terminals upload over DVB-RCS": dvb_rcs(400, 30),
        "1000 terminals upload over DVB-RCS": dvb_rcs(20, 1000),
        "1000 terminals send files, 32 carriers": beam(600, 1000, 32),
        "1000 calls from one terminal": calls(60, 1000),
        "200 terminals with pages and calls": EXAMPLES / "hub.toml",
        "200 terminals with ACM under a storm": EXAMPLES / "hub-storm.toml",
        "Starlink's first shell, 100 flows": starlink(60, sites=100),
    }


def main() -> None:
    """Measures the cases that the command line selects."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--turns", type=int, default=3, metavar="NUMBER", help="runs of each case (3)")
    parser.add_argument("--only", metavar="WORDS", default="", help="only cases whose label contains WORDS")
    arguments = parser.parse_args()
    lines = []
    for name, scenario in cases().items():
        if arguments.only not in name:
            continue
        best = min((measured(name, scenario) for _ in range(arguments.turns)), key=lambda run: run["cpu_s"])
        times = best["seconds"] / best["cpu_s"]
        print(
            f"{name:40} {best['seconds']:6.0f} s in {best['cpu_s']:8.3f} s: {times:8.0f} times, "
            f"{best['bytes'] / 1e6:.0f} MB",
            flush=True,
        )
        lines.append(f'    "{name}": {best["seconds"]:.0f} / {best["cpu_s"]:.3g},')
    print(*lines, sep="\n")


def measured(name: str, scenario: str | Path) -> dict[str, float]:
    """Runs a case. Returns the simulated seconds (`seconds`), the CPU time (`cpu_s`) and the peak
    memory (`bytes`)."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "case.toml"
        if isinstance(scenario, str):
            file.write_text(scenario, encoding="utf-8")
            scenario = file
        traced = "yes" if "traced" in name else "no"
        command = [sys.executable, "-c", PROGRAM, str(scenario), f"{folder}/run", traced]
        reported = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    found: dict[str, float] = json.loads(reported)
    return found


if __name__ == "__main__":
    main()
