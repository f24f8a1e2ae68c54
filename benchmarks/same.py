#!/usr/bin/env python3
"""Compares the results of two builds byte for byte, in ten scenarios over constellations.

    benchmarks/same.py BEFORE AFTER [--only WORDS]

BEFORE and AFTER are two builds of `bench_run`. Every trace, table and summary of a run is compared,
including delivery times, drops and held packets. `provenance.json` is excluded, since it contains
the time of the run. Exit status: 1 if a file differs, 2 if a run failed, otherwise 0.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

from scenarios import starlink


def cities(seconds: float, keys: str) -> str:
    """Returns a scenario with a probe and three transfers between three sites under 66 satellites.

    Inter-satellite links go up and down. `keys` is additional text of the scenario.
    """
    flows = "".join(
        f"""
[[flow]]
name = "load-{ends[0]}-{ends[1]}"
from = "{ends[0]}"
to = "{ends[1]}"
app = {{ kind = "bulk" }}
transport = {{ kind = "tcp", congestion = "reno" }}
"""
        for ends in (("user", "server"), ("server", "user"), ("fiji", "user"))
    )
    return f"""\
name = "cities"
duration = "{seconds:g} s"
preset = "big-leo"
{keys}

[network.sky.sites.fiji]
latitude = "-16.5 deg"
longitude = "178 deg"

[[flow]]
name = "probe"
from = "user"
to = "server"
app = {{ kind = "cbr", rate = "160 kbit/s", datagram = "500 B" }}
transport = {{ kind = "udp" }}
{flows}"""


LOST = '[network.sky.handover]\npackets = "lose"\n[network.sky.routing]\nvanished = "lose"'
ERRORS = """\
[network.sky.gsl]
error = { kind = "gilbert", probability = 0.02, burst = 5.0 }
[network.sky.isl]
error = { kind = "packet", probability = 0.01 }"""
CODEL = 'queue = { kind = "codel", packets = 200 }'


def cases() -> dict[str, str]:
    """Returns the scenarios by the feature that they compare."""
    return {
        "handovers and links that go down, packets forwarded": cities(900, ""),
        "handovers and links that go down, packets lost": cities(900, LOST),
        "interruptions": cities(900, '[network.sky.handover]\ninterruption = "200 ms"'),
        "overlap": cities(900, '[network.sky.handover]\noverlap = "2 s"'),
        "errors": cities(900, ERRORS),
        "queues that drop at departure": cities(
            900, f"[network.sky.gsl]\n{CODEL}\n[network.sky.isl]\n{CODEL}"
        ),
        "balanced paths": cities(
            900, "[network.sky.gsl]\nantennas = 3\n[network.sky.routing]\nbalance = { paths = 2 }"
        ),
        "links of 900 Gbit/s": cities(
            10, '[network.sky.isl]\nrate = "900 Gbit/s"\n[network.sky.gsl]\nup = "900 Gbit/s"'
        ),
        "a shell with 100 sites": starlink(10, sites=100),
        "a shell with 1000 sites": starlink(2, sites=1000),
    }


def files(folder: Path) -> dict[str, bytes]:
    """Returns the contents of a run's files by name, except `provenance.json`."""
    found = (path for path in folder.rglob("*") if path.is_file() and path.name != "provenance.json")
    return {str(path.relative_to(folder)): path.read_bytes() for path in found}


def main() -> int:
    """Runs and compares the selected scenarios. Returns the exit status."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("builds", nargs=2, metavar="BUILD", help="a build of bench_run")
    parser.add_argument(
        "--only", metavar="WORDS", default="", help="only scenarios whose name contains WORDS"
    )
    arguments = parser.parse_args()
    status = 0
    for name, text in cases().items():
        if arguments.only not in name:
            continue
        with tempfile.TemporaryDirectory(prefix="bentpipe-same-") as parent:
            scenario = Path(parent) / "scenario.toml"
            scenario.write_text(text)
            results = []
            for number, build in enumerate(arguments.builds):
                folder = Path(parent) / str(number)
                done = subprocess.run(
                    [build, str(scenario), "--folder", str(folder)],
                    capture_output=True,
                    text=True,
                    check=False,
                )
                if done.returncode != 0:
                    print(f"{name}: {build} failed: {done.stderr.strip()}", file=sys.stderr)
                    return 2
                results.append(files(folder))
            before, after = results
            differing = sorted(
                file for file in before.keys() | after.keys() if before.get(file) != after.get(file)
            )
            size = sum(map(len, before.values()))
            verdict = f"DIFFERENT: {', '.join(differing)}" if differing else "identical"
            print(f"{name}: {verdict} ({len(before)} files, {size} B; {done.stdout.strip()})", flush=True)
            status = 1 if differing else status
    return status


if __name__ == "__main__":
    sys.exit(main())
